"""The models that a replay asks: those that answer already, else processes of its own for as long as it runs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

from django.conf import settings

from studyplatform.llm import embeddings
from studyplatform.simulation import serving
from studyplatform.simulation.crew import Crew
from studyplatform.stack import borrowed


@contextmanager
def models(names: Iterable[str], encoder: str, *, seed: int, say: Callable[[str], None]) -> Iterator[None]:
    """Have these language models and the encoder answer. Other providers than `scripted` and `local` must answer by themselves.

    Raises:
        studyplatform.simulation.crew.CrewFault, studyplatform.simulation.serving.NotServed, studyplatform.stack.faults.StackFault: one does not.
    """
    wanted = set(names)
    local = [what for what, is_asked in (("encoder", encoder.startswith("local/")), ("chat-model", _any(wanted, "local/"))) if is_asked]
    addresses = {"LOCAL_EMBEDDINGS_URL": settings.ENV.LOCAL_EMBEDDINGS_URL, "LOCAL_LLM_URL": settings.ENV.LOCAL_LLM_URL}
    with ExitStack() as stack:
        if _any({*wanted, encoder}, "scripted/"):
            serving.scripted(stack.enter_context(Crew()), seed, say)
        if local:
            say(f"Local models: {', '.join(local)}.")
            stack.enter_context(borrowed.models(*local, settings=addresses))
        stack.enter_context(embeddings.kept())
        yield


def _any(names: Iterable[str], prefix: str) -> bool:
    return any(name.startswith(prefix) for name in names)
