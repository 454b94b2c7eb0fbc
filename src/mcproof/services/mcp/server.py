"""The MCP server itself: its handlers on the SDK, the worker that checks, and stdio or HTTP on this machine.

The SDK serves both eras of the protocol. Arguments are checked here against the declared schemas, without
conversion; catalogs are read in a worker process.
Why a child process reads catalogs: docs/decisions/0057-agents-check-in-a-child.md.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcproof import __version__
from mcproof.core.console import print_message
from mcproof.core.errors import McproofError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.validation import Oracle
from mcproof.services.mcp import tools
from mcproof.services.mcp.checks import CheckJob, client_roots, default_roots, given_roots
from mcproof.services.mcp.tools import ToolDefinition, tool_definitions
from mcproof.services.workers.messages import WorkerLimits
from mcproof.services.workers.worker import LostError, OverdueError, Worker

if TYPE_CHECKING:
    import socket
    from types import TracebackType

    from mcp.server.context import ServerRequestContext


if TYPE_CHECKING:
    Context = ServerRequestContext[Any, Any]

INSTRUCTIONS = (
    "mcproof checks MCP servers: their tools, schemas and descriptions. Start with check_catalog; lint_catalog lists "
    "all that is wrong, explain_rule and the resources mcproof://rules/{id} explain findings. Targets are paths of "
    "snapshots or source in the allowed folders, or the JSON text of a catalog. "
    "Nothing is executed, connected to or written."
)
_HOUR = 3_600_000
_ROOTS_SECONDS = 5.0
_ANNOTATIONS = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
# What is declared is the same for every client, and changes only with the version.
_PUBLIC = CacheHint(ttl_ms=_HOUR, scope="public")


class RootPolicy(NamedTuple):
    """The folders that may be read."""

    folders: tuple[str, ...]
    asks_client: bool = False
    """Whether the roots of the client come first, if it offers any."""

    @classmethod
    def of_user(cls, folders: list[str]) -> RootPolicy:
        """The policy for `--root`; without it, for the working directory. Raises an InputError."""
        return cls(given_roots(folders)) if folders else cls(default_roots(), asks_client=True)


def create_server(checker: Checker, roots: RootPolicy) -> Server[Any]:
    """The server, without a transport."""
    handlers = _Handlers(checker, roots)
    return Server(
        "mcproof",
        version=__version__,
        title="mcproof",
        description="Checks MCP servers for agents that write them.",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": _PUBLIC,
            "resources/list": _PUBLIC,
            "resources/templates/list": _PUBLIC,
            "resources/read": _PUBLIC,
            "prompts/list": _PUBLIC,
            "server/discover": _PUBLIC,
        },
        get_tool_input_schema=handlers.input_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=tools.list_resources,
        on_list_resource_templates=tools.list_templates,
        on_read_resource=tools.read_resource,
        on_list_prompts=tools.list_prompts,
        on_get_prompt=tools.get_prompt,
        on_completion=tools.complete,
    )


class _Handlers:
    """The handlers of the tools."""

    def __init__(self, checker: Checker, roots: RootPolicy) -> None:
        self._checker = checker
        self._roots = roots
        self._tools = {tool.name: tool for tool in tool_definitions()}
        self._oracles = {name: Oracle(tool.input_schema) for name, tool in self._tools.items()}
        self._listed = [_as_listed(tool) for tool in self._tools.values()]

    def input_schema(self, name: str) -> dict[str, Any] | None:
        return self._tools[name].input_schema if name in self._tools else None

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            names = ", ".join(self._tools)
            raise MCPError(types.INVALID_PARAMS, f"unknown tool `{params.name[:80]}`; there are {names}")
        arguments = params.arguments or {}
        mistakes = self._oracles[tool.name].objections(arguments)
        if mistakes:
            declared = list(tool.input_schema["properties"])
            return _failed("; ".join(mistake.worded(declared) for mistake in mistakes[:5]))
        try:
            result = await self._checker.run(tool.name, arguments, await self._allowed(context))
        except McproofError as error:  # a result, and no error of the protocol, so that the agent reads the reason
            return _failed(str(error))
        text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=result)

    async def _allowed(self, context: Context) -> tuple[str, ...]:
        """The folders that may be read: the roots of the client if it offers any and may, or else the given ones.

        Only the handshake era has requests from a server to its client.
        """
        offered = context.session.client_capabilities
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not self._roots.asks_client or is_modern or offered is None or offered.roots is None:
            return self._roots.folders
        try:
            with anyio.fail_after(_ROOTS_SECONDS):
                listed = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
        # A client that offers roots may still refuse to list them, or ask its user for too long.
        except (MCPError, TimeoutError):
            return self._roots.folders
        return client_roots(str(root.uri) for root in listed.roots)


def _as_listed(tool: ToolDefinition) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=_ANNOTATIONS,
    )


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


FUNCTION = "mcproof.services.mcp.checks:check"
TIME_LIMIT = 60.0
"""Seconds for a check."""
MEMORY_LIMIT = 2 << 30
"""Bytes of memory of the process."""
_MOST_WAITING = 32


class Checker:
    """The checks of a server. Use as an async context."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit
        self._worker: Worker[CheckJob, str] | None = None
        self._lock = anyio.Lock()

    async def __aenter__(self) -> Checker:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker is not None:
            self._worker.close()

    async def run(self, tool: str, arguments: dict[str, Any], roots: tuple[str, ...]) -> dict[str, Any]:
        """Return the structured result of a tool. Raises a McproofError with the reason if there is none."""
        if self._lock.statistics().tasks_waiting >= _MOST_WAITING:
            raise McproofError("too many checks at once; try again later")
        async with self._lock:
            try:
                text = await self._worker_for(roots).run_in_thread(CheckJob(tool, arguments, roots))
            except OverdueError:
                raise McproofError(f"the check took more than {self._time_limit:g} s and was stopped") from None
            except LostError:
                raise McproofError("the check failed: it needed too much memory, or crashed") from None
            except OSError as error:
                raise McproofError(f"the check cannot be started: {reason_of(error)}") from None
        result: dict[str, Any] = json.loads(text)
        return result

    def _worker_for(self, roots: tuple[str, ...]) -> Worker[CheckJob, str]:
        """Return the worker; another one if the client has changed its roots, since a confinement is for good."""
        if self._worker is not None and self._worker.limits.roots != roots:
            self._worker.close()
            self._worker = None
        if self._worker is None:
            limits = WorkerLimits(self._time_limit, MEMORY_LIMIT, roots)
            self._worker = Worker(FUNCTION, CheckJob, str, limits)
        return self._worker


