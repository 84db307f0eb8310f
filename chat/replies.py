"""Writing one reply: recall, compose, stream, commit. A task of its own, whose life does not depend on any socket.

Whoever holds the row's lease writes; the commit is conditional on the attempt, so nobody ever gets two replies to one message.
"""

import asyncio
import logging
import time
from dataclasses import dataclass, field

from django.conf import settings
from django.utils import timezone

from chat import composing, hints, occasions, reading, relay, sockets, store, threads
from chat.composing import Utterance
from chat.frames import Ended, Failed, Frame, Reply, Token
from chat.occasions import Occasion
from chat.revealing import Reveal
from chat.store import Call, Standing, Times
from memory import recalling
from memory.policy import Query
from memory.recalling import Recalled
from studyplatform.llm import prompts, providers, streaming
from studyplatform.llm.embeddings import EndpointFailed
from studyplatform.llm.streaming import ModelFailed, Usage
from studyplatform.study import sessions

log = logging.getLogger(__name__)

# What a scripted model says for a recorded utterance that was empty: a really empty reply is a failure.
EMPTY_MARKER = "\u2205empty\u2205"
RETRY_AFTER_S = 0.4


@dataclass(eq=False)
class Writing:
    """One reply that this process writes. `recent`: the utterances of the context window; `others`: processes that watch too.

    `open_writes`: what was not written when the message was stored (before the window, and in all), where that is known.
    `is_whole`: nothing is left but to commit it, so its lease needs no renewing.
    """

    occasion: Occasion
    reply_id: int
    reply_to: int | None
    attempt: int
    recent: tuple[Utterance, ...]
    others: set[str]
    open_writes: tuple[int, int] | None = None
    reveal: Reveal = field(init=False)
    task: "asyncio.Task[None]" = field(init=False)
    is_whole: bool = False
    kept: str = ""
    kept_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        chat, free = self.occasion.config.chat, self.occasion.simulated
        self.reveal = Reveal(self._show, floor_ms=0 if free else chat.first_token_floor_ms, pace=None if free else chat.pace_chars_per_s)

    @property
    def tag(self) -> str:
        return f"{self.occasion.code}.{self.purpose}.{self.reply_to or 0}.{self.attempt}"

    @property
    def purpose(self) -> str:
        return "opener" if self.reply_to is None else "reply"

    @property
    def answered_seq(self) -> int:
        """The turn that caused the reply; an opener causes itself."""
        return self.reply_to or 1

    def _show(self, at: int, text: str) -> None:
        self.tell(Token(reply_to=self.reply_to, attempt=self.attempt, at=at, text=text))

    def tell(self, *frames: Frame) -> None:
        tell(self.occasion.id, *frames, others=self.others)


_writing: dict[int, Writing] = {}
_slots: dict[int, asyncio.Semaphore] = {}


def tell(session_id: int, *frames: Frame, others: set[str], but: sockets.Socket | None = None) -> None:
    """To every socket of a session: this process's at once, those of `others` through the relay."""
    for frame in frames:
        text = frame.model_dump_json()
        sockets.show(session_id, text, but=but)
        for process in others:
            relay.send(process, "show", session_id, text)


def of(session_id: int) -> Writing | None:
    """The reply that this process is writing in a session."""
    return _writing.get(session_id)


def running() -> list[Writing]:
    return list(_writing.values())


def begin(
    occasion: Occasion,
    *,
    reply_id: int,
    reply_to: int | None,
    attempt: int,
    recent: list[Utterance],
    others: set[str],
    open_writes: tuple[int, int] | None = None,
) -> Writing:
    """Write a reply that this process has claimed."""
    recent_turns = composing.window(recent, occasion.config.chat.context_window)
    writing = Writing(occasion, reply_id, reply_to, attempt, recent_turns, others, open_writes)
    before = _writing.get(occasion.id)
    if before is not None:
        before.task.cancel()
    _writing[occasion.id] = writing
    writing.task = asyncio.get_running_loop().create_task(_write(writing))
    return writing


