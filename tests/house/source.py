"""The project's own source files, as the house tests read them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("studyplatform", "chat", "memory", "annotation", "bench", "tests")
PRODUCT = ("studyplatform", "chat", "memory", "annotation")
TEXT_SUFFIXES = {".py", ".html", ".css", ".js", ".md", ".toml", ".yml", ".txt", ".po", ""}


@dataclass(frozen=True)
class Function:
    """A function or method: where it is, and how many lines it takes, docstring and decorators left out."""

    where: str
    lines: int


def modules(packages: tuple[str, ...] = CODE) -> Iterator[Path]:
    """Every Python file that a person writes; migrations are generated."""
    for package in packages:
        yield from (p for p in sorted((ROOT / package).rglob("*.py")) if "migrations" not in p.parts)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), filename=str(path))


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(f"{name(path)}:{node.name}", _lines_of(node))


def _lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first, last = node.body[0], node.body[-1]
    doc = ast.get_docstring(node, clean=False) is not None
    begin = first.end_lineno + 1 if doc and first.end_lineno else first.lineno
    return (last.end_lineno or begin) - begin + 2


def templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


def assets() -> list[Path]:
    """Static files of our own."""
    return sorted(p for p in (ROOT / "static").rglob("*") if p.is_file())


def texts() -> Iterator[Path]:
    """Everything that is committed as text, documentation and build files included."""
    top = [p for p in sorted(ROOT.iterdir()) if p.is_file() and p.suffix in TEXT_SUFFIXES and p.name != ".git"]
    folders = (*CODE, "templates", "static", "docs", "studies", "locale", "requirements", ".ci")
    below = [p for f in folders for p in sorted((ROOT / f).rglob("*")) if p.is_file() and p.suffix in TEXT_SUFFIXES]
    yield from (p for p in (*top, *below) if "__pycache__" not in p.parts)
