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

from mcproof.targets.python_source import calls, plain
from mcproof.targets.python_source.expressions import LONGEST_LOOP, evaluate
from mcproof.targets.python_source.imports import Lazy, ModuleValue
from mcproof.targets.python_source.statements import BREAK, CONTINUE, RETURN, STATEMENTS
from mcproof.targets.python_source.values import (
    MISSING,
    UNKNOWN,
    Class,
    EnumMember,
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

    from mcproof.targets.python_source.modules import Module, Modules
    from mcproof.targets.python_source.registrations import Servers

MOST_STEPS = 400_000
STEPS_OF_ONE_ROOT = 40_000

_EXITS = frozenset(("sys.exit", "builtins.exit", "builtins.quit", "os._exit"))


class Interpreter:
    """Follows modules and calls; `servers` is told of everything that could register something."""

    def __init__(self, modules: Modules, servers: Servers) -> None:
        self.modules = modules
        self.servers = servers
        self.steps = 0
        self.limit = STEPS_OF_ONE_ROOT
        self.limit_of_root = STEPS_OF_ONE_ROOT
        self.endless: set[int] = set()
        """The functions, by the identity of their nodes, that were given up."""
        self.depth = 0
        self.calls = 0
        self.doubt = 0
        """How many unsettled conditions what is followed right now stands under."""
        self.frames: list[Frame] = [Frame(None, 0)]
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
        self.answers: dict[Any, Any] = {}
        """What calls with plain arguments returned, so that none is followed twice."""
        self._enums: dict[int, list[EnumMember]] = {}

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.limit:
            raise TooMuchError

    def allow(self, steps: int) -> None:
        """Start something new, that may take this many steps."""
        self.limit = self.limit_of_root = self.steps + steps

    @contextmanager
    def in_doubt(self) -> Iterator[None]:
        self.doubt += 1
        try:
            yield
        finally:
            self.doubt -= 1

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
            self.depth = self.doubt = 0
            self.limit = self.limit_of_root  # others will read its names, whoever reads them first
            self.frames.append(Frame(None, 0))
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
        if name in _BUILTIN_NAMES:
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
        if isinstance(target, ast.Name):
            holder = scope.module.scope if target.id in scope.shared else scope
            holder.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = plain.items_of(self.settle(value))
            fits = items is not None and len(items) == len(target.elts)
            for index, each in enumerate(target.elts):
                self.assign(each, items[index] if fits and items is not None else UNKNOWN, scope)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, UNKNOWN, scope)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(evaluate(self, target.value, scope), target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._set_item(
                evaluate(self, target.value, scope), evaluate(self, target.slice, scope), value, target, scope
            )

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        holder = self.settle(holder)
        if isinstance(holder, Instance):
            before = holder.attributes.get(name, MISSING)
            doubtful = self.doubt and before is not MISSING
            holder.attributes[name] = self.joined(before, value) if doubtful else value
        elif isinstance(holder, Function):
            if name == "__name__":
                holder.name = value if isinstance(value, str) else "<unknown>"
                holder.attributes["__name__"] = value
            elif name == "__signature__":
                holder.attributes["__signature__"] = value
            else:
                holder.attributes[name] = value
        elif isinstance(holder, Class):
            holder.body.names[name] = value
        elif isinstance(holder, ModuleValue):
            module = self.modules.load(holder.path)
            if module is not None:
                module.scope.names[name] = value
        else:
            self.servers.set_attribute(holder, name, value)

    def _set_item(self, holder: Any, key: Any, value: Any, target: ast.Subscript, scope: Scope) -> None:
        holder, key = self.settle(holder), plain.bare(self.settle(key))
        if isinstance(holder, dict) and isinstance(key, (str, int, float, bool, tuple)):
            if self.doubt and key in holder:
                value = self.joined(holder[key], value)
            if isinstance(holder, PlacedDict):
                if self.doubt and key not in holder:
                    holder.doubtful.add(key)
                elif not self.doubt:
                    holder.doubtful.discard(key)
            if len(holder) < 50_000:
                holder[key] = value
            if isinstance(holder, PlacedDict):
                holder.places[key] = (scope.module, target.slice, target)
        elif isinstance(holder, PlacedDict):
            holder.incomplete = True
        elif isinstance(holder, list) and isinstance(key, int) and -len(holder) <= key < len(holder):
            holder[key] = value
        else:
            self.servers.set_item(holder, key, value)

    def branch(self, bodies: list[list[ast.stmt]], scope: Scope) -> str | None:
        """Follow alternatives of which nobody knows which one is taken."""
        before = dict(scope.names)
        ends: list[tuple[str | None, dict[str, Any]]] = []
        for body in bodies:
            scope.names = dict(before)
            with self.in_doubt():
                outcome = self.block(body, scope)
            ends.append((outcome, scope.names))
        going_on = [names for outcome, names in ends if outcome is None]
        scope.names = self._merged(going_on or [names for _, names in ends])
        outcomes = {outcome for outcome, _ in ends}
        if len(outcomes) == 1:
            return outcomes.pop()
        if outcomes & {RETURN, BREAK, CONTINUE}:
            if None not in outcomes:
                return RETURN if RETURN in outcomes else CONTINUE
            self.doubt += 1  # until the call ends: what follows is reached only sometimes
            self.frames[-1].doubt += 1
        return None

    def _merged(self, ends: list[dict[str, Any]]) -> dict[str, Any]:
        merged = dict(ends[0])
        for names in ends[1:]:
            for name, value in names.items():
                if name not in merged:
                    merged[name] = value
                elif merged[name] is not value:
                    merged[name] = self.joined(merged[name], value)
        return merged

    def joined(self, left: Any, right: Any) -> Any:
        """What is known of a value that is one of two."""
        if left is MISSING or left is right:
            return right
        if right is MISSING:
            return left
        if isinstance(left, (str, int, float, bool)) and isinstance(right, (str, int, float, bool)):
            return left if type(left) is type(right) and left == right else UNKNOWN
        for one, other in ((left, right), (right, left)):
            if self.servers.is_server(one):
                return one
            if isinstance(one, (Function, Class, Instance, External, Lazy)) and (
                other is None or other is UNKNOWN or isinstance(other, type(one))
            ):
                return one
        if isinstance(left, list) and isinstance(right, list):
            made = PlacedList(left)
            made.extend(each for each in right if not any(each is known for known in left))
            made.doubtful = plain.doubtful_positions(left) | set(range(len(left), len(made)))
            made.doubtful |= {index for index, each in enumerate(left) if not any(each is known for known in right)}
            made.incomplete = True
            return made
        if isinstance(left, PlacedDict) and isinstance(right, PlacedDict):
            merged = left.copy()
            merged.merge({key: value for key, value in right.items() if key not in left})
            for key in left.keys() & right.keys():
                merged[key] = self.joined(left[key], right[key])
            merged.doubtful |= left.keys() ^ right.keys()
            return merged
        return UNKNOWN

    # --- functions and classes

    def function(self, node: FunctionNode, scope: Scope) -> Function:
        """A function object from its definition, its defaults worked out."""
        defaults = [self.settle(evaluate(self, each, scope)) for each in node.args.defaults]
        kw_defaults = [
            MISSING if each is None else self.settle(evaluate(self, each, scope)) for each in node.args.kw_defaults
        ]
        return Function(node, scope, defaults, kw_defaults)

    def call(
        self,
        func: Any,
        args: list[Any],
        kwargs: dict[str, Any],
        node: ast.Call | None,
        *,
        scope: Scope | None = None,
        complete: bool = True,
    ) -> Any:
        """What a call returns, its effects on servers included."""
        if isinstance(func, External) and func.name in _EXITS:
            return UNKNOWN
        return calls.call(self, self.settle(func), args, kwargs, node, scope, complete=complete)

    def yielded(self, value: Any, *, whole: bool) -> None:
        frame = self.frames[-1]
        if frame.yields is None:
            frame.yields = PlacedList()
        items = plain.items_of(value) if whole else [value]
        if items is None or len(frame.yields) > LONGEST_LOOP:
            frame.yields.incomplete = True
        else:
            frame.yields.extend(items)

    def super_of(self, args: list[Any]) -> Any:
        if len(args) == 2 and isinstance(args[0], Class):
            return SuperOf(args[0], args[1])
        function = self.frames[-1].function
        if function is None or function.owner is None:
            return UNKNOWN
        return SuperOf(function.owner, function.bound_to)

    def is_enum(self, cls: Class) -> bool:
        return any(base.last in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag") for base in cls.external_bases())

    def enum_members(self, cls: Class) -> list[EnumMember]:
        if id(cls) not in self._enums:
            members: list[EnumMember] = []
            bases = {base.last for base in cls.external_bases()}
            for name, given in cls.body.names.items():
                if not (name.startswith("_") or isinstance(given, (Function, Class)) or name in cls.annotations):
                    members.append(EnumMember(cls, name, _enum_value(name, given, bases, members)))
            self._enums[id(cls)] = members
        return self._enums[id(cls)]

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


_BUILTIN_NAMES = frozenset(
    [
        "str",
        "int",
        "float",
        "bool",
        "bytes",
        "list",
        "dict",
        "tuple",
        "set",
        "frozenset",
        "type",
        "object",
        "None",
        "len",
        "sorted",
        "reversed",
        "enumerate",
        "zip",
        "range",
        "any",
        "all",
        "min",
        "max",
        "sum",
        "repr",
        "getattr",
        "setattr",
        "hasattr",
        "isinstance",
        "issubclass",
        "callable",
        "property",
        "staticmethod",
        "classmethod",
        "super",
        "globals",
        "locals",
        "vars",
        "dir",
        "map",
        "filter",
        "print",
        "open",
        "iter",
        "next",
        "exit",
        "quit",
        "abs",
        "round",
        "Exception",
        "ValueError",
        "TypeError",
        "RuntimeError",
        "KeyError",
        "ImportError",
        "OSError",
        "AttributeError",
        "NotImplementedError",
        "Ellipsis",
        "complex",
        "bytearray",
    ]
)


def _enum_value(name: str, given: Any, bases: set[str], before: list[EnumMember]) -> Any:
    """The value of a member: `auto()` counts on, and a tuple is what the mixed-in type is made of."""
    if getattr(getattr(given, "func", None), "last", "") == "auto":
        numbers = [each.value for each in before if isinstance(each.value, int)]
        return name.lower() if "StrEnum" in bases else max(numbers, default=0) + 1
    if isinstance(given, tuple) and len(given) == 1 and not plain.MIXED.isdisjoint(bases):
        return given[0]
    return given
