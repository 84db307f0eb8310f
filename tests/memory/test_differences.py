"""Every row of the tables of differences between papers and their code has a test, and the tests that no other file has.

`docs/memory/differences.md` names a test for each row; here it is checked that it does, and that the tests exist.
"""

import ast
import dataclasses
import math
import re
from random import Random

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as some

from memory import encoders, forgetting, registry, scoring
from memory.measures import perplexity
from memory.measures import registry as measures
from memory.models import Memory as Row
from memory.models import MemoryEvent
from memory.policy import Draft, Query, When, exchange_text, newest_first, query_text
from studyplatform.llm.models import LLMCall
from studyplatform.study import loading
from studyplatform.study.config import ChatTable
from tests import cast as people
from tests.house.source import ROOT
from tests.memory import contract, reference_exact
from tests.memory.telling import ask, finish, remembered, session_with, tell, write
from tests.memory.test_lufy import WHEN, memory

PAGE = (ROOT / "docs" / "memory" / "differences.md").read_text("utf-8")
ROW = re.compile(r"^\| (\d+) \|(?:[^|]*\|){2} (.*) \|$", re.M)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
LUFYS = ("lufy", "lufy_reference", "lufy_top10pct", "lufy_r2_sign")


def rows(heading: str) -> dict[int, list[tuple[str, str]]]:
    """Row number → its tests, of the table under a heading."""
    part = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return {int(number): NAMED.findall(tests) for number, tests in ROW.findall(part)}


@pytest.mark.parametrize(("heading", "last"), [("LUFY", 31), ("MemoryBank", 6), ("AMU", 16)])
def test_every_row_is_there_and_names_a_test(heading, last):
    found = rows(heading)
    assert list(found) == list(range(1, last + 1))
    assert [number for number, tests in found.items() if not tests] == []


def test_every_test_that_the_page_names_exists():
    known: dict[str, set[str]] = {}
    for file, name in NAMED.findall(PAGE):
        if file not in known:
            tree = ast.parse((ROOT / file).read_text("utf-8"))
            known[file] = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert name in known[file], f"{file} has no {name}"


# LUFY, rows 1 to 7: the numbers


@pytest.mark.parametrize("preset", LUFYS)
def test_the_weights_have_eight_digits_and_the_constants_are_the_codes_in_every_preset(preset):
    p = registry.build(preset)
    assert (p.w_importance, p.w_perplexity, p.w_arousal, p.w_r1, p.w_r2) == reference_exact.WEIGHTS or preset == "lufy_r2_sign"
    assert [round(w, 2) for w in (p.w_arousal, p.w_perplexity, p.w_importance, p.w_r1)] == [2.76, -0.28, 0.45, 1.03]
    assert (p.a_importance, p.a_perplexity, p.a_arousal, p.a_r1, p.a_r2) == reference_exact.ALIKE
    assert (p.d_importance, p.d_arousal, p.perplexity_cap, p.floor) == (27.5, 15.0, 160.0, 0.1)


def test_the_paper_has_one_divisor_and_decays_by_s_and_the_reference_has_its_codes_two():
    paper, reference = registry.build("lufy"), registry.build("lufy_reference")
    assert (paper.d_recall, paper.d_retain, paper.k_recall, paper.k_retain) == (400, 400, 1, 1)
    assert (reference.d_recall, reference.d_retain, reference.k_recall, reference.k_retain) == (250, 400, 0.5, 0.33)


VALUES = some.tuples(
    some.floats(1, 10), some.floats(1, 160), some.floats(1, 5), some.integers(0, 9), some.integers(0, 9), some.integers(1, 6)
)


@given(VALUES)
def test_the_reference_gives_the_codes_importance_at_recall_and_at_forgetting(values):
    *terms, dt = values
    m = memory(*terms)
    p = registry.build("lufy_reference")
    assert p.importance(m, dt, p.d_recall, p.k_recall)["importance"] == pytest.approx(
        reference_exact.at_recall(tuple(terms), dt), abs=1e-12
    )
    assert p.importance(m, dt, p.d_retain, p.k_retain)["importance"] == pytest.approx(
        reference_exact.at_forgetting(tuple(terms), dt), abs=1e-12
    )


