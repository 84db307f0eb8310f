"""The study file's `[agreement]` table: which agreement the labels must reach, and how its intervals are computed."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AgreementTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: float = Field(default=0.4, ge=-1, le=1, description="Fleiss' kappa that the study and every transcript must reach")
    cluster: Literal["transcript", "participant"] = Field(
        default="transcript", description="what the bootstrap of the intervals draws again"
    )
    resamples: int = Field(default=2_000, ge=2_000, le=100_000, description="of the bootstrap")
    seed: int = Field(default=20_250_101, ge=0, description="of the bootstrap")
