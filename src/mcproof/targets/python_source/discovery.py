"""From source to catalog: follow the project, then write down what its servers would serve."""

from __future__ import annotations

import ast
import gc
import os
import re
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.targets.python_source import calls, rendering
from mcproof.targets.python_source.interpreter import MOST_STEPS, STEPS_OF_ONE_ROOT, Interpreter, TooMuchError
from mcproof.targets.python_source.modules import Module, Modules, stem_of
from mcproof.targets.python_source.registrations import Servers
from mcproof.targets.python_source.values import UNKNOWN, Class, Function, Instance
from mcproof.targets.python_source.walking import Problem, comments_about_us, python_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.catalog import SourceTool
    from mcproof.targets.python_source.places import Place

MOST_ENTRIES = 400
"""How many functions that nothing calls are followed."""

_KINDS = frozenset(("tool", "resource", "prompt"))
_REGISTERS = frozenset(
    (
        "tool",
        "add_tool",
        "add_resource",
        "add_prompt",
        "list_tools",
        "mount",
        "import_server",
        "Tool",
        "FastMCP",
        "MCPServer",
    )
)


class Discovered(NamedTuple):
    """Everything that the source tells about the servers in it."""

    document: dict[str, Any]
    """The catalog, in the shape of a capture."""
    places: dict[str, Place]
    """Where each part of the document is written, by its JSON pointer."""
    tools: list[SourceTool]
    """What only the source knows, in the order of the document's tools."""
    comments: dict[str, list[tuple[int, str]]]
    """Comments that mention mcproof, by file: line and text."""
    problems: list[Problem]
    """What could not be read."""
    files: list[str]
    """The files that hold something."""


def discover(target: str, instead: Mapping[str, bytes] | None = None) -> Discovered:
    """The catalog that the Python source at `target` would serve. Nothing of it is imported or run.

    `instead` is what to read as the content of files, by their real paths, to see what a change would do.
    """
    collecting = gc.isenabled()
    gc.disable()  # syntax trees are large, and nothing of them is garbage before the end
    try:
        return _discovered(target, instead)
    finally:
        if collecting:
            gc.enable()


def _discovered(target: str, instead: Mapping[str, bytes] | None) -> Discovered:
    problems: list[Problem] = []
    files = python_files(target, problems)
    modules = Modules(files, target, problems, instead)
    candidates = modules.candidates()
    speaks_of_mcp = any(b"mcp" in (modules.data(path) or b"").lower() for path in candidates)
    servers = Servers()
    run = Interpreter(modules, servers)
    servers.run = run
    if speaks_of_mcp:
        _follow_everything(run, candidates, problems, target)
    rendered = rendering.render(run, servers, None if os.path.isdir(target) else os.path.abspath(target))
    comments = {}
    for file in rendered.files:
        module = modules.load(os.path.abspath(file))
        if module is not None and (found := comments_about_us(module.text)):
            comments[file] = found
    document = {**rendered.document}
    return Discovered(
        document, rendered.places, rendered.tools, comments, sorted(set(problems), key=_order), rendered.files
    )


def _order(problem: Problem) -> tuple[str, int]:
    return problem.file, problem.line or 0


def _follow_everything(run: Interpreter, candidates: list[str], problems: list[Problem], target: str) -> None:
    """Follow the modules, then the functions that register something and that nothing has called so far."""
    loaded: list[Module] = []
    for path in (*candidates, *run.modules.importers(candidates)):
        _root(run, problems, target, lambda path=path: run.module(path))
        module = run.modules.load(path)
        if module is not None:
            loaded.append(module)
    tools = {
        id(item.function.face().node) for each in run.servers.made for item in each.items if item.function is not None
    }
    run.followed |= tools  # a tool that runs is no part of what registers it
    holders = {stem_of(item.module.file) for each in run.servers.made for item in each.items if item.module is not None}
    definitions = [each for module in loaded for each in _definitions(module, holders, run.followed)]
    entries = [*_roots(definitions, run.followed), *(each for each in definitions if each.registers)]
    mentions: Counter[str] = Counter()
    for module in loaded if entries else ():
        mentions.update(set(re.findall(r"\w+", module.text)))
    for each in entries[:MOST_ENTRIES]:
        if id(each.node) not in run.followed and not _is_dead(run, each, mentions):
            _root(run, problems, target, lambda each=each: _enter(run, each))
    _doubt_imports(run)


def _is_dead(run: Interpreter, each: Definition, mentions: Counter[str]) -> bool:
    """Whether a function that needs arguments is named nowhere, in a project that registers without it."""
    node = each.node
    needed = len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults) - (each.owner is not None)
    if each.owner is not None and each.name != "__init__":
        needed = 1  # an object is needed, and somebody to make it
    if needed <= 0 or os.path.isfile(run.modules.top) or not any(server.items for server in run.servers.made):
        return False
    name = each.owner or each.name
    if mentions[name] > 1:
        return False
    return len(re.findall(rf"\b{re.escape(name)}\b", each.module.text)) <= 1


def _doubt_imports(run: Interpreter) -> None:
    """What a module registers is in doubt where every import of it stands under a condition."""
    doubtful: set[str] = set()
    while True:
        more = {
            path
            for path, imports in run.imports.items()
            if path not in doubtful and all(unsure or importer in doubtful for importer, unsure in imports)
        }
        if not more:
            break
        doubtful |= more
    for server in run.servers.made:
        for item in server.items:
            if item.module is not None and os.path.abspath(item.module.file) in doubtful:
                item.doubtful = True


