"""`manage.py amu_benchmark`, over HTTP to the scripted models."""

import csv
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memory import registry
from memory.benchmark import partial
from memory.policies.amu import Amu
from studyplatform.llm.models import LLMCall
from studyplatform.management.commands import amu_benchmark
from studyplatform.study.models import Study
from tests.memory.benchmark.telling import rows, save

KEYS = """policy controller preset p_at_3 r_at_3 f1_at_3 hit_at_3 redundancy_at_3 action_accuracy calls_per_turn tokens_per_turn seconds_per_turn
kept p_at_3_all r_at_3_all f1_at_3_all hit_at_3_all redundancy_at_3_all confusion parse_failures fallbacks prefilled_per_turn cached_per_turn
generated_per_turn seconds_per_turn_p95 closed bound"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setattr(amu_benchmark, "PARTIAL", tmp_path / "partial")
    return save(tmp_path, rows("s01"), rows("s02"))


def measured(capsys, data, *options: str) -> dict:
    capsys.readouterr()
    call_command("amu_benchmark", "--data", data, "--encoder", "scripted/hash", "--json", *options)
    return json.loads(capsys.readouterr().out)


def row_of(document: dict, preset: str, *, closed: bool = False, controller: str | None = None) -> dict:
    (row,) = [r for r in document["rows"] if (r["preset"], r["closed"], r["controller"]) == (preset, closed, controller)]
    return row


def test_every_preset_has_its_row_and_amu_one_for_each_controller(model, capsys, data):
    document = measured(capsys, data, "--sessions", "s01")
    assert set(document) == {"rows", "provenance"}
    assert {row["preset"] for row in document["rows"]} == set(registry.PRESETS)
    assert {(r["preset"], r["controller"]) for r in document["rows"] if r["policy"] == Amu.name} == {
        ("amu", "prototype"), ("amu", "model"), ("amu_reference", "model"),
    }  # fmt: skip
    assert [set(KEYS.split()) - set(row) for row in document["rows"]] == [set()] * len(document["rows"])
    assert {r["preset"] for r in document["rows"] if r["bound"]} == {"no_memory", "sliding_window", "compressed_history", "full_history"}
    assert {r["preset"] for r in document["rows"] if r["closed"]} >= {"lufy", "memory_bank", "memory_bank_original", "compressed_history"}
    assert "naive_rag" not in {r["preset"] for r in document["rows"] if r["closed"]}
    assert document["provenance"]["encoder"]["name"] == "scripted/hash"
    assert document["provenance"]["seeds"] == {"run": 1}


def test_naive_rag_stores_everything_and_no_memory_finds_nothing(model, capsys, data):
    document = measured(capsys, data, "--policy", "naive_rag,no_memory")
    naive, none = row_of(document, "naive_rag"), row_of(document, "no_memory")
    assert (naive["action_accuracy"], naive["kept"], naive["turns"]) == (0.4, 50, 100)
    assert naive["confusion"]["filter"]["store"] == 20
    assert naive["r_at_3"] > 0
    assert (none["hit_at_3"], none["hit_at_3_all"], none["silent"], none["kept"]) == (0, 0.1, 1, 0)


def test_what_forgets_holds_a_tenth_after_the_session_and_everything_before(model, capsys, data):
    document = measured(capsys, data, "--policy", "lufy,memory_bank")
    for preset in ("lufy", "memory_bank"):
        assert row_of(document, preset)["kept"] == 50
        assert row_of(document, preset, closed=True)["kept"] == 6  # a tenth of 50 and a summary, rounded up


def test_a_model_that_is_asked_is_counted_and_leaves_no_study_behind(model, capsys, data):
    document = measured(capsys, data, "--policy", "amu:model", "--sessions", "s01")
    row = row_of(document, "amu", controller="model")
    assert row["sessions"] == 1
    assert row["calls_per_turn"] >= 1
    assert row["tokens_per_turn"] == pytest.approx(row["prefilled_per_turn"] + row["cached_per_turn"] + row["generated_per_turn"])
    assert not Study.objects.filter(slug__startswith="amu-benchmark").exists()
    assert not LLMCall.objects.exists()


def test_an_unreadable_controller_is_an_error_and_counted(model, capsys, data):
    model.answer("no JSON here", purpose="extract", count=4)
    row = row_of(measured(capsys, data, "--policy", "amu:model", "--sessions", "s01"), "amu", controller="model")
    assert row["errors"] == 2
    assert row["parse_failures"] == 4
    assert row["confusion"]["store"]["error"] == 2
    assert sum(n for reason, n in row["reasons"].items() if reason.startswith("error: amu_label@1")) == 2


def test_a_run_that_was_stopped_goes_on_and_asks_nothing_twice(model, capsys, data, monkeypatch):
    def stop(self, name, make):
        if name.startswith("naive_rag") and name.endswith("s02"):
            raise KeyboardInterrupt
        return part(self, name, make)

    part = partial.Partial.part
    whole = measured(capsys, data, "--policy", "memory_bank,naive_rag")
    asked = model.counts()["session_summary"]["requests"]
    monkeypatch.setattr(partial.Partial, "part", stop)
    with pytest.raises(SystemExit) as left:
        measured(capsys, data, "--policy", "memory_bank,naive_rag")
    assert left.value.code == 130
    assert "goes on from there" in capsys.readouterr().err
    monkeypatch.setattr(partial.Partial, "part", part)
    resumed = measured(capsys, data, "--policy", "memory_bank,naive_rag")
    assert model.counts()["session_summary"]["requests"] == 2 * asked
    assert [_timeless(r) for r in resumed["rows"]] == [_timeless(r) for r in whole["rows"]]
    assert list((data / "partial").iterdir()) == []


def _timeless(row: dict) -> dict:
    return {key: value for key, value in row.items() if not key.startswith("seconds")}


def test_other_thresholds_do_not_take_up_what_was_done(data):
    assert partial.Partial(data, {"reply": 0.4}).path != partial.Partial(data, {"reply": 0.5}).path


def test_parts_sweeps_and_mixed_stores_are_measured(model, capsys, data):
    document = measured(capsys, data, "--policy", "amu:prototype", "--ablate", "--sweep", "--mix")
    parts = {row["part"]: row for row in document["ablations"]}
    assert set(parts) == {
        "without filtering", "without admission only", "without the structured filter only", "without storage management",
    }  # fmt: skip
    assert parts["without filtering"]["confusion"]["filter"]["filter"] == 0
    assert sum(gold[became] for gold in parts["without storage management"]["confusion"].values() for became in ("update", "discard")) == 0
    assert {row["overrides"].get("recall_threshold") for row in document["sweeps"]} >= {0.4, 0.55, 0.7}
    assert {(row["mixed"], row["draws"]) for row in document["mixed"]} == {(1, 5), (2, 5)}
    found = [row["r_at_3"] for row in document["sweeps"] if row["part"] in ("recall_threshold 0", "recall_threshold 0.7")]
    assert found[0] > found[1]


def test_responses_are_written_from_what_each_system_recalls_and_marked(model, capsys, data):
    model.answer('{"use": 5, "avoidance": 4, "helpfulness": 3}', purpose="judge", count=5)
    judge = ("--judge", "scripted/script", "--judge-sessions", "1")
    document = measured(capsys, data, "--policy", "naive_rag,no_memory", "--sessions", "s01", *judge)
    first = document["judged"][0]
    assert (first["n"], first["use"], first["avoidance"], first["helpfulness"], first["score"]) == (5, 5, 4, 3, 4)
    prompts = [json.dumps(r["messages"]) for r in model.requests("judge")]
    assert len(prompts) == 10
    assert not any("naive" in prompt or "memory system" in prompt for prompt in prompts)


def test_the_table_marks_what_is_published_as_not_ours_and_bounds_as_bounds(model, capsys, data):
    call_command("amu_benchmark", "--data", data, "--encoder", "scripted/hash", "--policy", "amu:prototype,full_history")
    lines = capsys.readouterr().out.splitlines()
    assert any("not ours" in line for line in lines)
    assert lines.index(next(x for x in lines if x.startswith("bounds"))) < lines.index(
        next(x for x in lines if x.startswith("full_history"))
    )
    assert any(line.startswith("A-MEM (paper)") for line in lines)
    assert any(line.startswith("discard") for line in lines)


def test_faulty_data_are_refused_with_every_fault(capsys, data):
    made = rows()
    made[21] |= {"memory_id": "s01-m99"}
    save(data, made)
    with pytest.raises(CommandError, match="1 faults"):
        call_command("amu_benchmark", "--data", data, "--check")
    assert "session-01.jsonl:22: The slot s01-m99 is not open here" in capsys.readouterr().out


def test_a_sound_folder_is_counted(capsys, data):
    call_command("amu_benchmark", "--data", data, "--check", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["turns"], told["store"], told["queries"], told["faults"]) == (100, 40, 20, [])


def test_an_unknown_system_or_session_is_refused_with_those_there_are(db, data):
    with pytest.raises(CommandError, match="naive_rag"):
        call_command("amu_benchmark", "--data", data, "--policy", "telepathy")
    with pytest.raises(CommandError, match="s01, s02"):
        call_command("amu_benchmark", "--data", data, "--sessions", "s99")


def fill(sheet, target, change):
    """What a reader hands in: every label right, but for what `change(row)` says."""
    gold = {row["id"]: row for code in ("s01", "s02") for row in rows(code)}
    with sheet.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        true = gold[line["id"]]
        line |= {"label": true.get("action", ""), "slots": " ".join(true.get("expected", []))} | change(line)
    with target.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, list(lines[0]))
        out.writeheader()
        out.writerows(lines)
    return target


def test_a_sheet_shows_readers_what_is_open_and_no_label_of_ours(capsys, data):
    sheet = data / "sheet.csv"
    call_command("amu_benchmark", "--data", data, "--sheet", "30", "--out", sheet)
    with sheet.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [sum((line["session"], line["kind"]) == (code, kind) for line in lines) for code in ("s01", "s02") for kind in ("turn", "query")] == [30, 5, 30, 5]  # fmt: skip
    assert {line["label"] for line in lines} | {line["slots"] for line in lines} == {""}
    late = next(line for line in lines if line["kind"] == "query")
    assert "s01-m01: s01 update fact0" in late["open_slots"]


def test_validity_is_the_mean_over_readers_and_agreement_is_among_them(capsys, data):
    sheet = data / "sheet.csv"
    call_command("amu_benchmark", "--data", data, "--sheet", "30", "--out", sheet)
    readers = [
        fill(sheet, data / "a.csv", lambda line: {}),
        fill(sheet, data / "b.csv", lambda line: {"label": "store"} if line["label"] != "" or line["kind"] == "turn" else {}),
    ]
    with sheet.open(encoding="utf-8", newline="") as file:
        drawn = [line["id"] for line in csv.DictReader(file) if line["kind"] == "turn"]
    gold = {row["id"]: row.get("action") for code in ("s01", "s02") for row in rows(code)}
    stored = sum(gold[i] == "store" for i in drawn) / 60
    capsys.readouterr()
    call_command("amu_benchmark", "--data", data, "--validity", *readers, "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["turns"]["by_reader"] == pytest.approx([1, stored])
    assert told["turns"]["validity"] == pytest.approx((1 + stored) / 2)
    assert told["turns"]["percent_agreement"] == pytest.approx(stored)
    assert told["turns"]["published_validity"] == 0.893
    assert (told["queries"]["n"], told["queries"]["validity"], told["queries"]["percent_agreement"]) == (10, 1, 1)


def test_a_sheet_that_is_not_filled_in_is_refused_with_its_line(data):
    sheet = data / "sheet.csv"
    call_command("amu_benchmark", "--data", data, "--sheet", "30", "--out", sheet)
    with pytest.raises(CommandError, match=r"sheet\.csv:2: “” is no action"):
        call_command("amu_benchmark", "--data", data, "--validity", sheet)


def test_sessions_can_be_left_open_so_that_nothing_asks_a_model(db, capsys, data):
    document = measured(capsys, data, "--policy", "lufy,memory_bank,amu:prototype,sliding_window", "--close-sessions", "0")
    assert {row["closed"] for row in document["rows"]} == {False}


def test_only_so_many_sessions_are_closed(model, capsys, data):
    document = measured(capsys, data, "--policy", "memory_bank", "--close-sessions", "1")
    assert [(row["closed"], row["sessions"]) for row in document["rows"]] == [(False, 2), (True, 1)]
