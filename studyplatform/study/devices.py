"""Whether this device may be used. Decided from one request and forgotten with it: no device is ever stored."""

import re
from typing import Literal

from django.http import HttpRequest
from django.utils.translation import gettext

from studyplatform.study.config import StudyConfig

Kind = Literal["phone", "tablet", "desktop"]
_TABLET = re.compile(r"ipad|tablet|kindle|silk/|playbook", re.IGNORECASE)
_PHONE = re.compile(r"mobi|iphone|ipod|windows phone|opera mini", re.IGNORECASE)


def kind_of(user_agent: str) -> Kind:
    """An Android device without "Mobile" is a tablet; whatever says nothing is taken for a desktop."""
    if _TABLET.search(user_agent) or ("Android" in user_agent and not _PHONE.search(user_agent)):
        return "tablet"
    return "phone" if _PHONE.search(user_agent) else "desktop"


def refusal(request: HttpRequest, config: StudyConfig) -> str:
    """What to say to somebody whose device the study does not allow; empty where it does."""
    kind = kind_of(request.headers.get("User-Agent", ""))
    if kind in config.device.allow:
        return ""
    names = {"phone": gettext("a phone"), "tablet": gettext("a tablet"), "desktop": gettext("a computer")}
    allowed = gettext(" or ").join(names[k] for k in config.device.allow)
    return gettext(
        "In this study conversations are held on %(allowed)s, so that they are alike for everybody. This looks like %(this)s."
    ) % {
        "allowed": allowed,
        "this": names[kind],
    }