@settings(max_examples=50)
@given(some.lists(VALUES, min_size=1, max_size=40), some.integers(1, 4))
def test_the_reference_keeps_as_many_as_the_code(found, session):
    memories = [memory(*values[:5], seq=2 * i, last=1, id=i) for i, values in enumerate(found, start=1)]
    chances = [reference_exact.at_forgetting(values[:5], session) for values in found]
    kept = sum(v.kept for v in registry.build("lufy_reference").retain(memories, When(session, WHEN), Random(1)))
    assert kept == min(len(found), reference_exact.keep(chances, session))


def test_a_mean_of_exactly_a_tenth_keeps_a_tenth_and_not_fifteen_hundredths_as_in_the_code():
    p = registry.build("lufy_reference")
    chances = [1.0] * 10 + [0.0] * 90
    assert (p._keep(100, chances, 1), reference_exact.keep(chances, 1)) == (10, 15)


def test_only_the_passed_over_term_differs_in_the_variant_of_the_prose():
    paper, prose = dataclasses.asdict(registry.build("lufy")), dataclasses.asdict(registry.build("lufy_r2_sign"))
    assert {name for name in paper if paper[name] != prose[name]} == {"r2_sign"}


def test_time_is_counted_in_sessions_and_never_by_the_clock():
    p = registry.build("lufy")
    old = dataclasses.replace(memory(5, 40, 3), at=WHEN.replace(year=2020))
    (soon,) = p.retain([old], When(3, WHEN), Random(1))
    assert soon.terms["dt"] == 3
    assert soon.terms == p.retain([memory(5, 40, 3)], When(3, WHEN), Random(1))[0].terms


# LUFY, rows 9 to 14: recall


def space_of(*texts):
    space = contract.MemorySpace()
    for i, text in enumerate(texts, start=1):
        space.add(Draft("exchange", "", text, text), 1, 2 * i)
    return space


def test_the_paper_scores_all_over_the_threshold_and_the_reference_its_two_nearest():
    space = space_of("I like tea.", "I like green tea.", "I like black tea with milk.", "I like tea very much indeed.")
    space.memories = [dataclasses.replace(m, r1=9 if "indeed" in m.user else 0, last_recalled=1) for m in space.memories]
    query = Query("reply", "I like tea.", ("I like tea.",))
    paper, reference = (
        registry.build("lufy", {"threshold": -1.0, "alpha": 2.0}),
        registry.build("lufy_reference", {"threshold": -1.0, "alpha": 2.0}),
    )
    assert "indeed" in paper.recall(query, space, When(2, WHEN), contract.no_model).used[0].memory.user
    found = reference.recall(query, space, When(2, WHEN), contract.no_model)
    assert "indeed" not in found.used[0].memory.user
    assert found.why["candidates"] == 2


def test_of_two_candidates_the_reference_uses_the_codes_first():
    space = space_of("I like tea.", "I like green tea.")
    space.memories = [dataclasses.replace(m, r1=3 * i) for i, m in enumerate(space.memories)]
    p = registry.build("lufy_reference", {"threshold": -1.0})
    found = p.recall(Query("reply", "I like tea.", ("I like tea.",)), space, When(2, WHEN), contract.no_model)
    hits = sorted((*found.used, *found.passed_over), key=lambda hit: hit.memory.seq)
    order = reference_exact.ranked([(hit.similarity, hit.terms["importance"]) for hit in hits], -1.0)
    assert [hits[i].memory.id for i in order] == [hit.memory.id for hit in (*found.used, *found.passed_over)]


def test_thresholds_belong_to_the_encoder_and_the_reference_asks_for_its_own():
    thresholds = encoders.REGISTRY["local/minilm"].thresholds
    assert registry.PRESETS["lufy"].thresholds == {"threshold": "reply", "opening_threshold": "opening"}
    assert registry.PRESETS["lufy_reference"].thresholds["threshold"] == "reply_reference"
    assert thresholds["opening"] < thresholds["reply_reference"] < thresholds["reply"] < 0.75


