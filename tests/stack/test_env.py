"""Settings are parsed or refused; the environment wins over the stack's file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from studyplatform import env

from .conftest import OURS

GOOD = {"DATABASE_URL": "postgresql://a:b@h:5/d", "REDIS_URL": "redis://h:6/0", "SECRET_KEY": "k" * 32}


def test_the_environment_wins_over_the_stacks_file():
    assert env.parse({"REDIS_URL": "redis://mine:1/0"}, GOOD).REDIS_URL == "redis://mine:1/0"


def test_everything_missing_is_named_at_once_with_what_to_do():
    with pytest.raises(env.BadEnvironment) as refused:
        env.parse({}, {})
    assert all(name in str(refused.value) for name in GOOD)
    assert "manage.py stack up" in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"SECRET_KEY": "short"},
        {"DATABASE_URL": "sqlite:///db.sqlite3"},
        {"REDIS_URL": "127.0.0.1:6379"},
        {"PUBLIC_URL": "study.example.org"},
        {"LLM_PROVIDERS": "{not json"},
        {"LLM_PROVIDERS": '{"openai": {"url": "https://x/v1", "api_key": "secret"}}'},
        {"DB_POOL_SIZE": "0"},
        {"EMAIL_URL": "mail.example.org"},
        {"DEBUG": "perhaps"},
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_by_name(wrong: dict[str, str]):
    with pytest.raises(env.BadEnvironment, match=next(iter(wrong))):
        env.parse({**GOOD, **wrong}, {})


def test_a_key_in_the_environment_is_never_quoted_back():
    with pytest.raises(env.BadEnvironment) as refused:
        env.parse({**GOOD, "SECRET_KEY": "hunter2"}, {})
    assert "hunter2" not in str(refused.value)


def test_the_stacks_file_may_have_comments_and_values_with_equal_signs(tmp_path: Path):
    (tmp_path / "stack.env").write_text("# a=b\nSECRET_KEY=abc=def\n\n")
    assert env.read_env_file(tmp_path / "stack.env") == {"SECRET_KEY": "abc=def"}


def test_a_command_in_a_checkout_where_nothing_was_started_says_what_to_do(tmp_path: Path):
    bare = {name: value for name, value in os.environ.items() if name not in OURS} | {"STACK_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "manage.py", "check"], cwd=env.ROOT, env=bare, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("These settings are missing or wrong:")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["stack", "demo"])
def test_what_starts_the_stack_needs_no_settings(command: str, tmp_path: Path):
    bare = {name: value for name, value in os.environ.items() if name not in OURS} | {"STACK_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "manage.py", command, "--help"], cwd=env.ROOT, env=bare, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout
