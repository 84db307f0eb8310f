"""Deployment settings: the process environment first, then the local stack's own file; parsed or refused.

Nothing about a study's design belongs here (see `studyplatform.study.config`).
"""

import json
import os
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from studyplatform.envfile import ROOT, read_env_file, stack_dir

__all__ = ["ROOT", "BadEnvironment", "Environment", "Provider", "load", "parse", "read_env_file", "stack_dir"]


class BadEnvironment(Exception):
    """One or more settings cannot be used; the message lists all of them and says what to do."""


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _words(value: Any) -> Any:
    return [w.strip() for w in value.split(",") if w.strip()] if isinstance(value, str) else value


class Provider(BaseModel):
    """One OpenAI-compatible endpoint.

    `key_env` names the environment variable that holds the key, so that a key is never written into a file of ours.
    Prices are in the study's currency per million tokens.
    """

    model_config = ConfigDict(extra="forbid")

    url: str
    key_env: str | None = None
    price_in: float = 0.0
    price_out: float = 0.0
    region: str = ""
    schema_constrained: bool = True


class Environment(BaseModel):
    """Every setting that differs between two deployments of the same code."""

    model_config = ConfigDict(extra="ignore")

    DATABASE_URL: str = Field(pattern=r"^postgres(ql)?://")
    REDIS_URL: str = Field(pattern=r"^rediss?://")
    SECRET_KEY: str = Field(min_length=32)
    DEBUG: bool = False
    ALLOWED_HOSTS: Annotated[list[str], BeforeValidator(_words)] = [
        "localhost",
        "127.0.0.1",
        "[::1]",
    ]
    PUBLIC_URL: str = Field(default="http://127.0.0.1:8000", pattern=r"^https?://")
    LLM_PROVIDERS: Annotated[dict[str, Provider], BeforeValidator(_json)] = {}
    LOCAL_LLM_URL: str = "http://127.0.0.1:8101/v1"
    LOCAL_EMBEDDINGS_URL: str = "http://127.0.0.1:8102/v1"
    SCRIPTED_URL: str = "http://127.0.0.1:8103/v1"
    DB_POOL_SIZE: int = Field(default=6, ge=1, le=200)
    REPLY_CONCURRENCY: int = Field(default=400, ge=1)
    RECALL_THREADS: int = Field(default=4, ge=1, le=64)
    EMAIL_URL: str = Field(default="console:", pattern=r"^(console:|smtps?://[^/]+/?)$")
    EMAIL_FROM: str = "study@localhost"


def parse(environ: Mapping[str, str], stack: Mapping[str, str]) -> Environment:
    """The environment wins over the stack's file.

    Raises:
        BadEnvironment: with one line per setting that is missing or wrong.
    """
    try:
        return Environment.model_validate({**stack, **environ})
    except (ValidationError, json.JSONDecodeError) as error:
        raise BadEnvironment(_explain(error)) from None  # the cause would quote the environment, keys included


def _explain(error: ValidationError | json.JSONDecodeError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"LLM_PROVIDERS is not JSON: {error}."
    lines = [f"  {'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in error.errors()]
    return "\n".join(
        [
            "These settings are missing or wrong:",
            *lines,
            "Start the local stack (`manage.py stack up`, which writes them), or set them in the environment.",
        ]
    )


def load() -> Environment:
    """Read this process's environment and the stack's file."""
    return parse(os.environ, read_env_file(stack_dir() / "stack.env"))
