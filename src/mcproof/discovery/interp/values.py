"""What an expression is worth, as far as the source tells.

Plain data is itself: strings, numbers, lists, dictionaries. Everything else is one of the values below, and what the
source does not settle is `UNKNOWN`. Nothing here ever runs a line of the target.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.discovery.interp.modules import Module

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Unknown:
    """Something that only running the program would tell."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


class Scope:
    """Names and what they stand for: a module, a class body or one call of a function."""

    __slots__ = ("borrowed", "changes", "is_class", "module", "names", "parent")

    def __init__(self, module: Module, parent: Scope | None = None, *, is_class: bool = False) -> None:
        self.module = module
        self.parent = parent
        self.names: dict[str, Any] = {}
        self.is_class = is_class
        self.changes = 0
        """How often a name of it was bound, where it is that of a function."""
        self.borrowed: dict[str, Scope] = {}
        """Names that `global` and `nonlocal` give to another scope."""


class External:
    """Something from outside the project, by its full name: `os.environ`, `builtins.str`."""

    __slots__ = ("may_be_none", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.may_be_none = False
        """Whether there may be None in its place, as for a package that may not be installed."""

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
    """What a call of something external returns: kept as the call that it is."""

    __slots__ = ("args", "complete", "func", "kwargs", "module", "node", "nodes")

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
        """Whether every argument is there: none hides behind an unknown `**`."""
        self.nodes = argument_nodes(node)

    def argument(self, index: int, name: str, default: Any = None) -> Any:
        """An argument by position or name."""
        if 0 <= index < len(self.args):
            return self.args[index]
        return self.kwargs.get(name, default)


class Call(NamedTuple):
    """What something is called with, and where."""

    args: list[Any]
    kwargs: dict[str, Any]
    node: ast.Call | None = None
    scope: Scope | None = None
    complete: bool = True
    """Whether every argument is there: none hides behind an unknown `**`."""

    @property
    def module(self) -> Module | None:
        return self.scope.module if self.scope is not None else None

    def given(self) -> tuple[Any, ...]:
        """The value of every argument."""
        return (*self.args, *self.kwargs.values())


def argument_nodes(node: ast.AST | None) -> dict[str, ast.AST]:
    """The expressions of the keyword arguments of a call."""
    if not isinstance(node, ast.Call):
        return {}
    return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}


class Generic:
    """A subscripted type: `list[int]`, `Literal["a"]`, `Annotated[str, ...]`, `Page[Item]`."""

    __slots__ = ("args", "base")

    def __init__(self, base: Any, args: tuple[Any, ...]) -> None:
        self.base = base
        self.args = args


class UnionOf:
    """`A | B`."""

    __slots__ = ("args",)

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args


class TypeAlias:
    """`type X = ...`: a name of its own in a schema."""

    __slots__ = ("module", "name", "node", "scope")

    def __init__(self, name: str, node: ast.AST, scope: Scope) -> None:
        self.name = name
        self.node = node
        self.scope = scope
        self.module = scope.module


MOST_WRAPPERS = 1_000
"""How many wrappers of a function are looked under; Python's own `inspect` gives up there as well."""
DOC_IN_DOUBT = "<doc in doubt>"
"""Among the attributes of a function: another docstring is put in the place of its own under a condition."""


class Function:
    """A function of the project, with the scope that it was defined in."""

    __slots__ = (
        "attributes", "bound_to", "decorators", "defaults", "doubt", "kw_defaults", "may_be_none", "name", "node",
        "owner", "partial", "scope", "wrapped",
    )  # fmt: skip

    def __init__(self, node: FunctionNode, scope: Scope, defaults: list[Any], kw_defaults: list[Any]) -> None:
        self.node = node
        self.scope = scope
        self.name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        self.defaults = defaults
        self.kw_defaults = kw_defaults
        """For each keyword-only parameter its default; `MISSING` where there is none."""
        self.bound_to: Any = None
        """The instance or class whose method it is; its first parameter is taken."""
        self.owner: Class | None = None
        """The class that it is defined in."""
        self.wrapped: Any = None
        """The function whose face it wears (`functools.wraps`); UNKNOWN where nobody knows which."""
        self.partial: tuple[list[Any], dict[str, Any]] | None = None
        self.attributes: dict[str, Any] = {}
        self.decorators: set[str] = set()
        self.may_be_none = False
        self.doubt = 0
        """Under how many conditions it is defined."""

    def copy(self) -> Function:
        made = type(self)(self.node, self.scope, self.defaults, self.kw_defaults)
        made.name = self.name
        made.bound_to, made.owner, made.wrapped = self.bound_to, self.owner, self.wrapped
        made.partial, made.attributes, made.decorators = self.partial, self.attributes, self.decorators
        made.doubt = self.doubt
        return made

    def bound(self, to: Any) -> Function:
        """The function as a method of something."""
        made = self.copy()
        made.bound_to = to
        return made

    @property
    def module(self) -> Module:
        return self.scope.module

    def face(self) -> Function:
        """The function whose name, signature and docstring are seen from outside."""
        seen, steps = self, 0
        while isinstance(seen.wrapped, Function) and steps < MOST_WRAPPERS:
            seen, steps = seen.wrapped, steps + 1
        return seen


