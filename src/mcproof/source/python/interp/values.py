"""Values of expressions, and where they are written in the source.

Plain data is represented by itself: strings, numbers, lists, dictionaries. Everything else is an instance of one of
the classes below; a value that only running the program would reveal is `UNKNOWN`.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mcproof.source.python.interp.containers import SourceList
    from mcproof.source.python.interp.modules import Module


MOST_KEPT = 8 << 20
"""How much computed data is kept only to know its origin, roughly in characters."""


class Origins:
    """The node and the module of values, by identity; a value is kept so that its identity stays unique."""

    def __init__(self) -> None:
        self.by_id: dict[int, tuple[Any, Any, Module]] = {}
        self._kept = 0

    def of(self, value: Any) -> tuple[ast.AST, Module] | None:
        """Where a string or a dictionary is written; None if unknown."""
        entry = self.by_id.get(id(value))
        if entry is None or (isinstance(value, str) and len(value) < 2):  # Python shares strings of one character
            return None
        return entry[1:]

    def note(self, value: Any, node: ast.AST, module: Module) -> None:
        """Remember where a value was computed, as long as not too much is kept."""
        self._kept += len(value) + 100
        if self._kept < MOST_KEPT:
            self.by_id[id(value)] = value, node, module


PLAIN = (str, int, float, bool, bytes, type(None))
"""The types of plain data without parts."""
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Unknown:
    """A value that only running the program would reveal."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


class Scope:
    """Names and their values: of a module, a class body or one call of a function."""

    def __init__(self, module: Module, parent: Scope | None = None, *, is_class: bool = False) -> None:
        self.module = module
        self.parent = parent
        self.names: dict[str, Any] = {}
        self.is_class = is_class
        self.changes = 0
        """How often a name was bound, in the scope of a function."""
        self.borrowed: dict[str, Scope] = {}
        """The scopes that `global` and `nonlocal` names belong to."""


class External:
    """Something from outside the project, by its full name: `os.environ`, `builtins.str`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.may_be_none = False
        """Whether it may be None instead, such as a package that may not be installed."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, External) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]


class ExternalCall:
    """The result of an external call, represented by the call itself."""

    def __init__(
        self,
        func: External,
        args: list[Any],
        kwargs: dict[str, Any],
        node: ast.AST | None = None,
        module: Module | None = None,
        *,
        complete: bool = True,
    ) -> None:
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.node = node
        self.module = module
        self.complete = complete
        """Whether all arguments are known; false for an unknown `**`."""
        self.nodes = argument_nodes(node)

    def argument(self, index: int, name: str, default: Any = None) -> Any:
        """An argument by position or name."""
        if 0 <= index < len(self.args):
            return self.args[index]
        return self.kwargs.get(name, default)


class Call(NamedTuple):
    """The arguments of a call, and its location."""

    args: list[Any]
    kwargs: dict[str, Any]
    node: ast.Call | None = None
    scope: Scope | None = None
    complete: bool = True
    """Whether all arguments are known; false for an unknown `**`."""

    @property
    def module(self) -> Module | None:
        return self.scope.module if self.scope is not None else None

    def given(self) -> tuple[Any, ...]:
        """The values of all arguments."""
        return (*self.args, *self.kwargs.values())


def last_name(node: ast.AST | None) -> str:
    """The last part of a dotted name in the source; empty for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def declared_parameters(spec: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """The parameters that take one argument each, positional ones first, with the expressions of their defaults."""
    positional = [*spec.posonlyargs, *spec.args]
    missing = [None] * (len(positional) - len(spec.defaults))
    return [
        *zip(positional, [*missing, *spec.defaults], strict=True),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]


def argument_nodes(node: ast.AST | None) -> dict[str, ast.AST]:
    """The expressions of the keyword arguments of a call."""
    if not isinstance(node, ast.Call):
        return {}
    return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}


class Generic:
    """A subscripted type: `list[int]`, `Literal["a"]`, `Annotated[str, ...]`, `Page[Item]`."""

    def __init__(self, base: Any, args: tuple[Any, ...]) -> None:
        self.base = base
        self.args = args


def generic_name(kind: Any) -> str:
    """The last part of the name of an external type with parameters, such as `Annotated`; empty for other values."""
    return kind.base.last if isinstance(kind, Generic) and isinstance(kind.base, External) else ""


class UnionOf:
    """`A | B`."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args


class TypeAlias:
    """`type X = ...`, which has its own definition in a schema."""

    def __init__(self, name: str, node: ast.AST, scope: Scope) -> None:
        self.name = name
        self.node = node
        self.scope = scope
        self.module = scope.module


MOST_WRAPPERS = 1_000
"""How many wrappers of a function are unwrapped, as in Python's `inspect`."""
DOC_IN_DOUBT = "<doc in doubt>"
"""The attribute of a function whose docstring is replaced under a condition."""


