"""Writing the pairs of question and answer on their page, and closing the session."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from studyplatform.simulation.pages import Browser, Form, Page, PageFault
from studyplatform.simulation.recordings import RecordedPair


async def write(browser: Browser, page: Page, pairs: Sequence[RecordedPair]) -> Page:
    """Fill in what the page asks for, pair by pair, then close; the page that follows.

    Raises:
        PageFault: there are fewer pairs than the page asks for, or it takes one without going on.
    """
    path = urlsplit(page.path).path
    kept: set[int] = set()
    while urlsplit(page.path).path == path:
        form = _pair_form(page)
        if form is not None and (number := _number(form)) not in kept:
            if number > len(pairs):
                raise PageFault(f"{path}: asks for pair {number}, and there are {len(pairs)}")
            kept.add(number)
            page = await browser.submit(form, _filled(form, pairs[number - 1]))
            continue
        close = next((f for f in page.forms if f.method == "post" and not f.named("question") and path in f.action), None)
        if close is None:
            raise PageFault(f"{path}: pair {max(kept, default=0)} was written, and the page does not go on")
        page = await browser.submit(close, {})
    return page


def _pair_form(page: Page) -> Form | None:
    return next((form for form in page.forms if form.method == "post" and form.named("question") and form.named("number")), None)


def _number(form: Form) -> int:
    return int(form.named("number")[0].value)


def _filled(form: Form, pair: RecordedPair) -> dict[str, str | list[str]]:
    """The boxes under `evidence` are the participant's turns, in order; what is ticked is what holds the answer."""
    boxes = [box.value for box in form.named("evidence")]
    if not boxes:
        raise PageFault(f"{form.action}: there is no turn to tie the question to")
    ticked = [boxes[min(turn, len(boxes) - 1)] for turn in pair.turns]
    return {"question": pair.question, "answer": pair.answer, "evidence": sorted(set(ticked), key=boxes.index)}
