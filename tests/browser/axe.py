"""Accessibility by axe-core: a page in all its looks."""

from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (390, 1280)


def violations(page: Page) -> list[str]:
    """Each violation with the elements that it is about."""
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['help']}: {[n['html'][:120] for n in v['nodes'][:3]]}" for v in found]


def violations_in_every_look(page: Page) -> dict[str, list[str]]:
    """Light and dark, narrow and wide; only what is wrong."""
    before = page.viewport_size
    found = {}
    for scheme in SCHEMES:
        for width in WIDTHS:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size({"width": width, "height": 844})
            wrong = violations(page) + _too_wide(page)
            if wrong:
                found[f"{page.title()} {scheme} {width}"] = wrong
    page.emulate_media(color_scheme="light")
    if before:
        page.set_viewport_size(before)
    return found


def _too_wide(page: Page) -> list[str]:
    """A page never scrolls sideways; wide tables scroll inside a region of their own."""
    wide = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [f"the page is {wide} px too wide"] if wide > 1 else []
