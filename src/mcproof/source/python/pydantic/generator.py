"""Generate the JSON Schema of a type as Pydantic does: by name, generic, unions, created by a call."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_positions import escape, unescape
from mcproof.source.python.interp.containers import SourceDict
from mcproof.source.python.interp.expressions import evaluate
from mcproof.source.python.interp.values import (
    MISSING,
    UNKNOWN,
    Class,
    EnumMember,
    External,
    ExternalCall,
    Generic,
    Scope,
    TypeAlias,
    UnionOf,
    generic_name,
)
from mcproof.source.python.pydantic import classes, constraints, defaults, dynamic_types, fields
from mcproof.source.python.pydantic.nodes import (
    ANY,
    ARRAYS,
    BASIC,
    MAPPINGS,
    PACKAGES,
    SERIALIZED,
    SETS,
    TRANSPARENT,
    Schema,
    common_type,
    ordered,
    references,
    title,
    with_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.source.python.interp.interpreter import Interpreter


Args = tuple[Any, ...]
"""The parameters of a generic type."""
DEEPEST_TYPE = 40
MOST_TYPES = 20_000
"""The maximum number of types in one schema; shared types count each time."""


class Field(NamedTuple):
    """One member of an object: a parameter or a field of a model."""

    schema: Schema
    required: bool


class SchemaGenerator:
    """Generates one schema; collects definitions and the pointers of unknown parts.

    Throughout this package, `at` is the JSON pointer of the schema that is being generated.
    """

    def __init__(self, run: Interpreter, *, for_serialization: bool = False) -> None:
        self.run = run
        self.for_serialization = for_serialization
        """Whether the schema is for serialization, as fastmcp's output schemas; these do not use aliases."""
        self.definitions: dict[str, Schema] = {}
        self.unknown: set[str] = set()
        self._names: dict[int, str] = {}
        self._namesakes: dict[str, list[tuple[str, Any]]] = {}
        """By name, the definitions that would have it: their key in `definitions`, and their type."""
        self._depth = self._made = 0
        self.variables: dict[str, Any] = {}
        self.lengths: Schema = {}
        """The bounds of all strings, if a model configures them."""
        self.generics: dict[tuple[Any, ...], object] = {}
        """The identity of each parametrized generic model."""

    @contextmanager
    def type_context(self, variables: dict[str, Any], lengths: Schema | None = None) -> Iterator[None]:
        """Within this context, type variables have these values, and strings these bounds."""
        outer = self.variables, self.lengths
        self.variables, self.lengths = variables, lengths or {}
        try:
            yield
        finally:
            self.variables, self.lengths = outer

    def unknown_at(self, at: str) -> Schema:
        self.unknown.add(at)
        return {}

    def schema(self, kind: Any, scope: Scope, at: str) -> Schema:
        """The schema of an evaluated type; empty, and recorded as unknown, if it is unknown."""
        self._depth += 1
        self._made += 1
        try:
            if self._depth > DEEPEST_TYPE or self._made > MOST_TYPES:
                return self.unknown_at(at)
            return self._schema(self.parsed_type(kind, scope), scope, at)
        finally:
            self._depth -= 1

    def parsed_type(self, kind: Any, scope: Scope) -> Any:
        """Evaluate a type that is written as a string."""
        steps = 0
        while isinstance(kind, str) and steps < 5:
            try:
                node = ast.parse(kind.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):  # the text of an annotation may be anything
                return UNKNOWN
            kind, steps = self.run.resolve(evaluate(self.run, node, scope)), steps + 1
        return kind

    def _schema(self, kind: Any, scope: Scope, at: str) -> Schema:
        if kind is None:
            return {"type": "null"}
        if isinstance(kind, External):
            return named(self, kind, scope, at)
        if isinstance(kind, Generic):
            return generic(self, kind, scope, at)
        if isinstance(kind, UnionOf):
            return union(self, kind.args, scope, at)
        if isinstance(kind, Class):
            return classes.reference(self, kind, at)
        if isinstance(kind, TypeAlias):
            scope = kind.scope
            return self.defined(
                kind, kind.name, lambda pointer: self.schema(self.run.annotation(kind.node, scope), scope, pointer)
            )
        if isinstance(kind, ExternalCall):
            return created(self, kind, scope, at)
        return self.unknown_at(at)

    def defined(self, kind: Any, name: str, make: Any) -> Schema:
        """A reference to a definition, which is made once."""
        defined_name = self._names.get(id(kind))
        if defined_name is None:
            # Pydantic qualifies namesakes by their modules, but only if there are several: see `qualify_names`
            namesakes = self._namesakes.setdefault(name, [])
            defined_name = f"{name}__{len(namesakes) + 1}" if namesakes else name
            while defined_name in self.definitions:
                defined_name += "_"
            namesakes.append((defined_name, kind))
            self._names[id(kind)] = defined_name
            self.definitions[defined_name] = {}
            self.definitions[defined_name].update(make(f"/$defs/{escape(defined_name)}"))
        return {"$ref": f"#/$defs/{defined_name}"}

    def qualify_names(self, schema: Schema) -> Schema:
        """Qualify definitions with the same name by their modules, as Pydantic does."""
        renamed: dict[str, str] = {}
        for namesakes in (group for group in self._namesakes.values() if len(group) > 1):
            named = [(name, kind) for name, kind in namesakes if isinstance(kind, (Class, TypeAlias))]
            full = {name: qualified_name(kind) for name, kind in named}
            if len(set(full.values())) == len(namesakes):
                renamed.update(full)
        if not renamed:
            return schema
        self.unknown = {_renamed_pointer(pointer, renamed) for pointer in self.unknown}
        qualified: Schema = ordered(with_names(schema, renamed))
        return qualified

    def alias(self, kind: Any, default: Any, scope: Scope, *, for_serialization: bool = False) -> str | None:
        """The alias of a parameter or field, for validation or serialization."""
        infos = [
            *constraints.fields_of(self.parsed_type(kind, scope)),
            *([default] if constraints.is_field(default) else []),
        ]
        aliases = (fields.alias_of(info, for_serialization=for_serialization) for info in reversed(infos))
        return next((alias for alias in aliases if alias is not None), None)

    def field(self, name: str, kind: Any, default: Any, scope: Scope, at: str) -> Field:
        """A parameter or field with default and title, under its name in the schema."""
        kind = self.parsed_type(kind, scope)
        schema = self.schema(kind, scope, at)
        info = default if constraints.is_field(default) else None
        infos = [*constraints.fields_of(kind), *([info] if info is not None else [])]
        if info is not None:
            schema = constraints.apply(self, schema, info, at)
            default = constraints.default_of(info)
        if default is MISSING:
            default = next(
                (given for given in map(constraints.default_of, infos[::-1]) if given is not MISSING), MISSING
            )
        default = MISSING if default is ... else default
        required = default is MISSING
        if "title" not in schema and self.has_title(kind, scope) and at not in self.unknown:
            if f"{at}/anyOf/0" in self.unknown and len(schema.get("anyOf", ())) == 2:
                self.unknown.add(f"{at}/title")  # an unknown class may have its own title
            else:
                schema = {**schema, "title": title(name)}
        if default is not MISSING and default is not constraints.FACTORY:
            is_other = self.for_serialization and constraints.has_serializer(kind)
            encoded = UNKNOWN if is_other else defaults.in_type_order(defaults.encode(default, self), kind)
            if encoded is UNKNOWN:
                self.unknown.add(f"{at}/default")
            else:
                schema = {**schema, "default": encoded}
        return Field(schema, required)

    def has_title(self, kind: Any, scope: Scope) -> bool:
        """Whether Pydantic adds a title to a field of this type; definitions have their own."""
        kind = self.parsed_type(kind, scope)
        if isinstance(kind, ExternalCall) and kind.func.last == "TypeVar" and kind.args:
            kind = self.parsed_type(variable_type(self, kind), scope)
        if isinstance(kind, (Class, TypeAlias)) or (isinstance(kind, External) and kind.last == "JsonValue"):
            return False
        if isinstance(kind, ExternalCall):
            return kind.func.last != "TypeAliasType" and not dynamic_types.is_dynamic_type(kind)
        if isinstance(kind, Generic):
            if isinstance(kind.base, Class):
                return False
            if generic_name(kind) in ("Annotated", "Required", "NotRequired") and kind.args:
                return self.has_title(kind.args[0], scope)
        arms = [arm for arm in union_members(kind) if arm is not None]
        return len(arms) != 1 or self.has_title(arms[0], scope)

    def move_unknown(self, name: str, to: str = "", *, is_kept: bool = False) -> None:
        """Adapt the pointers of unknown parts to a definition that moves elsewhere."""
        below = f"/$defs/{escape(name)}"
        moved = {pointer for pointer in self.unknown if pointer == below or pointer.startswith(f"{below}/")}
        self.unknown |= {f"{to}{pointer.removeprefix(below)}" for pointer in moved}
        if not is_kept:
            self.unknown -= moved

    def is_referenced(self, name: str) -> bool:
        """Whether a definition refers to the definition of this name."""
        return any(f"#/$defs/{name}" in references(definition) for definition in self.definitions.values())

    def with_definitions(self, schema: Schema) -> Schema:
        """A schema with its definitions, keys in Pydantic's order."""
        if self.definitions:
            schema = {"$defs": dict(self.definitions), **schema}
        whole: Schema = ordered(schema)
        return whole


