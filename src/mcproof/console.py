"""Text for a terminal: colours where they are wanted, and nothing from a server that could act on it."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_COLOURS = {"error": "31", "warning": "33", "note": "36", "help": "36", "dim": "2", "bold": "1", "good": "32"}


def safe(text: str) -> str:
    """Text from outside with every control, escape and invisible character spelt out."""
    return _UNSAFE.sub(lambda found: _spelt(found[0]), text) if _UNSAFE.search(text) else text


def _spelt(character: str) -> str:
    return character.encode("unicode-escape").decode()


def shell_word(name: str) -> str:
    """A file's name as one would type it; a hint must work when it is pasted."""
    if name == "<stdin>":
        return "-"
    if re.fullmatch(r"[\w@%+=:,./-]+", name, re.ASCII):
        return name
    from shlex import quote

    return safe(quote(name))


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def display_width(text: str) -> int:
    """How many columns a text takes on a terminal: ideographs take two, accents and joiners none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    widths = (0 if category(each) in ("Mn", "Me", "Cf") else 1 + (east_asian_width(each) in "WF") for each in text)
    return sum(widths)


def without_commands(line: str) -> str:
    """A line that no CI runner takes for a workflow command."""
    if "##" in line:
        line = re.sub(r"##(\w*)\[", r"##\1\\[", line)
    return line.replace("::", ":\\:", 1) if line.lstrip().startswith("::") else line


def harmless_lines(pieces: Iterable[str]) -> Iterator[str]:
    """The lines of a text, each such that no CI runner acts on it."""
    for piece in pieces:
        for line in piece.splitlines(keepends=True):
            yield without_commands(line)


def print_lines(pieces: Iterable[str], stream: TextIO) -> None:
    """Write whole lines to a stream, each harmless."""
    stream.writelines(harmless_lines(pieces))


def tell(sentence: str) -> None:
    """Say something on standard error, on one line; where nobody can hear it, the work goes on all the same."""
    with suppress(OSError):
        sys.stderr.write(without_commands(f"mcproof: {safe(sentence)}\n"))
        sys.stderr.flush()


def print_document(pieces: Iterable[str]) -> None:
    """Print a document in one go, all of it or nothing, in the encoding that documents have wherever they are read."""
    encoded = [piece.encode("utf-8", "backslashreplace") for piece in pieces]
    sys.stdout.flush()
    sys.stdout.buffer.writelines(encoded)
    sys.stdout.buffer.flush()


def discard_output() -> None:
    """Let what is still to be printed go nowhere, once its reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Style:
    """How to write to one stream: in colour or not, with line drawing or plain ASCII."""

    def __init__(self, *, colour: bool = False, unicode: bool = True, width: int = 120) -> None:
        self.colour = colour
        self.unicode = unicode
        self.width = width

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """What this stream and the user's environment ask for."""
        wanted = stream.isatty() and os.environ.get("TERM") != "dumb"
        if os.environ.get("NO_COLOR"):
            wanted = False
        elif os.environ.get("FORCE_COLOR"):
            wanted = True
        encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
        width = 120
        if stream.isatty():
            width = max(40, min(140, _terminal_width(stream)))
        return cls(colour=wanted, unicode=encoding.startswith("utf"), width=width)

    def paint(self, text: str, *colours: str) -> str:
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(_COLOURS[colour] for colour in colours)}m{text}\x1b[0m"

    def text(self, text: str, limit: int = 300) -> str:
        """Text from outside as it can be shown here: harmless, of bearable length, in letters that the stream has."""
        if len(text) > limit:
            text = text[:limit] + self.symbol("…", "...")
        text = safe(text)
        return text if self.unicode else text.encode("ascii", "backslashreplace").decode()

    def fitting(self, text: str, room: int) -> str:
        """Text from outside as it can be shown here, in no more columns than there is room for."""
        text = self.text(text, max(1, room))
        if display_width(text) <= room:
            return text
        ellipsis = self.symbol("…", "...")
        text = text.removesuffix(ellipsis)[:room]
        while text and display_width(text) > room - len(ellipsis):
            text = text[:-1]
        return text + ellipsis

    def symbol(self, unicode: str, ascii: str) -> str:
        return unicode if self.unicode else ascii


def _terminal_width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 120


class Counter:
    """A line that shows progress on a terminal; silent in a pipe."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()

    def step(self, done: int, total: int, label: str) -> None:
        if self._shown:
            self._stream.write(f"\r\x1b[K{done:,}/{total:,} {safe(label)[:80]}")
            self._stream.flush()

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
