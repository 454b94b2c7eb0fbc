"""Classes of the project as schemas: Pydantic models, dataclasses, typed dictionaries, enumerations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.jsontext import escape
from mcproof.targets.python_source import aliases, constraints, generics
from mcproof.targets.python_source.enumerations import is_enum, members_of
from mcproof.targets.python_source.values import (
    MISSING,
    UNKNOWN,
    Called,
    Class,
    External,
    Generic,
    PlacedDict,
    Scope,
    Unknown,
)

if TYPE_CHECKING:
    from mcproof.targets.python_source.pydantic_schema import Generator, Schema

MOST_GENERICS = 100
"""How many generic models with parameters one schema may have: a model may hold itself with ever longer ones."""
_MODELS = frozenset(("BaseModel", "BaseSettings", "SQLModel"))


def reference(maker: Generator, cls: Class, at: str) -> Schema:
    """A class as it stands in another schema: a reference to its definition, where it has one."""
    kind = kind_of(cls)
    if kind is None:
        return maker.unknown_at(at)
    return maker.defined(cls, cls.name, lambda place: definition(maker, cls, place))


def generic_reference(maker: Generator, cls: Class, args: tuple[Any, ...], at: str, scope: Scope) -> Schema:
    """A generic class with its parameters filled in."""
    names, kind = generics.parameters_of(cls), kind_of(cls)
    if kind in (None, "enum") or not names:
        return maker.unknown_at(at)
    args = tuple(maker.resolved(arg, scope) for arg in args)
    filled = [generics.filled_in(arg, maker.variables) for arg in args]
    if [each.args[0] for each in filled if isinstance(each, Called) and each.func.last == "TypeVar"] == names:
        return reference(maker, cls, at)
    spelling = generics.Spelling(maker.variables)
    try:
        labels = [spelling.of(arg) for arg in filled]
    except generics.UnspeltError:
        return maker.unknown_at(at)
    key = (cls, *labels, *spelling.types)
    if key not in maker.generics and len(maker.generics) >= MOST_GENERICS:
        return maker.unknown_at(at)
    identity = maker.generics.setdefault(key, object())
    is_model = kind in ("model", "root")
    titled = f"{cls.name}[{', '.join(labels)}]" if is_model else cls.name
    bound = dict(zip(names, filled, strict=False))

    def make(place: str) -> Schema:
        made = definition(maker, cls, place, bound)
        if is_model:
            made.pop("description", None)  # the class that Pydantic makes of it has no docstring
        if made.get("title") == cls.name:
            made["title"] = titled
            if is_model and not spelling.is_titled:
                del made["title"]
                maker.unknown.add(f"{place}/title")
        return made

    return maker.defined(identity, generics.definition_name(cls.name, labels), make)


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


def definition(maker: Generator, cls: Class, at: str, variables: dict[str, Any] | None = None) -> Schema:
    """The schema of a class, in full, its type variables standing for what is given."""
    kind = kind_of(cls)
    if kind == "enum":
        return _enumeration(maker, cls, at)
    if kind == "root":
        return _root(maker, cls, at, variables or {})
    return object_schema(maker, cls, at, kind or "class", variables)


def _enumeration(maker: Generator, cls: Class, at: str) -> Schema:
    from mcproof.targets.python_source.pydantic_schema import clean_docstring, common_type, encode

    values = [encode(member.value) for member in members_of(cls)]
    if not values or UNKNOWN in values or MISSING in values:
        return maker.unknown_at(at)
    values = list(dict.fromkeys(values)) if all(isinstance(value, str) for value in values) else values
    made: Schema = {"enum": values}
    described = clean_docstring(cls.node)
    return {**({"description": described} if described else {}), **made, "title": cls.name, **common_type(values)}


def _root(maker: Generator, cls: Class, at: str, variables: dict[str, Any]) -> Schema:
    from mcproof.targets.python_source.pydantic_schema import clean_docstring

    bound = generics.bindings(cls, variables)
    for each in cls.ancestry():
        if "root" in each.annotations:
            kind = maker.run.annotation(each.annotations["root"].annotation, each.body)
            with maker.standing_for(bound[id(each)]):
                return {**maker.schema(kind, each.body, at), "title": cls.name}
        for base in each.bases:
            if isinstance(base, Generic) and isinstance(base.base, External) and base.base.last == "RootModel":
                described = clean_docstring(cls.node)
                with maker.standing_for(bound[id(each)]):
                    made = {**maker.schema(base.args[0], each.scope, at), "title": cls.name}
                return {**made, "description": described} if described else made
    return maker.unknown_at(at)


def object_schema(maker: Generator, cls: Class, at: str, kind: str, variables: dict[str, Any] | None = None) -> Schema:
    """An object with the fields of a class."""
    from mcproof.targets.python_source.pydantic_schema import clean_docstring

    config = configuration(cls)
    bound = generics.bindings(cls, variables or {})
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
        shown = _shown(maker, config, name, annotation, default, owner) if maker.by_alias else name
        if not isinstance(shown, str):
            maker.unknown |= {f"{at}/properties", f"{at}/required"}
            continue
        place = f"{at}/properties/{escape(shown)}"
        with maker.standing_for(bound[id(owner)]):
            entry = maker.field(shown, annotation, default, owner.body, place)
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


def _shown(
    maker: Generator, config: dict[str, Any], name: str, annotation: Any, default: Any, owner: Class
) -> str | Unknown:
    """The name of a field in the schema of a model."""
    alias = maker.alias(annotation, default, owner.body)
    if alias is not None:
        return alias
    made = aliases.generated(maker.run, config.get("alias_generator"), name)
    return name if made is None else made


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


_CLASS_SETTINGS = frozenset(
    ("extra", "alias_generator", "title", "json_schema_extra", "use_attribute_docstrings", "str_max_length",
     "str_min_length")
)  # fmt: skip


def configuration(cls: Class) -> dict[str, Any]:
    """`model_config`, or the inner class `Config`, of a class and its ancestors; the nearest wins."""
    made: dict[str, Any] = {}
    for each in reversed(cls.ancestry()):
        given = [each.body.names.get("model_config", each.body.names.get("__pydantic_config__"))]
        given += [_decorated_config(decorator) for decorator in each.decorators]
        for config in given:
            if isinstance(config, Called):
                made.update(config.kwargs)
                if not config.complete:
                    made["json_schema_extra"] = UNKNOWN
            elif isinstance(config, dict):
                made.update(config)
            elif config is UNKNOWN:
                made["json_schema_extra"] = UNKNOWN
        inner = each.body.names.get("Config")
        if isinstance(inner, Class):
            made.update(inner.body.names)
        made.update({key: value for key, value in each.keywords.items() if key in _CLASS_SETTINGS})
    return made


def _decorated_config(decorator: Any) -> Any:
    """The configuration that `@dataclass(config=...)` or `@with_config(...)` gives."""
    if not isinstance(decorator, Called):
        return None
    if decorator.func.last == "with_config":
        return decorator.argument(0, "config") or decorator
    return decorator.kwargs.get("config") if decorator.func.last == "dataclass" else None


__all__ = ["constraints", "definition", "fields", "generic_reference", "kind_of", "object_schema", "reference"]
