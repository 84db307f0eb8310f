"""Which endpoint answers for a model's name. A study says `provider/model`; the deployment says where a provider is."""

import os
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from django.conf import settings

from studyplatform.env import Environment, Provider


class UnknownProvider(Exception):
    """A model's name is not `provider/model`, or no such provider is configured."""


@dataclass(frozen=True)
class Resolved:
    """One model at one OpenAI-compatible endpoint. `asked` is the name in the study file; prices per million tokens."""

    asked: str
    provider: str
    model: str
    url: str
    key: str
    price_in: float = 0.0
    price_out: float = 0.0
    schema_constrained: bool = True

    def cost(self, tokens_in: int | None, tokens_out: int | None) -> Decimal:
        """What the tokens cost, in the study's currency."""
        pence = (tokens_in or 0) * self.price_in + (tokens_out or 0) * self.price_out
        return Decimal(str(round(pence / 1_000_000, 6)))


def known() -> dict[str, Provider]:
    """Every provider by name; `local` and `scripted` always exist, and a deployment may point them elsewhere."""
    env: Environment = settings.ENV
    return {"local": _at(env.LOCAL_LLM_URL), "scripted": _at(env.SCRIPTED_URL), **env.LLM_PROVIDERS}


@lru_cache(maxsize=16)
def _at(url: str) -> Provider:
    return Provider(url=url)


def resolve(model_name: str) -> Resolved:
    """The endpoint, key and bare model of `provider/model`.

    Raises:
        UnknownProvider: with what to do about it.
    """
    name, slash, model = model_name.partition("/")
    provider = known().get(name)
    if not (slash and model and provider):
        raise UnknownProvider(
            f"No provider “{name}” for the model “{model_name}”. Add it to LLM_PROVIDERS, or use one of: {', '.join(known())}."
        )
    return Resolved(
        asked=model_name,
        provider=name,
        model=model,
        url=provider.url.rstrip("/"),
        key=os.environ.get(provider.key_env, "") if provider.key_env else "",
        price_in=provider.price_in,
        price_out=provider.price_out,
        schema_constrained=provider.schema_constrained,
    )
