"""What of a transcript may be shown to annotators, and the hash by which a judgement says what it judged."""

import hashlib
import json
from dataclasses import dataclass

from annotation.deid import approved
from chat.models import Turn
from studyplatform.study.models import Session
from studyplatform.study.studies import config_of


class NotShown(Exception):
    """This transcript's text may not be shown; the message says why."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """The utterances as (seq, role, text) and the SHA-256 over them. `source`: "approved", "published" or "raw"."""

    utterances: tuple[tuple[int, str, str], ...]
    sha256: str
    source: str

    @property
    def labelled(self) -> tuple[int, ...]:
        """seq of the utterances that are labelled: the participant's."""
        return tuple(seq for seq, role, text in self.utterances if role == Turn.Role.USER and text)


def shown(session: Session) -> ShownText:
    """The latest approved text; else the text as a dataset's publishers released it; else raw text, where that is allowed.

    Raises NotShown where nothing is approved and raw text is not allowed by the study file and the person's own consent.
    """
    done = Turn.objects.filter(session=session, state=Turn.State.DONE).order_by("seq").values_list("seq", "role", "text")
    turns = [(seq, role, text) for seq, role, text in done if seq is not None]
    texts = approved.texts_of(session)
    if texts is not None:
        return _hashed([(seq, role, texts[seq]) for seq, role, _ in turns if seq in texts], "approved")
    if imported(session):
        return _hashed(turns, "published")
    if not may_see_raw(session):
        raise NotShown("No de-identified text of this conversation is approved yet, and raw text may not be shown.")
    return _hashed(turns, "raw")


def may_see_raw(session: Session) -> bool:
    """Whether the study file allows raw text and the consent that this person gave last names annotators."""
    person = session.participant
    if not config_of(person.study).study.raw_text_for_annotators:
        return False
    consent = person.consents.order_by("-given_at").first()
    return consent is not None and "annotators" in consent.scopes


def imported(session: Session) -> bool:
    """Whether the session came from a released dataset, which its publishers de-identified.

    Asked by the name of the row, since the release app is above this one.
    """
    return getattr(session.participant.study, "importeddataset", None) is not None


def _hashed(turns: list[tuple[int, str, str]], source: str) -> ShownText:
    digest = hashlib.sha256(json.dumps(turns, ensure_ascii=False).encode()).hexdigest()
    return ShownText(tuple((seq, role, text) for seq, role, text in turns), digest, source)
