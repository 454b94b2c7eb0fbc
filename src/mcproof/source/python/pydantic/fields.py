"""The fields of a project class: names, order, defaults."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.interp.containers import EXACT, extent_of
from mcproof.discovery.interp.values import MISSING, UNKNOWN, Class, External, ExternalCall, Generic, UnionOf
from mcproof.discovery.pydantic import constraints

if TYPE_CHECKING:
    from mcproof.discovery.interp.modules import Module

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
    found: dict[str, DeclaredField] = {}
    named_only: dict[str, bool] = {}
    for each in reversed(cls.ancestry()):
        is_named_only = kind == "dataclass" and _dataclass_settings(each).get("kw_only") is True
        for name, node in each.annotations.items():
            if kind == "dataclass" and _last_name(node.annotation) == "KW_ONLY":
                is_named_only = True
            if (name.startswith("_") and kind != "typed") or name == "model_config" or is_not_field(node, kind):
                continue
            declared = DeclaredField(name, node, each)
            given = declared.default() if kind == "dataclass" else None
            if (
                isinstance(given, ExternalCall)
                and given.kwargs.get("init") is False
                and not _FILLED & given.kwargs.keys()
            ):
                continue
            found[name] = declared
            kw_only = given.kwargs.get("kw_only") if isinstance(given, ExternalCall) else None
            named_only[name] = kw_only if isinstance(kw_only, bool) else is_named_only
    return sorted(found.values(), key=lambda each: named_only[each.name])


_FILLED = {"default", "default_factory"}


def is_not_field(node: ast.AnnAssign, kind: str) -> bool:
    """Whether an annotated name is not a field, but a class variable or an argument of `__init__`."""
    name = _last_name(node.annotation)
    if name == "Final":
        return kind == "model" and node.value is not None
    return name in ("ClassVar", "PrivateAttr") or (name == "InitVar" and kind != "dataclass")


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.partition("[")[0].rpartition(".")[2].strip()
    inner = node.value if isinstance(node, ast.Subscript) else node
    return inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""


def is_excluded(annotation: Any, default: Any) -> bool:
    """Whether a field is excluded from serialization."""
    infos = [*constraints.fields_of(annotation), *([default] if constraints.is_field(default) else [])]
    return any(info.kwargs.get("exclude") is True for info in infos)


# --- data classes


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
    if (
        isinstance(given, ExternalCall)
        and given.func.last == "Field"
        and _is_pydantic(dataclass_decorator(field.owner))
    ):
        default = given.argument(0, "default", MISSING)
        return given if default is MISSING or default is ... else default
    return given


def is_validated(cls: Class) -> bool:
    """Whether Pydantic validates a dataclass."""
    return any(_is_pydantic(dataclass_decorator(each)) for each in cls.ancestry())


def _is_pydantic(decorator: Any) -> bool:
    func = decorator.func if isinstance(decorator, ExternalCall) else decorator
    return isinstance(func, External) and func.package == "pydantic"


# --- annotations


def is_required_key(annotation: Any, owner: Class, *, is_text: bool = False) -> bool:
    """Whether a key of a typed dictionary is required; `total` applies to the keys that its class declares.

    Python does not look into an annotation that is still a string.
    """
    kind = annotation
    while isinstance(kind, Generic) and isinstance(kind.base, External) and not is_text:
        if kind.base.last in ("NotRequired", "Required"):
            return kind.base.last == "Required"
        if kind.base.last not in ("Annotated", "ReadOnly"):
            break
        kind = kind.args[0]
    return owner.keywords.get("total") is not False


def has_late_annotations(module: Module) -> bool:
    """Whether the annotations of a module are strings (`from __future__ import annotations`)."""
    return any(
        isinstance(each, ast.ImportFrom)
        and each.module == "__future__"
        and any(name.name == "annotations" for name in each.names)
        for each in module.tree.body[:12]
    )


_METADATA_TYPES = frozenset(("Annotated", "Required", "NotRequired", "ReadOnly"))


def without_metadata(kind: Any, budget: list[int] | None = None) -> Any:
    """A type as `typing.get_type_hints` returns it, without metadata; UNKNOWN if it has too many parts."""
    budget = [MOST_PARTS] if budget is None else budget
    budget[0] -= 1
    if budget[0] < 0:
        return UNKNOWN
    name = kind.base.last if isinstance(kind, Generic) and isinstance(kind.base, External) else ""
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


# --- docstrings


def attribute_docstrings(cls: Class) -> dict[str, str]:
    """The docstrings below the fields of a class."""
    found: dict[str, str] = {}
    for above, below in zip(cls.node.body, cls.node.body[1:], strict=False):
        if (
            isinstance(above, ast.AnnAssign)
            and isinstance(above.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            found[above.target.id] = inspect.cleandoc(below.value.value)
    return found
