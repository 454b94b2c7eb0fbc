"""YAML with positions: parse a text into values with lines and columns, and write JSON values as one-line YAML.

Only JSON values are allowed: no tags, no custom objects, no merge keys. `yes`, `no`, `on` and `off` are strings, as
in YAML 1.2. Nothing recurses on input, and expanded aliases count towards the limits.
Why suites are parsed with positions: docs/decisions/0020-suites-are-checked-first.md.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import NotUtf8Error, decode_utf8
from mcproof.core.text.json_document import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yaml import Event, MarkedYAMLError


MAX_BYTES = 4_000_000
DEEPEST = 60
"""Maximum nesting depth."""
MAX_NODES = 200_000
"""Maximum number of values in a file, including those repeated by aliases."""
_LONGEST_NUMBER = 300
_SHOWN = 60

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]++")
_OTHER_INTEGER = re.compile(r"0o[0-7]++|0x[0-9a-fA-F]++")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?")
_NOT_IN_JSON = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class YamlError(ValueError):
    """Text that cannot be read as YAML; `line` and `column` are None if unknown."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class Node(NamedTuple):
    """A value and its position; lines and columns count from 1."""

    value: dict[str, Node] | list[Node] | str | int | float | bool | None
    line: int
    column: int
    size: int = 1
    """Number of values, including this one."""
    depth: int = 1
    keys: dict[str, tuple[int, int]] = {}  # noqa: RUF012 (the default is never modified)
    """Line and column of each key of a mapping."""
    is_substituted: bool = False
    """Whether the text contained variables."""

    @property
    def kind(self) -> str:
        """The type of the value, with its article, for messages."""
        return kind_of(self.value, mapping="a mapping")


def json_value(node: Node) -> Any:
    """Return the value without positions. Recursion is safe: no node is deeper than DEEPEST."""
    value = node.value
    if isinstance(value, dict):
        return {key: json_value(member) for key, member in value.items()}
    return [json_value(item) for item in value] if isinstance(value, list) else value


def decode(data: bytes) -> str:
    """Decode UTF-8, with or without a byte-order mark. Raises YamlError."""
    if len(data) > MAX_BYTES:
        raise YamlError(f"larger than {MAX_BYTES:,} bytes")
    try:
        text = decode_utf8(data)
    except NotUtf8Error as error:
        raise YamlError(error.message, error.line, error.column) from None
    if match := _FORBIDDEN.search(text):
        message = f"the character U+{ord(match[0]):04X} is not allowed in YAML; use an escape in double quotes"
        raise YamlError(message, *_position_after(text[: match.start()]))
    return text


def _position_after(before: str) -> tuple[int, int]:
    """Return the line and column of the character after a text."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def parse(text: str) -> Node:
    """Parse the single document in a text. Raises YamlError."""
    import yaml

    # PyYAML may be built without libyaml; the pure Python parser emits the same events.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _TreeBuilder().build(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text) from None
    except (yaml.YAMLError, RecursionError):
        raise YamlError("not valid YAML") from None


def _syntax_error(error: MarkedYAMLError, text: str) -> YamlError:
    """Return the parser's error with its position, reworded for tabs and unclosed brackets."""
    message, mark = error.problem or error.context or "syntax error", error.problem_mark
    if mark is None:
        return YamlError(f"not valid YAML: {message}")
    line, column = _position(mark)
    lines = text.split("\n", line)
    if line <= len(lines) and lines[line - 1][column - 1 : column] == "\t":
        message = "tab used for indentation; YAML indents with spaces"
    opened = error.context_mark
    if opened is not None and opened.line + 1 < line and "flow" in (error.context or ""):
        message += f"; the list or mapping starts on line {opened.line + 1}"
    return YamlError(f"not valid YAML: {message}", line, column)


def _position(mark: Any) -> tuple[int, int]:
    return mark.line + 1, mark.column + 1


