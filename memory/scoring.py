"""Measuring what was said, once per exchange, whatever arms share it."""

from collections.abc import Callable, Sequence

from memory import arms, registry
from memory.measures import registry as measures
from memory.measures.scorer import Context, Scorer
from memory.models import Measurement
from memory.policy import Exchange
from studyplatform.study.models import Session
from studyplatform.study.studies import config_of

Progress = Callable[[int, int], None]


def score(session: Session, exchanges: Sequence[Exchange], progress: Progress = lambda done, total: None) -> int:
    """Every measure that the study wants, of every exchange that lacks it: how many were made.

    A repeat makes nothing new, and a second worker's value for the same exchange, scorer and version is dropped. What is wanted is
    the same in every arm (`registry.wanted_measures`). The context is the key summary as it was before the session.

    Raises:
        ModelFailed, EndpointFailed: a scorer got no answer; what was scored is kept.
    """
    config = config_of(session.participant.study)
    wanted = registry.wanted_measures(config)
    scorers = [scorer for scorer in measures.of(config) if scorer.measure in wanted]
    known = set(Measurement.objects.filter(session=session).values_list("seq", "name", "scorer", "version"))
    missing = [(e, s) for e in exchanges for s in scorers if (e.seq, *s.key) not in known]
    total, done = len(exchanges) * len(scorers), len(exchanges) * len(scorers) - len(missing)
    key_summary = arms.key_summary(session.arm_id, session.number)
    for exchange, scorer in missing:
        _measure(session, exchange, scorer, key_summary)
        done += 1
        progress(done, total)
    return len(missing)


def _measure(session: Session, exchange: Exchange, scorer: Scorer, key_summary: str) -> None:
    context = Context(key_summary, session.participant.study_id, session.pk, session.code, exchange.seq)
    found = scorer.score(exchange, context)
    name, scorer_id, version = scorer.key
    row = Measurement(
        session=session, seq=exchange.seq, name=name, value=found.value, scorer=scorer_id, version=version, fallback=found.fallback
    )
    Measurement.objects.bulk_create([row], ignore_conflicts=True)
