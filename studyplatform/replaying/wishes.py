"""What a replay was asked to do. Stored with its study, so that it can go on after an interruption."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from studyplatform.replaying.variants import Variant
from studyplatform.simulation.designs import MODELS, Llm


class Wish(BaseModel):
    """The options of `replay`, parsed.

    `design`: the study whose settings are taken over. `source`: `lufy:DIR`, `locomo:FILE` or `study:SLUG`; `recordings`: at most so many;
    `sessions`, `messages`: at most so many of each. `regenerate`: the response model speaks for the bot. `hours_between`: from a session's
    beginning to the next one's, by the clock of the replay.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    design: str
    source: str
    variants: tuple[Variant, ...]
    system: str | None = None
    recordings: int | None = Field(default=None, ge=1)
    sessions: int | None = Field(default=None, ge=1)
    messages: int | None = Field(default=None, ge=1)
    llm: Llm = "scripted"
    encoder: str | None = None
    regenerate: bool = False
    hours_between: float = Field(default=24, gt=0)
    seed: int = 1

    @property
    def encoder_name(self) -> str:
        return self.encoder or MODELS[self.llm][1]

    @property
    def source_name(self) -> str:
        """The source without the folders that lead to it: they are this machine's."""
        kind, _, place = self.source.partition(":")
        return f"{kind}:{Path(place).name}"
