"""A browser without a screen: gets pages over HTTP, keeps cookies, finds links and forms, and submits them as they stand."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx

BACK_OFF_S = (0.2, 0.5, 1.0, 2.0, 4.0)
PATIENCE_S = 90.0
Values = Mapping[str, str | list[str]]


class PageFault(Exception):
    """A page is not what a participant's browser expects; the message names the page."""


@dataclass(frozen=True)
class Field:
    """One control of a form. `kind`: the type of an input, or `textarea`, `select`, `button`."""

    name: str
    kind: str
    value: str = ""
    checked: bool = False


@dataclass
class Form:
    """`action` is absolute within the site; `method` in lower case."""

    action: str
    method: str
    fields: list[Field] = field(default_factory=list)

    def named(self, name: str) -> list[Field]:
        return [f for f in self.fields if f.name == name]

    def standing(self) -> dict[str, str | list[str]]:
        """What a browser sends when nothing is touched: hidden and text fields, and what is checked; no button."""
        values: dict[str, str | list[str]] = {}
        for control in self.fields:
            if control.kind in ("button", "submit") or (control.kind in ("checkbox", "radio") and not control.checked):
                continue
            before = values.get(control.name)
            if before is None:
                values[control.name] = control.value
            else:
                values[control.name] = [*(before if isinstance(before, list) else [before]), control.value]
        return values


@dataclass(frozen=True)
class Page:
    """A page that was answered with, after redirects. `path` has the query; `links` are absolute within the site."""

    path: str
    status: int
    html: str
    forms: tuple[Form, ...]
    links: tuple[str, ...]

    def form(self, ending: str) -> Form | None:
        """The first form that posts to an address with this ending (without the query)."""
        posting = (f for f in self.forms if f.method == "post")
        return next((f for f in posting if urlsplit(f.action).path.endswith(ending)), None)


def read(html: str, path: str, status: int = 200) -> Page:
    """The forms and links of a page at `path`."""
    reader = _Reader(path)
    reader.feed(html)
    return Page(path, status, html, tuple(reader.forms), tuple(reader.links))


class _Reader(HTMLParser):
    """Collects forms and links. Controls outside a form belong to the form that their `form` attribute names: not used here."""

    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self.path = path
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._open: Form | None = None
        self._text: list[str] | None = None
        self._text_name = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = {name: value or "" for name, value in attrs}
        if tag == "a" and a.get("href"):
            self.links.append(urljoin(self.path, a["href"]))
        elif tag == "form":
            self._open = Form(urljoin(self.path, a.get("action") or self.path), a.get("method", "get").lower())
            self.forms.append(self._open)
        elif self._open is not None and a.get("name") and "disabled" not in a:
            self._control(tag, a)

    def _control(self, tag: str, a: dict[str, str]) -> None:
        if self._open is None:
            return
        if tag == "input":
            kind = a.get("type", "text").lower()
            value = a.get("value", "on" if kind in ("checkbox", "radio") else "")
            self._open.fields.append(Field(a["name"], kind, value, "checked" in a))
        elif tag == "textarea":
            self._text, self._text_name = [], a["name"]
        elif tag == "select":
            self._open.fields.append(Field(a["name"], "select"))
        elif tag == "button" and a.get("type", "submit") == "submit":
            self._open.fields.append(Field(a["name"], "button", a.get("value", "")))

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._text is not None and self._open is not None:
            self._open.fields.append(Field(self._text_name, "textarea", "".join(self._text).removeprefix("\n")))
            self._text = None
        elif tag == "form":
            self._open = None


class Browser:
    """One person's browser at one site. A server that is away is asked again, with back-off, for `patience_s` seconds."""

    def __init__(self, site: str, *, patience_s: float = PATIENCE_S) -> None:
        self.site = site.rstrip("/")
        self.patience_s = patience_s
        headers = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) simulated participant", "Accept-Language": "en"}
        self._http = httpx.AsyncClient(base_url=self.site, follow_redirects=True, timeout=60, headers=headers)

    async def close(self) -> None:
        await self._http.aclose()

    async def get(self, path: str) -> Page:
        """Raises PageFault for anything but 200."""
        return await self._patiently(lambda: self._http.get(path), path)

    async def submit(self, form: Form, values: Values) -> Page:
        """Send a form as it stands, with `values` put in; the page that follows. Raises PageFault for anything but 200."""
        data = {**form.standing(), **values}
        headers = {"Referer": self.site + form.action, "Origin": self.site}
        return await self._patiently(lambda: self._http.post(form.action, data=data, headers=headers), form.action)

    def cookies_for(self, path: str) -> str:
        """The Cookie header that goes with a request to `path`."""
        request = self._http.build_request("GET", path)
        return str(request.headers.get("cookie", ""))

    async def _patiently(self, ask: Callable[[], Awaitable[httpx.Response]], path: str) -> Page:
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self.patience_s
        attempt = 0
        while True:
            try:
                response = await ask()
                if response.status_code not in (502, 503, 504):
                    break
                reason = f"answered {response.status_code}"
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            if loop.time() >= give_up:
                raise PageFault(f"{path}: {reason}, for {self.patience_s:.0f} s")
            await asyncio.sleep(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)])
            attempt += 1
        if response.status_code != 200:
            raise PageFault(f"{path}: answered {response.status_code}")
        where = response.url
        return read(response.text, where.raw_path.decode(), response.status_code)
