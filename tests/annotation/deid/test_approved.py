"""Which text others may read: the one that every reader approved, and none that changed since."""

import pytest
from django.db import DatabaseError, transaction

from annotation.deid.approved import texts_of
from annotation.deid.models import Approval, DeidVersion, FirstPass, Review, VersionLine
from annotation.deid.versions import hash_of, originals
from chat.models import Turn
from studyplatform.study import erasing
from studyplatform.study.models import Session
from tests.cast import Cast, session_of, staff


@pytest.fixture
def said(two: Cast) -> Session:
    session = session_of(two.ana)
    Turn.objects.create(session=session, seq=1, role="bot", text="Hello!")
    Turn.objects.create(session=session, seq=2, role="user", text="i am sarah", reply_to=None)
    return session


def version(session: Session, text: str, *readers, number: int = 1) -> DeidVersion:
    review, _ = Review.objects.get_or_create(session=session)
    for seat, reader in enumerate(readers, start=1):
        FirstPass.objects.get_or_create(review=review, reviewer=reader, defaults={"seat": seat})
    lines = [(1, "bot", "Hello!"), (2, "user", text)]
    made = DeidVersion.objects.create(
        review=review, number=number, hash=hash_of(lines), source_hash=hash_of(originals(session.pk)), change="two first passes joined"
    )
    VersionLine.objects.bulk_create(VersionLine(version=made, seq=s, role=r, text=t) for s, r, t in lines)
    return made


def approve(made: DeidVersion, *readers) -> None:
    for reader in readers:
        Approval.objects.create(version=made, reviewer=reader, hash=made.hash)


def test_nobody_reads_a_text_that_max_alone_approved(two: Cast, said: Session) -> None:
    ida = staff("ida@example.org", two.study, "reviewer")
    assert texts_of(said) is None
    made = version(said, "i am robin", two.max, ida)
    approve(made, two.max)
    assert texts_of(said) is None
    approve(made, ida)
    assert texts_of(said) == {1: "Hello!", 2: "i am robin"}


def test_a_later_version_voids_what_was_approved(two: Cast, said: Session) -> None:
    ida = staff("ida@example.org", two.study, "reviewer")
    approve(version(said, "i am robin", two.max, ida), two.max, ida)
    version(said, "i am kim", two.max, ida, number=2)
    assert texts_of(said) is None


def test_one_reader_is_never_enough(two: Cast, said: Session) -> None:
    approve(version(said, "i am robin", two.max), two.max)
    assert texts_of(said) is None


def test_an_original_that_changed_takes_its_approved_text_with_it(two: Cast, said: Session) -> None:
    ida = staff("ida@example.org", two.study, "reviewer")
    approve(version(said, "i am robin", two.max, ida), two.max, ida)
    Turn.objects.filter(session=said, seq=2).update(text="i am sarah miller")
    assert texts_of(said) is None


def test_what_was_approved_cannot_be_changed_behind_the_readers(two: Cast, said: Session) -> None:
    made = version(said, "i am robin", two.max)
    for change in (
        lambda: made.lines.update(text="i am sarah"),
        lambda: DeidVersion.objects.filter(pk=made.pk).update(hash="0" * 64),
        lambda: made.lines.all().delete(),
    ):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()


def test_two_texts_never_share_a_hash_by_running_into_one_another() -> None:
    assert hash_of([(1, "bot", "a"), (2, "bot", "b")]) != hash_of([(1, "bot", "a2bot"), (2, "bot", "")])
    assert hash_of([(2, "bot", "b"), (1, "bot", "a")]) == hash_of([(1, "bot", "a"), (2, "bot", "b")])


def test_nothing_of_ana_is_left_in_her_reviews_when_she_withdraws(two: Cast, said: Session) -> None:
    ida = staff("ida@example.org", two.study, "reviewer")
    approve(version(said, "i am robin", two.max, ida), two.max, ida)
    erasing.withdraw(two.ana, keep_until_now=False)
    assert not Review.objects.filter(session__participant=two.ana).exists()
    assert not VersionLine.objects.exists()
    assert texts_of(said) is None