async def begin_claimed(claimed: store.Claimed, occasion: Occasion | None = None) -> None:
    """Write a reply found by claiming."""
    if occasion is None:
        occasion = await threads.run(occasions.load, claimed.session_id)
    begin(
        occasion,
        reply_id=claimed.reply_id,
        reply_to=claimed.reply_to,
        attempt=claimed.attempt,
        recent=[Utterance(*turn) for turn in claimed.recent],
        others=set(claimed.others),
    )


async def give_up(claimed: store.Claimed) -> None:
    """Leave a reply whose writers keep dying until the person asks for it again."""
    await store.fail(reply=claimed.reply_id, attempt=claimed.attempt, failure="too_often", call=None)
    frame = Failed(reply_to=claimed.reply_to, code="no_answer", retryable=True)
    tell(claimed.session_id, frame, others=set(claimed.others))


async def _write(writing: Writing) -> None:
    loop = id(asyncio.get_running_loop())
    slots = _slots.setdefault(loop, asyncio.Semaphore(settings.ENV.REPLY_CONCURRENCY))
    call: list[Call] = []
    try:
        async with slots:
            await _make(writing, call)
    except asyncio.CancelledError:
        raise
    except (ModelFailed, EndpointFailed) as error:
        is_outage = isinstance(error, EndpointFailed) or error.is_outage
        await _fail(writing, str(getattr(error, "kind", "encoder")), call, is_outage=is_outage)
    except Exception:  # whatever went wrong, the person must hear of it
        log.exception("a reply could not be written (%s)", writing.tag)
        await _fail(writing, "internal", call, is_outage=False)
    finally:
        writing.reveal.stop()
        _forget(writing)


def _forget(writing: Writing) -> None:
    if _writing.get(writing.occasion.id) is writing:
        del _writing[writing.occasion.id]


async def _make(writing: Writing, calls: list[Call]) -> None:
    given = writing.occasion.given_opener if writing.reply_to is None else None
    if given is not None:
        await _commit(writing, given, Recalled(), None)
        return
    recalled = await _recall(writing)
    usage = await _ask(writing, recalled, calls)
    text = usage.raw if writing.occasion.simulated else usage.raw.strip()  # a recorded utterance is kept to the last space
    if writing.occasion.simulated and text == EMPTY_MARKER:
        text = ""
    await writing.reveal.finish()
    await _commit(writing, text, recalled, calls[-1])


async def _recall(writing: Writing) -> Recalled:
    texts = tuple(u.text for u in writing.recent)
    query = Query("reply", texts[-1], texts) if writing.reply_to is not None else Query("opening", "")
    return await recalling.recall_soon(
        session=writing.occasion.memory,
        query=query,
        instant=timezone.now(),
        context_from_seq=writing.recent[0].seq if writing.recent else 1,
        reads=reading,
        known=writing.open_writes,
    )


async def _ask(writing: Writing, recalled: Recalled, calls: list[Call]) -> Usage:
    """Stream the reply; once more if the first try failed before anything was shown. The last of `calls` is the last try."""
    request, prompt = _request(writing, recalled)
    for is_last in (False, True):
        usage, failed = Usage(), None
        try:
            async for piece in streaming.stream(request, usage):
                writing.reveal.add(piece)
        except ModelFailed as error:
            failed = error
        calls.append(_call(writing, request, prompt, usage, failed))
        if failed is None:
            return usage
        if is_last or writing.reveal.text.strip():
            raise failed
        await store.log_call(calls.pop(), reply=writing.reply_id, attempt=writing.attempt)
        await asyncio.sleep(RETRY_AFTER_S)
    raise AssertionError("the last try returns or raises")


