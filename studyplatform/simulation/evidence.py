"""Which of a person's utterances a question is about, found by the words they share."""

from collections import Counter
from collections.abc import Sequence

from studyplatform.scripted.sentences import content_words

ANSWER_WEIGHT = 2.0
QUESTION_WEIGHT = 1.0
MOST = 2


def choose(question: str, answer: str, utterances: Sequence[str]) -> tuple[int, ...]:
    """Indices of one or two utterances, in order; never none while there are utterances.

    A shared word counts more when few utterances hold it, and more when it stands in the answer. The second best is taken
    only when it scores at least half of the best. Without any shared word it is the longest utterance.
    """
    if not utterances:
        return ()
    bags = [set(content_words(text)) for text in utterances]
    spread = Counter(word for bag in bags for word in bag)
    asked, held = set(content_words(question)), set(content_words(answer))

    def score(bag: set[str]) -> float:
        weights = ((ANSWER_WEIGHT if w in held else QUESTION_WEIGHT) / spread[w] for w in bag & (asked | held))
        return sum(weights)

    ranked = sorted(range(len(utterances)), key=lambda i: (-score(bags[i]), -len(utterances[i]), i))
    best = score(bags[ranked[0]])
    chosen = [i for i in ranked[:MOST] if best > 0 and score(bags[i]) >= best / 2]
    return tuple(sorted(chosen or ranked[:1]))
