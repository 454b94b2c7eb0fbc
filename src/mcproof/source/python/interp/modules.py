"""The modules of a project, loaded and parsed on demand, and what was learned of their functions.

A `Module` has text, syntax tree and names; functions that were followed before keep their results.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
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


def parse_quietly(text: str) -> ast.Module:
    """The syntax tree of a text; invalid escapes in strings are not reported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


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
        paths = [path for path in self.files if (data := self.data(path)) is not None and self._is_relevant(data, path)]
        self.stems = {stem_of(path) for path in paths}
        self._candidates = frozenset(paths)
        return paths

    def importers(self, candidates: list[str]) -> list[str]:
        """Other files that import a candidate, such as an entry point."""
        searched = set(candidates)
        stems = {stem.encode() for stem in self.stems}
        importing = []
        # words are searched before trees are made: docs/decisions/0023-text-before-trees.md
        for path in self.files:
            data = self.data(path) if path not in searched else None
            if data is None or self._candidates.isdisjoint(self._imports(path, data, stems)) or is_test(path, data):
                continue
            importing.append(path)
        self._relevant = searched.union(importing)
        return importing

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
