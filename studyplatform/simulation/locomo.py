"""Recordings from a LoCoMo file: two people's dialogues over many sessions, with questions about them.

`speaker_a` is the participant. Consecutive texts of one speaker are joined. Questions of category 5 (which have no answer) are
left out; three per session are drawn by seed, each belonging to the session of its last evidence.
"""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

from studyplatform.simulation.recordings import BadRecording, RecordedPair, RecordedSession, Recording, paired

PAIRS_PER_SESSION = 3
_SESSION = re.compile(r"session_(\d+)$")
_EVIDENCE = re.compile(r"D(\d+):(\d+)")
Question = dict[str, Any]


def read(file: Path, *, seed: int) -> list[Recording]:
    """One recording per dialogue, in the file's order.

    Raises:
        BadRecording: no such file, not JSON, or not in LoCoMo's form.
    """
    try:
        samples = json.loads(file.read_text("utf-8"))
        return [_recording(sample, Random(f"{seed}.{number}")) for number, sample in enumerate(samples)]  # noqa: S311 - a seeded draw
    except OSError as error:
        raise BadRecording(f"locomo:{file}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRecording(f"locomo:{file}: not a LoCoMo file ({type(error).__name__}: {error}).") from error


def _recording(sample: dict[str, Any], rng: Random) -> Recording:
    talk = sample["conversation"]
    person = talk["speaker_a"]
    numbers = sorted(int(m.group(1)) for name in talk if (m := _SESSION.match(name)) and talk[name])
    drawn = _draw(_questions(sample["qa"], numbers), rng)
    sessions = tuple(_session(talk[f"session_{n}"], person, drawn[n]) for n in numbers)
    return Recording(person=person, system="LoCoMo", sessions=tuple(s for s in sessions if s.user))


def _questions(qa: list[Question], numbers: list[int]) -> dict[int, list[Question]]:
    """The answerable questions by the session of their last evidence."""
    asked: dict[int, list[Question]] = {n: [] for n in numbers}
    for question in qa:
        places = _EVIDENCE.findall(" ".join(question["evidence"]))
        if question["category"] != 5 and "answer" in question and places:
            last = max(int(session) for session, _ in places)
            if last in asked:
                asked[last].append(question)
    return asked


def _draw(asked: dict[int, list[Question]], rng: Random) -> dict[int, list[Question]]:
    """Three per session. A session with fewer takes what earlier sessions have left, so that the study's form can be filled."""
    left: list[Question] = []
    drawn = {}
    for number, questions in sorted(asked.items()):
        shuffled = rng.sample(questions, len(questions))
        drawn[number], over = shuffled[:PAIRS_PER_SESSION], shuffled[PAIRS_PER_SESSION:]
        missing = PAIRS_PER_SESSION - len(drawn[number])
        drawn[number] += left[:missing]
        left = left[missing:] + over
    return drawn


def _session(lines: list[dict[str, Any]], person: str, asked: list[Question]) -> RecordedSession:
    bot: list[str] = []
    user: list[str] = []
    turn_of: dict[str, int] = {}
    said: list[str] = []
    speaking = False
    for line in lines:
        if line["speaker"] != person:
            said.append(line["text"])
            speaking = False
            continue
        if speaking:
            user[-1] = f"{user[-1]}\n{line['text']}"
        else:
            bot.append("\n".join(said))
            user.append(line["text"])
            said, speaking = [], True
        turn_of[line["dia_id"]] = len(user) - 1
    pairs = tuple(_pair(q, user, turn_of) for q in asked)
    return RecordedSession(bot=tuple(bot), user=tuple(user), pairs=pairs, closing="\n".join(said) or None)


def _pair(question: Question, user: list[str], turn_of: dict[str, int]) -> RecordedPair:
    """Evidence in the other speaker's words has no turn of the participant's: then it is found by the words."""
    ids = [f"D{s}:{t}" for s, t in _EVIDENCE.findall(" ".join(question["evidence"]))]
    turns = sorted({turn_of[i] for i in ids if i in turn_of})
    return paired(str(question["question"]), str(question["answer"]), user, turns)
