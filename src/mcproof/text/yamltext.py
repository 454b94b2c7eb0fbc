"""YAML text as a tree in which everything knows its line and column.

The parser's events are read one by one, so depth costs no recursion. Only what JSON can say is a value: no tags, no
objects, no merging; `yes`, `no`, `on` and `off` are texts, as in YAML 1.2. What aliases unfold to is counted first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.suite.parse.problems import Problem, SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yaml import Event, MarkedYAMLError

MAX_BYTES = 4_000_000
DEEPEST = 60
"""How deep values may nest."""
MAX_NODES = 200_000
"""How many values a file may hold, those that aliases repeat included."""
_LONGEST_NUMBER = 300
_SHOWN = 60

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]++")
_OTHER_INTEGER = re.compile(r"0o[0-7]++|0x[0-9a-fA-F]++")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class Node(NamedTuple):
    """A value, and where it stands; lines and columns count from 1."""

    value: dict[str, Node] | list[Node] | str | int | float | bool | None
    line: int
    column: int
    size: int = 1
    """How many values it holds, itself included."""
    depth: int = 1
    """How deep it nests."""
    keys: dict[str, tuple[int, int]] = {}  # noqa: RUF012 (nobody writes into the default)
    """Where each key of a mapping stands."""
    is_filled: bool = False
    """Whether variables stood in it."""

    @property
    def kind(self) -> str:
        """What it is, in words."""
        value = self.value
        if value is None:
            return "nothing"
        if isinstance(value, bool):
            return "true or false"
        if isinstance(value, int | float):
            return "a number"
        if isinstance(value, str):
            return "a text"
        return "a list" if isinstance(value, list) else "a mapping"


def plain(node: Node) -> Any:
    """The value without its places. Nodes are never deeper than DEEPEST, so this may recurse."""
    value = node.value
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def decode(data: bytes, file: str) -> str:
    """The text in a file's bytes, a byte-order mark let pass. Raises SuiteError where it is no text."""
    if len(data) > MAX_BYTES:
        raise SuiteError([Problem(file, None, None, f"larger than {MAX_BYTES:,} bytes; no suite is")])
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SuiteError([Problem(file, 1, 1, "not UTF-8: this is UTF-16; save it as UTF-8")])
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        place = _place(data[: error.start].decode())
        what = f"not UTF-8: byte 0x{data[error.start]:02x} is no part of a character"
        raise SuiteError([Problem(file, *place, what)]) from None
    if found := _FORBIDDEN.search(text):
        what = f"the character U+{ord(found[0]):04X} is not allowed in YAML; write it as an escape in double quotes"
        raise SuiteError([Problem(file, *_place(text[: found.start()]), what)])
    return text


def _place(before: str) -> tuple[int, int]:
    """The line and column of what follows a text."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def parse(text: str, file: str) -> Node:
    """The one document in a text. Raises SuiteError that says where it is none."""
    import yaml

    # Without libyaml there is no such name; the other parser knows the same events.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(file).build(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        raise SuiteError([_stumble(error, text, file)]) from None
    except (yaml.YAMLError, RecursionError):
        raise SuiteError([Problem(file, None, None, "not YAML: it cannot be read")]) from None


def _stumble(error: MarkedYAMLError, text: str, file: str) -> Problem:
    """Where a text stops being YAML, in the parser's words where there are no better ones."""
    said, mark = error.problem or error.context or "it stops being YAML here", error.problem_mark
    if mark is None:
        return Problem(file, None, None, f"not YAML: {said}")
    line, column = _of(mark)
    lines = text.split("\n", line)
    if line <= len(lines) and lines[line - 1][column - 1 : column] == "\t":
        said = "a tab; YAML indents with spaces"
    opened = error.context_mark
    if opened is not None and opened.line + 1 < line and "flow" in (error.context or ""):
        said += f"; the list or mapping began on line {opened.line + 1}"
    return Problem(file, line, column, f"not YAML: {said}")


def _of(mark: Any) -> tuple[int, int]:
    return mark.line + 1, mark.column + 1


class _Open:
    """A list or mapping whose end has not come."""

    def __init__(self, place: tuple[int, int], anchor: str | None, *, is_mapping: bool) -> None:
        self.place = place
        self.anchor = anchor
        self.is_mapping = is_mapping
        self.items: list[Node] = []
        self.members: dict[str, Node] = {}
        self.keys: dict[str, tuple[int, int]] = {}
        self.key: str | None = None
        self.size = self.depth = 1

    def node(self) -> Node:
        value = self.members if self.is_mapping else self.items
        return Node(value, *self.place, self.size, self.depth, self.keys)


