"""`python -m bench.scale`: recall and forgetting with as many memories as a large deployment holds.

recall      one arm of 200 memories out of 10,000 arms (2,000,000 vectors of 384 numbers), by the product's own search; beside it a numpy scan of
            the same arm's matrix in memory, which is what exact search costs without a database
hnsw        1,000 arms (200,000 vectors): the same search, beside an HNSW index with a filter on the arm, with the share of the exact answer found
forgetting  5,000 arms (1,000,000 memories): the product's own forgetting, and a loop with two statements per memory on a few arms, scaled up

The data lie in a database of their own, which is dropped at the end. Vectors are drawn around 2,000 topics, so that neighbourhoods exist.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from bench import setting

DIMENSION = 384
PER_ARM = 200
SESSIONS = 4  # in which the memories were made
TOPICS = 2000
PRESETS = ("naive_rag", "lufy")

STUDY = """
[study]
slug = "scale"
title = "Scale"
participants = 10
contact = "bench@example.org"
[consent]
version = "1"
text = "Nobody talks here: the memories are made of numbers."
remembered_for = "until the measurement is over"
[instructions]
version = "1"
text = "Nothing is said here by anybody."
[sessions]
per_arm = 4
shared_first = false
min_turns = 1
questions = 0
[chat]
response_model = "scripted/script"
first_opener = "Hello!"
[memory]
encoder = "scripted/hash"
[[conditions]]
name = "first"
preset = "naive_rag"
[[conditions]]
name = "second"
preset = "lufy"
[[aliases]]
name = "Aki"
colour = "pine"
shape = "circle"
[[aliases]]
name = "Ren"
colour = "plum"
shape = "square"
[seeds]
assignment = 1
aliases = 2
forgetting = 3
"""


def vectors(count: int, rng: np.random.Generator, topics: np.ndarray) -> np.ndarray:
    """Unit vectors, shape (count, 384), float32: a topic and as much again of noise."""
    drawn = topics[rng.integers(len(topics), size=count)] + rng.standard_normal((count, DIMENSION)).astype(np.float32) / DIMENSION**0.5
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def people(count: int) -> dict[str, list[int]]:
    """So many participants with one arm under each condition and their last session: arm ids by preset."""
    from django.utils import timezone

    from studyplatform.study import loading
    from studyplatform.study.models import Arm, Participant, Session

    study = loading.store(loading.parse(STUDY), simulated=True)
    made = Participant.objects.bulk_create(
        (Participant(study=study, number=n, simulated=True, state="active") for n in range(count)), batch_size=2000
    )
    found = {}
    for order, condition in enumerate(study.conditions.order_by("pk")):
        given = {"condition": condition, "order": order, "alias_name": "Aki", "alias_colour": "pine", "alias_shape": "circle"}
        arms = Arm.objects.bulk_create((Arm(participant=person, **given) for person in made), batch_size=2000)
        now = timezone.now()
        sessions = (
            Session(
                participant=arm.participant,
                arm=arm,
                number=SESSIONS,
                position=order,
                state="closed",
                started_at=now,
                chat_ended_at=now,
                closed_at=now,
            )
            for arm in arms
        )
        Session.objects.bulk_create(sessions, batch_size=2000)
        found[condition.preset] = [arm.pk for arm in arms]
    return found


def remember(arms: Sequence[int], rng: np.random.Generator, topics: np.ndarray) -> None:
    """`PER_ARM` memories for each arm, by binary COPY."""
    from django.db import connection
    from django.utils import timezone

    columns = (
        "arm_id, code, kind, session_number, seq, sources, bot_text, user_text, embed_text, vector, encoder, r1, r2, last_recalled,"
        " fields, measures, status, happened_at"
    )
    now = timezone.now().isoformat()
    numbers = [(n * SESSIONS // PER_ARM + 1, n % (PER_ARM // SESSIONS) * 2 + 2) for n in range(PER_ARM)]
    with connection.cursor() as cursor, cursor.copy(f"COPY memory_memory ({columns}) FROM STDIN") as copy:
        for arm in arms:
            measured = rng.random((PER_ARM, 3)) * (0.6, 160, 10)
            for n, vector in enumerate(vectors(PER_ARM, rng, topics)):
                session, seq = numbers[n]
                text = f"Said {n} in session {session}, about as long as people's messages are when they chat in the evening."
                arousal, perplexity, importance = measured[n]
                measures = json.dumps({"arousal": arousal, "perplexity": perplexity, "importance": importance})
                code = f"{arm:x}-{n:x}"
                copy.write_row(
                    (
                        arm,
                        code,
                        "exchange",
                        session,
                        seq,
                        "{}",
                        "And then?",
                        text,
                        text,
                        _literal(vector),
                        "scripted/hash",
                        n % 3,
                        n % 2,
                        session,
                        "{}",
                        measures,
                        "active",
                        now,
                    )
                )
    _run("VACUUM ANALYZE memory_memory")


def _literal(vector: np.ndarray) -> str:
    return "[" + ",".join(map("{:.6g}".format, vector.tolist())) + "]"


def _run(sql: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql)


def timed(calls: Iterable[Callable[[], object]]) -> dict[str, float]:
    """Milliseconds of each call: n, median, 95th percentile."""
    taken = []
    for call in calls:
        start = time.perf_counter()
        call()
        taken.append((time.perf_counter() - start) * 1000)
    p50, p95 = np.percentile(taken, (50, 95))
    return {"n": len(taken), "p50_ms": float(p50), "p95_ms": float(p95)}


def recalls(arms: Sequence[int], rng: np.random.Generator, topics: np.ndarray, times: int) -> dict[str, dict[str, float]]:
    """The product's search of randomly chosen arms, twice the same ones, and the numpy scan of the same arms."""
    from memory.arms import load
    from memory.models import Memory
    from memory.space import ArmSpace

    chosen = [load(int(arm)) for arm in rng.choice(arms, size=times, replace=False)]
    asked = vectors(times, rng, topics)
    search = [lambda arm=arm, query=query: ArmSpace(arm).nearest(query, limit=2) for arm, query in zip(chosen, asked, strict=True)]
    first, again = timed(search), timed(search)
    held = [np.array(list(Memory.objects.filter(arm_id=arm.id).values_list("vector", flat=True)), dtype=np.float32) for arm in chosen[:500]]
    scan = [
        lambda matrix=matrix, query=query: np.argpartition(-(matrix @ query), 2)[:2]
        for matrix, query in zip(held, asked[:500], strict=True)
    ]
    return {"search, arm seen for the first time": first, "search, again": again, "numpy scan": timed(scan)}


