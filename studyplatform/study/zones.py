"""Time zones to choose from: those that are named by a place."""

from zoneinfo import available_timezones

_AREAS = ("Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")

NAMES: tuple[str, ...] = ("UTC", *sorted(name for name in available_timezones() if name.startswith(_AREAS)))
