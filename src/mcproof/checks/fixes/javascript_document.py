"""JavaScript and TypeScript source with positions: find an object literal, add or change its members, keep every byte.

tree-sitter parses; the source is never executed and never regenerated from its tree.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeGuard

from mcproof.checks.fixes.python_document import UncertainError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_document import Edit, splice

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    Others = Callable[[str], Iterable["JavaScriptText"]]

NARROWEST, WIDEST = 80, 120
"""A list is expanded to several lines beyond the width of the file's longest line, limited to this range."""
LONGEST_TRAIL = 6
"""The most constants a literal is followed through to the tool that uses it."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_CONSTANT = frozenset(("true", "false", "null", "number", "string"))
_WRAPPERS = frozenset(("as_expression", "satisfies_expression", "parenthesized_expression", "array", "pair"))
"""What may stand between a literal and the call or the object that describes a tool."""
_PASSING = ("fromJsonSchema", "jsonSchema")
"""Functions that return the schema that they get."""


def _is_import(node: Node | None) -> TypeGuard[Node]:
    return node is not None and node.type == "import_specifier"


class JavaScriptText:
    """A source file: its text, its tree, and its object literals by the positions of their members."""

    def __init__(self, file: str, data: bytes) -> None:
        from mcproof.source.pipeline import syntax_tree_of  # here, as fixes of snapshots load this module, too

        self.data = data
        try:
            self.text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UncertainError("it is not UTF-8") from error
        if data.startswith(b"\xef\xbb\xbf") or b"\0" in data:
            raise UncertainError("it has a byte-order mark or null bytes")
        self._root = syntax_tree_of(file, data).root_node
        if self._root.has_error:
            raise UncertainError("it cannot be parsed")
        self._starts = [0, *(line_end.end() for line_end in _LINE_END.finditer(self.text))]
        self._displays: dict[int, tuple[Node, str]] = {}
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            waiting += node.named_children
            for child in node.named_children if node.type == "object" else ():
                if (name := self._name_of(child)) is not None:
                    self._displays[child.start_byte] = node, name

    def display_with(self, key: str, line: int, column: int) -> Node | None:
        """The object literal with this key at this position (column in characters, from 1)."""
        if not 0 < line <= len(self._starts):
            return None
        at = len(self.text[: self._starts[line - 1] + column - 1].encode())
        display, key_there = self._displays.get(at, (None, ""))
        return display if key_there == key else None

    def names_in(self, display: Node) -> list[str | None]:
        """The names of its members; None for one that is computed, spread or a method."""
        return [self._name_of(child) for child in _members(display)]

    def encode(self, edits: Iterable[Edit]) -> bytes:
        """The file's bytes with these edits, given in ascending order."""
        return splice(self.text, edits).encode()

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both from 1, columns in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def require_owner(self, node: Node, tool: str, others: Others | None, trail: int = LONGEST_TRAIL) -> None:
        """Raise an UncertainError unless the value of this node is used only for the tool with this name.

        `others` gives the other files of the project that have a name in them; None if not all are known.
        """
        # Upwards until something names the tool. A value that two tools share must not be edited for one of them.
        while (parent := node.parent) is not None and trail:
            if parent.type == "object":
                given = next((_value(child) for child in _members(parent) if self._name_of(child) == "name"), None)
                if given is not None and self._string(given) == tool:
                    return
            elif parent.type == "arguments":
                first = next(iter(_members(parent)), None)
                if first is not None and first != node and self._string(first) == tool:
                    return
                call = parent.parent
                callee = call.child_by_field_name("function") if call is not None else None
                if call is None or callee is None or not self._of(callee).endswith(_PASSING):
                    break
                parent = call
            elif parent.type == "variable_declarator":
                name, declaration = parent.child_by_field_name("name"), parent.parent
                above = declaration.parent if declaration is not None else None
                is_exported = above is not None and above.type == "export_statement"
                if name is None or name.type != "identifier" or above is None or (is_exported and others is None):
                    break
                word = self._of(name)
                uses = [(self, use) for use in self._identifiers(word) if use != name]
                if is_exported and others is not None:
                    uses += [(text, use) for text in others(word) if text is not self for use in text._imported(word)]
                if len(uses) != 1:
                    raise UncertainError("it is not used in exactly one place")
                text, parent = uses[0]
                trail -= 1
                if text is not self:
                    text.require_owner(parent, tool, others, trail)
                    return
            elif parent.type not in _WRAPPERS:
                break
            node = parent
        raise UncertainError("its owner is unknown")

    def edit_of(self, display: Node, members: dict[str, Any]) -> list[Edit]:
        """The edits that set these members of a literal, formatted like the neighbouring ones.

        An existing member keeps its position and gets the new value; new ones follow the last.
        """
        names = self.names_in(display)
        if not names or None in names or len(set(names)) != len(names):
            raise UncertainError("it has computed or repeated keys")
        style = self._style(display)
        present = dict(zip(names, _members(display), strict=True))
        edits = []
        for name, value in members.items():
            if name in present:
                old = _value(present[name])
                is_empty = old is not None and old.type in ("array", "object") and not _members(old)
                if old is None or not (old.type in _CONSTANT or is_empty):
                    raise UncertainError("the current value is not a constant")
                edits.append(Edit(self._at(old.start_byte), self._at(old.end_byte), style.written(value)))
        new = {name: value for name, value in members.items() if name not in present}
        return sorted([*edits, *self._insertion(display, new, style)]) if new else sorted(edits)

    def _insertion(self, display: Node, new: dict[str, Any], style: _Style) -> list[Edit]:
        """Insert members after the last one, with a comma where it has none."""
        last = _members(display)[-1]
        tokens = [child for child in display.children if child.start_byte >= last.end_byte]
        comma = next((token for token in tokens if token.type == ","), None)
        items = [f"{style.key(name)}{style.colon}{style.written(value)}" for name, value in new.items()]
        after = self._at(last.end_byte)
        if style.line is None:
            joined = ", ".join(items)
            if comma is None:
                return [Edit(after, after, f", {joined}")]
            at = self._at(comma.end_byte)
            return [Edit(at, at, f" {joined},")]
        widest = min(WIDEST, max(NARROWEST, *map(len, _LINE_END.split(self.text))))
        lines = [
            item
            if len(style.line) + len(item) < widest or not isinstance(value, list) or not value
            else f"{style.key(name)}{style.colon}{style.expanded(value, trailing=comma is not None)}"
            for item, (name, value) in zip(items, new.items(), strict=True)
        ]
        block = f",{style.line}".join(lines)
        line_after = [token for token in tokens if token.start_point[0] == last.end_point[0]]
        comments = [token for token in line_after if token.type == "comment"]
        end = self._at(max([last.end_byte, *(token.end_byte for token in [comma, *comments] if token is not None)]))
        if comma is not None:
            return [Edit(end, end, f"{style.line}{block},")]
        if not comments:
            return [Edit(after, after, f",{style.line}{block}")]
        return [Edit(after, after, ","), Edit(end, end, f"{style.line}{block}")]

    def _style(self, display: Node) -> _Style:
        """The formatting of the last member."""
        last = _members(display)[-1]
        key, value = last.child_by_field_name("key"), _value(last)
        if key is None or value is None:
            raise UncertainError("its last member is not written as a key with a value")
        written = self._of(key)
        strings = re.search(r"[\"']", self._of(display))
        colon = self.text[self._at(key.end_byte) : self._at(value.start_byte)]
        start = self._starts[last.start_point[0]]
        margin = self.text[start : self._at(last.start_byte)]
        close = self.text[self._starts[display.end_point[0]] : self._at(display.end_byte) - 1]
        is_line = bool(start) and not margin.strip() and last.start_point[0] != display.start_point[0]
        newline = "\r\n" if self.text[start - 2 : start] == "\r\n" else self.text[start - 1 : start]
        unit = margin[len(close) :] if not close.strip() and margin.startswith(close) and margin != close else "  "
        return _Style(
            is_quoted=written[:1] in "\"'",
            quote=strings[0] if strings is not None else '"',
            colon=colon if re.fullmatch(r"[ \t]*:[ \t]*", colon) else ": ",
            line=f"{newline}{margin}" if is_line else None,
            indent=unit,
        )

    def _imported(self, name: str) -> list[Node]:
        """Every place in the file that may use what another file exports under a name, apart from a plain import."""
        uses = self._identifiers(name, "property_identifier")
        return [use for use in uses if not (_is_import(use.parent) and use.parent.child_by_field_name("alias") is None)]

    def _identifiers(self, name: str, *more: str) -> list[Node]:
        """Every place in the file that reads or exports a name."""
        kinds = ("identifier", "shorthand_property_identifier", *more)
        identifiers, waiting = [], [self._root]
        while waiting:
            node = waiting.pop()
            waiting += node.named_children
            if node.type in kinds and self._of(node) == name:
                identifiers.append(node)
        return identifiers

    def _name_of(self, member: Node) -> str | None:
        key = member.child_by_field_name("key") if member.type == "pair" else None
        if key is None or key.type not in ("property_identifier", "string"):
            return None
        return self._of(key) if key.type == "property_identifier" else self._string(key)

    def _string(self, node: Node) -> str | None:
        """The text of a string without escapes; None for anything else."""
        if node.type != "string" or any(child.type == "escape_sequence" for child in node.children):
            return None
        return self._of(node)[1:-1]

    def _of(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _at(self, byte: int) -> int:
        """The text offset of a byte."""
        return byte if len(self.text) == len(self.data) else len(self.data[:byte].decode("utf-8", "replace"))


def _members(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def _value(member: Node) -> Node | None:
    return member.child_by_field_name("value")


class _Style(NamedTuple):
    """The formatting of a member of a literal, for writing another like it."""

    is_quoted: bool
    quote: str
    colon: str
    line: str | None
    """The line ending and indentation before a member; None if members do not start lines."""
    indent: str

    def key(self, name: str) -> str:
        return self.written(name) if self.is_quoted or not _IDENTIFIER.fullmatch(name) else name

    def written(self, value: Any) -> str:
        """A value as a literal; fixes only set constants and lists of constants."""
        if isinstance(value, list):
            return f"[{', '.join(map(self.written, value))}]"
        if isinstance(value, str) and self.quote == "'":
            text = json.dumps(value, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
            return f"'{text}'"
        if value is None or isinstance(value, (str, bool, int)):
            return json.dumps(value, ensure_ascii=False)
        raise UncertainError("its new value cannot be written as a literal")

    def expanded(self, value: list[Any], *, trailing: bool) -> str:
        entries = ",".join(f"{self.line}{self.indent}{self.written(entry)}" for entry in value)
        return f"[{entries}{',' if trailing else ''}{self.line}]"
