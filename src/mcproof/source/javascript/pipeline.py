"""Discovery in JavaScript and TypeScript: follow a project from where it starts, then render what its servers list.

It starts with what `package.json` starts or exports; what nothing reaches from there, but registers something, is
followed on its own. Why source is interpreted: docs/decisions/0005-discovery-interprets.md.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcproof.core.observations.source import SourceProblem
from mcproof.source.document import LISTS, NO_END, Omissions, ServerGroup, assemble, group_names, without_duplicates
from mcproof.source.javascript import files as project_files
from mcproof.source.javascript.files import ProjectFiles
from mcproof.source.javascript.frameworks.folders import load_modules
from mcproof.source.javascript.frameworks.host import McpHost
from mcproof.source.javascript.frameworks.registration import listed_items
from mcproof.source.javascript.interp.classes import JsClass, construct
from mcproof.source.javascript.interp.functions import JsFunction, call_function
from mcproof.source.javascript.interp.globals import define_globals
from mcproof.source.javascript.interp.interpreter import (
    MOST_STEPS,
    STEPS_IN_BUNDLE,
    STEPS_OF_ONE_ROOT,
    BudgetExceededError,
    Interpreter,
    JsThrowError,
)
from mcproof.source.javascript.interp.modules import Modules
from mcproof.source.javascript.render import render, server_info
from mcproof.source.javascript.values import Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tree_sitter import Node

    from mcproof.core.catalog.model import SourceMap
    from mcproof.core.observations.source import SourceFlows
    from mcproof.source.document import RenderedItem
    from mcproof.source.javascript.frameworks.servers import ServerValue
    from mcproof.source.javascript.interp.modules import Module

DEEPEST_RECURSION = 9_000
"""Of Python, so that code as nested as people write it is followed; calls of Python functions need no stack of C."""
_INITIALIZER = re.compile(rb"^\(\) ?=> ?\((\w+) ?&& ?\(\w+ ?= ?(?:\(0, \w+\[.{1,40}\]\)|\w+)\((\w+) ?= ?0\)")
"""What bundlers make of a module that may be imported later: `() => (fn && (res = fn(fn = 0)), res)`."""
# There may be hundreds of callbacks, and most register nothing: none may use up the steps of the others.
STEPS_OF_CALLBACK = 60_000
_MOST_UNREACHED = 300
"""How many functions that nothing calls are followed."""


def discover(target: str, overrides: Mapping[str, bytes] | None = None, *, whole: bool = False) -> SourceMap:
    """Return the catalog that the source at `target` would serve, without running it."""
    with _room():
        source = _Source(target, overrides)
        items = without_duplicates(source.items(), as_one=True)
        only = None if whole or os.path.isdir(target) else os.path.abspath(target)
        if only is not None:
            items = [item for item in items if item.registration.location and _is_in(item, only)]
        return source.map_of(items, source.host.servers, is_whole=whole)


def _is_in(item: RenderedItem, path: str) -> bool:
    location = item.registration.location
    return location is not None and os.path.abspath(location[0]) == path


def discover_servers(folder: str, overrides: Mapping[str, bytes] | None = None) -> list[tuple[str, SourceMap]]:
    """Return the catalog of each server in the source below a folder, with a name that leads to it."""
    with _room():
        source = _Source(folder, overrides)
        groups = source.groups()
        if len(groups) <= 1:
            items = without_duplicates(source.items(), as_one=True)
            source_map = source.map_of(items, source.host.servers, is_whole=True)
            return [(folder, source_map._replace(server=0, servers=1))] if groups else []
        maps = []
        for number, (group, name) in enumerate(zip(groups, group_names(folder, groups), strict=True)):
            items = without_duplicates(group.items, as_one=True)
            source_map = source.map_of(items, group.servers, is_whole=True)
            maps.append((name, source_map._replace(server=number, servers=len(groups))))
        return maps


def flows_of(source_map: SourceMap) -> SourceFlows:
    """The flows from what a client sends to dangerous calls."""
    from mcproof.source.javascript.flows.collect import collect_flows

    with _room():
        project = source_map.project
        source = project if isinstance(project, _Source) else _Source(source_map.target, source_map.overrides)
        items = [item for server in source.host.servers for item in server.items]
        return collect_flows(source.run.modules.loaded, items, source_map.document.get("tools") or [])


@contextmanager
def _room() -> Iterator[None]:
    """Room for deep recursion, without the garbage collector: trees are large, and none is garbage before the end."""
    was_enabled, limit = gc.isenabled(), sys.getrecursionlimit()
    gc.disable()
    sys.setrecursionlimit(max(limit, DEEPEST_RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        if was_enabled:
            gc.freeze()  # and back: what was created counts as old at once, instead of being searched now
            gc.unfreeze()
            gc.enable()


class _Source:
    """The source of a target, followed."""

    def __init__(self, target: str, overrides: Mapping[str, bytes] | None) -> None:
        self._target = target
        self._overrides = dict(overrides or {})
        self._problems: list[SourceProblem] = []
        self._omissions = Omissions()
        self._incomplete_lists: set[str] = set()
        self._rendered: list[RenderedItem] | None = None
        self.files = ProjectFiles(target, self._problems, self._overrides)
        self.host = McpHost(self.files)
        self.run = Interpreter(self.host)
        self.host.run = self.run
        self.run.modules = Modules(self.run, self.files, project_files.REGISTERING, self._note_endless)
        define_globals(self.run)
        self._follow()

    def _note_endless(self, module: Module, node: Node) -> None:
        self._omissions.note(NO_END, module.source.file, module.source.line(node.start_byte))
        self._incomplete_lists.update(LISTS.values())

    def _follow(self) -> None:
        if not self.files.is_folder:
            self._root(lambda: self.run.modules.load(self.files.target))
            self._follow_unreached()
            return
        for folder in self.files.packages():
            for path in self.files.entries(folder):
                self._root(lambda path=path: self.run.modules.load(path))  # type: ignore[misc]
            if self.files.version_of("xmcp", folder) is not None:
                self._root(lambda folder=folder: load_modules(self.host, folder))  # type: ignore[misc]
            self._follow_unreached()
        if not self._serves():
            for path in self.files.source_files():
                data = self.files.read(path)
                if data is not None and project_files.registers(data):
                    self._root(lambda path=path: self.run.modules.load(path))  # type: ignore[misc]
            self._follow_unreached()

    def _follow_unreached(self) -> None:
        """Follow functions that unknown code may call, and those that register something and that nothing calls."""
        while self.host.starts:
            self._root(self.host.starts.pop(0))
        done = 0
        while self.host.callbacks and done < _MOST_UNREACHED:
            waiting = self.host.callbacks
            key = next((key for key, function in waiting.items() if function.code.registers), next(iter(waiting)))
            function = waiting.pop(key)
            if not function.code.is_called and (function.code.registers or not self._serves()):
                done += 1
                steps = STEPS_OF_CALLBACK if function.code.registers else STEPS_IN_BUNDLE
                self._root(lambda function=function: self._enter(function), steps)  # type: ignore[misc]
        if not self._serves():
            self._initialize_bundles()
        for function in self.run.registering[:]:
            if not function.code.is_called and done < _MOST_UNREACHED:
                done += 1
                self._root(lambda function=function: self._enter(function))  # type: ignore[misc]
        self.run.registering.clear()

    def _initialize_bundles(self) -> None:
        """Run the initializers of modules in bundles, which a program calls where it imports them."""
        last = self.run.steps + STEPS_OF_ONE_ROOT
        for module in self.run.modules.loaded:
            for value in list(module.scope.variables.values()) if module.registers else ():
                is_left = self.run.steps < last
                if isinstance(value, JsFunction) and is_left and _INITIALIZER.search(value.code.start_of_text()):
                    self._root(lambda value=value: call_function(self.run, value, None, []), STEPS_OF_CALLBACK)  # type: ignore[misc]

    def _enter(self, function: JsFunction) -> None:
        """Call a function with unknown arguments."""
        unknown = Unknown("the arguments of this function are not known")
        if isinstance(function, JsClass):
            if function.constructor is not None and function.constructor.code.registers:
                construct(self.run, function, [unknown] * 4, None)
        else:
            call_function(self.run, function, unknown, [unknown] * 6)

    def _serves(self) -> bool:
        return any(server.items or server.handlers for server in self.host.servers)

    def _root(self, follow: Callable[[], object], steps: int = STEPS_OF_ONE_ROOT) -> None:
        """Follow one module or function within its budget."""
        run = self.run
        run.allow(steps)
        try:
            follow()
        except (BudgetExceededError, RecursionError):
            if run.steps >= MOST_STEPS:
                self._report("the source is too large to follow; some of it was skipped")
            self._incomplete_lists.update(LISTS.values())
        except JsThrowError:
            pass
        except Exception as error:  # a catalog without this part is better than none, and says what is missing
            if "MCPROOF_DEBUG" in os.environ:
                raise
            self._report(f"internal error, some of the source was skipped: {type(error).__name__}: {error}")
        run.reset()

    def _report(self, message: str) -> None:
        self._problems.append(SourceProblem(self._target, None, None, message))

    def items(self) -> list[RenderedItem]:
        """Everything that is served."""
        if self._rendered is not None:
            return self._rendered
        self._rendered = []
        for server in self.host.servers:

            def collect(server: ServerValue = server) -> None:
                listed, incomplete = listed_items(self.host, server)
                self._incomplete_lists.update(incomplete)
                for item in listed:
                    rendered = render(self.run, self.host.versions, item, self._omissions, self._incomplete_lists)
                    if rendered is not None and self._rendered is not None:
                        self._rendered.append(rendered)

            self._root(collect)
        return self._rendered

    def groups(self) -> list[ServerGroup]:
        """The servers, each with its items; those that a project creates in several ways are one."""
        items = self.items()
        groups: list[ServerGroup] = []
        for server in self.host.servers:
            own = [item for item in items if item.registration.server == id(server)]
            if not own or server.place is None:
                continue
            module, node = server.place
            location = (module.source.file, module.source.line(node.start_byte))
            package = self.files.package_above(os.path.dirname(module.source.path))
            same = next((group for group in groups if self._is_same(group, package, own)), None)
            if same is not None:
                same.servers.append(server)
                same.items.extend(own)
            else:
                groups.append(ServerGroup([server], own, location))
        return groups

    def _is_same(self, group: ServerGroup, package: str, items: list[RenderedItem]) -> bool:
        """Whether a server is one of a group: of the same package, and with items in common."""
        server: ServerValue = group.servers[0]
        if server.place is None:
            return False
        other = self.files.package_above(os.path.dirname(server.place[0].source.path))
        names = {item.key for item in items}
        return other == package and any(item.key in names for item in group.items)

    def map_of(self, items: list[RenderedItem], servers: list[ServerValue], *, is_whole: bool) -> SourceMap:
        """The catalog of some items."""
        serving = [server for server in servers if server.items or server.handlers]
        numbers = dict.fromkeys(map(id, self.host.servers), 0)
        info = server_info(serving or servers)
        source_map = assemble(
            items, info, numbers, self._omissions, self._incomplete_lists, self._problems, self._target
        )
        for module in self.run.modules.loaded:
            if module.source.file in source_map.files and b"mcproof" in module.source.data:
                source_map.comments[module.source.file] = _comments(module)
        return source_map._replace(
            overrides=self._overrides,
            read=frozenset(self.files.read_paths),
            is_whole=is_whole,
            project=self,
        )


_COMMENT = re.compile(r"//.*mcproof.*|/\*[^*]*mcproof[^*]*\*/")


def _comments(module: Module) -> list[tuple[int, str]]:
    """The comments that mention mcproof, with their lines."""
    text = module.source.data.decode("utf-8", "replace")
    comments = []
    for number, line in enumerate(text.split("\n"), 1):
        if "mcproof" in line[:10_000] and (match := _COMMENT.search(line[:10_000])):
            comments.append((number, f"# {match[0].strip('/* ')}"))
    return comments
