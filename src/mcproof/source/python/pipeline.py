"""Discovery: follow the source of a project, then render what its servers would serve.

`discover` returns the catalog of one target, `discover_servers` one for each server of a folder, `flows_of` the
flows from the parameters of tools to dangerous calls, `configuration_of` what its source configures. The last two ask
the project that discovery followed.
`SyntaxTreeCache` keeps the trees of an editor: only the statements that an edit touches are parsed again.
Why source is interpreted instead of matched: docs/decisions/0005-discovery-interprets.md.
Why an edit touches only some tools: docs/decisions/0058-edits-touch-tools.md.
"""

from __future__ import annotations

import ast
import gc
import os
from bisect import bisect_right
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import SourceProblem
from mcproof.source.document import LISTS, NO_END, assemble, group_names, nearest_group, without_duplicates
from mcproof.source.framework_tables import CHECKS_HOST, DISTRIBUTIONS, INSTALLED_PACKAGES
from mcproof.source.packages.projects import ProjectDeclarations
from mcproof.source.python.entry_points import FunctionDefinition, doubt_imports, doubt_unstarted, entry_points
from mcproof.source.python.files import Boundary, may_register, mcproof_comments, python_files
from mcproof.source.python.frameworks.domain import McpDomain
from mcproof.source.python.interp.calls import call_function, instantiate
from mcproof.source.python.interp.containers import MOST_STEPS, STEPS_OF_ONE_ROOT
from mcproof.source.python.interp.interpreter import Interpreter
from mcproof.source.python.interp.modules import Modules, parse_quietly
from mcproof.source.python.interp.values import (
    MOST_WRAPPERS,
    UNKNOWN,
    BudgetExceededError,
    Call,
    Class,
    Function,
    Instance,
)
from mcproof.source.python.render_items import group_by_server, render_items, render_server_info, server_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcproof.core.catalog.model import SourceMap
    from mcproof.core.observations.source import SourceConfiguration, SourceFlows
    from mcproof.source.document import RenderedItem
    from mcproof.source.python.frameworks.servers import ServerValue
    from mcproof.source.python.interp.modules import Module


MOST_IMPORTED = 100
"""How many files are searched for the name of the protocol if it is not in a file that may register something."""


def discover(
    target: str,
    overrides: Mapping[str, bytes] | None = None,
    *,
    whole: bool = False,
    cache: SyntaxTreeCache | None = None,
) -> SourceMap:
    """Return the catalog that the Python source at `target` would serve, without importing or running it.

    For a file, that is what the file itself defines; with `whole`, also what the modules that it imports register, and
    all servers make one catalog. `overrides` replaces the content of files, by their real paths: with a preview of a
    change, or with unsaved text. `cache` has the trees of earlier discoveries, in an editor.
    """
    with _collector_paused():
        source = _Source(target, overrides, whole=whole, cache=cache)
        only = None if whole or os.path.isdir(target) else os.path.abspath(target)
        items = without_duplicates(source.render(only), as_one=whole)
        return source.map_of(items, None, only)


def discover_servers(folder: str, overrides: Mapping[str, bytes] | None = None) -> list[tuple[str, SourceMap]]:
    """Return the catalog of each server in the Python source below a folder, with a name that leads to it."""
    with _collector_paused():
        source = _Source(folder, overrides, whole=True)
        groups = group_by_server(source.domain, list(source.render(None)))
        if len(groups) == 1:
            only_one = source.map_of(without_duplicates(groups[0].items, as_one=True), None, None)
            return [(folder, only_one._replace(server=0, servers=1))]
        sources = []
        for number, (group, name) in enumerate(zip(groups, group_names(folder, groups), strict=True)):
            items = without_duplicates(group.items, as_one=True)
            others = [item for other in groups if other is not group for item in other.items]
            catalog = source.map_of(items, group.servers, None, others)
            problems = [problem for problem in catalog.problems if nearest_group(groups, problem.file) is group]
            sources.append((name, catalog._replace(problems=problems, server=number, servers=len(groups))))
        return sources


