"""How people come into a study: invited with a personal link, or by a general link with somebody else's id of them."""

from zoneinfo import available_timezones

from django.conf import settings
from django.db import IntegrityError, transaction

from studyplatform.study.models import Participant, Study
from studyplatform.study.studies import Refused, config_of


def new_participant(
    study: Study,
    *,
    simulated: bool = False,
    pilot: bool = False,
    external_id: str | None = None,
    time_zone: str = "UTC",
    language: str | None = None,
) -> Participant:
    """One more invited participant.

    Raises:
        Refused: simulated participants are for simulated studies only, and these take no others.
    """
    if simulated != study.simulated:
        raise Refused("Simulated participants belong in simulated studies, and nobody else does.")
    return Participant.objects.create(
        study=study,
        simulated=simulated,
        pilot=pilot,
        external_id=external_id or None,
        time_zone=zone_or_utc(time_zone),
        language=_language(study, language),
    )


def open_by_external_id(study: Study, external_id: str, *, time_zone: str = "UTC", language: str | None = None) -> Participant:
    """The participant with this external id; created at the first opening, the same one ever after, however many at once."""
    known = Participant.objects.filter(study=study, external_id=external_id).first()
    if known is not None:
        return known
    try:
        with transaction.atomic():
            return new_participant(
                study,
                simulated=study.simulated,
                pilot=study.state == Study.State.PILOT,
                external_id=external_id,
                time_zone=time_zone,
                language=language,
            )
    except IntegrityError:  # somebody else was first
        return Participant.objects.get(study=study, external_id=external_id)


def is_full(study: Study) -> bool:
    """Whether as many people as were planned have agreed and stayed. A pilot is never full, and who is invited by name comes in all the same."""
    placed = Participant.objects.filter(study=study, pilot=False, number__isnull=False, left_at=None)
    return study.state == Study.State.RUNNING and placed.count() >= config_of(study).study.participants


def zone_or_utc(name: str) -> str:
    """An IANA time zone that exists here, else UTC."""
    return name if name in available_timezones() else "UTC"


def _language(study: Study, wanted: str | None) -> str:
    short = (wanted or "").lower().split("-")[0]
    return short if short in dict(settings.LANGUAGES) else config_of(study).study.language