class Function:
    """A function of the project, with the scope that defines it."""

    def __init__(self, node: FunctionNode, scope: Scope, defaults: list[Any], kw_defaults: list[Any]) -> None:
        self.node = node
        self.scope = scope
        self.name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        self.defaults = defaults
        self.kw_defaults = kw_defaults
        """The default of each keyword-only parameter; `MISSING` if it has none."""
        self.bound_to: Any = None
        """The instance or class that it is a method of; takes the place of its first parameter."""
        self.owner: Class | None = None
        """The class that defines it."""
        self.wrapped: Any = None
        """The function that it wraps (`functools.wraps`), whose name and signature it exposes; may be UNKNOWN."""
        self.partial: tuple[list[Any], dict[str, Any]] | None = None
        self.attributes: dict[str, Any] = {}
        self.decorators: set[str] = set()
        self.may_be_none = False
        self.doubt = 0
        """How many unresolved conditions apply to its definition."""

    def parameters(self) -> list[tuple[ast.arg, Any]]:
        """The parameters that take one argument each, positional ones first, and their defaults; `MISSING` without."""
        spec = self.node.args
        positional = [*spec.posonlyargs, *spec.args]
        defaults = [*([MISSING] * (len(positional) - len(self.defaults))), *self.defaults]
        kw_defaults = self.kw_defaults or [MISSING] * len(spec.kwonlyargs)  # flows know no defaults of a closure
        return [*zip(positional, defaults, strict=True), *zip(spec.kwonlyargs, kw_defaults, strict=True)]

    def copy(self) -> Function:
        copy = type(self)(self.node, self.scope, self.defaults, self.kw_defaults)
        copy.name = self.name
        copy.bound_to, copy.owner, copy.wrapped = self.bound_to, self.owner, self.wrapped
        copy.partial, copy.attributes, copy.decorators = self.partial, self.attributes, self.decorators
        copy.doubt = self.doubt
        return copy

    def bound(self, to: Any) -> Function:
        """The function as a method of an instance or class."""
        copy = self.copy()
        copy.bound_to = to
        return copy

    @property
    def module(self) -> Module:
        return self.scope.module

    def exposed(self) -> Function:
        """The function whose name, signature and docstring are visible to callers."""
        seen, steps = self, 0
        while isinstance(seen.wrapped, Function) and steps < MOST_WRAPPERS:
            seen, steps = seen.wrapped, steps + 1
        return seen


class EitherFunction(Function):
    """One of two functions. It exposes the first, and none of it is certain."""


class Absent:
    """The type of `MISSING`: no value at all, such as a parameter without a default."""


MISSING = Absent()


class Class:
    """A class of the project."""

    def __init__(self, node: ast.ClassDef, scope: Scope, bases: list[Any], keywords: dict[str, Any]) -> None:
        self.node = node
        self.scope = scope
        """The scope that defines it."""
        self.body = Scope(scope.module, scope, is_class=True)
        self.bases = bases
        self.keywords = keywords
        self.annotations: dict[str, ast.AnnAssign] = {}
        self.decorators: list[Any] = []
        self.members: list[EnumMember] | None = None
        """The members of an enumeration, computed on demand."""
        self.may_be_none = False

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def module(self) -> Module:
        return self.scope.module

    def ancestry(self) -> list[Class]:
        """The class and its ancestors within the project, nearest first, without duplicates."""
        ancestors: dict[int, Class] = {}
        waiting: list[Any] = [self]
        while waiting and len(ancestors) < 64:
            ancestor = waiting.pop(0)
            if isinstance(ancestor, Generic):
                ancestor = ancestor.base
            if isinstance(ancestor, Class) and id(ancestor) not in ancestors:
                ancestors[id(ancestor)] = ancestor
                waiting = [*ancestor.bases, *waiting]
        return list(ancestors.values())

    def external_bases(self) -> list[External]:
        """Its external base classes, direct and inherited."""
        bases = [
            base.base if isinstance(base, Generic) else base for ancestor in self.ancestry() for base in ancestor.bases
        ]
        return [base for base in bases if isinstance(base, External)]

    def attribute(self, name: str) -> Any:
        """The value of a class attribute; `MISSING` if there is none."""
        for ancestor in self.ancestry():
            if name in ancestor.body.names:
                return ancestor.body.names[name]
        return MISSING


class Instance:
    """An instance of a project class."""

    def __init__(self, cls: Class, node: ast.AST | None = None) -> None:
        self.cls = cls
        self.node = node
        self.attributes: dict[str, Any] = {}
        self.native: Any = None
        """The value of the domain inside it, if its class inherits from a class of the domain."""
        self.may_be_none = False
        self.doubt = 0
        """How many unresolved conditions apply while it is being created; attributes set meanwhile are certain."""
        self.doubtful: set[str] = set()
        """Attributes that are only set under a condition."""
        self.is_either = False
        """Whether it may be an instance of another class."""


class EnumMember:
    """A member of an enumeration of the project."""

    def __init__(self, cls: Class, name: str, value: Any) -> None:
        self.cls = cls
        self.name = name
        self.value = value


class SuperOf:
    """`super()` in a method."""

    def __init__(self, cls: Class, instance: Any) -> None:
        self.cls = cls
        self.instance = instance


class Method:
    """A method that is not called yet: `"...".format`, `server.tool`."""

    def __init__(self, of: Any, name: str) -> None:
        self.of = of
        self.name = name


class BudgetExceededError(Exception):
    """The budget of the interpreter is exhausted."""

    def __init__(self) -> None:
        super().__init__()
        self.unfinished: list[int] = []
        """The functions that were being followed, by the identity of their nodes."""


class Frame:
    """One call that is being followed."""

    def __init__(self, function: Function | None) -> None:
        self.function = function
        self.left: dict[str, list[list[dict[str, Any]]]] = {}
        """By how control may leave an iteration, a loop or the call: the names at that point, for each condition."""
        self.effects = 0
        """The number of effects in the domain when it began."""
        self.returns: list[Any] = []
        self.unlikely: set[int] = set()
        """The positions of values that are only returned if the environment differs from the defaults."""
        self.unlikely_after = sys.maxsize
        """The position from which on all returned values are of that kind."""
        self.yields: SourceList | None = None

    def doubts(self) -> int:
        """How many conditions may have caused control to leave."""
        return sum(map(len, self.left.values()))


CONTENTS = "<held>"
"""The attribute that holds the contents of an instance whose class inherits from `dict` or `list`."""


def contents_of(value: Any) -> Any:
    """The contents of an instance that is a dictionary or a list; any other value unchanged."""
    return value.attributes.get(CONTENTS, value) if isinstance(value, Instance) else value