def _root(run: Interpreter, problems: list[Problem], target: str, follow: Any) -> None:
    """Follow one thing within its bounds."""
    run.limit = min(run.steps + STEPS_OF_ONE_ROOT, MOST_STEPS)
    try:
        follow()
    except TooMuchError:
        if run.steps >= MOST_STEPS:
            problems.append(Problem(target, None, None, "too much to follow; some of it was not looked at"))
    except RecursionError:
        pass  # nested beyond what is followed; what was seen so far stands
    except Exception as error:
        problems.append(Problem(target, None, None, f"a part could not be followed: {type(error).__name__}: {error}"))
    run.depth = run.doubt = run.calls = 0
    del run.frames[1:]
    run.active.clear()
    run.class_under_way = None


class Definition(NamedTuple):
    """A function somewhere in a module, with the class that it is a method of."""

    name: str
    node: Any
    owner: str | None
    module: Module
    registers: bool


def _parts(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node of some statements, in no order; `ast.walk` takes twice as long."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        for value in node.__dict__.values():
            if isinstance(value, list):
                waiting.extend(each for each in value if isinstance(each, ast.AST))
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                waiting.append(value)


def _imports_any(node: ast.ImportFrom | ast.Import, stems: set[str]) -> bool:
    """Whether an import brings in a module of one of these names."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] in stems:
        return True
    return any(alias.name.rpartition(".")[2] in stems for alias in node.names)


def _definitions(module: Module, stems: set[str], followed: set[int]) -> list[Definition]:
    """The functions of a module and the methods of its classes that were not followed, none nested in a function."""
    found = []
    words = (*_REGISTERS, *_KINDS, *stems)
    waiting: list[tuple[Any, str | None]] = [(each, None) for each in module.tree.body]
    while waiting:
        node, owner = waiting.pop(0)
        if id(node) in followed:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(Definition(node.name, node, owner, module, _registers(node, module, words, stems)))
        elif isinstance(node, ast.ClassDef):
            waiting.extend((each, node.name) for each in node.body)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            waiting.extend((each, owner) for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt))
    return found


def _registers(node: Any, module: Module, words: tuple[str, ...], stems: set[str]) -> bool:
    """Whether the body of a function registers something, or imports a module that does."""
    text = module.between(node.lineno, node.end_lineno)
    if not any(word in text for word in words):
        return False
    for each in _parts(node.body):
        if isinstance(each, (ast.ImportFrom, ast.Import)) and _imports_any(each, stems):
            return True
        if isinstance(each, ast.Call):
            inner = each.func.func if isinstance(each.func, ast.Call) else None
            if _name_of(each.func) in _REGISTERS or (inner is not None and _name_of(inner) in _KINDS):
                return True
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [one.func if isinstance(one, ast.Call) else one for one in each.decorator_list]
            if any(_name_of(one) in _KINDS for one in decorators):
                return True
    return False


def _named_in(node: Any) -> set[str]:
    """The names that the body of a function mentions or calls."""
    names = set()
    for each in _parts(node.body):
        if isinstance(each, ast.Name):
            names.add(each.id)
        elif isinstance(each, ast.Call):
            names.add(_name_of(each.func))
    return names


def _name_of(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _roots(definitions: list[Definition], followed: set[int]) -> list[Definition]:
    """From the functions that register something up to those that nothing in the project names."""
    if not any(each.registers for each in definitions):
        return []
    callers: dict[str, list[Definition]] = {}
    for each in definitions:
        for name in _named_in(each.node):
            callers.setdefault(name, []).append(each)
    roots: dict[int, Definition] = {}
    seen: set[int] = set()
    waiting = deque(each for each in definitions if each.registers and id(each.node) not in followed)
    while waiting:
        each = waiting.popleft()
        if id(each.node) in seen:
            continue
        seen.add(id(each.node))
        named = each.owner if each.name == "__init__" and each.owner else each.name
        above = [caller for caller in callers.get(named, ()) if caller.node is not each.node]
        if each.owner is not None and each.name != "__init__":
            above += [caller for caller in callers.get(each.owner, ()) if caller.node is not each.node]
        if above:
            waiting.extend(above)
        else:
            roots[id(each.node)] = each
    return sorted(roots.values(), key=lambda each: not re.match(r"main|serve|run|create|build", each.name))


def _enter(run: Interpreter, each: Definition) -> None:
    """Follow a function that something outside calls, its arguments unknown."""
    holder = run.settle(each.module.scope.names.get(each.owner or each.name))
    if each.owner is None:
        if isinstance(holder, Function):
            calls.follow(run, _original(holder, each.node), [], {}, complete=True)
        return
    if not isinstance(holder, Class):
        return
    made: Any = run.instances.get(id(holder))
    if made is None:
        made = calls.instantiate(run, holder, [], {}, None)
    method = holder.attribute(each.name)
    if id(each.node) in run.followed or not isinstance(method, Function):
        return
    bound = _original(method, each.node).copy()
    if "staticmethod" not in method.decorators:
        bound.bound_to = (
            holder if "classmethod" in method.decorators else made if isinstance(made, Instance) else UNKNOWN
        )
    calls.follow(run, bound, [], {})


def _original(function: Function, node: Any) -> Function:
    """The function under its wrappers."""
    steps = 0
    while function.node is not node and isinstance(function.wrapped, Function) and steps < 20:
        function, steps = function.wrapped, steps + 1
    return function