def _request(writing: Writing, recalled: Recalled) -> tuple[streaming.Request, prompts.Prompt]:
    occasion = writing.occasion
    chat = occasion.config.chat
    prompt = prompts.load(occasion.config.prompts.opener if writing.reply_to is None else occasion.config.prompts.reply)
    messages = composing.compose(
        prompt,
        assistant=occasion.assistant,
        language=occasion.language,
        summary=recalled.key_summary,
        lines=recalled.lines,
        recent=writing.recent,
        memory_chars=occasion.memory.arm.policy.prompt_chars(chat.memory_chars),
    )
    try:
        model = providers.resolve(chat.response_model)
    except providers.UnknownProvider as error:
        raise ModelFailed("unreachable", str(error)) from error
    return streaming.Request(model, messages, writing.tag, chat.max_tokens, chat.temperature, chat.reply_timeout_s), prompt


def _call(writing: Writing, request: streaming.Request, prompt: prompts.Prompt, usage: Usage, failed: ModelFailed | None) -> Call:
    return Call(
        study=writing.occasion.study,
        purpose=writing.purpose,
        prompt=prompt.label,
        prompt_sha256=prompt.sha256,
        model_asked=request.model.asked,
        parameters={"max_tokens": request.max_tokens, "temperature": request.temperature},
        messages=list(request.messages),
        tag=request.tag,
        error=f"{failed.kind}: {failed}" if failed else "",
        cost=request.model.cost(usage.tokens_in, usage.tokens_out),
        **vars(usage),
    )


async def _commit(writing: Writing, text: str, recalled: Recalled, call: Call | None) -> None:
    occasion, reveal = writing.occasion, writing.reveal
    floor_ms = occasion.config.chat.first_token_floor_ms
    times = Times(
        recall_ms=recalled.recall_ms if call else None,
        first_token_ms=reveal.first_ms,
        total_ms=reveal.now_ms(),
        over_floor=bool(floor_ms and not occasion.simulated and (reveal.first_ms or 0) > floor_ms),
        unseen_writes=recalled.unseen_writes,
    )
    writing.is_whole = True
    standing = await store.commit(
        reply=writing.reply_id,
        attempt=writing.attempt,
        text=text,
        times=times,
        call=call,
        counts=recalling.counters(recalled, occasion.memory, writing.answered_seq, once="t"),
    )
    if standing is None:
        return
    _forget(writing)
    reply = Reply(seq=standing.last_seq, reply_to=writing.reply_to, text=text)
    writing.tell(reply, occasions.state(occasion, standing, pending=False))
    if writing.reply_to is not None:
        hints.encode(occasion.memory.arm.id)
    await end_if_over(occasion, standing, others=writing.others)


async def end_if_over(occasion: Occasion, standing: Standing, *, others: set[str]) -> None:
    """A maximum or the window's end closes the chat by itself."""
    must = occasions.finish(occasion, standing, pending=False).must
    if must and standing.state == "chatting":
        await end(occasion, must, others=others)


async def end(occasion: Occasion, reason: str, *, others: set[str]) -> None:
    """End the chat, and lead everybody who watches to what comes next."""
    await threads.run(sessions.end_chat, occasion.id, reason)
    hints.encode(occasion.memory.arm.id)
    tell(occasion.id, Ended(next=after(occasion)), others=others)


def after(occasion: Occasion) -> str:
    """The page that follows the chat."""
    return occasion.questions_url if occasion.config.sessions.questions else occasion.home_url


async def _fail(writing: Writing, failure: str, calls: list[Call], *, is_outage: bool) -> None:
    call = calls[-1] if calls else None
    try:
        if not await store.fail(reply=writing.reply_id, attempt=writing.attempt, failure=failure, call=call):
            return
        if is_outage:
            await threads.run(sessions.pause, writing.occasion.id, "outage")
        standing = await store.standing(writing.occasion.id)
    except Exception:  # the database is away as well: the lease will run out, and the next one tries
        log.exception("a failure could not be stored (%s)", writing.tag)
        return
    _forget(writing)
    writing.tell(Failed(reply_to=writing.reply_to, code="no_answer", retryable=True))
    if standing is not None:
        writing.tell(occasions.state(writing.occasion, standing, pending=False))
