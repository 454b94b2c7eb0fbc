"""Resources, resource templates, prompts and the server itself as JSON."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

from mcproof.core.catalog.model import FROM_SOURCE
from mcproof.source.framework_tables import TOOL_TITLES
from mcproof.source.python.frameworks import fastmcp
from mcproof.source.python.frameworks.function_schemas import derive
from mcproof.source.python.frameworks.servers import RegisteredItem, ServerInfo, ServerValue
from mcproof.source.python.interp.attributes import docstring_of
from mcproof.source.python.interp.bindings import written_parameters
from mcproof.source.python.interp.containers import is_known
from mcproof.source.python.interp.operators import items_of, unwrapped
from mcproof.source.python.interp.values import External, ExternalCall, Generic
from mcproof.source.python.pydantic.nodes import references
from mcproof.source.python.render_json import JsonWriter, name_location

if TYPE_CHECKING:
    from mcproof.source.python.frameworks.domain import McpDomain
    from mcproof.source.python.interp.interpreter import Interpreter


def render_resource(
    item: RegisteredItem, framework: str, prefix: str, writer: JsonWriter
) -> tuple[str, dict[str, Any]] | None:
    """A resource or a template, with its kind; None if its address is unknown."""
    given = item.given
    uri = unwrapped(given.get("uri", given.get("uriTemplate", given.get("uri_template"))))
    if isinstance(uri, ExternalCall) and len(uri.args) == 1:  # AnyUrl("...")
        uri = uri.args[0]
    if not isinstance(uri, str):
        return None
    if prefix and "://" in uri:
        scheme, _, rest = uri.partition("://")
        uri = f"{scheme}://{prefix.removesuffix('_')}/{rest}"
    is_template = "{" in uri or item.kind == "templates"
    name = _name(item)
    if name is None:
        return None
    made: dict[str, Any] = {"uriTemplate" if is_template else "uri": uri, "name": name}
    _describe(made, item, framework, traits=None)
    mime = unwrapped(given.get("mime_type", given.get("mimeType")))
    if isinstance(mime, str):
        made["mimeType"] = mime
    elif mime is None and item.function is not None:
        made["mimeType"] = "text/plain"
    title = unwrapped(given.get("title"))
    if isinstance(title, str):
        made["title"] = title
    add_meta(made, given, framework, writer)
    locate(item, writer)
    return ("templates" if is_template else "resources"), made


def render_prompt(
    run: Interpreter, item: RegisteredItem, framework: str, traits: frozenset[str], prefix: str, writer: JsonWriter
) -> dict[str, Any] | None:
    """A prompt with its arguments; None if its name is unknown."""
    name = _name(item)
    if name is None:
        return None
    made: dict[str, Any] = {"name": f"{prefix}{name}"}
    _describe(made, item, framework, traits)
    title = unwrapped(item.given.get("title"))
    if isinstance(title, str):
        made["title"] = title
    if item.function is not None:
        made["arguments"] = _arguments(run, item, framework, traits)
    else:
        written = writer.write(item.given.get("arguments", []), "/arguments")
        if isinstance(written, list):
            made["arguments"] = written
    add_meta(made, item.given, framework, writer)
    locate(item, writer)
    return made


def _arguments(run: Interpreter, item: RegisteredItem, framework: str, traits: frozenset[str]) -> list[dict[str, Any]]:
    if item.function is None or not written_parameters(item.function):
        return []
    derived = derive(run, item.function, framework, traits, structured=False)
    found = []
    for name, schema in derived.input_schema["properties"].items():
        entry: dict[str, Any] = {"name": name}
        texts = [schema["description"]] if isinstance(schema.get("description"), str) else []
        annotation = derived.parameters[name].annotation if name in derived.parameters else None
        if framework == "fastmcp" and annotation is not None:
            kind = run.annotation(annotation, item.function.exposed().scope)
            texts += _encoding_note(kind, schema, derived.input_schema.get("$defs"), traits)
        if texts:
            entry["description"] = "\n\n".join(texts)
        found.append({**entry, "required": name in derived.input_schema.get("required", [])})
    return found


def _encoding_note(kind: Any, schema: dict[str, Any], definitions: Any, traits: frozenset[str]) -> list[str]:
    """The note that fastmcp adds to an argument that is not a string; prompts only accept strings."""
    if isinstance(kind, External) and kind.name == "builtins.str":
        return []
    is_annotated = isinstance(kind, Generic) and isinstance(kind.base, External) and kind.base.last == "Annotated"
    dropped = ("default", "title") if is_annotated else ("default", "title", "description")
    shown = {key: value for key, value in schema.items() if key not in dropped}
    if definitions and references(shown):
        shown = {"$defs": definitions, **shown}
    try:
        text = json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
    except (TypeError, ValueError):
        return []
    if TOOL_TITLES not in traits:
        return [f"Provide as a JSON string matching the following schema: {text}"]
    return [f"Provide a value matching the following JSON schema: {text}. Encode non-string values as JSON."]


def _name(item: RegisteredItem) -> str | None:
    name = unwrapped(item.given.get("name"))
    if name is None and item.function is not None:
        name = item.function.exposed().name
    return name if isinstance(name, str) and name else None


def _describe(made: dict[str, Any], item: RegisteredItem, framework: str, traits: frozenset[str] | None) -> None:
    """Set the description; without `traits`, fastmcp keeps all of the docstring."""
    given = unwrapped(item.given.get("description"))
    if isinstance(given, str):
        made["description"] = given
    elif given is None and item.function is not None:
        text = docstring_of(item.function) or docstring_of(item.function.exposed())
        if framework == "fastmcp":
            text = fastmcp.described(text, frozenset() if traits is None else traits)
        if text is not None or framework != "fastmcp":
            made["description"] = text or ""


def add_meta(raw: dict[str, Any], given: dict[str, Any], framework: str, writer: JsonWriter) -> None:
    """Add `_meta`: that of the registration, and the tags of fastmcp."""
    meta = given.get("meta", given.get("_meta"))
    written = writer.write(meta, "/_meta") if isinstance(meta, dict) else None
    if isinstance(written, dict):
        raw["_meta"] = written
    elif meta is not None:
        writer.unknown.add("/_meta")
    if framework == "fastmcp":
        tags = items_of(given.get("tags")) or []
        if is_known(tags):
            raw["_meta"] = {
                **raw.get("_meta", {}),
                "fastmcp": {"tags": sorted({str(unwrapped(tag)) for tag in tags})},
            }


def locate(item: RegisteredItem, writer: JsonWriter) -> None:
    """Record the locations of a resource or prompt."""
    if item.module is not None and item.node is not None:
        writer.locate("", item.module, item.node)
    for key in ("name", "title", "description", "uri"):
        if item.given.get(key) is not None:
            writer.locate_value(f"/{key}", item.given[key], item.module, item.nodes.get(key))
    function = item.function.exposed() if item.function is not None else None
    if function is not None and isinstance(function.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        named = name_location(function.module, function.node)
        if named is not None:
            writer.locations.setdefault("", named)
            writer.locations.setdefault("/name", named)


def render_server_info(domain: McpDomain, chosen: list[ServerValue] | None = None) -> dict[str, Any]:
    """What the server reports when a client connects; of several servers, all or the chosen, what they share."""
    servers = _serving(domain) if chosen is None else [server for server in chosen if not server.is_given]
    known: dict[str, str] = {}
    for key in ServerInfo.FIELDS if servers else ():
        values = {
            value if isinstance(value := unwrapped(given), str) else None for given in _given(domain, servers, key)
        }
        only = values.pop()
        if only and not values:
            known[key] = str(only)
    info = {key: known[key] for key in ("name", "version") if key in known}
    made: dict[str, Any] = {"serverInfo": info} if info else {}
    if "instructions" in known:
        made["instructions"] = known["instructions"]
    return {**made, "_meta": {FROM_SOURCE: True}} if made else {}


def _serving(domain: McpDomain) -> list[ServerValue]:
    """The servers that clients may connect to."""
    created = [server for server in domain.servers if not server.mounted and not server.is_given]
    if any(server.is_given and server.items for server in domain.servers):
        return created  # any of them may be the one that is passed
    return [server for server in created if server.items or server.mounts or server.handlers] or created


def _given(domain: McpDomain, servers: list[ServerValue], key: str) -> list[Any]:
    """The values of one field; the options that a low-level server is started with take precedence."""
    if domain.initializations and servers[0].framework == "lowlevel":
        option = key if key == "instructions" else f"server_{key}"
        return [options.kwargs.get(option) for options in domain.initializations]
    return [getattr(server.info, key) for server in servers]