PATH = "/mcp"
LARGEST_BODY = 16 * 1024 * 1024
"""The most bytes of an HTTP request: two catalogs as text, with escapes."""
_MOST_SESSIONS = 100
_LONGEST_LINE = 500


class SafeLog(logging.Handler):
    """Prints warnings of the libraries on standard error, one escaped line each: they quote what clients send."""

    def emit(self, record: logging.LogRecord) -> None:
        print_message(record.getMessage()[:_LONGEST_LINE])


def _log_safely() -> None:
    """Replace the handler of last resort, which prints messages and tracebacks as they are."""
    logging.getLogger().addHandler(SafeLog(logging.WARNING))


def serve_stdio(roots: RootPolicy) -> None:
    """Serve the client that started this process, until it closes standard input."""
    _log_safely()
    anyio.run(_serve_stdio, roots)


async def _serve_stdio(roots: RootPolicy) -> None:
    async with Checker() as checker, stdio_server() as (incoming, outgoing):
        server = create_server(checker, roots)
        await server.run(incoming, outgoing, server.create_initialization_options())


def serve_http(roots: RootPolicy, listener: socket.socket) -> None:
    """Serve HTTP clients on this machine until interrupted."""
    _log_safely()
    anyio.run(_serve_http, roots, listener)


async def _serve_http(roots: RootPolicy, listener: socket.socket) -> None:
    import uvicorn

    async with Checker() as checker:
        app = create_server(checker, roots).streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=LARGEST_BODY,
            max_sessions=_MOST_SESSIONS,
            transport_security=_security(listener.getsockname()[1]),
        )
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
        )
        await uvicorn.Server(config).serve(sockets=[listener])


def _security(port: int) -> TransportSecuritySettings:
    """Only this machine's own names are served, so that a web page cannot reach the server through DNS."""
    names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
