"""The de-identified text that everybody agreed on: the only text that annotators and a release may take."""

from annotation.deid.models import DeidVersion, FirstPass
from annotation.deid.readers import needed
from annotation.deid.versions import hash_of, originals
from studyplatform.study.models import Session


def texts_of(session: Session) -> dict[int, str] | None:
    """The latest version's text by seq, if every reader of the transcript approved exactly this text; else None.

    None too where fewer people read it than the study asks for, where the stored lines no longer give the approved hash, and where
    the originals are not those that the version was made from.
    """
    version = version_of(session)
    return None if version is None else dict(version.lines.values_list("seq", "text"))


def version_of(session: Session) -> DeidVersion | None:
    """The version that `texts_of` gives, with its hash and number."""
    latest = DeidVersion.objects.filter(review__session=session).order_by("-number").first()
    if latest is None or not _approved_by_all(latest, session):
        return None
    lines = list(latest.lines.values_list("seq", "role", "text"))
    if hash_of(lines) != latest.hash or hash_of(originals(session.pk)) != latest.source_hash:
        return None
    return latest


def _approved_by_all(version: DeidVersion, session: Session) -> bool:
    readers = set(FirstPass.objects.filter(review_id=version.review_id).values_list("reviewer_id", flat=True))
    approved = set(version.approvals.filter(hash=version.hash).values_list("reviewer_id", flat=True))
    return len(readers) >= needed(session.participant.study) and readers <= approved
