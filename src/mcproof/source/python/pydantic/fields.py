"""The fields of a project class as Pydantic sees them: names, aliases, order, defaults, configuration.

Computed fields, serializers and validators change what is served; where their effect is unknown, so is the default.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import word_set
from mcproof.source.python.interp.containers import EXACT, extent_of
from mcproof.source.python.interp.values import (
    MISSING,
    UNKNOWN,
    Absent,
    Call,
    Class,
    External,
    ExternalCall,
    Function,
    Generic,
    UnionOf,
    Unknown,
    generic_name,
    last_name,
)
from mcproof.source.python.pydantic import constraints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.source.python.interp.interpreter import Interpreter
    from mcproof.source.python.interp.modules import Module
    from mcproof.source.python.pydantic.generator import SchemaGenerator


LONGEST_NAME = 200


def alias_of(info: ExternalCall, *, for_serialization: bool = False) -> str | None:
    """The alias in a `Field(...)`, for validation or serialization; None if it has none."""
    for name in ("serialization_alias" if for_serialization else "validation_alias", "alias"):
        alias = _first(info.kwargs.get(name))
        if alias is not None:
            return alias
        if name in info.kwargs and info.kwargs[name] is not None:
            return None  # a path into the value: the field keeps its name
    return None


def _first(given: Any) -> str | None:
    """The name of an alias in a schema: the first choice that is not a path."""
    if isinstance(given, str):
        return given
    if isinstance(given, ExternalCall) and given.func.last == "AliasChoices":
        return next((alias for alias in map(_first, given.args) if alias is not None), None)
    if isinstance(given, ExternalCall) and given.func.last == "AliasPath" and len(given.args) == 1:
        return _first(given.args[0])
    return None


def generated(run: Interpreter, generator: Any, name: str, *, for_serialization: bool = False) -> str | Unknown | None:
    """The alias that a model's `alias_generator` returns for a name; None without a generator."""
    if generator is None:
        return None
    if isinstance(generator, ExternalCall) and generator.func.last == "AliasGenerator":
        position, keyword = (2, "serialization_alias") if for_serialization else (1, "validation_alias")
        own = generator.argument(position, keyword)
        inner = own if own is not None else generator.argument(0, "alias")
        return UNKNOWN if not generator.complete else generated_by(run, inner, name)
    return generated_by(run, generator, name)


def generated_by(run: Interpreter, function: Any, name: str) -> str | Unknown | None:
    """The alias that one function returns for a name."""
    if function is None:
        return None
    if len(name) > LONGEST_NAME:
        return UNKNOWN
    if isinstance(function, External) and function.package in ("pydantic", "builtins"):
        made_by = _GENERATORS.get(function.name.removeprefix("pydantic.alias_generators."))
        return UNKNOWN if made_by is None else made_by(name)
    if isinstance(function, (Function, External)):
        alias = run.call(function, Call([name], {}))
        return str(alias) if isinstance(alias, str) else _first(alias) or UNKNOWN
    return UNKNOWN


def _pascal(name: str) -> str:
    return re.sub(r"([0-9A-Za-z])_(?=[0-9A-Z])", r"\1", name.title())


def _camel(name: str) -> str:
    if re.fullmatch(r"[a-z]+[A-Za-z0-9]*", name) and not re.search(r"\d[a-z]", name):
        return name
    return re.sub(r"^_*[A-Z]", lambda match: match[0].lower(), _pascal(name))


def _snake(name: str) -> str:
    for before, after in (("[A-Z]+", "[A-Z][a-z]"), ("[a-z]", "[A-Z]"), ("[0-9]", "[A-Z]"), ("[a-z]", "[0-9]")):
        name = re.sub(f"({before})({after})", r"\1_\2", name)
    return name.replace("-", "_").lower()


_GENERATORS = {
    "to_pascal": _pascal,
    "to_camel": _camel,
    "to_snake": _snake,
    "builtins.str.upper": str.upper,
    "builtins.str.lower": str.lower,
    "builtins.str.title": str.title,
}
"""The generators of Pydantic, and string methods that are used as such."""


