"""The JSON Schema that Pydantic makes of a type."""

from __future__ import annotations

import ast
import datetime
import inspect
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.jsontext import escape
from mcproof.targets.python_source import constraints, models, plain
from mcproof.targets.python_source.basic_types import ANY, ARRAYS, BASIC, MAPPINGS, SETS, TRANSPARENT
from mcproof.targets.python_source.expressions import evaluate
from mcproof.targets.python_source.values import (
    MISSING,
    UNKNOWN,
    Called,
    Class,
    EnumMember,
    External,
    Generic,
    Instance,
    PlacedDict,
    Scope,
    TypeAlias,
    UnionOf,
    is_known,
    is_open,
)

if TYPE_CHECKING:
    from mcproof.targets.python_source.interpreter import Interpreter

DEEPEST_TYPE = 40
Schema = dict[str, Any]


class Field(NamedTuple):
    """One member of an object: a parameter or a field of a model."""

    name: str
    schema: Schema
    required: bool


class Generator:
    """Makes one schema; definitions and what stayed unknown gather here."""

    def __init__(self, run: Interpreter, *, describes_strings: bool = False, by_alias: bool = True) -> None:
        self.run = run
        self.by_alias = by_alias
        """Whether fields go by their aliases; fastmcp describes what a tool returns without them."""
        self.describes_strings = describes_strings
        """Whether a string in `Annotated` is a description, as fastmcp has it."""
        self.definitions: dict[str, Schema] = {}
        self.unknown: set[str] = set()
        self._names: dict[int, str] = {}
        self._depth = 0
        self.variables: dict[str, Any] = {}
        self.generics: dict[tuple[Any, ...], object] = {}
        """What each generic model with these parameters is known by."""

    def unknown_at(self, at: str) -> Schema:
        self.unknown.add(at)
        return {}

    def schema(self, kind: Any, scope: Scope, at: str) -> Schema:
        """The schema of a type, as evaluated; empty and marked where it is not known."""
        self._depth += 1
        try:
            if self._depth > DEEPEST_TYPE:
                return self.unknown_at(at)
            return self._schema(self.resolved(kind, scope), scope, at)
        finally:
            self._depth -= 1

    def resolved(self, kind: Any, scope: Scope) -> Any:
        """A type that is written as a string, read."""
        steps = 0
        while isinstance(kind, str) and steps < 5:
            try:
                node = ast.parse(kind.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return UNKNOWN
            kind, steps = self.run.settle(evaluate(self.run, node, scope)), steps + 1
        return kind

    def _schema(self, kind: Any, scope: Scope, at: str) -> Schema:
        if kind is None:
            return {"type": "null"}
        if isinstance(kind, External):
            return self._external(kind, scope, at)
        if isinstance(kind, Generic):
            return self._generic(kind, scope, at)
        if isinstance(kind, UnionOf):
            return self.union(kind.args, scope, at)
        if isinstance(kind, Class):
            return models.reference(self, kind, at)
        if isinstance(kind, TypeAlias):
            return self.defined(kind, kind.name, lambda place: self._alias(kind, place))
        if isinstance(kind, Called):
            return self._called(kind, scope, at)
        return self.unknown_at(at)

    def _alias(self, kind: TypeAlias, at: str) -> Schema:
        value = self.run.settle(evaluate(self.run, kind.node, kind.scope))
        return self.schema(value, kind.scope, at)

    def _external(self, kind: External, scope: Scope, at: str) -> Schema:
        name = kind.last
        if kind.package in ("mcp", "fastmcp", "mcp_types"):
            return self.unknown_at(at)
        if name in self.variables:
            return self.schema(self.variables[name], scope, at)
        if name in ANY:
            return {}
        if name in ARRAYS:
            return {"items": {}, "type": "array"}
        if name in SETS:
            return {"items": {}, "type": "array", "uniqueItems": True}
        if name in MAPPINGS:
            return {"additionalProperties": True, "type": "object"}
        if name in BASIC:
            is_written = name == "Decimal" and not self.by_alias  # serialised, it is always a string
            return {"type": "string"} if is_written else dict(BASIC[name])
        return self.unknown_at(at)

    def _generic(self, kind: Generic, scope: Scope, at: str) -> Schema:
        base, args = kind.base, kind.args
        if isinstance(base, Class):
            return models.generic_reference(self, base, args, at)
        name = base.last if isinstance(base, External) else ""
        if name == "Annotated":
            return self.annotated(args, scope, at)
        if name == "Optional":
            return self.union((*args, None), scope, at)
        if name == "Union":
            return self.union(args, scope, at)
        if name == "Literal":
            return self._literal(args, at)
        if name in ("tuple", "Tuple"):
            return self._tuple(args, scope, at)
        if name in ARRAYS:
            return {"items": self.schema(args[0], scope, f"{at}/items"), "type": "array"}
        if name in SETS:
            return {"items": self.schema(args[0], scope, f"{at}/items"), "type": "array", "uniqueItems": True}
        if name in MAPPINGS:
            return self._mapping(args, scope, at)
        if name in TRANSPARENT:
            return self.schema(args[0], scope, at)
        if name in ("type", "Type", "Callable", "Counter"):
            return self.unknown_at(at)
        return self.unknown_at(at)

    def _tuple(self, args: tuple[Any, ...], scope: Scope, at: str) -> Schema:
        if len(args) == 2 and args[1] is ...:
            return {"items": self.schema(args[0], scope, f"{at}/items"), "type": "array"}
        if args == ((),) or not args:
            return {"maxItems": 0, "minItems": 0, "type": "array"}
        items = [self.schema(arg, scope, f"{at}/prefixItems/{index}") for index, arg in enumerate(args)]
        return {"maxItems": len(items), "minItems": len(items), "prefixItems": items, "type": "array"}

    def _mapping(self, args: tuple[Any, ...], scope: Scope, at: str) -> Schema:
        if len(args) != 2:
            return {"additionalProperties": True, "type": "object"}
        values = self.schema(args[1], scope, f"{at}/additionalProperties")
        unsure = f"{at}/additionalProperties" in self.unknown
        keys = self.schema(args[0], scope, f"{at}/propertyNames")
        made: Schema = {"type": "object"}
        pattern = keys.pop("pattern", None)
        if pattern is not None:
            made["patternProperties"] = {pattern: values}
        elif values or not unsure:
            made["additionalProperties"] = values or True
        keys.pop("title", None)
        if keys and keys.get("type", "string") == "string" and len(keys) > ("type" in keys):
            made["propertyNames"] = {key: value for key, value in keys.items() if key != "type"}
        return made

    def _literal(self, args: tuple[Any, ...], at: str) -> Schema:
        values: list[Any] = []
        for arg in _flat_literals(args):
            value = arg.value if isinstance(arg, EnumMember) else arg
            if not isinstance(value, (str, int, bool, float, type(None))):
                return self.unknown_at(at)
            if not any(value == seen and type(value) is type(seen) for seen in values):
                values.append(value)
        made: Schema = {"const": values[0]} if len(values) == 1 else {"enum": values}
        return {**made, **common_type(values)}

    def union(self, args: tuple[Any, ...], scope: Scope, at: str) -> Schema:
        """`anyOf`, flattened and each branch once, null at the end."""
        arms: list[Any] = []
        for each in args:
            arg = self.resolved(each, scope)
            if isinstance(arg, UnionOf):
                arms.extend(arg.args)
            elif isinstance(arg, Generic) and isinstance(arg.base, External) and arg.base.last in ("Union", "Optional"):
                arms.extend([*arg.args, *([None] if arg.base.last == "Optional" else [])])
            else:
                arms.append(arg)
        nullable = any(arm is None or (isinstance(arm, External) and arm.last == "NoneType") for arm in arms)
        branches: list[Schema] = []
        for arm in arms:
            if arm is None or (isinstance(arm, External) and arm.last == "NoneType"):
                continue
            made = self.schema(arm, scope, f"{at}/anyOf/{len(branches)}")
            for each in made["anyOf"] if list(made) == ["anyOf"] else [made]:
                if each not in branches:
                    branches.append(each)
        if nullable and {"type": "null"} not in branches:
            branches.append({"type": "null"})
        if len(branches) == 1:
            return branches[0]
        return {"anyOf": branches}

    def annotated(self, args: tuple[Any, ...], scope: Scope, at: str) -> Schema:
        """A type with what `Annotated` says about it."""
        made = self.schema(args[0], scope, at)
        for extra in args[1:]:
            made = constraints.apply(self, made, extra, at)
        return made

    def _called(self, kind: Called, scope: Scope, at: str) -> Schema:
        name = kind.func.last
        if name == "NewType" and len(kind.args) > 1:
            return self.schema(kind.args[1], scope, at)
        if name == "TypeVar":
            return self._variable(kind, scope, at)
        if name == "TypeAliasType" and len(kind.args) > 1 and isinstance(kind.args[0], str):
            return self.defined(kind, kind.args[0], lambda place: self.schema(kind.args[1], scope, place))
        base = constraints.CONSTRAINED.get(name)
        if base is not None:
            inner = (
                Generic(External(base), (kind.args[0],)) if kind.args and base in ("list", "set") else External(base)
            )
            return constraints.apply(self, self.schema(inner, scope, at), kind, at)
        return self.unknown_at(at)

    def _variable(self, kind: Called, scope: Scope, at: str) -> Schema:
        name = kind.args[0] if kind.args else None
        if name in self.variables:
            return self.schema(self.variables[name], scope, at)
        bound = kind.kwargs.get("bound", MISSING)
        return {} if bound is MISSING else self.schema(bound, scope, at)

    def defined(self, kind: Any, name: str, make: Any) -> Schema:
        """A reference to a definition, made once."""
        known = self._names.get(id(kind))
        if known is None:
            known = name
            if name in self.definitions:
                module = getattr(kind, "module", None)
                known = f"{module.name.replace('.', '__')}__{name}" if module is not None else f"{name}_"
            while known in self.definitions:
                known += "_"
            self._names[id(kind)] = known
            self.definitions[known] = {}
            self.definitions[known].update(make(f"/$defs/{escape(known)}"))
        return {"$ref": f"#/$defs/{known}"}

    def field(self, name: str, kind: Any, default: Any, scope: Scope, at: str) -> Field:
        """A parameter or a field: its schema with default and title, and whether it is required."""
        kind = self.resolved(kind, scope)
        made = self.schema(kind, scope, at)
        info = default if constraints.is_field(default) else None
        infos = [*constraints.fields_of(kind), *([info] if info is not None else [])]
        if info is not None:
            made = constraints.apply(self, made, info, at)
            default = constraints.default_of(info)
        if default is MISSING:
            default = next((each for each in map(constraints.default_of, infos[::-1]) if each is not MISSING), MISSING)
        alias = next((each for each in map(constraints.alias_of, infos[::-1]) if each is not None), None)
        required = default is MISSING
        if "title" not in made and self.has_title(kind, scope) and at not in self.unknown:
            made = {**made, "title": title(alias or name)}
        if default is not MISSING and default is not constraints.FACTORY:
            encoded = encode(default)
            if encoded is UNKNOWN:
                self.unknown.add(f"{at}/default")
            elif encoded is not MISSING:
                made = {**made, "default": encoded}
        return Field(alias or name, made, required)

    def has_title(self, kind: Any, scope: Scope) -> bool:
        """Whether Pydantic titles a field of this type: not where it refers to a definition with a title of its own."""
        kind = self.resolved(kind, scope)
        if isinstance(kind, (Class, TypeAlias)):
            return False
        if isinstance(kind, Generic):
            if isinstance(kind.base, Class):
                return False
            name = kind.base.last if isinstance(kind.base, External) else ""
            if name in ("Annotated", "Required", "NotRequired") and kind.args:
                return self.has_title(kind.args[0], scope)
            if name in ("Optional", "Union"):
                args = (*kind.args, None) if name == "Optional" else kind.args
                return self._union_has_title(args, scope)
        if isinstance(kind, UnionOf):
            return self._union_has_title(kind.args, scope)
        return True

    def _union_has_title(self, args: tuple[Any, ...], scope: Scope) -> bool:
        arms = [arg for arg in args if arg is not None]
        return len(arms) != 1 or self.has_title(arms[0], scope)

    def whole(self, made: Schema) -> Schema:
        """A schema with the definitions that it needs, keys in Pydantic's order."""
        if self.definitions:
            made = {"$defs": dict(self.definitions), **made}
        whole: Schema = ordered(made)
        return whole


def _flat_literals(args: tuple[Any, ...]) -> list[Any]:
    flat: list[Any] = []
    for arg in args:
        if isinstance(arg, Generic) and isinstance(arg.base, External) and arg.base.last == "Literal":
            flat.extend(_flat_literals(arg.args))
        else:
            flat.append(arg)
    return flat


def common_type(values: list[Any]) -> Schema:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    types = {names.get(type(value)) for value in values}
    return {"type": types.pop()} if len(types) == 1 else {}


def title(name: str) -> str:
    """The title that Pydantic gives a field."""
    return name.title().replace("_", " ").strip()


def encode(value: Any) -> Any:
    """A default as JSON: UNKNOWN where it is not known, MISSING where Pydantic leaves it out."""
    if isinstance(value, EnumMember):
        return encode(value.value)
    if isinstance(value, PlacedDict) and not is_known(value):
        return UNKNOWN
    if isinstance(value, float) and not math.isfinite(value):
        return MISSING
    if isinstance(value, dict):
        made = {key: encode(item) for key, item in value.items()}
        return UNKNOWN if any(item is UNKNOWN for item in made.values()) else made
    if isinstance(value, (list, tuple, set, frozenset)):
        if is_open(value) or not plain.is_short(value):
            return UNKNOWN
        items = [encode(item) for item in value]
        return UNKNOWN if any(item is UNKNOWN for item in items) else items
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if (
        isinstance(value, Called)
        and value.func.last in ("Path", "UUID", "Decimal", "SecretStr")
        and len(value.args) == 1
    ):
        known = isinstance(value.args[0], str) and value.func.last != "SecretStr"
        return value.args[0] if known else UNKNOWN
    if isinstance(value, Called) and value.func.name in _MOMENTS:
        return _moment(value)
    if isinstance(value, Instance):
        if not plain.is_short(value):
            return UNKNOWN
        made = {name: encode(item) for name, item in value.attributes.items()}
        return UNKNOWN if any(item is UNKNOWN for item in made.values()) else made
    return value if value is None or isinstance(value, (str, int, float, bool)) else UNKNOWN


_MOMENTS = {"datetime.date": datetime.date, "datetime.datetime": datetime.datetime, "datetime.time": datetime.time}


def _moment(value: Called) -> Any:
    """A date or a time of day that is written out with numbers."""
    if value.kwargs or not all(isinstance(each, int) for each in value.args):
        return UNKNOWN
    try:
        return str(_MOMENTS[value.func.name](*value.args).isoformat())
    except (ValueError, TypeError, OverflowError):
        return UNKNOWN


def ordered(value: Any, *, names: bool = False) -> Any:
    """Keys in alphabetical order, those of `properties` as declared, as Pydantic writes a schema."""
    if isinstance(value, list):
        return [ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = PlacedDict()
    for key in value if names else sorted(value):
        item = value[key]
        is_data = type(item) is str or (key in ("default", "const", "examples") and not names)
        made[key] = item if is_data else ordered(item, names=key == "properties" and not names)
    if isinstance(value, PlacedDict):
        made.places = value.places
    return made


def clean_docstring(node: ast.ClassDef) -> str | None:
    text = ast.get_docstring(node, clean=False)
    return inspect.cleandoc(text) if text else None