def hnsw(arms: Sequence[int], rng: np.random.Generator, topics: np.ndarray, times: int) -> dict[str, dict[str, float]]:
    """The same arms in a table with only an HNSW index, filtered on the arm: time, and the share of the exact top 2 that it finds."""

    from memory.arms import load
    from memory.space import ArmSpace

    start = time.perf_counter()
    _run(
        f"CREATE TABLE bench_hnsw AS SELECT id, arm_id, vector::vector({DIMENSION}) AS vector FROM memory_memory WHERE arm_id = ANY(ARRAY{list(arms)})"
    )
    _run("SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 2")
    _run("CREATE INDEX ON bench_hnsw USING hnsw (vector vector_ip_ops)")
    _run("VACUUM ANALYZE bench_hnsw")
    built = time.perf_counter() - start
    chosen = [load(int(arm)) for arm in rng.choice(arms, size=times, replace=False)]
    asked = vectors(times, rng, topics)
    exact = [{hit.memory.id for hit in ArmSpace(arm).nearest(query, limit=2)} for arm, query in zip(chosen, asked, strict=True)]
    search = [lambda arm=arm, query=query: ArmSpace(arm).nearest(query, limit=2) for arm, query in zip(chosen, asked, strict=True)]
    found = {"exact search, again": timed(search), "index": {"build_s": built}}
    answers: list[set[int]] = []
    for scan in ("off", "strict_order", "relaxed_order"):
        _run(f"SET hnsw.iterative_scan = {scan}")
        answers.clear()
        figures = timed(partial(_by_index, arm.id, literal, answers) for arm, literal in zip(chosen, map(_literal, asked), strict=True))
        shares = [len(answer & right) / len(right) for answer, right in zip(answers, exact, strict=True)]
        found[f"HNSW, iterative_scan {scan}"] = figures | {"recall": float(np.mean(shares))}
    return found


def _by_index(arm_id: int, query: str, answers: list[set[int]]) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM bench_hnsw WHERE arm_id = %s ORDER BY vector <#> %s::vector LIMIT 2", [arm_id, query])
        answers.append({row[0] for row in cursor.fetchall()})