MOST_PARTS = 200
"""The maximum number of types in an annotation that is transformed."""


class DeclaredField(NamedTuple):
    """One field, and the class that declares it."""

    name: str
    node: ast.AnnAssign
    owner: Class

    def default(self) -> Any:
        """Its assigned value, `Field(...)` or `field(...)`; MISSING if there is none."""
        return self.owner.body.names.get(self.name, MISSING) if self.node.value is not None else MISSING


def fields(cls: Class, kind: str) -> list[DeclaredField]:
    """The fields of a class and its ancestors in Pydantic's order."""
    by_name: dict[str, DeclaredField] = {}
    named_only: dict[str, bool] = {}
    for ancestor in reversed(cls.ancestry()):
        is_named_only = kind == "dataclass" and _dataclass_settings(ancestor).get("kw_only") is True
        for name, node in ancestor.annotations.items():
            if kind == "dataclass" and _last_name(node.annotation) == "KW_ONLY":
                is_named_only = True
            if (name.startswith("_") and kind != "typed") or name == "model_config" or is_not_field(node, kind):
                continue
            declared = DeclaredField(name, node, ancestor)
            given = declared.default() if kind == "dataclass" else None
            options = given.kwargs if isinstance(given, ExternalCall) else {}
            if options.get("init") is False and not {"default", "default_factory"} & options.keys():
                continue
            by_name[name] = declared
            kw_only = options.get("kw_only")
            named_only[name] = kw_only if isinstance(kw_only, bool) else is_named_only
    return sorted(by_name.values(), key=lambda field: named_only[field.name])


def is_not_field(node: ast.AnnAssign, kind: str) -> bool:
    """Whether an annotated name is not a field, but a class variable or an argument of `__init__`."""
    name = _last_name(node.annotation)
    if name == "Final":
        return kind == "model" and node.value is not None
    return name in ("ClassVar", "PrivateAttr") or (name == "InitVar" and kind != "dataclass")


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.partition("[")[0].rpartition(".")[2].strip()
    return last_name(node.value if isinstance(node, ast.Subscript) else node)


def is_excluded(annotation: Any, default: Any) -> bool:
    """Whether a field is excluded from serialization."""
    infos = [*constraints.fields_of(annotation), *([default] if constraints.is_field(default) else [])]
    return any(info.kwargs.get("exclude") is True for info in infos)


def dataclass_decorator(cls: Class) -> Any:
    """The `@dataclass` decorator of a class, of Python or of Pydantic; None if it has none."""
    for decorator in cls.decorators:
        func = decorator.func if isinstance(decorator, ExternalCall) else decorator
        if isinstance(func, External) and func.last == "dataclass":
            return decorator
    return None


def _dataclass_settings(cls: Class) -> dict[str, Any]:
    decorator = dataclass_decorator(cls)
    return decorator.kwargs if isinstance(decorator, ExternalCall) else {}


def has_slots(cls: Class) -> bool:
    """Whether the fields of a class are slots."""
    return "__slots__" in cls.body.names or _dataclass_settings(cls).get("slots") is True


def dataclass_default(field: DeclaredField) -> Any:
    """The default of a dataclass field: a value, or a `Field(...)` with the entries of `metadata`."""
    given = field.default()
    if not isinstance(given, ExternalCall) or given.func.last != "field":
        return given
    metadata = given.kwargs.get("metadata")
    entries = metadata.items() if isinstance(metadata, dict) else ()
    kwargs = {key: value for key, value in entries if isinstance(key, str)}
    kwargs.update({key: value for key, value in given.kwargs.items() if key in ("default", "default_factory")})
    is_whole = given.complete and (metadata is None or (isinstance(metadata, dict) and extent_of(metadata) is EXACT))
    return ExternalCall(External("pydantic.Field"), [], kwargs, complete=is_whole)


