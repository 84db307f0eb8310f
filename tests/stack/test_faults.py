"""What somebody reads when something is wrong: one line that ends with what to do."""

import os
import signal
from pathlib import Path

import pytest

from studyplatform.stack import places, plan, postgres, valkey
from studyplatform.stack.faults import StackFault, explain


def test_a_full_disk_says_which_and_what_to_do(tmp_path: Path):
    with pytest.raises(StackFault, match=f"MB are free on the disk of {tmp_path}.*free some space, or set STACK_DIR"):
        places.check_room(tmp_path, need_mb=10**9)


@pytest.mark.parametrize(
    ("code", "log", "advice"),
    [
        (1, "PANIC: could not write to file: No space left on device", "the disk is full"),
        (1, "could not bind IPv4 address: Address already in use", "run `manage.py stack down`, then `up` again"),
        (1, "ModuleNotFoundError: No module named 'uvicorn'", "run `make setup`"),
        (-signal.SIGILL, "", "this processor lacks an instruction"),
        (-signal.SIGKILL, "", "was killed, by hand or by the system when memory ran out"),
        (1, "FATAL: database files are incompatible with server", "docs/operations.md, Upgrade"),
        (3, "something new", "ended with status 3: something new"),
        (None, "", "runs but does not answer"),
    ],
)
def test_a_service_that_ended_is_explained_in_one_line(code: int | None, log: str, advice: str):
    said = explain("Postgres", code, log, "/s/log/postgres.log")
    assert advice in said
    assert said.startswith("Postgres: ")
    assert "/s/log/postgres.log" in said
    assert "\n" not in said


@pytest.mark.parametrize("module", [postgres, valkey])
def test_a_missing_package_says_make_setup(module, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PACKAGE", "not_installed_here")
    with pytest.raises(StackFault, match="make setup"):
        (module.package_folder if module is postgres else module.binary)()


def test_an_unknown_group_names_those_there_are():
    with pytest.raises(StackFault, match="does not know mysql: choose from postgres, redis, llm, web, workers"):
        plan.parse_groups("redis,mysql")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_else_is_named(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(StackFault, match="set STACK_DIR to one of yours"):
        places.Places(tmp_path / "state").make()


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path):
    (tmp_path / "state").write_text("")
    with pytest.raises(StackFault, match=r"Cannot use .*state"):
        places.Places(tmp_path / "state").make()


def test_a_long_log_is_set_aside_and_a_writer_goes_on(tmp_path: Path):
    log = tmp_path / "web.log"
    with log.open("a") as writer:
        writer.write("x" * 3000)
        writer.flush()
        places.set_aside(log, limit_mb=0.001)
        writer.write("after")
    assert log.read_text() == "after"
    assert (tmp_path / "web.log.1").read_text() == "x" * 3000
