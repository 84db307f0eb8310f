"""Production runs the processes of the local stack: the same commands, the same queues."""

import re
from pathlib import Path

import pytest
import yaml

from studyplatform.envfile import ROOT
from studyplatform.stack.places import Places
from studyplatform.stack.plan import WORKERS, Plan, Wanted

ADDRESSES = {"--host", "--port", "-s"}  # what differs between a laptop and a container


@pytest.fixture(scope="module")
def services() -> dict:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return document["services"]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, ...]]:
    here = Places(tmp_path_factory.mktemp("state"))
    here.make()
    plan = Plan(here, Wanted(groups=("redis", "llm", "web", "workers")))
    return {service.name: without_addresses(service.command[1:]) for service in plan.services()}


def without_addresses(command: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    pairs = zip(command, [*command[1:], ""], strict=True)
    dropped = {index + step for index, (word, _) in enumerate(pairs) if word in ADDRESSES for step in (0, 1)}
    return tuple(word for index, word in enumerate(command) if index not in dropped)


@pytest.mark.parametrize("name", ["encoder", "chat-model", "web", "worker-default", "worker-llm", "worker-gpu", "beat"])
def test_each_process_of_the_local_stack_has_its_counterpart(name: str, services: dict, local: dict):
    assert services[name]["command"][0] == "python"
    assert without_addresses(services[name]["command"][1:]) == local[name]


def test_no_python_process_of_the_local_stack_is_forgotten(services: dict, local: dict):
    assert set(local) <= set(services)
    assert {"postgres", "valkey", "migrate", "proxy"} <= set(services)
    assert services["migrate"]["command"] == ["python", "manage.py", "migrate", "--noinput"]


def test_every_queue_that_work_is_sent_to_has_a_worker(services: dict):
    sources = (ROOT / "studyplatform" / "study" / "enqueue.py").read_text()
    queues = set(re.findall(r'"(gpu|llm|default)"', sources))
    assert queues <= set(WORKERS)
    assert queues <= {command[command.index("-Q") + 1] for s in services.values() if "-Q" in (command := s.get("command", []))}


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
