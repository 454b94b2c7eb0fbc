"""JSON documents with positions: parse, locate pointers, change single members and keep every other byte.

The standard library parses. A JSON pointer becomes a line only on request, so a clean file costs nothing. Edits can
be made one after the other (`RevisedText`) and shown as a unified diff.
Why positions are computed on demand: docs/decisions/0016-positions-on-demand.md.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from json.decoder import JSONDecoder
from typing import Any

from mcproof.core.errors import InputError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_positions import Layout, Pointer, Span, repeated_keys, scan, wanted_tree


def kind_of(value: Any, *, mapping: str = "an object", other: str = "null") -> str:
    """The type of a parsed value, in words with an article; formats differ in the word for a mapping."""
    kinds = {dict: mapping, list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), other)


class Edit(NamedTuple):
    """Replace a range of a text."""

    start: int
    end: int
    replacement: str


class Position(NamedTuple):
    """A position in a text: line and column from 1, columns in characters."""

    line: int
    column: int


class JsonText:
    """A JSON document: its text, its value and, on demand, the position of any part."""

    def __init__(self, text: str, value: Any, *, has_duplicate_keys: bool = False) -> None:
        self.text = text
        self.value = value
        self.has_duplicate_keys = has_duplicate_keys
        self.byte_order_mark = b""
        """The byte order mark before the text, if the file has one."""

    @classmethod
    def parse(cls, text: str, file: str) -> JsonText:
        """Parse a text; raise an InputError with the position of a syntax error."""
        repeated = False

        def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            nonlocal repeated
            # Where keys are repeated is found by `repeated_keys`, in a slow pass that few documents need.
            members = dict(pairs)
            if len(members) != len(pairs):
                repeated = True
            return members

        try:
            value = _decode(text, build)
        except json.JSONDecodeError as error:
            raise InputError(_expected(text, error), file=file, line=error.lineno, column=error.colno) from None
        except RecursionError:
            raise InputError("nested too deeply to parse", file=file) from None
        return cls(text, value, has_duplicate_keys=repeated)

    @cached_property
    def is_plain(self) -> bool:
        """Whether all its characters, also escaped ones, are ASCII and either printable or whitespace."""
        text = self.text
        return text.isascii() and ("\\" not in text or "\\u" not in text)  # a search for one character is fast

    def encode(self, text: str) -> bytes:
        """Encode a text like this document's file."""
        return self.byte_order_mark + text.encode()

    def positions(self, offsets: Iterable[int]) -> list[Position]:
        """The positions of ascending offsets, in one pass.

        A line ends at a line feed, whether or not a carriage return precedes it.
        """
        line, seen, start_of_line = 1, 0, 0
        positions = []
        for offset in offsets:
            passed = self.text.count("\n", seen, offset)
            if passed:
                line += passed
                start_of_line = self.text.rfind("\n", seen, offset) + 1
            seen = offset
            positions.append(tuple.__new__(Position, (line, offset - start_of_line + 1)))
        return positions

    def line_end(self, offset: int, most: int) -> int:
        """The end of the line at an offset, without its line ending.

        If the line is longer than `most` characters after the offset, that is any offset beyond these, so that the time
        for a document without line feeds stays linear.
        """
        end = self.text.find("\n", offset, offset + most + 2)
        if end < 0:
            end = min(len(self.text), offset + most + 2)
        return end - 1 if end > offset and self.text[end - 1] == "\r" else end

    def spans(self, pointers: Iterable[Pointer]) -> dict[Pointer, Span]:
        """The span of each pointer; pointers that do not exist in the document are omitted."""
        asked = list(pointers)
        nodes = wanted_tree(asked)
        scan(self.text, nodes[""], last_wins=self.has_duplicate_keys)
        spans = ((pointer, nodes[pointer].span) for pointer in asked)
        return {pointer: span for pointer, span in spans if span is not None}

    def member_edits(self, changes: Sequence[tuple[Pointer, str, Any]]) -> list[Edit]:
        """The edits that set `key: value` in each object at `pointer`, formatted like the neighbouring members.

        An existing member keeps its position and gets the new value; a new one follows the last. Returns one edit per
        change, in the same order.
        """
        nodes = wanted_tree(pointer for pointer, _, _ in changes)
        asked = []
        for pointer, key, value in changes:
            nodes[pointer].needs_layout = True
            asked.append((nodes[pointer], nodes[pointer].child(key), key, value))
        scan(self.text, nodes[""], last_wins=self.has_duplicate_keys)
        lists_expanded = re.search(r'\[[ \t]*\r?\n[ \t]*"', self.text) is not None
        edits: list[Edit] = []
        for holder, member, key, value in asked:
            layout = holder.layout
            if layout is None:
                raise LookupError(f"no object to add `{key}` to")
            written = _written(value, layout, self.text, expanded=lists_expanded)
            if member.span is not None:
                edits.append(Edit(member.span.start, member.span.end, written))
            else:
                new = f",{layout.before_key}{_json(key)}{layout.colon}{written}"
                edits.append(Edit(layout.value_end, layout.value_end, new))
        return edits

    def duplicate_keys(self) -> list[tuple[Pointer, str, Span]]:
        """Every repeated key: the object's pointer, the key and the span of the repetition."""
        return list(repeated_keys(self.text)) if self.has_duplicate_keys else []


