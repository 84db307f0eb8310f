"""Accounts of staff, given and taken away on the command line."""

import pytest
from django.core.management import CommandError, call_command

from studyplatform.study.models import AuditEvent, Role, User


def test_a_new_researcher_gets_an_account_that_opens_the_study(two, client, capsys):
    call_command("staff", "New@Example.org", "--study", two.study.slug, "--role", "researcher")
    password = capsys.readouterr().out.split("password ")[1].split()[0]
    user = User.objects.get(email="new@example.org")
    assert user.check_password(password)
    client.force_login(user)
    assert two.study.title in client.get("/console/").content.decode()
    assert AuditEvent.objects.filter(study=two.study, act="role given").exists()


def test_giving_a_role_twice_gives_it_once(two):
    for _ in range(2):
        call_command("staff", two.lee.email, "--study", two.study.slug, "--role", "reviewer")
    assert Role.objects.filter(user=two.lee, study=two.study, name="reviewer").count() == 1


def test_a_role_taken_away_closes_the_study(two, client):
    call_command("staff", two.rae.email, "--study", two.study.slug, "--role", "researcher", "--remove")
    client.force_login(two.rae)
    assert client.get(f"/console/studies/{two.study.slug}/").status_code == 404


def test_a_study_that_is_not_there_is_said_so(db):
    with pytest.raises(CommandError, match="There is no study nowhere"):
        call_command("staff", "a@example.org", "--study", "nowhere", "--role", "researcher")