@contextmanager
def _collector_paused() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()  # syntax trees are large, and none of them is garbage before the end
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def flows_of(source_map: SourceMap) -> SourceFlows:
    """The flows from what a client sends to dangerous calls."""
    from mcproof.source.python.flows.collect import collect_flows

    with _collector_paused():
        source = source_map.project
        is_whole = source_map.is_whole or os.path.isdir(source_map.target)
        if not isinstance(source, _Source) or not is_whole:
            source = _Source(source_map.target, None, whole=True)
            list(source.render(None))
        lines = {line for places in source_map.lines.values() for line in places}
        return collect_flows(source.domain, source_map.document.get("tools") or [], lines)


def configuration_of(source_map: SourceMap, target: str) -> SourceConfiguration:
    """The configuration in the source at `target`: what a catalog was discovered in, or a part of that."""
    from mcproof.source.python.flows.configuration import source_configuration

    with _collector_paused():
        project = source_map.project
        source = project if isinstance(project, _Source) else _Source(source_map.target, None, whole=True)
        domain = source.domain
        checks = all(
            server.framework != "fastmcp" and CHECKS_HOST in domain.traits(server, server.framework)
            for server in domain.servers
        )
        return source_configuration(target, domain.run, framework_checks=checks)


class _Source:
    """The source of a target, followed."""

    def __init__(
        self,
        target: str,
        overrides: Mapping[str, bytes] | None,
        *,
        whole: bool,
        cache: SyntaxTreeCache | None = None,
    ) -> None:
        self._target = target
        self._is_whole = whole
        self._is_kept = cache is None  # an editor keeps catalogs, but only for their documents
        self._overrides = overrides or {}
        self._problems: list[SourceProblem] = []
        boundary = Boundary(target)
        files = python_files(target, self._problems, boundary)
        parse = cache.parse if cache is not None else None
        self.modules = modules = Modules(
            files, target, self._problems, may_register, boundary, INSTALLED_PACKAGES, overrides, parse
        )
        if whole and not os.path.isdir(target):
            modules.add_imported()
        candidates = modules.candidates()
        self.domain = McpDomain(ProjectDeclarations(target, boundary, set(DISTRIBUTIONS.values())))
        self._run = self.domain.run = Interpreter(modules, self.domain)
        if _mentions_mcp(modules, candidates):
            self._follow(candidates)
        self._incomplete_lists = set(LISTS.values()) if self.domain.is_incomplete else set()

    def _follow(self, candidates: list[str]) -> None:
        """Follow the modules of a project, then the functions that register something and that nothing calls."""
        run, domain = self._run, self.domain
        loaded: list[Module] = []
        for path in (*candidates, *run.modules.importers(candidates)):
            module = run.modules.load(path)
            if module is not None:
                loaded.append(module)
                self._follow_root(module, None, lambda path=path: run.module(path))  # type: ignore[misc]
        items = (item for server in domain.servers for item in server.items)
        tools = {id(item.exposed_function.node) for item in items if item.exposed_function is not None}
        run.functions.followed |= tools  # calling a tool registers nothing
        for entry in entry_points(domain, loaded):
            self._follow_root(entry.module, entry.node, lambda entry=entry: _enter(run, entry))  # type: ignore[misc]
        domain.register_unapplied()
        if not self._is_whole and os.path.isfile(self._target):
            domain.register_unreached(os.path.realpath(self._target))
        doubt_imports(domain)
        doubt_unstarted(domain)

    def _follow_root(self, module: Module, node: Any, follow: Callable[[], Any]) -> None:
        """Follow one module or function within its budget."""
        run = self._run
        run.budget.allow(min(STEPS_OF_ONE_ROOT, MOST_STEPS - run.budget.work))  # none can use up everything
        try:
            follow()
        except (BudgetExceededError, RecursionError) as error:
            if isinstance(error, BudgetExceededError) and run.budget.work >= MOST_STEPS:
                self._report("the source is too large to follow; some of it was skipped")
            self.domain.omit(NO_END, module, node, is_incomplete=True)
        except Exception as error:  # a catalog without this part is better than none, and says what is missing
            self._report(f"internal error, some of the source was skipped: {type(error).__name__}: {error}")
        run.reset()

    def _report(self, message: str) -> None:
        self._problems.append(SourceProblem(self._target, None, None, message))

    def render(self, only: str | None) -> Iterator[RenderedItem]:
        """Everything that is served; with `only`, what is defined in that file."""
        return render_items(self.domain, only, self._incomplete_lists)

    def map_of(
        self,
        items: list[RenderedItem],
        servers: list[ServerValue] | None,
        only: str | None,
        others: Iterable[RenderedItem] = (),
    ) -> SourceMap:
        """The catalog of some items; of all servers, or of some. `others` are items of further catalogs."""
        domain = self.domain
        numbers = server_numbers(domain) if servers is None else dict.fromkeys(map(id, domain.servers), 0)
        source_map = assemble(
            items,
            render_server_info(domain, servers),
            numbers,
            domain.omissions,
            self._incomplete_lists,
            self._problems,
            self._target,
        )
        elsewhere = {line for item in others for line in (*item.lines, *item.continuation_lines)}
        for file in source_map.files:
            module = self._run.modules.load(os.path.abspath(file))
            suppressions = mcproof_comments(module.text) if module is not None else []
            if suppressions := [(line, text) for line, text in suppressions if (file, line) not in elsewhere]:
                source_map.comments[file] = suppressions
        if only is not None:
            source_map.omissions[:] = [one for one in source_map.omissions if os.path.abspath(one.file) == only]
        return source_map._replace(
            overrides=self._overrides,
            read=self._run.modules.read,
            is_whole=self._is_whole,
            project=self if self._is_kept else None,
        )


