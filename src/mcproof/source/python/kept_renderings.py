"""Renderings of tools that are kept from one edit to the next.

Rendering takes most of the time of a discovery. A rendering is used again if nothing that it can depend on has changed:
the function of the tool, and every statement of the loaded modules except other plain tools. A plain tool is a function
at the top level that only its decorator registers: nothing else mentions its name, and its decorators, annotations and
defaults call nothing but `Field`, so that it cannot affect any other tool.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.source.python.interp.values import Function

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.core.catalog.model import SourceTool
    from mcproof.core.observations.source import SourceLocation
    from mcproof.source.python.frameworks.served_items import ServedItem
    from mcproof.source.python.interp.modules import Module, Modules

MOST_STATEMENTS = 20_000
"""How many statements have their words kept."""
_WORD = re.compile(r"\w+")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WITHOUT_EFFECT = frozenset(("Field",))


class KeptTool(NamedTuple):
    """A rendered tool, and what its rendering depended on besides its function."""

    node: ast.AST
    circumstances: tuple[Any, ...]
    raw: dict[str, Any]
    tool: SourceTool | None
    locations: dict[str, SourceLocation]
    work: int
    """The steps that the rendering took; they count again, so that limits hold as without memory."""


class _Statement(NamedTuple):
    """A statement at the top level of a module."""

    node: ast.stmt
    words: frozenset[str]
    is_inert: bool
    """Whether it is a function with decorators that cannot affect other tools."""


class KeptRenderings:
    """The renderings of the plain tools of one target."""

    def __init__(self) -> None:
        self._statements: dict[int, _Statement] = {}
        self._around: dict[str, list[ast.stmt] | None] = {}
        """The statements of each module that are not plain tools; None for a module that cannot be parsed."""
        self._followed: frozenset[str] = frozenset()
        """The modules that were loaded before the last rendering."""
        self._plain: set[int] = set()
        self._kept: dict[tuple[int, str], KeptTool] = {}

    def begin(self, modules: Modules) -> None:
        """Prepare for a rendering, after the source was followed: forget everything if the surroundings changed."""
        found = self._statements_of(modules, modules.loaded)
        is_same = self._is_as_before(found) and found.keys() == self._followed
        self._followed = frozenset(found)
        if is_same:  # then modules that only renderings loaded are still needed
            found |= self._statements_of(modules, self._around.keys() - found.keys())
            is_same = self._is_as_before(found)
        if not is_same:
            self._kept.clear()
        self._around = {path: self._not_plain(parts) for path, parts in found.items()}
        current = {id(each.node): each for parts in found.values() for each in parts or ()}
        self._statements = current if len(current) <= MOST_STATEMENTS else {}
        self._kept = {key: each for key, each in self._kept.items() if key[0] in self._plain}

    def end(self, modules: Modules) -> None:
        """Take note of the modules that renderings loaded."""
        more = self._statements_of(modules, [path for path in modules.loaded if path not in self._around])
        self._around |= {path: self._not_plain(parts) for path, parts in more.items()}

    def _is_as_before(self, found: dict[str, list[_Statement] | None]) -> bool:
        """Whether the surroundings in these modules are those of the last rendering; also determine the plain tools."""
        self._plain = _plain_tools([each for parts in found.values() for each in parts or ()])
        return all(
            path in self._around and _are_same(self._not_plain(parts), self._around[path])
            for path, parts in found.items()
        )

    def _not_plain(self, parts: list[_Statement] | None) -> list[ast.stmt] | None:
        return None if parts is None else [each.node for each in parts if id(each.node) not in self._plain]

    def _statements_of(self, modules: Modules, paths: Iterable[str]) -> dict[str, list[_Statement] | None]:
        """The statements of some modules; None for one that cannot be parsed."""
        loaded = {path: modules.load(path) for path in paths}
        return {path: None if module is None else self._parts(module) for path, module in loaded.items()}

    def _parts(self, module: Module) -> list[_Statement]:
        return [self._statements.get(id(node)) or _statement(module, node) for node in module.tree.body]

    def find(self, entry: ServedItem, framework: str, traits: frozenset[str], most_work: int) -> KeptTool | None:
        """The kept rendering of a tool; None if it has to be rendered, or took more work than is left."""
        node = self._function_of(entry)
        known = self._kept.get((id(node), entry.prefix)) if node is not None else None
        if known is None or known.circumstances != _circumstances(entry, framework, traits) or known.work > most_work:
            return None
        return known._replace(raw=dict(known.raw), locations=dict(known.locations))

    def keep(
        self,
        entry: ServedItem,
        framework: str,
        traits: frozenset[str],
        rendered: tuple[dict[str, Any], SourceTool | None, dict[str, SourceLocation]],
        work: int,
    ) -> None:
        """Keep the rendering of a tool, if it is a plain one."""
        node = self._function_of(entry)
        if node is not None:
            raw, tool, locations = rendered
            self._kept[id(node), entry.prefix] = KeptTool(
                node=node,
                circumstances=_circumstances(entry, framework, traits),
                raw=dict(raw),
                tool=tool,
                locations=dict(locations),
                work=work,
            )

    def _function_of(self, entry: ServedItem) -> ast.AST | None:
        """The function of a plain tool that its own decorator registers; None for any other item."""
        item, function = entry.item, entry.item.function
        if item.kind != "tools" or type(function) is not Function or id(function.node) not in self._plain:
            return None
        if function.wrapped is not None or function.partial is not None or function.bound_to is not None:
            return None
        if function.attributes or function.owner is not None:
            return None
        if item.node is None:  # a decorator without a call
            return None if item.given else function.node
        decorators: list[ast.expr] = getattr(function.node, "decorator_list", [])
        return function.node if any(item.node is each for each in decorators) else None


def _circumstances(entry: ServedItem, framework: str, traits: frozenset[str]) -> tuple[Any, ...]:
    item = entry.item
    unknown = frozenset(entry.server.changes.unknown | entry.root.changes.unknown)
    return framework, traits, item.closed, item.altered, item.complete, unknown


def _are_same(now: list[ast.stmt] | None, before: list[ast.stmt] | None) -> bool:
    if now is None or before is None or len(now) != len(before):
        return now is before
    return all(one is other for one, other in zip(now, before, strict=True))


def _plain_tools(statements: list[_Statement]) -> set[int]:
    """The functions that cannot affect other tools, and that no other statement mentions."""
    inert = {each.node.name: each.node for each in statements if each.is_inert and isinstance(each.node, _DEFINITIONS)}
    seen: dict[str, int] = {}
    for each in statements:
        for name in inert.keys() & each.words:
            seen[name] = seen.get(name, 0) + 1
    return {id(node) for name, node in inert.items() if seen.get(name) == 1}


def _statement(module: Module, node: ast.stmt) -> _Statement:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    words = frozenset(_WORD.findall(module.lines_between(first, node.end_lineno or first)))
    return _Statement(node, words, isinstance(node, _DEFINITIONS) and bool(decorators) and _is_inert(node))


def _is_inert(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether evaluating the definition of a function has no effect but those of its decorators."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            given = [*decorator.args, *(each.value for each in decorator.keywords)]
            if not all(isinstance(part, _CONSTANTS) for each in given for part in ast.walk(each)):
                return False
        elif not isinstance(decorator, ast.Name | ast.Attribute):
            return False
    return all(_is_harmless(part) for each in _evaluated(node) for part in ast.walk(each))


_CONSTANTS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.USub, ast.expr_context)


def _evaluated(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    """The defaults and annotations of a function."""
    spec = node.args
    every: Iterable[ast.arg | None] = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
    yield from (each.annotation for each in every if each is not None and each.annotation is not None)
    yield from (each for each in (*spec.defaults, *spec.kw_defaults, node.returns) if each is not None)


def _is_harmless(part: ast.AST) -> bool:
    if isinstance(part, ast.Call):
        return getattr(part.func, "attr", getattr(part.func, "id", "")) in _WITHOUT_EFFECT
    return not isinstance(part, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom | ast.Lambda | ast.comprehension)
