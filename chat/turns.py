"""What a person can do in a conversation, one function per frame: hello, say, retry, finish.

A message is committed before it is acknowledged; repeating it is harmless; while a reply is on its way no other is taken. The
order is `seq`, given by the database. Nothing here knows how the sockets are served.
"""

import time

from chat import occasions, relay, replies, store, threads
from chat.composing import Utterance
from chat.frames import Ack, Ended, Finish, Frame, Hello, Pending, Ping, Pong, Refused, RefusedCode, Retry, Say, TurnFrame, Welcome
from chat.occasions import Occasion
from chat.pool import PROCESS
from chat.replies import EMPTY_MARKER
from chat.sockets import Socket
from chat.store import Past, Said, Standing, WhyNot
from studyplatform.study import sessions
from studyplatform.study.models import Session

__all__ = ["EMPTY_MARKER", "act", "finish", "hello", "retry", "say"]


async def act(occasion: Occasion, socket: Socket, frame: Frame, *, arrived: float) -> None:
    """Do what a frame from the browser asks. `arrived`: `time.perf_counter()` at its arrival."""
    match frame:
        case Say():
            await say(occasion, socket, frame, arrived=arrived)
        case Ping():
            socket.put(Pong())
        case Hello():
            await hello(occasion, socket, frame)
        case Retry():
            await retry(occasion, socket, frame)
        case Finish():
            await finish(occasion, socket)


async def hello(occasion: Occasion, socket: Socket, frame: Hello) -> None:
    """Send what the browser has missed, go on with what is being written; the first hello of all calls for the opener."""
    socket.hold()
    past = await store.past(session=occasion.id, after=frame.last_seq)
    if past is None or past.state != Session.State.CHATTING:
        socket.welcome(Ended(next=await _elsewhere(occasion)))
        return
    if past.last_seq == 0 and past.unfinished is None:
        opener = await store.open_opener(occasion.id)
        if opener is not None:
            await replies.begin_claimed(opener, occasion)
        past = await store.past(session=occasion.id, after=frame.last_seq) or past
    socket.welcome(_welcome(occasion, past))


def _welcome(occasion: Occasion, past: Past) -> Welcome:
    """No await between the look at what is being written here and the end of the holding back."""
    pending = _pending(past)
    writing = replies.of(occasion.id)
    if writing is not None and pending is not None:
        pending = Pending(reply_to=writing.reply_to, attempt=writing.attempt, text=writing.reveal.text[: writing.reveal.shown])
    elif pending is not None and past.unfinished and past.unfinished["owner"] not in ("", PROCESS):
        pending = pending.model_copy(update={"text": ""})  # its writer sends all of it
        relay.send(past.unfinished["owner"], "watch", occasion.id, PROCESS)
    return Welcome(
        session=occasion.code,
        turns=tuple(TurnFrame.model_validate(turn) for turn in past.turns),
        pending=pending,
        state=occasions.state(occasion, past, pending=pending is not None and not pending.failed),
    )


def _pending(past: Past) -> Pending | None:
    if past.unfinished is None:
        return None
    return Pending(**{k: v for k, v in past.unfinished.items() if k != "owner"})


async def _elsewhere(occasion: Occasion) -> str:
    standing = await store.standing(occasion.id)
    return occasion.questions_url if standing is not None and standing.state == Session.State.QUESTIONS else occasion.home_url


async def say(occasion: Occasion, socket: Socket, frame: Say, *, arrived: float) -> None:
    """Store the participant's words, acknowledge them, and begin the reply."""
    code = unfit(frame.text, at_most=occasion.config.chat.max_chars)
    if code is not None:
        socket.put(Refused(ref=frame.client_id, code=code))
        return
    said = await _store(occasion, frame, arrived)
    if said is None and await _may_say_again(occasion, socket, frame):
        said = await _store(occasion, frame, arrived)
        if said is None:
            socket.put(Refused(ref=frame.client_id, code="busy"))
    if said is not None:
        _answer(occasion, socket, frame, said)


