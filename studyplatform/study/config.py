"""The study file: every decision of a study's design, typed. Parsing with line numbers is `study.loading`.

Units are in the names: minutes, hours, ms, characters. Unknown keys are refused. A frozen study's conditions and models
never change; the fields that an amendment may change are listed in `AMENDABLE`.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from studyplatform.study.design_agreement import AgreementTable
from studyplatform.study.design_annotation import AnnotationTable
from studyplatform.study.design_deid import DeidTable

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
ModelName = Annotated[str, Field(pattern=r"^[a-z0-9_]+/\S+$", description="provider/model")]
Share = Annotated[float, Field(ge=0, le=1)]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StudyTable(Table):
    slug: Slug
    title: str = Field(min_length=1, max_length=200)
    language: Literal["en", "ja"] = "en"
    participants: int = Field(ge=1, le=100_000, description="planned number; while so many take part, the general link takes nobody more")
    design: Literal["within", "between"] = "within"
    contact: str = Field(min_length=3)
    pay_per_session: float = Field(default=0, ge=0)
    currency: str = "EUR"
    raw_text_for_annotators: bool = False
    completion_code: str | None = Field(default=None, max_length=80, description="shown on the end page, once everything is stored")


class ConsentTable(Table):
    version: str = Field(min_length=1, max_length=20)
    text: str = Field(min_length=50)
    scopes: tuple[Literal["study", "annotators", "release_controlled", "release_open"], ...] = ("study",)
    remembered_for: str = Field(min_length=1, description="how long what is remembered is kept, in words")


class InstructionsTable(Table):
    version: str = Field(min_length=1, max_length=20)
    text: str = Field(min_length=20)
    do_not_tell: tuple[str, ...] = ("addresses", "other people's names")
    try_out: bool = True


class DeviceTable(Table):
    allow: tuple[Literal["phone", "tablet", "desktop"], ...] = (
        "phone",
        "tablet",
        "desktop",
    )


class SessionsTable(Table):
    per_arm: int = Field(ge=1, le=50)
    shared_first: bool = True
    min_minutes: float = Field(default=0, ge=0)
    max_minutes: float | None = Field(default=None, gt=0)
    min_turns: int = Field(default=1, ge=1)
    max_turns: int | None = Field(default=None, ge=1)
    gap_hours: float = Field(default=0, ge=0, description="from the previous close of the same arm")
    window_hours: float | None = Field(
        default=None,
        gt=0,
        description="how long a session stays open; none: until the study closes",
    )
    idle_minutes: float = Field(
        default=10,
        gt=0,
        description="after which the clock pauses and the person is asked",
    )
    questions: int = Field(default=3, ge=0, le=20)
    questions_deadline_h: float = Field(default=24, gt=0)
    order: Literal["balanced", "fixed"] = "balanced"


class ChatTable(Table):
    response_model: ModelName
    max_tokens: int = Field(default=400, ge=1, le=8000)
    temperature: float = Field(default=0.7, ge=0, le=2)
    context_window: int = Field(default=5, ge=1, le=100, description="recent utterances in the prompt")
    first_opener: str | None = Field(default=None, description="session 1's opener; none: written by the model")
    same_session_recall: bool = True
    write_wait_ms: int = Field(
        default=1500,
        ge=0,
        description="how long recall waits for the writes of earlier turns",
    )
    first_token_floor_ms: int = Field(default=0, ge=0, description="from the ack; the same in all arms")
    pace_chars_per_s: float | None = Field(default=None, gt=0, description="steady reveal; none: as it comes")
    max_chars: int = Field(default=8000, ge=100, le=8000)
    memory_chars: int = Field(default=1200, ge=100, description="cap on recalled text in the prompt")
    reply_timeout_s: float = Field(default=120, gt=0)


class MemoryTable(Table):
    encoder: ModelName
    arousal: str = "ridge_emobank"
    perplexity: str = "local"
    importance_model: ModelName | None = Field(default=None, description="none: the response model")
    summary_model: ModelName | None = None
    answer_model: ModelName | None = None
    controller_model: ModelName | None = None
    about_me: Literal["during", "after_debriefing", "off"] = "after_debriefing"
    about_me_reason: str = ""


class AliasTable(Table):
    name: str = Field(min_length=1, max_length=40)
    colour: Literal["pine", "ochre", "plum", "slate"]
    shape: Literal["circle", "square", "triangle", "diamond"]


class SharedSessionTable(Table):
    """The first conversation, where all assistants share it; its alias is nobody else's."""

    policy: Name = "naive_rag"
    alias: AliasTable = AliasTable(name="Kai", colour="slate", shape="circle")


class ConditionTable(Table):
    name: Name
    preset: Name
    overrides: dict[str, Any] = {}


class PromptsTable(Table):
    """Name and version of each prompt, as `name@version` of a file in `studyplatform/llm/prompts/`."""

    reply: str = "reply@1"
    opener: str = "opener@1"
    session_summary: str = "session_summary@1"
    key_summary: str = "key_summary@1"
    importance: str = "importance@2"
    answer: str = "answer@1"


class SeedsTable(Table):
    assignment: int
    aliases: int
    forgetting: int


class StudyConfig(Table):
    """A whole study file."""

    study: StudyTable
    consent: ConsentTable
    instructions: InstructionsTable
    device: DeviceTable = DeviceTable()
    sessions: SessionsTable
    chat: ChatTable
    memory: MemoryTable
    shared_session: SharedSessionTable = SharedSessionTable()
    conditions: tuple[ConditionTable, ...] = Field(min_length=1)
    aliases: tuple[AliasTable, ...] = Field(min_length=1)
    framing: str = Field(
        default="",
        description="told to participants: that all assistants were given the first conversation",
    )
    prompts: PromptsTable = PromptsTable()
    deid: DeidTable = DeidTable()
    seeds: SeedsTable
    annotation: AnnotationTable = AnnotationTable()
    agreement: AgreementTable = AgreementTable()


# Wording, windows, quotas and consent may be amended after the first consent; conditions and models may not.
AMENDABLE = frozenset(
    {
        "study.title", "study.participants", "study.contact", "study.pay_per_session", "study.completion_code", "consent", "instructions", "device", "framing",
        "sessions.gap_hours", "sessions.window_hours", "sessions.idle_minutes", "sessions.questions_deadline_h",
        "annotation.guideline", "annotation.content_notes", "annotation.concerns_to", "annotation.pay_per_transcript", "annotation.deadline",
        "annotation.daily_cap_minutes", "annotation.annotators_per_transcript", "annotation.pools",
    }
)  # fmt: skip
