"""JSON documents with positions: parse, locate JSON pointers, change single members and keep every other byte.

The standard library parses. A JSON pointer becomes a line here: `spans` and `positions` locate all requested pointers
in one pass over the text (see `json_positions`), and only on request, so a clean file costs nothing.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from json.decoder import JSONDecoder
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.errors import InputError
from mcproof.text.json_positions import repeated_keys, scan, wanted_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcproof.text.json_positions import Layout, Span
    from mcproof.text.pointers import Pointer


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
        found = []
        for offset in offsets:
            passed = self.text.count("\n", seen, offset)
            if passed:
                line += passed
                start_of_line = self.text.rfind("\n", seen, offset) + 1
            seen = offset
            found.append(tuple.__new__(Position, (line, offset - start_of_line + 1)))
        return found

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
        found = ((pointer, nodes[pointer].span) for pointer in asked)
        return {pointer: span for pointer, span in found if span is not None}

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
    except UnicodeEncodeError:  # a lone surrogate
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
        at = next(found.start() for found in outside.finditer(text) if found[1])
        raise json.JSONDecodeError(f"`{error}` is JavaScript, not JSON", text, at) from None
    except ValueError:
        # An integer with more digits than Python converts: valid JSON, so read it as a float.
        return JSONDecoder(object_pairs_hook=build, parse_constant=_no_constant, parse_int=_long_int).decode(text)


class _NotJsonError(ValueError):
    """NaN or Infinity, which Python accepts and JSON does not have."""


def _no_constant(word: str) -> Any:
    raise _NotJsonError(word)


def _long_int(digits: str) -> int | float:
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
    known = {
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
    expected = next((words for start, words in known.items() if error.msg.startswith(start)), None)
    return f"not JSON: {expected or error.msg[:1].lower() + error.msg[1:]}"
