"""Types without a class statement of their own: created by a call, or generic classes with parameters.

`Enum("Color", [...])`, `create_model("Row", ...)` and `Page[Item]` are such types, each with its definition.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.text.english import word_set
from mcproof.core.text.json_positions import escape
from mcproof.source.python.interp.containers import has_doubt
from mcproof.source.python.interp.values import (
    MISSING,
    UNKNOWN,
    Class,
    EnumMember,
    External,
    ExternalCall,
    Generic,
    Scope,
    UnionOf,
    generic_name,
)
from mcproof.source.python.pydantic.nodes import Schema, common_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.source.python.pydantic.generator import SchemaGenerator


_ENUMS = frozenset(("Enum", "StrEnum", "IntEnum"))


def is_dynamic_type(kind: ExternalCall) -> bool:
    """Whether a call creates a type that has its own definition."""
    name, package = kind.func.last, kind.func.package
    return (name in _ENUMS and package == "enum") or (name == "create_model" and package == "pydantic")


def reference(generator: SchemaGenerator, kind: ExternalCall, scope: Scope, at: str) -> Schema:
    """A reference to such a type."""
    name = kind.args[0] if kind.args else None
    if not isinstance(name, str) or not kind.complete:
        return generator.unknown_at(at)
    if kind.func.last == "create_model":
        return generator.defined(kind, name, lambda pointer: _model(generator, kind, name, scope, pointer))
    members = enum_members(kind)
    if members is None:
        return generator.unknown_at(at)
    values = list(members.values())
    return generator.defined(kind, name, lambda _: {"enum": values, "title": name, **common_type(values)})


def enum_members(kind: ExternalCall) -> dict[str, Any] | None:
    """The members of an enumeration and their values; None if unknown."""
    given = kind.argument(1, "names")
    if set(kind.kwargs) - {"names", "module", "qualname"} and kind.kwargs.get("type") != External("builtins.str"):
        return None
    if isinstance(given, str):
        given = given.replace(",", " ").split()
    if has_doubt(given):
        return None
    if isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        if "type" in kind.kwargs:
            return None
        is_text = kind.func.last == "StrEnum"
        return {name: name.lower() if is_text else number for number, name in enumerate(given, 1)}
    pairs = list(given.items()) if isinstance(given, dict) else given
    if not isinstance(pairs, (list, tuple)):
        return None
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        return None
    members = {name: value for name, value in pairs if isinstance(name, str) and isinstance(value, (str, int, float))}
    return members if len(members) == len(pairs) and members else None


def _model(generator: SchemaGenerator, kind: ExternalCall, name: str, scope: Scope, at: str) -> Schema:
    properties: Schema = {}
    required: list[str] = []
    for field, declared in kind.kwargs.items():
        if field.startswith("__"):
            continue
        is_pair = isinstance(declared, tuple) and len(declared) == 2
        annotation, default = declared if is_pair else (declared, MISSING)
        shown = generator.alias(annotation, default, scope) or field
        with generator.type_context({}):
            entry = generator.field(shown, annotation, default, scope, f"{at}/properties/{escape(shown)}")
        properties[shown] = entry.schema
        required += [shown] if entry.required else []
    schema: Schema = {"properties": properties, "title": name, "type": "object"}
    if required:
        schema["required"] = required
    described = kind.kwargs.get("__doc__")
    if isinstance(described, str):
        schema["description"] = inspect.cleandoc(described)
    special_names = {"__doc__", "__module__"}
    if any(key not in special_names and kind.kwargs[key] is not None for key in kind.kwargs if key.startswith("__")):
        generator.unknown.add(at)
    if described is UNKNOWN:
        generator.unknown.add(f"{at}/description")
    return schema


MOST_PARTS = 50
"""The maximum number of types in the parameters of one generic class."""
_CONTAINERS = word_set(
    "list dict set frozenset tuple List Dict Set FrozenSet Tuple Sequence Mapping Iterable Collection "
    "MutableSequence MutableMapping AbstractSet"
)
_NO_CLASSES = {
    "PositiveInt": "Annotated[int, Gt]", "NegativeInt": "Annotated[int, Lt]", "NonNegativeInt": "Annotated[int, Ge]",
    "NonPositiveInt": "Annotated[int, Le]", "PositiveFloat": "Annotated[float, Gt]",
    "NegativeFloat": "Annotated[float, Lt]", "NonNegativeFloat": "Annotated[float, Ge]",
    "NonPositiveFloat": "Annotated[float, Le]",
}  # fmt: skip
"""Names that Pydantic defines as annotated types, and their labels."""
_CLASSES = word_set(
    "str int float bool bytes object Any NoneType datetime date time timedelta UUID Decimal Path PurePath AnyUrl "
    "AnyHttpUrl HttpUrl FileUrl EmailStr SecretStr SecretBytes IPv4Address IPv6Address IPv4Network IPv6Network "
    "Optional Union Literal Annotated"
)
_METADATA = frozenset(["Gt", "Ge", "Lt", "Le", "MultipleOf", "MinLen", "MaxLen"])
"""Metadata of `annotated_types`, which Pydantic labels by class."""
_NO_NAME = re.compile(r"[^a-zA-Z0-9.\-_]")
_SPECIAL = frozenset(".:[],<>")
"""Characters in a literal that make Pydantic shorten the name of the definition."""


def parameters_of(cls: Class) -> list[str]:
    """The names of the type variables of a class, in order."""
    names: list[str] = []
    for base in cls.bases:
        if generic_name(base) in ("Generic", "Protocol"):
            return [str(arg.args[0]) for arg in base.args if isinstance(arg, ExternalCall) and arg.args]
        if isinstance(base, Generic):
            names += [name for arg in base.args for name in _variables_in(arg)]
    return list(dict.fromkeys(names))


def _variables_in(kind: Any) -> Iterator[str]:
    waiting, steps = [kind], 0
    while waiting and steps < MOST_PARTS:
        part, steps = waiting.pop(0), steps + 1
        if _is_variable(part):
            yield str(part.args[0])
        elif isinstance(part, (Generic, UnionOf)):
            waiting[:0] = part.args


def bindings(cls: Class, variables: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The values of type variables for a class and each ancestor, by the identity of the class."""
    by_class: dict[int, dict[str, Any]] = {id(cls): variables}
    for ancestor in cls.ancestry():
        bound = by_class.setdefault(id(ancestor), {})
        for base in ancestor.bases:
            if isinstance(base, Generic) and isinstance(base.base, Class):
                filled = [filled_in(arg, bound) for arg in base.args]
                by_class.setdefault(id(base.base), dict(zip(parameters_of(base.base), filled, strict=False)))
    return by_class