class _Builder:
    """Events in, a tree out."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: list[_Open] = []
        self._anchors: dict[str, Node | None] = {}
        """What each anchor names; None while that is not complete."""
        self._root: Node | None = None
        self._nodes = 0

    def build(self, events: Iterator[Event]) -> Node:
        import yaml

        takers: dict[type[Event], Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._start_mapping,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceStartEvent: self._start,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._start_document,
        }
        for event in events:
            take = takers.get(type(event))
            if take is not None:
                take(event)
        return self._root if self._root is not None else Node(None, 1, 1)

    def _start_document(self, event: Any) -> None:
        if self._root is not None:
            raise self._error(_of(event.start_mark), "a second document; a suite is one")

    def _end(self, _: Any) -> None:
        done = self._open.pop()
        node = done.node()
        if done.anchor is not None:
            self._anchors[done.anchor] = node
        self._add(node)

    def _error(self, place: tuple[int, int], message: str) -> SuiteError:
        return SuiteError([Problem(self._file, *place, message)])

    def _start_mapping(self, event: Any) -> None:
        self._start(event, is_mapping=True)

    def _start(self, event: Any, *, is_mapping: bool = False) -> None:
        place = _of(event.start_mark)
        self._refuse_tag(event, place)
        if len(self._open) >= DEEPEST:
            raise self._error(place, f"nested deeper than {DEEPEST} levels; no suite is")
        if self._awaits_key():
            raise self._error(place, "a key must be a text")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open(place, event.anchor, is_mapping=is_mapping))

    def _refuse_tag(self, event: Any, place: tuple[int, int]) -> None:
        if event.tag is not None:
            raise self._error(place, f"the tag `{event.tag[:_SHOWN]}` is not allowed: a suite has plain values only")

    def _awaits_key(self) -> bool:
        return bool(self._open) and self._open[-1].is_mapping and self._open[-1].key is None

    def _scalar(self, event: Any) -> None:
        mark, value = event.start_mark, event.value
        line, column = mark.line + 1, mark.column + 1
        if event.tag is not None:
            self._refuse_tag(event, (line, column))
        if self._awaits_key():
            self._key(value, (line, column), is_plain=not event.style)
            return
        if not event.style and event.implicit[0]:
            value = self._resolved(value, (line, column))
        node = Node(value, line, column)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._add(node)

    def _key(self, key: str, place: tuple[int, int], *, is_plain: bool) -> None:
        holder = self._open[-1]
        if key == "<<" and is_plain:
            raise self._error(place, "merging with `<<` is not in YAML 1.2; repeat the keys, or use `variables`")
        if key in holder.members:
            first = holder.keys[key][0]
            raise self._error(place, f"the key `{key[:_SHOWN]}` is there twice; the first is on line {first}")
        holder.key = key
        holder.keys[key] = place

    def _alias(self, event: Any) -> None:
        place = _of(event.start_mark)
        if self._awaits_key():
            raise self._error(place, "a key must be a text")
        if event.anchor not in self._anchors:
            raise self._error(place, f"there is no anchor `&{event.anchor[:_SHOWN]}` before this")
        node = self._anchors[event.anchor]
        if node is None:
            raise self._error(place, f"`*{event.anchor[:_SHOWN]}` stands within what it repeats, so it has no end")
        self._add(node._replace(line=place[0], column=place[1]))

    def _add(self, node: Node) -> None:
        self._nodes = self._nodes + 1
        if self._nodes > MAX_NODES or node.size > MAX_NODES:
            raise self._error((node.line, node.column), f"more than {MAX_NODES:,} values; no suite has so many")
        if not self._open:
            self._root = node
            return
        holder = self._open[-1]
        holder.size += node.size
        holder.depth = max(holder.depth, node.depth + 1)
        if len(self._open) + node.depth - 1 > DEEPEST:  # an alias can stand for something deep
            raise self._error((node.line, node.column), f"nested deeper than {DEEPEST} levels; no suite is")
        if holder.key is not None:
            holder.members[holder.key] = node
            holder.key = None
        else:
            holder.items.append(node)

    def _resolved(self, text: str, place: tuple[int, int]) -> str | int | float | bool | None:
        """What a text without quotes stands for."""
        if text in _NULLS:
            return None
        if text in _TRUTH:
            return _TRUTH[text]
        if text[0] not in "+-.0123456789":
            return text
        if len(text) > _LONGEST_NUMBER:
            if _INTEGER.fullmatch(text):
                raise self._error(place, "too long a number; in quotes it is a text")
            return text
        if _INTEGER.fullmatch(text):
            return int(text)
        if _OTHER_INTEGER.fullmatch(text):
            return int(text, 0)
        if _NO_NUMBER.fullmatch(text):
            raise self._error(place, f"`{text}` is no number that JSON has; in quotes it is a text")
        if _FLOAT.fullmatch(text):
            number = float(text)
            if number in (float("inf"), float("-inf")):
                raise self._error(place, f"`{text[:_SHOWN]}` is too large a number")
            return number
        return text
