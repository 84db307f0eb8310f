"""The memory inspector: for one study's researchers, arm by arm. In a blinded study it asks for a reason first, and writes it down.

The terms of a score tell which memory system an arm has, so looking is an audited act; it is good for the rest of the visit, per arm.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from chat.models import Turn
from memory import inspecting
from memory.inspecting import FATES, Wanted
from memory.models import Memory, MemoryEvent, Wish
from studyplatform.console import acts, drawing
from studyplatform.console.forms import Reason
from studyplatform.llm.models import LLMCall
from studyplatform.study.access import researching, staff
from studyplatform.study.models import Arm, Session, Study

LOOKED = "looked at an arm's memories"
View = Callable[..., HttpResponse]


@require_GET
@researching
def arms(request: HttpRequest, study: Study) -> HttpResponse:
    """Every arm of the study with how much it holds, and what its people took back or do not want to be brought up."""
    active, muted = Q(memories__status="active"), Q(memories__muted_at__isnull=False) & ~Q(memories__status="deleted")
    rows = (
        Arm.objects.filter(participant__study=study).select_related("participant", "condition").order_by("participant__created_at", "order")
    )
    counted = rows.annotate(
        made=Count("memories"), active=Count("memories", filter=active), deleted=Count("memories", filter=Q(memories__status="deleted")),
        muted=Count("memories", filter=muted),
    )  # fmt: skip
    return render(request, "console/memory_arms.html", {"study": study, "arms": counted, "wishes": _wishes(study), "page": "memories"})


def _wishes(study: Study) -> list[dict[str, Any]]:
    """How often people of each condition asked for what; a shared session's wishes count under no condition."""
    standing = Wish.objects.filter(session__participant__study=study, ended_at=None)
    grouped = standing.values("session__arm__condition__code").order_by("session__arm__condition__code")
    return [dict(row) for row in grouped.annotate(**{what: Count("pk", filter=Q(what=what)) for what in Wish.What.values})]


def looking(view: View) -> View:
    """Hands over the arm; asks for a reason first where the study is blinded and people took part in it."""

    @researching
    @wraps(view)
    def door(request: HttpRequest, study: Study, code: str, arm_code: str, *args: Any, **kwargs: Any) -> HttpResponse:
        arm = _arm(study, code, arm_code)
        if _may_look(request, arm):
            return view(request, study, arm, *args, **kwargs)
        form = Reason(request.POST or None)
        if form.is_valid():
            reason = form.cleaned_data["reason"]
            acts.record(study, staff(request), LOOKED, f"{code}, arm {arm_code}: {reason}")
            request.session[_key(arm)] = reason
            return redirect("console:memory", study.slug, code, arm_code)
        return render(request, "console/memory_reason.html", {**_frame(request, study, arm), "form": form})

    return door


def _arm(study: Study, code: str, arm_code: str) -> Arm:
    which = Q(condition=None) if arm_code == "shared" else Q(condition__code=arm_code)
    found = Arm.objects.select_related("participant__study", "condition").filter(which, participant__study=study, participant__code=code)
    return get_object_or_404(found)


def _key(arm: Arm) -> str:
    return f"looked:{arm.pk}"


def _may_look(request: HttpRequest, arm: Arm) -> bool:
    study = arm.participant.study
    return study.unblinded_at is not None or study.simulated or _key(arm) in request.session


def _frame(request: HttpRequest, study: Study, arm: Arm) -> dict[str, Any]:
    return {
        "study": study,
        "who": arm.participant,
        "arm": arm,
        "arm_code": arm.condition.code if arm.condition else "shared",
        "reason": request.session.get(_key(arm), ""),
        "page": "memories",
    }


