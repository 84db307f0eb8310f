"""How much history fits into a prompt. Tokens are estimated: no tokenizer of a remote model is at hand.

One token per three bytes of UTF-8 is more than tokenizers make of English (about one per four) and about what they make of Japanese, so a budget
is rather not reached than overrun.
"""

from collections.abc import Sequence

from memory.policy import Hit, Memory, Query, Recall, Space

BYTES_PER_TOKEN = 3
PER_MEMORY = 26  # tokens of the words around a quoted memory


def tokens(text: str) -> int:
    """Estimated tokens of a text.

    >>> tokens("I have a cat."), tokens("猫です")
    (5, 3)
    """
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def chars(budget: int) -> int:
    """The most characters that a text of so many estimated tokens has."""
    return budget * BYTES_PER_TOKEN


def recall_newest(query: Query, space: Space, newest: Sequence[Memory], budget: int) -> Recall:
    """Of these memories, newest first, as many as fit into `budget` tokens; how many were left out is in `why`, and so in the ledger.

    A reply gets them in the order in which they happened, compared with nothing: every similarity is 0. A question, which stands by itself, gets the same
    ones nearest first.
    """
    taken: list[Memory] = []
    spent = 0
    for memory in newest:
        cost = tokens(memory.embed_text) + PER_MEMORY
        if spent + cost > budget:
            break
        taken.append(memory)
        spent += cost
    near = {hit.memory.id: hit.similarity for hit in space.nearest(query.last)} if query.kind == "question" and taken else {}
    hits = [Hit(memory, near.get(memory.id, 0.0), {"age": float(age)}) for age, memory in enumerate(taken, start=1)]
    why = {"budget_tokens": budget, "tokens": spent, "held": len(newest), "left_out": len(newest) - len(taken)}
    return Recall(tuple(sorted(hits, key=lambda hit: (-hit.similarity, -hit.terms["age"]))), (), why)
