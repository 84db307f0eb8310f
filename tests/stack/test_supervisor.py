"""The local stack on somebody's machine, with everything that happens to machines."""

import json
import os
import signal
import socket
import stat
import subprocess

import psycopg
import pytest
import redis

from studyplatform.env import ROOT

from .conftest import Stack, await_that, free_port, runs

pytestmark = pytest.mark.stack


def answering(stack: Stack) -> "redis.Redis":
    return redis.Redis.from_url(stack.settings["REDIS_URL"])


def test_what_a_person_stored_is_there_after_a_second_start(stack: Stack):
    stack.up()
    answering(stack).set("tea", "green")
    before = stack.settings
    stack.down()
    stack.up()
    assert answering(stack).get("tea") == b"green"
    assert stack.settings == before, "keys, passwords and ports are made once"


def test_down_leaves_nothing_running(stack: Stack):
    stack.up()
    pids = [stack.pid("valkey"), stack.supervisor]
    assert all(runs(pid) for pid in pids)
    stack.down()
    assert not any(runs(pid) for pid in pids)
    assert stack.run("down").stdout.strip() == "Nothing runs here."


def test_a_taken_port_makes_it_take_the_next_and_say_so(stack: Stack):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        stack.remember_port("valkey", taken)
        said = stack.up().stdout
    assert f"Port {taken} is taken: valkey uses " in said
    assert f":{taken}/" not in stack.settings["REDIS_URL"]
    assert answering(stack).ping()


def test_records_of_a_dead_run_harm_no_stranger_who_has_its_process_id_now(stack: Stack, stranger: int):
    run = stack.folder / "run"
    run.mkdir(parents=True)
    stale = json.dumps({"pid": stranger, "started": "another-boot:1", "stop_signal": int(signal.SIGTERM)})
    (run / "supervisor.json").write_text(stale)
    (run / "valkey.child.json").write_text(stale)
    stack.up()
    assert answering(stack).ping()
    assert runs(stranger)


def test_a_killed_child_is_started_again_and_the_data_are_there(stack: Stack):
    stack.up()
    answering(stack).set("tea", "green")
    await_that(lambda: b"tea" in b"".join(f.read_bytes() for f in (stack.folder / "valkey" / "appendonlydir").iterdir()))
    killed = stack.pid("valkey")
    os.kill(killed, signal.SIGKILL)
    await_that(lambda: stack.status()["services"]["valkey"]["restarts"] == 1 and stack.status()["running"])
    assert stack.pid("valkey") != killed
    assert answering(stack).get("tea") == b"green"
    assert "was killed" in (stack.folder / "log" / "supervisor.log").read_text()


def test_after_a_killed_supervisor_the_next_start_clears_what_it_left(stack: Stack):
    stack.up()
    left = stack.pid("valkey")
    os.kill(stack.supervisor, signal.SIGKILL)
    await_that(lambda: not runs(stack.supervisor))
    assert runs(left)
    assert stack.status()["services"]["valkey"]["state"] == "left over"
    said = stack.up().stdout
    assert "valkey was left over" in said
    assert not runs(left)
    assert answering(stack).ping()


def test_down_ends_what_a_killed_supervisor_left(stack: Stack):
    stack.up()
    left = stack.pid("valkey")
    os.kill(stack.supervisor, signal.SIGKILL)
    await_that(lambda: not runs(stack.supervisor))
    assert "valkey" in stack.down().stdout
    assert not runs(left)


def test_ctrl_c_in_the_terminal_stops_everything(stack: Stack):
    process = subprocess.Popen(
        stack.command("up", "--only", "redis", "--no-migrate"), cwd=ROOT, env=stack.environ, stdout=subprocess.PIPE, text=True
    )
    await_that(lambda: (stack.folder / "run" / "status.json").exists() and stack.status()["running"])
    pid = stack.pid("valkey")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert said.strip().endswith("Everything is stopped.")
    assert not runs(pid)


def test_a_second_up_joins_the_running_stack(stack: Stack):
    stack.up()
    first = stack.supervisor, stack.pid("valkey")
    stack.up()
    assert (stack.supervisor, stack.pid("valkey")) == first


def test_status_json_is_one_document_and_its_exit_status_tells_whether_all_runs(stack: Stack):
    nothing = stack.run("status", "--json")
    assert json.loads(nothing.stdout)["running"] is False
    assert nothing.returncode == 1
    stack.up()
    something = stack.run("status", "--json")
    service = json.loads(something.stdout)["services"]["valkey"]
    assert something.returncode == 0
    assert (service["state"], service["pid"], service["restarts"]) == ("ready", stack.pid("valkey"), 0)


def test_nobody_else_on_the_machine_can_read_keys_or_logs(stack: Stack):
    stack.up()
    for path in (stack.folder / "stack.env", stack.folder / "secrets.json", stack.folder / "log", stack.folder / "run"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=int(stack.settings["REDIS_URL"].rsplit(":", 1)[1].split("/")[0])).get("tea")


def test_postgres_keeps_rows_takes_vectors_and_survives_a_stale_lock_file(stack: Stack, stranger: int):
    stack.remember_port("postgres", free_port())
    stack.up("postgres")
    with psycopg.connect(stack.settings["DATABASE_URL"]) as connection:
        connection.execute("create extension vector")
        connection.execute("create table memories as select '[3,4]'::vector as v")
    parents = [(path, path.stat().st_mode) for path in stack.folder.parents]
    stack.down()
    home = (stack.folder / "postgres-home").read_text().strip() if os.geteuid() == 0 else str(stack.folder / "postgres")
    with open(f"{home}/data/postmaster.pid", "w") as lock:  # as after a power cut, its id given to somebody else since
        lock.write(f"{stranger}\n{home}/data\n1\n1\n\n127.0.0.1\n0 0\nready\n")
    stack.up("postgres")
    with psycopg.connect(stack.settings["DATABASE_URL"]) as connection:
        assert connection.execute("select v <-> '[0,0]' from memories").fetchone() == (5.0,)
    assert [(path, path.stat().st_mode) for path in stack.folder.parents] == parents
    assert stat.S_IMODE(os.stat(home).st_mode) == 0o700
    assert runs(stranger)


def test_a_port_taken_between_choice_and_use_makes_it_start_over_with_another(stack: Stack):
    """The encoder needs a second to load before it binds: time enough for somebody else."""
    port = free_port()
    stack.remember_port("encoder", port)
    starting = subprocess.Popen(
        stack.command("up", "--only", "llm", "--detach"), cwd=ROOT, env=stack.environ, stdout=subprocess.PIPE, text=True
    )
    await_that(lambda: (stack.folder / "run" / "encoder.child.json").exists())
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        said, _ = starting.communicate(timeout=120)
    assert "another program took its port meanwhile" in said
    assert f":{port}/" not in stack.settings["LOCAL_EMBEDDINGS_URL"]
    assert stack.status()["running"]
