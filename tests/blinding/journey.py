"""A participant's whole way through a study at a real web process, with everything written down that reaches the browser."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
from django.conf import settings
from django.contrib.staticfiles import finders

from studyplatform.simulation.pages import Browser, Page
from studyplatform.simulation.people import Person
from studyplatform.simulation.talking import Conversation
from studyplatform.simulation.walking import Walk
from studyplatform.study.models import Session


@dataclass(frozen=True)
class Got:
    """One thing that reached the browser. `what`: page, header, cookie, file name, file, frame or frame sent."""

    what: str
    where: str
    text: str


@dataclass
class Luggage:
    """All that one participant got. `chats`: the chat page as it was first opened, `frames`: all frames, by session code."""

    got: list[Got] = field(default_factory=list)
    chats: dict[str, str] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    frames: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def put(self, what: str, where: str, text: str) -> None:
        self.got.append(Got(what, where, text))


class WatchedBrowser(Browser):
    """Writes down every response, redirects included."""

    def __init__(self, site: str, luggage: Luggage) -> None:
        super().__init__(site, patience_s=20)
        self.luggage = luggage
        self.addresses: set[str] = set()
        self._http.event_hooks["response"] = [self._see]

    async def _see(self, response: httpx.Response) -> None:
        await response.aread()
        where = response.url.path
        self.luggage.put("address", where, str(response.url))
        for name, value in response.headers.multi_items():
            self.luggage.put("cookie" if name == "set-cookie" else "header", where, f"{name}: {value}")
        self.luggage.put("page" if "html" in response.headers.get("content-type", "") else "file", where, response.text)
        self.addresses |= {urljoin(where, a) for a in re.findall(r'(?:src|href)="([^"#]+)"', response.text) if "static/" in a}

    def unpack_files(self) -> None:
        """Every style sheet, script and module that the pages name, and what those import, as they are served."""
        todo, seen = set(self.addresses), set[str]()
        while todo:
            address = todo.pop()
            seen.add(address)
            self.luggage.put("file name", address, address)
            path = finders.find(urlsplit(address).path.removeprefix(settings.STATIC_URL))
            assert isinstance(path, str), f"{address} is named by a page and not there"
            text = Path(path).read_text("utf-8")
            self.luggage.put("file", address, text)
            imports = re.findall(r'^import [^"]*"([^"]+)"', text, re.M) if path.endswith(".js") else []
            todo |= {urljoin(address, name) for name in imports} - seen


class WatchedConversation(Conversation):
    """Writes down every frame, both ways."""

    luggage: Luggage
    session_code: str

    async def _receive(self, socket: Any) -> dict[str, Any]:
        frame = await super()._receive(socket)
        self.luggage.put("frame", self.path, repr(frame))
        self.luggage.frames.setdefault(self.session_code, []).append(frame)
        return frame


@dataclass
class WatchedWalk(Walk):
    """Also looks at every page around the way: home, plan, stop and leave, the try-out."""

    luggage: Luggage = field(default_factory=Luggage)

    async def _talk(self, page: Page, session_code: str, part: Any) -> Page:
        self.luggage.chats[session_code] = page.html
        await self._look_around(page)
        chat = WatchedConversation(self.browser, urlsplit(page.path).path + "ws", part, self.journal.timings)
        chat.luggage, chat.session_code = self.luggage, session_code
        self.journal.screens[session_code] = chat.screen
        onward = await chat.hold()
        self.journal.errors += [(session_code, fault) for fault in chat.screen.faults]
        after = await self.browser.get(onward)
        self.luggage.questions[session_code] = after.html
        return after

    async def _look_around(self, page: Page) -> None:
        home = urlsplit(page.path).path.partition("/s/")[0]
        for path in ("/", "/plan/", "/stop/", "/leave/", "/try/", "/instructions/", "/consent/", "/memory/"):
            await self.browser.get(home + path)


class Prompter:
    """What the walker cannot know: which of the arm's sessions this is."""

    async def number_of(self, session_code: str) -> int:
        session = await Session.objects.aget(code=session_code)
        return session.number

    async def prepare(self, session_code: str) -> None:
        return


async def walk(site: str, link: str, person: Person) -> tuple[WatchedWalk, Luggage]:
    """From the link to the end page."""
    luggage = Luggage()
    browser = WatchedBrowser(site, luggage)
    way = WatchedWalk(browser, link, person, Prompter(), opening_s=60, luggage=luggage)
    await way.go()
    browser.unpack_files()
    return way, luggage
