"""`manage.py report` on a small study: what it holds, what is missing, and that it tells no condition."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from chat.models import Turn
from studyplatform.reporting import gathering
from studyplatform.study.models import AuditEvent, Session
from tests import cast


def said(person, *texts):
    session = cast.session_of(person)
    for seq, text in enumerate(texts, start=1):
        Turn.objects.create(session=session, seq=seq, role="bot" if seq % 2 else "user", text=text)
    Session.objects.filter(pk=session.pk).update(state="closed")


def report(study, folder, capsys):
    capsys.readouterr()
    call_command("report", study=study.slug, out=folder, json=True)
    return json.loads(capsys.readouterr().out)


def test_the_shared_session_is_counted_in_both_conditions_and_what_is_missing_is_named(two, tmp_path, capsys):
    said(two.ana, "Hello there", "I went to the sea today")
    found = report(two.study, tmp_path, capsys)
    words = [row for row in found["table1"]["rows"] if row["column"] == "words"]
    assert [(row["value"], row["n"]) for row in words] == [(8, 2), (8, 1), (8, 1)]
    for key in ("table4", "table5", "table6", "table8", "table9", "table11"):
        assert found[key]["rows"] == []
        assert found[key]["missing"], key
    assert (tmp_path / "table1.csv").read_text().count("\n") == 7


def test_a_blinded_report_names_no_condition_and_no_system(two, tmp_path, capsys):
    said(two.ana, "Hello there", "I went to the sea today")
    report(two.study, tmp_path, capsys)
    written = "".join(file.read_text() for file in tmp_path.iterdir())
    for condition in two.study.conditions.all():
        assert condition.code in written
        assert condition.name not in written
        assert condition.preset not in written


def test_the_same_data_give_the_same_bytes_and_every_look_is_recorded(two, tmp_path, capsys):
    said(two.ana, "Hello there", "I went to the sea today")
    for folder in ("one", "two"):
        report(two.study, tmp_path / folder, capsys)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    assert AuditEvent.objects.filter(study=two.study, act="made a report").count() == 2


def test_pilot_people_never_count(two):

    assert two.pia.code not in {p.participant for p in gathering.gather(two.study).people}


def test_a_study_that_does_not_exist_is_refused(db, tmp_path):
    with pytest.raises(CommandError, match="no study nothing"):
        call_command("report", study="nothing", out=tmp_path)