class _OpenCollection:
    """A list or mapping that has not ended yet."""

    def __init__(self, position: tuple[int, int], anchor: str | None, *, is_mapping: bool) -> None:
        self.position = position
        self.anchor = anchor
        self.is_mapping = is_mapping
        self.items: list[Node] = []
        self.members: dict[str, Node] = {}
        self.keys: dict[str, tuple[int, int]] = {}
        self.key: str | None = None
        self.size = self.depth = 1

    def node(self) -> Node:
        value = self.members if self.is_mapping else self.items
        return Node(value, *self.position, self.size, self.depth, self.keys)


class _TreeBuilder:
    """Builds a tree from parser events."""

    def __init__(self) -> None:
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, Node | None] = {}
        """The node of each anchor; None until it is complete."""
        self._root: Node | None = None
        self._nodes = 0

    def build(self, events: Iterator[Event]) -> Node:
        import yaml

        handlers: dict[type[Event], Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._start_mapping,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceStartEvent: self._start,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._start_document,
        }
        for event in events:
            handle = handlers.get(type(event))
            if handle is not None:
                handle(event)
        return self._root if self._root is not None else Node(None, 1, 1)

    def _start_document(self, event: Any) -> None:
        if self._root is not None:
            raise YamlError("more than one document", *_position(event.start_mark))

    def _end(self, _: Any) -> None:
        done = self._open.pop()
        node = done.node()
        if done.anchor is not None:
            self._anchors[done.anchor] = node
        self._add(node)

    def _start_mapping(self, event: Any) -> None:
        self._start(event, is_mapping=True)

    def _start(self, event: Any, *, is_mapping: bool = False) -> None:
        position = _position(event.start_mark)
        self._refuse_tag(event, position)
        if len(self._open) >= DEEPEST:
            raise YamlError(f"nested deeper than {DEEPEST} levels", *position)
        if self._awaits_key():
            raise YamlError("a key must be a string", *position)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_OpenCollection(position, event.anchor, is_mapping=is_mapping))

    def _refuse_tag(self, event: Any, position: tuple[int, int]) -> None:
        if event.tag is not None:
            raise YamlError(f"the tag `{event.tag[:_SHOWN]}` is not allowed", *position)

    def _awaits_key(self) -> bool:
        return bool(self._open) and self._open[-1].is_mapping and self._open[-1].key is None

    def _scalar(self, event: Any) -> None:
        mark, value = event.start_mark, event.value
        position = line, column = mark.line + 1, mark.column + 1
        if event.tag is not None:
            self._refuse_tag(event, position)
        if self._awaits_key():
            self._key(value, position, is_plain=not event.style)
            return
        if not event.style and event.implicit[0]:
            value = _resolved(value, position)
        node = Node(value, line, column)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._add(node)

    def _key(self, key: str, position: tuple[int, int], *, is_plain: bool) -> None:
        holder = self._open[-1]
        if key == "<<" and is_plain:
            raise YamlError("the merge key `<<` is not in YAML 1.2; repeat the keys", *position)
        if key in holder.members:
            first = holder.keys[key][0]
            raise YamlError(f"duplicate key `{key[:_SHOWN]}`; first used on line {first}", *position)
        holder.key = key
        holder.keys[key] = position

    def _alias(self, event: Any) -> None:
        position = _position(event.start_mark)
        if self._awaits_key():
            raise YamlError("a key must be a string", *position)
        if event.anchor not in self._anchors:
            raise YamlError(f"unknown anchor `&{event.anchor[:_SHOWN]}`", *position)
        node = self._anchors[event.anchor]
        if node is None:
            raise YamlError(f"circular alias `*{event.anchor[:_SHOWN]}`", *position)
        self._add(node._replace(line=position[0], column=position[1]))

    def _add(self, node: Node) -> None:
        self._nodes += 1
        # `size` counts what aliases expand to: a few lines of them can stand for billions of values.
        if self._nodes > MAX_NODES or node.size > MAX_NODES:
            raise YamlError(f"more than {MAX_NODES:,} values", node.line, node.column)
        if not self._open:
            self._root = node
            return
        holder = self._open[-1]
        holder.size += node.size
        holder.depth = max(holder.depth, node.depth + 1)
        if len(self._open) + node.depth - 1 > DEEPEST:  # an alias may refer to a deep value
            raise YamlError(f"nested deeper than {DEEPEST} levels", node.line, node.column)
        if holder.key is not None:
            holder.members[holder.key] = node
            holder.key = None
        else:
            holder.items.append(node)


