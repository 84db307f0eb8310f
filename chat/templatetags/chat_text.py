"""How an assistant's text is set: a paragraph per line."""

from django import template

register = template.Library()


@register.filter
def lines(text: str) -> list[str]:
    """The lines that are not empty."""
    return [line for line in text.splitlines() if line.strip()]


@register.filter
def unlocalize_number(value: float) -> str:
    """A number for a script: with a point, without groups."""
    return f"{value:g}"
