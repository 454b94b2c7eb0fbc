"""TOML with positions: parse a text, and locate each key by line and column.

The standard library parses, but keeps no positions. A second pass over the accepted text finds them; it knows only
enough grammar to step from key to key and over values.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from mcproof.core.errors import ConfigError
from mcproof.core.text.files import NotUtf8Error, decode_utf8

Path = tuple[str | int, ...]
"""The keys and indices from the top of the document to a value."""

MAX_STEPS = 5_000_000
"""The limit of work that keys may cause: parsing a dotted key is quadratic in its parts."""

DEEPEST = 20
"""Values inside more brackets than this have no position."""

_Match = re.Match[str]
_blank: Callable[[str, int], _Match] = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+").match  # type: ignore[assignment]
_space: Callable[[str, int], _Match] = re.compile(r"[ \t]*+").match  # type: ignore[assignment]
_key: Callable[[str, int], _Match] = re.compile(  # type: ignore[assignment]
    r"""[A-Za-z0-9_-]++ | "(?:[^"\\\n]++|\\.)*+" | '[^'\n]*+'""", re.VERBOSE
).match
# The order matters: three quotes also begin like an empty string. Up to two more at the end belong to the string.
_scalar: Callable[[str, int], _Match] = re.compile(  # type: ignore[assignment]
    r'''
    """ (?: [^"\\]++ | \\[\s\S] | ""?(?!") )*+ """ "{0,2}
    | \'\'\' (?: [^']++ | \'\'?(?!') )*+ \'\'\' '{0,2}
    | " (?: [^"\\\n]++ | \\. )*+ "
    | ' [^'\n]*+ '
    | [^,\]}#\n]*+
    ''',
    re.VERBOSE,
).match


def decode(data: bytes, file: str) -> str:
    """Decode a file. A byte order mark, which TOML forbids and some editors write, is accepted."""
    try:
        return decode_utf8(data)
    except NotUtf8Error as error:
        raise ConfigError(error.message, file=file, line=error.line, column=error.column) from None


def parse(text: str, file: str) -> dict[str, Any]:
    """Parse a document; raise a ConfigError with the position of a syntax error."""
    if _is_laborious(text):
        raise ConfigError("too many dotted keys to parse in reasonable time", file=file)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError("nested too deeply", file=file) from None
    except ValueError as error:  # a TOMLDecodeError, or an integer with more digits than Python converts
        message, line, column = _split(str(error), text)
        raise ConfigError(f"not TOML: {message}", file=file, line=line, column=column) from None


def _is_laborious(text: str) -> bool:
    """Whether parsing keys may take too long: quadratic in their parts, plus each line times the depth of its table."""
    dots = [line.count(".") for line in text.split("\n")]
    return sum(count * count for count in dots) + len(dots) * max(dots) > MAX_STEPS


def _split(message: str, text: str) -> tuple[str, int | None, int | None]:
    """The parser's message, and the position at its end."""
    reason, _, position = message.rpartition(" (at ")
    # Python's message about a long integer goes on with advice to change its limit.
    reason, position = (reason or position).partition("; use sys.")[0], position.rstrip(")")
    reason = reason if len(reason) <= 200 else f"{reason[:200]}…"
    reason = reason[:1].lower() + reason[1:]
    if position == "end of document":
        return reason, text.count("\n") + 1, len(text) - text.rfind("\n")
    line, _, column = position.removeprefix("line ").partition(", column ")
    if not (line.isdigit() and column.isdigit()):
        return reason, None, None
    return reason, int(line), int(column)


def positions(text: str) -> dict[Path, tuple[int, int]]:
    """The line and column, from 1, of every table, key and list item in a valid text.

    A key is located where it is written, quotes included; a table at its header, or at the first header or key that
    names it; a list item at its first character. Values inside more than DEEPEST brackets are omitted.
    """
    offsets = _Scanner(text).scan()
    line_starts = [0, *(line_end.end() for line_end in re.finditer("\n", text))]
    located: dict[Path, tuple[int, int]] = {}
    for path, offset in offsets.items():
        line = bisect_right(line_starts, offset)
        located[path] = (line, offset - line_starts[line - 1] + 1)
    return located


class _Scanner:
    """One pass over a text, statement by statement."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.offsets: dict[Path, int] = {}
        self._lengths: dict[Path, int] = {}
        """The number of tables in each array of tables so far."""

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        self._skip(_blank)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._value(self._keys(table))
            self._skip(_blank)
        return self.offsets

    def _skip(self, what: Callable[[str, int], _Match]) -> None:
        self.at = what(self.text, self.at).end()

    def _header(self) -> Path:
        """Read `[a.b]` or `[[a.b]]`; return the path of the table it starts."""
        is_array = self.text.startswith("[[", self.at)
        self.at += 1 + is_array
        path: Path = ()
        for key, offset in self._parts():
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
            path = (*path, key)
            self.offsets.setdefault(path, offset)
        if is_array:
            index = self._lengths[path] = self._lengths.get(path, 0) + 1
            path = (*path, index - 1)
        self.offsets[path] = offset
        self.at += 1 + is_array
        return path

    def _keys(self, table: Path) -> Path:
        """Read `a.b =` up to the value; return the path of that value."""
        path = table
        for key, offset in self._parts():
            path = (*path, key)
            self.offsets.setdefault(path, offset)
        self.at += 1
        self._skip(_space)
        return path

    def _parts(self) -> list[tuple[str, int]]:
        """Read a dotted key with the whitespace around it; return each part with its offset."""
        parts = []
        while True:
            self._skip(_space)
            match = _key(self.text, self.at)
            parts.append((_unquoted(match[0]), self.at))
            self.at = match.end()
            self._skip(_space)
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def _value(self, path: Path) -> None:
        """Read a value and everything in it. Open brackets are kept in a list, so depth needs no recursion."""
        brackets: list[tuple[Path, bool]] = []
        items: list[int] = []
        while True:
            opening = self.text[self.at]
            if opening in "[{":
                brackets.append((path, opening == "["))
                items.append(0)
                self.at += 1
            else:
                self._skip(_scalar)
            while True:  # leave the containers that end here, then go to the next value
                if not brackets:
                    return
                self._skip(_blank)
                if self.text[self.at] == ",":
                    self.at += 1
                    self._skip(_blank)
                if self.text[self.at] not in "]}":
                    break
                self.at += 1
                brackets.pop()
                items.pop()
            path, is_list = brackets[-1]
            has_position = len(brackets) <= DEEPEST
            if is_list:
                if has_position:
                    path = (*path, items[-1])
                    self.offsets[path] = self.at
                items[-1] += 1
            elif has_position:
                path = self._keys(path)
            else:
                self._pass_over_keys()

    def _pass_over_keys(self) -> None:
        self._parts()
        self.at += 1
        self._skip(_space)


def _unquoted(key: str) -> str:
    """The key that a written key stands for, without quotes and escapes."""
    if key[0] == "'" or (key[0] == '"' and "\\" not in key):
        return key[1:-1]
    if key[0] == '"':
        value: str = tomllib.loads(f"key = {key}")["key"]
        return value
    return key