def forgetting(arms: Sequence[int], preset: str, loop_arms: int) -> dict[str, float]:
    """The product's forgetting over all but the last arms; a loop over the memories of these last ones, scaled to all."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from memory import forgetting as product
    from memory.models import Memory
    from studyplatform.study.models import Session

    sessions = {s.arm_id: s for s in Session.objects.filter(arm_id__in=arms).select_related("participant__study", "arm")}
    held = Memory.objects.filter(arm_id__in=arms, status="active").count()
    with CaptureQueriesContext(connection) as captured:
        _forget(product, arms[0], sessions)
    start = time.perf_counter()
    for arm in arms[1:-loop_arms]:
        _forget(product, arm, sessions)
    took = (time.perf_counter() - start) / (len(arms) - 1 - loop_arms) * len(arms)
    start = time.perf_counter()
    for arm in arms[-loop_arms:]:
        _loop(product, arm, sessions)
    looped = (time.perf_counter() - start) / loop_arms * len(arms)
    kept = Memory.objects.filter(arm_id__in=arms, status="active").count()
    return {
        "arms": len(arms), "memories": held, "kept": kept, "seconds": took, "statements_per_arm": len(captured), "statements": len(captured) * len(arms),
        "memories_per_s": held / took, "loop_seconds_scaled": looped, "loop_arms": loop_arms, "ratio": looped / took, "preset": preset,
    }  # fmt: skip


def _forget(product: object, arm_id: int, sessions: dict) -> None:
    from django.db import transaction

    from memory.arms import load

    arm, session = load(arm_id), sessions[arm_id]
    verdicts, version = product.judge(arm, session)
    with transaction.atomic():
        product.apply(arm, session, verdicts, version)


def _loop(product: object, arm_id: int, sessions: dict) -> None:
    """As one would write it first: two statements per memory, all in one transaction."""
    from django.db import transaction
    from django.utils import timezone

    from memory import ledger
    from memory.arms import load
    from memory.models import Memory

    arm, session = load(arm_id), sessions[arm_id]
    verdicts, _ = product.judge(arm, session)
    with transaction.atomic():
        for verdict in verdicts:
            memory = Memory.objects.get(pk=verdict.memory.id)
            if not verdict.kept:
                memory.status, memory.ended_at = Memory.Status.FORGOTTEN, timezone.now()
                memory.save(update_fields=["status", "ended_at"])
            ledger.write(arm.id, session.number, 0, [ledger.Entry("kept" if verdict.kept else "forgotten", memory.pk, dict(verdict.terms))])


def in_words(result: dict) -> Iterator[str]:
    for part in ("recall", "hnsw"):
        for name, row in result.get(part, {}).items():
            yield f"{part:8}{name:48}" + "".join(f"{key} {value:10.3f}  " for key, value in row.items())
    for row in result.get("forgetting", []):
        yield "forgetting  " + ", ".join(
            f"{key} {value:,.1f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arms", type=int, default=10_000)
    parser.add_argument("--only", default="recall,hnsw,forgetting")
    parser.add_argument("--times", type=int, default=1000, help="recalls measured")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON too")
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    rng = np.random.default_rng(1)
    topics = vectors(TOPICS, rng, np.zeros((1, DIMENSION), dtype=np.float32))
    result: dict = {**setting.provenance(), "arms": arguments.arms, "memories_per_arm": PER_ARM, "dimension": DIMENSION}
    with setting.own_database():
        start = time.perf_counter()
        arms = people(arguments.arms // len(PRESETS))
        everyone = [arm for held in arms.values() for arm in held]
        remember(everyone, rng, topics)
        result["stored_s"] = time.perf_counter() - start
        times = min(arguments.times, arguments.arms // 2)
        if "recall" in parts:
            result["recall"] = {
                f"{preset}: {name}": row for preset in PRESETS for name, row in recalls(arms[preset], rng, topics, times // 2).items()
            }
        if "hnsw" in parts:
            few = arms["naive_rag"][: arguments.arms // 10]
            result["hnsw"] = hnsw(few, rng, topics, min(times, len(few)))
        if "forgetting" in parts:
            result["forgetting"] = [forgetting(arms["lufy"], "lufy", min(20, len(arms["lufy"]) // 4))]
    for line in in_words(result):
        print(line)
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