def class_default(field: DeclaredField) -> Any:
    """The default of a field as an attribute of the class."""
    given = field.default()
    if isinstance(given, ExternalCall) and given.func.last == "field":
        return given.kwargs.get("default", MISSING)
    is_field = isinstance(given, ExternalCall) and given.func.last == "Field"
    if is_field and _is_pydantic(dataclass_decorator(field.owner)):
        default = given.argument(0, "default", MISSING)
        return given if default is MISSING or default is ... else default
    return given


def is_validated(cls: Class) -> bool:
    """Whether Pydantic validates a dataclass."""
    return any(_is_pydantic(dataclass_decorator(ancestor)) for ancestor in cls.ancestry())


def _is_pydantic(decorator: Any) -> bool:
    func = decorator.func if isinstance(decorator, ExternalCall) else decorator
    return isinstance(func, External) and func.package == "pydantic"


def is_required_key(annotation: Any, owner: Class, *, is_text: bool = False) -> bool:
    """Whether a key of a typed dictionary is required; `total` applies to the keys that its class declares.

    Python does not look into an annotation that is still a string.
    """
    kind = annotation
    while not is_text and (name := generic_name(kind)) in ("NotRequired", "Required", "Annotated", "ReadOnly"):
        if name in ("NotRequired", "Required"):
            return name == "Required"
        kind = kind.args[0]
    return owner.keywords.get("total") is not False


def has_late_annotations(module: Module) -> bool:
    """Whether the annotations of a module are strings (`from __future__ import annotations`)."""
    return any(
        isinstance(statement, ast.ImportFrom)
        and statement.module == "__future__"
        and any(name.name == "annotations" for name in statement.names)
        for statement in module.tree.body[:12]
    )


_METADATA_TYPES = frozenset(("Annotated", "Required", "NotRequired", "ReadOnly"))


def without_metadata(kind: Any, budget: list[int] | None = None) -> Any:
    """A type as `typing.get_type_hints` returns it, without metadata; UNKNOWN if it has too many parts."""
    budget = [MOST_PARTS] if budget is None else budget
    budget[0] -= 1
    if budget[0] < 0:
        return UNKNOWN
    name = generic_name(kind)
    if name in _METADATA_TYPES and kind.args:
        return without_metadata(kind.args[0], budget)
    if name == "Literal":
        return kind
    if isinstance(kind, (Generic, UnionOf)):
        args = tuple(without_metadata(arg, budget) for arg in kind.args)
        if any(arg is UNKNOWN for arg in args):
            return UNKNOWN
        return Generic(kind.base, args) if isinstance(kind, Generic) else UnionOf(args)
    return kind


