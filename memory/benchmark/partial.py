"""What a run has done so far, in a file, so that a stopped one goes on where it was."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent


class Partial:
    """Finished parts by name, a line each. The file's name stands for all that they depend on, so that nothing made otherwise is taken up."""

    def __init__(self, folder: Path, depends_on: Any) -> None:
        told = json.dumps(depends_on, sort_keys=True, default=str).encode()
        self.path = folder / f"{hashlib.sha256(told + code().encode()).hexdigest()[:16]}.jsonl"
        self._known: dict[str, Any] = {}
        if self.path.is_file():
            self._known = dict(self._read())

    @property
    def held(self) -> int:
        return len(self._known)

    def part(self, name: str, make: Callable[[], Any]) -> Any:
        """The part of that name: as it was made, else made now and kept. It must be what JSON can hold."""
        if name not in self._known:
            made = json.loads(json.dumps(make()))
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, made], ensure_ascii=False) + "\n")
            self._known[name] = made
        return self._known[name]

    def done(self) -> None:
        """The run is over: nothing of it is to be taken up again."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> list[tuple[str, Any]]:
        """Whole lines only: the last may have been cut off."""
        rows = []
        for line in self.path.read_text("utf-8").splitlines():
            try:
                name, made = json.loads(line)
            except ValueError:
                continue
            rows.append((name, made))
        return rows


def code(folders: Sequence[Path] = (PACKAGE, PACKAGE.parent / "studyplatform" / "llm")) -> str:
    """SHA-256 of everything that decides a result: the memory package and the language model's, prompts and weights included."""
    sums = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".txt", ".tsv", ".json"):
                sums.update(path.relative_to(folder).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
    return sums.hexdigest()
