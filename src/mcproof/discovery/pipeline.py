"""From source to catalog: follow the project, then write down what its servers would serve."""

from __future__ import annotations

import gc
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.document import rendering
from mcproof.discovery.document.omissions import NO_END
from mcproof.discovery.entry_points import Definition, entries
from mcproof.discovery.frameworks.registrations import Servers
from mcproof.discovery.interp.call_user_function import follow
from mcproof.discovery.interp.instances import instantiate
from mcproof.discovery.interp.interpreter import MOST_STEPS, STEPS_OF_ONE_ROOT, Interpreter
from mcproof.discovery.interp.modules import Module, Modules
from mcproof.discovery.interp.values import (
    MOST_WRAPPERS,
    UNKNOWN,
    Call,
    Class,
    Function,
    Instance,
    TooMuchError,
)
from mcproof.discovery.project.source_files import Problem, comments_about_us, python_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.catalog.model import SourceTool
    from mcproof.discovery.document.node_locations import Place


class Discovered(NamedTuple):
    """Everything that the source tells about the servers in it."""

    document: dict[str, Any]
    """The catalog, in the shape of a capture."""
    places: dict[str, Place]
    """Where each part of the document is written, by its JSON pointer."""
    tools: list[SourceTool]
    """What only the source knows, in the order of the document's tools."""
    lines: dict[str, tuple[tuple[str, int], ...]]
    """The lines that register each tool, resource and prompt, by its pointer: a decorator, a `def`, a constructor.

    Each with its file.
    """
    comments: dict[str, list[tuple[int, str]]]
    """Comments that mention mcproof, by file: line and text."""
    problems: list[Problem]
    """What could not be read."""
    files: list[str]
    """The files that hold something."""
    partial: frozenset[str]
    """The lists of the document that may lack something: what registers it could not be followed to the end."""
    continued: dict[str, dict[tuple[str, int], int]]
    """Of each item, the further lines of what takes several, as a parameter or a docstring, each with the line that it
    begins on."""
    omissions: list[Problem]
    """What is not checked, because the source does not settle it or because it is too much."""


def discover(target: str, instead: Mapping[str, bytes] | None = None, *, whole: bool = False) -> Discovered:
    """The catalog that the Python source at `target` would serve. Nothing of it is imported or run.

    Of a file it is what is written in that file; with `whole`, what the modules that it imports register as well, and
    all servers that there are make one catalog.
    `instead` is what to read as the content of files, by their real paths, to see what a change would do.
    """
    collecting = gc.isenabled()
    gc.disable()  # syntax trees are large, and nothing of them is garbage before the end
    try:
        return _discovered(target, instead, whole=whole)
    finally:
        if collecting:
            gc.enable()


def _discovered(target: str, instead: Mapping[str, bytes] | None, *, whole: bool) -> Discovered:
    problems: list[Problem] = []
    files = python_files(target, problems)
    modules = Modules(files, target, problems, instead)
    if whole and not os.path.isdir(target):
        modules.add_imported()
    candidates = modules.candidates()
    speaks_of_mcp = any(b"mcp" in (modules.data(path) or b"").lower() for path in candidates)
    servers = Servers()
    run = Interpreter(modules, servers)
    servers.run = run
    if speaks_of_mcp:
        _follow_everything(run, candidates, problems, target)
    only = None if whole or os.path.isdir(target) else os.path.abspath(target)
    rendered = rendering.render(run, servers, only, as_one=whole)
    comments = {}
    for file in rendered.files:
        module = modules.load(os.path.abspath(file))
        if module is not None and (found := comments_about_us(module.text)):
            comments[file] = found
    problems = sorted(set(problems), key=_order)
    return Discovered(
        rendered.document,
        rendered.places,
        rendered.tools,
        rendered.lines,
        comments,
        problems,
        rendered.files,
        frozenset(rendered.partial),
        rendered.continued,
        [each for each in run.omissions.told() if only is None or os.path.abspath(each.file) == only],
    )


def _order(problem: Problem) -> tuple[str, int]:
    return problem.file, problem.line or 0


def _follow_everything(run: Interpreter, candidates: list[str], problems: list[Problem], target: str) -> None:
    """Follow the modules, then the functions that register something and that nothing has called so far."""
    loaded: list[Module] = []
    for path in (*candidates, *run.modules.importers(candidates)):
        module = run.modules.load(path)
        if module is not None:
            loaded.append(module)
            _root(run, problems, target, (module, None), lambda path=path: run.module(path))
    tools = {
        id(item.function.face().node) for each in run.servers.made for item in each.items if item.function is not None
    }
    run.followed |= tools  # a tool that runs is no part of what registers it
    for each in entries(run, loaded):
        _root(run, problems, target, (each.module, each.node), lambda each=each: _enter(run, each))
    run.servers.take_unapplied()
    _doubt_imports(run)


