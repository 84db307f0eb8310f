"""People chat while processes are killed, and afterwards every row is counted.

Times of the kills come from a seed; what they hit is chance, as in life. The scripted model speaks slowly enough for replies to be cut.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from django.db.models import Count

from chat.models import Turn
from memory.models import Memory, MemoryEvent, MemoryWrite, QAAnswer
from studyplatform.simulation import casting, run
from studyplatform.simulation.casting import Wish
from studyplatform.simulation.crew import Crew, free_port
from studyplatform.simulation.pages import Browser
from studyplatform.simulation.run import Guide, in_thread
from studyplatform.simulation.walking import Journal, Walk
from studyplatform.stack import valkey
from studyplatform.study import joining, loading, moving, studies
from studyplatform.study.models import Participant, QAPair, Session, StageRun, Study
from tests.cast import study_toml

SESSIONS = 2  # per arm; the first is shared
ARMS = 2
MESSAGES = 5
QUESTIONS = 1
BUSY = 2  # people in the middle of a chat, before a process is killed


@dataclass
class Outcome:
    """What was counted. Everything in `broken` is a promise that was not kept."""

    kills: Counter[str] = field(default_factory=Counter)
    journals: list[Journal] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    messages: int = 0
    acked: int = 0
    participants: int = 0

    def line(self) -> str:
        killed = ", ".join(f"{name} {count} times" for name, count in self.kills.items())
        reconnects = sum(j.reconnects for j in self.journals)
        return (
            f"killed {killed}: {self.participants} participants, {self.messages} messages, {self.acked} acknowledged, "
            f"{reconnects} reconnections, {len(self.broken)} broken promises"
        )


def start_valkey(crew: Crew) -> str:
    """A broker of our own, which may be killed; its address."""
    port = free_port()
    folder = Path(crew.folder.name)
    command = (str(valkey.binary()), "--port", str(port), "--bind", "127.0.0.1", "--appendonly", "yes", "--dir", str(folder), "--save", "")
    crew.start("valkey", command, lambda: "Ready to accept connections" in crew.tail("valkey"))
    return f"redis://127.0.0.1:{port}/0"


async def kill_at_random(crew: Crew, name: str, times: int, rng: Random, outcome: Outcome) -> None:
    """kill -9, a moment of silence, start again; so many times."""
    for _ in range(times):
        await asyncio.sleep(rng.uniform(0.2, 2.0))
        while not _is_busy(outcome):  # noqa: ASYNC110 - what is waited for is spread over all screens
            await asyncio.sleep(0.02)
        await asyncio.to_thread(crew.kill, name)
        outcome.kills[name] += 1
        await asyncio.sleep(rng.uniform(0.0, 0.5))
        await asyncio.to_thread(crew.restart, name)


async def watch(crew: Crew) -> None:
    """What the stack's supervisor does, and `restart:` in a compose file: a process that ends by itself is started again."""
    while True:
        await asyncio.sleep(1)
        await asyncio.to_thread(crew.revive)


def _is_busy(outcome: Outcome) -> bool:
    """Whether some people wait for an answer right now."""
    screens = [screen for journal in outcome.journals for screen in journal.screens.values()]
    return sum(screen.next is None and screen.message is not None for screen in screens) >= BUSY


def new_study() -> Study:
    loaded = loading.parse(study_toml("two", slug="chaos", per_arm=SESSIONS, questions=QUESTIONS))
    return moving.move(loading.store(loaded, simulated=True), Study.State.RUNNING)


async def walk_through(crew: Crew, site: str, name: str, times: int, *, people: int, seed: int, scripted_url: str) -> tuple[Study, Outcome]:
    """So many people walk; whoever comes to the end makes room for the next, until the killing is over."""
    study = await in_thread(new_study)
    cast = casting.cast(Wish(participants=people, messages=MESSAGES), await in_thread(lambda: studies.config_of(study)))
    outcome = Outcome()
    rng = Random(seed)
    killing = asyncio.create_task(kill_at_random(crew, name, times, rng, outcome))
    watching = asyncio.create_task(watch(crew))

    async def chair(number: int) -> None:
        person, pauses = cast.people[number], Random(f"{seed}.{number}")
        while True:
            participant = await in_thread(lambda: joining.new_participant(study, simulated=True))
            think = lambda: pauses.uniform(0.0, 0.6)  # noqa: E731 - the walk wants a function
            walk = Walk(Browser(site), run.link_of(participant), person, Guide(person, scripted_url), think=think)
            outcome.journals.append(walk.journal)
            await walk.go()
            if killing.done():
                return

    await asyncio.gather(*(chair(n) for n in range(people)))
    await killing
    outcome.broken += [f"work not done: {what}" for what in await run.wait_for_work(study)]
    watching.cancel()
    return study, outcome


