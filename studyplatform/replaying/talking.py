"""One conversation said again: the statements of `chat.store` and `memory.recalling`, as the chat makes them, without sockets.

As recorded: recall is done for every reply and counted with its commit, and the reply is the recorded one. Regenerated: the reply is written by
`chat.replies`, as in a live study. Each exchange is written to memory before the next one is said, so that recall always sees everything.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F
from django.db.models.functions import Now

from chat import composing, exchanges, keeping, occasions, question_checks, questions, replies, store
from chat.composing import Utterance
from chat.models import Turn
from chat.occasions import Occasion
from chat.store import Claimed, Times
from memory import recalling, remembering
from memory.policy import Query
from studyplatform.replaying.clock import Clock
from studyplatform.simulation.people import Part
from studyplatform.study.models import Session

NOT_RECORDED = "not_recorded"
TRIES = 8
WAIT_S = 0.5


class Diverged(Exception):
    """What is stored of a conversation is not what was recorded: somebody else has written in it."""


class NoReply(Exception):
    """The response model gives no reply, after several tries."""


@dataclass(frozen=True)
class Talk:
    """One session being said again; call `hold`, which may be interrupted anywhere and called again."""

    session: Session
    part: Part
    clock: Clock
    runner: asyncio.Runner
    regenerate: bool = False

    def hold(self) -> int:
        """Say what has not been said yet: how many exchanges the session has in the end.

        Raises:
            Diverged, NoReply: see there.
            studyplatform.llm.embeddings.EndpointFailed: the encoder does not answer.
        """
        occasion = occasions.load(self.session.pk)
        self._release()
        said = self._said()
        if not said:
            opener = self.runner.run(store.open_opener(occasion.id)) or self._failed(None)
            if opener is not None:
                self._reply(occasion, opener, 0)
        else:
            self._date(len(said) - 1, seq=said[-1])
            if (unfinished := self._failed(said[-1])) is not None:
                self._reply(occasion, unfinished, len(said))
        drain(occasion.memory.arm.id)
        for index in range(len(said), len(self.part.lines)):
            self._exchange(occasion, index)
        return len(self.part.lines)

    def _exchange(self, occasion: Occasion, index: int) -> None:
        stored = self.runner.run(
            store.say(
                session=occasion.id,
                client_id=f"replay-{index}",
                text=self.part.lines[index],
                window=occasion.config.chat.context_window,
                most=None,
                acked_ms=0.0,
            )
        )
        if stored is None:
            raise Diverged(f"session {occasion.code}: message {index + 1} cannot be stored")
        self._date(index, seq=stored.last_seq)
        recent = [*stored.recent, (stored.last_seq, "user", self.part.lines[index])]
        self._reply(occasion, Claimed(stored.reply_id, occasion.id, stored.last_seq, 1, recent, []), index + 1)
        drain(occasion.memory.arm.id)

    def _reply(self, occasion: Occasion, claimed: Claimed, index: int) -> None:
        """The bot's utterance number `index`, 0 being the opener."""
        if self.regenerate:
            self.runner.run(_generated(occasion, claimed))
        elif index < len(self.part.bot):
            self._repeat(occasion, claimed, index)
        else:
            self.runner.run(store.fail(reply=claimed.reply_id, attempt=claimed.attempt, failure=NOT_RECORDED, call=None))
        self._date(index, pk=claimed.reply_id)

    def _repeat(self, occasion: Occasion, claimed: Claimed, index: int) -> None:
        """Recall as for any reply; what is said is the recording's."""
        recent = composing.window([Utterance(*turn) for turn in claimed.recent], occasion.config.chat.context_window)
        texts = tuple(u.text for u in recent)
        query = Query("reply", texts[-1], texts) if claimed.reply_to is not None else Query("opening", "")
        began = time.perf_counter()
        recalled = recalling.recall(
            session=occasion.memory,
            query=query,
            instant=self.clock.at(occasion.number, index),
            context_from_seq=recent[0].seq if recent else 1,
        )
        total_ms = (time.perf_counter() - began) * 1000
        times = Times(recall_ms=recalled.recall_ms, total_ms=total_ms, unseen_writes=recalled.unseen_writes)
        counts = recalling.counters(recalled, occasion.memory, claimed.reply_to or 1, once="t")
        text = self.part.bot[index]
        committed = store.commit(reply=claimed.reply_id, attempt=claimed.attempt, text=text, times=times, call=None, counts=counts)
        if self.runner.run(committed) is None:
            raise Diverged(f"session {occasion.code}: another process has written the reply to turn {claimed.reply_to}")

    def _date(self, index: int, **turn: int) -> None:
        """A turn happens by the replay's clock, as far as memory is concerned."""
        at = self.clock.at(self.session.number, index)
        Turn.objects.filter(session=self.session, **turn).update(created_at=at, done_at=at)

    def _said(self) -> list[int]:
        """The seq of each of the participant's turns that are stored.

        Raises:
            Diverged: they, or the bot's, are not the recording's.
        """
        turns = list(Turn.objects.filter(session=self.session, state=Turn.State.DONE).order_by("seq"))
        mine = [turn for turn in turns if turn.role == Turn.Role.USER]
        other = [turn.text for turn in turns if turn.role == Turn.Role.BOT]
        if tuple(turn.text for turn in mine) != self.part.lines[: len(mine)]:
            raise Diverged(f"session {self.session.code}: the participant has said something else")
        if not self.regenerate and tuple(other) != self.part.bot[: len(other)]:
            raise Diverged(
                f"session {self.session.code}: another process has written a reply; replays need a database without web processes"
            )
        return [turn.seq or 0 for turn in mine]

    def _release(self) -> None:
        """Take back a reply from a process that was interrupted, once its lease has run out."""
        pending = Turn.objects.filter(session=self.session, state=Turn.State.PENDING)
        while pending.exists():
            expired = pending.filter(lease_until__lt=Now())
            if not expired.update(state=Turn.State.FAILED, failure="interrupted", attempt=F("attempt") + 1, lease_until=None):
                time.sleep(WAIT_S)

    def _failed(self, reply_to: int | None) -> Claimed | None:
        """The reply to that turn, if it was begun and is to be made."""
        row = Turn.objects.filter(session=self.session, role=Turn.Role.BOT, reply_to=reply_to, state=Turn.State.FAILED).first()
        if row is None or row.failure == NOT_RECORDED:
            return None
        return self.runner.run(store.claim_failed(session=self.session.pk, reply_to=reply_to))