def _doubt_imports(run: Interpreter) -> None:
    """What a module registers is in doubt where every import of it stands under a condition.

    Whatever the module needs itself may import it again: that does not say how the module came to be there.
    """
    others: dict[str, list[tuple[str, bool]]] = {}
    for path, imports in run.imports.items():
        needed = _needed_by(path, run.needs) if all(unsure for _, unsure in imports) else ()
        others[path] = [(importer, unsure) for importer, unsure in imports if importer not in needed]
    doubtful: set[str] = set()
    while True:
        more = {
            path
            for path, imports in others.items()
            if path not in doubtful and imports and all(unsure or importer in doubtful for importer, unsure in imports)
        }
        if not more:
            break
        doubtful |= more
    doubtful |= _never_imported(run)
    for server in run.servers.made:
        for item in server.items:
            if item.module is not None and item.module.path in doubtful:
                item.doubtful = True


_LOADS_BY_NAME = re.compile(rb"\b(?:import_module|iter_modules|walk_packages|__import__|spec_from_file_location)\b")
_STARTS = re.compile(rb"__main__|\.run(?:_async|_stdio_async)?\(|\bdef main\b")


def _never_imported(run: Interpreter) -> set[str]:
    """The files whose tools are for the server of another file, that nothing imports and that start nothing."""
    modules = run.modules
    made_in = {
        item.module.path
        for server in run.servers.made
        for item in server.items
        if item.module is not None and server.module is not None and server.module is not item.module
    }
    lonely = {path for path in made_in if path not in run.imports and not _STARTS.search(modules.data(path) or b"")}
    if not lonely or any(_LOADS_BY_NAME.search(modules.data(path) or b"") for path in modules.files):
        return set()
    return lonely


def _needed_by(path: str, needs: Mapping[str, set[str]]) -> set[str]:
    """Every file that a file imports, directly or not."""
    found: set[str] = set()
    waiting = [path]
    while waiting:
        more = needs.get(waiting.pop(), set()) - found
        found |= more
        waiting.extend(more)
    return found


def _root(run: Interpreter, problems: list[Problem], target: str, place: tuple[Module, Any], follow: Any) -> None:
    """Follow one thing, which stands at a place, within its bounds."""
    run.allow(min(STEPS_OF_ONE_ROOT, MOST_STEPS - run.work))
    try:
        follow()
    except TooMuchError:
        if run.work >= MOST_STEPS:
            problems.append(Problem(target, None, None, "too much to follow; some of it was not looked at"))
        run.omissions.note(NO_END, *place)
        run.servers.is_partial = True
    except RecursionError:  # nested beyond what is followed; what was seen so far stands
        run.omissions.note(NO_END, *place)
        run.servers.is_partial = True
    except Exception as error:
        problems.append(Problem(target, None, None, f"a part could not be followed: {type(error).__name__}: {error}"))
    run.depth = run.doubt = run.calls = 0
    del run.frames[1:]
    run.active.clear()
    run.class_under_way = None


def _enter(run: Interpreter, each: Definition) -> None:
    """Follow a function that something outside calls, its arguments unknown."""
    holder = run.settle(each.module.scope.names.get(each.owner or each.name))
    if each.owner is None:
        if isinstance(holder, Function):
            follow(run, _original(holder, each.node), Call([], {}))
        return
    if not isinstance(holder, Class):
        return
    made: Any = run.instances.get(id(holder))
    if made is None:
        made = instantiate(run, holder, Call([], {}))
    method = holder.attribute(each.name)
    if id(each.node) in run.followed or not isinstance(method, Function):
        return
    bound = _original(method, each.node).copy()
    if "staticmethod" not in method.decorators:
        bound.bound_to = (
            holder if "classmethod" in method.decorators else made if isinstance(made, Instance) else UNKNOWN
        )
    follow(run, bound, Call([], {}))


def _original(function: Function, node: Any) -> Function:
    """The function under its wrappers."""
    steps = 0
    while function.node is not node and isinstance(function.wrapped, Function) and steps < MOST_WRAPPERS:
        function, steps = function.wrapped, steps + 1
    return function