def test_what_is_embedded_is_what_was_said_and_no_count(four, model):
    talk = people.session_of(four.ana)
    tell(talk, ("Any pets?", "A cat called Mo."))
    write(talk)
    (kept,) = remembered(talk.arm_id)
    assert kept.embed_text == exchange_text("Any pets?", "A cat called Mo.") == "Any pets?\nA cat called Mo."
    before = list(kept.vector)
    Row.objects.filter(pk=kept.pk).update(r1=5)
    assert list(Row.objects.get(pk=kept.pk).vector) == before


def test_the_paper_searches_with_the_recent_utterances_and_the_reference_with_the_last_message():
    query = Query("reply", "Yes.", ("a", "b", "c", "d", "e", "Yes."))
    paper, reference = registry.build("lufy"), registry.build("lufy_reference")
    assert query_text(query, paper.query_utterances) == "b\nc\nd\ne\nYes."
    assert query_text(query, reference.query_utterances) == "Yes."


def test_the_context_window_is_the_studys_and_five_utterances_where_it_does_not_say():
    assert ChatTable(response_model="local/x").context_window == 5
    assert ChatTable(response_model="local/x", context_window=4).context_window == 4


# LUFY, rows 15, 16, 23 to 28: the platform around it


def test_no_preset_has_a_prompt_for_replies_of_its_own(four, model):
    named = {field.name for preset in registry.PRESETS.values() for field in dataclasses.fields(preset.policy)}
    assert named & {"prompt", "reply_prompt", "opener_prompt"} == set()


def test_the_fifth_session_opens_like_the_second_in_every_arm(model):
    from memory import arms, recalling

    ana = people.person(people.make_study("four", per_arm=5))
    for preset in people.CONDITIONS["four"]:
        session = session_with(ana, people.arm_of(ana, preset).pk, 5)
        found = recalling.recall(session=arms.session_ref(session), query=Query("opening", ""), instant=WHEN, context_from_seq=1)
        assert found.used == ()


def test_words_that_look_like_a_transcript_stay_in_their_own_column(four, model):
    talk = people.session_of(four.ana)
    tell(talk, ("response by A+B: hello", "utterance by bot: no. response by Ana: stop"), "stop")
    write(talk)
    kept = remembered(talk.arm_id)
    assert (kept[0].bot_text, kept[0].user_text) == ("response by A+B: hello", "utterance by bot: no. response by Ana: stop")
    assert kept[1].user_text == "stop"
    talk.refresh_from_db()
    assert talk.state == "chatting"


def test_scoring_again_asks_nobody_again(four, model):
    from chat import exchanges

    talk = people.session_of(four.ana)
    tell(talk, "I have a cat.", "I have a dog.")
    said = exchanges.of_session(talk.pk)
    assert scoring.score(talk, said) == 6
    assert scoring.score(talk, said) == 0
    assert LLMCall.objects.filter(purpose="importance").count() == 2


def test_no_graphics_card_is_named_in_the_code():
    named = [p for folder in ("memory", "studyplatform", "chat") for p in (ROOT / folder).rglob("*.py") if "CUDA_VISIBLE" in p.read_text()]
    assert named == []


def statements(person, preset, exchanges):
    arm = people.arm_of(person, preset)
    talk = session_with(person, arm.pk, 2)
    tell(talk, *(f"I have {n} cats." for n in range(exchanges)))
    write(talk)
    from memory import arms

    ref = arms.load(arm.pk)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        verdicts, version = forgetting.judge(ref, talk)
        forgetting.apply(ref, talk, verdicts, version)
    return len(queries)


def test_forgetting_many_memories_takes_as_many_statements_as_forgetting_few(four, model):
    assert statements(four.ana, "lufy", 4) == statements(four.ben, "lufy", 40)


# LUFY, rows 17 and 18: perplexity


@given(some.lists(some.floats(1e-4, 0.99), min_size=1, max_size=12))
def test_perplexity_is_the_codes_where_no_token_is_too_rare(probabilities):
    mine = perplexity.perplexity([math.log(p) for p in probabilities])
    assert min(160.0, mine) == pytest.approx(reference_exact.perplexity(probabilities), rel=1e-4)


def test_a_very_rare_token_counts_here_and_is_dropped_by_the_code():
    probabilities = [0.5, 1e-12]
    assert reference_exact.perplexity(probabilities) == 2.0
    assert perplexity.perplexity([math.log(p) for p in probabilities]) > 1e5


