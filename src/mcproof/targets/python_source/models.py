"""Classes of the project as schemas: Pydantic models, dataclasses, typed dictionaries, enumerations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.jsontext import escape
from mcproof.targets.python_source import constraints
from mcproof.targets.python_source.enumerations import is_enum, members_of
from mcproof.targets.python_source.values import (
    MISSING,
    UNKNOWN,
    Called,
    Class,
    External,
    Function,
    Generic,
    PlacedDict,
    UnionOf,
)

if TYPE_CHECKING:
    from mcproof.targets.python_source.pydantic_schema import Generator, Schema

MOST_PARTS = 50
"""How many types the parameters of one generic model may be made of."""
MOST_GENERICS = 100
"""How many generic models with parameters one schema may have: a model may hold itself with ever longer ones."""
_MODELS = frozenset(("BaseModel", "BaseSettings", "SQLModel"))
_CONTAINERS = frozenset(
    ("list", "dict", "set", "frozenset", "tuple", "List", "Dict", "Set", "FrozenSet", "Tuple", "Sequence", "Mapping")
)
_NO_NAME = re.compile(r"[^a-zA-Z0-9.\-_]")
"""What Pydantic leaves out of the name of a definition."""


def reference(maker: Generator, cls: Class, at: str) -> Schema:
    """A class as it stands in another schema: a reference to its definition, where it has one."""
    kind = kind_of(cls)
    if kind is None:
        return maker.unknown_at(at)
    return maker.defined(cls, cls.name, lambda place: definition(maker, cls, place))


def generic_reference(maker: Generator, cls: Class, args: tuple[Any, ...], at: str) -> Schema:
    """A generic model with its parameters filled in."""
    names = _parameters(cls)
    if kind_of(cls) != "model" or not names:
        return maker.unknown_at(at)
    spelling = _Spelling(maker.variables)
    try:
        labels = [spelling.of(arg) for arg in args]
    except _UnspeltError:
        return maker.unknown_at(at)
    key = (cls, *labels, *spelling.types)
    if key not in maker.generics and len(maker.generics) >= MOST_GENERICS:
        return maker.unknown_at(at)
    identity = maker.generics.setdefault(key, object())
    name = f"{cls.name}_{'_'.join(_NO_NAME.sub('_', label) for label in labels)}_"
    titled = f"{cls.name}[{', '.join(labels)}]"
    filled = [_filled(arg, maker.variables) for arg in args]
    outer, maker.variables = maker.variables, {**maker.variables, **dict(zip(names, filled, strict=False))}
    try:
        return maker.defined(identity, name, lambda place: {**definition(maker, cls, place), "title": titled})
    finally:
        maker.variables = outer


def _parameters(cls: Class) -> list[str]:
    for base in cls.bases:
        if isinstance(base, Generic) and isinstance(base.base, External):
            return [str(arg.args[0]) for arg in base.args if isinstance(arg, Called) and arg.args]
    return []


class _UnspeltError(Exception):
    """Nobody can tell how Pydantic would spell a type."""


class _Spelling:
    """How Pydantic spells the parameters of a generic model, and which types these are."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.types: list[Any] = []
        self._variables = variables

    def of(self, arg: Any) -> str:
        """The text for one parameter. Raises an _UnspeltError where that is not known, or too long."""
        if _is_variable(arg, self._variables):
            arg = self._variables[str(arg.args[0])]
        self.types.append(arg if isinstance(arg, (Class, External)) else None)
        if len(self.types) > MOST_PARTS:
            raise _UnspeltError
        if arg is None:
            return "NoneType"
        if isinstance(arg, (Class, External)):
            return arg.name if isinstance(arg, Class) else arg.last
        if isinstance(arg, UnionOf):
            return self._union(arg.args)
        if not isinstance(arg, Generic):
            raise _UnspeltError
        base = self.of(arg.base)
        if isinstance(arg.base, External):
            if base in ("Optional", "Union"):
                return self._union((*arg.args, None) if base == "Optional" else arg.args)
            if base not in _CONTAINERS:
                raise _UnspeltError
        return f"{base}[{', '.join(map(self.of, arg.args))}]"

    def _union(self, arms: tuple[Any, ...]) -> str:
        if any(_is_union(arm) for arm in arms):  # Python makes one of them
            raise _UnspeltError
        return f"Union[{', '.join(map(self.of, arms))}]"


