"""JSON text with positions: read it, find where a pointer stands, change one member, keep every other byte.

Parsing is the standard library's; positions are found only when somebody asks, in one pass over the text for
all pointers at once. That pass steps into the containers it needs and lets the C scanner jump over the rest,
so a clean file costs nothing and a few pointers cost little more than a second parse.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]
from json.scanner import make_scanner
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Pointer = str
"""A JSON pointer (RFC 6901): `/tools/0/inputSchema`; the empty string is the whole document."""

_space: Callable[[str, int], re.Match[str]] = re.compile(r"[ \t\n\r]*").match  # type: ignore[assignment]
_plain_key = re.compile(r'[ \t\n\r]*+"([^"\\]*+)"[ \t\n\r]*+:[ \t\n\r]*+').match
# What is skipped is thrown away, so it is built cheaply, and no number is too long for it.
_skip_value = make_scanner(JSONDecoder(object_pairs_hook=len, parse_int=float))  # type: ignore[arg-type]


def escape(token: str) -> str:
    """A key as it is written inside a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def unescape(token: str) -> str:
    """A pointer's token as the key that it names."""
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


def resolve(document: Any, pointer: Pointer) -> Any:
    """The value at a pointer. Raises LookupError where there is none."""
    value = document
    for token in pointer.split("/")[1:]:
        if isinstance(value, list):
            if not _is_index(token):
                raise LookupError(pointer)
            value = value[int(token)]
        elif isinstance(value, dict):
            value = value[unescape(token)]
        else:
            raise LookupError(pointer)
    return value


def _is_index(text: str) -> bool:
    """An array index of RFC 6901: decimal digits without a leading zero."""
    return text == "0" or (text[:1] in "123456789" and text.isascii() and text.isdigit() and len(text) < 16)


def kind_of(value: Any) -> str:
    """What kind of JSON value this is, with its article."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")


class Span(NamedTuple):
    """Where a value stands in the text: its first offset, the one after its last, and its key's (or -1)."""

    key: int
    start: int
    end: int

    @property
    def anchor(self) -> int:
        """The offset that a reader looks for: the key of a member, the first character of anything else."""
        return self.start if self.key < 0 else self.key


class Edit(NamedTuple):
    """A range of a text, and what stands there instead."""

    start: int
    end: int
    replacement: str


class Layout(NamedTuple):
    """How the last member of an object is written, so that another can be written like it."""

    before_key: str
    colon: str
    value_end: int
    close: int


class Position(NamedTuple):
    """A place in a text as people count: line and column from 1, columns in characters."""

    line: int
    column: int


class JsonText:
    """A JSON document: its text, its value, and the position of any part of it on demand."""

    def __init__(self, text: str, value: Any, *, has_duplicate_keys: bool = False) -> None:
        self.text = text
        self.value = value
        self.has_duplicate_keys = has_duplicate_keys
        self.byte_order_mark = b""
        """What stood before the text in the file, if anything."""
        self._line_starts: list[int] | None = None

    @classmethod
    def parse(cls, text: str, file: str) -> JsonText:
        """Read `text`, or raise an InputError that says where it stops being JSON."""
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
            raise InputError("this JSON is nested too deeply for the parser; no tool catalog is", file=file) from None
        return cls(text, value, has_duplicate_keys=repeated)

    def encode(self, text: str) -> bytes:
        """A text as this document's file holds its own."""
        return self.byte_order_mark + text.encode()

    def positions(self, offsets: Iterable[int]) -> list[Position]:
        """The positions of many offsets in ascending order, in one sweep.

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
            found.append(Position(line, offset - start_of_line + 1))
        return found

    def line_bounds(self, number: int) -> tuple[int, int]:
        """The offsets at which a line starts and ends, its end of line not included."""
        starts = self._starts()
        start = starts[number - 1]
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return start, end - 1 if end > start and self.text[end - 1] == "\r" else end

    def _starts(self) -> list[int]:
        if self._line_starts is None:
            lengths = map(len, self.text.split("\n"))
            self._line_starts = [start + number for number, start in enumerate(accumulate(lengths, initial=0))][:-1]
        return self._line_starts

    def spans(self, pointers: Iterable[Pointer]) -> dict[Pointer, Span]:
        """Where each of these pointers stands; those that the document does not have are left out."""
        asked = list(pointers)
        nodes = _wanted(asked)
        _scan(self.text, nodes[""], last_wins=self.has_duplicate_keys)
        found = ((pointer, nodes[pointer].span) for pointer in asked)
        return {pointer: span for pointer, span in found if span is not None}

    def member_edits(self, changes: Sequence[tuple[Pointer, str, Any]]) -> list[Edit]:
        """The edits that give each object at `pointer` the member `key: value`, written as its neighbours are.

        An existing member keeps its place and gets the new value; a new one follows the last. There is one edit for
        each change, in the order of the changes.
        """
        nodes = _wanted(pointer for pointer, _, _ in changes)
        asked = []
        for pointer, key, value in changes:
            nodes[pointer].needs_layout = True
            asked.append((nodes[pointer], nodes[pointer].child(key), key, value))
        _scan(self.text, nodes[""], last_wins=self.has_duplicate_keys)
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
        """Every key that its object has already had: the object's pointer, the key, and where it is repeated."""
        return list(_repeated_keys(self.text)) if self.has_duplicate_keys else []