def qualified_name(kind: Class | TypeAlias) -> str:
    """The name of a definition with its module and enclosing scopes."""
    path = [kind.name]
    if isinstance(kind, Class):
        path = _path_to(kind.module.tree, kind.node) or path
    return "__".join([*kind.module.name.split("."), *path])


def _path_to(tree: ast.Module, wanted: ast.AST) -> list[str] | None:
    waiting: list[tuple[ast.AST, list[str]]] = [(tree, [])]
    while waiting:
        node, path = waiting.pop()
        inside = path
        if isinstance(node, ast.ClassDef):
            inside = [*path, node.name]
            if node is wanted:
                return inside
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = [*path, node.name, "_locals_"]
        waiting += [(child, inside) for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return None


def _renamed_pointer(pointer: str, renamed: dict[str, str]) -> str:
    if not pointer.startswith("/$defs/"):
        return pointer
    name, separator, rest = pointer.removeprefix("/$defs/").partition("/")
    return f"/$defs/{escape(renamed.get(unescape(name), unescape(name)))}{separator}{rest}"


def model_json_schema(run: Interpreter, cls: Class) -> Any:
    """`Model.model_json_schema()`; UNKNOWN if the class is not a model."""
    generator = SchemaGenerator(run)
    reference = classes.reference(generator, cls, "")
    name = reference.get("$ref", "").removeprefix("#/$defs/")
    if "" in generator.unknown or name not in generator.definitions:
        return UNKNOWN
    schema = generator.definitions[name]
    if generator.is_referenced(name):
        schema = reference
    else:
        del generator.definitions[name]
    whole = generator.qualify_names(generator.with_definitions(schema))
    if isinstance(whole, SourceDict):
        whole.mark_open(bool(generator.unknown))
    return whole


_JSON_VALUE = object()
"""The identity of Pydantic's `JsonValue` among the definitions."""
_NULL = {"type": "null"}


def named(generator: SchemaGenerator, kind: External, scope: Scope, at: str) -> Schema:
    """A type without parameters: `int`, `list`, `HttpUrl`."""
    name = kind.last
    if kind.package not in PACKAGES:
        return generator.unknown_at(at)
    if name in generator.variables:
        return generator.schema(generator.variables[name], scope, at)
    if name in ANY:
        return {}
    if name in ARRAYS:
        return {"items": {}, "type": "array"}
    if name in SETS:
        return {"items": {}, "type": "array", "uniqueItems": True}
    if name in MAPPINGS:
        return {"additionalProperties": {"type": "integer"} if name == "Counter" else True, "type": "object"}
    if name == "JsonValue":
        return generator.defined(_JSON_VALUE, name, lambda _: {})
    if name in ("str", "StrictStr") and generator.lengths:
        return _bounded_string(generator, at)
    if generator.for_serialization and name in SERIALIZED:
        return dict(SERIALIZED[name])
    return dict(BASIC[name]) if name in BASIC else generator.unknown_at(at)


def _bounded_string(generator: SchemaGenerator, at: str) -> Schema:
    schema: Schema = {"type": "string"}
    for key, value in generator.lengths.items():
        if isinstance(value, int):
            schema[key] = value
        else:
            generator.unknown.add(f"{at}/{key}")
    return schema


def generic(generator: SchemaGenerator, kind: Generic, scope: Scope, at: str) -> Schema:
    """A type with parameters: `list[int]`, `Literal["a"]`, `Page[Item]`."""
    base = kind.base
    if isinstance(base, Class):
        return classes.generic_reference(generator, base, kind.args, at, scope)
    name = base.last if isinstance(base, External) and base.package in PACKAGES else ""
    generate = _GENERIC.get(name)
    return generate(generator, kind.args, scope, at) if generate is not None else generator.unknown_at(at)


def _array(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    return {"items": generator.schema(args[0], scope, f"{at}/items"), "type": "array"}


def _tuple(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    if len(args) == 2 and args[1] is ...:
        return _array(generator, args, scope, at)
    if args == ((),) or not args:
        return {"maxItems": 0, "minItems": 0, "type": "array"}
    items = [generator.schema(arg, scope, f"{at}/prefixItems/{index}") for index, arg in enumerate(args)]
    return {"maxItems": len(items), "minItems": len(items), "prefixItems": items, "type": "array"}


def _mapping(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    if len(args) == 1:  # a `Counter[str]`, whose values are numbers
        args = (*args, External("builtins.int"))
    values = generator.schema(args[1], scope, f"{at}/additionalProperties")
    is_unknown = f"{at}/additionalProperties" in generator.unknown
    keys = generator.schema(args[0], scope, f"{at}/propertyNames")
    schema: Schema = {"type": "object"}
    pattern = keys.pop("pattern", None)
    if pattern is not None:
        schema["patternProperties"] = {pattern: values}
    elif values or not is_unknown:
        schema["additionalProperties"] = values or True
    keys.pop("title", None)
    is_text = keys.get("type", "string") == "string" and "anyOf" not in keys
    if is_text and len(keys) > ("type" in keys):
        schema["propertyNames"] = {key: value for key, value in keys.items() if key != "type"}
    return schema


def _literal(generator: SchemaGenerator, args: Args, _: Scope, at: str) -> Schema:
    distinct: dict[tuple[type, Any], Any] = {}  # `True` and `1` are equal
    for arg in _flat_literals(args):
        value = arg.value if isinstance(arg, EnumMember) else arg
        if not isinstance(value, (str, int, bool, float, type(None))):
            return generator.unknown_at(at)
        distinct.setdefault((type(value), value), value)
    values = list(distinct.values())
    schema: Schema = {"const": values[0]} if len(values) == 1 else {"enum": values}
    return {**schema, **common_type(values)}


def _flat_literals(args: tuple[Any, ...]) -> list[Any]:
    flat: list[Any] = []
    for arg in args:
        if generic_name(arg) == "Literal":
            flat.extend(_flat_literals(arg.args))
        else:
            flat.append(arg)
    return flat


def union(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    """`anyOf`: flattened, without duplicates, null last."""
    arms: list[Any] = []
    for branch in args:
        arg = generator.parsed_type(branch, scope)
        if not constraints.is_skipped(arg):
            arms += union_members(arg) or [arg]
    distinct: dict[str, Schema] = {}
    for arm in arms:
        if _is_none(arm):
            continue
        schema = generator.schema(arm, scope, f"{at}/anyOf/{len(distinct)}")
        for branch in schema["anyOf"] if list(schema) == ["anyOf"] else [schema]:
            distinct.setdefault(repr(branch), branch)
    branches = list(distinct.values())  # Pydantic puts null last, wherever it is written
    if _NULL not in branches and any(map(_is_none, arms)):
        branches.append(dict(_NULL))
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def union_members(kind: Any) -> Args:
    """The branches of `A | B`, `Union[...]` or `Optional[...]`; empty for other types."""
    if isinstance(kind, UnionOf):
        return kind.args
    if (name := generic_name(kind)) in ("Optional", "Union"):
        return (*kind.args, None) if name == "Optional" else tuple(kind.args)
    return ()


def _is_none(kind: Any) -> bool:
    return kind is None or (isinstance(kind, External) and kind.last == "NoneType")


def _annotated(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    schema = generator.schema(args[0], scope, at)
    for extra in args[1:]:
        schema = constraints.apply(generator, schema, extra, at)
    return schema


def _json(generator: SchemaGenerator, args: Args, scope: Scope, at: str) -> Schema:
    if generator.for_serialization:
        return generator.schema(args[0], scope, at)
    return {**BASIC["Json"], "contentSchema": generator.schema(args[0], scope, f"{at}/contentSchema")}


_GENERIC: dict[str, Callable[[SchemaGenerator, Args, Scope, str], Schema]] = {
    **dict.fromkeys(TRANSPARENT, lambda generator, args, scope, at: generator.schema(args[0], scope, at)),
    **dict.fromkeys(ARRAYS, _array),
    **dict.fromkeys(SETS, lambda *given: {**_array(*given), "uniqueItems": True}),
    **dict.fromkeys(MAPPINGS, _mapping),
    **dict.fromkeys(("tuple", "Tuple"), _tuple),
    **dict.fromkeys(("type", "Type"), lambda *_: {}),
    "Annotated": _annotated,
    "Optional": lambda generator, args, scope, at: union(generator, (*args, None), scope, at),
    "Union": union,
    "Literal": _literal,
    "PathLike": lambda *_: dict(BASIC["PathLike"]),
    "Pattern": lambda *_: dict(BASIC["Pattern"]),
    "Json": _json,
}


def created(generator: SchemaGenerator, kind: ExternalCall, scope: Scope, at: str) -> Schema:
    """A type that a call creates: `NewType(...)`, `TypeVar(...)`, `conint(...)`."""
    name = kind.func.last
    if name == "NewType" and len(kind.args) > 1:
        return generator.schema(kind.args[1], scope, at)
    if name == "TypeVar":
        return generator.schema(variable_type(generator, kind), scope, at)
    if name == "TypeAliasType" and len(kind.args) > 1 and isinstance(kind.args[0], str):
        return generator.defined(kind, kind.args[0], lambda pointer: generator.schema(kind.args[1], scope, pointer))
    if dynamic_types.is_dynamic_type(kind):
        return dynamic_types.reference(generator, kind, scope, at)
    base = constraints.CONSTRAINED.get(name)
    if base is not None:
        is_generic = bool(kind.args) and base in ("builtins.list", "builtins.set", "builtins.frozenset")
        inner = Generic(External(base), (kind.args[0],)) if is_generic else External(base)
        return constraints.apply(generator, generator.schema(inner, scope, at), kind, at)
    return generator.unknown_at(at)


def variable_type(generator: SchemaGenerator, variable: ExternalCall) -> Any:
    """The value of a type variable, or else its default, bound or constraints."""
    name = variable.args[0] if variable.args else None
    if name in generator.variables:
        return generator.variables[name]
    for key in ("default", "bound"):
        if key in variable.kwargs:
            return variable.kwargs[key]
    return UnionOf(tuple(variable.args[1:])) if variable.args[1:] else External("typing.Any")
