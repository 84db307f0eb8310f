"""Who takes part in a simulated study, from what was asked for on the command line."""

from dataclasses import dataclass

from studyplatform.simulation import people, recordings
from studyplatform.simulation.designs import Changes, Llm
from studyplatform.simulation.people import Person
from studyplatform.simulation.recordings import BadRecording
from studyplatform.study.config import StudyConfig


@dataclass(frozen=True)
class Wish:
    """The options of `simulate`, parsed. `replay`: `lufy:DIR` or `locomo:FILE`; `live`: the bot answers by itself in a replay."""

    participants: int
    llm: Llm = "scripted"
    replay: str | None = None
    live: bool = False
    system: str | None = None
    sessions: int | None = None
    messages: int | None = None
    seed: int = 1


@dataclass(frozen=True)
class Cast:
    people: tuple[Person, ...]
    changes: Changes


def cast(wish: Wish, config: StudyConfig) -> Cast:
    """The people, and what their taking part changes in the study's design.

    Raises:
        BadRecording: the recordings cannot be read, or are too few or too short.
    """
    rules = config.sessions
    messages = None if wish.messages is None else max(wish.messages, rules.min_turns)
    if wish.replay is None:
        sessions = wish.sessions or rules.per_arm
        spoken = [
            people.speak(n + wish.seed - 1, sessions=sessions, messages=messages, questions=rules.questions)
            for n in range(wish.participants)
        ]
        return Cast(tuple(spoken), Changes(wish.llm, sessions=wish.sessions))
    found = recordings.read(wish.replay, system=wish.system, seed=wish.seed)
    if wish.participants > len(found):
        raise BadRecording(f"{wish.replay}: {wish.participants} participants were asked for, and there are {len(found)} recordings.")
    taken = found[: wish.participants]
    sessions = wish.sessions or min(rules.per_arm, min(len(r.sessions) for r in taken))
    short = [f"{r.person} ({r.system}): {len(r.sessions)}" for r in taken if len(r.sessions) < sessions]
    if short:
        raise BadRecording(f"{wish.replay}: {sessions} sessions were asked for; fewer are recorded of {', '.join(short)}.")
    repeated = tuple(people.repeat(r, sessions=sessions, messages=messages, live=wish.live) for r in taken)
    return Cast(repeated, Changes(wish.llm, sessions=sessions, replay=True))