def splice(text: str, edits: Iterable[Edit]) -> str:
    """The text with these edits, which are in order, in place of what they replace."""
    pieces, at = [], 0
    for start, end, replacement in edits:
        pieces += [text[at:start], replacement]
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


class _Wanted(dict[str, "_Wanted"]):
    """What a scan looks for, as a tree of pointer tokens; the scan fills in what it finds.

    There is one for each finding, so what it starts with is said once, by the class.
    """

    span: Span | None = None
    layout: Layout | None = None
    needs_layout = False
    entered = False

    def child(self, key: str) -> _Wanted:
        found = self.get(key)
        if found is None:
            found = self[key] = _Wanted()
        return found

    def forget(self) -> None:
        """Drop what an earlier member of the same key gave: the last one is the one that was parsed."""
        stack = [self]
        while stack:
            node = stack.pop()
            node.span = node.layout = None
            if node.entered:  # only then can anything below have been found
                node.entered = False
                stack.extend(node.values())


def _wanted(pointers: Iterable[Pointer]) -> dict[Pointer, _Wanted]:
    """The node of each pointer in one tree, whose root is the node of the empty pointer."""
    nodes = {"": _Wanted()}
    for pointer in pointers:
        missing = []
        at = pointer
        while at not in nodes:
            missing.append(at)
            at = at[: at.rindex("/")]
        node = nodes[at]
        for step in reversed(missing):
            node = nodes[step] = node.child(unescape(step[len(at) + 1 :]))
            at = step
    return nodes


def _scan(text: str, root: _Wanted, *, last_wins: bool) -> None:
    """Fill in every span and layout below `root`. The text is known to be valid JSON.

    One turn of the loop for each member of a container in which something is wanted; every other value is
    jumped over in one call. Iterative, so that depth is no limit, and with the state of the innermost container
    in local variables: this is what a run with many findings spends its time on.
    """
    outer: list[tuple[_Wanted, int, int, int, bool, int, int, int, int]] = []  # the containers around `holder`
    holder, holder_key, holder_start, index, is_object = _Wanted(), -1, -1, 0, False
    wanted: _Wanted | None = root
    key, start, separator_end, key_end = -1, _space(text, 0).end(), 0, 0
    while True:
        if wanted is None:
            end = _skip_value(text, start)[1]
        elif (wanted or wanted.needs_layout) and text[start] in "{[" and _is_filled(text, start):
            outer.append((holder, holder_key, holder_start, index, is_object, separator_end, key, key_end, start))
            holder, holder_key, holder_start, index, is_object = wanted, key, start, 0, text[start] == "{"
            holder.entered = True
            separator_end = start + 1
            end = -1
        else:
            end = _skip_value(text, start)[1]
            wanted.span = Span(key, start, end)

        while end >= 0:  # a value has ended: so may have the containers it was the last of
            if not outer:
                return
            at = end if text[end : end + 1] == "," else _space(text, end).end()
            if text[at] == ",":
                separator_end = at + 1
                index += 1
                break
            holder.span = Span(holder_key, holder_start, at + 1)
            if holder.needs_layout and is_object:
                before_key, colon = text[separator_end:key], text[key_end:start]
                if not before_key and " " in colon and text[separator_end - 1] == "{":
                    before_key = " "  # a lone member does not show what separates members
                holder.layout = Layout(before_key, colon, end, at)
            holder, holder_key, holder_start, index, is_object, separator_end, key, key_end, start = outer.pop()
            end = at + 1

        if is_object:
            plain = _plain_key(text, separator_end)
            if plain is not None:
                key, token, key_end, start = plain.start(1) - 1, plain[1], plain.end(1) + 1, plain.end()
            else:  # a key with escapes
                key = _space(text, separator_end).end()
                token, key_end = scanstring(text, key + 1)
                start = _space(text, _space(text, key_end).end() + 1).end()
        else:
            key, token, start = -1, str(index), _space(text, separator_end).end()
        wanted = holder.get(token)
        if last_wins and wanted is not None:
            wanted.forget()


