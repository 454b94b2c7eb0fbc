"""Generate the JSON Schema of a type as Pydantic does."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.text.json_positions import escape, unescape
from mcproof.source.python.interp.containers import SourceDict
from mcproof.source.python.interp.expressions import evaluate
from mcproof.source.python.interp.values import (
    MISSING,
    UNKNOWN,
    Class,
    External,
    ExternalCall,
    Generic,
    Scope,
    TypeAlias,
    UnionOf,
)
from mcproof.source.python.pydantic import classes, constraints, defaults, dynamic_types, fields, types
from mcproof.source.python.pydantic.nodes import Schema, ordered, references, title, with_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.source.python.interp.interpreter import Interpreter

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
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return UNKNOWN
            kind, steps = self.run.resolve(evaluate(self.run, node, scope)), steps + 1
        return kind

    def _schema(self, kind: Any, scope: Scope, at: str) -> Schema:
        if kind is None:
            return {"type": "null"}
        if isinstance(kind, External):
            return types.named(self, kind, scope, at)
        if isinstance(kind, Generic):
            return types.generic(self, kind, scope, at)
        if isinstance(kind, UnionOf):
            return types.union(self, kind.args, scope, at)
        if isinstance(kind, Class):
            return classes.reference(self, kind, at)
        if isinstance(kind, TypeAlias):
            return self.defined(kind, kind.name, lambda pointer: self._alias(kind, pointer))
        if isinstance(kind, ExternalCall):
            return types.created(self, kind, scope, at)
        return self.unknown_at(at)

    def _alias(self, kind: TypeAlias, at: str) -> Schema:
        value = self.run.resolve(evaluate(self.run, kind.node, kind.scope))
        return self.schema(value, kind.scope, at)

    def defined(self, kind: Any, name: str, make: Any) -> Schema:
        """A reference to a definition, which is made once."""
        known = self._names.get(id(kind))
        if known is None:
            namesakes = self._namesakes.setdefault(name, [])
            known = f"{name}__{len(namesakes) + 1}" if namesakes else name
            while known in self.definitions:
                known += "_"
            namesakes.append((known, kind))
            self._names[id(kind)] = known
            self.definitions[known] = {}
            self.definitions[known].update(make(f"/$defs/{escape(known)}"))
        return {"$ref": f"#/$defs/{known}"}

    def qualify_names(self, schema: Schema) -> Schema:
        """Qualify definitions with the same name by their modules, as Pydantic does."""
        renamed: dict[str, str] = {}
        for namesakes in (group for group in self._namesakes.values() if len(group) > 1):
            named = [(known, kind) for known, kind in namesakes if isinstance(kind, (Class, TypeAlias))]
            full = {known: qualified_name(kind) for known, kind in named}
            if len(set(full.values())) == len(namesakes):
                renamed.update(full)
        if not renamed:
            return schema
        self.unknown = {_renamed_pointer(pointer, renamed) for pointer in self.unknown}
        made: Schema = ordered(with_names(schema, renamed))
        return made

    def alias(self, kind: Any, default: Any, scope: Scope, *, for_serialization: bool = False) -> str | None:
        """The alias of a parameter or field, for validation or serialization."""
        infos = [
            *constraints.fields_of(self.parsed_type(kind, scope)),
            *([default] if constraints.is_field(default) else []),
        ]
        found = (fields.alias_of(info, for_serialization=for_serialization) for info in reversed(infos))
        return next((alias for alias in found if alias is not None), None)

    def field(self, name: str, kind: Any, default: Any, scope: Scope, at: str) -> Field:
        """A parameter or field with default and title, under its name in the schema."""
        kind = self.parsed_type(kind, scope)
        made = self.schema(kind, scope, at)
        info = default if constraints.is_field(default) else None
        infos = [*constraints.fields_of(kind), *([info] if info is not None else [])]
        if info is not None:
            made = constraints.apply(self, made, info, at)
            default = constraints.default_of(info)
        if default is MISSING:
            default = next(
                (given for given in map(constraints.default_of, infos[::-1]) if given is not MISSING), MISSING
            )
        default = MISSING if default is ... else default
        required = default is MISSING
        if "title" not in made and self.has_title(kind, scope) and at not in self.unknown:
            if f"{at}/anyOf/0" in self.unknown and len(made.get("anyOf", ())) == 2:
                self.unknown.add(f"{at}/title")  # an unknown class may have its own title
            else:
                made = {**made, "title": title(name)}
        if default is not MISSING and default is not constraints.FACTORY:
            is_other = self.for_serialization and constraints.has_serializer(kind)
            encoded = UNKNOWN if is_other else defaults.in_type_order(defaults.encode(default, self), kind)
            if encoded is UNKNOWN:
                self.unknown.add(f"{at}/default")
            else:
                made = {**made, "default": encoded}
        return Field(made, required)

    def has_title(self, kind: Any, scope: Scope) -> bool:
        """Whether Pydantic adds a title to a field of this type; definitions have their own."""
        kind = self.parsed_type(kind, scope)
        if isinstance(kind, ExternalCall) and kind.func.last == "TypeVar" and kind.args:
            kind = self.parsed_type(types.variable_type(self, kind), scope)
        if isinstance(kind, (Class, TypeAlias)) or (isinstance(kind, External) and kind.last == "JsonValue"):
            return False
        if isinstance(kind, ExternalCall):
            return kind.func.last != "TypeAliasType" and not dynamic_types.is_dynamic_type(kind)
        if isinstance(kind, Generic):
            if isinstance(kind.base, Class):
                return False
            name = kind.base.last if isinstance(kind.base, External) else ""
            if name in ("Annotated", "Required", "NotRequired") and kind.args:
                return self.has_title(kind.args[0], scope)
        arms = [arm for arm in types.union_members(kind) if arm is not None]
        return len(arms) != 1 or self.has_title(arms[0], scope)

    def move_unknown(self, name: str, to: str = "", *, is_kept: bool = False) -> None:
        """Adapt the pointers of unknown parts to a definition that moves elsewhere."""
        below = f"/$defs/{escape(name)}"
        found = {pointer for pointer in self.unknown if pointer == below or pointer.startswith(f"{below}/")}
        self.unknown |= {f"{to}{pointer.removeprefix(below)}" for pointer in found}
        if not is_kept:
            self.unknown -= found

    def is_referenced(self, name: str) -> bool:
        """Whether a definition refers to the definition of this name."""
        return any(f"#/$defs/{name}" in references(definition) for definition in self.definitions.values())

    def with_definitions(self, made: Schema) -> Schema:
        """A schema with its definitions, keys in Pydantic's order."""
        if self.definitions:
            made = {"$defs": dict(self.definitions), **made}
        whole: Schema = ordered(made)
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
    name, mark, rest = pointer.removeprefix("/$defs/").partition("/")
    return f"/$defs/{escape(renamed.get(unescape(name), unescape(name)))}{mark}{rest}"


def model_json_schema(run: Interpreter, cls: Class) -> Any:
    """`Model.model_json_schema()`; UNKNOWN if the class is not a model."""
    generator = SchemaGenerator(run)
    reference = classes.reference(generator, cls, "")
    name = reference.get("$ref", "").removeprefix("#/$defs/")
    if "" in generator.unknown or name not in generator.definitions:
        return UNKNOWN
    made = generator.definitions[name]
    if generator.is_referenced(name):
        made = reference
    else:
        del generator.definitions[name]
    whole = generator.qualify_names(generator.with_definitions(made))
    if isinstance(whole, SourceDict):
        whole.mark_open(bool(generator.unknown))
    return whole