def count(study: Study, outcome: Outcome) -> Outcome:
    """Compare what the browsers were promised with what the database holds."""
    sessions = Session.objects.filter(participant__study=study)
    said = Turn.objects.filter(session__in=sessions, role=Turn.Role.USER)
    outcome.participants, outcome.messages = study.participants.count(), said.count()
    _count_walks(outcome)
    _count_messages(sessions, said, outcome)
    _count_sessions(study, sessions, outcome)
    _count_work(study, sessions, outcome)
    return outcome


def _count_walks(outcome: Outcome) -> None:
    for journal in outcome.journals:
        outcome.broken += [f"{where}: {message}" for where, message in journal.errors]


def _count_messages(sessions, said, outcome: Outcome) -> None:
    stored = {turn.client_id: turn for turn in said}
    if len(stored) != said.count():
        outcome.broken.append("two turns bear one client id")
    promised = {acked[0]: acked for journal in outcome.journals for screen in journal.screens.values() for acked in screen.acked}
    outcome.acked = len(promised)
    for client_id, seq, text in promised.values():
        turn = stored.get(client_id)
        if turn is None:
            outcome.broken.append(f"an acknowledged message is lost: {text!r}")
        elif (turn.seq, turn.text) != (seq, text):
            outcome.broken.append(f"message {seq} is stored as {turn.seq}: {turn.text!r}")
    for client_id in stored.keys() - promised.keys():
        outcome.broken.append(f"a message was stored that its writer does not know of: {stored[client_id].text!r}")
    replies = Counter(
        Turn.objects.filter(session__in=sessions, role=Turn.Role.BOT, state=Turn.State.DONE).values_list("session", "reply_to")
    )
    outcome.broken += [f"message {reply_to} of session {session} has {n} replies" for (session, reply_to), n in replies.items() if n > 1]
    for turn in said:
        if replies[(turn.session_id, turn.seq)] != 1:
            outcome.broken.append(f"message {turn.seq} of session {turn.session_id} has no reply")
    spoken = Counter(said.values_list("session", flat=True))
    outcome.broken += [f"session {session}: {n} messages instead of {MESSAGES}" for session, n in spoken.items() if n != MESSAGES]


def _count_sessions(study: Study, sessions, outcome: Outcome) -> None:
    outcome.broken += [f"session {s.code} is {s.state}" for s in sessions.exclude(state=Session.State.CLOSED)]
    unfinished = study.participants.exclude(state=Participant.State.FINISHED)
    outcome.broken += [f"participant {p.code} is {p.state}" for p in unfinished]
    for session in sessions:
        holes = set(range(1, session.last_seq + 1)) - set(
            Turn.objects.filter(session=session, state=Turn.State.DONE).values_list("seq", flat=True)
        )
        if holes:
            outcome.broken.append(f"session {session.code} has holes at {sorted(holes)}")


def _count_work(study: Study, sessions, outcome: Outcome) -> None:
    """Every stage once; every exchange written once into each arm; every memory judged once per close; every question asked once."""
    runs = StageRun.objects.filter(session__in=sessions)
    outcome.broken += [f"{r.stage} of session {r.session_id} is {r.state}: {r.error}" for r in runs.exclude(state=StageRun.State.DONE)]
    writes = MemoryWrite.objects.filter(arm__participant__study=study)
    outcome.broken += [
        f"write {w.seq} of arm {w.arm_id} is {w.state} {w.outcome}" for w in writes if w.state != "done" or w.outcome == "error"
    ]
    people = study.participants.count()
    wanted = people * MESSAGES * (1 + ARMS * SESSIONS)  # the shared session in the shared arm, then in every arm, and the arms' own
    if writes.count() != wanted:
        outcome.broken.append(f"{writes.count()} memory writes instead of {wanted}")
    keeping = Memory.objects.filter(arm__participant__study=study, arm__condition__preset="naive_rag", status=Memory.Status.ACTIVE).count()
    if keeping != people * MESSAGES * SESSIONS:
        outcome.broken.append(f"the arms that keep all hold {keeping} memories instead of {people * MESSAGES * SESSIONS}")
    judged = MemoryEvent.objects.filter(arm__participant__study=study, what__in=("kept", "forgotten"))
    twice = judged.values("memory", "session_number").annotate(n=Count("pk")).filter(n__gt=1).count()
    if twice:
        outcome.broken.append(f"{twice} memories were judged twice at one close")
    used = MemoryEvent.objects.filter(arm__participant__study=study, what__in=("used", "passed_over"))
    repeated = used.values("memory", "session_number", "seq", "what").annotate(n=Count("pk")).filter(n__gt=1).count()
    if repeated:
        outcome.broken.append(f"{repeated} recalls were counted twice for one reply")
    pairs = QAPair.objects.filter(session__in=sessions).count()
    asked = QAAnswer.objects.filter(arm__participant__study=study).count()
    if pairs != people * QUESTIONS * (1 + ARMS * (SESSIONS - 1)):
        outcome.broken.append(f"{pairs} pairs of question and answer were kept")
    if asked != people * QUESTIONS * ARMS * sum(range(1, SESSIONS + 1)):
        outcome.broken.append(f"{asked} questions were asked")