def attribute_docstrings(cls: Class) -> dict[str, str]:
    """The docstrings below the fields of a class."""
    docstrings: dict[str, str] = {}
    for above, below in zip(cls.node.body, cls.node.body[1:], strict=False):
        if (
            isinstance(above, ast.AnnAssign)
            and isinstance(above.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            docstrings[above.target.id] = inspect.cleandoc(below.value.value)
    return docstrings


_CLASS_SETTINGS = word_set(
    "extra alias_generator title json_schema_extra use_attribute_docstrings str_max_length str_min_length"
)
"""Settings that may be keyword arguments of a class."""


def configuration(cls: Class) -> dict[str, Any]:
    """`model_config`, or the inner class `Config`, of a class and its ancestors; the nearest wins."""
    settings: dict[str, Any] = {}
    for ancestor in reversed(cls.ancestry()):
        given = [ancestor.body.names.get("model_config", ancestor.body.names.get("__pydantic_config__"))]
        given += [_decorated(decorator) for decorator in ancestor.decorators]
        for config in given:
            if isinstance(config, ExternalCall):
                settings.update(config.kwargs)
                if not config.complete:
                    settings["json_schema_extra"] = UNKNOWN
            elif isinstance(config, dict):
                settings.update(config)
            elif config is UNKNOWN:
                settings["json_schema_extra"] = UNKNOWN
        inner = ancestor.body.names.get("Config")
        if isinstance(inner, Class):
            settings.update(inner.body.names)
        settings.update({key: value for key, value in ancestor.keywords.items() if key in _CLASS_SETTINGS})
    return settings


def _decorated(decorator: Any) -> Any:
    """The configuration in `@dataclass(config=...)` or `@with_config(...)`."""
    if not isinstance(decorator, ExternalCall):
        return None
    if decorator.func.last == "with_config":
        return decorator.argument(0, "config") or decorator
    return decorator.kwargs.get("config") if decorator.func.last == "dataclass" else None


def string_lengths(config: dict[str, Any]) -> dict[str, Any]:
    """The configured bounds of all strings; a value may be UNKNOWN."""
    bounds = {"maxLength": config.get("str_max_length"), "minLength": config.get("str_min_length") or None}
    return {key: value for key, value in bounds.items() if value is not None}


_CHANGING = word_set(
    "computed_field field_serializer model_serializer field_validator model_validator validator root_validator"
)


class DecoratedMethod(NamedTuple):
    """A method with a decorator of Pydantic."""

    decorator: Any
    """The evaluated decorator, or its call."""
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: Class

    def options(self) -> dict[str, Any]:
        """The keyword arguments of the decorator."""
        return self.decorator.kwargs if isinstance(self.decorator, ExternalCall) else {}


def marked(generator: SchemaGenerator, cls: Class, wanted: frozenset[str]) -> Iterator[DecoratedMethod]:
    """The methods of a class and its ancestors with one of these decorators, the farthest ancestor first."""
    for ancestor in reversed(cls.ancestry()):
        for node in ancestor.node.body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for decorator in node.decorator_list:
                value = generator.run.annotation(decorator, ancestor.scope)
                func = value.func if isinstance(value, ExternalCall) else value
                if isinstance(func, External) and func.last in wanted:
                    yield DecoratedMethod(value, node.name, node, ancestor)


def changes_values(generator: SchemaGenerator, cls: Class) -> bool:
    """Whether an instance of a model may be serialized with other values than it is created with."""
    names = [name for ancestor in cls.ancestry() for name in ancestor.body.names]
    if "__init__" in names or "model_post_init" in names or "__post_init__" in names:
        return True
    return next(marked(generator, cls, _CHANGING), None) is not None


def computed_fields(generator: SchemaGenerator, cls: Class) -> dict[str, DecoratedMethod]:
    """The properties that are serialized as fields."""
    return {method.name: method for method in marked(generator, cls, frozenset(["computed_field"]))}


def computed_type(generator: SchemaGenerator, field: DecoratedMethod) -> Any:
    """The type of a computed field."""
    if "return_type" in field.options():
        return field.options()["return_type"]
    returns = field.node.returns
    return UNKNOWN if returns is None else generator.run.annotation(returns, field.owner.scope)


def computed_info(field: DecoratedMethod) -> ExternalCall:
    """The metadata of a computed field, as a `Field(...)`."""
    described = ast.get_docstring(field.node, clean=False)
    options = {key: value for key, value in field.options().items() if key in _METADATA}
    if described and options.get("description") is None:
        options["description"] = inspect.cleandoc(described)
    complete = field.decorator.complete if isinstance(field.decorator, ExternalCall) else True
    return ExternalCall(External("pydantic.Field"), [], options, complete=complete)


_METADATA = frozenset(("title", "description", "examples", "deprecated", "json_schema_extra"))


def serializer_types(generator: SchemaGenerator, cls: Class) -> dict[str, Any]:
    """The return types of serializers, by field; `""` for that of the model."""
    types: dict[str, Any] = {}
    for method in marked(generator, cls, frozenset(["field_serializer", "model_serializer"])):
        kind = method.options().get("return_type")
        if kind is None and method.node.returns is None:
            kind = UNDECLARED
        elif kind is None:
            kind = generator.run.annotation(method.node.returns, method.owner.scope)
        is_model = getattr(getattr(method.decorator, "func", method.decorator), "last", "") == "model_serializer"
        names = [""] if is_model else [name for name in method.decorator.args if isinstance(name, str)]
        types.update(dict.fromkeys(names, kind))
    return types


UNDECLARED = Absent()
"""The type of a serializer without a return type: the schema stays, the default may change."""
