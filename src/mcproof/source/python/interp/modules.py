"""The modules of a project: loaded on demand, parsed, and kept from one edit to the next.

Only the statements that an edit touches are parsed again. A `Module` has text, syntax tree and names; functions
that were followed before keep their results.
Why an edit touches only some tools: docs/decisions/0058-edits-touch-tools.md.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.source import SourceProblem
from mcproof.source.python.files import MOST_FILES, Boundary, ImportPaths, decoded, is_test, read_bytes, syntax_problem
from mcproof.source.python.interp.values import Function, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


class MemoizedCall(NamedTuple):
    """The result of a call; valid as long as nothing changes that the function can see."""

    value: Any
    state: tuple[int, ...]
    """How often each thing that the function can see had changed."""
    function: Function
    """Kept alive, because calls are compared by its identity and that of its scope."""


class FunctionHistory:
    """Functions that were followed, by the identity of their nodes, and results to reuse."""

    def __init__(self) -> None:
        self.followed: set[int] = set()
        """Functions that were followed at least once."""
        self.endless: set[int] = set()
        """Functions that took too long, and are not followed again."""
        self.marks: set[str] = set()
        """The names of the attributes that the project sets on functions."""
        self.results: dict[Any, MemoizedCall] = {}
        """Results of calls with plain arguments."""


MOST_CHARACTERS = 16 << 20
"""How much source text has its tree kept; a tree takes about twenty times the memory of its text."""


class SyntaxTreeCache:
    """The last tree of each file. A statement at the top level that does not change stays the same object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ast.Module]] = {}
        self._size = 0

    def parse(self, path: str, text: str) -> ast.Module:
        """The tree of a text, as far as possible from memory. Raises what `ast.parse` raises."""
        known = self._known.get(path)
        if known is not None and known[0] == text:
            return known[1]
        tree = _with_edit(*known, text) if known is not None else None
        if tree is None:
            tree = parse_quietly(text)
        self._keep(path, text, tree)
        return tree

    def _keep(self, path: str, text: str, tree: ast.Module) -> None:
        old = self._known.pop(path, None)
        self._size += len(text) - (len(old[0]) if old is not None else 0)
        self._known[path] = text, tree
        while self._size > MOST_CHARACTERS:  # the oldest first
            removed, _ = self._known.pop(next(iter(self._known)))
            self._size -= len(removed)


def parse_quietly(text: str) -> ast.Module:
    """The syntax tree of a text; invalid escapes in strings are not reported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


class _TextEdit(NamedTuple):
    """The part of a text that differs from an older one, by offsets in both."""

    start: int
    old_end: int
    new_end: int


def _with_edit(old: str, tree: ast.Module, new: str) -> ast.Module | None:
    """The tree of a text from that of an older one; None if it has to be parsed as a whole.

    The text from the start of the edited statement to the next one, which does not change, is parsed on its own. That
    gives the same as parsing the whole: the statements around it start on lines of their own, and an edit that changes
    where they start, such as an open string, leaves the part invalid.
    """
    starts = [_first_line(statement) for statement in tree.body]
    ends = [statement.end_lineno or 0 for statement in tree.body[:-1]]
    if not starts or any(later <= end for end, later in zip(ends, starts[1:], strict=True)):
        return None  # several statements on one line
    edit = _edit_between(old, new)
    first, last = (old.count("\n", 0, at) + 1 for at in (edit.start, edit.old_end))
    number = bisect_right(starts, first) - 1
    if number < 0 or bisect_right(starts, last) - 1 != number:
        return None
    is_moved = old.count("\n", edit.start, edit.old_end) != new.count("\n", edit.start, edit.new_end)
    rest = [] if is_moved else tree.body[number + 1 :]
    lines = new.split("\n")
    end = starts[number + 1] - 1 if rest else len(lines)
    part = "\n".join(lines[starts[number] - 1 : end])
    try:
        parsed = parse_quietly("\n" * (starts[number] - 1) + part)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the whole text has the right message and line
    return ast.Module(body=[*tree.body[:number], *parsed.body, *rest], type_ignores=[])


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _edit_between(old: str, new: str) -> _TextEdit:
    """The smallest edit that turns one text into another."""
    most = min(len(old), len(new))
    start = _longest(most, lambda length: old[:length] == new[:length])
    ending = _longest(most - start, lambda length: old[len(old) - length :] == new[len(new) - length :])
    return _TextEdit(start, len(old) - ending, len(new) - ending)


def _longest(most: int, holds: Callable[[int], bool]) -> int:
    """The greatest length up to `most` for which a condition holds that holds for all shorter ones too."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if holds(middle):
            least = middle
        else:
            most = middle - 1
    return least