class EitherFunction(Function):
    """One of two functions, and nobody knows which: it has the face of the first, and none of it is certain."""

    __slots__ = ()


class Absent:
    """No default at all."""

    __slots__ = ()


MISSING = Absent()


class Class:
    """A class of the project."""

    __slots__ = ("annotations", "bases", "body", "decorators", "keywords", "may_be_none", "members", "node", "scope")

    def __init__(self, node: ast.ClassDef, scope: Scope, bases: list[Any], keywords: dict[str, Any]) -> None:
        self.node = node
        self.scope = scope
        """Where it is defined."""
        self.body = Scope(scope.module, scope, is_class=True)
        self.bases = bases
        self.keywords = keywords
        self.annotations: dict[str, ast.AnnAssign] = {}
        self.decorators: list[Any] = []
        self.members: list[EnumMember] | None = None
        """Those of an enumeration, once somebody asked."""
        self.may_be_none = False

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def module(self) -> Module:
        return self.scope.module

    def ancestry(self) -> list[Class]:
        """It and the project classes that it inherits from, the nearest first, each once."""
        found: dict[int, Class] = {}
        waiting: list[Any] = [self]
        while waiting and len(found) < 64:
            each = waiting.pop(0)
            if isinstance(each, Generic):
                each = each.base
            if isinstance(each, Class) and id(each) not in found:
                found[id(each)] = each
                waiting = [*each.bases, *waiting]
        return list(found.values())

    def external_bases(self) -> list[External]:
        """What it inherits from outside the project."""
        plain = [base.base if isinstance(base, Generic) else base for each in self.ancestry() for base in each.bases]
        return [base for base in plain if isinstance(base, External)]

    def attribute(self, name: str) -> Any:
        """What the class says of a name, `MISSING` where nothing does."""
        for each in self.ancestry():
            if name in each.body.names:
                return each.body.names[name]
        return MISSING


class Instance:
    """An object of a project class."""

    __slots__ = ("attributes", "cls", "doubt", "doubtful", "is_one_of_two", "may_be_none", "native", "node")

    def __init__(self, cls: Class, node: ast.AST | None = None) -> None:
        self.cls = cls
        self.node = node
        self.attributes: dict[str, Any] = {}
        self.native: Any = None
        """The value of the domain inside it, if its class inherits from a class of the domain."""
        self.may_be_none = False
        self.doubt = 0
        """Under how many conditions it is made, as long as that is under way: what it sets meanwhile, it has."""
        self.doubtful: set[str] = set()
        """The attributes that it has only under a condition."""
        self.is_one_of_two = False
        """Whether it may as well be an object of another class."""


class EnumMember:
    """A member of an enumeration of the project."""

    __slots__ = ("cls", "name", "value")

    def __init__(self, cls: Class, name: str, value: Any) -> None:
        self.cls = cls
        self.name = name
        self.value = value


class SuperOf:
    """`super()` in a method."""

    __slots__ = ("cls", "instance")

    def __init__(self, cls: Class, instance: Any) -> None:
        self.cls = cls
        self.instance = instance


class Method:
    """A method that is not called yet: `"...".format`, `server.tool`."""

    __slots__ = ("name", "of")

    def __init__(self, of: Any, name: str) -> None:
        self.of = of
        self.name = name


class BudgetExceededError(Exception):
    """The bound on steps is reached."""

    def __init__(self) -> None:
        super().__init__()
        self.unfinished: list[int] = []
        """The functions, by the identity of their nodes, that were under way."""


class Frame:
    """One call under way."""

    __slots__ = ("effects", "function", "left", "returns", "yields")

    def __init__(self, function: Function | None) -> None:
        self.function = function
        self.left: dict[str, list[list[dict[str, Any]]]] = {}
        """For a way to leave a round, a loop or the call: for each condition that may have done so, the names then."""
        self.effects = 0
        """The number of effects in the domain when it began."""
        self.returns: list[Any] = []
        self.yields: PlacedList | None = None

    def doubts(self) -> int:
        """How many conditions may have left what is under way."""
        return sum(map(len, self.left.values()))


