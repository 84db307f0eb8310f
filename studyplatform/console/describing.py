"""What a study's design means, in lines that a researcher reads: visits, hours, money, and the work that follows."""

from dataclasses import dataclass

from studyplatform.llm import providers
from studyplatform.study.estimating import Meaning, meaning
from studyplatform.study.models import Study
from studyplatform.study.studies import config_of


@dataclass(frozen=True)
class Described:
    """`lines`: name and value of each fact; `warnings`: what does not fit, in sentences."""

    lines: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]


def meaning_of(study: Study) -> Described:
    """The size of a stored study, with the prices of this deployment's providers."""
    size = meaning(config_of(study), _price)
    return Described(_lines(size), size.warnings)


def _price(model: str) -> tuple[float, float] | None:
    try:
        found = providers.resolve(model)
    except providers.UnknownProvider:
        return None
    return found.price_in, found.price_out


def _lines(size: Meaning) -> tuple[tuple[str, str], ...]:
    each = f"each meets {'all of them' if size.design == 'within' else 'one of them'}"
    return (
        ("Participants", f"{size.participants}, in {size.orders} balanced order{'s' if size.orders > 1 else ''}"),
        ("Conditions", f"{size.conditions}, {each}"),
        ("Each person", f"{size.visits} sessions of about {size.minutes_per_visit:g} minutes, {size.hours:g} hours in all"),
        ("Everybody", f"{size.total_hours:g} hours, {size.messages:,} messages"),
        ("Pay", f"{size.pay:.2f} {size.currency} per person, {size.total_pay:.2f} {size.currency} in all"),
        ("Models", "price not known" if size.model_cost is None else f"about {size.model_cost:.2f} {size.currency}"),
        ("To label", f"{size.transcripts_to_label:,} transcripts, {size.utterances_to_label:,} utterances"),
        ("To grade", f"{size.answers_to_grade:,} answers to {size.question_pairs:,} questions"),
    )
