"""A real browser (the system's Chromium) at a real web process, and a person who uses the keyboard alone."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from studyplatform.study import joining, links
from studyplatform.study.models import Participant, Study
from tests.browser.axe import violations_in_every_look
from tests.cast import make_study
from tests.chat.conftest import Web, web  # noqa: F401  # a fixture
from tests.scripted_server import Scripted
from tests.worker import working

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW = "no Chromium here; enable the browser tests with: apt-get install chromium fonts-dejavu-core fonts-noto-cjk (or set CHROMIUM)"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 800}
STEPS = 80  # most presses of Tab to reach anything on a page

expect.set_options(timeout=20_000)


def chromium() -> str | None:
    """The browser's path, if there is one."""
    return os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    path = chromium()
    if path is None:
        pytest.skip(HOW)
    return {"executable_path": path, "args": list(FLAGS)}


@pytest.fixture(autouse=True)
def _rows_beside_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Playwright keeps an event loop in this thread, which Django would take for an asynchronous caller."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@dataclass
class Hands:
    """Somebody at the keyboard, who never touches a mouse."""

    page: Page

    def reach(self, control: Locator, steps: int = STEPS) -> None:
        """Tab until the control has the focus, `steps` times at most."""
        expect(control).to_be_visible()
        for _ in range(steps + 1):
            if control.evaluate("e => e === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{control} cannot be reached with the Tab key on {self.page.url}")

    def press(self, control: Locator, key: str = "Enter") -> None:
        self.reach(control)
        self.page.keyboard.press(key)

    def write(self, control: Locator, text: str) -> None:
        self.reach(control)
        self.page.keyboard.type(text)

    def button(self, name: str, **options: Any) -> Locator:
        return self.page.get_by_role("button", name=name, **options)

    def link(self, name: str, **options: Any) -> Locator:
        return self.page.get_by_role("link", name=name, **options)


@dataclass
class Visit:
    """One person's page at a site."""

    page: Page
    site: str
    hands: Hands

    def goto(self, path: str) -> None:
        self.page.goto(self.site + path)

    def check(self) -> None:
        """No violation on this page, in any look."""
        assert violations_in_every_look(self.page) == {}


@pytest.fixture
def visit(web: Web, browser: Browser, transactional_db: None, script: Scripted) -> Iterator[Callable[..., Visit]]:  # noqa: F811  # the fixture
    """Open a browser of one's own: `visit(viewport=…, **options of the context)`."""
    contexts = []

    def open_one(viewport: dict[str, int] = DESKTOP, **options: Any) -> Visit:
        context = browser.new_context(viewport=viewport, timezone_id="Europe/Helsinki", locale="en-GB", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        return Visit(page, web.site, Hands(page))

    errors: list[str] = []
    with working():
        yield open_one
    for context in contexts:
        context.close()
    assert [e for e in errors if not _expected(e)] == []


def _expected(error: str) -> bool:
    """What a browser says when the network is switched off, or a page is refused, on purpose."""
    return any(words in error for words in ("ERR_INTERNET_DISCONNECTED", "WebSocket connection", "status of 404", "status of 403"))


@pytest.fixture
def study(transactional_db: None) -> Study:
    """Two assistants, a shared first conversation, two messages and one question each."""
    return make_study("two", per_arm=2, sessions="min_minutes = 0")


def invited(study: Study) -> tuple[Participant, str]:
    """Somebody new, and the path of the personal link."""
    participant = joining.new_participant(study)
    return participant, urlsplit(links.personal_url(participant)).path
