"""What is measured, in which order, and what is said about it."""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import psutil
import uvloop
from django.core.management import call_command
from django.db import connection

from bench import floor, scene
from bench.crowd import Sample, Seat, closed_loop, open_loop
from studyplatform.simulation.crew import Crew, answers, free_port
from studyplatform.simulation.tallying import percentiles

CLOSED = (1, 10, 50, 100)
OPEN = (100, 300)
EVERY_S = 10.0
TOKENS = 20
GOALS = {"share_of_floor": 0.2, "ack_p95_ms": {100: 15, 300: 20}, "first_token_p95_ms": 30, "web_mb": 150}


def measure(parts: set[str], *, preset: str, short: bool) -> dict[str, Any]:
    """Every part that was asked for, one after the other."""
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(floor.TABLE)
    seconds, calm = (3.0, 12.0) if short else (15.0, 60.0)
    with Crew({"DB_POOL_SIZE": "6", "DEBUG": "0"}) as crew:
        url = crew.scripted()
        from django.conf import settings

        settings.ENV.SCRIPTED_URL = url
        httpx.put(url.removesuffix("/v1") + "/script/settings", json={"tokens": TOKENS}).raise_for_status()
        return _parts(crew, parts, preset, seconds, calm)


def _parts(crew: Crew, parts: set[str], preset: str, seconds: float, calm: float) -> dict[str, Any]:
    found: dict[str, Any] = {"seconds_closed": seconds, "seconds_open": calm}
    if "floor" in parts:
        place = _floor(crew)
        found["floor"] = {str(n): _closed([Seat(f"{place}/ws")] * n, seconds) for n in CLOSED}
        crew.kill("floor")
    site = crew.web()
    if "closed" in parts:
        found["closed"] = {str(n): _closed(_seats(site, n, preset), seconds) for n in CLOSED}
    if "open" in parts:
        found["open"] = {}
        for n in OPEN:
            found["open"][str(n)] = _open(_seats(site, n, preset), calm) | {"web_mb": _memory(crew)}
    if "encoder" in parts:
        found["local_encoder"] = _with_local_encoder(site, preset, seconds)
    if "workers" in parts:
        scene.drop_open_writes()
        crew.workers(concurrency=2)
        crew.beat()
        found["closed_with_workers"] = {str(n): _closed(_seats(site, n, preset, write_wait_ms=1500), seconds) for n in (10, 50)}
    return found


def _floor(crew: Crew) -> str:
    """Start the floor; its address."""
    port = free_port()
    command = (sys.executable, "-m", "uvicorn", "bench.floor:application", "--port", str(port), "--no-access-log", "--lifespan", "off")
    crew.start("floor", command, lambda: answers(f"http://127.0.0.1:{port}/"))
    return f"ws://127.0.0.1:{port}"


def _seats(site: str, count: int, preset: str, *, encoder: str = "scripted/hash", write_wait_ms: int = 0) -> list[Seat]:
    return scene.seat(scene.new_study(encoder, preset, write_wait_ms=write_wait_ms), count, site)


def _run(load: Any) -> Sample:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sample: Sample = runner.run(load)
    return sample


def _closed(seats: list[Seat], seconds: float) -> dict[str, Any]:
    return _figures(_run(closed_loop(seats, warm_s=min(2.0, seconds / 2), seconds=seconds)))


def _open(seats: list[Seat], seconds: float) -> dict[str, Any]:
    return _figures(_run(open_loop(seats, every_s=EVERY_S, seconds=seconds, seed=1)))


def _with_local_encoder(site: str, preset: str, seconds: float) -> dict[str, Any]:
    from django.conf import settings

    if not answers(settings.ENV.LOCAL_EMBEDDINGS_URL.removesuffix("/v1") + "/health"):
        return {"missing": "the local encoder does not run: manage.py stack up --only llm"}
    return {str(n): _closed(_seats(site, n, preset, encoder="local/minilm"), seconds) for n in (1, 10)}


def _memory(crew: Crew) -> float:
    """Megabytes that the web process holds resident."""
    return round(psutil.Process(crew.pid("web")).memory_info().rss / 2**20, 1)


