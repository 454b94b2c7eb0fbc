"""JSON Schema as Pydantic writes it: key order, titles, references between definitions."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from mcproof.discovery.interp.containers import SourceDict

Schema = dict[str, Any]
_DATA = frozenset(("default", "const", "examples"))
"""Keywords whose values are data, not schemas."""


def references(schema: Schema) -> set[str]:
    """The targets of every `$ref` in a schema, without its data such as defaults."""
    found: set[str] = set()
    waiting: list[tuple[Any, bool]] = [(schema, False)]
    while waiting:
        node, is_named = waiting.pop()
        if isinstance(node, list):
            waiting += [(each, False) for each in node]
        elif isinstance(node, dict):
            target = node.get("$ref")
            if isinstance(target, str):
                found.add(target)
            waiting += [
                (value, key in ("properties", "$defs") and not is_named)
                for key, value in node.items()
                if is_named or key not in _DATA
            ]
    return found


def with_names(node: Any, renamed: dict[str, str]) -> Any:
    """A schema with some definitions renamed."""
    if isinstance(node, list):
        return [with_names(each, renamed) for each in node]
    if not isinstance(node, dict):
        return node
    made = SourceDict()
    for key, value in node.items():
        if key == "$defs" and isinstance(value, dict):
            made[key] = {renamed.get(name, name): with_names(each, renamed) for name, each in value.items()}
        elif key in _DATA:
            made[key] = value
        elif isinstance(value, str):
            name = value.removeprefix("#/$defs/")
            made[key] = f"#/$defs/{renamed[name]}" if name != value and name in renamed else value
        else:
            made[key] = with_names(value, renamed)
    if isinstance(node, SourceDict):
        made.origins = node.origins
    return made


def common_type(values: list[Any]) -> Schema:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array"}
    types = {names.get(type(value)) for value in values}
    return {"type": types.pop()} if len(types) == 1 else {}


def title(name: str) -> str:
    """The title that Pydantic generates for a field."""
    return name.title().replace("_", " ").strip()


def ordered(value: Any, *, names: bool = False) -> Any:
    """Sort keys as Pydantic does: alphabetically, except for the names of properties."""
    if isinstance(value, list):
        return [ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = SourceDict()
    for key in value if names else sorted(value):
        item = value[key]
        is_data = type(item) is str or (key in _DATA and not names)
        made[key] = item if is_data else ordered(item, names=key == "properties" and not names)
    if isinstance(value, SourceDict):
        made.origins = value.origins
    return made


def clean_docstring(node: ast.ClassDef) -> str | None:
    text = ast.get_docstring(node, clean=False)
    return inspect.cleandoc(text) if text else None
