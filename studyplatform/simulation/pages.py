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
    """One control of a form. `kind`: the type of an input, or `textarea`, `button`."""

    name: str
    kind: str
    value: str = ""
    checked: bool = False


@dataclass
class Form:
    """`action` is absolute within the site; `method` in lower case; `name`: the form's id, by which controls elsewhere on the page belong to it."""

    action: str
    method: str
    name: str = ""
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
    """Collects links, forms and their controls, those outside of their form too."""

    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self.path = path
        self.links: list[str] = []
        self._forms: list[Form] = []
        self._controls: list[tuple[Form | str, Field]] = []
        self._open: Form | None = None
        self._area: tuple[Form | str, str, list[str]] | None = None

    @property
    def forms(self) -> list[Form]:
        named = {form.name: form for form in self._forms if form.name}
        for owner, control in self._controls:
            form = named.get(owner) if isinstance(owner, str) else owner
            if form is not None:
                form.fields.append(control)
        self._controls.clear()
        return self._forms

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = {name: value or "" for name, value in attrs}
        owner = a.get("form") or self._open
        if tag == "a" and a.get("href"):
            self.links.append(urljoin(self.path, a["href"]))
        elif tag == "form":
            self._open = Form(urljoin(self.path, a.get("action") or self.path), a.get("method", "get").lower(), a.get("id", ""))
            self._forms.append(self._open)
        elif owner is not None and a.get("name") and "disabled" not in a:
            self._control(tag, a, owner)

    def _control(self, tag: str, a: dict[str, str], owner: Form | str) -> None:
        if tag == "textarea":
            self._area = owner, a["name"], []
        elif tag == "input":
            kind = a.get("type", "text").lower()
            value = a.get("value", "on" if kind in ("checkbox", "radio") else "")
            self._controls.append((owner, Field(a["name"], kind, value, "checked" in a)))
        elif tag == "button" and a.get("type", "submit") == "submit":
            self._controls.append((owner, Field(a["name"], "button", a.get("value", ""))))

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area[2].append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None:
            owner, name, parts = self._area
            self._controls.append((owner, Field(name, "textarea", "".join(parts).removeprefix("\n"))))
            self._area = None
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
