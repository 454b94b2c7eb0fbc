"""Tools, resources, resource templates, prompts and the server itself as JSON, and every item by its server.

A tool combines what its registration specifies with what its framework derives from its function.
Why each server has a report of its own: docs/decisions/0038-one-report-per-server.md.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from mcproof.core.catalog.model import FROM_SOURCE, SourceTool
from mcproof.source.document import LISTS, NO_END, NO_NAME, Registration, RenderedItem, ServerGroup, nearest_group
from mcproof.source.framework_tables import INLINED, OUTPUT_SCHEMAS, PLAIN_WRAPPER, TOOL_TITLES
from mcproof.source.python import render_json
from mcproof.source.python.frameworks import fastmcp
from mcproof.source.python.frameworks.fastmcp import inline_output
from mcproof.source.python.frameworks.function_schemas import derive
from mcproof.source.python.frameworks.served_items import ServedItem, served_items
from mcproof.source.python.frameworks.servers import RegisteredItem, ServerInfo, ServerValue
from mcproof.source.python.interp.attributes import docstring_of
from mcproof.source.python.interp.bindings import written_parameters
from mcproof.source.python.interp.containers import is_known
from mcproof.source.python.interp.operators import items_of, unwrapped
from mcproof.source.python.interp.values import (
    DOC_IN_DOUBT,
    UNKNOWN,
    BudgetExceededError,
    EitherFunction,
    External,
    ExternalCall,
    generic_name,
)
from mcproof.source.python.pydantic.nodes import references
from mcproof.source.python.render_json import JsonWriter, name_location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.source.python.frameworks.domain import McpDomain
    from mcproof.source.python.frameworks.servers import RegisteredItem, ServerValue
    from mcproof.source.python.interp.interpreter import Interpreter


def render_resource(
    item: RegisteredItem, framework: str, prefix: str, writer: JsonWriter
) -> tuple[str, dict[str, Any]] | None:
    """A resource or a template, with its kind; None if its address is unknown."""
    given = item.given
    uri = unwrapped(given.get("uri", given.get("uriTemplate", given.get("uri_template"))))
    if isinstance(uri, ExternalCall) and len(uri.args) == 1:  # a checked address, such as `AnyUrl("…")`
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
    resource: dict[str, Any] = {"uriTemplate" if is_template else "uri": uri, "name": name}
    _describe(resource, item, framework, traits=None)
    mime = unwrapped(given.get("mime_type", given.get("mimeType")))
    if isinstance(mime, str):
        resource["mimeType"] = mime
    elif mime is None and item.function is not None:
        resource["mimeType"] = "text/plain"
    if isinstance(title := unwrapped(given.get("title")), str):
        resource["title"] = title
    add_meta(resource, given, framework, writer)
    _locate(item, writer)
    return ("templates" if is_template else "resources"), resource


def render_prompt(
    run: Interpreter, item: RegisteredItem, framework: str, traits: frozenset[str], prefix: str, writer: JsonWriter
) -> dict[str, Any] | None:
    """A prompt with its arguments; None if its name is unknown."""
    name = _name(item)
    if name is None:
        return None
    prompt: dict[str, Any] = {"name": f"{prefix}{name}"}
    _describe(prompt, item, framework, traits)
    if isinstance(title := unwrapped(item.given.get("title")), str):
        prompt["title"] = title
    if item.function is not None:
        prompt["arguments"] = _arguments(run, item, framework, traits)
    else:
        written = writer.write(item.given.get("arguments", []), "/arguments")
        if isinstance(written, list):
            prompt["arguments"] = written
    add_meta(prompt, item.given, framework, writer)
    _locate(item, writer)
    return prompt


def _arguments(run: Interpreter, item: RegisteredItem, framework: str, traits: frozenset[str]) -> list[dict[str, Any]]:
    if item.function is None or not written_parameters(item.function):
        return []
    derived = derive(run, item.function, framework, traits, structured=False)
    arguments = []
    for name, schema in derived.input_schema["properties"].items():
        entry: dict[str, Any] = {"name": name}
        texts = [schema["description"]] if isinstance(schema.get("description"), str) else []
        annotation = derived.parameters[name].annotation if name in derived.parameters else None
        if framework == "fastmcp" and annotation is not None:
            kind = run.annotation(annotation, item.function.exposed().scope)
            texts += _encoding_note(kind, schema, derived.input_schema.get("$defs"), traits)
        if texts:
            entry["description"] = "\n\n".join(texts)
        arguments.append({**entry, "required": name in derived.input_schema.get("required", [])})
    return arguments


def _encoding_note(kind: Any, schema: dict[str, Any], definitions: Any, traits: frozenset[str]) -> list[str]:
    """The note that fastmcp adds to an argument that is not a string; prompts only accept strings."""
    if isinstance(kind, External) and kind.name == "builtins.str":
        return []
    dropped = ("default", "title") if generic_name(kind) == "Annotated" else ("default", "title", "description")
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


def _describe(raw: dict[str, Any], item: RegisteredItem, framework: str, traits: frozenset[str] | None) -> None:
    """Set the description; without `traits`, fastmcp keeps all of the docstring."""
    given = unwrapped(item.given.get("description"))
    if isinstance(given, str):
        raw["description"] = given
    elif given is None and item.function is not None:
        text = docstring_of(item.function) or docstring_of(item.function.exposed())
        if framework == "fastmcp":
            text = fastmcp.described(text, frozenset() if traits is None else traits)
        if text is not None or framework != "fastmcp":
            raw["description"] = text or ""


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


def _locate(item: RegisteredItem, writer: JsonWriter) -> None:
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
    stated: dict[str, str] = {}
    for key in ServerInfo.FIELDS if servers else ():
        values = {
            value if isinstance(value := unwrapped(field_value), str) else None
            for field_value in _given(domain, servers, key)
        }
        only = values.pop()
        if only and not values:
            stated[key] = str(only)
    info = {key: stated[key] for key in ("name", "version") if key in stated}
    document: dict[str, Any] = {"serverInfo": info} if info else {}
    if "instructions" in stated:
        document["instructions"] = stated["instructions"]
    return {**document, "_meta": {FROM_SOURCE: True}} if document else {}


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
    render_json.locate(item, writer)
    required: tuple[str, ...] = ()
    schemas = (given.get(key) for key in ("inputSchema", "input_schema", "parameters"))
    explicit = next((schema for schema in schemas if schema is not None), None)
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
    _describe_tool(raw, item, framework, derived, writer, keeps_empty=keeps_empty)
    if explicit is not None:
        nodes = (item.nodes.get(key) for key in ("inputSchema", "input_schema", "parameters"))
        writer.locate_value("/inputSchema", explicit, item.module, next(filter(None, nodes), None))
        written = writer.write(explicit, "/inputSchema")
        if written is not UNKNOWN:
            raw["inputSchema"] = written
    elif derived is not None:
        raw["inputSchema"] = writer.write(derived.input_schema, "/inputSchema")
        render_json.locate_parameters(item, derived.parameters, writer)
    else:
        writer.unknown.add("/inputSchema")  # an absent schema would be a finding
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


def _describe_tool(
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


def _output(raw: dict[str, Any], given: dict[str, Any], derived: Any, writer: JsonWriter) -> None:
    for key in ("outputSchema", "output_schema"):
        if key in given:
            if given[key] is not None:
                written = writer.write(given[key], "/outputSchema")
                if written is not UNKNOWN:
                    raw["outputSchema"] = written
            elif derived is not None:
                writer.unknown = {pointer for pointer in writer.unknown if not pointer.startswith("/outputSchema")}
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
        raw["title"] = raw.get("annotations", {}).get("title") or re.sub("[_-]", " ", raw["name"]).title()
    add_meta(raw, given, framework, writer)


MOST_WORK = 600_000
"""How many steps rendering may take in all."""
MOST_WORK_ON_ONE = 50_000
"""How many steps rendering may take for one item."""


def render_items(domain: McpDomain, only: str | None, incomplete_lists: set[str]) -> Iterator[RenderedItem]:
    """Render what is served; with `only`, what is defined in that file. `incomplete_lists` collects lists."""
    run = domain.run
    # a server that stands for a parameter has the framework of the project's other servers
    frameworks = [server.framework for server in domain.servers if server.framework in ("mcp", "mcp1", "fastmcp")]
    entries = served_items(domain, incomplete_lists)
    most = run.budget.work + MOST_WORK
    per_node = Counter(id(entry.item.node) for entry in entries)
    for entry in entries:
        function = entry.item.exposed_function
        modules = (entry.item.module, function.module if function is not None else None)
        if only is not None and all(module is None or module.path != only for module in modules):
            continue
        framework = entry.server.framework or next(iter(frameworks), "mcp")
        writer = JsonWriter(run)
        run.budget.allow(min(MOST_WORK_ON_ONE, most - run.budget.work))  # a huge item does not cost the others
        rendered = _render(domain, entry, framework, writer)
        if rendered is None:
            incomplete_lists.add(LISTS[entry.item.kind])
            continue
        if per_node[id(entry.item.node)] > 1:
            render_json.use_own_location(entry.item, writer)
        kind, raw, tool = rendered
        yield RenderedItem(
            kind=kind,
            raw=raw,
            tool=tool,
            is_conditional=entry.doubtful,
            registration=_registration(entry, kind, framework),
            locations=writer.locations,
            lines=render_json.lines(entry.item),
            continuation_lines=render_json.continuation_lines(entry.item),
        )


def _registration(entry: ServedItem, kind: str, framework: str) -> Registration:
    module, node = entry.registered_at
    return Registration(
        server=id(entry.root),
        owner=id(entry.server),
        origin=id(entry.item.exposed_function.node if entry.item.exposed_function is not None else entry.item.node),
        is_any_server=entry.root.is_given,
        may_repeat=framework == "lowlevel",
        keeps_last=entry.server.keeps_last(kind, framework),
        location=(module.file, getattr(node, "lineno", None)) if module is not None else None,
    )


def _render(
    domain: McpDomain, entry: ServedItem, framework: str, writer: JsonWriter
) -> tuple[str, dict[str, Any], SourceTool | None] | None:
    """Kind, JSON and source facts of an item; None if it is omitted."""
    kind = entry.item.kind
    traits = domain.traits(entry.server, framework)
    rendered: tuple[str, dict[str, Any], SourceTool | None] | None
    try:
        if kind == "tools":
            tool = render_tool(domain.run, entry, framework, traits, writer)
            rendered = None if tool is None else (kind, *tool)
        elif kind == "prompts":
            raw = render_prompt(domain.run, entry.item, framework, traits, entry.prefix, writer)
            rendered = None if raw is None else (kind, raw, None)
        else:
            resource = render_resource(entry.item, framework, entry.prefix, writer)
            rendered = None if resource is None else (*resource, None)
    except (BudgetExceededError, RecursionError):
        domain.omit(NO_END, *entry.registered_at)
        return None
    if rendered is None:
        domain.omit(NO_NAME[kind], *entry.registered_at)
    return rendered


def server_numbers(domain: McpDomain) -> dict[int, int]:
    """A number for each server, by identity; zero for a server that may be the same as another."""
    numbered = [
        server
        for server in domain.servers
        if not (server.is_given or server.mounted) and (server.items or server.mounts)
    ]
    numbers = dict.fromkeys(map(id, domain.servers), 0)
    if len(numbered) > 1:
        numbers.update((id(server), number) for number, server in enumerate(numbered, 1))
    return numbers


def group_by_server(domain: McpDomain, items: Iterable[RenderedItem]) -> list[ServerGroup]:
    """Items by the server that serves them, in the order of the servers.

    A factory that is called twice creates one server, and so do two calls in one file if what one of the servers
    serves is part of what the other serves, as with alternatives. Items of a parameter that may be any server belong
    to the server that is created nearest.
    """
    by_root: dict[int, list[RenderedItem]] = {}
    for item in items:
        by_root.setdefault(item.registration.server, []).append(item)
    groups: list[ServerGroup] = []
    given: list[ServerGroup] = []
    for server in domain.servers:
        created_at = ("", 1) if server.module is None else (server.module.file, getattr(server.node, "lineno", 1))
        group = ServerGroup([server], by_root.get(id(server), []), created_at)
        if not group.items:
            continue
        if server.is_given or server.module is None:
            given.append(group)
        elif (same := next((other for other in groups if _is_same(other, group)), None)) is not None:
            same.servers.append(server)
            same.items.extend(group.items)
        else:
            groups.append(group)
    if not groups:
        servers = [server for group in given for server in group.servers]
        return [ServerGroup(servers, [item for group in given for item in group.items], ("", 1))]
    for group in given:
        place = group.items[0].registration.location
        nearest = groups[0] if place is None else nearest_group(groups, place[0])
        nearest.servers.extend(group.servers)
        nearest.items.extend(group.items)
    return groups


def _is_same(one: ServerGroup, other: ServerGroup) -> bool:
    """Whether two groups are the same server, created in several ways."""
    first, second = one.servers[0], other.servers[0]
    if first.node is second.node:
        return True
    if first.module is not second.module:
        return False
    origins = [{(*item.key, item.registration.origin) for item in group.items} for group in (one, other)]
    return origins[0] <= origins[1] or origins[1] <= origins[0]
