"""Take every picture of the documentation from the running product.

    .venv/bin/python docs/screenshots.py --site http://127.0.0.1:8000

Needs a running site (`make demo` or `manage.py stack up`) and its database (the same environment), Playwright and a Chromium. It loads
`studies/demo.toml` as a study of its own, walks a participant through a conversation, and writes docs/images/*.png.
"""

import argparse
import os
import secrets
import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyplatform.settings")
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright keeps an event loop in this thread

import django

django.setup()

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from studyplatform.console.entering import entry_url
from studyplatform.study import joining, links, loading
from studyplatform.study.models import Participant, Role, Study, User
from studyplatform.study.moving import move

IMAGES = ROOT / "docs" / "images"
LOOKS: dict[str, tuple[ViewportSize, Literal["light", "dark"]]] = {
    "phone-light": ({"width": 390, "height": 844}, "light"),
    "phone-dark": ({"width": 390, "height": 844}, "dark"),
    "desktop-light": ({"width": 1280, "height": 800}, "light"),
    "desktop-dark": ({"width": 1280, "height": 800}, "dark"),
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
SAID = ("I baked rye bread this morning, with my grandmother's recipe.", "She taught me when I was nine. It still smells of her kitchen.", "And tomorrow I begin at the new school.")  # fmt: skip
PATIENCE_MS = 180_000  # the demonstration's model is slow on a busy machine


class Album:
    """Pictures of pages, in some looks or in all."""

    def __init__(self, site: str) -> None:
        self.site = site

    def take(self, page: Page, name: str, looks: tuple[str, ...] = ("phone-light", "desktop-light")) -> None:
        for look in looks:
            size, scheme = LOOKS[look]
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.screenshot(path=IMAGES / f"{name}-{look}.png")
        page.set_viewport_size(LOOKS["desktop-light"][0])

    def local(self, address: str) -> str:
        """A link of the product, at this site."""
        return self.site + urlsplit(address).path


def a_study() -> tuple[Study, Participant, User]:
    """The demonstration's design as a running study, with a participant and a researcher."""
    text = (ROOT / "studies" / "demo.toml").read_text("utf-8")
    slug = f"pictures-{secrets.token_hex(3)}"
    text = text.replace(f'slug = "{tomllib.loads(text)["study"]["slug"]}"', f'slug = "{slug}"')
    study = loading.store(loading.parse(text))
    study = move(study, Study.State.RUNNING)
    user = User.objects.create_user(f"{slug}@example.org", secrets.token_urlsafe(12))
    for role in Role.Name.values:
        Role.objects.create(user=user, study=study, name=role)
    for _ in range(3):
        joining.new_participant(study)
    return study, joining.new_participant(study), user


def participant_pages(album: Album, page: Page, participant: Participant) -> None:
    """From the link to the questions."""
    page.goto(album.local(links.personal_url(participant)))
    album.take(page, "consent")
    page.get_by_role("button", name="I agree and take part").click()
    album.take(page, "instructions")
    page.get_by_role("link", name="Try it out").click()
    album.take(page, "try-out")
    page.go_back()
    page.get_by_role("button", name="I have read this").click()
    album.take(page, "home", tuple(LOOKS))
    page.get_by_role("button", name="Begin").click()
    talk(album, page)
    album.take(page, "questions", tuple(LOOKS))
    page.goto(f"{album.site}/p/{participant.code}/memory/")
    album.take(page, "about-me", tuple(LOOKS))
    page.goto(f"{album.site}/p/{participant.code}/stop/")
    album.take(page, "stop")


def talk(album: Album, page: Page) -> None:
    log, box = page.get_by_role("log"), page.get_by_role("textbox")
    expect(log.locator("[data-seq='1']")).to_be_visible(timeout=PATIENCE_MS)
    for i, line in enumerate(SAID):
        box.fill(line)
        box.press("Enter")
        expect(log.locator(f"[data-seq='{2 * i + 3}']")).to_be_visible(timeout=PATIENCE_MS)
    album.take(page, "chat", tuple(LOOKS))
    page.get_by_role("button", name="Finish this conversation").click()
    page.get_by_role("button", name="Yes, finish").click()
    page.wait_for_url("**/questions/**", timeout=PATIENCE_MS)


def staff_pages(album: Album, page: Page, study: Study, user: User) -> None:
    page.goto(album.local(entry_url(user)))
    base = f"{album.site}/console/studies/{study.slug}"
    pages = (("monitor", "/"), ("people", "/people/"), ("memories", "/memories/"), ("design", "/design/"), ("conditions", "/conditions/"))
    for name, path in pages:
        page.goto(base + path)
        album.take(page, name)


@contextmanager
def a_browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise SystemExit("No Chromium here. Install one (apt-get install chromium), or name it in CHROMIUM.")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path, args=FLAGS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", default="http://127.0.0.1:8000")
    album = Album(parser.parse_args().site.rstrip("/"))
    IMAGES.mkdir(exist_ok=True)
    study, participant, user = a_study()
    with a_browser() as browser:
        participant_pages(album, browser.new_page(), participant)
        staff_pages(album, browser.new_page(), study, user)
    print(f"{len(list(IMAGES.glob('*.png')))} pictures in {IMAGES}")


if __name__ == "__main__":
    main()
