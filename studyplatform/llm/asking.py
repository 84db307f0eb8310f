"""One question to a language model, and its whole answer, synchronously: for the workers, never on the path of a reply's tokens.

Every request is an `LLMCall` row: made before the request is sent, completed with the raw output before anything is parsed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.db import transaction
from pydantic import BaseModel, ValidationError

from studyplatform.llm import constraints, prompts, providers, usage
from studyplatform.llm.constraints import Form
from studyplatform.llm.models import LLMCall
from studyplatform.llm.prompts import Message, Prompt
from studyplatform.llm.providers import Resolved
from studyplatform.llm.streaming import FailureKind, ModelFailed
from studyplatform.llm.texts import storable, storable_json
from studyplatform.study.models import Participant
from studyplatform.study.stages import LeaseLost

if TYPE_CHECKING:
    from openai import OpenAI

Schema = TypeVar("Schema", bound=BaseModel)
Answer = TypeVar("Answer")
TIMEOUT_S = 180.0
ATTEMPTS = 2
RETRY_TEMPERATURE = 0.5  # a model that does not draw would give the same unreadable answer again


class Withdrawn(LeaseLost):
    """The person has had everything erased: no model is asked about them any more, and what one says is not kept."""


class BadAnswer(Exception):
    """The model's answer could not be read, twice. `raw` is what it said the last time."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


@dataclass(frozen=True)
class Purpose:
    """What a request is for, and whose: the study, the session and turn that it belongs to, and the opaque `code` of its tag."""

    name: str
    study_id: int
    code: str
    session_id: int | None = None
    seq: int | None = None

    def tag(self, attempt: int) -> str:
        return f"{self.code}.{self.name}.{self.seq or 0}.{attempt}"


@dataclass(frozen=True)
class Model:
    """A model by the name that a study uses, and how to ask it."""

    name: str
    max_tokens: int = 300
    temperature: float = 0.0
    timeout_s: float = TIMEOUT_S


def complete(purpose: Purpose, model: Model, prompt: str | Prompt, **variables: str) -> str:
    """The model's answer as text, without surrounding blanks.

    Raises:
        ModelFailed: no answer; trying later may help.
        BadAnswer: the answer was empty, twice.
    """
    return read(purpose, model, prompt, _text, None, **variables)


def ask(schema: type[Schema], purpose: Purpose, model: Model, prompt: str | Prompt, **variables: str) -> Schema:
    """The model's answer as JSON that fits the schema; constrained by the endpoint where it can, validated always.

    Raises:
        ModelFailed: no answer; trying later may help.
        BadAnswer: the answer did not fit the schema, twice.
    """
    return read(purpose, model, prompt, lambda raw: schema.model_validate_json(storable_json(_json_part(raw))), schema, **variables)


def read(
    purpose: Purpose,
    model: Model,
    prompt: str | Prompt,
    parse: Callable[[str], Answer],
    schema: type[BaseModel] | None = None,
    **variables: str,
) -> Answer:
    """The model's answer through `parse`, which raises ValueError for what it cannot read; asked at most twice.

    Raises:
        ModelFailed, BadAnswer: as in `ask`.
    """
    loaded = prompts.load(prompt) if isinstance(prompt, str) else prompt
    messages = loaded.render(**variables)
    raw, problem = "", ""
    for attempt in range(1, ATTEMPTS + 1):
        asked = model if attempt == 1 else replace(model, temperature=max(model.temperature, RETRY_TEMPERATURE))
        raw = _request(purpose, asked, loaded, messages, schema, attempt)
        try:
            return parse(raw)
        except (ValueError, ValidationError) as error:
            problem = str(error)
    raise BadAnswer(f"{loaded.label}: {problem}", raw)


def _text(raw: str) -> str:
    if not raw.strip():
        raise ValueError("the answer is empty")
    return raw.strip()


def _json_part(raw: str) -> str:
    """The object in an answer that may be fenced or introduced by words."""
    start, end = raw.find("{"), raw.rfind("}")
    return raw[start : end + 1] if 0 <= start < end else raw