class PlacedDict(dict[Any, Any]):
    """A dictionary that remembers where its keys and values are written."""

    __slots__ = ("doubtful", "factory", "incomplete", "module", "places")

    def __init__(self, items: Any = (), module: Module | None = None) -> None:
        super().__init__(items)
        self.module = module
        self.places: dict[Any, tuple[Module, ast.AST, ast.AST]] = {}
        """For a key: its module, the node of the key and that of the value."""
        self.incomplete = False
        self.factory: Any = None
        """What makes the value of a key that is not there, as in a `defaultdict`."""
        """Whether something unknown was merged into it."""
        self.doubtful: set[Any] = set()
        """The keys that are there only under a condition."""

    def copy(self) -> PlacedDict:
        made = PlacedDict(self, self.module)
        made.places = dict(self.places)
        made.incomplete = self.incomplete
        made.doubtful = set(self.doubtful)
        return made

    def merge(self, other: dict[Any, Any]) -> None:
        self.update(other)
        for key in other:
            self.places.pop(key, None)
        self.doubtful.difference_update(other)
        if isinstance(other, PlacedDict):
            self.places.update(other.places)
            self.incomplete = self.incomplete or other.incomplete
            self.doubtful |= other.doubtful


class PlacedList(list[Any]):
    """A list that remembers where its items are written."""

    __slots__ = ("doubtful", "either", "incomplete", "is_iterator", "lists_all", "module", "nodes", "unordered")

    def __init__(self, items: Iterable[Any] = (), module: Module | None = None) -> None:
        super().__init__(items)
        self.module = module
        self.nodes: list[ast.AST] = []
        self.incomplete = False
        """Whether nobody knows what exactly it holds: how much, and where."""
        self.lists_all = False
        """Whether, all the same, it can hold nothing that is not here."""
        self.is_iterator = False
        """Whether it is what `iter` gives: `next` takes the first item away."""
        self.either: tuple[list[Any], ...] = ()
        """The lists of which it is one; what it is changed by changes one of them."""
        self.doubtful: set[int] = set()
        """The positions of items that are there only under a condition."""
        self.unordered = False
        """Whether its items may stand in another order: those of a set, or sorted by what is not known."""

    def take_over(self, value: Any, doubtful: Iterable[int]) -> PlacedList:
        """Be as unsure as what it is made of, with these positions in doubt."""
        self.incomplete = self.incomplete or getattr(value, "incomplete", False)
        self.unordered = self.unordered or getattr(value, "unordered", False)
        self.doubtful.update(doubtful)
        return self

    def node(self, index: int) -> ast.AST | None:
        return self.nodes[index] if len(self.nodes) == len(self) else None


HELD = "<held>"
"""Among the attributes of an object of a class that inherits from `dict` or `list`: what it holds."""


def held(value: Any) -> Any:
    """What an object holds that is a dictionary or a list; any other value as it is."""
    return value.attributes.get(HELD, value) if isinstance(value, Instance) else value


def or_none(value: Any) -> Any:
    """What is there only under a condition, and else None: it may be used, but whether it is there is not known."""
    if isinstance(value, External):
        value = External(value.name)
    if isinstance(value, (External, Function, Class, Instance)):
        value.may_be_none = True
    return value


def may_be_none(value: Any) -> bool:
    """Whether a value may be None where this is asked."""
    return isinstance(value, (External, Function, Class, Instance)) and value.may_be_none


def is_open(value: Any) -> bool:
    """Whether it is not settled what is in a list or dictionary."""
    return bool(getattr(value, "incomplete", False) or getattr(value, "doubtful", False))


MOST_KNOWN = 20_000
"""How many values data may hold, each counted as often as it occurs, to be taken for known."""


def extent(value: Any) -> int:
    """How many values data holds, each counted as often as it occurs, as far as that matters."""
    waiting = [value]
    seen = 0
    while waiting and seen + len(waiting) < MOST_KNOWN:
        each = waiting.pop()
        seen += 1
        if isinstance(each, (list, tuple, dict)) and len(each) < MOST_KNOWN:
            waiting += each.values() if isinstance(each, dict) else each
    return seen + len(waiting)


def is_known(value: Any) -> bool:
    """Whether a value is plain data all the way down, and not too much of it."""
    waiting = [(value, 0)]
    seen = 0
    while waiting:
        each, depth = waiting.pop()
        seen += 1
        if isinstance(each, EnumMember):
            each = each.value
        if each is None or isinstance(each, (str, int, float, bool)):
            continue
        if not isinstance(each, (list, tuple, set, frozenset, dict)) or is_open(each) or depth > 60:
            return False
        if isinstance(each, dict):
            if not all(isinstance(key, str) for key in each):
                return False
            each = each.values()
        if seen + len(waiting) + len(each) > MOST_KNOWN:
            return False
        waiting += [(item, depth + 1) for item in each]
    return True


def truth(value: Any) -> bool | None:
    """Whether a value counts as true; None where that is not known."""
    if value is None or isinstance(value, (str, int)):
        return bool(value)
    if value is UNKNOWN or isinstance(value, (ExternalCall, Method, Generic)):
        return None  # what looks like `list[int]` may be an item of something external
    if isinstance(value, (PlacedDict, PlacedList)):
        if len(value.doubtful) >= len(value) and (value or value.incomplete):
            return None  # whatever is in it may not be there
        return bool(value)
    if may_be_none(value):
        return None
    if isinstance(value, EnumMember):
        return truth(value.value) if value.cls.external_bases() else True
    try:
        return bool(value)
    except Exception:
        return None
