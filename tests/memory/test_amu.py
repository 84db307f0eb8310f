"""AMU's decisions: what is admitted, compared with what, and what follows; whoever the controller is."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from memory import encoders, registry
from memory.policies.amu import COMPATIBLE, Amu, label_terms, record_terms
from memory.policies.amu_controllers import CONTROLLERS, Controller, Labels, Record, Relation, Said, Slot
from memory.policy import Discard, Exchange, Filter, Query, Store, Unparsable, Update, When
from tests.memory import contract

LEEDS = Record("personal_profile", "inform", True, ("Leeds",), "The user lives in Leeds.", "neutral", 0.9)


class Told(Controller):
    """Says what it was told: a record per utterance, a relation per old summary."""

    def __init__(self, records: Mapping[str, Record], relations: Mapping[str, Relation] | None = None, fused: Record | None = None) -> None:
        self.records, self.relations, self.fused = records, relations or {}, fused
        self.asked: list[str] = []
        self.slot: Slot | None = None
        self.reads = True

    def label(self, said: Said, space: Any, ask: Any) -> Labels:
        record = self.records[said.text]
        self.asked.append("label")
        return Labels(record.aspect, record.intent, record.is_personal, record.entities)

    def describe(self, said: Said, labels: Labels, space: Any, ask: Any) -> Record:
        self.asked.append("describe")
        return self.records[said.text]

    def relate(self, new: Record, old: Any, space: Any, ask: Any) -> list[Relation]:
        self.asked += ["relate"] * len(old)
        return [self.relations.get(hit.memory.embed_text, Relation("separate", 0.9)) for hit in old]

    def fuse(self, new: Record, old: Any, at: datetime, space: Any, ask: Any) -> Record | None:
        self.asked.append("fuse")
        self.fused_from = [fields["summary"] for fields in old]
        return self.fused

    def aspect_of(self, query: Said, space: Any, ask: Any) -> str | None:
        if not self.reads:
            raise Unparsable("no", "raw words")
        return self.records[query.text].aspect if query.text in self.records else None

    def slot_of(self, query: Said, space: Any, ask: Any) -> Slot:
        return self.slot or Slot(query.text, 0.9)


@pytest.fixture
def told(monkeypatch):
    """`told(records, relations, fused)`: an AMU policy that is told so, with every cosine over its threshold."""

    def make(records: Mapping[str, Record], relations: Any = None, fused: Any = None, **parameters: Any) -> tuple[Amu, Told]:
        controller = Told(records, relations, fused)
        monkeypatch.setitem(CONTROLLERS, "model", controller)
        return Amu(**({"controller": "model", "candidate_threshold": -1.0, "recall_threshold": -1.0} | parameters)), controller

    return make


def encode(policy: Amu, space: contract.MemorySpace, said: str, seq: int = 2):
    return policy.encode(Exchange(1, seq, "", said, contract.AT), space, contract.no_model)


def keep(space: contract.MemorySpace, record: Record, seq: int):
    from memory.policy import Draft

    return space.add(Draft("record", "", "", record.summary, fields=record.fields()), 1, seq)


# Admission


def test_only_a_sure_record_is_admitted(told):
    policy, _ = told({"sure": LEEDS, "unsure": replace(LEEDS, confidence=0.7)})
    space = contract.MemorySpace()
    assert isinstance(encode(policy, space, "sure"), Store)
    refused = encode(policy, space, "unsure")
    assert isinstance(refused, Filter)
    assert refused.reason == "not sure enough"
    assert refused.why["gate"] == 0.7


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"is_personal": False}, "personal"),
        ({"aspect": "other"}, "aspect"),
        ({"intent": "other"}, "intent"),
        ({"entities": ()}, "entities"),
        ({"summary": "  "}, "summary"),
    ],
)
def test_a_record_that_lacks_anything_is_filtered_and_says_what(told, change, missing):
    policy, _ = told({"words": replace(LEEDS, **change)})
    outcome = encode(policy, contract.MemorySpace(), "words")
    assert isinstance(outcome, Filter)
    assert outcome.reason == f"no {missing}"
    assert outcome.why["gate"] == 0


def test_what_the_labels_rule_out_is_not_described(told):
    policy, controller = told({"words": replace(LEEDS, is_personal=False)})
    encode(policy, contract.MemorySpace(), "words")
    assert controller.asked == ["label"]


def test_a_request_with_a_fact_in_it_is_kept_by_the_paper_and_filtered_by_its_code(told):
    asked = {"words": replace(LEEDS, intent="request"), "pure": replace(LEEDS, intent="request", is_personal=False)}
    policy, _ = told(asked)
    assert isinstance(encode(policy, contract.MemorySpace(), "words"), Store)
    assert isinstance(encode(policy, contract.MemorySpace(), "pure"), Filter)
    reference, _ = told(asked, personal_requests=False)
    assert isinstance(encode(reference, contract.MemorySpace(), "words"), Filter)


def test_the_gate_is_the_product_of_its_terms():
    labels = Labels("health", "inform", True, ("peanuts",))
    assert label_terms(labels) == {"personal": 1, "aspect": 1, "intent": 1, "entities": 1}
    assert record_terms(replace(LEEDS, confidence=0.4)) == {"summary": 1, "confidence": 0.4}


# Candidates


def test_candidates_have_the_same_aspect_and_intent(told):
    policy, _ = told({"words": LEEDS})
    space = contract.MemorySpace()
    keep(space, replace(LEEDS, aspect="health"), 2)
    keep(space, replace(LEEDS, intent="plan"), 4)
    same = keep(space, LEEDS, 6)
    outcome = encode(policy, space, "words", 8)
    assert outcome.why["branch"] == "same"
    assert [c["memory"] for c in outcome.why["candidates"]] == [same.id]


def test_without_any_of_the_same_intent_those_of_a_compatible_one_are_compared_and_not_in_the_reference(told):
    space = contract.MemorySpace()
    plan = keep(space, replace(LEEDS, intent="plan"), 2)
    keep(space, replace(LEEDS, intent="other"), 4)
    policy, _ = told({"words": LEEDS})
    outcome = encode(policy, space, "words", 6)
    assert outcome.why["branch"] == "compatible"
    assert [c["memory"] for c in outcome.why["candidates"]] == [plan.id]
    reference, controller = told({"words": LEEDS}, compatible_intents=False)
    assert encode(reference, space, "words", 6).why["branch"] == "none"
    assert "relate" not in controller.asked


def test_compatible_is_mutual_and_other_is_with_none():
    assert all(a in COMPATIBLE[b] for a, others in COMPATIBLE.items() for b in others)
    assert "other" not in COMPATIBLE


def test_what_is_not_similar_enough_is_not_compared(told):
    policy, controller = told({"words": LEEDS}, candidate_threshold=0.99)
    space = contract.MemorySpace()
    keep(space, replace(LEEDS, summary="The user is 34 years old."), 2)
    assert isinstance(encode(policy, space, "words", 4), Store)
    assert "relate" not in controller.asked


def test_of_many_candidates_only_the_most_similar_are_compared_and_the_rest_is_counted(told):
    policy, controller = told({"words": LEEDS}, most_candidates=2)
    space = contract.MemorySpace()
    for n in range(5):
        keep(space, replace(LEEDS, summary=f"The user lives in Leeds, flat {n}."), 2 * n + 2)
    outcome = encode(policy, space, "words", 20)
    assert controller.asked.count("relate") == 2
    assert outcome.why["left_out"] == 3


# Relations and actions


DUPLICATE, UPDATE, SEPARATE = (Relation(kind, 0.9) for kind in ("duplicate", "update", "separate"))
OLD = [replace(LEEDS, summary=f"The user lives in Leeds ({n}).") for n in range(3)]


def acted(told, relations, fused=LEEDS):
    policy, controller = told({"words": LEEDS}, {old.summary: r for old, r in zip(OLD, relations, strict=False)}, fused)
    space = contract.MemorySpace()
    kept = [keep(space, old, 2 * n + 2) for n, old in enumerate(OLD[: len(relations)])]
    return encode(policy, space, "words", 20), kept, controller


def test_all_separate_is_stored(told):
    outcome, _, _ = acted(told, [SEPARATE, SEPARATE])
    assert isinstance(outcome, Store)
    assert outcome.flags == ()


def test_a_duplicate_without_an_update_is_discarded(told):
    outcome, kept, _ = acted(told, [SEPARATE, DUPLICATE])
    assert isinstance(outcome, Discard)
    assert outcome.of == kept[1].id


def test_updates_are_fused_duplicates_archived_and_separates_left_alone(told):
    outcome, kept, controller = acted(told, [UPDATE, DUPLICATE, SEPARATE])
    assert isinstance(outcome, Update)
    assert (outcome.replaces, outcome.archives) == ((kept[0].id,), (kept[1].id,))
    assert controller.fused_from == [OLD[0].summary]


def test_a_relation_that_is_not_sure_counts_as_none_and_is_treated_as_separate(told):
    outcome, _, _ = acted(told, [Relation("duplicate", 0.7), SEPARATE])
    assert isinstance(outcome, Store)
    assert outcome.flags == ()


def test_when_no_relation_can_be_told_the_record_is_stored_and_flagged(told):
    outcome, _, _ = acted(told, [Relation("none", 0.0), Relation("update", 0.4)])
    assert isinstance(outcome, Store)
    assert outcome.flags == ("relation_failed",)


def test_when_the_fusion_fails_the_old_ones_stay_and_the_new_one_is_stored_and_flagged(told):
    outcome, _, _ = acted(told, [UPDATE], fused=None)
    assert isinstance(outcome, Store)
    assert outcome.flags == ("fusion_failed",)


def test_a_fused_record_has_the_new_ones_aspect_and_intent(told):
    outcome, _, _ = acted(told, [UPDATE], fused=replace(LEEDS, aspect="health", intent="plan", summary="The user lives in York."))
    assert outcome.draft.fields["aspect"] == "personal_profile"
    assert outcome.draft.fields["intent"] == "inform"
    assert outcome.draft.embed_text == "The user lives in York."


# Recall


def recall(policy: Amu, space: contract.MemorySpace, said: str, kind: Any = "reply"):
    return policy.recall(Query(kind, said, (said,)), space, When(2, contract.AT), contract.no_model)


@pytest.fixture
def mixed():
    space = contract.MemorySpace()
    keep(space, LEEDS, 2)
    keep(space, replace(LEEDS, aspect="health", summary="The user has hay fever."), 4)
    return space


def test_the_querys_aspect_filters_before_the_search(told, mixed):
    policy, _ = told({"how is my health?": replace(LEEDS, aspect="health")})
    assert [hit.memory.embed_text for hit in recall(policy, mixed, "how is my health?").used] == ["The user has hay fever."]


def test_where_no_record_has_the_aspect_all_are_searched_and_in_the_reference_none(told, mixed):
    asked = {"what do I like?": replace(LEEDS, aspect="preference")}
    policy, _ = told(asked)
    assert len(recall(policy, mixed, "what do I like?").used) == 2
    reference, _ = told(asked, fall_back=False)
    assert recall(reference, mixed, "what do I like?").used == ()


def test_a_query_without_a_sure_aspect_searches_all(told, mixed):
    policy, _ = told({})
    assert len(recall(policy, mixed, "hm").used) == 2


def test_an_opening_asks_no_controller(told, mixed):
    policy, controller = told({})
    assert len(recall(policy, mixed, "", "opening").used) == 2
    assert controller.asked == []


@pytest.mark.parametrize("slot", [Slot("", 0.9), Slot("the user's home", 0.7)])
def test_the_reference_recalls_nothing_for_a_query_that_needs_no_memory_or_not_surely(told, mixed, slot):
    policy, controller = told({"where?": LEEDS}, query_form="slot")
    controller.slot = slot
    assert recall(policy, mixed, "where?").used == ()


def test_the_reference_searches_with_the_phrase_and_not_with_the_message(told, mixed):
    policy, controller = told({"where?": LEEDS}, query_form="slot", recall_threshold=0.5)
    controller.slot = Slot("The user lives in Leeds.", 0.9)
    found = recall(policy, mixed, "where?")
    assert [hit.memory.embed_text for hit in found.used] == ["The user lives in Leeds."]
    assert found.why["slot"] == "The user lives in Leeds."


def test_a_query_whose_labels_cannot_be_read_searches_all_and_in_the_reference_recalls_nothing(told, mixed):
    for form, found in (("message", 2), ("slot", 0)):
        policy, controller = told({}, query_form=form)
        controller.reads = False
        recalled = recall(policy, mixed, "where?")
        assert len(recalled.used) == found
        assert recalled.why["unreadable"] == "raw words"


# Presets and encoders


def test_the_reference_is_the_papers_controller_with_its_codes_choices():
    amu, reference = registry.build("amu"), registry.build("amu_reference")
    assert (amu.controller, reference.controller) == ("prototype", "model")
    assert (
        (amu.admission, amu.relation_confidence, amu.top_k)
        == (0.8, 0.7, 3)
        == (reference.admission, reference.relation_confidence, reference.top_k)
    )
    assert (reference.personal_requests, reference.compatible_intents, reference.fall_back, reference.query_form) == (
        False,
        False,
        False,
        "slot",
    )


def test_the_papers_encoder_has_the_papers_thresholds_at_any_provider(db):
    found = encoders.get("anywhere/Qwen/Qwen3-Embedding-0.6B").thresholds
    assert (found["amu_candidate"], found["amu_recall"]) == (0.60, 0.55)


def test_an_encoder_that_nobody_calibrated_has_none(db):
    assert encoders.get("anywhere/other").thresholds == {}
