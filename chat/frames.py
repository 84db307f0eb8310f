"""The wire: every frame of the chat's websocket, both ways.

Unknown fields are refused. Codes are neutral and the same in every arm. Offsets are Unicode code points.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

ClientId = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
RefusedCode = Literal["busy", "empty", "too_long", "closed", "paused", "not_yet", "bad_frame"]
FailedCode = Literal["no_answer"]
Seq = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Frame(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Have(Frame):
    """What the browser already shows of an unfinished reply."""

    reply_to: Seq | None
    attempt: int
    chars: int = Field(ge=0)


class Hello(Frame):
    type: Literal["hello"] = "hello"
    last_seq: Seq = 0
    have: Have | None = None


class Say(Frame):
    type: Literal["say"] = "say"
    client_id: ClientId
    text: str


class Retry(Frame):
    type: Literal["retry"] = "retry"
    reply_to: Seq | None


class Finish(Frame):
    type: Literal["finish"] = "finish"


class Ping(Frame):
    type: Literal["ping"] = "ping"


FromBrowser = Annotated[Hello | Say | Retry | Finish | Ping, Field(discriminator="type")]
from_browser: TypeAdapter[Hello | Say | Retry | Finish | Ping] = TypeAdapter(FromBrowser)


class State(Frame):
    """Where the session stands. `seconds_left`, `turns_left`: until finishing is allowed; null once it is."""

    type: Literal["state"] = "state"
    phase: Literal["chatting", "questions", "closed"] = "chatting"
    seconds: int
    user_turns: int
    seconds_left: int | None
    turns_left: int | None
    may_finish: bool
    paused: bool = False
    paused_reason: Literal["", "outage", "idle"] = ""


class TurnFrame(Frame):
    type: Literal["turn"] = "turn"
    seq: int
    role: Literal["user", "bot"]
    client_id: str | None = None
    reply_to: int | None = None
    text: str
    at: datetime


class Pending(Frame):
    reply_to: int | None
    attempt: int
    text: str
    failed: bool = False


class Welcome(Frame):
    type: Literal["welcome"] = "welcome"
    session: str
    turns: tuple[TurnFrame, ...]
    pending: Pending | None
    state: State


class Ack(Frame):
    type: Literal["ack"] = "ack"
    client_id: str
    seq: int


class Token(Frame):
    """`text` starts at code point `at` of the reply's `attempt`; a higher attempt discards what was shown."""

    type: Literal["token"] = "token"
    reply_to: int | None
    attempt: int
    at: int
    text: str


class Reply(Frame):
    type: Literal["reply"] = "reply"
    seq: int
    reply_to: int | None
    text: str


class Refused(Frame):
    """Not stored: the text stays in the browser's draft. `ref` is the client id, or `finish`."""

    type: Literal["refused"] = "refused"
    ref: str
    code: RefusedCode


class Failed(Frame):
    """Stored; no answer came. The person's text is safe."""

    type: Literal["failed"] = "failed"
    reply_to: int | None
    code: FailedCode
    retryable: bool


class Ended(Frame):
    type: Literal["ended"] = "ended"
    next: str


class Pong(Frame):
    type: Literal["pong"] = "pong"


ToBrowser = Welcome | Ack | TurnFrame | Token | Reply | State | Refused | Failed | Ended | Pong
