"""The researcher at the command line."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from studyplatform.study.models import Participant, Study
from tests.cast import Cast, make_study, study_toml


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(study_toml("two"), "utf-8")
    return path


@pytest.mark.django_db
def test_rae_is_told_what_her_design_means(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_study", str(file))
    said = capsys.readouterr().out
    assert "5 visits" in said
    assert "40 transcripts" in said
    assert "manage.py invite cast-two" in said


@pytest.mark.django_db
def test_json_is_one_document(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_study", str(file), "--json")
    document = json.loads(capsys.readouterr().out)
    assert document["stored"]
    assert (document["visits"], document["transcripts_to_label"], document["state"]) == (5, 40, "draft")
    assert document["sha256"] == Study.objects.get().config_sha256


@pytest.mark.django_db
def test_all_faults_are_told_with_file_and_line_and_nothing_is_stored(file: Path) -> None:
    file.write_text(study_toml("two", sessions="min_turnz = 3").replace('preset = "lufy"', 'preset = "luffy"'), "utf-8")
    with pytest.raises(CommandError) as refused:
        call_command("load_study", str(file))
    line = 1 + file.read_text("utf-8").splitlines().index("min_turnz = 3")
    assert f"{file}:{line}: sessions.min_turnz: unknown key; did you mean min_turns?" in str(refused.value)
    assert "conditions.2.preset" in str(refused.value)
    assert not Study.objects.exists()


@pytest.mark.django_db
def test_a_file_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("load_study", "nowhere.toml")


def test_a_frozen_study_is_amended_with_a_reason(two: Cast, file: Path) -> None:
    file.write_text(study_toml("two", sessions="window_hours = 30"), "utf-8")
    with pytest.raises(CommandError, match=r"sessions.window_hours.*--amend"):
        call_command("load_study", str(file))
    call_command("load_study", str(file), "--amend", "--reason", "Shifts", "--reference", "EB-1")
    assert two.study.amendments.get(number=1).reference == "EB-1"


def test_invited_people_come_in_by_their_links(two: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("invite", two.study.slug, "--count", "2", "--json")
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2
    for row in rows:
        path = "/" + row["link"].split("/", 3)[3]
        assert Client().get(path)["Location"] == f"/p/{row['code']}/"


def test_inviting_one_external_id_twice_is_one_person(two: Cast) -> None:
    for _ in range(2):
        call_command("invite", two.study.slug, "--external-id", "P-9")
    assert Participant.objects.filter(external_id="P-9").count() == 1


@pytest.mark.django_db
def test_a_study_is_piloted_and_then_runs(capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study("two", state="draft")
    call_command("study", study.slug, "--state", "pilot")
    call_command("study", study.slug, "--state", "running")
    assert "cast-two is running, not frozen" in capsys.readouterr().out
    with pytest.raises(CommandError, match="from there"):
        call_command("study", study.slug, "--state", "draft")


def test_a_link_that_went_astray_is_renewed(two: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("invite", two.study.slug, "--renew", two.ana.code)
    link = capsys.readouterr().out.split()[1]
    two.ana.refresh_from_db()
    assert two.ana.key_version == 2
    assert Client().get("/" + link.split("/", 3)[3]).status_code == 302
    with pytest.raises(CommandError, match="no participant"):
        call_command("invite", two.study.slug, "--renew", two.noa.code)
