"""A session's exchanges: each of the participant's turns with the bot's utterance before it, whose text may be empty (an outage)."""

from collections.abc import Iterable

from chat.models import Turn
from memory.policy import Exchange
from studyplatform.study.models import Session


def of_session(session_id: int) -> list[Exchange]:
    """Every exchange of a session, in order of seq. A last bot utterance without a reply is no exchange."""
    return _pair(_number(session_id), Turn.objects.filter(session=session_id, state=Turn.State.DONE).order_by("seq"))


def one(session_id: int, seq: int) -> Exchange | None:
    """The exchange whose participant's turn is `seq`; None if there is no such turn (any more)."""
    near = Turn.objects.filter(session=session_id, state=Turn.State.DONE, seq__in=[seq - 1, seq]).order_by("seq")
    found = _pair(_number(session_id), near)
    return found[-1] if found and found[-1].seq == seq else None


def _number(session_id: int) -> int:
    return Session.objects.values_list("number", flat=True).get(pk=session_id)


def _pair(number: int, turns: Iterable[Turn]) -> list[Exchange]:
    exchanges: list[Exchange] = []
    bot = ""
    for turn in turns:
        if turn.role == Turn.Role.BOT:
            bot = turn.text
        else:
            exchanges.append(Exchange(number, turn.seq or 0, bot, turn.text, turn.created_at))
            bot = ""
    return exchanges
