"""Calls that create servers and register items on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.source.javascript.frameworks.servers import RegisteredItem, ServerPart, ServerValue, TemplateValue
from mcproof.source.javascript.interp.builtins import argument
from mcproof.source.javascript.interp.interpreter import default_of
from mcproof.source.javascript.interp.members import call_value, get_member, items_of, keys_of
from mcproof.source.javascript.syntax import children_of
from mcproof.source.javascript.values import (
    ABSENT,
    UNDEFINED,
    JsArray,
    JsObject,
    JsPromise,
    Library,
    Unknown,
    may_be_missing,
)
from mcproof.source.javascript.zod.methods import zod_member
from mcproof.source.javascript.zod.schema import ZodSchema

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from mcproof.source.javascript.frameworks.host import McpHost
    from mcproof.source.javascript.frameworks.servers import Place
    from mcproof.source.javascript.values import Value

    Register = Callable[[McpHost, ServerValue, list[Value], Place | None], Value]

SERVER_CLASSES = {
    ("tmcp", "McpServer"): "tmcp",
    ("", "McpServer"): "sdk",
    ("@modelcontextprotocol", "Server"): "lowlevel",
    ("fastmcp", "FastMCP"): "fastmcp",
    ("@mastra/mcp", "MCPServer"): "mastra",
    ("mcp-framework", "MCPServer"): "mcp-framework",
    ("mcp-use", "MCPServer"): "mcp-use",
}
"""The framework of a server class by the beginning of its package and its name."""
METHODS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "templates",
    "prompts/list": "prompts",
}
"""The requests that list items."""
REQUESTS = {
    "ListToolsRequestSchema": "tools",
    "ListResourcesRequestSchema": "resources",
    "ListResourceTemplatesRequestSchema": "templates",
    "ListPromptsRequestSchema": "prompts",
}
LISTS = {"tools": "tools", "resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}
"""The member of the result of a request that lists items."""


def create(host: McpHost, library: Library, given: list[Value], place: Place | None) -> Value:
    """What a class of a package creates; None if it is nothing of interest."""
    name = library.path[-1]
    for (package, class_name), framework in SERVER_CLASSES.items():
        if name == class_name and library.package.startswith(package):
            return host.wrapped(new_server(host, framework, given, place, library.package))
    if name == "ResourceTemplate":
        template = JsObject({"uriTemplate": argument(given, 0)}, is_open=True)
        template.native = TemplateValue(argument(given, 0), place)
        return template
    return None


def new_server(host: McpHost, framework: str, given: list[Value], place: Place | None, package: str) -> ServerValue:
    """A server that a constructor creates."""
    info: dict[str, Value] = {}
    first, options = argument(given, 0), argument(given, 1)
    for source in (options, first):
        for key in ("name", "title", "version", "instructions"):
            value = get_member(host.run, source, key)
            if value is not UNDEFINED and not (isinstance(value, Unknown) and not value.options):
                info[key] = value
    server = ServerValue(framework, place, host.run.doubts(), info)
    server.package = package
    host.servers.append(server)
    if framework in ("mastra", "mcp-use"):
        registermembers_of(host, server, get_member(host.run, first, "tools"), place)
    return server


def registermembers_of(host: McpHost, server: ServerValue, tools: Value, place: Place | None) -> None:
    """Register the tools that are the members of an object."""
    names, _ = keys_of(tools)
    for name in names:
        key = name.options[0] if isinstance(name, Unknown) else name
        tool = default_of(get_member(host.run, tools, key))
        members = members_of(
            host, tool, ("description", "title", "inputSchema", "outputSchema", "annotations", "_meta")
        )
        if "inputSchema" not in members:  # a tool as those of the AI SDK
            members["inputSchema"] = get_member(host.run, tool, "parameters")
        item = add(host, server, "tools", {"name": key, **members}, place, literal=tool)
        item.is_conditional = may_be_missing(name)


def add(
    host: McpHost,
    server: ServerValue,
    kind: str,
    given: dict[str, Value],
    place: Place | None,
    *,
    literal: Value = None,
    places: dict[str, Place] | None = None,
) -> RegisteredItem:
    """Register an item."""
    all_places = dict(places or {})
    if isinstance(literal, JsObject):
        for key, where in member_places(literal).items():
            all_places.setdefault(key, where)
    stated = {key: value for key, value in given.items() if value is not UNDEFINED}
    item = RegisteredItem(kind, stated, server, place, host.run.doubts(), all_places)
    server.items.append(item)
    return item


def member_places(value: JsObject) -> dict[str, Place]:
    """Where the members of an object are written."""
    member_place: dict[str, Place] = {}
    for module, node in value.sources:
        for child in children_of(node):
            names = (child.child_by_field_name(field) for field in ("key", "name", "property"))
            key = next((name for name in names if name is not None), child)
            text = module.source.text(key).strip("\"'")
            if text in value.members:
                member_place.setdefault(text, (module, child))
    return member_place


def members_of(host: McpHost, value: Value, names: tuple[str, ...]) -> dict[str, Value]:
    """Some members of a value."""
    members = {name: get_member(host.run, value, name) for name in names}
    return {name: member for name, member in members.items() if member is not UNDEFINED}


def _is_function(value: Value) -> bool:
    if isinstance(value, Unknown):
        return any(_is_function(option) for option in value.options)
    return bool(getattr(value, "is_callable", False))


def _is_shape(host: McpHost, value: Value) -> bool:
    """Whether an object is the shape of a schema rather than annotations, as the SDK decides."""
    value = default_of(value)
    if isinstance(value, ZodSchema):
        return True
    if not isinstance(value, JsObject):
        return not isinstance(value, (str, type(None))) and value is not UNDEFINED and not _is_function(value)
    if not value.members:
        return True
    return not any(isinstance(member, (bool, str)) for member in value.members.values())


def _arguments(place: Place | None) -> list[Node]:
    """The nodes of the arguments of a call."""
    node = place[1].child_by_field_name("arguments") if place is not None else None
    return children_of(node) if node is not None else []


def _tool(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
    """`server.tool(name, description?, shape?, annotations?, function)`."""
    nodes = _arguments(place)
    module = place[0] if place is not None else None
    places: dict[str, Place] = {}
    fields: dict[str, Value] = {}
    rest = list(enumerate(given))

    def take(key: str) -> None:
        number, value = rest.pop(0)
        fields[key] = value
        if module is not None and number < len(nodes):
            places[key] = (module, nodes[number])

    take("name")
    if rest and (isinstance(default_of(rest[0][1]), str) or _is_text(rest[0][1], nodes, rest[0][0])):
        take("description")
    if len(rest) > 1:
        if _is_shape(host, rest[0][1]):
            take("inputSchema")
            if len(rest) > 1 and not _is_function(rest[0][1]):
                take("annotations")
        elif not _is_function(rest[0][1]):
            take("annotations")
    return handle(host, add(host, server, "tools", fields, place, places=places))


def _is_text(value: Value, nodes: list[Node], number: int) -> bool:
    """Whether an unknown argument is a text, by how it is written or what it may be."""
    if not isinstance(value, Unknown):
        return False
    if value.options:
        return all(isinstance(option, str) for option in value.options)
    kind = nodes[number].type if number < len(nodes) else ""
    return kind in ("template_string", "binary_expression", "string")


def _register_tool(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
    """`server.registerTool(name, config, function)`."""
    config = argument(given, 1)
    fields = members_of(
        host,
        config,
        ("title", "description", "inputSchema", "outputSchema", "annotations", "_meta", "icons", "execution"),
    )
    nodes = _arguments(place)
    places = {"name": (place[0], nodes[0])} if place is not None and nodes else {}
    item = add(
        host, server, "tools", {"name": argument(given, 0), **fields}, place, literal=default_of(config), places=places
    )
    return handle(host, item)


def _add_tool(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
    """`server.addTool({name, description, parameters, …})` of fastmcp."""
    for tool in given[:1]:
        value = default_of(tool)
        names = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta", "icons")
        fields = members_of(host, value, names)
        for key in ("parameters", "schema", "input"):
            parameters = get_member(host.run, value, key)
            if parameters is not UNDEFINED and "inputSchema" not in fields:
                fields["inputSchema"] = parameters
        if server.framework == "tmcp" and not default_of(fields.get("title")):
            fields["title"] = fields.get("description", UNDEFINED)
        add(host, server, "tools", fields, place, literal=value)
    return UNDEFINED


def _each(register: Register) -> Register:
    """What registers the items of a list: `server.addTools([…])`."""

    def register_each(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
        return _add_each(host, server, given, place, register)

    return register_each


def _add_each(host: McpHost, server: ServerValue, given: list[Value], place: Place | None, register: Register) -> Value:
    items, _ = items_of(host.run, argument(given, 0))
    for item in items:
        present = (
            next((option for option in item.options if option is not ABSENT), item)
            if isinstance(item, Unknown)
            else item
        )
        before = len(server.items)
        register(host, server, [present], place)
        for added in server.items[before:]:
            added.is_conditional = added.is_conditional or may_be_missing(item)
    return UNDEFINED


def _resource(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
    """`server.resource(name, uri or template, metadata?, function)`, and `registerResource`."""
    target = default_of(argument(given, 1))
    metadata = argument(given, 2) if not _is_function(argument(given, 2)) else UNDEFINED
    fields = members_of(host, metadata, ("title", "description", "mimeType", "annotations", "size", "_meta", "icons"))
    fields["name"] = argument(given, 0)
    kind = "resources"
    if isinstance(target, JsObject) and isinstance(target.native, TemplateValue):
        kind, fields["uriTemplate"] = "templates", target.native.uri
    elif isinstance(target, Unknown):
        fields["uri"] = target
    else:
        fields["uri"] = target
    nodes = _arguments(place)
    places = {}
    if place is not None and len(nodes) > 1:
        places = {"name": (place[0], nodes[0]), "uri" if kind == "resources" else "uriTemplate": (place[0], nodes[1])}
    return handle(host, add(host, server, kind, fields, place, literal=default_of(metadata), places=places))


def _add_resource(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
    """`server.addResource({uri, name, …})` and `addResourceTemplate` of fastmcp."""
    value = default_of(argument(given, 0))
    fields = members_of(host, value, ("uri", "uriTemplate", "name", "title", "description", "mimeType", "annotations"))
    add(host, server, "templates" if "uriTemplate" in fields else "resources", fields, place, literal=value)
    return UNDEFINED


def _prompt(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
    """`server.prompt(name, description?, shape?, function)`, and `registerPrompt(name, config, function)`."""
    fields: dict[str, Value] = {"name": argument(given, 0)}
    literal: Value = None
    for value in given[1:]:
        arguments = default_of(value)
        if isinstance(arguments, str):
            fields["description"] = value
        elif isinstance(arguments, JsObject) and not _is_function(arguments):
            if (
                any(key in arguments.members for key in ("argsSchema", "title", "description"))
                and not _is_shape(host, arguments)
            ) or "argsSchema" in arguments.members:
                fields.update(members_of(host, arguments, ("title", "description", "argsSchema", "_meta", "icons")))
                literal = arguments
            else:
                fields["argsSchema"] = value
    return handle(host, add(host, server, "prompts", fields, place, literal=literal))


def _add_prompt(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
    """`server.addPrompt({name, description, arguments})` of fastmcp, with a `schema` in tmcp."""
    value = default_of(argument(given, 0))
    fields = members_of(host, value, ("name", "title", "description", "arguments", "icons"))
    if server.framework == "tmcp":
        fields["argsSchema"] = get_member(host.run, value, "schema")
        if not default_of(fields.get("title")):
            fields["title"] = fields.get("description", UNDEFINED)
        if fields["argsSchema"] is UNDEFINED:
            fields["arguments"] = JsArray([])
    add(host, server, "prompts", fields, place, literal=value)
    return UNDEFINED


def _set_handler(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
    """`server.setRequestHandler(schema or method, function)`."""
    kind = _listed_kind(host, argument(given, 0), place)
    handler = argument(given, 2) if len(given) > 2 and not _is_function(argument(given, 1)) else argument(given, 1)
    if kind is not None and kind != "":
        server.handlers[kind] = (handler, host.run.doubts(), place)
    return UNDEFINED


def _listed_kind(host: McpHost, request: Value, place: Place | None) -> str | None:
    """What a request lists."""
    if isinstance(request, str):
        return METHODS.get(request)
    if isinstance(request, Library):
        return REQUESTS.get(request.path[-1]) if request.path else None
    if isinstance(request, ZodSchema):
        shape = zod_member(request, "shape")
        method = get_member(host.run, shape, "method") if isinstance(shape, JsObject) else None
        values = method.facts.get("values") if isinstance(method, ZodSchema) else None
        return METHODS.get(values[0], "") if values and isinstance(values[0], str) else None
    nodes = _arguments(place)
    if place is not None and nodes:
        text = place[0].source.text(nodes[0]).rpartition(".")[2]
        return REQUESTS.get(text)
    return None


def _add_template(host: McpHost, server: ServerValue, given: list[Value], place: Place | None) -> Value:
    """`server.template({uri, name, …})` of tmcp."""
    value = default_of(argument(given, 0))
    fields = members_of(host, value, ("name", "title", "description", "mimeType", "icons"))
    fields["uriTemplate"] = get_member(host.run, value, "uri")
    add(host, server, "templates", fields, place, literal=value)
    return UNDEFINED


SERVER_METHODS: dict[str, Register] = {
    "tool": _tool,
    "registerTool": _register_tool,
    "addTool": _add_tool,
    "addTools": _each(_add_tool),
    "resource": _resource,
    "registerResource": _resource,
    "addResource": _add_resource,
    "addResourceTemplate": _add_resource,
    "addResources": _each(_add_resource),
    "addResourceTemplates": _each(_add_resource),
    "prompt": _prompt,
    "registerPrompt": _prompt,
    "addPrompt": _add_prompt,
    "addPrompts": _each(_add_prompt),
    "setRequestHandler": _set_handler,
}
OWN_METHODS: dict[str, dict[str, Register]] = {
    "tmcp": {
        "tool": _add_tool,
        "tools": _each(_add_tool),
        "resource": _add_resource,
        "resources": _each(_add_resource),
        "template": _add_template,
        "templates": _each(_add_template),
        "prompt": _add_prompt,
        "prompts": _each(_add_prompt),
        "withContext": lambda host, server, given, place: host.wrapped(server),
    },
}
"""Methods that frameworks have besides, or that do something else there."""


def call_server(host: McpHost, server: ServerValue, name: str, given: list[Value], place: Place | None) -> Value:
    """Call a method of a server."""
    method = OWN_METHODS.get(server.framework, {}).get(name) or SERVER_METHODS.get(name)
    if method is not None and (given or name == "withContext"):
        before = len(server.items)
        result = method(host, server, given, place)
        for item in server.items[before:] if given else ():
            item.handler = default_of(given[-1])
        return result
    return (
        JsPromise(UNDEFINED)
        if name in ("connect", "close", "start", "stop")
        else Unknown(f"what `{name}` returns is not known")
    )


def handle(host: McpHost, item: RegisteredItem) -> Value:
    """What the registration of an item returns."""
    return host.wrapped(ServerPart(item.server, item))


def call_part(host: McpHost, part: ServerPart, name: str, given: list[Value]) -> Value:
    """Call a method of a registered item."""
    item: RegisteredItem = part.item
    if name in ("disable", "remove"):
        if host.run.doubts() <= item.doubts:
            if item in item.server.items:
                item.server.items.remove(item)
        else:
            item.is_conditional = True
    elif name == "enable":
        if item not in item.server.items:
            item.server.items.append(item)
            item.is_conditional = not host.run.doubts() <= item.doubts
    elif name == "update":
        for key, value in members_of(host, argument(given, 0), ("title", "description", "annotations")).items():
            item.given[key] = value
    return UNDEFINED


_PASSES = frozenset(("fromJsonSchema", "createTool", "defineTool", "definePrompt", "defineResource", "defineTemplate"))
"""Functions of frameworks that return what they get."""


def call_function(host: McpHost, library: Library, name: str, given: list[Value], place: Place | None) -> Value:
    """What a function of a package returns; None if it is nothing of interest."""
    if name in ("registerAppTool", "registerAppResource") and given:
        server = given[0]
        native = server.native if isinstance(server, JsObject) else None
        if isinstance(native, ServerValue):
            if name == "registerAppTool":
                return _register_tool(host, native, given[1:], place)
            return _resource(host, native, given[1:], place)
    # It returns what it gets, as `ToolSchema.parse({…})`.
    is_type = name == "parse" and library.package.startswith("@modelcontextprotocol/")
    if (is_type or name in _PASSES) and given:
        return given[0]
    if name in ("createMcpHandler", "initializeMcpApiHandler") and given:
        server = ServerValue("sdk", place, host.run.doubts(), {})
        host.servers.append(server)
        call_value(host.run, given[0], UNDEFINED, [host.wrapped(server)], place)
        return Unknown("a handler of requests")
    return None


def listed_items(host: McpHost, server: ServerValue) -> tuple[list[RegisteredItem], set[str]]:
    """What a server lists, and the lists that may be incomplete; handlers take precedence over registrations."""
    items = [item for item in server.items if item.kind not in server.handlers]
    incomplete: set[str] = set()
    for kind, (handler, doubts, place) in server.handlers.items():
        result = call_value(host.run, handler, UNDEFINED, [Unknown("a request"), Unknown("a request")], None)
        result = default_of(result.value if isinstance(result, JsPromise) else result)
        listed = get_member(host.run, result, LISTS[kind])
        if isinstance(listed, Unknown) and not listed.options:
            # it may list what is registered, changed or selected
            changed = [item for item in server.items if item.kind == kind]
            for item in changed:
                item.is_conditional = True
            items += changed
        values, is_open = items_of(host.run, listed)
        if is_open:
            incomplete.add(LISTS[kind])
        for value in values:
            options = (
                [option for option in value.options if option is not ABSENT] if isinstance(value, Unknown) else [value]
            )
            options = options or [value]
            for option in options:
                literal = default_of(option)
                item = _listed(host, server, kind, literal, place)
                item.doubts = doubts
                item.is_conditional = may_be_missing(value) or option is not options[0]
                items.append(item)
    return items, incomplete


def _listed(host: McpHost, server: ServerValue, kind: str, value: Value, place: Place | None) -> RegisteredItem:
    """An item as a handler returns it."""
    if isinstance(value, JsObject) and value.native is None:
        names, _ = keys_of(value)
        given = {str(default_of(name)): get_member(host.run, value, str(default_of(name))) for name in names}
        where = value.sources[0] if value.sources else place
        return RegisteredItem(kind, given, server, where, frozenset(), member_places(value))
    return RegisteredItem(kind, {}, server, place, frozenset())
