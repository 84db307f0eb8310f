"""`manage.py memory state|recall|forgetting`: what an arm remembered at any turn, and why, out of its ledger alone."""

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memory import explaining, history, ledger
from memory.history import Happened, Held
from memory.models import Memory
from studyplatform.study.models import Arm


class Command(BaseCommand):
    help = "Rebuild what an arm remembered at a turn from the ledger, or explain a recall or a forgetting."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        about = {
            "state": "what the arm remembered at a turn; without --session, now",
            "recall": "why a turn's reply recalled what it did",
            "forgetting": "why a session's close kept and forgot what it did",
        }
        for name, words in about.items():
            act = acts.add_parser(name, help=words)
            act.add_argument("--participant", required=True, metavar="CODE")
            act.add_argument("--arm", required=True, metavar="CODE", help="the condition's code, or `shared`")
            act.add_argument("--session", type=int, required=name != "state", help="the arm's session number, from 1")
            if name != "forgetting":
                act.add_argument(
                    "--turn", type=int, required=name == "recall", help="seq of a turn; 1: the opener; none: the session's close"
                )
            act.add_argument("--memory", metavar="CODE", help="only this memory")
            act.add_argument("--json", action="store_true", help="print one JSON document and nothing else")

    def handle(self, *args: Any, act: str, **options: Any) -> None:
        arm = _arm(options["participant"], options["arm"])
        events = ledger.read(arm.pk)
        rows = {memory.pk: memory for memory in Memory.objects.filter(arm=arm).defer("vector")}
        chosen = _chosen(rows, options["memory"])
        if act == "state":
            upto = (options["session"], options["turn"] or 0) if options["session"] else None
            found = _state(events, rows, upto, chosen)
        else:
            seq = options["turn"] if act == "recall" else 0
            kinds = history.RECALLING if act == "recall" else history.JUDGING
            found = _explained(events, rows, (options["session"], seq), kinds, chosen)
        if options["json"]:
            self.stdout.write(json.dumps(found, ensure_ascii=False))
            return
        for line in found["lines"] or ["Nothing."]:
            self.stdout.write(line["said"] if isinstance(line, dict) else line)


def _arm(participant: str, code: str) -> Arm:
    arms = Arm.objects.filter(participant__code=participant)
    arm = arms.filter(condition=None) if code == "shared" else arms.filter(condition__code=code)
    found = arm.first()
    if found is None:
        known = ", ".join(sorted(a.condition.code if a.condition else "shared" for a in arms.select_related("condition")))
        raise CommandError(f"Participant {participant} has no arm {code}." + (f" There are: {known}." if known else ""))
    return found


def _chosen(rows: dict[int, Memory], code: str | None) -> set[int]:
    chosen = {pk for pk, row in rows.items() if code in (None, row.code)}
    if code and not chosen:
        raise CommandError(f"The arm has no memory {code}.")
    return chosen


def _state(events: Sequence[Happened], rows: dict[int, Memory], upto: tuple[int, int] | None, chosen: set[int]) -> dict[str, Any]:
    held = history.state(events, upto)
    shown = sorted((m for m in held.values() if m.id in chosen), key=lambda m: (m.status != "active", m.since))
    return {"active": len(history.active(held)), "made": len(held), "lines": [_held(m, rows[m.id]) for m in shown]}


def _held(memory: Held, row: Memory) -> dict[str, Any]:
    words = row.user_text or row.embed_text
    counts = f"used {memory.r1}, passed over {memory.r2}, last recalled in session {memory.last_recalled}"
    said = f"{row.code}  {memory.status}{', not to be brought up' if memory.muted else ''}  {memory.since[0]}:{memory.since[1]}  {counts}  {words}"
    return {
        "memory": row.code, "kind": row.kind, "status": memory.status, "session": memory.since[0], "seq": memory.since[1], "r1": memory.r1,
        "r2": memory.r2, "last_recalled": memory.last_recalled, "muted": memory.muted, "text": words, "said": said,
    }  # fmt: skip


def _explained(
    events: Sequence[Happened], rows: dict[int, Memory], at: tuple[int, int], kinds: frozenset[str], chosen: set[int]
) -> dict[str, Any]:
    beside = [e for e in events if (e.session, e.seq) == at and e.what in kinds]
    beside.sort(key=lambda e: e.why.get("rank", 0))
    shown = [e for e in beside if e.memory is None or e.memory in chosen]
    return {"events": len(beside), "lines": [_told(e, beside, rows) for e in shown]}


def _told(event: Happened, beside: Sequence[Happened], rows: dict[int, Memory]) -> dict[str, Any]:
    row = rows.get(event.memory or 0)
    said = explaining.sentence(event, beside)
    if row:
        said = f"{row.code}  {said}  “{row.user_text or row.embed_text}”"
    return {"memory": row.code if row else None, "what": event.what, "why": dict(event.why), "said": said}
