"""The study file's `[annotation]` table: who labels what, by which guideline, for which pay, with which care."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class AnnotationPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScaleTable(AnnotationPart):
    """One rating of a whole transcript: a question, and what each of the five points means, in words."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,59}$", description="occurs once")
    title: str = Field(min_length=1, max_length=60, description="heading of the scale")
    question: str = Field(min_length=5, description="what is rated, as a question")
    anchors: tuple[str, ...] = Field(min_length=5, max_length=5, description="for 1, 2, 3, 4 and 5")


class UtteranceTable(AnnotationPart):
    """One utterance of a practice or gold text. `label` is the expected answer, of the participant's utterances only."""

    role: Literal["user", "bot"] = Field(description="who speaks")
    text: str = Field(min_length=1, description="what is said")
    label: Literal["important", "not"] | None = Field(default=None, description="the expected answer")
    why: str = Field(default="", description="shown after a practice answer")


class MaterialTable(AnnotationPart):
    """A short transcript with known answers."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,59}$", description="occurs once")
    utterances: tuple[UtteranceTable, ...] = Field(min_length=1, description="in order")

    @model_validator(mode="after")
    def _has_answers(self) -> "MaterialTable":
        if not any(u.role == "user" and u.label for u in self.utterances):
            raise ValueError("give at least one utterance of role 'user' its expected label")
        if any(u.role == "bot" and u.label for u in self.utterances):
            raise ValueError("only utterances of role 'user' are labelled: take the label from the bot's utterance")
        return self


class AnnotationTable(AnnotationPart):
    annotators_per_transcript: int = Field(default=3, ge=1, le=20, description="distinct annotators whose work on a transcript counts")
    guideline: tuple[str, ...] = Field(default=(), description="the rules that annotators read, one string a rule")
    target_share: float | None = Field(default=None, gt=0, lt=1, description="about how many utterances are important")
    target_binds: bool = Field(default=False, description="a submission with more marks than the share allows is refused")
    scales: tuple[ScaleTable, ...] = Field(default=(), description="ratings of whole transcripts from 1 to 5")
    reservation_hours: float = Field(default=24, gt=0, description="how long a transcript is held without any activity")
    warn_hours: float = Field(default=2, gt=0, description="before a reservation runs out, the page says so")
    both_arms_of_a_person: bool = Field(default=False, description="one annotator may read two conditions of one participant")
    earlier_sessions: bool = Field(default=True, description="the arm's earlier sessions are readable beside the transcript")
    content_notes: tuple[str, ...] = Field(default=(), description="read before the first transcript")
    daily_cap_minutes: float | None = Field(default=None, gt=0, description="active minutes of one annotator per day; none: no cap")
    concerns_to: str = Field(default="", description="the named person's e-mail; a researcher of the study. Empty: any researcher")
    pay_per_transcript: float = Field(default=0, ge=0, description="for every submitted transcript, surplus ones too")
    currency: str = Field(default="EUR", description="of the pay")
    minutes_per_transcript: float = Field(default=15, gt=0, description="expected, as the invitation states it")
    deadline: str = Field(default="", description="in words, as the invitation states it")
    practice: tuple[MaterialTable, ...] = Field(default=(), description="texts with feedback, before the first transcript")
    pass_mark: float = Field(default=0.8, ge=0, le=1, description="share of practice answers that must be right")
    attempts: int = Field(default=3, ge=1, le=20, description="at the practice texts")
    gold: tuple[MaterialTable, ...] = Field(default=(), description="texts with known answers, hidden among the transcripts")
    gold_every: int = Field(default=5, ge=1, description="a hidden gold text after so many transcripts")
    fast_ms_per_utterance: int = Field(default=700, ge=0, description="below it, work is flagged as fast")
    prelabels: str = Field(default="", max_length=80, description="source of suggested labels; empty: none. They bias, and are recorded")
    pools: tuple[str, ...] = Field(default=("main",), description="names under which annotators are grouped")
    seed: int = Field(default=0, description="of the order in which each annotator gets the transcripts")

    @model_validator(mode="after")
    def _names_once(self) -> "AnnotationTable":
        names = [m.name for m in (*self.practice, *self.gold)]
        if len(set(names)) < len(names):
            raise ValueError("practice and gold texts need names that occur once")
        if len({s.name for s in self.scales}) < len(self.scales):
            raise ValueError("scales need names that occur once")
        return self

    def material(self, name: str) -> MaterialTable | None:
        return next((m for m in (*self.practice, *self.gold) if m.name == name), None)