def _request(purpose: Purpose, model: Model, prompt: Prompt, messages: list[Message], schema: type[BaseModel] | None, attempt: int) -> str:
    """The model's words, with the strictest form of the schema that its endpoint takes (`llm.constraints`)."""
    target = providers.resolve(model.name)
    turned_down: list[Form] = []
    for form in constraints.forms(target, schema):
        call = LLMCall(
            study_id=purpose.study_id,
            session_id=purpose.session_id,
            seq=purpose.seq,
            purpose=purpose.name,
            prompt=prompt.label,
            prompt_sha256=prompt.sha256,
            model_asked=model.name,
            parameters={
                "max_tokens": model.max_tokens,
                "temperature": model.temperature,
                **({"constraint": form.name} if form.name else {}),
            },
            messages=messages,
            tag=purpose.tag(attempt),
        )
        _begin(call)
        try:
            raw = _answer(call, target, model, form)
        except ModelFailed as error:
            if not form.may_be_refused or not constraints.is_refusal(error.__cause__):
                raise
            turned_down.append(form)
        else:
            constraints.remember(target, turned_down)
            return raw
    raise AssertionError("the last form asks for nothing that can be refused")


def _answer(call: LLMCall, target: Resolved, model: Model, form: Form) -> str:
    """Send one request, and complete its row with what comes back.

    Raises:
        ModelFailed: no answer, or a refusal.
    """
    import openai  # when the first question is asked: a web process asks none, and openai takes 40 MB

    started = time.perf_counter()
    try:
        answer = _client(target.url, target.key).chat.completions.create(
            model=target.model,
            messages=cast(Any, call.messages),
            max_tokens=model.max_tokens,
            temperature=model.temperature,
            timeout=model.timeout_s,
            extra_headers={"X-Client-Request-Id": call.tag},
            extra_body=form.body,
        )
        choice = answer.choices[0]
    except (openai.OpenAIError, IndexError, TypeError, ValueError) as error:
        _store(call, started, error=f"{type(error).__name__}: {error}"[:2000])
        raise ModelFailed(_kind(error), f"{model.name}: {error}") from error
    used = usage.of(answer)
    raw = storable(choice.message.content or "")
    _store(
        call,
        started,
        raw=raw,
        model_answered=answer.model or "",
        finish_reason=cast("str | None", choice.finish_reason) or "",
        tokens_in=used.tokens_in,
        tokens_out=used.tokens_out,
        tokens_cached=used.tokens_cached,
        cost=target.cost(used.tokens_in, used.tokens_out),
    )
    return raw


@transaction.atomic
def _begin(call: LLMCall) -> None:
    """Write the request down. The person's row is held for that moment: a withdrawal comes before, or finds the new row."""
    people = Participant.objects.select_for_update(no_key=True, of=("self",))
    person = people.filter(sessions=call.session_id).first() if call.session_id is not None else None
    if person is not None and person.state == Participant.State.WITHDRAWN:
        raise Withdrawn
    call.save(force_insert=True)


def _store(call: LLMCall, started: float, **values: object) -> None:
    """Complete the row, unless its words were erased meanwhile."""
    call.total_ms = (time.perf_counter() - started) * 1000
    if not LLMCall.objects.filter(pk=call.pk).exclude(messages=[]).update(**values, total_ms=call.total_ms):
        raise Withdrawn


@lru_cache(maxsize=16)
def _client(url: str, key: str) -> "OpenAI":
    from openai import OpenAI

    return OpenAI(base_url=url, api_key=key or "none", max_retries=0, timeout=TIMEOUT_S)


def _kind(error: Exception) -> FailureKind:
    import openai

    if isinstance(error, openai.APITimeoutError):
        return "timeout"
    if isinstance(error, openai.APIConnectionError):
        return "unreachable"
    if isinstance(error, openai.RateLimitError):
        return "rate_limited"
    if isinstance(error, openai.APIStatusError):
        return "server" if error.status_code >= 500 else "refused"
    return "broken"
