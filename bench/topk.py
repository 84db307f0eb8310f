"""`python -m bench.topk`: where in the ranking the memory stands that answers a question, by retriever and by the text that is embedded.

Table 7 of the LUFY paper for the local encoder, on the released conversations. Every distinct question is asked after its own session, of
a memory that forgets nothing; `--after last`: after the person's last session. The judge is lexical: a memory holds the answer when at
least half of the answer's content words stand in it.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from bench import setting

K = range(1, 11)
DEFAULT = "cosine, bot + user"
GATES = ("cosine", "hybrid, the nearest must reach it (built)", "hybrid, every memory must reach it")
PAPER = (52.5, 61.8, 71.6, 79.9, 84.8, 85.6, 88.2, 88.2, 90.6, 91.2)
FORMS: dict[str, Callable[[str, str], str]] = {
    "user": lambda bot, user: user,
    "bot + user": lambda bot, user: f"{bot}\n{user}" if bot else user,
    "labelled": lambda bot, user: f'utterance by the assistant: "{bot}", response by the user: "{user}"',
}


@dataclass(frozen=True)
class Asked:
    """A question with the exchanges that a memory holds when it is asked; `right`: those that hold the answer."""

    person: str
    question: str
    bots: tuple[str, ...]
    users: tuple[str, ...]
    right: frozenset[int]

    def texts(self, form: str) -> list[str]:
        return [FORMS[form](bot, user) for bot, user in zip(self.bots, self.users, strict=True)]


def asked(source: str, after: str) -> Iterator[Asked]:
    """Every distinct question of the recordings."""
    from studyplatform.scripted.sentences import content_words
    from studyplatform.simulation import recordings

    seen: set[tuple[str, str]] = set()
    for recording in recordings.read(source, system=None, seed=1):
        for number, session in enumerate(recording.sessions, start=1):
            until = recording.sessions[: number if after == "own" else None]
            bots = tuple(bot for s in until for bot in s.bot)
            users = tuple(user for s in until for user in s.user)
            bags = [set(content_words(f"{bot}\n{user}")) for bot, user in zip(bots, users, strict=True)]
            for pair in session.pairs:
                if (recording.person, pair.question) in seen:
                    continue
                seen.add((recording.person, pair.question))
                answer = set(content_words(pair.answer))
                right = frozenset(i for i, bag in enumerate(bags) if answer and 2 * len(answer & bag) >= len(answer))
                yield Asked(recording.person, pair.question, bots, users, right)


def by_chance(questions: Sequence[Asked]) -> list[float]:
    """The expected ratios of a random order: 1 − C(n − r, k) / C(n, k)."""
    ratios = [[1 - comb(len(q.users) - len(q.right), k) / comb(len(q.users), min(k, len(q.users))) for k in K] for q in questions]
    return np.mean(ratios, axis=0).tolist()


def first_ranks(questions: Sequence[Asked], rankings: Sequence[Sequence[int]]) -> np.ndarray:
    """Per question the rank of the first right memory; 10⁶ where there is none."""
    never = 10**6
    return np.array(
        [
            next((rank for rank, i in enumerate(ranking, start=1) if i in q.right), never)
            for q, ranking in zip(questions, rankings, strict=True)
        ]
    )


def ratios(ranks: np.ndarray) -> list[float]:
    """Per k the share of questions with a right memory among the first k."""
    return [float(np.mean(ranks <= k)) for k in K]


def measure(questions: Sequence[Asked], embed: Callable[[Sequence[str]], np.ndarray]) -> dict[str, np.ndarray]:
    """First ranks by retriever and text form."""
    from memory.lexical import bm25, by_both

    distinct = list(dict.fromkeys([q.question for q in questions] + [t for q in questions for form in FORMS for t in q.texts(form)]))
    vectors = dict(zip(distinct, embed(distinct), strict=True))
    cosine: dict[str, list[list[int]]] = {}
    lexical: dict[str, list[list[int]]] = {}
    for form in FORMS:
        cosine[form] = [
            np.argsort(-(np.stack([vectors[t] for t in q.texts(form)]) @ vectors[q.question]), kind="stable").tolist() for q in questions
        ]
        lexical[form] = [np.argsort(-bm25(q.question, q.texts(form)), kind="stable").tolist() for q in questions]
    found = {f"cosine, {form}": first_ranks(questions, cosine[form]) for form in FORMS}
    found |= {f"BM25, {form}": first_ranks(questions, lexical[form]) for form in ("user", "bot + user")}
    for form in FORMS:
        words = "user" if form == "user" else "bot + user"
        found[f"hybrid, {form}"] = first_ranks(
            questions, [_both(q, q.texts(words), order, by_both) for q, order in zip(questions, cosine[form], strict=True)]
        )
    return found


def _both(question: Asked, texts: Sequence[str], nearest: Sequence[int], by_both: Callable[..., Sequence[Any]]) -> list[int]:
    """The hybrid's ranking, given the one by cosine."""
    return [nearest[found.item] for found in by_both(question.question, [texts[i] for i in nearest])]


@dataclass(frozen=True)
class Gated:
    """The first memory of questions when a threshold decides: shares of all questions (`recalled`, `recall`) and of those recalled (`precision`)."""

    recalled: float
    precision: float
    recall: float