def _is_filled(text: str, start: int) -> bool:
    """Whether the container that starts here has anything in it."""
    return text[_space(text, start + 1).end()] not in "}]"


def _repeated_keys(text: str) -> Iterable[tuple[Pointer, str, Span]]:
    """A slow pass over the whole text, taken only when the parser has met a repeated key."""
    token = re.compile(r'[ \t\n\r]*(?:([{}\[\],:])|(")|[^ \t\n\r{}\[\],:"]+)')
    at = 0
    path: list[str] = []
    seen: list[set[str]] = []  # the keys of each open object; an array has none
    is_array: list[bool] = []
    key_expected = False
    while found := token.match(text, at):
        at = found.end()
        mark = found[1]
        if found[2]:
            start = at - 1
            value, at = scanstring(text, at)
            if key_expected:
                if value in seen[-1]:
                    yield "".join("/" + escape(step) for step in path[:-1]), value, Span(-1, start, at)
                seen[-1].add(value)
                path[-1] = value
                key_expected = False
        elif mark == "{":
            seen.append(set())
            is_array.append(False)
            path.append("")
            key_expected = True
        elif mark == "[":
            seen.append(set())
            is_array.append(True)
            path.append("0")
        elif mark in ("}", "]"):
            seen.pop()
            is_array.pop()
            path.pop()
            key_expected = False
        elif mark == ",":
            if is_array[-1]:
                path[-1] = str(int(path[-1]) + 1)
            else:
                key_expected = True


def _written(value: Any, layout: Layout, text: str, *, expanded: bool) -> str:
    """A new member's value in the style of its neighbours: a list on lines of its own where they have them."""
    if not (isinstance(value, list) and value and expanded and "\n" in layout.before_key):
        return _json(value, separator=", " if " " in layout.colon else ",")
    line = layout.before_key
    outdent = text[layout.value_end : layout.close]
    indent = line[len(outdent) :] if line.startswith(outdent) else "  "
    entries = ",".join(f"{line}{indent}{_json(entry)}" for entry in value)
    return f"[{entries}{line}]"


def _json(value: Any, separator: str = ", ") -> str:
    """A value as JSON, in letters where they can be written and in escapes where they cannot."""
    text = json.dumps(value, ensure_ascii=False, separators=(separator, ": "))
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(value, separators=(separator, ": "))
    return text


def _decode(text: str, build: Any) -> Any:
    try:
        return JSONDecoder(object_pairs_hook=build, parse_constant=_no_constant).decode(text)
    except json.JSONDecodeError:
        raise
    except _NotJsonError as error:
        # The parser does not tell where it met the word; it stands outside every string, so look there.
        outside = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)', re.DOTALL)
        at = next(found.start() for found in outside.finditer(text) if found[1])
        raise json.JSONDecodeError(f"`{error}` is a word of JavaScript, not of JSON", text, at) from None
    except ValueError:
        # An integer of more digits than Python converts: valid JSON, so read it as a float.
        return JSONDecoder(object_pairs_hook=build, parse_constant=_no_constant, parse_int=_long_int).decode(text)


class _NotJsonError(ValueError):
    """NaN and Infinity, which Python reads and JSON does not have."""


def _no_constant(word: str) -> Any:
    raise _NotJsonError(word)


def _long_int(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float(digits)


def _expected(text: str, error: json.JSONDecodeError) -> str:
    """What the parser had hoped for, in words that do not need its source."""
    if not text.strip(" \t\n\r"):
        return "not JSON: the input is empty"
    if error.pos >= len(text.rstrip(" \t\n\r")):
        return "not JSON: the text ends in the middle of a value; the file is cut short"
    here = text[error.pos]
    if here in "}]" and text[: error.pos].rstrip(" \t\n\r").endswith(","):
        return f"not JSON: a comma before `{here}` is not allowed"
    known = {
        "Expecting value": "expected a value",
        "Expecting property name enclosed in double quotes": "expected a key in double quotes or `}`",
        "Expecting ':' delimiter": "expected `:` after the key",
        "Expecting ',' delimiter": "expected `,` or the end of the list or object",
        "Extra data": "expected the end of the document; a snapshot is one JSON value",
        "Unterminated string starting at": "this string is never closed",
        "Invalid control character": "a line or control character inside a string: the string is never closed, or "
        "the character wants an escape",
        "Illegal trailing comma before end of object": "a comma before `}` is not allowed",
        "Illegal trailing comma before end of array": "a comma before `]` is not allowed",
    }
    expected = next((words for start, words in known.items() if error.msg.startswith(start)), None)
    return f"not JSON: {expected or error.msg[:1].lower() + error.msg[1:]}"
