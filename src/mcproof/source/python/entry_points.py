"""Where following a project starts: functions that register something, and the servers that are started.

Entry points are called from outside, and frameworks call registered functions. So the search starts at functions
that register something and goes up to callers that nothing in the project names. Text is searched first, because
syntax trees are slow. Servers that no entry point starts are conditional.
Why text is searched before it is parsed: docs/decisions/0023-text-before-trees.md.
"""

from __future__ import annotations

import ast
import os
import re
from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.source.document import TOO_MANY
from mcproof.source.framework_tables import DECORATORS, REGISTERING_NAMES
from mcproof.source.python.files import CALL_PATTERNS
from mcproof.source.python.interp.modules import Module, stem_of
from mcproof.source.python.interp.values import last_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcproof.source.python.frameworks.domain import McpDomain
    from mcproof.source.python.frameworks.servers import ServerValue


MOST_ENTRIES = 400
"""The maximum number of entry points."""

_LEAVES = frozenset((ast.Name, ast.Constant))
_NOTHING = frozenset((ast.Load, ast.Store, ast.Del, str, int, type(None)))
_WORD = re.compile(r"\w+")
_IMPORT = re.compile(r"\n[ \t]+(?:from|import)\b")


class FunctionDefinition(NamedTuple):
    """A function of a module or a method of one of its classes."""

    name: str
    node: Any
    owner: str | None
    """The class that it is a method of."""
    module: Module
    registers: bool


def entry_points(domain: McpDomain, loaded: list[Module]) -> Iterator[FunctionDefinition]:
    """The functions to follow, callers first: they know the arguments of the functions that they call."""
    run = domain.run
    holders = {
        stem_of(item.module.file) for server in domain.servers for item in server.items if item.module is not None
    }
    definitions = [function for module in loaded for function in _definitions(module, holders, run.functions.followed)]
    registering = [function for function in definitions if function.registers]
    entries = [*_roots(definitions, registering), *registering] if registering else []
    done = 0
    for entry in {id(entry.node): entry for entry in entries}.values():
        if id(entry.node) in run.functions.followed or _is_dead(domain, entry):
            continue
        if done == MOST_ENTRIES:
            domain.omit(TOO_MANY, entry.module, entry.node, is_incomplete=True)
            break
        done += 1
        yield entry


def _is_dead(domain: McpDomain, entry: FunctionDefinition) -> bool:
    """Whether a function with required arguments is never mentioned, in a project that registers items without it."""
    modules, node = domain.run.modules, entry.node
    needed = len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults) - (entry.owner is not None)
    if entry.owner is not None and entry.name != "__init__":
        needed = 1  # a method needs an instance, and code that creates it
    is_alone = os.path.isfile(modules.top) and len(modules.files) == 1
    # in a project without items, even a function that seems dead is the best guess
    if needed <= 0 or is_alone or not any(server.items for server in domain.servers):
        return False
    name = entry.owner or entry.name
    if modules.mentions(name, besides=entry.module):
        return False
    return len(re.findall(rf"\b{re.escape(name)}\b", entry.module.text)) <= 1


