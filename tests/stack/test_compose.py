"""Production runs the processes of the local stack: the same commands, the same queues."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from studyplatform.envfile import ROOT
from studyplatform.stack.places import Places
from studyplatform.stack.plan import Plan, Wanted

ADDRESSES = {"--host", "--port", "-s"}  # what differs between a laptop and a container
SHARES = {"-Q", "-c", "-n"}  # how the queues are shared out among workers


@pytest.fixture(scope="module")
def services() -> dict:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return document["services"]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, ...]]:
    here = Places(tmp_path_factory.mktemp("state"))
    here.make()
    plan = Plan(here, Wanted(groups=("redis", "llm", "web", "workers")))
    return {service.name: service.command[1:] for service in plan.services()}


def without(options: set[str], command: Sequence[str]) -> tuple[str, ...]:
    dropped = {index + step for index, word in enumerate(command) if word in options for step in (0, 1)}
    return tuple(word for index, word in enumerate(command) if index not in dropped)


def queues(command: Sequence[str]) -> set[str]:
    return set(command[command.index("-Q") + 1].split(",")) if "-Q" in command else set()


@pytest.mark.parametrize("name", ["encoder", "chat-model", "web", "beat"])
def test_each_process_of_the_local_stack_has_its_counterpart(name: str, services: dict, local: dict):
    assert services[name]["command"][0] == "python"
    assert without(ADDRESSES, services[name]["command"][1:]) == without(ADDRESSES, local[name])


def test_no_process_of_the_local_stack_is_forgotten(services: dict, local: dict):
    assert {name for name in local if not name.startswith("worker-")} <= set(services)
    assert {"postgres", "valkey", "migrate", "proxy"} <= set(services)
    assert services["migrate"]["command"] == ["python", "manage.py", "migrate", "--noinput"]


def test_workers_run_the_same_command_and_between_them_the_same_queues(services: dict, local: dict):
    ours = {name: command for name, command in local.items() if name.startswith("worker-")}
    theirs = {name: service["command"][1:] for name, service in services.items() if name.startswith("worker-")}
    assert len({without(SHARES, command) for command in [*ours.values(), *theirs.values()]}) == 1
    assert set().union(*map(queues, ours.values())) == set().union(*map(queues, theirs.values()))


def test_every_queue_that_work_is_sent_to_has_a_worker_of_its_own(services: dict):
    source = (ROOT / "studyplatform" / "study" / "enqueue.py").read_text()
    served = [queues(service["command"]) for name, service in services.items() if name.startswith("worker-")]
    for queue in set(re.findall(r'"(gpu|llm|default)"', source)):
        assert {queue} in served


def test_the_gpu_worker_and_the_model_server_start_only_when_asked_for(services: dict):
    assert services["worker-gpu-cuda"]["profiles"] == ["gpu"]
    assert services["vllm"]["profiles"] == ["vllm"]
    assert services["worker-gpu-cuda"]["command"] == services["worker-gpu"]["command"]


def test_no_password_is_written_into_the_file(services: dict):
    text = (ROOT / "docker-compose.yml").read_text()
    for name in ("POSTGRES_PASSWORD", "VALKEY_PASSWORD", "SECRET_KEY"):
        assert f"${{{name}:?" in text
        assert not re.search(rf"^{name}=.+", (ROOT / ".env.example").read_text(), re.M)


def test_the_image_holds_everything_that_the_platform_is_made_of():
    copied = set(re.findall(r"^COPY (\S+?)/? ", (ROOT / "Dockerfile").read_text(), re.M))
    packages = {path.parent.name for path in ROOT.glob("*/apps.py")} | {"studyplatform", "templates", "static", "studies"}
    assert packages <= copied


def test_requirements_name_no_registry_and_are_pinned():
    for path in Path(ROOT / "requirements").glob("*.txt"):
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                assert re.fullmatch(r"[A-Za-z0-9._\[\]-]+==[^ ;]+( ;.*)?", line), (path.name, line)
