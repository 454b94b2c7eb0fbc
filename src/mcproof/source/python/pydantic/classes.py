"""The schemas of project classes: Pydantic models, dataclasses, typed dictionaries, enumerations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_positions import escape
from mcproof.source.python.interp.containers import EXACT, SourceDict, extent_of, is_enum, members_of
from mcproof.source.python.interp.values import (
    MISSING,
    UNKNOWN,
    Class,
    ExternalCall,
    Function,
    Scope,
    Unknown,
    generic_name,
)
from mcproof.source.python.pydantic import dynamic_types
from mcproof.source.python.pydantic.constraints import add_keywords, is_skipped
from mcproof.source.python.pydantic.fields import (
    UNDECLARED,
    DeclaredField,
    attribute_docstrings,
    class_default,
    computed_fields,
    computed_info,
    computed_type,
    configuration,
    dataclass_decorator,
    dataclass_default,
    fields,
    generated,
    has_late_annotations,
    is_excluded,
    is_required_key,
    serializer_types,
    string_lengths,
    without_metadata,
)
from mcproof.source.python.pydantic.nodes import clean_docstring, common_type, title

if TYPE_CHECKING:
    from mcproof.source.python.pydantic.generator import Field, SchemaGenerator
    from mcproof.source.python.pydantic.nodes import Schema

COST_OF_A_MODEL = 4_000
"""The cost of a class schema, relative to processing one item."""
MOST_GENERICS = 100
"""The maximum number of parametrized models in a schema: a model may nest itself with ever longer parameters."""
_OWN_SCHEMA = ("__get_pydantic_json_schema__", "__get_pydantic_core_schema__", "__modify_schema__")
"""Methods through which a class customizes its schema."""
_MODELS = frozenset(("BaseModel", "BaseSettings", "SQLModel"))


def reference(generator: SchemaGenerator, cls: Class, at: str) -> Schema:
    """A class within another schema: a reference to its definition."""
    kind = kind_of(cls)
    if kind is None or any(isinstance(cls.attribute(name), Function) for name in _OWN_SCHEMA):
        return generator.unknown_at(at)
    return generator.defined(cls, cls.name, lambda pointer: definition(generator, cls, pointer))


def generic_reference(generator: SchemaGenerator, cls: Class, args: tuple[Any, ...], at: str, scope: Scope) -> Schema:
    """A reference to a parametrized generic class."""
    names, kind = dynamic_types.parameters_of(cls), kind_of(cls)
    if kind in (None, "enum") or not names:
        return generator.unknown_at(at)
    args = tuple(generator.parsed_type(arg, scope) for arg in args)
    filled = [dynamic_types.filled_in(arg, generator.variables) for arg in args]
    if [
        argument.args[0]
        for argument in filled
        if isinstance(argument, ExternalCall) and argument.func.last == "TypeVar"
    ] == names:
        return reference(generator, cls, at)
    labeller = dynamic_types.Labeller(generator.variables)
    try:
        labels = [labeller.of(arg) for arg in filled]
    except dynamic_types.UnknownLabelError:
        return generator.unknown_at(at)
    key = (cls, *labels, *labeller.types)
    if key not in generator.generics and len(generator.generics) >= MOST_GENERICS:
        return generator.unknown_at(at)
    # `Page[Item]` is a new value wherever it is written, but one definition
    identity = generator.generics.setdefault(key, object())
    is_model = kind in ("model", "root")
    titled = f"{cls.name}[{', '.join(labels)}]" if is_model else cls.name
    bound = dict(zip(names, filled, strict=False))

    def make(pointer: str) -> Schema:
        schema = definition(generator, cls, pointer, bound)
        if is_model:
            schema.pop("description", None)  # Pydantic's parametrized class has no docstring
        if schema.get("title") == cls.name:
            schema["title"] = titled
            if is_model and not labeller.is_titled:
                del schema["title"]
                generator.unknown.add(f"{pointer}/title")
        return schema

    return generator.defined(identity, dynamic_types.definition_name(cls.name, labels), make)


def kind_of(cls: Class) -> str | None:
    """The kind of a data class; None for an ordinary class."""
    bases = {base.last for base in cls.external_bases()}
    if is_enum(cls):
        return "enum"
    if bases & _MODELS:
        return "model"
    if "RootModel" in bases:
        return "root"
    if "TypedDict" in bases:
        return "typed"
    if "NamedTuple" in bases:
        return "tuple"
    if any(dataclass_decorator(ancestor) is not None for ancestor in cls.ancestry()):
        return "dataclass"
    return None


def definition(generator: SchemaGenerator, cls: Class, at: str, variables: dict[str, Any] | None = None) -> Schema:
    """The full schema of a class, with these values for its type variables."""
    kind = kind_of(cls)
    if kind == "enum":
        return _enumeration(generator, cls, at)
    if kind == "root":
        return _root(generator, cls, at, variables or {})
    if kind == "tuple":
        return _named_tuple(generator, cls, at, variables or {})
    return object_schema(generator, cls, at, kind or "hints", variables)


def _enumeration(generator: SchemaGenerator, cls: Class, at: str) -> Schema:
    from mcproof.source.python.pydantic.defaults import encode

    values = [encode(member.value) for member in members_of(cls)]
    if not values or UNKNOWN in values:
        return generator.unknown_at(at)
    schema: Schema = {"enum": values}
    described = clean_docstring(cls.node)
    return {**({"description": described} if described else {}), **schema, "title": cls.name, **common_type(values)}


def _root(generator: SchemaGenerator, cls: Class, at: str, variables: dict[str, Any]) -> Schema:
    schema: Schema | None = None
    bound = dynamic_types.bindings(cls, variables)
    for ancestor in cls.ancestry():
        if "root" in ancestor.annotations:
            field = DeclaredField("root", ancestor.annotations["root"], ancestor)
            kind = generator.run.annotation(field.node.annotation, ancestor.body)
            with generator.type_context(bound[id(ancestor)]):
                schema = dict(generator.field("root", kind, field.default(), ancestor.body, at).schema)
            break
        root = next((base for base in ancestor.bases if generic_name(base) == "RootModel"), None)
        if root is not None:
            with generator.type_context(bound[id(ancestor)]):
                schema = dict(generator.schema(root.args[0], ancestor.scope, at))
            break
    if schema is None:
        return generator.unknown_at(at)
    described = clean_docstring(cls.node)
    if described:
        schema["description"] = described
    schema["title"] = cls.name
    _add_configured(generator, schema, configuration(cls), at)
    return schema


def _named_tuple(generator: SchemaGenerator, cls: Class, at: str, variables: dict[str, Any]) -> Schema:
    """A named tuple as an array; its docstring is not used."""
    items: list[Schema] = []
    needed = 0
    bound = dynamic_types.bindings(cls, variables)
    for field in fields(cls, "tuple"):
        annotation = generator.run.annotation(field.node.annotation, field.owner.body)
        with generator.type_context(bound[id(field.owner)]):
            entry = generator.field(
                field.name, annotation, field.default(), field.owner.body, f"{at}/prefixItems/{len(items)}"
            )
        items.append(entry.schema)
        needed += entry.required
    return {"maxItems": len(items), "minItems": needed, "prefixItems": items, "type": "array"}


def object_schema(
    generator: SchemaGenerator, cls: Class, at: str, kind: str, variables: dict[str, Any] | None = None
) -> Schema:
    """An object schema with the fields of a class.

    `kind` is that of the class. For `hints` (a class) and `typed hints` (a typed dictionary), the framework creates its
    own model from the type hints.
    """
    generator.run.budget.charge(COST_OF_A_MODEL)
    config = {} if kind in ("hints", "typed hints") else configuration(cls)
    bound = dynamic_types.bindings(cls, variables or {})
    lengths = generator.lengths if kind == "typed" and not config else string_lengths(config)
    properties = SourceDict(module=cls.module)
    schema: Schema = {"properties": properties, "title": cls.name, "type": "object"}
    required: list[str] = []
    texts: dict[int, dict[str, str]] = {}
    always = generator.for_serialization and config.get("json_schema_serialization_defaults_required") is True
    changed = serializer_types(generator, cls) if generator.for_serialization and kind == "model" else {}
    if changed.get("", UNDECLARED) is not UNDECLARED:
        return {**generator.schema(changed[""], cls.scope, at), "title": cls.name}
    for field in fields(cls, "typed" if kind == "typed hints" else kind):
        owner = field.owner
        annotation = generator.parsed_type(generator.run.annotation(field.node.annotation, owner.body), owner.body)
        is_kept: bool | None = None  # whether the key is required, unless that depends on the default
        if kind in ("typed", "typed hints"):
            is_text = kind == "typed hints" and has_late_annotations(owner.module)
            is_kept = is_required_key(annotation, owner, is_text=is_text)
        default = _default(field, kind, is_kept=is_kept)
        if kind in ("hints", "typed hints"):
            annotation = without_metadata(annotation)
        shown: str | Unknown = field.name
        if not generator.for_serialization:
            shown = _shown(generator, config, field.name, annotation, default, owner)
        if not isinstance(shown, str):
            generator.unknown |= {f"{at}/properties", f"{at}/required"}
            continue
        if is_skipped(annotation) or (generator.for_serialization and is_excluded(annotation, default)):
            continue
        pointer = f"{at}/properties/{escape(shown)}"
        with generator.type_context(bound[id(owner)], lengths):
            entry = generator.field(shown, annotation, default, owner.body, pointer)
        if "field_title_generator" in config and entry.schema.get("title") == title(shown):
            del entry.schema["title"]
            generator.unknown.add(f"{pointer}/title")
        if field.name in changed:
            entry = _serialized(generator, entry, shown, changed[field.name], owner, pointer)
        if id(owner) not in texts:
            uses_docstrings = configuration(owner).get("use_attribute_docstrings") is True
            texts[id(owner)] = attribute_docstrings(owner) if uses_docstrings else {}
        below = texts[id(owner)]
        if field.name in below:
            entry.schema.setdefault("description", below[field.name])
        properties[shown] = entry.schema
        properties.origins[shown] = (owner.module, field.node.target, field.node)
        if entry.required or always if is_kept is None else is_kept:
            required.append(shown)
    if generator.for_serialization and kind in ("model", "dataclass"):
        required += _compute(generator, cls, properties, at)
    if required:
        schema["required"] = required
    described = clean_docstring(cls.node)
    if described and kind not in ("hints", "typed hints"):
        schema["description"] = described
    _add_configured(generator, schema, config, at)
    if "model_title_generator" in config and schema.get("title") == cls.name:
        del schema["title"]
        generator.unknown.add(f"{at}/title")
    if any("__pydantic_extra__" in ancestor.annotations for ancestor in cls.ancestry()):
        generator.unknown.add(f"{at}/additionalProperties")
    return schema


def _serialized(generator: SchemaGenerator, entry: Field, name: str, kind: Any, owner: Class, at: str) -> Field:
    """A field with a serializer: it has the serializer's return type, and an unknown default."""
    schema = dict(entry.schema)
    if kind is not UNDECLARED:
        described = {
            key: value for key, value in schema.items() if key in ("title", "description", "examples", "default")
        }
        schema = {**generator.field(name, kind, MISSING, owner.scope, at).schema, **described}
    if schema.pop("default", None) is not None:
        generator.unknown.add(f"{at}/default")
    return entry._replace(schema=schema)


