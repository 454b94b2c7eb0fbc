"""What the names of MCP frameworks mean: server classes, methods, protocol types, and traits of each version.

Plain data, measured on the frameworks and independent of the language. A new framework, or a new way to register a
tool, starts here; how calls take effect is in `source.python.frameworks`.
Why source is interpreted instead of matched: docs/decisions/0005-discovery-interprets.md.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import word_set

if TYPE_CHECKING:
    from packaging.version import Version


DISTRIBUTIONS = {"fastmcp": "fastmcp", "mcp1": "mcp", "mcp": "mcp", "lowlevel": "mcp"}
"""The distribution of each framework."""

OUTPUT_SCHEMAS = "derives output schemas"
NO_TITLES = "removes generated titles"
INLINED = "inlines references"
CLOSED = "closes objects of arguments"
DOCSTRING_PARAMETERS = "describes parameters by the docstring, and removes its sections then"
PLAIN_WRAPPER = "wraps output without a description, removes all titles, and keeps an empty description"
TOOL_TITLES = "derives titles of tools from their names, and keeps titles of fields"
DOCSTRING_SECTIONS = "removes every section of a docstring"
KNOWN_HEADINGS = "knows a docstring with sections by the usual headings only"
CHECKS_HOST = "answers requests over HTTP only if they name this machine as host"
DIVERTS_STDOUT = "serves stdio through a copy of stdout, and leads what tools print to stderr"

SINCE = {
    "fastmcp": {
        OUTPUT_SCHEMAS: "2.10",
        NO_TITLES: "2.12",
        INLINED: "2.14",
        CLOSED: "3",
        DOCSTRING_PARAMETERS: "3.2",
        PLAIN_WRAPPER: "3.2",
        TOOL_TITLES: "4",
        DOCSTRING_SECTIONS: "4.1",
        KNOWN_HEADINGS: "4.2",
        DIVERTS_STDOUT: "4",
    },
    "lowlevel": {DIVERTS_STDOUT: "2"},
    "mcp1": {OUTPUT_SCHEMAS: "1.10", CHECKS_HOST: "1.23"},
}
"""The first version of each trait; other frameworks have all that apply to them in every version."""
ALL_TRAITS = frozenset(trait for traits in SINCE.values() for trait in traits)


@cache
def traits_of(framework: str, version: Version | None) -> frozenset[str]:
    """The traits of a framework in the version that a project uses; those of the newest if that is unknown."""
    if version is None:
        return ALL_TRAITS
    from packaging.version import Version

    return ALL_TRAITS - {trait for trait, since in SINCE.get(framework, {}).items() if version < Version(since)}


PACKAGES = frozenset(("mcp", "fastmcp"))
"""The packages that define servers."""
PROTOCOL_PACKAGES = frozenset(("mcp", "mcp_types"))
"""The packages that define the types of the protocol."""
INSTALLED_PACKAGES = frozenset(("mcp", "fastmcp", "pydantic", "pydantic_core", "typing_extensions", "mcp_types"))
"""Packages that are installed wherever a server runs, and that are never part of a project."""

SERVER_CLASSES = {
    ("fastmcp", "FastMCP"): "fastmcp",
    ("fastmcp", "LocalProvider"): "fastmcp",
    ("", "FastMCP"): "mcp1",
    ("", "MCPServer"): "mcp",
    ("mcp", "Server"): "lowlevel",
    ("fastmcp", "Server"): "lowlevel",
}
"""The framework of a server class, by package and name; an empty package stands for any other package."""
CONSTRUCTOR_PARAMETERS = {
    "fastmcp": ("name", "instructions"),
    "mcp1": ("name", "instructions"),
    "mcp": ("name", "title", "description", "instructions"),
    "lowlevel": ("name",),  # later parameters differ between versions
}
"""The positional parameters of server constructors."""
OPEN_CONSTRUCTORS = frozenset(("as_proxy", "from_client", "from_fastapi", "from_openapi"))
"""Class methods that create a server whose tools are not in the source."""
PROXY_CONSTRUCTORS = frozenset(("from_fastmcp", "as_proxy"))
"""Class methods that wrap a server."""
ARGUMENT_CONFIG = ".func_metadata.ArgModelBase.model_config"
"""The end of the name of the pydantic configuration that the arguments of all tools of `mcp` have."""
SERVER_PARTS = frozenset(
    ("_tool_manager", "_prompt_manager", "_resource_manager", "_mcp_server", "_lowlevel_server", "local_provider")
)
"""Attributes of a server that accept registrations just as it does."""

PROTOCOL_TYPES = {"Tool": "tools", "Resource": "resources", "Prompt": "prompts", "ResourceTemplate": "templates"}
"""The kind of item that each type of the protocol describes."""
DECORATORS = {"tool": "tools", "resource": "resources", "prompt": "prompts"}
LIST_HANDLERS = {
    "list_tools": "tools",
    "list_resources": "resources",
    "list_prompts": "prompts",
    "list_resource_templates": "templates",
}
"""Decorators of the low-level server for functions that list items."""
CALL_HANDLERS = {
    "call_tool": "tools",
    "read_resource": "resources",
    "get_prompt": "prompts",
    "completion": "completions",
}
"""Decorators of the low-level server for functions that handle all requests of a kind."""
CALL_REQUESTS = {
    "CallToolRequest": "tools",
    "ReadResourceRequest": "resources",
    "GetPromptRequest": "prompts",
    "CompleteRequest": "completions",
}
LIST_REQUESTS = {
    "ListToolsRequest": "tools",
    "ListResourcesRequest": "resources",
    "ListPromptsRequest": "prompts",
    "ListResourceTemplatesRequest": "templates",
}
LIST_RESULTS = word_set(
    "ListToolsResult ListResourcesResult ListPromptsResult ListResourceTemplatesResult ServerResult"
)
"""Types of the protocol that wrap the list that a handler returns."""
SCHEMA_ATTRIBUTES = frozenset(("parameters", "output_schema", "inputSchema", "outputSchema"))
"""Attributes of a registered tool through which a program can change its schemas."""


class ServerMethod(NamedTuple):
    """What a call of a server method does."""

    effect: str
    kind: str = ""
    """The kind of item that it is about."""
    values: tuple[str, ...] = ()
    """The names of the argument that is registered, which is also the first positional one."""
    parameters: tuple[str, ...] = ()
    """The names of the positional arguments; after the registered one, if there is one."""


_NAMED = ("name", "title", "description")
SERVER_METHODS = {
    "tool": ServerMethod("decorator", "tools", ("name_or_fn",), _NAMED),
    "resource": ServerMethod("decorator", "resources", ("name_or_fn",), ("uri", *_NAMED)),
    "prompt": ServerMethod("decorator", "prompts", ("name_or_fn",), _NAMED),
    "add_tool": ServerMethod("add", "tools", ("fn", "tool"), _NAMED),
    "add_resource": ServerMethod("add", "resources", ("fn", "tool", "resource"), _NAMED),
    "add_prompt": ServerMethod("add", "prompts", ("fn", "tool", "prompt"), _NAMED),
    "add_resource_fn": ServerMethod("add", "resources", ("fn",), ("uri",)),
    **dict.fromkeys(("remove_tool", "disable_tool"), ServerMethod("remove", "tools")),
    "get_tool": ServerMethod("look up", "tools"),
    **dict.fromkeys(word_set("mount import_server include_server add_server add_provider"), ServerMethod("mount")),
    "add_middleware": ServerMethod("middleware"),
    "add_transform": ServerMethod("transform"),
    **dict.fromkeys(("enable", "disable"), ServerMethod("switch")),
    **{name: ServerMethod("list handler", kind) for name, kind in LIST_HANDLERS.items()},
    **{name: ServerMethod("call handler", kind) for name, kind in CALL_HANDLERS.items()},
}
UNTYPED_METHODS = frozenset((*DECORATORS, "add_tool", *LIST_HANDLERS, *CALL_HANDLERS)) - {"completion"}
"""Methods that register something even if the type of their object is unknown."""
MIXIN_DECORATORS = {"mcp_tool": "tools", "mcp_resource": "resources", "mcp_prompt": "prompts"}
MIXIN_SEPARATORS = {"tools": "_", "resources": "+", "prompts": "_"}
MIXIN_METHODS = {
    "register_all": ("tools", "resources", "prompts"),
    "register_tools": ("tools",),
    "register_resources": ("resources",),
    "register_prompts": ("prompts",),
}
"""The kinds of items that each method of fastmcp's `MCPMixin` registers."""
LISTING_METHODS = ("on_list_tools", "list_tools", "_list_tools", "_list_tools_mcp", "_mcp_list_tools", "get_tools")
"""Methods of a middleware or a server class that can change the list of tools."""
REGISTERING_NAMES = word_set(
    "tool add_tool add_resource add_prompt list_tools mount import_server Tool FastMCP MCPServer"
)
"""Functions and classes whose call suggests that the enclosing function registers something."""
