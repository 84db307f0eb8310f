"""LUFY's formulas against the printed test vectors (memory-systems 1.2), and its laws."""

from datetime import UTC, datetime
from math import exp
from random import Random

import pytest

from memory.policies.lufy import Lufy
from memory.policy import Memory, When
from memory.registry import build

# (L, P, A, R1, R2, Δt), S with d=250, S with d=400, exp(−Δt/.5S250), exp(−Δt/.33S400), exp(−Δt/S400)
VECTORS = [
    ((8, 40, 3.4, 2, 1, 2), "2.409699", "2.457955", "0.190147", "0.084948", "0.443222"),
    ((1, 160, 2.5, 0, 0, 1), "0.211234", "0.404260", "0.000077", "0.000555", "0.084276"),
    ((5, 160, 3.0, 0, 3, 1), "0.571855", "0.764880", "0.030276", "0.019029", "0.270524"),
    ((10, 12, 4.2, 0, 0, 3), "1.469537", "1.484014", "0.016858", "0.002186", "0.132451"),
]
WHEN = datetime(2026, 3, 1, tzinfo=UTC)


def memory(importance=0.0, perplexity=0.0, arousal=0.0, r1=0, r2=0, *, session=1, seq=2, last=None, measured=True, id=1):
    measures = {"importance": importance, "perplexity": perplexity, "arousal": arousal} if measured else {}
    return Memory(id, "exchange", session, seq, "", "", "", r1, r2, last or session, WHEN, measures=measures)


def strength(values, divisor, policy=None):
    m = memory(*values[:5])
    return (policy or Lufy()).strength(m.measures, m.r1, m.r2, divisor)["strength"]


def importance(values, divisor, k):
    return Lufy().importance(memory(*values[:5]), values[5], divisor, k)["importance"]


@pytest.mark.parametrize("row", VECTORS)
def test_strength_at_recall_and_at_forgetting_is_as_printed(row):
    assert f"{strength(row[0], 250):.6f}" == row[1]
    assert f"{strength(row[0], 400):.6f}" == row[2]


@pytest.mark.parametrize("row", VECTORS)
def test_importance_decays_as_printed_for_the_reference_and_for_the_paper(row):
    assert f"{importance(row[0], 250, 0.5):.6f}" == row[3]
    assert f"{importance(row[0], 400, 0.33):.6f}" == row[4]
    assert f"{importance(row[0], 400, 1):.6f}" == row[5]


def test_a_weak_surprising_memory_is_raised_to_the_floor_at_recall_and_says_so():
    terms = Lufy().strength({"importance": 1, "perplexity": 160, "arousal": 1.8}, 0, 0, 250)
    assert f"{terms['raw_strength']:.6f}" == "0.017673"
    assert terms["strength"] == 0.1
    assert terms["floored"] == 1.0
    values = (1, 160, 1.8, 0, 0, 1)
    assert f"{strength(values, 400):.6f}" == "0.210698"
    assert f"{importance(values, 250, 0.5):.1e}" == "2.1e-09"
    assert f"{importance(values, 400, 0.33):.1e}" == "5.7e-07"
    assert f"{importance(values, 400, 1):.6f}" == "0.008685"


def test_an_exchange_of_the_running_session_is_unscored_and_gets_the_whole_bonus():
    fresh = memory(measured=False)
    terms = Lufy().importance(fresh, 0, 400, 1)
    assert (terms["raw_strength"], terms["strength"], terms["importance"]) == (0.0, 0.1, 1.0)


def test_every_coefficient_per_raw_unit_is_the_printed_one():
    policy = Lufy()
    one = {name: policy.strength({name: 1.0}, 0, 0, 250)[f"{name}_term"] for name in ("importance", "perplexity", "arousal")}
    assert {name: f"{value:.6f}" for name, value in one.items()} == {
        "importance": "0.034677",
        "perplexity": "-0.003217",
        "arousal": "0.276517",
    }
    counted = policy.strength({}, 1, 1, 400)
    assert f"{counted['r1_term']:.6f}" == "0.646462"
    assert f"{counted['r2_term']:.6f}" == "0.027884"
    assert f"{policy.strength({'perplexity': 1.0}, 0, 0, 400)['perplexity_term']:.6f}" == "-0.002011"


def test_being_passed_over_strengthens_as_printed_and_weakens_in_the_variant_of_the_prose():
    assert strength((5, 20, 3, 0, 4), 400) > strength((5, 20, 3, 0, 0), 400)
    variant = build("lufy_r2_sign")
    assert strength((5, 20, 3, 0, 4), 400, variant) < strength((5, 20, 3, 0, 0), 400, variant)


def test_perplexity_counts_no_more_than_the_scorers_cap():
    assert strength((5, 160, 3, 0, 0), 400) == strength((5, 9000, 3, 0, 0), 400)


def test_one_use_outweighs_any_realistic_arousal():
    assert strength((5, 40, 2.5, 1, 0), 400) > strength((5, 40, 3.8, 0, 0), 400)


def test_a_recalled_memory_decays_slower():
    assert importance((5, 40, 3, 3, 0, 2), 400, 1) > importance((5, 40, 3, 0, 0, 2), 400, 1)


def test_forgetting_keeps_the_most_important_and_gives_every_term():
    memories = [memory(i, 40, 3, seq=2 * i, id=i) for i in range(1, 11)]
    verdicts = Lufy().retain(memories, When(1, WHEN), Random(0))
    assert [v.memory.id for v in verdicts if v.kept] == [10]
    assert [v.rank for v in verdicts] == list(range(1, 11))
    terms = verdicts[0].terms
    parts = ("importance_term", "perplexity_term", "arousal_term", "r1_term", "r2_term")
    assert sum(terms[name] for name in parts) == pytest.approx(terms["raw_strength"])
    assert verdicts[0].score == exp(-terms["dt"] / terms["strength"])


def test_equal_memories_are_ranked_newest_first_and_never_by_id():
    twins = [memory(5, 40, 3, seq=seq, id=100 - seq) for seq in (2, 4, 6)]
    assert [v.memory.seq for v in Lufy().retain(twins, When(1, WHEN), Random(0))] == [6, 4, 2]


def test_the_reference_keeps_by_the_mean_importance_clipped():
    policy = build("lufy_reference")
    strong = [memory(10, 1, 5, 9, 0, seq=i, id=i) for i in range(2, 102)]
    weak = [memory(1, 160, 1, 0, 0, seq=i, id=i) for i in range(2, 102)]
    assert sum(v.kept for v in policy.retain(strong, When(1, WHEN), Random(0))) == 15
    assert sum(v.kept for v in policy.retain(weak, When(1, WHEN), Random(0))) == 10


def test_a_summary_is_as_strong_as_the_strongest_of_its_session():
    said = [memory(3, 90, 2.5, 1, 0, seq=2), memory(9, 30, 3.5, 2, 5, seq=4)]
    (draft,) = Lufy().consolidate(said, "They moved house.", None, None)
    assert draft.measures == {"importance": 9, "arousal": 3.5, "perplexity": 30}
    assert (draft.kind, draft.r1, draft.embed_text) == ("summary", 2, "They moved house.")


def test_a_session_of_only_surprising_words_gives_a_summary_at_the_cap():
    (draft,) = Lufy().consolidate([memory(3, 900, 2.5)], "Nonsense.", None, None)
    assert draft.measures["perplexity"] == 160