def _compute(generator: SchemaGenerator, cls: Class, properties: SourceDict, at: str) -> list[str]:
    """Add computed fields; return their names, which are always required."""
    computed = computed_fields(generator, cls)
    for name, field in computed.items():
        pointer = f"{at}/properties/{escape(name)}"
        kind = computed_type(generator, field)
        entry = generator.field(name, kind, computed_info(field), field.owner.scope, pointer)
        properties[name] = {**entry.schema, "readOnly": True}
        properties.origins[name] = (field.owner.module, field.node, field.node)
    return list(computed)


def _default(field: DeclaredField, kind: str, *, is_kept: bool | None) -> Any:
    if kind == "typed hints":
        return MISSING if is_kept else None  # an optional key is null by default
    if kind == "hints":
        return class_default(field)
    return dataclass_default(field) if kind == "dataclass" else field.default()


def _shown(
    generator: SchemaGenerator, config: dict[str, Any], name: str, annotation: Any, default: Any, owner: Class
) -> str | Unknown:
    """The name of a field in the schema of a model."""
    alias = generator.alias(annotation, default, owner.body)
    if alias is not None:
        return alias
    generated_name = generated(generator.run, config.get("alias_generator"), name)
    return name if generated_name is None else generated_name


def _add_configured(generator: SchemaGenerator, schema: Schema, config: dict[str, Any], at: str) -> None:
    """Add what the configuration of a class specifies."""
    extra = config.get("extra")
    if extra is UNKNOWN:
        generator.unknown.add(f"{at}/additionalProperties")
    if extra in ("forbid", "allow"):
        schema["additionalProperties"] = extra == "allow"
    if isinstance(config.get("title"), str):
        schema["title"] = config["title"]
    more = config.get("json_schema_extra")
    if isinstance(more, dict):
        add_keywords(generator, schema, more, at)
    if more is not None and (not isinstance(more, dict) or extent_of(more) is not EXACT):
        generator.unknown.add(at)
