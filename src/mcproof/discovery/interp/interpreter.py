"""Following the statements of a project far enough to see what they register.

This is an interpreter of values that may be unknown, not of programs: a condition that the source does not settle is
followed both ways, and what happens under it is in doubt. Nothing of the target is imported or executed; steps,
depth and loops are bounded.
"""

from __future__ import annotations

import ast
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcproof.discovery.document.omissions import Omissions
from mcproof.discovery.interp import builtin_calls, builtin_values, calls
from mcproof.discovery.interp.assignments import assign
from mcproof.discovery.interp.expressions import (
    ITEMS_OF_A_STEP,
    LETTERS_OF_A_STEP,
    LONGEST_LOOP,
    SIZED,
    evaluate,
)
from mcproof.discovery.interp.imports import Lazy, ModuleValue
from mcproof.discovery.interp.statements import STATEMENTS
from mcproof.discovery.interp.values import (
    MISSING,
    UNKNOWN,
    Call,
    Class,
    External,
    Frame,
    Function,
    FunctionNode,
    Instance,
    PlacedDict,
    PlacedList,
    Scope,
    SuperOf,
    TooMuchError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.discovery.frameworks.registrations import Servers
    from mcproof.discovery.frameworks.servers import ServerValue
    from mcproof.discovery.interp.call_user_function import Answer
    from mcproof.discovery.interp.modules import Module, Modules

MOST_STEPS = 400_000
STEPS_OF_ONE_ROOT = 40_000
MOST_KEPT = 8 << 20
"""How much is kept only to know where it was made, about in letters."""

_EXITS = frozenset(("sys.exit", "builtins.exit", "builtins.quit", "os._exit"))


class Interpreter:
    """Follows modules and calls; `servers` is told of everything that could register something."""

    def __init__(self, modules: Modules, servers: Servers) -> None:
        self.modules = modules
        self.servers = servers
        self.steps = 0
        self.limit = STEPS_OF_ONE_ROOT
        self.limit_of_root = STEPS_OF_ONE_ROOT
        self.items = 0
        """How many items were gone through within steps."""
        self.most_items = STEPS_OF_ONE_ROOT * ITEMS_OF_A_STEP
        self.endless: set[int] = set()
        """The functions, by the identity of their nodes, that were given up."""
        self.depth = 0
        self.calls = 0
        self._doubt = 0
        self.made_in_doubt: list[ServerValue] = []
        """The servers that are made under a condition which still holds."""
        self.frames: list[Frame] = [Frame(None)]
        self.active: list[int] = []
        self.followed: set[int] = set()
        """The functions, by the identity of their nodes, that were followed at least once."""
        self.class_under_way: Class | None = None
        self.imports: dict[str, set[tuple[str, bool]]] = {}
        """For a file that may register something: who imports it, and whether only under a condition."""
        self.needs: dict[str, set[str]] = {}
        """For a file: the files that it imports."""
        self.decorating = False
        self.instances: dict[int, Instance] = {}
        """The first object of each class, by the identity of the class."""
        self.omissions = Omissions()
        self.changes = 0
        """How often something was changed that other functions can see: objects, data, names of modules and classes."""
        self.answers: dict[Any, Answer] = {}
        """What calls with plain arguments returned, so that none is followed twice."""
        self.written: dict[int, tuple[Any, Any, Module]] = {}
        """Where texts and dictionaries are written, by their identity: the value itself, its node and its module."""
        self._kept = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.limit:
            raise TooMuchError

    def charge(self, items: int) -> None:
        """Count the work of going through this many items at once, which has a bound of its own."""
        self.items += items
        if self.items > self.most_items:
            raise TooMuchError

    def go_through(self, *values: Any) -> None:
        """Count the work of looking at every item of values, and at every letter: that is more than to copy them."""
        for each in values:
            if type(each) in SIZED:
                self.charge(len(each))

    def weigh(self, value: Any) -> None:
        """Count the work of going through a value, if it is one that has a size."""
        if type(value) is str:
            self.charge(len(value) * ITEMS_OF_A_STEP // LETTERS_OF_A_STEP)
        elif type(value) in SIZED:
            self.charge(len(value))

    def allow(self, steps: int) -> None:
        """Start something new, that may take this many steps, and as much work within them."""
        self.limit = self.limit_of_root = self.steps + steps
        self.most_items = self.items + steps * ITEMS_OF_A_STEP

    @property
    def work(self) -> int:
        """All that was done so far, as steps."""
        return self.steps + self.items // ITEMS_OF_A_STEP

    def written_at(self, value: Any) -> tuple[ast.AST, Module] | None:
        """Where a text or a dictionary is written, however many names it went through."""
        known = self.written.get(id(value))
        if known is None or (isinstance(value, str) and len(value) < 2):  # texts of one letter are all one and the same
            return None
        return known[1:]

    def made_at(self, value: Any, node: ast.AST, module: Module) -> None:
        """Remember where a value that no constant is was made: to remember it is to keep it."""
        self._kept += len(value) + 100
        if self._kept < MOST_KEPT:
            self.written[id(value)] = value, node, module

    @contextmanager
    def in_doubt(self) -> Iterator[None]:
        self.doubt += 1
        try:
            yield
        finally:
            self.doubt -= 1

    @property
    def doubt(self) -> int:
        """Under how many conditions that nobody can settle something happens."""
        return self._doubt

    @doubt.setter
    def doubt(self, value: int) -> None:
        self._doubt = value
        if self.made_in_doubt:
            for each in self.made_in_doubt:
                each.floor = min(each.floor, value)
            self.made_in_doubt = [each for each in self.made_in_doubt if each.floor]

    # --- modules and names

    def module(self, path: str) -> Module | None:
        """The module in a file, its statements followed."""
        module = self.modules.load(path)
        if module is not None and module.state == "new":
            module.state = "running"
            module.scope.names["__name__"] = module.name
            module.scope.names["__file__"] = UNKNOWN
            depth, calls_, doubt = self.depth, self.calls, self.doubt
            limit, before = self.limit, self.steps
            self.depth = self._doubt = 0
            self.limit = self.limit_of_root  # others will read its names, whoever reads them first
            self.frames.append(Frame(None))
            try:
                self.block(module.tree.body, module.scope)
            except RecursionError:
                pass  # what was seen so far stands
            finally:
                self.frames.pop()
                self.depth, self.calls, self.doubt = depth, calls_, doubt
                self.limit = min(limit + self.steps - before, self.limit_of_root)
                module.state = "done"
        return module

    def settle(self, value: Any) -> Any:
        """What an imported name stands for."""
        if type(value) is not Lazy:
            return value
        steps = 0
        while isinstance(value, Lazy) and steps < 12:
            value, steps = self._imported(value), steps + 1
        return UNKNOWN if isinstance(value, Lazy) else value

    def _imported(self, lazy: Lazy) -> Any:
        if os.path.isdir(lazy.path):
            if lazy.name is None:
                return lazy.path and ModuleValue(lazy.path)
            below = self.modules.locations.in_folder(lazy.path, lazy.name)
            return Lazy(below, None) if below is not None else UNKNOWN
        if lazy.name is None:
            return ModuleValue(lazy.path)
        module = self.module(lazy.path)
        if module is None:
            return UNKNOWN
        if lazy.name in module.scope.names:
            return module.scope.names[lazy.name]
        if module.is_package:
            below = self.modules.locations.in_folder(os.path.dirname(lazy.path), lazy.name)
            if below is not None:
                return Lazy(below, None)
        return UNKNOWN

    def lookup(self, name: str, scope: Scope | None) -> Any:
        current = scope
        while current is not None:
            if name in current.names and (current is scope or not current.is_class):
                value = current.names[name]
                return self.settle(value) if type(value) is Lazy else value
            current = current.parent
        if name in builtin_calls.NAMES:
            return External(f"builtins.{name}")
        # A name that nothing in sight defines comes from the last `from somewhere import *`.
        stars = scope.module.stars if scope is not None else []
        return External(f"{stars[-1]}.{name}") if stars and not name.startswith("_") else UNKNOWN

    def names_of(self, scope: Scope) -> PlacedDict:
        made = PlacedDict((name, self.settle(value)) for name, value in list(scope.names.items()))
        made.incomplete = False
        return made

    def reach(self, path: str, importer: Module) -> None:
        """Follow an imported module at once if it may register something; others wait until a name is read."""
        self.needs.setdefault(importer.path, set()).add(path)
        if self.modules.is_candidate(path):
            self.imports.setdefault(path, set()).add((importer.path, self.doubt > 0))
            self.module(path)

    # --- statements

    def block(self, body: list[ast.stmt], scope: Scope) -> str | None:
        """Follow statements until one leaves the block; how it is left."""
        for statement in body:
            handler = STATEMENTS.get(type(statement))
            if handler is None:
                continue
            self.steps += 1
            if self.steps > self.limit:
                raise TooMuchError
            outcome: str | None = handler(self, statement, scope)
            if outcome is not None:
                return outcome
        return None

    def assign(self, target: ast.AST, value: Any, scope: Scope) -> None:
        """Bind a target to a value."""
        assign(self, target, value, scope)

    # --- functions and classes

    def function(self, node: FunctionNode, scope: Scope) -> Function:
        """A function object from its definition, its defaults worked out."""
        defaults = [self.settle(evaluate(self, each, scope)) for each in node.args.defaults]
        kw_defaults = [
            MISSING if each is None else self.settle(evaluate(self, each, scope)) for each in node.args.kw_defaults
        ]
        if not isinstance(node, ast.Lambda) and type(text := ast.get_docstring(node, clean=False)) is str:
            self.written[id(text)] = text, node.body[0], scope.module
        made = Function(node, scope, defaults, kw_defaults)
        made.doubt = self.doubt
        return made

    def call(self, func: Any, call: Call) -> Any:
        """What a call returns, its effects on servers included."""
        if isinstance(func, External) and func.name in _EXITS:
            return UNKNOWN
        return calls.call_of(self, self.settle(func), call)

    def yielded(self, value: Any, *, whole: bool) -> None:
        frame = self.frames[-1]
        if frame.yields is None:
            frame.yields = PlacedList()
        items = builtin_values.items_of(value) if whole else [value]
        if items is None or len(frame.yields) > LONGEST_LOOP:
            frame.yields.incomplete = True
        else:
            before = len(frame.yields)
            in_doubt = range(len(items)) if self.doubt else builtin_values.doubtful_positions(value) if whole else ()
            frame.yields.take_over(value if whole else None, (before + index for index in in_doubt))
            frame.yields.extend(items)

    def super_of(self, args: list[Any]) -> Any:
        if len(args) == 2 and isinstance(args[0], Class):
            return SuperOf(args[0], args[1])
        function = self.frames[-1].function
        if function is None or function.owner is None:
            return UNKNOWN
        return SuperOf(function.owner, function.bound_to)

    def attribute_of(self, value: Any, name: str) -> Any:
        """An attribute of a module or of a server."""
        if isinstance(value, ModuleValue):
            found = self.settle(Lazy(value.path, name))
            if found is UNKNOWN and name == "__all__":
                return UNKNOWN
            return found
        return self.servers.attribute(value, name)

    def annotation(self, node: ast.AST | None, scope: Scope) -> Any:
        """The type that an annotation names."""
        return self.settle(evaluate(self, node, scope))

    def instance_of_annotation(self, cls: Class, name: str) -> Any:
        """What an attribute that is only annotated can be: a server, or nothing that is known."""
        for each in cls.ancestry():
            if name in each.annotations:
                node = each.annotations[name].annotation
                return self.servers.of_annotation(evaluate(self, node, each.body))
        return UNKNOWN
