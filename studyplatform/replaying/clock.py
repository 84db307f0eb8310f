"""The clock of a replay: the same on every run, and the same in every arm, so that no arm differs in anything but memory."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)
PACE = timedelta(minutes=1)


@dataclass(frozen=True)
class Clock:
    """Session n begins `hours_between` hours after session n − 1; a minute passes from one utterance of the participant to the next."""

    hours_between: float = 24

    def at(self, session: int, exchange: int = 0) -> datetime:
        """When exchange number `exchange` (from 0) of that session happens."""
        return BEGINNING + timedelta(hours=self.hours_between * (session - 1)) + PACE * exchange
