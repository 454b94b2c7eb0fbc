"""Registered items as a server would list them, with the places of their parts.

Unknown parts are left out and recorded, so that no finding is about a guess: docs/decisions/0025-unknown-is-silent.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mcproof.core.catalog.model import FROM_SOURCE, SourceTool
from mcproof.core.text.json_positions import escape
from mcproof.source.document import LISTS, NO_NAME, Registration, RenderedItem
from mcproof.source.javascript.frameworks.registration import member_places
from mcproof.source.javascript.interp.interpreter import default_of
from mcproof.source.javascript.interp.members import get_member, keys_of
from mcproof.source.javascript.values import ABSENT, UNDEFINED, JsArray, JsObject, Unknown
from mcproof.source.javascript.zod.emitters import input_schema, output_schema
from mcproof.source.javascript.zod.parts import RenderedSchema
from mcproof.source.javascript.zod.schema import ZodSchema

if TYPE_CHECKING:
    from mcproof.core.observations.source import SourceLocation
    from mcproof.source.document import Omissions
    from mcproof.source.javascript.frameworks.schemas import Versions
    from mcproof.source.javascript.frameworks.servers import Place, RegisteredItem, ServerValue
    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.values import Value

DEEPEST = 100
MOST_WRITTEN = 100_000
UNWRITTEN = object()
"""Stands for a value that is not known."""

FIELDS = {
    "tools": (
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "execution",
        "icons",
        "_meta",
    ),
    "resources": ("uri", "name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta"),
    "templates": ("uriTemplate", "name", "title", "description", "mimeType", "annotations", "icons", "_meta"),
    "prompts": ("name", "title", "description", "arguments", "icons", "_meta"),
}
"""The members of an item, in the order of a response."""
SCHEMAS = {"inputSchema": input_schema, "outputSchema": output_schema}
KEYS = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}


class Writer:
    """Renders one item, and collects locations and the pointers of unknown parts."""

    def __init__(self, run: Interpreter, versions: Versions) -> None:
        self.run = run
        self.versions = versions
        self.locations: dict[str, SourceLocation] = {}
        self.unknown: set[str] = set()
        self._left = MOST_WRITTEN

    def locate(self, pointer: str, place: Place | None) -> None:
        """Record where a part is written."""
        if place is not None:
            self.locations[pointer] = place[0].source.location(place[1])

    def write(self, value: Value, pointer: str, depth: int = 0) -> Any:
        """A value as JSON; UNWRITTEN, and recorded as such, if nothing of it is known."""
        value = default_of(value)
        if value is None or isinstance(value, (str, bool, int)):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        self._left -= 1
        if depth < DEEPEST and self._left > 0:
            if isinstance(value, JsArray):
                return self._array(value, pointer, depth)
            if isinstance(value, JsObject) and not getattr(value, "is_callable", False):
                return self._object(value, pointer, depth)
        self.unknown.add(pointer)
        return UNWRITTEN

    def schema(self, item: RegisteredItem, name: str, value: Value) -> Any:
        """A schema as JSON: one of zod as the framework of the server converts it, any other as it is written."""
        value = default_of(value)
        pointer = f"/{name}"
        is_listed = "tools" in item.server.handlers
        if isinstance(value, JsObject) and not _is_shape(value, is_listed=is_listed):
            return self.write(value, pointer)
        path = _path_of(item)
        emitter = self.versions.emitter(item.server.framework, item.server.package, path)
        rendered = SCHEMAS[name](value, emitter)
        if not isinstance(rendered, RenderedSchema):
            self.unknown.add(pointer)
            return UNWRITTEN
        if isinstance(value, JsObject):
            for key, place in member_places(value).items():
                self.locate(f"{pointer}/properties/{escape(key)}", place)
        for below, where in rendered.places.items():
            if isinstance(where, tuple):
                self.locations.setdefault(pointer + below, where[0].source.location(where[1]))
        self.unknown |= {pointer + below for below in rendered.unknown}
        return rendered.json

    def _object(self, value: JsObject, pointer: str, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        names, is_open = keys_of(value)
        places = member_places(value)
        for name in names:
            key = str(default_of(name) if not isinstance(name, Unknown) else name.options[0])
            member = get_member(self.run, value, key)
            below = f"{pointer}/{escape(key)}"
            if member is UNDEFINED or getattr(member, "is_callable", False):
                continue
            if key in places:
                self.locate(below, places[key])
            written = self.write(member, below, depth + 1)
            if written is not UNWRITTEN:
                members[key] = written
            elif pointer.endswith("/properties"):
                members[key] = {}  # that there is such a property is known
            if isinstance(name, Unknown):
                self.unknown.add(below)
        if is_open:
            self.unknown.add(pointer)
        return members

    def _array(self, value: JsArray, pointer: str, depth: int) -> list[Any]:
        items: list[Any] = []
        for item in value.items:
            below = f"{pointer}/{len(items)}"
            is_doubtful = isinstance(item, Unknown) and any(option is ABSENT for option in item.options)
            written = UNWRITTEN if is_doubtful else self.write(item, below, depth + 1)
            if written is UNWRITTEN:
                self.unknown.discard(below)
                self.unknown.add(pointer)
            else:
                items.append(written)
        if value.is_open:
            self.unknown.add(pointer)
        return items


def render(
    run: Interpreter, versions: Versions, item: RegisteredItem, omissions: Omissions, incomplete_lists: set[str]
) -> RenderedItem | None:
    """An item as it is listed; None, with an omission, if its name is not known."""
    writer = Writer(run, versions)
    kind, given = item.kind, item.given
    key = default_of(given.get(KEYS[kind], UNDEFINED))
    place = item.place
    line = place[0].source.line(place[1].start_byte) if place is not None else None
    file = place[0].source.file if place is not None else ""
    if not isinstance(key, str) or not key:
        if file:
            omissions.note(NO_NAME[kind], file, line)
        incomplete_lists.add(LISTS[kind])
        return None
    writer.locate("", place)
    writer.locate(f"/{KEYS[kind]}", item.places.get(KEYS[kind], place))
    raw: dict[str, Any] = {KEYS[kind]: key}
    for name in FIELDS[kind]:
        value = given.get(name, UNDEFINED)
        pointer = f"/{name}"
        if value is UNDEFINED or name in raw:
            continue
        writer.locate(pointer, item.places.get(name, place))
        written = writer.schema(item, name, value) if name in SCHEMAS else writer.write(value, pointer)
        if written is not UNWRITTEN and (written is not None or name == "description"):
            raw[name] = written
    if kind == "prompts" and "argsSchema" in given:
        _add_arguments(raw, item, writer)
    tool = None
    if kind == "tools":
        _complete_tool(raw, item, writer)
        schema = default_of(given.get("inputSchema"))
        is_explicit = isinstance(schema, JsObject) and _is_json_schema(schema)
        # Code that helps is the same for all frameworks: a schema of zod, or a literal one.
        framework = "literal" if is_explicit else "zod"
        tool = SourceTool(is_explicit, (), frozenset(writer.unknown), framework=framework)
    return RenderedItem(
        kind=kind,
        raw=raw,
        tool=tool,
        is_conditional=item.is_conditional or item.server.is_in_doubt(item.doubts),
        registration=Registration(
            server=id(item.server),
            owner=id(item.server),
            origin=place[1].id if place is not None else id(item),
            is_any_server=False,
            may_repeat=False,
            keeps_last=False,
            location=(file, line) if file else None,
        ),
        locations=writer.locations,
        lines=_lines(place),
        continuation_lines={},
    )


def _path_of(item: RegisteredItem) -> str:
    """The file whose package decides about versions: that of the item, else that of its server."""
    place = item.place or item.server.place
    return place[0].source.path if place is not None else ""


def _add_arguments(raw: dict[str, Any], item: RegisteredItem, writer: Writer) -> None:
    """The arguments of a prompt, which the SDK takes from the shape of its schema."""
    schema = writer.schema(item, "inputSchema", item.given["argsSchema"])
    if not isinstance(schema, dict):
        return
    required = schema.get("required", [])
    raw["arguments"] = [
        {
            "name": name,
            **({"description": property_["description"]} if "description" in property_ else {}),
            "required": name in required,
        }
        for name, property_ in schema.get("properties", {}).items()
    ]


def _is_shape(value: JsObject, *, is_listed: bool) -> bool:
    """Whether an object is the shape of a schema, rather than a JSON Schema."""
    if is_listed:
        return False
    members = [default_of(member) for member in value.members.values()]
    return not members or any(isinstance(member, ZodSchema) for member in members) or not _is_json_schema(value)


def _is_json_schema(value: JsObject) -> bool:
    return (
        isinstance(default_of(value.members.get("type")), str)
        or "$ref" in value.members
        or "properties" in value.members
    )


def _complete_tool(raw: dict[str, Any], item: RegisteredItem, writer: Writer) -> None:
    """Add what the framework fills in."""
    if "inputSchema" not in raw:
        if "inputSchema" in item.given or item.server.handlers.get("tools") is not None:
            writer.unknown.add("/inputSchema")
        else:
            path = _path_of(item)
            emitter = writer.versions.emitter(item.server.framework, item.server.package, path)
            rendered = input_schema(UNDEFINED, emitter)
            raw["inputSchema"] = rendered.json if isinstance(rendered, RenderedSchema) else {"type": "object"}
    sdk = writer.versions.sdk(item.server.framework, item.server.package, _path_of(item))
    if "tools" not in item.server.handlers and "execution" not in item.given and (1, 24) <= sdk < (2,):
        raw["execution"] = {"taskSupport": "forbidden"}


def _lines(place: Place | None) -> tuple[tuple[str, int], ...]:
    """The lines that register an item: those where its call or its literal starts."""
    if place is None:
        return ()
    module, node = place
    first = module.source.line(node.start_byte)
    last = module.source.line(node.end_byte)
    return tuple((module.source.file, line) for line in range(first, min(last, first + 1) + 1))


def server_info(servers: list[ServerValue]) -> dict[str, Any]:
    """What the servers report when a client connects: what all of them share."""
    stated: dict[str, str] = {}
    for key in ("name", "version", "instructions") if servers else ():
        values = {value if isinstance(value := default_of(server.info.get(key)), str) else None for server in servers}
        only = values.pop()
        if only and not values:
            stated[key] = only
    info = {key: stated[key] for key in ("name", "version") if key in stated}
    document: dict[str, Any] = {"serverInfo": info} if info else {}
    if "instructions" in stated:
        document["instructions"] = stated["instructions"]
    return {**document, "_meta": {FROM_SOURCE: True}} if document else {}
