"""What a study's agreement says by condition, session and transcript, and why the gate passes or fails."""

from dataclasses import dataclass

import numpy as np
import pytest

from studyplatform.analysis.agreement_gate import gate_of
from studyplatform.analysis.agreement_report import Setting, document_of, matrix_of, reachable, report_of

KEYS = {
    "fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "percent_agreement", "positive_agreement", "prevalence", "n_items", "n_excluded",
    "ci95", "reason",
}  # fmt: skip
SETTING = Setting(full=3, seed=1, resamples=200)


@dataclass(frozen=True)
class Row:
    session_code: str
    participant_code: str
    condition_code: str | None
    session_number: int
    seq: int
    annotator: str
    value: int | None


def labels(noise: float = 0.6, *, transcripts: int = 8, size: int = 40, share: float = 0.1, seed: int = 0) -> list[Row]:
    """Three annotators who each mark the `share` that seems most worth it to them, in every transcript of two conditions."""
    rng = np.random.default_rng(seed)
    rows = []
    for t in range(transcripts):
        worth = (
            rng.normal(size=(size, 1)) + rng.normal(scale=noise, size=(size, 3))
            if noise
            else np.repeat(rng.normal(size=(size, 1)), 3, axis=1)
        )
        marked = worth.argsort(axis=0).argsort(axis=0) >= size - round(size * share)
        rows += [
            Row(f"T{t}", f"P{t % 4}", f"C{t % 2}", 1 + t // 4, seq, f"A{a + 1}", int(marked[seq, a]))
            for seq in range(size)
            for a in range(3)
        ]
    return rows


def test_the_document_has_the_agreed_shape() -> None:
    document = document_of(report_of(labels(), SETTING))
    assert set(document) == {"overall", "by"}
    assert set(document["by"]) == {"condition", "session", "conversation"}
    assert set(document["overall"]) == KEYS
    assert all(set(values) == KEYS for groups in document["by"].values() for values in groups.values())
    assert list(document["by"]["session"]) == ["1", "2"]
    assert (document["overall"]["n_items"], document["overall"]["n_excluded"]) == (320, 0)
    low, high = document["overall"]["ci95"]
    assert low < document["overall"]["fleiss_kappa"] < high


def test_a_single_transcript_has_a_kappa_and_no_interval_but_a_reason() -> None:
    values = document_of(report_of(labels(), SETTING))["by"]["conversation"]["T0"]
    assert values["fleiss_kappa"] is not None
    assert values["ci95"] is None
    assert "one cluster" in values["reason"]


def test_no_labels_at_all_are_a_report_of_nothing() -> None:
    document = document_of(report_of([], SETTING))
    assert document["overall"]["fleiss_kappa"] is None
    assert "nothing was rated" in document["overall"]["reason"]
    assert document["by"]["conversation"] == {}


def test_not_sure_is_missing_and_not_zero() -> None:
    unsure = [
        Row(
            r.session_code,
            r.participant_code,
            r.condition_code,
            r.session_number,
            r.seq,
            r.annotator,
            None if r.seq == 3 and r.annotator == "A2" else r.value,
        )
        for r in labels()
    ]
    values = document_of(report_of(unsure, SETTING))["overall"]
    assert (values["n_items"], values["n_excluded"]) == (312, 8)


def test_two_labels_of_one_person_on_an_utterance_are_refused() -> None:
    with pytest.raises(ValueError, match="A1 has two labels on utterance 0 of T0"):
        matrix_of([*labels(), labels()[0]])


def test_annotators_who_agree_fully_reach_the_maximum_which_is_one() -> None:
    report = report_of(labels(noise=0), SETTING)
    assert report.overall.found.fleiss_kappa.value == pytest.approx(1)
    assert report.overall.most.value == pytest.approx(1)


def test_marks_at_random_reach_the_kappa_that_is_expected_by_chance() -> None:
    rng = np.random.default_rng(3)
    kappas, chance = [], 0.0
    for _ in range(200):
        rows = []
        for t, size in enumerate((20, 80)):  # four marks in each: 20 % and 5 %
            for a in range(3):
                marked = set(rng.permutation(size)[:4].tolist())
                rows += [Row(f"T{t}", "P", None, 1, seq, f"A{a}", int(seq in marked)) for seq in range(size)]
        matrix = matrix_of(rows)
        found, _ = reachable(matrix, 3)
        chance = found.value or 0.0
        table = matrix.ratings.mean()
        agreed = np.mean([(matrix.ratings[:, a] == matrix.ratings[:, b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))])
        expected = table**2 + (1 - table) ** 2
        kappas.append((agreed - expected) / (1 - expected))
    assert chance > 0.02  # fixed marks in transcripts of different length: chance is not zero
    assert np.mean(kappas) == pytest.approx(chance, abs=0.01)


def test_one_who_marks_twice_as_much_limits_what_can_be_reached() -> None:
    rows = [Row("T", "P", None, 1, seq, f"A{a}", int(seq < (8 if a == 2 else 4))) for seq in range(40) for a in range(3)]
    report = report_of(rows, SETTING)
    assert report.overall.most.value is not None
    assert report.overall.most.value < 0.8
    assert report.overall.found.fleiss_kappa.value == pytest.approx(report.overall.most.value)


def test_the_gate_says_why_it_fails_at_a_low_prevalence() -> None:
    gate = gate_of(report_of(labels(noise=1.5), SETTING), 0.4)
    assert gate.study.standing == "failed"
    assert not gate.passed
    told = " ".join(gate.study.reasons)
    assert "10.0 % of the labels are “important”" in told
    assert "0.408 at 10 %" in told
    assert "chance alone gives" in told


def test_the_gate_does_not_pass_while_one_transcript_fails() -> None:
    good = labels(noise=0.05)
    rng = np.random.default_rng(9)
    bad = [Row("BAD", "P9", "C0", 1, seq, f"A{a}", int(rng.random() < 0.1)) for seq in range(40) for a in (1, 2, 3)]
    gate = gate_of(report_of([*good, *bad], SETTING), 0.4)
    assert gate.study.standing == "passed"
    assert [verdict.name for verdict in gate.below] == ["BAD"]
    assert not gate.passed


def test_a_transcript_in_which_nobody_marked_anything_neither_passes_nor_fails() -> None:
    nothing = [Row("EMPTY", "P9", "C0", 1, seq, f"A{a}", 0) for seq in range(40) for a in (1, 2, 3)]
    gate = gate_of(report_of([*labels(noise=0.05), *nothing], SETTING), 0.4)
    verdict = next(v for v in gate.transcripts if v.name == "EMPTY")
    assert (verdict.standing, verdict.kappa) == ("undefined", None)
    assert "all ratings are in one category" in verdict.reasons[0]