_IMPORT = re.compile(rb"\n[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(\([^()]*\)?|[^\n]*)|import[ \t]+([^\n]*))")
"""An import statement after a line break: a fixed first character is fast to search."""
_WORD = re.compile(rb"\w+")


def stem_of(path: str) -> str:
    """The last part of a file's dotted name."""
    folder, base = os.path.split(path)
    return os.path.basename(folder) if base == "__init__.py" else base.removesuffix(".py")


class Module:
    """One source file: text, syntax tree, names."""

    def __init__(self, file: str, name: str, text: str, tree: ast.Module) -> None:
        self.file = file
        self.path = os.path.abspath(file)
        self.name = name
        self.text = text
        self.tree = tree
        self.lines: list[str] | None = None
        self._starts: list[int] | None = None
        self.scope = Scope(self)
        self.state = "new"
        self.stars: list[str] = []
        """External modules that are imported with `*`."""

    @property
    def is_package(self) -> bool:
        return os.path.basename(self.file) == "__init__.py"

    def line(self, number: int) -> str:
        """One line of the text, by Python's line numbers."""
        if self.lines is None:
            self.lines = self.text.split("\n")
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def lines_between(self, first: int, last: int) -> str:
        """A range of lines, both ends included."""
        self.line(first)
        return "\n".join((self.lines or [])[first - 1 : last])

    def line_at(self, offset: int) -> int:
        """The line number of a character offset."""
        if self._starts is None:
            self._starts = [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]
        return bisect_right(self._starts, offset)


