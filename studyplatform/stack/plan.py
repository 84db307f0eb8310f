"""Which processes make up the local stack, on which ports, with which settings.

`docker-compose.yml` has a counterpart of each; `tests/stack/test_compose.py` compares the two.
"""

import json
import os
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studyplatform.envfile import ROOT, read_env_file
from studyplatform.stack import ports, postgres, valkey
from studyplatform.stack.faults import StackFault
from studyplatform.stack.places import Places, read_json, secrets_of, write_env, write_private
from studyplatform.stack.service import Service, says_healthy

GROUPS = ("postgres", "redis", "llm", "web", "workers")
LISTENERS = {"postgres": ("postgres",), "redis": ("valkey",), "llm": ("encoder", "chat-model"), "web": ("web",), "workers": ()}
MARKS = {"postgres": "postgres", "redis": "valkey", "llm": "chat-model", "web": "web", "workers": "beat"}  # runs when the group does
# Name → queues and tasks at a time. Memory writes have a worker of their own: the next reply waits for them, and must not
# wait behind an hour of summaries. Production has one worker service per queue.
WORKERS = {"default": ("default", 3), "models": ("llm,gpu", 3)}
# Frames are short: compressing each one would cost more time than it saves, and some memory per socket.
WEB_OPTIONS = (
    *("--ws-max-size", "262144", "--ws-per-message-deflate", "false"),
    *("--timeout-graceful-shutdown", "3", "--no-access-log", "--lifespan", "on"),
)
CELERY = ("-A", "studyplatform.celery", "--skip-checks")  # `migrate` has run them
SCHEDULE = ("-A", "studyplatform.celery:schedule", "--skip-checks")  # without the tasks: it only sends their names
WORKER_OPTIONS = ("--pool", "threads", "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO")


@dataclass(frozen=True)
class Wanted:
    """What the person asked for: groups of services, whether to migrate, whether this is the demo, a port for web."""

    groups: tuple[str, ...] = GROUPS
    migrate: bool = True
    demo: bool = False
    web_port: int | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Wanted":
        """From the JSON that one process hands to another."""
        return cls(**{**document, "groups": tuple(document["groups"])})


def groups_of(services: Container[str]) -> frozenset[str]:
    """The groups that these services make up."""
    return frozenset(group for group in GROUPS if MARKS[group] in services)


def parse_groups(text: str | None) -> tuple[str, ...]:
    """Raises StackFault on a name that is not a group."""
    names = tuple(name.strip() for name in text.split(",")) if text else GROUPS
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        raise StackFault(f"--only does not know {', '.join(unknown)}: choose from {', '.join(GROUPS)}.")
    return names