class UnknownLabelError(Exception):
    """Pydantic's label for a type is unknown."""


class Labeller:
    """Pydantic's labels for the parameters of a generic class, and their types."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.types: list[Any] = []
        self.is_titled = True
        """Whether the title is known: it contains the full path of a nested class."""
        self._variables = variables

    def of(self, arg: Any) -> str:
        """The label of one parameter; raises an `UnknownLabelError` if it is unknown or too long."""
        if _is_variable(arg) and str(arg.args[0]) in self._variables:
            arg = self._variables[str(arg.args[0])]
        self.types.append(arg if isinstance(arg, (Class, External)) else None)
        if len(self.types) > MOST_PARTS:
            raise UnknownLabelError
        if arg is None:
            return "NoneType"
        if arg is ...:
            return "..."
        if isinstance(arg, Class):
            self.is_titled = self.is_titled and arg.scope.parent is None
            return arg.name
        if isinstance(arg, External):
            return self._external(arg)
        if isinstance(arg, UnionOf):
            return self._union(arg.args)
        if isinstance(arg, ExternalCall) and arg.func.last == "NewType":
            raise UnknownLabelError  # the same label for all of them; Pydantic distinguishes them otherwise
        if not isinstance(arg, Generic):
            raise UnknownLabelError
        return self._generic(arg)

    def _external(self, kind: External) -> str:
        name = kind.last
        if name in _NO_CLASSES:
            return _NO_CLASSES[name]
        if name not in _CLASSES and name not in _CONTAINERS:
            raise UnknownLabelError
        return name

    def _generic(self, kind: Generic) -> str:
        base = self.of(kind.base)
        args = kind.args
        if isinstance(kind.base, External):
            if base in ("Optional", "Union"):
                return self._union((*args, None) if base == "Optional" else args)
            if base == "Literal":
                return f"Literal[{', '.join(map(self._literal, args))}]"
            if base == "Annotated":
                return f"Annotated[{', '.join([self.of(args[0]), *map(self._said, args[1:])])}]"
            if base not in _CONTAINERS:
                raise UnknownLabelError
        return f"{base}[{', '.join(map(self.of, args))}]"

    def _literal(self, value: Any) -> str:
        if isinstance(value, EnumMember) or not isinstance(value, (str, int, type(None))):
            raise UnknownLabelError
        self.types.append((type(value), value))
        if isinstance(value, str) and not _SPECIAL.isdisjoint(value):
            raise UnknownLabelError
        return repr(value)

    def _said(self, extra: Any) -> str:
        """The label of metadata in `Annotated`: its class."""
        self.types.append(id(extra))
        if isinstance(extra, str):
            return "str"
        if isinstance(extra, ExternalCall) and extra.func.last in _METADATA:
            return extra.func.last
        raise UnknownLabelError

    def _union(self, arms: tuple[Any, ...]) -> str:
        # Python flattens nested unions
        if any(isinstance(arm, UnionOf) or generic_name(arm) in ("Optional", "Union") for arm in arms):
            raise UnknownLabelError
        return f"Union[{', '.join(map(self.of, arms))}]"


def definition_name(name: str, labels: list[str]) -> str:
    """Pydantic's name for the definition of a generic class with these labels."""
    return f"{name}_{'_'.join(_NO_NAME.sub('_', label).replace('.', '__') for label in labels)}_"


def _is_variable(kind: Any) -> bool:
    return isinstance(kind, ExternalCall) and kind.func.last == "TypeVar" and bool(kind.args)


def filled_in(kind: Any, variables: dict[str, Any], budget: list[int] | None = None) -> Any:
    """A type with its type variables replaced; UNKNOWN if it has too many parts."""
    budget = [MOST_PARTS] if budget is None else budget
    budget[0] -= 1
    if budget[0] < 0:
        return UNKNOWN
    if _is_variable(kind):
        return variables.get(str(kind.args[0]), kind)
    if isinstance(kind, (Generic, UnionOf)):
        args = tuple(filled_in(arg, variables, budget) for arg in kind.args)
        if any(arg is UNKNOWN for arg in args):
            return UNKNOWN
        return Generic(kind.base, args) if isinstance(kind, Generic) else UnionOf(args)
    return kind
