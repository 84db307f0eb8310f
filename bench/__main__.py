"""`python -m bench`: the chat under load, beside the floor of the same machine in the same run.

Response model and encoder are the scripted server's endpoints at 0 ms, in a process of their own. One web process. The memory's workers do
not run while web is measured, and recall does not wait for them; once more with them, and once more with the local encoder.
"""

import argparse
import json
from pathlib import Path

from bench import setting

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a tenth of the time, for a look; its figures are not to be quoted")
    parser.add_argument("--only", help="comma-separated: floor, closed, open, workers, encoder")
    parser.add_argument("--preset", default="lufy")
    parser.add_argument("--out", type=Path, help="where the JSON goes; default: bench/results/")
    arguments = parser.parse_args()
    given = setting.provenance()  # before anything runs: it holds the load that others cause
    setting.prepare()
    from bench import chat

    parts = set(arguments.only.split(",")) if arguments.only else {"floor", "closed", "open", "workers", "encoder"}
    result = {**given, "short": arguments.short, "preset": arguments.preset}
    result |= chat.measure(parts, preset=arguments.preset, short=arguments.short)
    for line in chat.in_words(result):
        print(line)
    out = arguments.out or RESULTS / ("chat-short.json" if arguments.short else "chat.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