def _figures(sample: Sample) -> dict[str, Any]:
    return {
        "messages_per_s": round(sample.finished / sample.seconds, 1),
        "sent": sample.sent,
        "unfinished": sample.sent - sample.finished,
        "errors": len(sample.errors),
        "first_errors": sample.errors[:3],
        "ack_ms": percentiles(sample.ack),
        "first_token_ms": percentiles(sample.first_token),
        "reply_ms": percentiles(sample.reply),
    }


def in_words(result: dict[str, Any]) -> Iterator[str]:
    """The result for a terminal: figures, ratios, and what is the limit."""
    yield f"{result['machine']['cores']} cores, load before: {result['machine']['load_before']}; commit {result['commit']}"
    if result["short"]:
        yield "A short run: for a look, not to be quoted."
    yield from _table("floor (bare ASGI, two INSERTs, 20 tokens), closed loop", result.get("floor", {}))
    yield from _table("chat, closed loop", result.get("closed", {}), result.get("floor", {}))
    yield from _table("chat, one message per 10 s each", result.get("open", {}))
    yield from _table(
        "chat with its memory's workers on the same cores, closed loop", result.get("closed_with_workers", {}), result.get("floor", {})
    )
    encoder = result.get("local_encoder", {})
    if "missing" in encoder:
        yield f"local encoder: not measured: {encoder['missing']}"
    else:
        yield from _table(
            "chat with the local encoder, which is the limit here (one query embedding per message)", encoder, result.get("floor", {})
        )
    yield from _verdicts(result)


def _table(title: str, rows: dict[str, Any], floor_rows: dict[str, Any] | None = None) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield title
    for people, row in rows.items():
        base = (floor_rows or {}).get(people, {}).get("messages_per_s")
        share = f", {row['messages_per_s'] / base:.0%} of the floor" if base else ""
        memory = f", web {row['web_mb']} MB" if "web_mb" in row else ""
        yield f"  {people:>3} people: {row['messages_per_s']:7.1f} messages/s{share}{memory}; errors {row['errors']}, unfinished {row['unfinished']}"
        for name in ("ack_ms", "first_token_ms", "reply_ms"):
            figures = row[name]
            yield f"       {name.removesuffix('_ms').replace('_', ' '):<12} p50 {figures['p50']} ms, p95 {figures['p95']} ms, p99 {figures['p99']} ms"


def _verdicts(result: dict[str, Any]) -> Iterator[str]:
    """Each goal with what was reached."""
    yield ""
    floor_rows, closed = result.get("floor", {}), result.get("closed", {})
    for people in sorted(set(floor_rows) & set(closed), key=int):
        share = closed[people]["messages_per_s"] / floor_rows[people]["messages_per_s"]
        yield _verdict(
            f"share of the floor with {people}", f"{share:.0%}", f"at least {GOALS['share_of_floor']:.0%}", share >= GOALS["share_of_floor"]
        )
    for people, row in result.get("open", {}).items():
        ack, token = row["ack_ms"]["p95"], row["first_token_ms"]["p95"]
        most = GOALS["ack_p95_ms"][int(people)]
        yield _verdict(f"ack p95 with {people}", f"{ack} ms", f"at most {most} ms", ack is not None and ack <= most)
        yield _verdict(
            f"first token p95 with {people}", f"{token} ms", f"at most {GOALS['first_token_p95_ms']} ms", token is not None and token <= 30
        )
        clean = not row["errors"] and not row["unfinished"]
        yield _verdict(f"errors and unfinished with {people}", f"{row['errors']}, {row['unfinished']}", "none", clean)
    if "300" in result.get("open", {}):
        megabytes = result["open"]["300"]["web_mb"]
        yield _verdict("memory of web with 300", f"{megabytes} MB", f"at most {GOALS['web_mb']} MB", megabytes <= GOALS["web_mb"])


def _verdict(what: str, found: str, goal: str, ok: bool) -> str:
    return f"{'reached' if ok else 'missed '}  {what}: {found} ({goal})"
