"""Showing a reply while it is written: a frame per 40 ms at most, not before the floor, not faster than the pace."""

import asyncio
import time
from collections.abc import Callable

from chat import pacing

EVERY_S = 0.04


class Reveal:
    """The text so far, and how much of it is shown. `show(at, text)` gets each new part with its offset in code points."""

    def __init__(self, show: Callable[[int, str], None], *, floor_ms: float, pace: float | None) -> None:
        self.text = ""
        self.shown = 0
        self.first_ms: float | None = None
        self._show = show
        self._floor_ms = floor_ms
        self._pace = pace
        self._began = time.perf_counter()
        self._timer: asyncio.Handle | None = None

    def now_ms(self) -> float:
        """Milliseconds since the ack."""
        return (time.perf_counter() - self._began) * 1000

    def add(self, piece: str) -> None:
        if self.first_ms is None:
            self.first_ms = self.now_ms()
        self.text += piece
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_soon(self._flush)

    def _begins_ms(self) -> float:
        return pacing.begins_at(self.first_ms or 0, self._floor_ms)

    def _flush(self) -> None:
        self._timer = None
        now, begins = self.now_ms(), self._begins_ms()
        until = pacing.revealed(now, begins_ms=begins, pace=self._pace, length=len(self.text))
        if until > self.shown:
            self._show(self.shown, self.text[self.shown : until])
            self.shown = until
        elif self.shown == len(self.text):
            return
        self._timer = asyncio.get_running_loop().call_later(max(EVERY_S, (begins - now) / 1000), self._flush)

    async def finish(self) -> None:
        """Wait until floor and pace allow the whole text, and show what is left of it."""
        whole = pacing.whole_at(begins_ms=self._begins_ms(), pace=self._pace, length=len(self.text))
        while (left_ms := whole - self.now_ms()) > 0:  # noqa: ASYNC110  # a timer may wake a moment early
            await asyncio.sleep(left_ms / 1000)
        self.stop()
        if self.shown < len(self.text):
            self._show(self.shown, self.text[self.shown :])
            self.shown = len(self.text)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