def _is_union(kind: Any) -> bool:
    if isinstance(kind, Generic):
        return isinstance(kind.base, External) and kind.base.last in ("Optional", "Union")
    return isinstance(kind, UnionOf)


def _is_variable(kind: Any, variables: dict[str, Any]) -> bool:
    is_made = isinstance(kind, Called) and kind.func.last == "TypeVar" and bool(kind.args)
    return is_made and str(kind.args[0]) in variables


def _filled(kind: Any, variables: dict[str, Any]) -> Any:
    """A type that has been spelt, so that it is small, with the type variables that stand for something replaced."""
    if _is_variable(kind, variables):
        return variables[str(kind.args[0])]
    if isinstance(kind, Generic):
        return Generic(kind.base, tuple(_filled(arg, variables) for arg in kind.args))
    if isinstance(kind, UnionOf):
        return UnionOf(tuple(_filled(arg, variables) for arg in kind.args))
    return kind


def kind_of(cls: Class) -> str | None:
    """What sort of data class it is; None for an ordinary class."""
    bases = {base.last for base in cls.external_bases()}
    if is_enum(cls):
        return "enum"
    if bases & _MODELS:
        return "model"
    if "RootModel" in bases:
        return "root"
    if "TypedDict" in bases:
        return "typed"
    if any(_is_dataclass(each) for each in cls.ancestry()):
        return "dataclass"
    return None


def _is_dataclass(cls: Class) -> bool:
    for decorator in cls.decorators:
        func = decorator.func if isinstance(decorator, Called) else decorator
        if isinstance(func, External) and func.last == "dataclass":
            return True
    return False


def definition(maker: Generator, cls: Class, at: str) -> Schema:
    """The schema of a class, in full."""
    kind = kind_of(cls)
    if kind == "enum":
        return _enumeration(maker, cls, at)
    if kind == "root":
        return _root(maker, cls, at)
    return object_schema(maker, cls, at, kind or "class")


def _enumeration(maker: Generator, cls: Class, at: str) -> Schema:
    from mcproof.targets.python_source.pydantic_schema import clean_docstring, common_type, encode

    values = [encode(member.value) for member in members_of(cls)]
    if not values or UNKNOWN in values or MISSING in values:
        return maker.unknown_at(at)
    values = list(dict.fromkeys(values)) if all(isinstance(value, str) for value in values) else values
    made: Schema = {"enum": values}
    described = clean_docstring(cls.node)
    return {**({"description": described} if described else {}), **made, "title": cls.name, **common_type(values)}


def _root(maker: Generator, cls: Class, at: str) -> Schema:
    from mcproof.targets.python_source.pydantic_schema import clean_docstring

    for each in cls.ancestry():
        if "root" in each.annotations:
            kind = maker.run.annotation(each.annotations["root"].annotation, each.body)
            return {**maker.schema(kind, each.body, at), "title": cls.name}
        for base in each.bases:
            if isinstance(base, Generic) and isinstance(base.base, External) and base.base.last == "RootModel":
                described = clean_docstring(cls.node)
                made = {**maker.schema(base.args[0], each.scope, at), "title": cls.name}
                return {**made, "description": described} if described else made
    return maker.unknown_at(at)


