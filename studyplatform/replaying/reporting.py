"""A replay's tables, and their files: JSON, CSV for each, and where every number comes from."""

import csv
import hashlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memory import encoders, registry
from memory.measures import registry as measures
from studyplatform.analysis import judging
from studyplatform.analysis.judging import Strictness
from studyplatform.analysis.tables import answer_scores, importance_agreement, question_sets, retention, top_k
from studyplatform.analysis.tables.records import Marked
from studyplatform.analysis.tables.table import Table, as_json, as_text, records
from studyplatform.env import ROOT
from studyplatform.llm import prompts
from studyplatform.replaying import labels
from studyplatform.replaying.gathering import EVIDENCE, Gathered
from studyplatform.replaying.wishes import Wish
from studyplatform.simulation.recordings import Recording
from studyplatform.simulation.tallying import Cell
from studyplatform.study.models import Study
from studyplatform.study.studies import config_of

BASELINE = "naive_rag"
ABLATED = "lufy"


def marks(wish: Wish, recordings: Sequence[Recording]) -> tuple[list[Marked], list[str]]:
    """The annotators' marks, where the source is a released dataset."""
    kind, _, place = wish.source.partition(":")
    if kind != "lufy":
        return [], []
    sessions = min([*([wish.sessions] if wish.sessions else []), *(len(r.sessions) for r in recordings)])
    return labels.read(Path(place), recordings, sessions) if wish.messages is None else ([], [])


def tables(found: Gathered, marked: Sequence[Marked], wish: Wish, *, strictness: Strictness = "half") -> dict[str, Table]:
    """Tables 7, 8, 9, 11, 12, 13, and, of LUFY and LUFY with a part left out, 14 and 15; by key: `table7`, …"""
    judge = judging.NAMES[strictness]
    left_out = [label for label in found.labels if label.startswith(f"{ABLATED} -")]
    main = [label for label in found.labels if label not in left_out]
    ablated = [label for label in found.labels if label == ABLATED or label in left_out]
    all_judges = [p for p in found.placed if p.condition == BASELINE]
    one_judge = [p for p in found.placed if p.condition != BASELINE and p.condition in main and p.judge in (judge, EVIDENCE)]
    answered = [a for a in found.answered if a.condition in main]
    seed = wish.seed
    made = [
        top_k.table([*all_judges, *one_judge], seed=seed),
        answer_scores.table(answered, judge=judge, baseline=BASELINE, seed=seed),
        importance_agreement.table(marked, [s for s in found.survived if s.condition in main], seed=seed),
        retention.table(found.held, seed=seed),
        question_sets.recall(answered, judge=judge, seed=seed),
        question_sets.precision(answered, judge=judge, seed=seed),
    ]
    if left_out:
        again = [a for a in found.answered if a.condition in ablated]
        survived = [s for s in found.survived if s.condition in ablated]
        made.append(answer_scores.table(again, judge=judge, baseline=ABLATED, seed=seed, name="14"))
        made.append(importance_agreement.table(marked, survived, seed=seed, name="15"))
    return {f"table{table.name}": table for table in made}


def text(made: dict[str, Table], cells: Sequence[Cell], names: dict[str, str]) -> Iterator[str]:
    """For a terminal: what each arm did per session, then the tables."""
    head = f"{'system':28} {'S':>2} {'exchanges':>9} {'kept':>5} {'retention':>9} {'used':>5} {'passed':>6} {'answered':>8} {'abstained':>9} {'failed':>6}"
    yield head
    for c in cells:
        share = "" if c.retention is None else f"{c.retention:.1%}"
        figures = (
            f"{c.session:2} {c.exchanges:9} {c.kept:5} {share:>9} {c.used:5} {c.passed_over:6} {c.answered:8} {c.abstained:9} {c.failed:6}"
        )
        yield f"{names[c.arm]:28} {figures}"
    for table in made.values():
        yield ""
        yield from as_text(table)


def document(made: dict[str, Table], cells: Sequence[Cell], names: dict[str, str], provenance: dict[str, Any]) -> dict[str, Any]:
    """Everything as one JSON document."""
    by = [{**asdict(cell), "system": names[cell.arm]} for cell in cells]
    return {"provenance": provenance, "by": by, **{key: as_json(table) for key, table in made.items()}}


def write(folder: Path, found: dict[str, Any], made: dict[str, Table]) -> list[str]:
    """`replay.json`, `provenance.json` and a CSV for each table: the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"replay.json": found, "provenance.json": found["provenance"]}
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
    sheets: dict[str, list[dict[str, Any]]] = {"arms": found["by"], **{key: list(records(table)) for key, table in made.items()}}
    for key, rows in sheets.items():
        if rows:
            _sheet(folder / f"{key}.csv", rows)
    return sorted([*files, *(f"{key}.csv" for key, rows in sheets.items() if rows)])


def _sheet(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def provenance(study: Study, wish: Wish, *, strictness: Strictness, answer_model: str | None) -> dict[str, Any]:
    """Where the numbers come from: code, design, recordings, systems with every parameter, models, prompts, seeds."""
    config = config_of(study)
    encoder = encoders.get(wish.encoder_name)
    scales = measures.scales(config)
    built = {v.shown: registry.build(v.preset, v.overrides, scales) for v in wish.variants}
    labelled = config.prompts.model_dump()
    return {
        "study": study.slug,
        "commit": _commit(),
        "config_sha256": study.config_sha256,
        "source": wish.source_name,
        "source_sha256": _digest(wish.source),
        "system": wish.system,
        "replies": "regenerated" if wish.regenerate else "recorded",
        "systems": {name: {"policy": p.name, "version": p.version, **asdict(p)} for name, p in built.items()},  # type: ignore[call-overload]  # every policy is a dataclass
        "encoder": {"name": encoder.name, "thresholds": dict(encoder.thresholds)},
        "scorers": [list(scorer.key) for scorer in measures.of(config)],
        "response_model": config.chat.response_model,
        "answer_model": answer_model or config.memory.answer_model or config.chat.response_model,
        "prompts": {name: {"prompt": label, "sha256": prompts.load(label).sha256} for name, label in labelled.items()},
        "judge": judging.NAMES[strictness],
        "seeds": {"replay": wish.seed, **config.seeds.model_dump()},
        "hours_between": wish.hours_between,
    }


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607  # git, where the code is a checkout
    return found.stdout.strip() or "unknown"


def _digest(source: str) -> str | None:
    """SHA-256 over the source's files, in order of their names; None for a study of this database."""
    kind, _, place = source.partition(":")
    if kind == "study":
        return None
    path = Path(place)
    sums = hashlib.sha256()
    for file in sorted(path.rglob("*.xlsx")) if path.is_dir() else [path]:
        sums.update(file.relative_to(path).as_posix().encode() if path.is_dir() else b"")
        sums.update(hashlib.sha256(file.read_bytes()).digest())
    return sums.hexdigest()