def _parts(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node of some statements, in any order; three times as fast as `ast.walk`."""
    waiting: list[Any] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AST):
            yield node
            if type(node) not in _LEAVES:
                for value in node.__dict__.values():
                    if type(value) is list:
                        waiting += value
                    elif type(value) not in _NOTHING:
                        waiting.append(value)


def _definitions(module: Module, stems: set[str], followed: set[int]) -> list[FunctionDefinition]:
    """The functions of a module and the methods of its classes that were not followed; no nested functions."""
    definitions = []
    lines = _lines_that_may_register(module)
    waiting: deque[tuple[Any, str | None]] = deque((statement, None) for statement in module.tree.body)
    while waiting:
        node, owner = waiting.popleft()
        if id(node) in followed:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            next_line = bisect_right(lines, node.lineno - 1)
            last = node.end_lineno or node.lineno
            registers = next_line < len(lines) and lines[next_line] <= last and _registers(node, stems)
            definitions.append(FunctionDefinition(node.name, node, owner, module, registers))
        elif isinstance(node, ast.ClassDef):
            waiting.extend((statement, node.name) for statement in node.body)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            waiting.extend((child, owner) for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
    return definitions


def _lines_that_may_register(module: Module) -> list[int]:
    """The lines, in order, that seem to register something, or to import something inside a function."""
    text = module.text
    offsets = [match.start() for word, act in CALL_PATTERNS.items() if word in text for match in act.finditer(text)]
    offsets += [match.start() + 1 for match in _IMPORT.finditer(text)]
    return sorted(map(module.line_at, offsets))


def _registers(node: Any, stems: set[str]) -> bool:
    """Whether the body of a function registers something, or imports a module that does."""
    for part in _parts(node.body):
        if isinstance(part, (ast.ImportFrom, ast.Import)):
            named = [alias.name for alias in part.names]
            named += [part.module or ""] if isinstance(part, ast.ImportFrom) else []
            if not stems.isdisjoint(name.rpartition(".")[2] for name in named):
                return True
        if isinstance(part, ast.Call):
            inner = part.func.func if isinstance(part.func, ast.Call) else None
            if last_name(part.func) in REGISTERING_NAMES or last_name(inner) in DECORATORS:
                return True
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [one.func if isinstance(one, ast.Call) else one for one in part.decorator_list]
            if any(last_name(decorator) in DECORATORS for decorator in decorators):
                return True
    return False


class _Callers:
    """Which functions mention which names: found in the text, confirmed in the syntax tree."""

    def __init__(self, definitions: list[FunctionDefinition]) -> None:
        self._mentions: dict[str, list[FunctionDefinition]] = {}
        self._named: dict[int, set[str]] = {}
        for function in definitions:
            for word in set(
                _WORD.findall(function.module.lines_between(function.node.lineno, function.node.end_lineno))
            ):
                self._mentions.setdefault(word, []).append(function)

    def of(self, name: str) -> list[FunctionDefinition]:
        """The functions whose bodies mention or call this name."""
        return [function for function in self._mentions.get(name, ()) if name in self._names_in(function.node)]

    def _names_in(self, node: Any) -> set[str]:
        """The names that the body of a function mentions or calls."""
        if id(node) not in self._named:
            names = self._named[id(node)] = set()
            for part in _parts(node.body):
                if isinstance(part, ast.Name):
                    names.add(part.id)
                elif isinstance(part, ast.Call):
                    names.add(last_name(part.func))
        return self._named[id(node)]


def _roots(definitions: list[FunctionDefinition], registering: list[FunctionDefinition]) -> list[FunctionDefinition]:
    """The callers of registering functions that nothing else in the project mentions."""
    callers = _Callers(definitions)
    roots: dict[int, FunctionDefinition] = {}
    seen: set[int] = set()
    waiting = deque(registering)
    while waiting:
        function = waiting.popleft()
        if id(function.node) in seen:
            continue
        seen.add(id(function.node))
        named = function.owner if function.name == "__init__" and function.owner else function.name
        above = [caller for caller in callers.of(named) if caller.node is not function.node]
        if not above and function.owner is not None and function.name != "__init__":
            # nothing calls the method by its name: look for code that creates the instance
            above = [caller for caller in callers.of(function.owner) if caller.node is not function.node]
        if above:
            waiting.extend(above)
        else:
            roots[id(function.node)] = function
    # programs before helpers: the first call of a function decides about the arguments that are known
    return sorted(roots.values(), key=lambda root: not re.match(r"main|serve|run|create|build", root.name))


LOADS_BY_NAME = re.compile(rb"\b(?:import_module|iter_modules|walk_packages|__import__|spec_from_file_location)\b")
"""Imports of modules whose names are not in the text."""
_IS_RUN = re.compile(rb"^if __name__\s*==\s*[\"']__main__[\"']", re.MULTILINE)


def doubt_unstarted(domain: McpDomain) -> None:
    """Mark the items of servers that no entry point of their project certainly starts."""
    by_scripts: dict[tuple[str, ...], list[ServerValue]] = {}
    for server in domain.servers:
        serves = server.items or server.handlers or server.mounts
        if serves and server.module is not None and not (server.mounted or server.is_given):
            scripts = domain.declarations.of(server.module.path).scripts
            by_scripts.setdefault(scripts, []).append(server)
    for scripts, servers in by_scripts.items():
        if len({server.module.path for server in servers if server.module is not None}) > 1:
            _doubt_others(domain, scripts, servers)


def _doubt_others(domain: McpDomain, scripts: tuple[str, ...], servers: list[ServerValue]) -> None:
    """Mark the items of the servers of one project that its entry points do not reach."""
    paths = [server.module.path for server in servers if server.module is not None]
    data = domain.run.modules.data
    run_files = {path for path in domain.run.modules.files if _IS_RUN.search(data(path) or b"")}
    for entries in (_declared(domain, scripts, paths), run_files):
        possible = _reached(domain, entries, certain=False)
        if possible.isdisjoint(paths):
            continue
        if any(LOADS_BY_NAME.search(data(path) or b"") for path in possible):  # it may import all of them
            return
        certain = _reached(domain, entries, certain=True)
        for server in servers:
            if server.module is not None and server.module.path not in certain:
                server.doubt_everything()
        return


def _declared(domain: McpDomain, scripts: Iterable[str], importers: list[str]) -> set[str]:
    """The files of declared scripts, and those that `python -m` starts."""
    modules = domain.run.modules
    files = {modules.import_paths.find(importer, name, 0) for name in scripts for importer in importers}
    mains = {path for path in modules.files if os.path.basename(path) == "__main__.py"}
    return mains | {path for path in files if path is not None and path.endswith(".py")}


def _reached(domain: McpDomain, entries: set[str], *, certain: bool) -> set[str]:
    """The files that entry points import, directly or indirectly; if `certain`, under no condition."""
    modules, importers = domain.run.modules, domain.run.import_graph.importers
    reached = {file for entry in entries for file in (entry, *modules.import_paths.packages_of(entry))}
    waiting = list(reached)
    while waiting:
        path = waiting.pop()
        for imported in modules.imported_by(path):
            importing = importers.get(imported, set())
            is_conditional = (path, True) in importing and (path, False) not in importing
            if imported not in reached and not (certain and is_conditional):
                reached.add(imported)
                waiting.append(imported)
    return reached


_STARTS = re.compile(rb"__main__|\.run(?:_async|_stdio_async)?\(|\bdef main\b")


def doubt_imports(domain: McpDomain) -> None:
    """Mark the items of a module as doubtful if every import of the module is conditional.

    Imports by modules that it needs itself do not count: they do not explain how it was imported first.
    """
    graph = domain.run.import_graph
    others: dict[str, list[tuple[str, bool]]] = {}
    for path, imports in graph.importers.items():
        needed = _needed_by(path, graph.imported) if all(unsure for _, unsure in imports) else ()
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
    doubtful |= _never_imported(domain)
    for server in domain.servers:
        for item in server.items:
            if item.module is not None and item.module.path in doubtful:
                item.doubtful = True


def _needed_by(path: str, imported: Mapping[str, set[str]]) -> set[str]:
    """Every file that a file imports, directly or indirectly."""
    needed: set[str] = set()
    waiting = [path]
    while waiting:
        more = imported.get(waiting.pop(), set()) - needed
        needed |= more
        waiting.extend(more)
    return needed


def _never_imported(domain: McpDomain) -> set[str]:
    """Files that register items on the server of another file, that nothing imports and that start nothing."""
    modules = domain.run.modules
    registering = {
        item.module.path
        for server in domain.servers
        for item in server.items
        if item.module is not None and server.module is not None and server.module is not item.module
    }
    importers = domain.run.import_graph.importers
    unused = {path for path in registering if path not in importers and not _STARTS.search(modules.data(path) or b"")}
    if not unused or any(LOADS_BY_NAME.search(modules.data(path) or b"") for path in modules.files):
        return set()
    return unused