def splice(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits, given in ascending order, to a text."""
    pieces, at = [], 0
    for start, end, replacement in edits:
        pieces += [text[at:start], replacement]
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _written(value: Any, layout: Layout, text: str, *, expanded: bool) -> str:
    """A new member's value in its neighbours' style: a list is expanded to several lines where other lists are."""
    if not (isinstance(value, list) and value and expanded and "\n" in layout.before_key):
        return _json(value, separator=", " if " " in layout.colon else ",")
    line = layout.before_key
    outdent = text[layout.value_end : layout.close]
    indent = line[len(outdent) :] if line.startswith(outdent) else "  "
    entries = ",".join(f"{line}{indent}{_json(entry)}" for entry in value)
    return f"[{entries}{line}]"


def _json(value: Any, separator: str = ", ") -> str:
    """A value as JSON, unescaped where it can be encoded."""
    text = json.dumps(value, ensure_ascii=False, separators=(separator, ": "))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot encode
        return json.dumps(value, separators=(separator, ": "))
    return text


def _decode(text: str, build: Any) -> Any:
    try:
        return JSONDecoder(object_pairs_hook=build, parse_constant=_no_constant).decode(text)
    except json.JSONDecodeError:
        raise
    except _NotJsonError as error:
        # The parser does not report the position; the word is outside every string.
        outside = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)', re.DOTALL)
        at = next(match.start() for match in outside.finditer(text) if match[1])
        raise json.JSONDecodeError(f"`{error}` is JavaScript, not JSON", text, at) from None
    except ValueError:
        # An integer with more digits than Python converts: valid JSON, so read it as a float.
        return JSONDecoder(object_pairs_hook=build, parse_constant=_no_constant, parse_int=_long_int).decode(text)


class _NotJsonError(ValueError):
    """NaN or Infinity, which Python accepts and JSON does not have."""


def _no_constant(word: str) -> Any:
    raise _NotJsonError(word)


def _long_int(digits: str) -> int | float:
    # Python converts at most 4,300 digits, unless the user has set another limit.
    return int(digits) if len(digits) < 4000 else float(digits)


def _expected(text: str, error: json.JSONDecodeError) -> str:
    """A parser error in plain words."""
    if not text.strip(" \t\n\r"):
        return "not JSON: the input is empty"
    if error.pos >= len(text.rstrip(" \t\n\r")):
        return "not JSON: unexpected end of file"
    here = text[error.pos]
    if here in "}]" and text[: error.pos].rstrip(" \t\n\r").endswith(","):
        return f"not JSON: a comma before `{here}` is not allowed"
    wordings = {
        "Expecting value": "expected a value",
        "Expecting property name enclosed in double quotes": "expected a key in double quotes or `}`",
        "Expecting ':' delimiter": "expected `:` after the key",
        "Expecting ',' delimiter": "expected `,` or the end of the list or object",
        "Extra data": "expected the end of the document; a snapshot is one JSON value",
        "Unterminated string starting at": "unterminated string",
        "Invalid control character": "control character in a string: unterminated, or the character must be escaped",
        "Illegal trailing comma before end of object": "a comma before `}` is not allowed",
        "Illegal trailing comma before end of array": "a comma before `]` is not allowed",
    }
    expected = next((words for start, words in wordings.items() if error.msg.startswith(start)), None)
    return f"not JSON: {expected or error.msg[:1].lower() + error.msg[1:]}"


_Piece = tuple[int, int] | str
"""A range of the original text, or new text."""


class RevisedText:
    """A text as pieces of its original and new text; a revision leaves its predecessor unchanged."""

    def __init__(self, original: str, pieces: list[_Piece] | None = None) -> None:
        self._original = original
        self._pieces: list[_Piece] = [(0, len(original))] if pieces is None else pieces
        texts = list(map(self._text_of, self._pieces))
        self._starts = [0, *accumulate(map(len, texts))]
        self.text = "".join(texts)

    def revised(self, edits: Iterable[Edit]) -> RevisedText:
        """The text after these edits, which are in ascending order and do not overlap."""
        pieces: list[_Piece] = []
        at = 0
        for start, end, replacement in edits:
            pieces += self._cut(at, start)
            if replacement:
                pieces.append(replacement)
            at = end
        pieces += self._cut(at, len(self.text))
        return RevisedText(self._original, pieces)

    def edits(self, offset: int = 0) -> Iterator[Edit]:
        """The edits that turn the original into this text; `offset` is where the original starts in a larger text."""
        at, new = 0, ""
        for piece in (*self._pieces, (len(self._original), len(self._original))):
            if isinstance(piece, str):
                new += piece
                continue
            start, end = piece
            if new or start > at:
                yield Edit(offset + at, offset + start, new)
            at, new = end, ""

    def _cut(self, start: int, end: int) -> Iterator[_Piece]:
        """The pieces of a range of the current text."""
        for index in range(bisect_right(self._starts, start) - 1, len(self._pieces)):
            at, piece = self._starts[index], self._pieces[index]
            first, last = max(start - at, 0), end - at
            if last <= 0:
                break
            if isinstance(piece, str):
                cut: _Piece = piece[first:last]
            else:
                cut = (piece[0] + first, min(piece[0] + last, piece[1]))
            yield cut

    def _text_of(self, piece: _Piece) -> str:
        return piece if isinstance(piece, str) else self._original[piece[0] : piece[1]]


def unified_diff(before: str, edits: list[Edit], name: str, context: int = 2) -> Iterator[str]:
    """Yield a unified diff of a text and its edited form, as `diff -u` prints it.

    Comparing two long texts line by line would take far too long.
    """
    if not edits:
        return
    yield f"--- {name}\n"
    yield f"+++ {name} (fixed)\n"
    starts = [0, *accumulate(len(line) + 1 for line in before.split("\n"))]
    last_line = len(starts) - 2 if before.endswith("\n") else len(starts) - 1
    shift = 0
    for hunk in _hunks(edits, starts, context):
        first = max(0, hunk[0].first - context)
        stop = min(last_line, hunk[-1].stop + context)
        lines: list[tuple[str, str]] = []
        at = first
        for block in hunk:
            changed = splice(before[starts[block.first] : starts[block.stop]], block.edits(starts))
            lines += [(" ", line) for line in _lines(before[starts[at] : starts[block.first]])]
            lines += _marked(_lines(before[starts[block.first] : starts[block.stop]]), _lines(changed))
            at = block.stop
        lines += [(" ", line) for line in _lines(before[starts[at] : starts[stop]])]
        old, new = (sum(prefix in (" ", side) for prefix, _ in lines) for side in "-+")
        yield f"@@ -{first + 1},{old} +{first + 1 + shift},{new} @@\n"
        shift += new - old
        for prefix, line in lines:
            yield f"{prefix}{line}" if line.endswith("\n") else f"{prefix}{line}\n\\ No newline at end of file\n"


def _marked(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """Changed lines, without equal ones at either end: an edit may start or end with a whole line."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone, come = old[same : len(old) - tail], new[same : len(new) - tail]
    unchanged_end = [(" ", line) for line in old[len(old) - tail :]]
    return [
        *((" ", line) for line in old[:same]),
        *(("-", line) for line in gone),
        *(("+", line) for line in come),
        *unchanged_end,
    ]


class _Block(NamedTuple):
    """Lines touched by edits: the first, the one after the last, and the edits."""

    first: int
    stop: int
    touching: list[Edit]

    def edits(self, starts: list[int]) -> list[Edit]:
        """The edits, with offsets from the start of the block."""
        offset = starts[self.first]
        return [Edit(edit.start - offset, edit.end - offset, edit.replacement) for edit in self.touching]


def _hunks(edits: list[Edit], starts: list[int], context: int) -> list[list[_Block]]:
    """Group edits by the lines they touch, and nearby blocks into hunks."""
    hunks: list[list[_Block]] = []
    for edit in edits:
        first, stop = bisect_right(starts, edit.start) - 1, bisect_right(starts, edit.end)
        previous = hunks[-1][-1] if hunks else None
        if previous is not None and first < previous.stop:
            previous.touching.append(edit)
            hunks[-1][-1] = previous._replace(stop=max(stop, previous.stop))
        elif previous is not None and first - previous.stop <= 2 * context:
            hunks[-1].append(_Block(first, stop, [edit]))
        else:
            hunks.append([_Block(first, stop, [edit])])
    return hunks


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends; only a line feed ends a line."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