class Modules:
    """All modules of a project, by file or by import."""

    def __init__(
        self,
        files: Iterable[str],
        top: str,
        problems: list[SourceProblem],
        is_relevant: Callable[[bytes, str], bool],
        boundary: Boundary,
        installed: frozenset[str],
        overrides: Mapping[str, bytes] | None = None,
        parse: Callable[[str, str], ast.Module] | None = None,
    ) -> None:
        self.files = {os.path.abspath(file): file for file in files}
        self.top = os.path.abspath(top)
        self.import_paths = ImportPaths(self.files, self.top, boundary, installed)
        self._is_relevant = is_relevant
        """Whether a file, by content and path, may have effects in the domain."""
        self.problems = problems
        self.stems: set[str] = set()
        """The names under which candidates are imported."""
        self._candidates: frozenset[str] = frozenset()
        self._relevant: set[str] = set()
        self._modules: dict[str, Module | None] = {}
        self._data: dict[str, bytes | None] = {}
        self._overrides = overrides or {}
        """Replacements for the content of files, by real path."""
        self._syntax = parse or (lambda _, text: parse_quietly(text))
        """Parses the text of a path; a caller may keep trees, which nothing changes."""

    @property
    def read(self) -> frozenset[str]:
        """The absolute paths of the files whose content was looked at."""
        return frozenset(self._data)

    def add_imported(self) -> None:
        """Add all project files that the files import, directly or indirectly, with their packages."""
        is_relative = not all(map(os.path.isabs, self.files.values()))
        waiting = list(self.files)
        while waiting:
            path = waiting.pop()
            for imported in self.imported_by(path):
                if imported not in self.files and len(self.files) < MOST_FILES:
                    self.files[imported] = os.path.relpath(imported) if is_relative else imported
                    waiting.append(imported)

    def imported_by(self, path: str) -> Iterator[str]:
        """The project files that a source file imports, according to its text."""
        for target in self._imports(path, self.data(path) or b"", None):
            if target.endswith(".py"):
                yield target
                yield from self.import_paths.packages_of(target)

    def _imports(self, path: str, data: bytes, stems: set[bytes] | None) -> Iterator[str]:
        """What the import statements of a file refer to; with `stems`, only those that contain one of these words."""
        for dots, module, names, modules in _IMPORT.findall(b"\n" + data):
            words = set(_WORD.findall(modules or module + b" " + names))
            if stems is not None and stems.isdisjoint(words):  # most imports: finding a module takes longer
                continue
            if modules:
                named = [part.split()[0] for part in modules.split(b",") if part.strip()]
                targets = [self.import_paths.find(path, name.decode(errors="replace"), 0) for name in named]
            else:
                origin = self.import_paths.find(path, module.decode(errors="replace"), len(dots))
                below = _WORD.findall(names) if stems is None else stems.intersection(words)
                parts = [self.import_paths.below(origin, word.decode(errors="replace")) for word in below if origin]
                targets = [origin, *parts]
            yield from (target for target in targets if target is not None)

    def candidates(self) -> list[str]:
        """The absolute paths of files that may have effects."""
        found = [path for path in self.files if (data := self.data(path)) is not None and self._is_relevant(data, path)]
        self.stems = {stem_of(path) for path in found}
        self._candidates = frozenset(found)
        return found

    def importers(self, candidates: list[str]) -> list[str]:
        """Other files that import a candidate, such as an entry point."""
        known = set(candidates)
        stems = {stem.encode() for stem in self.stems}
        found = []
        for path in self.files:
            data = self.data(path) if path not in known else None
            if data is None or self._candidates.isdisjoint(self._imports(path, data, stems)) or is_test(path, data):
                continue
            found.append(path)
        self._relevant = known.union(found)
        return found

    def mentions(self, name: str, besides: Module) -> bool:
        """Whether another file of the project contains this name as a word."""
        word = name.encode()
        pattern = re.compile(rb"\b%b\b" % re.escape(word) if name.isascii() else re.escape(word))
        others = (self.data(path) or b"" for path in self.files if path != besides.path)
        return any(word in data and pattern.search(data) is not None for data in others)

    def data(self, path: str) -> bytes | None:
        if path not in self._data:
            text = self._overrides.get(os.path.realpath(path)) if self._overrides else None
            self._data[path] = read_bytes(self.files.get(path, path), self.problems) if text is None else text
        return self._data[path]

    def is_candidate(self, path: str) -> bool:
        return path in self._candidates

    def has_no_effects(self, module: Module) -> bool:
        """Whether a module has no effects and imports no module that has."""
        return module.path not in self._relevant

    def load(self, path: str) -> Module | None:
        """The parsed module in a file; None if it cannot be read."""
        if path not in self._modules:
            self._modules[path] = self._parse(path)
        return self._modules[path]

    def _parse(self, path: str) -> Module | None:
        file = self.files.get(path, path)
        data = self.data(path)
        text = decoded(data, file, self.problems) if data is not None else None
        if text is None:
            return None
        try:
            tree = self._syntax(path, text)
        except SyntaxError as error:
            self.problems.append(syntax_problem(text, file, error))
            return None
        except (RecursionError, MemoryError, ValueError) as error:
            what = f"not valid Python: {error}" if isinstance(error, ValueError) else "nested too deeply"
            self.problems.append(SourceProblem(file, None, None, what))
            return None
        return Module(file, self.import_paths.dotted_name(path), text, tree)
