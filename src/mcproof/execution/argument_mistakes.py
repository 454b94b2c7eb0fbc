"""Mistakes in the arguments of a call, in words: what its schema objects to, with the nearest parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.errors import nearest
from mcproof.core.observations.connection import cropped
from mcproof.execution.tool_calls import listed_names

if TYPE_CHECKING:
    from mcproof.core.schema.validation import Objection


def declared_parameters(schema: dict[str, Any]) -> list[str]:
    """The parameters that a schema names."""
    properties, required = schema.get("properties"), schema.get("required")
    names = [*(properties if isinstance(properties, dict) else ()), *(required if isinstance(required, list) else ())]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def worded(objection: Objection, declared: list[str]) -> str:
    """An objection to arguments, in words; `declared` are the parameters."""
    where = f"{cropped(objection.pointer)}: " if objection.pointer else ""
    if objection.missing is not None:
        return f"{where}`{objection.missing}` is missing"
    if objection.unexpected is not None:
        if objection.pointer:
            return f"{where}`{objection.unexpected}` is not allowed"
        return f"`{objection.unexpected}` is not a parameter{nearest_or_all(objection.unexpected, declared)}"
    return f"{where}{cropped(objection.message)}"


def nearest_or_all(name: str, known: list[str]) -> str:
    """A hint with the known name closest to `name`, or with all of them."""
    return nearest(name, known) or f" (there are {listed_names(known)})"