def object_schema(maker: Generator, cls: Class, at: str, kind: str) -> Schema:
    """An object with the fields of a class."""
    from mcproof.targets.python_source.pydantic_schema import clean_docstring

    config = configuration(cls)
    properties = PlacedDict(module=cls.module)
    made: Schema = {"properties": properties, "title": cls.name, "type": "object"}
    required: list[str] = []
    for name, node, owner in fields(cls, kind):
        default = owner.body.names.get(name, MISSING) if node.value is not None else MISSING
        if kind != "typed" and node.value is None:
            default = MISSING
        if kind in ("dataclass", "class"):
            default = _dataclass_default(default, kind)
        annotation = maker.run.annotation(node.annotation, owner.body)
        place = f"{at}/properties/{escape(name)}"
        entry = maker.field(name, annotation, default, owner.body, place)
        shown = entry.name if maker.by_alias else name
        if maker.by_alias and shown == name and config.get("alias_generator") == "to_camel":
            shown = _camel(name)
        properties[shown] = entry.schema
        properties.places[shown] = (owner.module, node.target, node)
        if _is_required(annotation, owner) if kind == "typed" else entry.required:
            required.append(shown)
    if required:
        made["required"] = required
    described = clean_docstring(cls.node)
    if described:
        made["description"] = described
    made.update(_extras(maker, config, at))
    return made


def _extras(maker: Generator, config: dict[str, Any], at: str) -> Schema:
    made: Schema = {}
    extra = config.get("extra")
    if extra is UNKNOWN:
        maker.unknown.add(f"{at}/additionalProperties")
    if extra in ("forbid", "allow"):
        made["additionalProperties"] = extra == "allow"
    if isinstance(config.get("title"), str):
        made["title"] = config["title"]
    more = config.get("json_schema_extra")
    if isinstance(more, dict):
        made.update(more)
    elif more is not None:
        maker.unknown.add(at)
    return made


def fields(cls: Class, kind: str) -> list[tuple[str, Any, Class]]:
    """The fields of a class and its ancestors in the order that Pydantic has them: name, node, who declares it."""
    found: dict[str, tuple[str, Any, Class]] = {}
    for each in reversed(cls.ancestry()):
        for name, node in each.annotations.items():
            if (
                (name.startswith("_") and kind != "typed")
                or name == "model_config"
                or _is_class_variable(node.annotation)
            ):
                continue
            found[name] = (name, node, each)
    return list(found.values())


def _is_class_variable(node: Any) -> bool:
    import ast

    inner = node.value if isinstance(node, ast.Subscript) else node
    name = inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""
    return name in ("ClassVar", "PrivateAttr", "InitVar")


def _dataclass_default(default: Any, kind: str) -> Any:
    if isinstance(default, Called) and default.func.last == "field":
        if "default_factory" in default.kwargs:
            if kind == "class":  # no attribute of the class, so whoever asks the class finds no default
                return MISSING
            return Called(External("pydantic.Field"), [], {"default_factory": None})
        return default.kwargs.get("default", MISSING)
    return default


def _is_required(annotation: Any, owner: Class) -> bool:
    """Whether a key of a typed dictionary must be there; `total` speaks of what its own class declares."""
    kind = annotation
    while isinstance(kind, Generic) and isinstance(kind.base, External):
        if kind.base.last in ("NotRequired", "Required"):
            return kind.base.last == "Required"
        if kind.base.last not in ("Annotated", "ReadOnly"):
            break
        kind = kind.args[0]
    return owner.keywords.get("total") is not False


def configuration(cls: Class) -> dict[str, Any]:
    """`model_config`, or the inner class `Config`, of a class and its ancestors; the nearest wins."""
    made: dict[str, Any] = {}
    for each in reversed(cls.ancestry()):
        given = each.body.names.get("model_config", each.body.names.get("__pydantic_config__"))
        if isinstance(given, Called):
            made.update(given.kwargs)
        elif isinstance(given, dict):
            made.update(given)
        inner = each.body.names.get("Config")
        if isinstance(inner, Class):
            made.update(inner.body.names)
        made.update({key: value for key, value in each.keywords.items() if key in ("extra", "alias_generator")})
    generator = made.get("alias_generator")
    if isinstance(generator, External):
        made["alias_generator"] = generator.last
    elif isinstance(generator, Function):
        made["alias_generator"] = generator.name if generator.name == "to_camel" else UNKNOWN
    return made


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


__all__ = ["constraints", "definition", "fields", "generic_reference", "kind_of", "object_schema", "reference"]