class Plan:
    """The services for what is wanted and does not run yet. Ports are kept from the last run where they are still free."""

    def __init__(self, places: Places, wanted: Wanted, running: frozenset[str] = frozenset()) -> None:
        self.places = places
        self.wanted = wanted
        self.new = [group for group in GROUPS if group in wanted.groups and group not in running]
        self.own = running | set(wanted.groups)
        self.moved: list[str] = []
        self._secrets = secrets_of(places)
        self._ports = self._choose_ports()
        self._environ = self._settings()

    @property
    def settings(self) -> dict[str, str]:
        return self._environ

    def services(self) -> list[Service]:
        """In the order in which they are started."""
        make = {"postgres": self._postgres, "redis": self._valkey, "llm": self._models, "web": self._web, "workers": self._workers}
        found = [service for group in self.new for service in make[group]()]
        stores = [service for service in found if service.store]
        rest = [service for service in found if not service.store]
        return stores + self._steps() + rest

    def write(self) -> None:
        """Write the settings file and remember the ports."""
        write_private(self.places.run / "ports.json", json.dumps(self._ports))
        kept = read_env_file(self.places.env_file)
        write_env(self.places.env_file, {**kept, **self._own_settings()})

    # -- ports and settings

    def _choose_ports(self) -> dict[str, int]:
        known = read_json(self.places.run / "ports.json") or {}
        chosen = {name: int(port) for name, port in known.items() if name in ports.WANTED}
        for group in self.new:
            for name in LISTENERS[group]:
                wish = self._wish(name, chosen)
                others = {port for other, port in chosen.items() if other != name}
                chosen[name] = ports.choose(wish, others)
                if chosen[name] != wish:
                    self.moved.append(f"Port {wish} is taken: {name} uses {chosen[name]}.")
        chosen.setdefault("scripted", ports.choose(ports.WANTED["scripted"], set(chosen.values())))
        return chosen

    def _wish(self, name: str, known: Mapping[str, int]) -> int:
        if name == "web" and self.wanted.web_port:
            return self.wanted.web_port
        return known.get(name, ports.WANTED[name])

    def _own_settings(self) -> dict[str, str]:
        """The settings that follow from the services of this stack."""
        own = {"SECRET_KEY": self._secrets["secret_key"], "SCRIPTED_URL": f"http://{ports.HOST}:{self._ports['scripted']}/v1"}
        if "postgres" in self.own:
            own["DATABASE_URL"] = postgres.url(self._ports["postgres"], self._secrets["postgres"])
        if "redis" in self.own:
            own["REDIS_URL"] = valkey.url(self._ports["valkey"], self._secrets["valkey"])
        if "llm" in self.own:
            own["LOCAL_LLM_URL"] = f"http://{ports.HOST}:{self._ports['chat-model']}/v1"
            own["LOCAL_EMBEDDINGS_URL"] = f"http://{ports.HOST}:{self._ports['encoder']}/v1"
        if "web" in self.own:
            own["PUBLIC_URL"] = os.environ.get("PUBLIC_URL") or f"http://{ports.HOST}:{self._ports['web']}"
        return own

    def _settings(self) -> dict[str, str]:
        """What the children see: our own services first, then the environment, then what the file said before."""
        return {
            **read_env_file(self.places.env_file),
            **os.environ,
            **self._own_settings(),
            "STACK_DIR": str(self.places.root),
            "PYTHONUNBUFFERED": "1",
        }

    # -- the services: the pages first, what they need only later after them

    def _python(self, name: str, title: str, *arguments: str, port: int | None = None, **more: object) -> Service:
        command = (sys.executable, *arguments)
        return Service(name, title, command, port=port, environ=self._environ, cwd=ROOT, **more)  # type: ignore[arg-type]  # checked by Service

    def _postgres(self) -> list[Service]:
        port, password = self._ports["postgres"], self._secrets["postgres"]
        place = postgres.locate(self.places)
        return [
            Service(
                "postgres",
                "Postgres",
                postgres.command(place, port),
                ready=lambda: postgres.is_ready(port, password),
                prepare=lambda: postgres.prepare(place, password),
                essential=True,
                store=True,
                port=port,
                environ={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
                cwd=place.home,
                user=place.user,
                stop_signal=postgres.STOP,
                grace_s=20,
            )
        ]

    def _valkey(self) -> list[Service]:
        port, password = self._ports["valkey"], self._secrets["valkey"]
        file = valkey.write_configuration(self.places, port, password)
        return [
            Service(
                "valkey",
                "Valkey",
                (str(valkey.binary()), str(file)),
                ready=lambda: valkey.is_ready(port, password),
                essential=True,
                store=True,
                port=port,
                environ={"PATH": os.environ.get("PATH", "")},
                cwd=self.places.root,
            )
        ]

    def _models(self) -> list[Service]:
        chat, encoder = self._ports["chat-model"], self._ports["encoder"]
        return [
            self._python(
                "encoder",
                "Encoder",
                *("-m", "studyplatform.stack.encoder", "--port", str(encoder)),
                port=encoder,
                needs=("web",),
                ready=lambda: says_healthy(encoder),
            ),
            self._python(
                "chat-model",
                "Chat model",
                *("-m", "studyplatform.stack.chat_model", "--port", str(chat)),
                port=chat,
                needs=("web",),
                ready=lambda: says_healthy(chat),
                patience_s=180,
            ),
        ]

    def _steps(self) -> list[Service]:
        """What is run to its end before the pages count as ready."""
        if self.wanted.demo:
            return [self._step("demo-people", "Demo study", "demo", "--people")]
        if self.wanted.migrate and "postgres" in self.own:
            return [self._step("migrate", "Migrations", "migrate", "--noinput")]
        return []

    def _step(self, name: str, title: str, *arguments: str) -> Service:
        return self._python(name, title, "manage.py", *arguments, needs=("postgres",), once=True, essential=True)

    def _web(self) -> list[Service]:
        port = self._ports["web"]
        arguments = ("-m", "uvicorn", "studyplatform.asgi:application", "--host", ports.HOST, "--port", str(port), *WEB_OPTIONS)
        steps = ("migrate", "demo-people")
        answers = lambda: says_healthy(port, "/accounts/login/")  # noqa: E731  # one of many `ready`
        return [self._python("web", "Web", *arguments, port=port, needs=("postgres", "valkey"), ready_after=steps, ready=answers)]

    def _workers(self) -> list[Service]:
        needs = ("postgres", "valkey", "migrate", "demo-people", "web")
        workers = [
            self._python(
                f"worker-{name}",
                f"Worker ({name})",
                *("-m", "celery", *CELERY, "worker", "-Q", queues, "-c", str(size), "-n", f"{name}@%h", *WORKER_OPTIONS),
                needs=needs,
                ready_line=" ready.",
            )
            for name, (queues, size) in WORKERS.items()
        ]
        schedule = str(Path(self.places.run) / "beat-schedule")
        beat = ("-m", "celery", *SCHEDULE, "beat", "-s", schedule, "--pidfile", "", "--loglevel", "WARNING")
        return [*workers, self._python("beat", "Schedule", *beat, needs=needs)]