def gated(questions: Sequence[Asked], embed: Callable[[Sequence[str]], np.ndarray], threshold: float) -> dict[str, Gated]:
    """What an arm puts into the prompt at an encoder's threshold, by retriever; the hybrid with the threshold as a rule of two kinds."""
    from memory.lexical import by_both

    first: dict[str, list[bool | None]] = {name: [] for name in GATES}
    for q in questions:
        texts = q.texts("bot + user")
        cosines = embed(texts) @ embed([q.question])[0]
        order = np.argsort(-cosines, kind="stable").tolist()
        over = [i for i in order if cosines[i] >= threshold]
        for name, among in zip(GATES, (over, order if over else [], over), strict=True):
            ranked = among if name == GATES[0] else _both(q, texts, among, by_both)
            first[name].append(ranked[0] in q.right if ranked else None)
    return {name: _gated(said) for name, said in first.items()}


def _gated(said: Sequence[bool | None]) -> Gated:
    recalled = sum(found is not None for found in said)
    right = sum(found is True for found in said)
    return Gated(recalled / len(said), right / recalled if recalled else 0.0, right / len(said))


def differences(questions: Sequence[Asked], found: dict[str, np.ndarray], k: int) -> dict[str, tuple[float, float, float]]:
    """Top k less the default's: (difference, its 95 % interval), by 2,000 resamples of the persons."""
    persons = sorted({q.person for q in questions})
    of = {person: [i for i, q in enumerate(questions) if q.person == person] for person in persons}
    rng = np.random.default_rng(1)
    draws = [np.concatenate([of[persons[i]] for i in rng.integers(len(persons), size=len(persons))]) for _ in range(2000)]
    result = {}
    for name, ranks in found.items():
        gain = (ranks <= k).astype(float) - (found[DEFAULT] <= k)
        low, high = np.percentile([gain[draw].mean() for draw in draws], (2.5, 97.5))
        result[name] = (float(gain.mean()), float(low), float(high))
    return result


def _print_gates(threshold: float | None, gates: dict[str, Gated]) -> None:
    print(f"The first memory at the encoder's threshold for replies ({threshold}): questions with one, of these right, of all right, in %")
    for name, gate in gates.items():
        print(f"{name:44}{100 * gate.recalled:7.1f}{100 * gate.precision:7.1f}{100 * gate.recall:7.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.topk", description=__doc__)
    parser.add_argument("--replay", default="lufy:../shared/data/lufy-sample", metavar="SOURCE", help="default: %(default)s")
    parser.add_argument("--encoder", default="local/minilm")
    parser.add_argument("--after", choices=["own", "last"], default="own", help="the session after which a question is asked")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON too")
    arguments = parser.parse_args()
    setting.prepare()
    from django.conf import settings

    from memory import encoders
    from studyplatform.stack import borrowed

    encoder = encoders.get(arguments.encoder)

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.vstack([encoder.embed(texts[i : i + 64]) for i in range(0, len(texts), 64)])

    questions = list(asked(arguments.replay, arguments.after))
    with borrowed.encoder(arguments.encoder, settings={"LOCAL_EMBEDDINGS_URL": settings.ENV.LOCAL_EMBEDDINGS_URL}):
        found = measure(questions, embed)
        threshold = encoder.thresholds.get("reply")
        at_threshold = gated(questions, embed, threshold) if threshold is not None else {}
    table = {name: ratios(ranks) for name, ranks in found.items()} | {"random order": by_chance(questions)}
    gains = {k: differences(questions, found, k) for k in (1, 5)}
    unanswerable = sum(not q.right for q in questions)
    held = np.mean([len(q.users) for q in questions])
    right = np.mean([len(q.right) for q in questions if q.right])
    print(f"{len(questions)} distinct questions of {arguments.replay}, asked after the {arguments.after} session, {arguments.encoder}.")
    print(
        f"Memories per question {held:.0f}; right ones where there are any {right:.1f}; no memory holds the answer: {unanswerable} questions."
    )
    print(f"{'ratio in %, top':24}" + "".join(f"{k:>7}" for k in K) + f"   top 1 and top 5 less {DEFAULT}'s, 95 % intervals")
    for name, row in table.items():
        less = "".join(
            f"{100 * gains[k][name][0]:+7.1f} [{100 * gains[k][name][1]:+.1f}, {100 * gains[k][name][2]:+.1f}]"
            for k in gains
            if name in gains[k]
        )
        print(f"{name:24}" + "".join(f"{100 * value:7.1f}" for value in row) + "   " + less)
    print(f"{'paper, table 7':24}" + "".join(f"{value:7.1f}" for value in PAPER))
    _print_gates(threshold, at_threshold)
    if arguments.out:
        document = {**setting.provenance(), "replay": Path(arguments.replay).name, "after": arguments.after, "encoder": arguments.encoder}
        document |= {"judge": "lexical, half of the answer's content words", "questions": len(questions), "unanswerable": unanswerable}
        document |= {"ratios": table, "differences": gains, "paper": [v / 100 for v in PAPER]}
        document["at_threshold"] = {name: asdict(gate) for name, gate in at_threshold.items()}
        arguments.out.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
