"""How an encoder's thresholds and a scorer's constants are found (the committed ones are in `encoders` and `measures.registry`).

`manage.py calibrate_encoder` and `manage.py calibrate_scorer` apply this to recorded conversations and print what they find.

On question-answer pairs of recorded conversations, after the LUFY paper's figures 4 and 5: how similar is a question to the best exchange
of its conversation? With small encoders the F1 of "recalled, and holds the answer" only rises as the threshold falls (the best exchange
is right about as often at any cosine), so the paper's values are matched by percentile, not by the best F1:

reply             something is recalled for as many questions as the paper's Naive RAG answered: recall 52.5 / precision 72.3 = 72.6 %
reply_reference   something is recalled for 90 % of the questions: lower, as .75 is to .8
opening           the 10th percentile, over conversations after the first, of the best exchange's cosine to the opening query: .6 there lets
                  nearly all pass
amu_recall        as reply, for third-person statements in place of exchanges
amu_candidate     the best F1 of "duplicate or update" against "separate" over labelled pairs of statements (`relations.tsv`)

With MiniLM the paper's .60 for candidates would miss two of twelve labelled updates, and its .55 for recall most questions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.policy import Scale

SHARE_OF_MEAN = 0.304  # the arousal term's mean, which the perplexity term is brought to
PERPLEXITY_WEIGHT = 2.8709762924617905

NOT_RECALLED = {"reply": 1 - 0.525 / 0.723, "reply_reference": 0.10}  # share of the questions for which nothing is recalled


@dataclass(frozen=True)
class Band:
    """What a threshold does to questions of which each has one best memory.

    `recalled`: share whose best memory reaches it; `precision`: of these, the share whose memory holds the answer; `recall`: of all
    questions, the share for which a memory is recalled that holds it; `f1`: of the two.
    """

    threshold: float
    recalled: float
    precision: float
    recall: float
    f1: float


def band(best: Sequence[tuple[float, bool]], threshold: float) -> Band:
    """`best`: per question the cosine of its best memory, and whether that holds the answer.

    >>> band([(0.9, True), (0.8, False), (0.4, True), (0.1, False)], 0.5)
    Band(threshold=0.5, recalled=0.5, precision=0.5, recall=0.25, f1=0.3333333333333333)
    """
    over = [holds for cosine, holds in best if cosine >= threshold]
    hits = sum(over)
    precision, recall = hits / len(over) if over else 0.0, hits / len(best)
    return Band(threshold, len(over) / len(best), precision, recall, 2 * hits / (len(over) + len(best)))


def reply_thresholds(best: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """`reply` and `reply_reference`, by percentile of the questions' best cosines."""
    cosines = [cosine for cosine, _ in best]
    return {name: round(float(np.percentile(cosines, 100 * share)), 3) for name, share in NOT_RECALLED.items()}


def best_f1(right: Sequence[float], wrong: Sequence[float]) -> tuple[float, float]:
    """(threshold, F1): values at or over the threshold count as right; of equal F1 the lowest threshold.

    >>> best_f1([0.9, 0.8, 0.4], [0.5, 0.3, 0.1])
    (0.4, 0.8571428571428571)
    """
    values: NDArray[np.float64] = np.array([*right, *wrong])
    is_right = np.array([True] * len(right) + [False] * len(wrong))
    order = np.argsort(-values, kind="stable")
    hits = np.cumsum(is_right[order])
    f1 = 2 * hits / (np.arange(1, len(values) + 1) + len(right))
    last_of_ties = np.append(np.diff(values[order]) != 0, True)
    f1 = np.where(last_of_ties, f1, -1)
    best = len(f1) - 1 - int(np.argmax(f1[::-1]))
    return float(values[order][best]), float(f1[best])


def cap_interval(values: Sequence[float], seed: int, resamples: int = 2000) -> tuple[float, float]:
    """The cap's 95 % interval by bootstrap over the exchanges: a long tail needs many of them."""
    drawn = np.random.default_rng(seed).choice(np.asarray(values, dtype=np.float64), (resamples, len(values)))
    low, high = np.percentile(np.percentile(drawn, 95, axis=1), (2.5, 97.5))
    return round(float(low), 1), round(float(high), 1)


def perplexity_scale(values: Sequence[float]) -> Scale:
    """Cap: the 95th percentile; divisor: such that a·mean/divisor is .304, the mean taken of the capped values."""
    cap = float(np.percentile(values, 95))
    mean = float(np.minimum(values, cap).mean())
    return Scale(cap=round(cap, 1), divisor=round(PERPLEXITY_WEIGHT * mean / SHARE_OF_MEAN, 1))