def _mentions_mcp(modules: Modules, candidates: list[str]) -> bool:
    """Whether one of these files, or a project file that they import, has the name of the protocol in it."""
    # `@app.tool()` is also a decorator of agent frameworks, and a project that never says "mcp" serves nothing
    seen = set(candidates)
    waiting = deque(candidates)
    while waiting and len(seen) <= MOST_IMPORTED:
        path = waiting.popleft()
        if b"mcp" in (modules.data(path) or b"").lower():
            return True
        imported = [file for file in modules.imported_by(path) if file not in seen]
        seen.update(imported)
        waiting.extend(imported)
    return False


def _enter(run: Interpreter, entry: FunctionDefinition) -> None:
    """Follow a function that is called from outside the project, with unknown arguments."""
    holder = run.resolve(entry.module.scope.names.get(entry.owner or entry.name))
    if entry.owner is None:
        if isinstance(holder, Function):
            call_function(run, _unwrapped(holder, entry.node), Call([], {}))
        return
    if not isinstance(holder, Class):
        return
    holder_instance: Any = run.instances.get(id(holder))
    if holder_instance is None:
        holder_instance = instantiate(run, holder, Call([], {}))
    method = holder.attribute(entry.name)
    if id(entry.node) in run.functions.followed or not isinstance(method, Function):
        return
    bound = _unwrapped(method, entry.node).copy()
    if "staticmethod" not in method.decorators:
        instance = holder_instance if isinstance(holder_instance, Instance) else UNKNOWN
        bound.bound_to = holder if "classmethod" in method.decorators else instance
    call_function(run, bound, Call([], {}))


def _unwrapped(function: Function, node: Any) -> Function:
    """The function with this node, under its wrappers."""
    steps = 0
    while function.node is not node and isinstance(function.wrapped, Function) and steps < MOST_WRAPPERS:
        function, steps = function.wrapped, steps + 1
    return function


MOST_CHARACTERS = 16 << 20
"""How much source text has its tree kept; a tree takes about twenty times the memory of its text."""


class SyntaxTreeCache:
    """The last tree of each file. A statement at the top level that does not change stays the same object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ast.Module]] = {}
        self._size = 0

    def parse(self, path: str, text: str) -> ast.Module:
        """The tree of a text, as far as possible from memory. Raises what `ast.parse` raises."""
        cached = self._known.get(path)
        if cached is not None and cached[0] == text:
            return cached[1]
        tree = _with_edit(*cached, text) if cached is not None else None
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
        return None  # a line with several statements has no part that can be parsed on its own
    edit = _edit_between(old, new)
    first, last = (old.count("\n", 0, offset) + 1 for offset in (edit.start, edit.old_end))
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
