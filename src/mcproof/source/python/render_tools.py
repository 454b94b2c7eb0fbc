"""Render one tool: what its registration specifies, and what its framework derives from its function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.catalog.model import SourceTool
from mcproof.discovery.frameworks.fastmcp_schema import inline_output
from mcproof.discovery.frameworks.framework_versions import INLINED, OUTPUT_SCHEMAS, PLAIN_WRAPPER, TOOL_TITLES
from mcproof.discovery.frameworks.function_schemas import derive
from mcproof.discovery.interp.builtin_values import unwrapped
from mcproof.discovery.interp.values import DOC_IN_DOUBT, UNKNOWN, EitherFunction, ExternalCall
from mcproof.discovery.rendering import item_locations
from mcproof.discovery.rendering.render_prompt_resource import add_meta

if TYPE_CHECKING:
    from mcproof.discovery.frameworks.served_items import ServedItem
    from mcproof.discovery.frameworks.servers import RegisteredItem
    from mcproof.discovery.interp.interpreter import Interpreter
    from mcproof.discovery.rendering.json_writer import JsonWriter


def render_tool(
    run: Interpreter, entry: ServedItem, framework: str, traits: frozenset[str], writer: JsonWriter
) -> tuple[dict[str, Any], SourceTool] | None:
    item, given = entry.item, entry.item.given
    name = unwrapped(given.get("name"))
    if name is None and item.function is not None and (item.complete or "name" in given):
        name = item.function.attributes.get("__name__", item.function.exposed().name)
        name = unwrapped(name)
    if not isinstance(name, str) or not name or name in ("<lambda>", "<unknown>"):
        return None
    raw: dict[str, Any] = {"name": f"{entry.prefix}{name}"}
    item_locations.locate(item, writer)
    required: tuple[str, ...] = ()
    explicit = _explicit(given)
    derived = None
    if item.function is not None and explicit is None:
        derived = derive(run, item.function, framework, traits, structured=given.get("structured_output"))
        if item.closed and framework != "fastmcp":
            derived.input_schema["additionalProperties"] = False
        required = derived.required
        writer.unknown |= derived.unknown
        if isinstance(item.function, EitherFunction):
            required = ()
            writer.unknown |= {"/inputSchema", "/outputSchema"}
    keeps_empty = framework == "fastmcp" and PLAIN_WRAPPER in traits
    _describe(raw, item, framework, derived, writer, keeps_empty=keeps_empty)
    if explicit is not None:
        _set_schema(raw, "inputSchema", explicit, item, writer)
    elif derived is not None:
        raw["inputSchema"] = writer.write(derived.input_schema, "/inputSchema")
        item_locations.locate_parameters(item, derived.parameters, writer)
    else:
        writer.unknown.add("/inputSchema")
        if framework != "lowlevel" and OUTPUT_SCHEMAS in traits:
            writer.unknown.add("/outputSchema")
    writer.unknown |= entry.server.changes.unknown | entry.root.changes.unknown
    if item.altered:
        writer.unknown |= {"/inputSchema", "/outputSchema"}
    _output(raw, given, derived, writer)
    if framework == "fastmcp" and INLINED in traits:
        inline_output(raw, writer.unknown)
    _annotate(raw, given, framework, traits, writer)
    return raw, SourceTool(explicit is not None, required, frozenset(writer.unknown), framework=framework)


def _explicit(given: dict[str, Any]) -> Any:
    for key in ("inputSchema", "input_schema", "parameters"):
        if given.get(key) is not None:
            return given[key]
    return None


def _describe(
    raw: dict[str, Any], item: RegisteredItem, framework: str, derived: Any, writer: JsonWriter, *, keeps_empty: bool
) -> None:
    given = unwrapped(item.given.get("description"))
    if isinstance(given, str) and (given or keeps_empty):
        raw["description"] = given
    elif (given is not None and given != "") or not item.complete:
        writer.unknown.add("/description")
    elif derived is not None:
        text = derived.description
        attributes = item.function.attributes if item.function is not None else {}
        if DOC_IN_DOUBT in attributes:
            writer.unknown.add("/description")
        is_changed = attributes.get("__doc__") is not None and not isinstance(attributes["__doc__"], str)
        if is_changed or isinstance(item.function, EitherFunction):
            writer.unknown.add("/description")
        if not is_changed and (text is not None or framework != "fastmcp"):
            raw["description"] = text or ""


def _set_schema(raw: dict[str, Any], key: str, value: Any, item: RegisteredItem, writer: JsonWriter) -> None:
    node = item.nodes.get(key) or item.nodes.get("input_schema") or item.nodes.get("parameters")
    writer.locate_value(f"/{key}", value, item.module, node)
    written = writer.write(value, f"/{key}")
    if written is not UNKNOWN:
        raw[key] = written


def _output(raw: dict[str, Any], given: dict[str, Any], derived: Any, writer: JsonWriter) -> None:
    for key in ("outputSchema", "output_schema"):
        if key in given:
            if given[key] is not None:
                written = writer.write(given[key], "/outputSchema")
                if written is not UNKNOWN:
                    raw["outputSchema"] = written
            elif derived is not None:
                writer.unknown = {each for each in writer.unknown if not each.startswith("/outputSchema")}
            return
    if derived is not None and derived.output_schema is not None:
        raw["outputSchema"] = derived.output_schema


_HINTS = {
    "read_only_hint": "readOnlyHint", "destructive_hint": "destructiveHint", "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
}  # fmt: skip


def _annotate(
    raw: dict[str, Any], given: dict[str, Any], framework: str, traits: frozenset[str], writer: JsonWriter
) -> None:
    annotations = given.get("annotations")
    fields = annotations.kwargs if isinstance(annotations, ExternalCall) else annotations
    if isinstance(fields, dict):
        written = writer.write({_HINTS.get(key, key): value for key, value in fields.items()}, "/annotations")
        if isinstance(written, dict):
            raw["annotations"] = {key: value for key, value in written.items() if value is not None}
    elif annotations is not None:
        writer.unknown.add("/annotations")
    title = unwrapped(given.get("title"))
    if isinstance(title, str) and title:
        raw["title"] = title
    elif title is not None and title != "":
        writer.unknown.add("/title")
    elif framework == "fastmcp" and TOOL_TITLES in traits:
        own = raw.get("annotations", {}).get("title")
        raw["title"] = own or raw["name"].replace("_", " ").replace("-", " ").title()
    add_meta(raw, given, framework, writer)
