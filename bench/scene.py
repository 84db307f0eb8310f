"""A study with people in the middle of a conversation, made for the load: what the measured web process serves."""

from collections.abc import Sequence

from django.utils import timezone

from bench.crowd import TEXTS, Seat
from memory.models import Memory, MemoryWrite
from studyplatform.llm.embeddings import embed
from studyplatform.study import consenting, joining, loading, moving, seats, sessions, studies
from studyplatform.study.models import Participant, Session, Study

PREFIX = "bench-"  # of the slugs of all studies made here
REMEMBERED = 40  # memories that each person's arm holds before the first message

STUDY = """
[study]
slug = "bench"
title = "Bench"
participants = 1000
contact = "bench@example.org"
[consent]
version = "1"
text = "People made of numbers talk here, so that the time of an answer can be measured."
remembered_for = "until the measurement is over"
[instructions]
version = "1"
text = "Say the next line as soon as the last one is answered."
[sessions]
per_arm = 1
shared_first = false
min_turns = 1
questions = 0
[chat]
response_model = "scripted/script"
first_opener = "Hello! How was your day?"
write_wait_ms = {write_wait_ms}
[memory]
encoder = "{encoder}"
[[conditions]]
name = "measured"
preset = "{preset}"
[[aliases]]
name = "Aki"
colour = "pine"
shape = "circle"
[seeds]
assignment = 1
aliases = 2
forgetting = 3
"""


def new_study(encoder: str, preset: str, *, write_wait_ms: int) -> Study:
    """A simulated study under a slug of its own."""
    loaded = loading.parse(STUDY.format(encoder=encoder, preset=preset, write_wait_ms=write_wait_ms))
    slug = f"{PREFIX}{timezone.now():%Y%m%d%H%M%S%f}"
    return moving.move(loading.store(loaded, slug=slug, simulated=True), Study.State.RUNNING)


def seat(study: Study, count: int, site: str) -> list[Seat]:
    """So many people with a running session and `REMEMBERED` memories each."""
    config = studies.config_of(study)
    statement = consenting.statement(config)
    vectors = [vector.tolist() for vector in embed(config.memory.encoder, TEXTS)]
    seated = []
    for _ in range(count):
        person = joining.new_participant(study, simulated=True)
        consenting.give(person, version=statement.version, text_sha256=statement.sha256, scopes=statement.scopes)
        Participant.objects.filter(pk=person.pk).update(instructions_version=config.instructions.version, instructed_at=timezone.now())
        session = Session.objects.select_related("participant__study", "arm").get(participant=person)
        sessions.begin(session)
        _remember(session, config.memory.encoder, vectors)
        address = f"{site.replace('http', 'ws', 1)}/p/{person.code}/s/{session.code}/ws"
        seated.append(Seat(address, f"{seats.COOKIE}={seats.cookie_of(person)}"))
    return seated


def _remember(session: Session, encoder: str, vectors: Sequence[list[float]]) -> None:
    """As if the person had talked before: exchanges of a session 0."""
    now = timezone.now()
    Memory.objects.bulk_create(
        Memory(
            arm=session.arm, kind=Memory.Kind.EXCHANGE, session_number=0, seq=2 * n + 2, bot_text="And then?", user_text=TEXTS[n % len(TEXTS)],
            embed_text=TEXTS[n % len(TEXTS)], vector=vectors[n % len(vectors)], encoder=encoder, last_recalled=0, happened_at=now,
        )
        for n in range(REMEMBERED)
    )  # fmt: skip


def drop_open_writes() -> None:
    """What the parts without a worker left to be written, so that a worker does not begin with thousands of somebody else's exchanges."""
    MemoryWrite.objects.filter(state=MemoryWrite.State.OPEN, session__participant__study__slug__startswith=PREFIX).delete()


def erase(study: Study) -> None:
    """Remove the study and all that belongs to it, where the database allows; a simulated study may also stay."""
    Session.objects.filter(participant__study=study, state=Session.State.CHATTING).update(state=Session.State.CLOSED)
    moving.move(study, Study.State.CLOSED)
