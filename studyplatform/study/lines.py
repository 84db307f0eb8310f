"""Where each key of a TOML file stands: a small scanner beside `tomllib`, which reads the values and forgets the lines.

It trusts a file that `tomllib` has accepted; it follows tables, arrays of tables, dotted and quoted keys, inline tables and
arrays, and steps over strings and comments.
"""

from collections.abc import Mapping

Path = tuple[str | int, ...]
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def lines_of(text: str) -> dict[Path, int]:
    """Line (from 1) of every key, table, and array element, by path."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.found


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """The line of `path`, or of the nearest thing around it; 1 for the file."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        while self._skip_blank():
            if self._here() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _here(self) -> str:
        return self.text[self.at : self.at + 1]

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def _skip_blank(self) -> bool:
        """Step over space, newlines, commas and comments; False at the end of the file."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char in " \t\r\n,":
                self.at += 1
            else:
                return True
        return False

    def _header(self) -> Path:
        line = self._line()
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        path = self._resolve(self._key("]"))
        self.at += 2 if many else 1
        if many:
            self.found.setdefault(path, line)
            index = self.counts.get(path, 0)
            self.counts[path] = index + 1
            path = (*path, index)
        self.found[path] = line
        return path

    def _resolve(self, key: list[str]) -> Path:
        """A header's path, with the running index after each array of tables that it passes through."""
        path: Path = ()
        for i, part in enumerate(key):
            path = (*path, part)
            if path in self.counts and i < len(key) - 1:
                path = (*path, self.counts[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        key = self._key("=")
        self.at += 1
        for length in range(1, len(key) + 1):
            self.found.setdefault((*table, *key[:length]), line)
        self._value((*table, *key))

    def _key(self, end: str) -> list[str]:
        """The parts of a dotted key, up to `end`, which is left unread."""
        parts = []
        while self._here() and self._here() != end:
            char = self._here()
            if char in "\"'":
                start = self.at
                self._string()
                parts.append(self.text[start + 1 : self.at - 1])
            elif char in _BARE:
                start = self.at
                while self._here() and self._here() in _BARE:
                    self.at += 1
                parts.append(self.text[start : self.at])
            else:
                self.at += 1
        return parts

    def _value(self, path: Path) -> None:
        while self._here() in (" ", "\t"):
            self.at += 1
        if self._here() == "[":
            self._array(path)
        elif self._here() == "{":
            self._inline(path)
        elif self._here() in ("'", '"'):
            self._string()
        else:
            while self._here() and self._here() not in ",]}\n#":
                self.at += 1

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self._skip_blank() and self._here() != "]":
            self.found[(*path, index)] = self._line()
            self._value((*path, index))
            index += 1
        self.at += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        while self._skip_blank() and self._here() != "}":
            self._pair(path)
        self.at += 1

    def _string(self) -> None:
        quote = self._here()
        fence = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(fence)
        while self.at < len(self.text) and not self.text.startswith(fence, self.at):
            self.at += 2 if quote == '"' and self._here() == "\\" else 1
        self.at += len(fence)
        while len(fence) == 3 and self._here() == quote:  # up to two quotes may stand before the closing three
            self.at += 1
