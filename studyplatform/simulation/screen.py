"""What a chat's browser knows: built up frame by frame, kept over breaks of the connection. No network here.

It also keeps watch: what the server must never do (two replies to one message, a turn that changes, tokens with a gap) is
written down in `faults`.
"""

from dataclasses import dataclass, field
from typing import Any

Frame = dict[str, Any]


@dataclass
class Timings:
    """Milliseconds of every message: until its ack; from the ack to the first token; from the ack to the whole reply."""

    ack: list[float] = field(default_factory=list)
    first_token: list[float] = field(default_factory=list)
    reply: list[float] = field(default_factory=list)


@dataclass
class Message:
    """The person's message that is on its way, or waits for its reply. Times in seconds of one monotonic clock."""

    client_id: str
    text: str
    sent_at: float = 0.0
    sent_again: bool = False
    seq: int | None = None
    acked_at: float = 0.0
    tokens: bool = False  # some of the reply has arrived


@dataclass
class Shown:
    """What is on the screen of an unfinished reply; `whole`: all of it came over the present connection."""

    reply_to: int | None
    attempt: int
    text: str
    whole: bool = False
    asked: bool = False  # tokens were missing, and the server was asked for the text so far


class Screen:
    """One chat as this browser sees it.

    `message`: what has no reply yet; `pending`: a reply is on its way; `stalled`: one has failed and waits to be asked for;
    `next`: the address that follows, once the chat has ended; `acked`: every acknowledged (client id, seq, text).
    """

    def __init__(self, timings: Timings) -> None:
        self.timings = timings
        self.message: Message | None = None
        self.pending = False
        self.stalled = False
        self.welcomed = False
        self.next: str | None = None
        self.state: Frame = {}
        self.last_seq = 0
        self.replies: dict[int | None, tuple[int, str]] = {}
        self.acked: list[tuple[str, int, str]] = []
        self.faults: list[str] = []
        self._shown: Shown | None = None
        self._texts: dict[int, str] = {}

    @property
    def opened(self) -> bool:
        """The bot has spoken first."""
        return None in self.replies

    @property
    def turns_left(self) -> int:
        """Messages that the study still asks for before one may finish."""
        return self.state.get("turns_left") or 0

    def hello(self) -> Frame:
        """The first frame of a connection: what is here already."""
        have = None
        self.welcomed = False
        if self._shown is not None:
            self._shown.whole = False
            have = {"reply_to": self._shown.reply_to, "attempt": self._shown.attempt, "chars": len(self._shown.text)}
        return {"type": "hello", "last_seq": self.last_seq, "have": have}

    def welcome(self, frame: Frame) -> None:
        self.welcomed = True
        self.see_state(frame["state"])
        for turn in frame["turns"]:
            self.turn(turn)
        pending = frame["pending"]
        self.stalled = pending is not None and pending["failed"]
        self.pending = pending is not None and not pending["failed"]
        if pending is not None:
            before = self._shown
            asked = before is not None and before.asked and (before.reply_to, before.attempt) == (pending["reply_to"], pending["attempt"])
            self._shown = Shown(pending["reply_to"], pending["attempt"], pending["text"], asked=asked)

    def see_state(self, state: Frame) -> None:
        self.state = state
        if state["phase"] != "chatting" and self.next is None:
            self.next = ""

    def ack(self, client_id: str, seq: int, now: float) -> None:
        message = self.message
        if message is None or message.client_id != client_id:
            return
        if message.seq is None:
            message.seq, message.acked_at = seq, now
            self.acked.append((client_id, seq, message.text))
            self.pending = True
            if not message.sent_again:
                self.timings.ack.append((now - message.sent_at) * 1000)
        elif message.seq != seq:
            self.faults.append(f"one message was acknowledged as {message.seq} and as {seq}")

    def turn(self, turn: Frame, now: float = 0.0) -> None:
        seq, text = turn["seq"], turn["text"]
        if self._texts.setdefault(seq, text) != text:
            self.faults.append(f"turn {seq} changed its text")
        self.last_seq = max(self.last_seq, seq)
        if turn.get("role", "bot") == "bot":
            self._reply(turn.get("reply_to"), seq, text, now)
        elif turn.get("client_id"):
            self._found_stored(turn["client_id"], seq)

    def _found_stored(self, client_id: str, seq: int) -> None:
        """Our own message, come back as a turn: as good as its ack, which was lost."""
        if self.message is not None and self.message.client_id == client_id and self.message.seq is None:
            self.message.sent_again = True
            self.ack(client_id, seq, 0.0)

    def _reply(self, reply_to: int | None, seq: int, text: str, now: float) -> None:
        before = self.replies.setdefault(reply_to, (seq, text))
        if before != (seq, text):
            self.faults.append(f"two replies to {reply_to}: turns {before[0]} and {seq}")
        shown = self._shown
        if shown is not None and shown.reply_to == reply_to:
            if shown.whole and text and not text.strip().startswith(shown.text.strip()):
                self.faults.append(f"what was shown of the reply to {reply_to} is not how it begins")
            self._shown = None
        self.pending = self.stalled = False
        message = self.message
        if message is not None and message.seq is not None and message.seq == reply_to:
            if now and not message.sent_again:
                took = (now - message.acked_at) * 1000
                self.timings.reply.append(took)
                if not message.tokens:  # so short a reply comes whole
                    self.timings.first_token.append(took)
            self.message = None

    def token(self, frame: Frame, now: float) -> bool:
        """Tokens of a lower attempt than is shown come too late and are dropped; of a higher one, start anew.

        False where some are missing before these (a batch between two web processes was lost): say hello again. Once the server has answered
        that with a text, nothing may be missing behind it.
        """
        reply_to, attempt, at = frame["reply_to"], frame["attempt"], frame["at"]
        shown = self._shown
        if shown is None or shown.reply_to != reply_to or shown.attempt < attempt:
            shown = self._shown = Shown(reply_to, attempt, "", whole=at == 0)
            message = self.message
            if message is not None and message.seq == reply_to and not message.sent_again and not message.tokens:
                message.tokens = True
                self.timings.first_token.append((now - message.acked_at) * 1000)
        elif shown.attempt > attempt:
            return True
        if at > len(shown.text):
            return self._missing(shown, at)
        shown.text = shown.text[:at] + frame["text"]
        return True

    def _missing(self, shown: Shown, at: int) -> bool:
        if shown.asked:
            if self.welcomed and shown.text:
                self.faults.append(f"tokens of the reply to {shown.reply_to} are missing from {len(shown.text)} to {at}")
            return True
        shown.asked = True
        return False

    def fail(self) -> None:
        self._shown, self.pending, self.stalled = None, False, True
        if self.message is not None:
            self.message.sent_again = True
