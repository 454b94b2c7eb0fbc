"""JSON with parts that are not known: how they are kept while a schema is written, and left out at the end.

Unknown values stand in the JSON as they are. A part that is there but not settled, such as a property whose schema is
not known, is an empty object that is marked. At the end, both come to pointers, so that no finding is about a guess.
Why an unknown part is silent: docs/decisions/0025-unknown-is-silent.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_positions import escape
from mcproof.source.javascript.values import UNDEFINED, BigInt, JsArray, JsObject, Unknown, Value

if TYPE_CHECKING:
    from mcproof.source.javascript.zod.schema import ZodSchema

DEEPEST = 300
MOST_WRITTEN = 100_000
"""The maximum number of values in one schema; a part that is used again counts again."""


class UnrepresentableError(Exception):
    """A schema has no JSON Schema: the conversion fails, and with it the list of all tools."""


class RenderedSchema(NamedTuple):
    """A JSON Schema as a server would list it."""

    json: dict[str, Any]
    unknown: dict[str, str]
    """Pointers of parts that are not known, each with the reason."""
    places: dict[str, object]
    """Where parts are written, by pointer: the `node` of their schemas."""


class UnknownParts:
    """What is not known of the schemas that are being written, and where they are in the source."""

    def __init__(self) -> None:
        self._marks: dict[int, tuple[dict[str, Any], dict[str, str]]] = {}
        self._places: dict[int, tuple[dict[str, Any], ZodSchema]] = {}

    def part(self, value: Value) -> dict[str, Any]:
        """An empty schema for one that is not known."""
        json: dict[str, Any] = {}
        self.mark(json, value)
        return json

    def mark(self, json: dict[str, Any], value: Value, member: str = "") -> None:
        """Record that an object, or a member of it, is not all that is listed."""
        reason = value.reason if isinstance(value, Unknown) else "this is not a schema of zod"
        self._marks.setdefault(id(json), (json, {}))[1].setdefault(member, reason)

    def place(self, json: dict[str, Any], schema: ZodSchema) -> None:
        """Record which schema an object is written for."""
        self._places.setdefault(id(json), (json, schema))

    def share(self, source: dict[str, Any], target: dict[str, Any]) -> None:
        """Record that an object takes over the members of another."""
        if id(source) in self._marks:
            reasons = self._marks.setdefault(id(target), (target, {}))[1]
            reasons |= {
                member: reason for member, reason in self._marks[id(source)][1].items() if member not in reasons
            }
        if id(source) in self._places:
            self.place(target, self._places[id(source)][1])

    def finished(self, json: dict[str, Any]) -> RenderedSchema:
        """The JSON without unknown values. Raises UnrepresentableError if it is too large."""
        rendered = RenderedSchema({}, {}, {})
        self._left = MOST_WRITTEN
        rendered.json.update(self._finished(json, "", rendered, 0))
        return rendered

    def _finished(self, value: Any, pointer: str, rendered: RenderedSchema, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > DEEPEST:
            raise UnrepresentableError("this schema is too large")
        if isinstance(value, list):
            items: list[Any] = []
            for item in value:
                if isinstance(item, Unknown):
                    rendered.unknown[pointer] = item.reason
                else:
                    items.append(self._finished(item, f"{pointer}/{len(items)}", rendered, depth + 1))
            return items
        if not isinstance(value, dict):
            return value
        for member, reason in self._marks.get(id(value), (value, {}))[1].items():
            rendered.unknown[f"{pointer}/{escape(member)}" if member else pointer] = reason
        if id(value) in self._places and self._places[id(value)][1].node is not None:
            rendered.places[pointer] = self._places[id(value)][1].node
        members: dict[str, Any] = {}
        for name, member in value.items():
            below = f"{pointer}/{escape(name)}"
            if isinstance(member, Unknown):
                rendered.unknown[below] = member.reason
            elif name == "required" and isinstance(member, list) and not member:
                continue
            else:
                members[name] = self._finished(member, below, rendered, depth + 1)
        return members


def as_json(value: Value, depth: int = 0) -> Any:
    """A value as `JSON.stringify` writes it; unknown values stay."""
    if isinstance(value, Unknown) and value.is_default:
        value = value.options[0]
    if value is None or isinstance(value, str | bool | int | Unknown):
        return value
    if depth > DEEPEST:
        return Unknown("this value is nested too deeply")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, JsArray):
        items = [as_json(item, depth + 1) for item in value.items]
        return [None if item is UNDEFINED else item for item in items]
    if getattr(value, "is_callable", False):
        return UNDEFINED
    if isinstance(value, JsObject):
        members = {name: as_json(member, depth + 1) for name, member in value.members.items()}
        return {name: member for name, member in members.items() if member is not UNDEFINED}
    if isinstance(value, dict):
        return {name: as_json(member, depth + 1) for name, member in value.items()}
    if isinstance(value, list):
        return [as_json(item, depth + 1) for item in value]
    if value is UNDEFINED:
        return UNDEFINED
    return Unknown("large integers are not JSON" if isinstance(value, BigInt) else "this value is not plain data")


def type_of(value: Any) -> str | None:
    """The JSON Schema type of a simple value, without `integer`; None if it is not one."""
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (str, "string"), (int | float, "number")):
        if isinstance(value, kind):
            return name
    return None
