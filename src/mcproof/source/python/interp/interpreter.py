"""The interpreter: follows the statements of a project to see their effects.

Values may be unknown. Both branches of an unresolved condition are followed, and what happens there is in doubt.
Nothing is imported or executed; steps, depth and loops are bounded. `Domain` is the seam to the frameworks: it
gives a meaning to calls of external code.
Why source is interpreted instead of matched: docs/decisions/0005-discovery-interprets.md.
"""

from __future__ import annotations

import ast
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from mcproof.source.python.interp import builtins, calls
from mcproof.source.python.interp.bindings import LazyImport, ModuleValue
from mcproof.source.python.interp.containers import (
    STEPS_OF_MODULE_WITHOUT_EFFECTS,
    Budget,
    SourceDict,
    SourceList,
    doubtful_positions,
)
from mcproof.source.python.interp.expressions import LONGEST_LOOP, evaluate
from mcproof.source.python.interp.library_calls import assign
from mcproof.source.python.interp.modules import FunctionHistory, Module, Modules
from mcproof.source.python.interp.operators import items_of
from mcproof.source.python.interp.statements import STATEMENTS
from mcproof.source.python.interp.values import (
    MISSING,
    UNKNOWN,
    BudgetExceededError,
    Call,
    Class,
    External,
    ExternalCall,
    Frame,
    Function,
    FunctionNode,
    Instance,
    Origins,
    Scope,
    SuperOf,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Domain(Protocol):
    """Gives meaning to external code. A method that does not apply returns `UNKNOWN` unless noted otherwise."""

    effects: int
    """How many effects, such as registrations, happened so far."""
    data_bases: frozenset[str]
    """External base classes whose `__init__` sets annotated fields from its arguments."""
    environment_bases: frozenset[str]
    """External base classes whose annotated fields take their values from the environment."""
    field_functions: frozenset[str]
    """External functions that describe the default of such a field."""
    type_functions: frozenset[str]
    """External functions that return a type."""

    def owns(self, value: Any) -> bool:
        """Whether the domain made this value."""

    def join(self, one: Any, other: Any) -> Any:
        """The value that is either of two, if the domain owns the first; `MISSING` otherwise."""

    def instance_of_annotation(self, kind: Any) -> Any:
        """The value of a parameter or an attribute that is only known by its type."""

    def native_part(self, cls: Class, call: Call) -> Any:
        """The value inside a new instance whose class inherits from a class of the domain; None for other classes."""

    def initialize(self, native: Any, call: Call) -> None:
        """Call the inherited `__init__` of such an instance."""

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name`; `MISSING` if the domain does not own the value."""

    def attribute_of_call(self, value: ExternalCall, name: str) -> Any:
        """An attribute of the result of an external call."""

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        """`holder.name = value`."""

    def set_item(self, holder: Any, key: Any, value: Any) -> None:
        """`holder[key] = value`."""

    def call(self, func: Any, args: list[Any]) -> Any:
        """A call of a value of the domain, or of the result of an external call."""

    def external_call(self, call: ExternalCall) -> Any:
        """A call of an external function or class; `made` itself if it has no special meaning."""

    def method(self, holder: Any, name: str, call: Call) -> Any:
        """A method call on a value of the domain, on an unknown value, or on the result of an external call."""

    def class_method(self, cls: Class, name: str, call: Call) -> Any:
        """A call of a class method that a project class inherits from an external class."""

    def decorate(self, decorator: External, function: Any, node: ast.AST) -> Any:
        """An external decorator that is applied without a call."""

    def doubt_lowered(self, doubt: int) -> None:
        """Fewer unresolved conditions apply than before."""

    def cut_short(self, module: Module, node: ast.AST) -> None:
        """The interpreter left a loop or a recursion that has effects before its end."""

    def import_unresolved(self, module: Module | None, node: ast.AST | None) -> None:
        """The name of a module that the program imports is unknown."""


_EXITS = frozenset(("sys.exit", "builtins.exit", "builtins.quit", "os._exit"))


class ImportGraph:
    """Which files import which."""

    def __init__(self) -> None:
        self.importers: dict[str, set[tuple[str, bool]]] = {}
        """For a file that may have effects: the files that import it, and whether only under a condition."""
        self.imported: dict[str, set[str]] = {}
        """For a file: the files that it imports."""


class Interpreter:
    """Follows modules and calls, and passes what only the domain understands to the domain."""

    def __init__(self, modules: Modules, domain: Domain) -> None:
        self.modules = modules
        self.domain = domain
        self.budget = Budget()
        self.origins = Origins()
        self.import_graph = ImportGraph()
        self.depth = 0
        """How deeply the current expression is nested."""
        self.doubt = 0
        """How many unresolved conditions apply to the current statement."""
        self.frames: list[Frame] = [Frame(None)]
        self.active: list[int] = []
        """The functions that are being followed, by the identity of their nodes."""
        self.current_class: Class | None = None
        """The class whose body is being followed."""
        self.decorating = False
        """Whether a decorator expression is being evaluated."""
        self.instances: dict[int, Instance] = {}
        """The first instance of each class, by the identity of the class."""
        self.changes = 0
        """How many changes other functions can see: of objects, data, names of modules and classes."""
        self.functions = FunctionHistory()

    @contextmanager
    def in_doubt(self) -> Iterator[None]:
        self.doubt += 1
        try:
            yield
        finally:
            self.lower_doubt(self.doubt - 1)

    def lower_doubt(self, doubt: int) -> None:
        """Leave conditions until this many apply."""
        self.doubt = doubt
        self.domain.doubt_lowered(doubt)

    def reset(self) -> None:
        """Leave everything that is being followed, as before a new root."""
        self.depth = 0
        self.lower_doubt(0)
        del self.frames[1:]
        self.active.clear()
        self.current_class = None

    def module(self, path: str) -> Module | None:
        """Load a module and follow its statements."""
        module = self.modules.load(path)
        if module is not None and module.state == "new":
            module.state = "running"
            module.scope.names["__name__"] = module.name
            module.scope.names["__file__"] = UNKNOWN
            budget = self.budget
            # a module runs once, whoever imports it first: neither the conditions nor the budget of that place apply
            depth, doubt = self.depth, self.doubt
            limit, before = budget.limit, budget.steps
            self.depth = self.doubt = 0
            budget.limit = budget.root_limit  # independent of which importer comes first
            if self.modules.has_no_effects(module):
                budget.limit = min(budget.limit, budget.steps + STEPS_OF_MODULE_WITHOUT_EFFECTS)
            self.frames.append(Frame(None))
            try:
                self.block(module.tree.body, module.scope)
            except RecursionError:
                pass  # keep what was followed so far
            except BudgetExceededError as error:
                if budget.steps > budget.root_limit or budget.items > budget.most_items:
                    raise
                self.functions.followed.difference_update(error.unfinished)  # a call may follow them to the end
                self.decorating = False
            finally:
                self.frames.pop()
                self.depth = depth
                self.lower_doubt(doubt)
                budget.limit = min(limit + budget.steps - before, budget.root_limit)
                module.state = "done"
        return module

    def resolve(self, value: Any) -> Any:
        """Resolve an imported name."""
        if type(value) is not LazyImport:
            return value
        steps = 0
        while isinstance(value, LazyImport) and steps < 12:
            value, steps = self._imported(value), steps + 1
        return UNKNOWN if isinstance(value, LazyImport) else value

    def _imported(self, lazy: LazyImport) -> Any:
        if lazy.name is None:
            return ModuleValue(lazy.path)
        if not os.path.isdir(lazy.path):
            module = self.module(lazy.path)
            if module is None:
                return UNKNOWN
            if lazy.name in module.scope.names:
                return module.scope.names[lazy.name]
        below = self.modules.import_paths.below(lazy.path, lazy.name)
        return LazyImport(below, None) if below is not None else UNKNOWN

    def lookup(self, name: str, scope: Scope | None) -> Any:
        current = scope
        while current is not None:
            if name in current.names and (current is scope or not current.is_class):
                value = current.names[name]
                return self.resolve(value) if type(value) is LazyImport else value
            current = current.parent
        if name in builtins.NAMES:
            return External(f"builtins.{name}")
        # an undefined name is assumed to come from the last `from module import *`
        stars = scope.module.stars if scope is not None else []
        return External(f"{stars[-1]}.{name}") if stars and not name.startswith("_") else UNKNOWN

    def names_of(self, scope: Scope) -> SourceDict:
        """The names of a scope and their values, except those that Python itself sets."""
        return SourceDict(
            (name, self.resolve(value))
            for name, value in list(scope.names.items())
            if name not in ("__file__", "__name__")
        )

    def import_file(self, path: str, importer: Module) -> None:
        """Follow an imported module at once if it may have effects; other modules wait until a name is read."""
        # asked at the end: if every import of a file is conditional, so is what it registers
        self.import_graph.imported.setdefault(importer.path, set()).add(path)
        if self.modules.is_candidate(path):
            self.import_graph.importers.setdefault(path, set()).add((importer.path, self.doubt > 0))
            self.module(path)

    def block(self, body: list[ast.stmt], scope: Scope) -> str | None:
        """Follow statements until control leaves the block; return how."""
        budget = self.budget
        for statement in body:
            handler = STATEMENTS.get(type(statement))
            if handler is None:
                continue
            budget.steps += 1  # inlined `budget.step()`
            if budget.steps > budget.limit:
                raise BudgetExceededError
            outcome: str | None = handler(self, statement, scope)
            if outcome is not None:
                return outcome
        return None

    def assign(self, target: ast.AST, value: Any, scope: Scope) -> None:
        """Bind a target to a value."""
        assign(self, target, value, scope)

    def function(self, node: FunctionNode, scope: Scope) -> Function:
        """Create a function from its definition; evaluates its defaults."""
        defaults = [self.resolve(evaluate(self, default, scope)) for default in node.args.defaults]
        kw_defaults = [
            MISSING if default is None else self.resolve(evaluate(self, default, scope))
            for default in node.args.kw_defaults
        ]
        if not isinstance(node, ast.Lambda) and type(text := ast.get_docstring(node, clean=False)) is str:
            self.origins.by_id[id(text)] = text, node.body[0], scope.module
        function = Function(node, scope, defaults, kw_defaults)
        function.doubt = self.doubt
        return function

    def call(self, func: Any, call: Call) -> Any:
        """Call a value; return the result."""
        if isinstance(func, External) and func.name in _EXITS:
            return UNKNOWN
        return calls.call_value(self, self.resolve(func), call)

    def record_yield(self, value: Any, *, whole: bool) -> None:
        frame = self.frames[-1]
        if frame.yields is None:
            frame.yields = SourceList()
        items = items_of(value) if whole else [value]
        if items is None or len(frame.yields) > LONGEST_LOOP:
            frame.yields.mark_open()
        else:
            before = len(frame.yields)
            in_doubt = range(len(items)) if self.doubt else doubtful_positions(value) if whole else ()
            frame.yields.inherit_doubt(value if whole else None, (before + index for index in in_doubt))
            frame.yields.extend(items)

    def super_of(self, args: list[Any]) -> Any:
        if len(args) == 2 and isinstance(args[0], Class):
            return SuperOf(args[0], args[1])
        function = self.frames[-1].function
        if function is None or function.owner is None:
            return UNKNOWN
        return SuperOf(function.owner, function.bound_to)

    def attribute_of(self, value: Any, name: str) -> Any:
        """An attribute of a module or of a value of the domain."""
        if isinstance(value, ModuleValue):
            return self.resolve(LazyImport(value.path, name))
        return self.domain.attribute(value, name)

    def annotation(self, node: ast.AST | None, scope: Scope) -> Any:
        """The type that an annotation names."""
        return self.resolve(evaluate(self, node, scope))

    def instance_of_annotation(self, cls: Class, name: str) -> Any:
        """The value of an attribute that is only annotated, as the domain implies it."""
        for ancestor in cls.ancestry():
            if name in ancestor.annotations:
                node = ancestor.annotations[name].annotation
                return self.domain.instance_of_annotation(evaluate(self, node, ancestor.body))
        return UNKNOWN
