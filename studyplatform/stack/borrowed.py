"""Local models for as long as a command runs: the ones that answer already, else processes of one's own.

with borrowed.models("encoder"):
    ...  # LOCAL_EMBEDDINGS_URL answers
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from urllib.parse import urlsplit

from studyplatform.envfile import ROOT
from studyplatform.stack.faults import StackFault, explain
from studyplatform.stack.ports import HOST
from studyplatform.stack.service import says_healthy

MODULES = {"encoder": "studyplatform.stack.encoder", "chat-model": "studyplatform.stack.chat_model"}
SETTINGS = {"encoder": "LOCAL_EMBEDDINGS_URL", "chat-model": "LOCAL_LLM_URL"}
PATIENCE_S = 180


@contextmanager
def models(*names: str, settings: Mapping[str, str]) -> Iterator[None]:
    """Have these models ("encoder", "chat-model") answer at the addresses that `settings` gives for them.

    Raises:
        StackFault: one does not come up, or its address is on another machine and does not answer.
    """
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(_model(name, settings[SETTINGS[name]]))
        yield


def encoder(name: str, *, settings: Mapping[str, str]) -> AbstractContextManager[None]:
    """Have the encoder `provider/model` answer: the local one as `models` does; another provider's must answer by itself."""
    return models(*(("encoder",) if name.startswith("local/") else ()), settings=settings)


@contextmanager
def _model(name: str, url: str) -> Iterator[None]:
    address = urlsplit(url)
    host, port = address.hostname or HOST, address.port or 80
    if says_healthy(port, host=host):
        yield
        return
    if host not in (HOST, "localhost"):
        raise StackFault(f"{SETTINGS[name]} is {url}, where nothing answers: start it there, or unset {SETTINGS[name]}.")
    process = subprocess.Popen(
        [sys.executable, "-m", MODULES[name], "--port", str(port)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _await(name, process, port)
        yield
    finally:
        process.terminate()
        process.communicate()


def _await(name: str, process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not says_healthy(port):
        if process.poll() is not None:
            _, said = process.communicate()
            raise StackFault(explain(name, process.returncode, said.decode("utf-8", "replace"), "its own output"))
        if time.monotonic() > deadline:
            raise StackFault(explain(name, None, "", "none"))
        time.sleep(0.1)
