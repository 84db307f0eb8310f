"""The one cast of all tests: a small study, and the people in and around it.

ana, ben   participants who agreed and were assigned; ana is number 0, ben number 1
eve        invited, has not agreed yet
pia        a pilot participant
rae        the study's researcher
lee        an annotator          kim  a second one
max        a de-identification reviewer
sam        a stranger: staff of another study, with every role there
noa        a participant of that other study
"""

from dataclasses import dataclass
from typing import Any

from django.test import Client

from studyplatform.study import consenting, joining, loading, seats
from studyplatform.study.models import Arm, Participant, Role, Session, Study, User

PASSWORD = "a-long-enough-password"

HEAD = """
[study]
slug = "{slug}"
title = "Everyday Conversations"
participants = 8
contact = "study@example.org"
pay_per_session = 7.0
design = "{design}"

[consent]
version = "1"
text = "You will talk with assistants about your everyday life, and write questions about what you told them."
scopes = ["study", "annotators", "release_controlled"]
remembered_for = "until the study ends in March 2027"

[instructions]
version = "1"
text = "Talk about whatever comes to your mind, as you would with a new colleague."

[sessions]
per_arm = {per_arm}
shared_first = {shared_first}
min_turns = 2
questions = {questions}
{sessions}

[chat]
response_model = "scripted/script"
first_opener = "Hello! How was your day?"
{chat}

[memory]
encoder = "scripted/hash"

[seeds]
assignment = 11
aliases = 12
forgetting = 13
"""

CONDITIONS = {
    "two": ("naive_rag", "lufy"),
    "four": ("naive_rag", "memory_bank", "lufy", "amu"),
}
ALIASES = (("Aki", "pine", "circle"), ("Sora", "ochre", "square"), ("Rin", "plum", "triangle"), ("Nao", "slate", "diamond"))


def study_toml(kind: str = "two", **changes: Any) -> str:
    """A study file. `kind`: "two" or "four" conditions; `changes`: slug, design, per_arm, shared_first, questions,
    and `sessions`, `chat` (further lines of these tables)."""
    values = {
        "slug": f"cast-{kind}",
        "design": "within",
        "per_arm": 3,
        "shared_first": "true",
        "questions": 1,
        "sessions": "",
        "chat": "",
    } | changes
    conditions = [f'[[conditions]]\nname = "cond_{preset}"\npreset = "{preset}"\n' for preset in CONDITIONS[kind]]
    aliases = [
        f'[[aliases]]\nname = "{name}"\ncolour = "{colour}"\nshape = "{shape}"\n' for name, colour, shape in ALIASES[: len(conditions)]
    ]
    return HEAD.format(**values) + "\n" + "\n".join(conditions + aliases)


def make_study(kind: str = "two", *, state: str = "running", simulated: bool = False, **changes: Any) -> Study:
    """A stored study in the given state."""
    study = loading.store(loading.parse(study_toml(kind, **changes)), simulated=simulated)
    Study.objects.filter(pk=study.pk).update(state=state)
    study.refresh_from_db()
    return study


def agree(participant: Participant) -> Participant:
    """This participant agrees to everything and is told how it goes: arms and sessions exist, the first one is open."""
    from studyplatform.study.studies import config_of

    config = config_of(participant.study)
    statement = consenting.statement(config)
    consenting.give(participant, version=statement.version, text_sha256=statement.sha256, scopes=statement.scopes)
    participant.refresh_from_db()
    participant.instructions_version = config.instructions.version
    participant.save(update_fields=["instructions_version"])
    return participant


def person(study: Study, **fields: Any) -> Participant:
    """One more participant who agreed."""
    return agree(joining.new_participant(study, simulated=study.simulated, **fields))


def staff(email: str, study: Study | None = None, *roles: str) -> User:
    """A member of staff with roles in one study."""
    user = User.objects.create_user(email, PASSWORD, name=email.split("@")[0].title())
    for role in roles:
        assert study is not None
        Role.objects.create(user=user, study=study, name=role)
    return user


def seat(participant: Participant) -> Client:
    """A browser that holds this participant's cookie."""
    client = Client()
    client.cookies[seats.COOKIE] = seats.cookie_of(participant)
    return client


def logged_in(user: User) -> Client:
    """A browser in which this member of staff is logged in."""
    client = Client()
    client.force_login(user)
    return client


def session_of(participant: Participant, position: int = 1) -> Session:
    return Session.objects.select_related("arm", "participant__study").get(participant=participant, position=position)


def arm_of(participant: Participant, preset: str | None) -> Arm:
    """The participant's arm with this preset; None: the shared arm."""
    if preset is None:
        return Arm.objects.get(participant=participant, condition=None)
    return Arm.objects.select_related("condition").get(participant=participant, condition__preset=preset)


@dataclass
class Cast:
    study: Study
    ana: Participant
    ben: Participant
    eve: Participant
    pia: Participant
    rae: User
    lee: User
    kim: User
    max: User
    other_study: Study
    sam: User
    noa: Participant

    @property
    def participants(self) -> tuple[Participant, ...]:
        return (self.ana, self.ben, self.eve, self.pia)


def stage_cast(kind: str = "two", **changes: Any) -> Cast:
    """Everybody, in a running study; `changes` as for `study_toml`."""
    study = make_study(kind, **changes)
    other = make_study("two", slug=f"other-than-{kind}")
    return Cast(
        study=study,
        ana=person(study),
        ben=person(study),
        eve=joining.new_participant(study),
        pia=person(study, pilot=True),
        rae=staff("rae@example.org", study, "researcher"),
        lee=staff("lee@example.org", study, "annotator"),
        kim=staff("kim@example.org", study, "annotator"),
        max=staff("max@example.org", study, "reviewer"),
        other_study=other,
        sam=staff("sam@example.org", other, "researcher", "annotator", "reviewer"),
        noa=person(other),
    )
