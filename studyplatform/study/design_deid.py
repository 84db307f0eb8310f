"""The study file's table `[deid]`: how texts are de-identified."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class DeidTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    reviewers: int = Field(default=2, ge=2, le=9, description="who read each transcript independently, and must all approve the same text")
    third_person_facts: Literal["generalise", "remove", "keep"] = Field(
        default="generalise", description="what is proposed for the health, crime and sexual facts of people who did not consent"
    )
    own_facts: Literal["generalise", "remove", "keep"] = Field(default="keep", description="the same for the participant's own facts")