async def _store(occasion: Occasion, frame: Say, arrived: float) -> Said | None:
    return await store.say(
        session=occasion.id,
        client_id=frame.client_id,
        text=frame.text,
        window=occasion.config.chat.context_window,
        most=occasion.most_turns,
        acked_ms=(time.perf_counter() - arrived) * 1000,
    )


def _answer(occasion: Occasion, socket: Socket, frame: Say, said: Said) -> None:
    seq, others = said.last_seq, set(said.others)
    socket.put(Ack(client_id=frame.client_id, seq=seq))
    turn = TurnFrame(seq=seq, role="user", client_id=frame.client_id, text=frame.text, at=said.now)
    replies.tell(occasion.id, turn, others=others, but=socket)
    recent = [*(Utterance(*before) for before in said.recent), Utterance(seq, "user", frame.text)]
    replies.begin(occasion, reply_id=said.reply_id, reply_to=seq, attempt=1, recent=recent, others=others, open_writes=said.open_writes)


def unfit(text: str, *, at_most: int) -> RefusedCode | None:
    """Why a text cannot be a message. Lengths are in code points; U+0000 is no text."""
    if not text.strip():
        return "empty"
    if len(text) > at_most:
        return "too_long"
    return "bad_frame" if "\0" in text else None


async def _may_say_again(occasion: Occasion, socket: Socket, frame: Say) -> bool:
    """Say why a message was not stored; True if it may be tried once more now."""
    why = await store.why_not(session=occasion.id, client_id=frame.client_id)
    if why is None:
        return False
    if why.seq is not None:
        socket.put(Ack(client_id=frame.client_id, seq=why.seq))
        return False
    if why.paused_at is not None and why.pause_reason != "outage":
        return await threads.run(sessions.resume, occasion.id)
    code = _refusal(occasion, why)
    if code is None:
        return True
    socket.put(Refused(ref=frame.client_id, code=code))
    if why.state != Session.State.CHATTING:
        socket.put(Ended(next=await _elsewhere(occasion)))
    elif code == "closed":
        await replies.end_if_over(occasion, why, others=await store.others(occasion.id))
    return False


def _refusal(occasion: Occasion, why: WhyNot) -> RefusedCode | None:
    if why.state != Session.State.CHATTING:
        return "closed"
    if why.pending:
        return "busy"
    if why.paused_at is not None:
        return "paused"
    if occasion.most_turns is not None and why.user_turns >= occasion.most_turns:
        return "closed"
    return None


async def retry(occasion: Occasion, socket: Socket, frame: Retry) -> None:
    """Ask again for a reply that did not come. Where one is being written already, or is there, the browser learns that."""
    claimed = await store.claim_failed(session=occasion.id, reply_to=frame.reply_to)
    if claimed is not None:
        await replies.begin_claimed(claimed, occasion)
    else:
        await hello(occasion, socket, Hello(last_seq=frame.reply_to or 0))


async def finish(occasion: Occasion, socket: Socket) -> None:
    """End the conversation, if the rules allow it."""
    why = await store.why_not(session=occasion.id, client_id="")
    if why is None or why.state != Session.State.CHATTING:
        socket.put(Ended(next=await _elsewhere(occasion)))
        return
    if why.pending:
        socket.put(Refused(ref="finish", code="busy"))
        return
    finishing = occasions.finish(occasion, why, pending=False)
    if not finishing.ok:
        socket.put(Refused(ref="finish", code="not_yet"))
        return
    await replies.end(occasion, finishing.must or "finished", others=await store.others(occasion.id))


def state_of(occasion: Occasion, standing: Standing) -> Frame:
    """What a browser must be told about a session that changed behind its back."""
    if standing.state != Session.State.CHATTING:
        return Ended(next=occasion.questions_url if standing.state == Session.State.QUESTIONS else occasion.home_url)
    return occasions.state(occasion, standing, pending=replies.of(occasion.id) is not None)