@require_http_methods(["GET", "POST"])
@looking
def memory(request: HttpRequest, study: Study, arm: Arm) -> HttpResponse:
    """Each memory a row with its strength over the sessions; beside it, why the chosen one is where it is."""
    if request.method == "POST":  # the reason was given before
        return redirect(request.path)
    wanted = _wanted(request)
    sheet, rows = inspecting.memories(arm, wanted, _number(request.GET.get("sheet")) or 1)
    sessions = _sessions(arm)
    chosen = Memory.objects.filter(arm=arm, code=request.GET.get("memory", "")).defer("vector").first()
    chosen = chosen or (rows[0].memory if rows else None)
    told = inspecting.latest(arm, chosen) if chosen else None
    plots = drawing.plots(rows, sessions)
    context = {
        "counts": inspecting.counts(arm), "wanted": wanted, "sheet": sheet, "rows": list(zip(rows, plots, strict=True)), "sessions": sessions,
        "axis": drawing.axis(sessions), "chosen": chosen, "told": told, "bars": drawing.bars(told.explanation.lines) if told else (),
        "kinds": Memory.Kind.values, "fates": FATES, "query": _query(request, "sheet", "memory"),
    }  # fmt: skip
    return render(request, "console/memory.html", {**_frame(request, study, arm), **context})


@require_GET
@looking
def events(request: HttpRequest, study: Study, arm: Arm) -> HttpResponse:
    """Everything that happened in the arm, newest first."""
    only = Memory.objects.filter(arm=arm, code=request.GET.get("memory", "")).defer("vector").first()
    what = request.GET.get("what", "")
    session = _number(request.GET.get("session"))
    sheet, told = inspecting.events(arm, _number(request.GET.get("sheet")) or 1, memory=only, what=what, session=session)
    context = {
        "sheet": sheet, "told": told, "only": only, "what": what, "session": session, "kinds": MemoryEvent.What.values,
        "sessions": _sessions(arm), "query": _query(request, "sheet"),
    }  # fmt: skip
    return render(request, "console/memory_events.html", {**_frame(request, study, arm), **context})


@require_GET
@looking
def turn(request: HttpRequest, study: Study, arm: Arm, number: int, seq: int) -> HttpResponse:
    """One turn: what was said, what was recalled for the reply and in which order, what the model was sent, and what became of the turn."""
    session = _held(arm).filter(number=number).first()
    if session is None or not seq:
        raise Http404
    recalled, became = inspecting.turn(arm, number, seq)
    said = Turn.objects.filter(session=session, seq__in=[seq, seq - 1], state=Turn.State.DONE).order_by("seq")
    reply = (
        Turn.objects.filter(session=session, role=Turn.Role.BOT, state=Turn.State.DONE)
        .filter(Q(reply_to=seq) | Q(reply_to=None, seq=seq))
        .first()
    )
    context = {
        "session": session,
        "seq": seq,
        "said": [t for t in said if t != reply],
        "reply": reply,
        "recalled": recalled,
        "became": became,
    }
    return render(request, "console/memory_turn.html", {**_frame(request, study, arm), **context, "calls": _calls(session, seq)})


def _calls(session: Session, seq: int) -> QuerySet[LLMCall]:
    """Every request that was made for this turn's reply, as its tag says; an opener answers no turn."""
    tagged = Q(tag__startswith=f"{session.code}.reply.{seq}.")
    if seq == 1:
        tagged |= Q(tag__startswith=f"{session.code}.opener.0.")
    return LLMCall.objects.filter(tagged, session=session).order_by("pk")


def _held(arm: Arm) -> QuerySet[Session]:
    """The sessions that the arm remembers: its own and the shared one."""
    return (
        Session.objects.filter(Q(arm=arm) | Q(participant=arm.participant_id, arm__condition=None))
        .exclude(started_at=None)
        .order_by("number")
    )


def _sessions(arm: Arm) -> list[int]:
    return list(_held(arm).values_list("number", flat=True).distinct())


def _wanted(request: HttpRequest) -> Wanted:
    kind, fate = request.GET.get("kind", ""), request.GET.get("fate", "")
    return Wanted(
        kind=kind if kind in Memory.Kind.values else "",
        session=_number(request.GET.get("session")),
        fate=fate if fate in FATES else "",
        words=request.GET.get("words", "").replace("\0", "").strip()[:100],
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else None


def _query(request: HttpRequest, *without: str) -> str:
    """The filters as they stand, for links to other sheets."""
    kept = request.GET.copy()
    for name in without:
        kept.pop(name, None)
    return kept.urlencode()
