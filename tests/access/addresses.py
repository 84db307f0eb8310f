"""Every address of the product, found by walking the resolver, and the rule that says who may open it.

A rule is chosen by where the address lies, so a new page of a known kind is covered on the day it is written; an address of no
known kind has no rule, and the test fails until somebody decides.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

from studyplatform.console.entering import entry_url
from studyplatform.study import links
from studyplatform.study.models import StageRun
from tests.cast import Cast, session_of

ROLES = ("anonymous", "participant", "other participant", "stranger", "annotator", "reviewer", "researcher")
STAFF = ("stranger", "annotator", "reviewer", "researcher")


@dataclass(frozen=True)
class Address:
    """One entry of the resolver. `route` is written as in the URL configuration, from the root."""

    route: str
    name: str
    parameters: tuple[str, ...]


def walk(entries: list[URLPattern | URLResolver] | None = None, prefix: str = "") -> Iterator[Address]:
    for entry in get_resolver().url_patterns if entries is None else entries:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from walk(entry.url_patterns, route)
        else:
            names = re.findall(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>", route)
            yield Address(route, entry.name or "", tuple(a or b for a, b in names))


@dataclass(frozen=True)
class Rule:
    """Who may open an address. Everybody else is sent to log in if anonymous, and finds nothing there if logged in.

    `hidden`: anonymous visitors find nothing either (participants' pages: there is nothing to log in to).
    """

    says: str
    lies: Callable[[Address], bool]
    allowed: tuple[str, ...]
    hidden: bool = False


def _starts(*prefixes: str) -> Callable[[Address], bool]:
    return lambda address: address.route.startswith(prefixes)


def _named(*names: str) -> Callable[[Address], bool]:
    return lambda address: address.name in names


# Signing up is for nobody: that page only says so.
COMING_AND_GOING = (
    "account_login", "account_logout", "account_signup", "account_inactive", "account_email_verification_sent", "account_confirm_email",
    "account_reset_password", "account_reset_password_done", "account_reset_password_from_key", "account_reset_password_from_key_done",
)  # fmt: skip

RULES = (
    Rule("a participant's pages are for the one who holds her seat", _starts("p/<"), ("participant",), hidden=True),
    Rule("a study's pages are for its own researchers", _starts("console/studies/<"), ("researcher",)),
    Rule("annotators land on their page", _named("annotating"), ("annotator", "stranger")),
    Rule("reviewers land on theirs", _named("reviewing"), ("reviewer", "stranger")),
    Rule("staff have a list of their own studies", _named("studies"), STAFF),
    Rule("a sign-in link speaks for itself", _named("enter"), ROLES),
    Rule("the front page is for everybody", _named("front"), ROLES),
    Rule("a participant's link speaks for itself", _starts("j/<", "join/<"), ROLES),
    Rule("texts of the interface are for everybody", _named("javascript-catalog", "set_language"), ROLES),
    Rule("coming in, going out and a forgotten password are for everybody", _named(*COMING_AND_GOING), ROLES),
    Rule("the rest of an account is its owner's", _starts("accounts/"), STAFF),
)


def rules_of(address: Address) -> list[Rule]:
    """The first rule that fits; none means that somebody must decide."""
    return [rule for rule in RULES if rule.lies(address)][:1]


def fill(address: Address, cast: Cast) -> str:
    """The address as ana's, in rae's study."""
    session = session_of(cast.ana)
    run, _ = StageRun.objects.get_or_create(session=session, arm=None, stage="score", defaults={"state": "failed"})
    link = links.personal_url(cast.ana).rstrip("/").rsplit("/", 1)[-1]
    entry = entry_url(cast.rae).rstrip("/").rsplit("/", 1)[-1]
    values = {
        "slug": cast.study.slug,
        "study_code": cast.study.code,
        "session_code": session.code,
        "token": entry if address.name == "enter" else link,
        "code": _code(address, cast, session.code, run.code),
        "seq": "2",
        "number": "1",
        "arm_code": "shared",
        "memory_code": "2" * 12,
        "uidb36": "1",
        "key": "set-password",
        "name": "en",
    }
    return "/" + _substitute(address.route, values)


def _code(address: Address, cast: Cast, session: str, run: str) -> str:
    if address.route.startswith("join/"):
        return cast.study.code
    if "/sessions/<" in address.route:
        return session
    return run if "/runs/<" in address.route else cast.ana.code


def _substitute(route: str, values: dict[str, str]) -> str:
    plain = re.sub(r"<(?:\w+:)?(\w+)>", lambda m: values[m.group(1)], re.sub(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)", r"<\1>", route))
    return plain.replace("^", "").replace("$", "").replace("\\Z", "").replace("\\", "")
