"""Labels as annotators leave them, without walking through their pages."""

from collections.abc import Sequence

from annotation.models import Annotator, Assignment, Item, Label, WorkState
from chat.models import Turn
from studyplatform.study.models import Role, Session, Study, User

CHOICES = {1: "important", 0: "not", None: "unsure"}


def annotators(study: Study, n: int = 3) -> list[Annotator]:
    """A1 .. An, made where they are not there yet."""
    found = list(Annotator.objects.filter(study=study).order_by("number"))
    for number in range(len(found) + 1, n + 1):
        user = User.objects.create_user(f"annotator{number}@{study.slug}.example", name=f"Annotator {number}")
        Role.objects.create(user=user, study=study, name=Role.Name.ANNOTATOR)
        found.append(Annotator.objects.create(study=study, user=user, number=number, state=Annotator.State.QUALIFIED))
    return found[:n]


def speak(session: Session, texts: Sequence[str]) -> list[int]:
    """The participant says these, and the bot says “Mm.” before each; the seq of what the participant said."""
    seqs = []
    for text in texts:
        session.last_seq += 2
        Turn.objects.create(session=session, seq=session.last_seq - 1, role=Turn.Role.BOT, text="Mm.", state=Turn.State.DONE)
        Turn.objects.create(session=session, seq=session.last_seq, role=Turn.Role.USER, text=text, state=Turn.State.DONE)
        seqs.append(session.last_seq)
    session.save(update_fields=["last_seq"])
    return seqs


def judge(
    study: Study, session: Session, marks: dict[int, Sequence[int | None]], *, state: str = WorkState.SUBMITTED, round: int = 1
) -> None:
    """`marks`: seq → the value that each annotator gave, A1 first."""
    people = annotators(study, max(len(values) for values in marks.values()))
    item, _ = Item.objects.get_or_create(study=study, session=session, round=round)
    for place, person in enumerate(people, start=1):
        work = Assignment.objects.create(
            study=study, item=item, session=session, annotator=person, place=place, state=state, round=round, text_hash="h" * 64
        )
        for seq, values in marks.items():
            Label.objects.create(
                study=study, assignment=work, session=session, annotator=person.user, state=state, round=round, seq=seq,
                choice=CHOICES[values[place - 1]],
            )  # fmt: skip
