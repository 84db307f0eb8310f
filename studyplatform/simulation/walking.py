"""One simulated participant's way through a study, page by page, as a browser goes: nothing is done past the pages.

A person who has to wait asks again, as the home page does by itself; a server that is away is waited for.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from studyplatform.simulation import questioning
from studyplatform.simulation.pages import Browser, Page, PageFault
from studyplatform.simulation.people import Part, Person
from studyplatform.simulation.screen import Screen, Timings
from studyplatform.simulation.talking import Conversation

WAITS_S = (0.2, 0.4, 0.8, 1.5, 2.0)
_SESSION = re.compile(r"^/p/(?P<person>\w+)/s/(?P<session>\w+)/(?P<rest>.*)$")


class Stuck(Exception):
    """The way does not go on: nothing opened for too long, or a page leads nowhere."""


@dataclass
class Journal:
    """What one walk was like. `screens`: by session code."""

    timings: Timings = field(default_factory=Timings)
    screens: dict[str, Screen] = field(default_factory=dict)
    reconnects: int = 0
    errors: list[tuple[str, str]] = field(default_factory=list)  # (where, message)


class Guide(Protocol):
    """What the person at the browser cannot know."""

    async def number_of(self, session_code: str) -> int: ...

    async def prepare(self, session_code: str) -> None:
        """Called before a chat's page is opened for the first time."""


@dataclass
class Walk:
    """From the personal link to the end page. `think`: seconds before each message; `opening_s`: how long to wait for an opening."""

    browser: Browser
    link: str
    person: Person
    guide: Guide
    think: Callable[[], float] = lambda: 0.0
    opening_s: float = 600.0
    journal: Journal = field(default_factory=Journal)

    async def go(self) -> Journal:
        """Walk to the end; what went wrong is in the journal."""
        try:
            page = await self.browser.get(self.link)
            while not urlsplit(page.path).path.endswith("/end/"):
                page = await self._step(page)
        except Exception as error:
            self.journal.errors.append((type(error).__name__, str(error)))
        finally:
            await self.browser.close()
        return self.journal

    async def _step(self, page: Page) -> Page:
        path = urlsplit(page.path).path
        if path.endswith("/consent/"):
            return await self._agree(page)
        if path.endswith("/instructions/"):
            return await self._press(page, "/instructions/")
        in_session = _SESSION.match(path)
        if in_session is None:
            return await self._wait_at_home(page)
        part = self.person.parts[await self.guide.number_of(in_session["session"]) - 1]
        if in_session["rest"].startswith("questions"):
            after = await questioning.write(self.browser, page, part.pairs)
            await self._leave_alone(in_session["person"], in_session["session"], part)
            return after
        return await self._talk(page, in_session["session"], part)

    async def _leave_alone(self, person: str, session_code: str, part: Part) -> None:
        """Ask on the page about what is remembered, where the study has it open, that some lines are not brought up again."""
        if not part.leave_alone:
            return
        page = await self.browser.get(f"/p/{person}/memory/")
        forms = [form for form in page.forms if f"/memory/{session_code}/" in form.action]
        for number in part.leave_alone:
            if number <= len(forms):
                await self.browser.submit(forms[number - 1], {"act": "mute"})

    async def _agree(self, page: Page) -> Page:
        """Yes to everything that is asked."""
        form = page.form("/consent/")
        if form is None:
            raise Stuck(f"{page.path}: there is nothing to agree to")
        scopes = [control.value for control in form.named("scopes")]
        return await self.browser.submit(form, {"answer": "yes", "scopes": scopes})

    async def _press(self, page: Page, ending: str) -> Page:
        form = page.form(ending)
        if form is None:
            raise Stuck(f"{page.path}: there is no button to go on")
        return await self.browser.submit(form, {})

    async def _wait_at_home(self, page: Page) -> Page:
        """Press what there is to press; else look again, until something opens."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self.opening_s
        home = urlsplit(page.path).path
        waits = iter(WAITS_S)
        while True:
            begin = next((form for form in page.forms if form.method == "post" and "/s/" in form.action), None)
            if begin is not None:
                await self.guide.prepare(_session_of(begin.action))
                return await self.browser.submit(begin, {})
            onward = next((link for link in page.links if _SESSION.match(link)), None)
            if onward is not None:
                await self.guide.prepare(_session_of(onward))
                return await self.browser.get(onward)
            if loop.time() > give_up:
                raise Stuck(f"{home}: nothing opened for {self.opening_s:.0f} s")
            await asyncio.sleep(next(waits, WAITS_S[-1]))
            page = await self.browser.get(home)
            if urlsplit(page.path).path != home:
                return page

    async def _talk(self, page: Page, session_code: str, part: Part) -> Page:
        chat = Conversation(self.browser, urlsplit(page.path).path + "ws", part, self.journal.timings, think=self.think)
        self.journal.screens[session_code] = chat.screen
        onward = await chat.hold()
        self.journal.reconnects += chat.reconnects
        self.journal.errors += [(session_code, fault) for fault in chat.screen.faults]
        if not onward:
            onward = urlsplit(page.path).path.partition("/s/")[0] + "/"
        after = await self.browser.get(onward)
        if urlsplit(after.path).path == urlsplit(page.path).path:
            raise PageFault(f"{page.path}: the chat has ended, and its page leads back to it")
        return after


def _session_of(path: str) -> str:
    found = _SESSION.match(path)
    if found is None:
        raise Stuck(f"{path}: not the address of a conversation")
    return found["session"]
