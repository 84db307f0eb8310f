"""`python -m bench.agreement`: every coefficient of 100,000 utterances × 3 raters with a bootstrap over transcripts, B = 2,000.

Beside it, in the same run: irrCAC for the coefficients that it has, and a plain Python loop for the bootstrap (of Fleiss' kappa alone, on
some resamples, scaled to all). Peak memory is the process's own growth, each part in a process of its own.
"""

import argparse
import json
import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import setting

RESULTS = Path(__file__).parent / "results" / "agreement.json"
TRANSCRIPT = 50
SEED = 20260101


def scene(utterances: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratings (utterances × 3) at about 10 % “important”, and each utterance's transcript of 50."""
    rng = np.random.default_rng(SEED)
    where = np.arange(utterances) // TRANSCRIPT
    own = rng.normal(scale=0.4, size=(where[-1] + 1, 3))[where]
    worth = rng.normal(size=(utterances, 1)) + rng.normal(scale=0.8, size=(utterances, 3)) + own
    return (worth > 1.7).astype(float), where


def ours(utterances: int, resamples: int) -> dict[str, Any]:
    from studyplatform.analysis.agreement import coefficients, formulas
    from studyplatform.analysis.agreement_intervals import intervals

    ratings, where = scene(utterances)
    clusters = where.tolist()
    start = time.perf_counter()
    found = coefficients(ratings, categories=[0, 1], positive=1)
    estimated = time.perf_counter()
    around = intervals(ratings, clusters, categories=[0, 1], positive=1, seed=SEED, resamples=resamples)
    done = time.perf_counter()
    values = {
        name: {"value": getattr(found, name).value, "ci95": [around[name].low, around[name].high]} for name in formulas([0, 1], positive=1)
    }
    return {"coefficients_ms": 1e3 * (estimated - start), "bootstrap_ms": 1e3 * (done - estimated), "values": values}


def irr(utterances: int, resamples: int) -> dict[str, Any]:
    import pandas as pd
    from irrCAC.raw import CAC

    warnings.simplefilter("ignore")
    ratings, _ = scene(utterances)
    table = pd.DataFrame(ratings)
    start = time.perf_counter()
    cac = CAC(table, categories=[0, 1], digits=9)
    values = {name: getattr(cac, method)()["est"]["coefficient_value"] for name, method in IRR.items()}
    return {"coefficients_ms": 1e3 * (time.perf_counter() - start), "values": values}


IRR = {"fleiss_kappa": "fleiss", "krippendorff_alpha": "krippendorff", "gwet_ac1": "gwet"}


def loop(utterances: int, resamples: int, sampled: int = 3) -> dict[str, Any]:
    import random

    ratings, where = scene(utterances)
    transcripts: list[list[list[int]]] = [[] for _ in range(int(where[-1]) + 1)]
    for row, transcript in zip(ratings.astype(int).tolist(), where.tolist(), strict=True):
        transcripts[transcript].append(row)
    chance = random.Random(SEED)
    start = time.perf_counter()
    for _ in range(sampled):
        plain_kappa([row for transcript in chance.choices(transcripts, k=len(transcripts)) for row in transcript])
    each = (time.perf_counter() - start) / sampled
    return {"sampled": sampled, "resample_ms": 1e3 * each, "bootstrap_ms": 1e3 * each * resamples}


def plain_kappa(rows: list[list[int]]) -> float:
    agreed, used = 0.0, [0, 0]
    for row in rows:
        ones = sum(row)
        n = len(row)
        agreed += (ones * (ones - 1) + (n - ones) * (n - ones - 1)) / (n * (n - 1))
        used[0] += n - ones
        used[1] += ones
    chance = sum((count / sum(used)) ** 2 for count in used)
    return (agreed / len(rows) - chance) / (1 - chance)


def apart(part: Callable[[int, int], dict[str, Any]], utterances: int, resamples: int) -> dict[str, Any]:
    """The part's figures from a fresh process, with that process's peak memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (part, utterances, resamples))


def _measured(part: Callable[[int, int], dict[str, Any]], utterances: int, resamples: int) -> dict[str, Any]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = part(utterances, resamples)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**result, "peak_mb": round(peak / 1024, 1), "peak_above_start_mb": round((peak - before) / 1024, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.agreement", description=__doc__)
    parser.add_argument("--utterances", type=int, default=100_000)
    parser.add_argument("--resamples", type=int, default=2_000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    given = setting.provenance()
    size = (arguments.utterances, arguments.resamples)
    result: dict[str, Any] = {**given, "utterances": size[0], "raters": 3, "transcript": TRANSCRIPT, "resamples": size[1], "seed": SEED}
    result |= {"ours": apart(ours, *size), "irrcac": apart(irr, *size), "plain_loop": apart(loop, *size)}
    result["ratios"] = {
        "irrcac_to_ours_coefficients": result["irrcac"]["coefficients_ms"] / result["ours"]["coefficients_ms"],
        "plain_loop_to_ours_bootstrap": result["plain_loop"]["bootstrap_ms"] / result["ours"]["bootstrap_ms"],
    }
    arguments.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