async def _generated(occasion: Occasion, claimed: Claimed) -> None:
    """A reply by the study's response model; asked for again, with growing pauses, when it fails."""
    for attempt in range(TRIES):
        await replies.begin_claimed(claimed, occasion)
        writing = replies.of(occasion.id)
        while writing is not None and not writing.task.done():
            await asyncio.wait([writing.task], timeout=keeping.PARTIAL_S)
            await keeping.keep_leases()
        again = await store.claim_failed(session=occasion.id, reply_to=claimed.reply_to)
        if again is None:
            return
        claimed = again
        await asyncio.sleep(min(2**attempt, 30))
    await store.fail(reply=claimed.reply_id, attempt=claimed.attempt, failure="no_answer", call=None)
    raise NoReply(f"session {occasion.code}: no reply to turn {claimed.reply_to or 'the opening'} after {TRIES} tries")


def drain(arm_id: int) -> None:
    """Write everything that is open in the arm, here or by waiting for the worker that has it."""
    while remembering.open_writes(arm_id):
        if not remembering.write_open(arm_id, exchanges.one):
            time.sleep(WAIT_S / 5)


def ask(session: Session, part: Part, count: int) -> None:
    """Hand in the recorded pairs (at most `count`), as the page does."""
    seqs: Sequence[int] = [e.seq for e in exchanges.of_session(session.pk)]
    for number, pair in enumerate(part.pairs[:count], start=1):
        evidence = tuple(seqs[turn] for turn in pair.turns if turn < len(seqs))
        questions.keep(session, number, question_checks.Pair(pair.question, pair.answer, evidence))