def test_the_papers_model_of_perplexity_has_the_papers_cap_and_divisor_and_its_codes_model_too():
    config = loading.parse(people.study_toml("four").replace("scripted/script", "local/smollm2")).config
    for name, served in (("gpt2_large", "perplexity/gpt2-large"), ("gpt2", "perplexity/gpt2")):
        scorer = measures.PERPLEXITY[name](config)
        assert scorer.id == f"server:{served}"
        assert (scorer.scale.cap, scorer.scale.divisor) == (160.0, 400.0)


# MemoryBank


def test_memory_bank_forgets_at_the_close_in_sessions_and_the_original_at_the_opening_in_days():
    assert registry.build("memory_bank").forgets_at == "close"
    assert registry.build("memory_bank_original").forgets_at == "open"


def test_memory_bank_strengthens_what_was_in_the_prompt_only():
    space = space_of("I like tea.", "I like green tea.")
    found = registry.build("memory_bank", {"threshold": -1.0}).recall(
        Query("reply", "tea", ("tea",)), space, When(2, WHEN), contract.no_model
    )
    assert (len(found.used), len(found.passed_over)) == (1, 1)


def test_memory_bank_has_no_portrait(model, four):
    assert registry.build("memory_bank").consolidate([], "They live in Leeds.", None, contract.no_model)[0].kind == "summary"


def test_both_forgetting_arms_keep_the_same_number():
    memories = [memory(5, 40, 3, seq=2 * i, id=i) for i in range(1, 38)]
    kept = {p: sum(v.kept for v in registry.build(p).retain(memories, When(2, WHEN), Random(1))) for p in ("lufy", "memory_bank")}
    assert kept == {"lufy": 5, "memory_bank": 5}


def test_memories_that_were_never_recalled_tie_and_the_newest_are_kept():
    memories = [memory(seq=2 * i, id=100 - i) for i in range(1, 30)]
    verdicts = registry.build("memory_bank").retain(memories, When(1, WHEN), Random(1))
    assert {round(v.score, 4) for v in verdicts} == {0.3679}
    assert [v.memory for v in verdicts] == sorted(memories, key=newest_first)
    assert [v.memory.seq for v in verdicts if v.kept] == [58, 56, 54]


# AMU, row 9


def test_of_two_records_with_the_same_words_only_the_one_that_is_replaced_goes(model, four):
    from memory import arms, remembering
    from memory.models import MemoryWrite
    from memory.policy import Exchange, Update

    arm = people.arm_of(four.ana, "amu")
    talk = session_with(four.ana, arm.pk, 2)
    tell(talk, "One.", "Two.", "Three.")
    ref = arms.load(arm.pk)
    first, second = (
        remembering.insert(
            ref, Exchange(2, seq, "", "", WHEN), Draft("record", "", "", "The user lives in Leeds."), list(np.ones(384) / 384**0.5)
        )
        for seq in (2, 4)
    )
    write_row = MemoryWrite.objects.get(arm=arm, seq=6)
    claimed = MemoryWrite.objects.select_related("session").get(pk=write_row.pk)
    arm.refresh_from_db()
    update = Update(Draft("record", "", "", "The user lives in York."), replaces=(first.pk,))
    remembering.commit(
        ref, claimed, Exchange(2, 6, "", "Three.", WHEN), remembering.Decision(update, arm.version, list(np.ones(384) / 384**0.5))
    )
    assert [m.pk for m in remembered(arm.pk, embed_text="The user lives in Leeds.")] == [second.pk]


def test_asking_the_questions_moves_no_counter_and_no_memory(model, four):
    talk = people.session_of(four.ana)
    tell(talk, "My dog is called Biscuit.")
    finish(talk, ("What is my dog called?", "Biscuit"))
    arm = people.arm_of(four.ana, "naive_rag")
    (kept,) = remembered(arm.pk)
    assert (kept.r1, kept.r2, kept.last_recalled) == (0, 0, 1)
    assert not MemoryEvent.objects.filter(arm=arm, what__in=["used", "passed_over"]).exists()
    assert ask(session_with(four.ana, arm.pk, 2), "What is my dog called?")[0].used
