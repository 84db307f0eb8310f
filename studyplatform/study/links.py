"""Signed links: a participant's own, and the one that a whole study shares."""

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db.models import F
from django.urls import reverse

from studyplatform.study.models import Participant, Study

_signer = Signer(salt="study.link", sep=":")


def personal_url(participant: Participant) -> str:
    """Absolute address that opens the study as this participant, on any device, until the key version rises."""
    return _absolute(reverse("open_link", args=[token_of(participant)]))


def general_url(study: Study) -> str:
    """Absolute address for everybody; a recruiting service puts its own id of the person behind `?id=`."""
    return _absolute(reverse("join", args=[study.code])) + "?id="


def renew(participant: Participant) -> str:
    """A new personal link; every earlier link and every browser that came by one no longer opens anything."""
    Participant.objects.filter(pk=participant.pk).update(key_version=F("key_version") + 1)
    participant.refresh_from_db(fields=["key_version"])
    return personal_url(participant)


def token_of(participant: Participant) -> str:
    return _signer.sign(f"{participant.code}.{participant.key_version}")


def participant_of(token: str) -> Participant | None:
    """The participant of a token, or None if it was not signed here, or was revoked."""
    try:
        code, version = _signer.unsign(token).rsplit(".", 1)
    except (BadSignature, ValueError):
        return None
    return Participant.objects.select_related("study").filter(code=code, key_version=int(version)).first()


def _absolute(path: str) -> str:
    return settings.PUBLIC_URL + path
