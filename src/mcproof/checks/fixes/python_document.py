"""Python source with positions: find a dict literal, add or change its items, keep every other byte.

The standard library parses; the source is never executed and never regenerated from its tree. Edits apply to the text
of the file, with its line endings, tabs and encoding.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_document import Edit, splice

NARROWEST, WIDEST = 88, 120
"""A list is expanded to several lines beyond the width of the file's longest line, limited to this range."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_SPACED_COLON = re.compile(r"[ \t]*:[ \t]*")
_SPACED_COMMA = re.compile(r"[ \t]*,[ \t]*")


class UncertainError(Exception):
    """The effect of an edit is not certain, so it is not made."""


class PythonText:
    """A source file: its text, its tree, and its dict literals by the positions of their keys."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        try:
            self.encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            self.text = data.decode(self.encoding)
            # The whole file is written in this encoding, so bytes outside the edits must not change by it.
            if self.text.encode(self.encoding) != data:
                raise UncertainError("its encoding does not round-trip")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes in strings are not reported here
                self.tree = ast.parse(_LINE_END.sub("\n", self.text))
        except (SyntaxError, LookupError, ValueError, RecursionError, MemoryError) as error:
            raise UncertainError("it cannot be parsed") from error
        self._starts = [0, *(line_end.end() for line_end in _LINE_END.finditer(self.text))]
        self._parents: dict[ast.AST, ast.AST] = {}
        self._displays: dict[tuple[int, int], tuple[ast.Dict, str]] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, ast.expr_context):  # shared by many nodes
                    self._parents[child] = node
            if isinstance(node, ast.Dict):
                for key in node.keys:
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        self._displays[key.lineno, key.col_offset] = node, key.value

    def parents(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Each ancestor of a node with its child on the path, from the inside out."""
        while (parent := self._parents.get(node)) is not None:
            yield node, parent
            node = parent

    def display_with(self, key: str, line: int, column: int) -> ast.Dict | None:
        """The dict literal with this key at this position (column in characters, from 1)."""
        if not 0 < line <= len(self._starts):
            return None
        start = self._starts[line - 1]
        # Keys are stored by the columns of the parser, which count UTF-8 bytes.
        offset = len(self.text[start : start + column - 1].encode("utf-8", "surrogatepass"))
        display, key_there = self._displays.get((line, offset), (None, ""))
        return display if key_there == key else None

    def names_in(self, display: ast.Dict) -> list[str | None]:
        """The names of its items; None for one that is computed."""
        return [getattr(key, "value", None) for key in display.keys]

    def encode(self, edits: Iterable[Edit]) -> bytes:
        """The file's bytes with these edits, given in ascending order."""
        try:
            return splice(self.text, edits).encode(self.encoding)
        except UnicodeEncodeError:
            raise UncertainError("its encoding cannot represent the new text") from None

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both from 1, columns in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def edit_of(self, display: ast.Dict, members: dict[str, Any]) -> list[Edit]:
        """The edits that set these items in a dict literal, formatted like the neighbouring items.

        An existing item keeps its position and gets the new value; new ones follow the last.
        """
        keys = [key.value if isinstance(key, ast.Constant) else None for key in display.keys]
        if not keys or not all(isinstance(key, str) for key in keys) or len(set(keys)) != len(keys):
            raise UncertainError("it has computed or repeated keys")
        style = self._style(display)
        edits = [
            self._replacement(display.values[keys.index(key)], value, style)
            for key, value in members.items()
            if key in keys
        ]
        new = {key: value for key, value in members.items() if key not in keys}
        return sorted([*edits, *self._insertion(display, new, style)]) if new else sorted(edits)

    def parameter(self, line: int, column: int) -> ast.arg:
        """The parameter whose name is at a position; columns count characters from 1."""
        arguments = (node for node in ast.walk(self.tree) if isinstance(node, ast.arg) and node.lineno == line)
        parameter = next((node for node in arguments if self.position(self._start(node)) == (line, column)), None)
        if parameter is None:
            raise UncertainError("it is not a parameter")
        return parameter

    def annotated(self, parameter: ast.arg, annotation: str, field: str) -> list[Edit]:
        """The edits that annotate a parameter with a type, and with a `Field(…)` unless that is empty.

        A type that the function states is kept.
        """
        if any(_is_call_of(default, "Field") for default in self._defaults(parameter)):
            raise UncertainError("its default is a Field already")
        stated = parameter.annotation
        if stated is None:
            after = self._start(parameter) + len(parameter.arg)
            new = f"Annotated[{annotation}, {field}]" if field else annotation
            is_tight = self.text[after : after + 1] == "="
            edits = [Edit(after, after + is_tight, f": {new}{' = ' if is_tight else ''}")]
        elif not field or any(_is_call_of(node, "Field") for node in ast.walk(stated)):
            raise UncertainError("it is annotated already")
        elif isinstance(stated, ast.Subscript) and _last_name(stated.value) == "Annotated":
            edits = [Edit(self._end(stated) - 1, self._end(stated) - 1, f", {field}")]
        else:
            start, end = self._start(stated), self._end(stated)
            edits = [Edit(start, start, "Annotated["), Edit(end, end, f", {field}]")]
        return sorted([*self._imports(), *edits]) if field else edits

    def _defaults(self, argument: ast.arg) -> list[ast.expr]:
        """The default of a parameter, if it has one."""
        holder = self._parents[argument]
        if not isinstance(holder, ast.arguments):
            return []
        positional = [*holder.posonlyargs, *holder.args]
        pairs = [*zip(positional[::-1], holder.defaults[::-1], strict=False)]
        pairs += [
            (keyword, default)
            for keyword, default in zip(holder.kwonlyargs, holder.kw_defaults, strict=True)
            if default
        ]
        return [default for parameter, default in pairs if parameter is argument]

    def _imports(self) -> list[Edit]:
        """The edits that import the names of annotations, after the first imports of the file."""
        leading = 0
        for statement in self.tree.body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not is_text and not isinstance(statement, (ast.Import, ast.ImportFrom)):
                break
            leading = statement.end_lineno or 0
        bound = {
            alias.asname or alias.name: node.module
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        missing = {name: modules[0] for name, modules in _ANNOTATING.items() if bound.get(name) not in modules}
        if bound.keys() & missing or leading >= len(self._starts):
            raise UncertainError("the file has other names for it, or no imports")
        at, newline = self._starts[leading], "\r\n" if "\r\n" in self.text else "\n"
        lines = "".join(f"from {module} import {name}{newline}" for name, module in missing.items())
        return [Edit(at, at, lines)] if lines else []

    def documented(self, line: int, text: str) -> list[Edit]:
        """The edit that gives the function on a line a docstring, before the first statement of its body."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        function = next((node for node in ast.walk(self.tree) if isinstance(node, kinds) and node.lineno == line), None)
        if function is None or ast.get_docstring(function, clean=False) is not None:
            raise UncertainError("it is not a function without a docstring")
        first = function.body[0]
        start = self._starts[first.lineno - 1]
        margin = self.text[start : self._offset(first.lineno, first.col_offset)]
        if margin.strip() or not margin or getattr(first, "decorator_list", None):
            raise UncertainError("its body does not start a line")
        return [Edit(start, start, f'{margin}"""{text}"""{chr(13) if chr(13) in self.text else ""}\n')]

    def _replacement(self, node: ast.expr, value: Any, style: _Style) -> Edit:
        start, end = self._start(node), self._end(node)
        is_constant = isinstance(node, ast.Constant) or (
            isinstance(node, (ast.Dict, ast.List)) and not list(_parts(node))
        )
        if not is_constant or "#" in self.text[start:end]:
            raise UncertainError("the current value is not a constant")
        return Edit(start, end, _written(value, style.quote))

    def _insertion(self, display: ast.Dict, new: dict[str, Any], style: _Style) -> list[Edit]:
        """Insert items after the last one, with a comma where it has none."""
        after, comma, close = self._tail(display)
        items = [f"{style.quoted(key)}{style.colon}{_written(value, style.quote)}" for key, value in new.items()]
        if style.line is None:
            joined = style.comma.join(items)
            if comma is None:
                return [Edit(after, after, f"{style.comma}{joined}")]
            return [Edit(comma, comma, f"{style.comma.partition(',')[2]}{joined},")]
        widest = min(WIDEST, max(NARROWEST, *map(len, _LINE_END.split(self.text))))
        lines = [
            item
            if len(style.line) + len(item) < widest or not isinstance(value, list) or not value
            else f"{style.quoted(key)}{style.colon}{self._expanded(value, style, trailing=comma is not None)}"
            for item, (key, value) in zip(items, new.items(), strict=True)
        ]
        block = f",{style.line}".join(lines)
        if comma is not None:
            at = self._line_end(comma, close)
            return [Edit(at, at, f"{style.line}{block},")]
        at = self._line_end(after, close)
        if at == after:
            return [Edit(at, at, f",{style.line}{block}")]
        return [Edit(after, after, ","), Edit(at, at, f"{style.line}{block}")]

    def _expanded(self, value: list[Any], style: _Style, *, trailing: bool) -> str:
        assert style.line is not None  # noqa: S101 (only items on separate lines are expanded)
        entries = ",".join(f"{style.line}{style.indent}{_written(entry, style.quote)}" for entry in value)
        return f"[{entries}{',' if trailing else ''}{style.line}]"

    def _line_end(self, at: int, close: int) -> int:
        """Where a new line can start: after a trailing comment, or here if the literal ends on this line."""
        line_end = _LINE_END.search(self.text, at, close)
        if line_end is None:
            return at
        rest = self.text[at : line_end.start()]
        return line_end.start() - (len(rest) - len(rest.rstrip())) if rest.strip() else at

    def _tail(self, display: ast.Dict) -> tuple[int, int | None, int]:
        """The end of the last value with its parentheses, the end of its comma (or None), and the closing brace."""
        after, close = self._end(display.values[-1]), self._end(display) - 1
        if self.text[close] != "}":
            raise UncertainError("its closing brace was not found")
        comma = None
        at = after
        while at < close:
            character = self.text[at]
            if character == "#":
                line_end = _LINE_END.search(self.text, at)
                at = line_end.start() if line_end is not None else close
            elif character == ")" and comma is None:
                after = at + 1
            elif character == "," and comma is None:
                comma = at + 1
            elif not character.isspace() and character != "\\":
                raise UncertainError("something unexpected follows its last value")
            at += 1
        return after, comma, close

    def _style(self, display: ast.Dict) -> _Style:
        """The formatting of the last item."""
        last, value = display.keys[-1], display.values[-1]
        assert last is not None  # noqa: S101 (a literal with `**` has been refused)
        key, key_end = self._start(last), self._end(last)
        written = self.text[key:key_end]
        quote = next((character for character in written if character in "\"'"), None)
        if quote is None or "\n" in written or "\r" in written:
            raise UncertainError("its last key is not a plain string")
        between = self.text[key_end : self._start(value)]
        colon = between if _SPACED_COLON.fullmatch(between) else ": "
        comma = ", " if colon.endswith((" ", "\t")) else ","
        if len(display.keys) > 1:
            before = self.text[self._end(display.values[-2]) : key]
            comma = before if _SPACED_COMMA.fullmatch(before) else comma
        start = self._starts[last.lineno - 1]
        margin = self.text[start:key]
        if margin.strip() or not start:
            return _Style(quote, colon, comma, None, "")
        end_of_line = _LINE_END.search(self.text, start - 2 if self.text[start - 2 : start] == "\r\n" else start - 1)
        line = f"{end_of_line[0] if end_of_line else chr(10)}{margin}"
        return _Style(quote, colon, comma, line, self._indent(display, margin))

    def _indent(self, display: ast.Dict, margin: str) -> str:
        """The indentation of items relative to the closing brace; four spaces if it cannot be seen."""
        close = self._end(display) - 1
        outer = self.text[self._starts[(display.end_lineno or 1) - 1] : close]
        if not outer.strip() and margin.startswith(outer) and margin != outer:
            return margin[len(outer) :]
        return "    "

    def _start(self, node: ast.expr | ast.arg) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: ast.expr) -> int:
        return self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def _offset(self, line: int, column: int) -> int:
        """The text offset of a parser position, whose column counts UTF-8 bytes."""
        start = self._starts[line - 1]
        stop = self._starts[line] if line < len(self._starts) else len(self.text)
        text = self.text[start:stop]
        if text.isascii():
            return start + column
        return start + len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))


_ANNOTATING = {"Annotated": ("typing", "typing_extensions"), "Field": ("pydantic",)}
"""The names of annotations, with the modules that have them."""


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and _last_name(node.func) == name


class _Style(NamedTuple):
    """The formatting of an item of a dict literal, for writing another like it."""

    quote: str
    colon: str
    comma: str
    line: str | None
    """The line ending and indentation before an item; None if items do not start lines."""
    indent: str

    def quoted(self, key: str) -> str:
        return _written(key, self.quote)


def _parts(node: ast.Dict | ast.List) -> Iterator[ast.AST]:
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context))


def _written(value: Any, quote: str) -> str:
    """A value as a Python literal; fixes only set constants and lists of constants."""
    if isinstance(value, str):
        return f"{quote}{''.join(_escaped(character, quote) for character in value)}{quote}"
    if isinstance(value, list):
        return f"[{', '.join(_written(entry, quote) for entry in value)}]"
    if value is None or isinstance(value, (bool, int)):
        return repr(value)
    raise UncertainError("its new value cannot be written as a literal")


def _escaped(character: str, quote: str) -> str:
    if character in (quote, "\\"):
        return f"\\{character}"
    return character if character.isprintable() else character.encode("unicode_escape").decode()