def _resolved(text: str, position: tuple[int, int]) -> str | int | float | bool | None:
    """Return the value of an unquoted scalar."""
    if text in _NULLS:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if text[0] not in "+-.0123456789":
        return text
    if len(text) > _LONGEST_NUMBER:
        if _INTEGER.fullmatch(text):
            raise YamlError("number too long; quote it to make it a string", *position)
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OTHER_INTEGER.fullmatch(text):
        return int(text, 0)
    if _NOT_IN_JSON.fullmatch(text):
        raise YamlError(f"`{text}` is not a JSON number; quote it to make it a string", *position)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise YamlError(f"the number `{text[:_SHOWN]}` is too large", *position)
        return number
    return text


DEEPEST_VALUE = DEEPEST - 10
"""Maximum nesting depth of a value; a suite adds levels of its own."""
LONGEST_TEXT = 100_000
_LONGEST_KEY = 500
"""Longer keys need the explicit `? key` form; an escape takes up to ten characters."""
_PLAIN = re.compile(r"(?:-{1,2}|/|\./)?[A-Za-z_][A-Za-z0-9_./=-]*+(?: [A-Za-z_][A-Za-z0-9_./-]*+)*+")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that are not strings unless quoted, in YAML 1.1 or 1.2, whatever their case."""
_VARIABLE = re.compile(r"\$\{[^{}]*+\}")


class UnwritableError(ValueError):
    """A value that cannot be written to a suite; the message is the reason."""


def to_yaml(value: Any) -> str:
    """Return a JSON value as YAML. Raises UnwritableError."""
    return _to_yaml(value, 1)


def _to_yaml(value: Any, depth: int) -> str:
    if depth > DEEPEST_VALUE:
        raise UnwritableError("nested too deeply")
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key(name)}: {_to_yaml(member, depth + 1)}' for name, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_to_yaml(item, depth + 1) for item in value)}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _number(value)


def _number(value: float) -> str:
    if isinstance(value, float) and not isfinite(value):
        raise UnwritableError("it contains a number that is too large")
    if isinstance(value, int) and value.bit_length() > 3 * _LONGEST_NUMBER:  # a digit takes over three bits
        raise UnwritableError("it contains a number that is too long")
    return repr(value)


def scalar(value: str) -> str:
    """Return a string as YAML, with everything that looks like a variable escaped."""
    return with_variables(escape_variables(value))


def escape_variables(value: str) -> str:
    """Return a string that variable substitution turns back into `value`."""
    return _VARIABLE.sub(r"$\g<0>", value) if "${" in value else value


def with_variables(value: str) -> str:
    """Return a string as YAML, with its variables left for substitution."""
    if len(value) > LONGEST_TEXT:
        raise UnwritableError("it contains a string that is too long")
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return f'"{"".join(map(_escaped, value))}"'


def key(name: str) -> str:
    """Return a mapping key as YAML, without its colon. Variables in keys are not substituted."""
    quoted = with_variables(name)
    return quoted if len(quoted) <= _LONGEST_KEY else f"? {quoted} "


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise UnwritableError("it contains a lone surrogate")
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def comment_text(untrusted: str, most: int = 200) -> str:
    """Return untrusted text for a comment: one line, printable, cropped."""
    cropped = untrusted if len(untrusted) <= most else f"{untrusted[: most - 1]}…"
    return "".join(
        character
        if character.isprintable()
        else " "
        if character in "\n\t\r"
        else character.encode("unicode-escape").decode()
        for character in cropped
    ).strip()


def count_values(value: Any) -> int:
    """Count the values in a JSON value, itself included. Recursive: only for values that `to_yaml` accepts."""
    if isinstance(value, dict):
        return 1 + sum(map(count_values, value.values()))
    return 1 + sum(map(count_values, value)) if isinstance(value, list) else 1
