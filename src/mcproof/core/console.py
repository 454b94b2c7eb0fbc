"""Terminal output: colours, progress, and escaping of untrusted text.

Text from outside reaches a terminal only through `safe`.
Why all input is treated as hostile: docs/decisions/0010-hostile-input.md.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

_UNSAFE = (
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_FIRST_PRINTABLE_UNSAFE = "\U000e0000"
"""The unsafe characters from here on are variation selectors too, which are printable for Python."""
_UNSAFE_IN_CONTENT = re.compile(rf"(?![\t\r\n]){_UNSAFE}|\r(?!\n)")
_WORD = re.compile(r"(?:`[^`]{1,40}`|\S)+")
"""A word to wrap; short code between backticks is not broken."""
_PAINT = re.compile("\x1b\\[[0-9;]*m")
_BATCH = 1000
"""How many pieces of a document are encoded at once."""
QUIET, NORMAL, VERBOSE = -1, 0, 1
"""How much is reported on standard error beside errors."""
_settings: dict[str, Any] = {"colour": "auto", "verbosity": NORMAL}
"""What the command line asks for. Output is global to a process, and so are its settings."""
_MOST_NAMED = 12
"""How many names a message lists."""
_LONGEST_NAME = 128
"""How much of a name it shows; the name comes from the server."""
_COLOURS = {"error": "31", "warning": "33", "note": "36", "help": "36", "dim": "2", "bold": "1", "good": "32"}


def safe(text: str) -> str:
    """Escape every control and invisible character of untrusted text."""
    if text.isprintable() and (text.isascii() or max(text) < _FIRST_PRINTABLE_UNSAFE):
        return text
    return re.sub(_UNSAFE, lambda match: match[0].encode("unicode-escape").decode(), text)


def safe_line(line: str) -> str:
    """Escape a line of untrusted text; its end and its tabs are kept."""
    body = line.rstrip("\r\n")
    return "\t".join(map(safe, body.split("\t"))) + line[len(body) :]


def shell_word(name: str) -> str:
    """Quote a file name for the shell, so that a hint works when pasted."""
    if name == "<stdin>":
        return "-"
    if re.fullmatch(r"[\w@%+=:,./-]+", name, re.ASCII):
        return name
    from shlex import quote

    return safe(quote(name))


def plural(count: int, word: str) -> str:
    """Return a number with its noun, such as "2 tools"."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def few(names: Sequence[str], most: int = 5) -> str:
    """The first of many names."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def cut(text: str, most: int) -> str:
    """A text of at most so many characters: cut after a word, with an ellipsis, and with its quotes closed."""
    if len(text) <= most:
        return text
    kept = text[: most - 2]
    # A long word, such as an address, is cut rather than left out.
    word = kept.rfind(" ")
    kept = (kept[:word] if word >= most // 2 else kept).rstrip(" ,;:\\")
    return f"{kept}…" + "".join(quote for quote in '`"' if kept.count(quote) % 2)


def listed_names(names: Iterable[str]) -> str:
    """The first of some names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - _MOST_NAMED:,} more" if len(listed) > _MOST_NAMED else ""
    shown = [name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…" for name in listed[:_MOST_NAMED]]
    return ", ".join(shown) + more or "none"


def nearest_or_all(name: str, names: list[str]) -> str:
    """A hint with the known name closest to `name`, or with all of them."""
    from mcproof.core.errors import nearest

    return nearest(name, names) or f" (there are {listed_names(names)})"


def display_width(text: str) -> int:
    """Return the width of a text in terminal columns: ideographs take two; accents, joiners and colours none."""
    if "\x1b" in text:
        text = _PAINT.sub("", text)
    if text.replace("·", "").isascii():  # a dot in most summaries must not load the tables of all characters
        return len(text)
    from unicodedata import category, east_asian_width

    widths = (
        0 if category(character) in ("Mn", "Me", "Cf") else 1 + (east_asian_width(character) in "WF")
        for character in text
    )
    return sum(widths)


def padded(text: str, width: int) -> str:
    """A text with blanks after it, up to a width in terminal columns."""
    return text + " " * (width - display_width(text))


def in_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of escaped cells as lines, in columns as wide as their widest cell."""
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(padded, row, widths)).rstrip()


def wrapped(text: str, width: int, *, used: int = 0, indent: int = 0) -> list[str]:
    """Break an escaped text, which may be painted, at blanks into lines of a width.

    The first line begins after `used` columns and may be empty; the others are indented. A word that is wider than a
    line keeps its own, so that a path or a command can be copied; a text without blanks, such as Chinese, is broken
    between ideographs.
    """
    if used + display_width(text) <= width:
        return [text]
    lines: list[str] = []
    line, room = "", width - used
    for word in _WORD.findall(text):
        joined = f"{line} {word}" if line else word
        if display_width(joined) <= room:
            line = joined
            continue
        if line or (used > indent and not lines):
            lines.append(line)
            room = width - indent
        *full, line = [word] if display_width(word) <= room else _broken(word, room, width - indent)
        room = width - indent if full else room
        lines += full
    lines.append(line)
    return [lines[0], *(f"{' ' * indent}{line}" for line in lines[1:])]


def _broken(word: str, room: int, next_room: int) -> list[str]:
    """Break a word before the ideographs that no longer fit into the first line, or into one of the next."""
    pieces, start, columns = [], 0, 0
    for index, character in enumerate(word):
        width = display_width(character)
        if width > 1 and columns + width > room and index > start:
            pieces.append(word[start:index])
            start, columns, room = index, 0, next_room
        columns += width
    return [*pieces, word[start:]]


def without_commands(line: str) -> str:
    """Escape workflow commands of CI runners in a line."""
    if "##" in line:
        line = re.sub(r"##(\w*)\[", r"##\1\\[", line)
    return line.replace("::", ":\\:", 1) if line.lstrip().startswith("::") else line


def harmless_lines(pieces: Iterable[str]) -> Iterator[str]:
    """Escape workflow commands in a text; each piece consists of whole lines."""
    for piece in pieces:
        if "##" in piece or "::" in piece:
            yield from map(without_commands, piece.splitlines(keepends=True))
        else:
            yield piece


def print_lines(pieces: Iterable[str], stream: TextIO) -> None:
    """Write lines to a stream, with workflow commands escaped."""
    stream.writelines(harmless_lines(pieces))


def set_console(colour: str = "auto", verbosity: int = NORMAL) -> None:
    """Set the use of colours (`auto`, `always` or `never`) and how much is reported on standard error."""
    _settings.update(colour=colour, verbosity=verbosity)


def print_note(sentence: str, least: int = NORMAL) -> None:
    """Print a message that is not an error on standard error, unless the user wants less than that."""
    if _settings["verbosity"] >= least:
        print_message(sentence)


def print_message(sentence: str) -> None:
    """Print a message on standard error, on one line; ignore a closed stream."""
    with suppress(OSError):
        sys.stderr.write(without_commands(f"mcproof: {safe(sentence)}\n"))
        sys.stderr.flush()


def print_document(pieces: Iterable[str]) -> None:
    """Print a whole document at once, always in UTF-8."""
    rendered = list(pieces)  # before anything is printed, as rendering may fail
    batches = ("".join(rendered[start : start + _BATCH]) for start in range(0, len(rendered), _BATCH))
    print_bytes(batch.encode("utf-8", "backslashreplace") for batch in batches)


def print_bytes(pieces: Iterable[bytes]) -> None:
    """Print content as it is, such as a catalog; on a terminal with its unsafe characters escaped."""
    sys.stdout.flush()
    if sys.stdout.isatty():
        # All of it at once: a piece may end inside a character.
        text = b"".join(pieces).decode(errors="backslashreplace")
        pieces = [_UNSAFE_IN_CONTENT.sub(_escaped_in_content, text).encode()]
    sys.stdout.buffer.writelines(pieces)
    sys.stdout.buffer.flush()


def _escaped_in_content(match: re.Match[str]) -> str:
    """A character as JSON and Python write it in a string, so that copied content means the same."""
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[offset : offset + 4]}" for offset in range(0, len(units), 4))


_CI_VARIABLES = ("GITHUB_ACTIONS", "TF_BUILD")
"""What CI runners set that run commands in the lines of a log."""


def print_diff(lines: Iterable[str]) -> None:
    """Print a diff that can be applied when it goes to a file or a pipe; on a terminal its text is escaped."""
    if any(map(os.environ.get, _CI_VARIABLES)):
        lines = map(without_commands, lines)
    print_document(lines)


def discard_output() -> None:
    """Redirect standard output to nowhere, after its reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


EXAMPLES = 3
"""How many findings of a rule are shown by default."""
PIPE_WIDTH = 120
"""The width of text that does not go to a terminal; fixed, so that the text depends on the run alone."""
_NARROWEST, _WIDEST = 40, 140


class Style:
    """How text is rendered: the capabilities of a stream (colour, Unicode, width), and how much is shown."""

    def __init__(
        self, *, colour: bool = False, unicode: bool = True, width: int = PIPE_WIDTH, examples: int | None = EXAMPLES
    ) -> None:
        self.colour = colour
        self.unicode = unicode
        self.width = width
        self.examples = examples
        """How many findings of a rule are shown; None for all."""

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """Return the style for a stream, `--color` and the environment (`NO_COLOR`, `FORCE_COLOR`, `COLUMNS`, …)."""
        wanted = stream.isatty() and os.environ.get("TERM") != "dumb"
        if _settings["colour"] != "auto":
            wanted = _settings["colour"] == "always"
        elif os.environ.get("NO_COLOR"):
            wanted = False
        elif os.environ.get("FORCE_COLOR"):
            wanted = True
        encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
        width = max(_NARROWEST, min(_WIDEST, _columns_of(stream)))
        return cls(colour=wanted, unicode=encoding.startswith("utf"), width=width)

    def narrower(self, columns: int) -> Style:
        """Return the style for text that is indented by some columns."""
        return Style(
            colour=self.colour, unicode=self.unicode, width=max(1, self.width - columns), examples=self.examples
        )

    def paint(self, text: str, *colours: str) -> str:
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(_COLOURS[colour] for colour in colours)}m{text}\x1b[0m"

    def text(self, text: str, limit: int = 300) -> str:
        """Escape and truncate untrusted text, in characters that the stream supports."""
        if len(text) > limit:
            text = text[:limit] + self.symbol("…", "...")
        text = safe(text)
        return text if self.unicode else text.encode("ascii", "backslashreplace").decode()

    def fitting(self, text: str, room: int) -> str:
        """Escape untrusted text and truncate it to a number of columns, but not within an escaped character."""
        shown = self.text(text, max(1, room))
        if len(text) <= room and display_width(shown) <= room:
            return shown
        ellipsis = self.symbol("…", "...")
        return self.beginning(text, room - len(ellipsis)) + ellipsis

    def sentence(self, text: str, room: int) -> str:
        """Escape untrusted text and truncate it to a number of columns after a word, if one ends in its second half."""
        shown, ellipsis = self.fitting(text, room), self.symbol("…", "...")
        if shown == self.text(text, max(1, room)) or " " not in shown[len(shown) // 2 :]:
            return shown
        return shown.rpartition(" ")[0].rstrip(" ,;:") + ellipsis

    def shortened(self, name: str, room: int) -> str:
        """Escape an untrusted name and crop it in the middle, as similar names often differ at their ends."""
        if len(name) <= room and display_width(shown := self.text(name)) <= room:
            return shown
        ellipsis = self.symbol("…", "...")
        room -= len(ellipsis)
        ending = self.ending(name, room // 2)
        return self.beginning(name, room - display_width(ending)) + ellipsis + ending

    def beginning(self, text: str, room: int) -> str:
        """Return as much of the beginning of an untrusted text as fits, escaped."""
        return "".join(self._fitting_characters(text[: 4 * max(1, room)], room))

    def ending(self, text: str, room: int) -> str:
        """Return as much of the end of an untrusted text as fits, escaped."""
        return "".join(reversed(list(self._fitting_characters(reversed(text[-4 * max(1, room) :]), room))))

    def _fitting_characters(self, characters: Iterable[str], room: int) -> Iterator[str]:
        """Return characters, each escaped, as long as they fit."""
        for character in characters:
            escaped = self.text(character)
            room -= display_width(escaped)
            if room < 0:
                return
            yield escaped

    def symbol(self, unicode: str, ascii: str) -> str:
        return unicode if self.unicode else ascii


def _columns_of(stream: TextIO) -> int:
    """Return the width to use for a stream: `COLUMNS`, else that of the terminal; fixed for a pipe."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isascii() and wanted.isdigit() and int(wanted[:5]) > 0:
        return int(wanted[:5])
    if not stream.isatty():
        return PIPE_WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or PIPE_WIDTH
    except (OSError, ValueError):  # not a terminal, or not even a file
        return PIPE_WIDTH


class ProgressLine:
    """A line on a terminal that is written anew; silent in a pipe."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self.is_shown = self._stream.isatty() and _settings["verbosity"] > QUIET

    def show(self, text: str) -> None:
        if self.is_shown:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()

    def clear(self) -> None:
        self.show("")


class Counter(ProgressLine):
    """Progress as a number of a total."""

    def step(self, done: int, total: int, label: str) -> None:
        self.show(f"{done:,}/{total:,} {safe(label)[:80]}")


@contextmanager
def interrupts_deferred() -> Iterator[list[object]]:
    """Defer interrupts until the block ends; yield the list of those that arrive."""
    import signal

    arrived: list[object] = []
    try:
        before = signal.signal(signal.SIGINT, lambda *_: arrived.append(None))
    except ValueError:  # not the main thread, the only one that is interrupted
        yield arrived
        return
    try:
        yield arrived
    finally:
        signal.signal(signal.SIGINT, before)
