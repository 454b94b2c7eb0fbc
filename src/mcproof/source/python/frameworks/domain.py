"""The domain of the interpreter: MCP servers, and what a program registers on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.source import framework_tables as tables
from mcproof.source.document import LISTS, NO_NAME, OPEN_LIST, TOO_MANY, OmissionReason, Omissions
from mcproof.source.python.frameworks import served_items, servers
from mcproof.source.python.frameworks.servers import (
    FASTMCP_MARK,
    CallHandler,
    ListHandler,
    PendingRegistration,
    ServerInfo,
    ServerValue,
    ToolHandle,
    framework_of,
    is_opaque,
    join_servers,
    mount,
    register,
    remove_tool,
    server_of,
    set_info,
)
from mcproof.source.python.interp.branches import join
from mcproof.source.python.interp.calls import instantiate
from mcproof.source.python.interp.containers import SourceDict, default_of
from mcproof.source.python.interp.operators import items_of, unwrapped
from mcproof.source.python.interp.values import (
    MISSING,
    UNKNOWN,
    Call,
    Class,
    External,
    ExternalCall,
    Function,
    Instance,
    Method,
)
from mcproof.source.python.pydantic.generator import model_json_schema

if TYPE_CHECKING:
    import ast

    from mcproof.source.packages.projects import ProjectDeclarations
    from mcproof.source.python.interp.interpreter import Interpreter
    from mcproof.source.python.interp.modules import Module


class McpDomain:
    """Every server of a project. Implements `Domain`."""

    data_bases = frozenset(("BaseModel", "BaseSettings", "RootModel"))
    environment_bases = frozenset(("BaseSettings",))
    field_functions = frozenset(("Field", "PrivateAttr"))
    type_functions = frozenset(("constr", "conint", "confloat", "conlist", "conset", "condecimal"))

    def __init__(self, declarations: ProjectDeclarations) -> None:
        self.run: Interpreter
        self.declarations = declarations
        self.servers: list[ServerValue] = []
        self.protocol_items: list[ExternalCall] = []
        """Every `Tool(...)`, `Resource(...)` and so on of the protocol's types."""
        self.initializations: list[ExternalCall] = []
        """Every `InitializationOptions(...)`: the info that a low-level server reports."""
        self.effects = 0
        self.omissions = Omissions()
        self.forbids_extra = False
        """Whether the class of all arguments forbids undeclared ones from here on."""
        self.is_incomplete = False
        """Whether some registrations may not have been seen."""
        self._untyped: ServerValue | None = None
        """Stands for every server that a function receives without a type."""
        self._given: dict[str, ServerValue] = {}
        self._of_libraries: dict[int, tuple[ExternalCall, ServerValue]] = {}
        """Servers that libraries made, by the identity of the call."""
        self._unapplied: dict[int, PendingRegistration] = {}
        """Calls such as `mcp.tool(x)` where `x` may be a name or the function to register."""
        self._doubtful: set[int] = set()
        self.altered: list[ExternalCall] = []
        """The tools whose schemas the program may have changed."""
        self._created_in_doubt: list[ServerValue] = []

    def owns(self, value: Any) -> bool:
        return isinstance(value, (ServerValue, PendingRegistration))

    def join(self, one: Any, other: Any) -> Any:
        if isinstance(one, PendingRegistration):
            is_doubtful = one.may_do_nothing or not isinstance(other, PendingRegistration)
            return PendingRegistration(one.server, one.method, one.kind, one.call, may_do_nothing=is_doubtful)
        if isinstance(one, ToolHandle):
            return one
        return join_servers(one, other) if server_of(one) is not None else MISSING

    def instance_of_annotation(self, kind: Any) -> Any:
        framework = framework_of(kind)
        if framework is None:
            return UNKNOWN
        if framework not in self._given:
            self._given[framework] = ServerValue(framework, is_given=True)
            self.servers.append(self._given[framework])
        return self._given[framework]

    def native_part(self, cls: Class, call: Call) -> ServerValue | None:
        framework = next((name for name in map(framework_of, cls.external_bases()) if name is not None), None)
        if framework is None:
            return None
        server = self._create(framework, call.node, cls.module)
        self.initialize(server, call)
        served_items.note_class(server, cls)
        return server

    def _create(self, framework: str, node: ast.AST | None, module: Module | None) -> ServerValue:
        server = ServerValue(framework)
        server.node, server.module, server.doubt = node, module, self.run.doubt
        if server.doubt:
            self._created_in_doubt.append(server)
        self.servers.append(server)
        return server

    def initialize(self, native: ServerValue, call: Call) -> None:
        """Apply the arguments of a server's constructor."""
        kwargs, doubtful = call.kwargs, self.run.doubt > 0
        set_info(native, call.args, kwargs)
        for kind in LISTS:
            setting = kwargs.get("on_duplicate", kwargs.get(f"on_duplicate_{kind}"))
            native.on_duplicate[kind] = unwrapped(setting)
        for name, kind in tables.LIST_HANDLERS.items():
            handler = kwargs.get(f"on_{name}")
            if isinstance(handler, Function):
                native.handlers.append(ListHandler(kind, handler, doubtful))
        for name, kind in tables.CALL_HANDLERS.items():
            if isinstance(handler := kwargs.get(f"on_{name}"), Function):
                native.call_handlers.append(CallHandler(kind, handler))
        for tool in items_of(kwargs.get("tools")) or ():
            register(self, native, "tools", tool, {}, Call([], {}))
        native.changes.switches += served_items.switches_of_constructor(kwargs, doubtful=doubtful)
        for middleware in items_of(kwargs.get("middleware")) or ():
            served_items.note_middleware(native, middleware)
        for provider in items_of(kwargs.get("providers")) or ():
            mount(native, Call([provider], {}), doubtful=doubtful)
        for transform in items_of(kwargs.get("transforms")) or ():
            served_items.note_transform(native, transform, Call([], {}), doubtful=doubtful)

    def attribute(self, value: Any, name: str) -> Any:
        if isinstance(value, ToolHandle):
            if name in tables.SCHEMA_ATTRIBUTES:  # reading one may be followed by changing it
                for item in value.server.items:
                    item.altered = item.altered or value.name is UNKNOWN or value.name == item.name
            return UNKNOWN
        server = server_of(value)
        if server is None:
            return MISSING
        if name in tables.SERVER_PARTS:
            return server
        return server.info.name if name == "name" else Method(server, name)

    def attribute_of_call(self, value: ExternalCall, name: str) -> Any:
        if value.func.name == "types.SimpleNamespace":
            return value.kwargs.get(name, UNKNOWN)
        if value.func.package in tables.PACKAGES | tables.PROTOCOL_PACKAGES:
            if name in value.kwargs:
                return value.kwargs[name]
            if value.func.last == "from_function":
                if name in tables.SCHEMA_ATTRIBUTES:
                    self._alter(value)
                return servers.attribute_of_tool(value, name)
        if servers.is_adk_tool(value) and name in ("name", "description"):
            return servers.adk_attribute(value, name)
        return Method(value, name)

    def _alter(self, tool: ExternalCall) -> None:
        """Note that the program accesses the schemas of a tool, and may change them."""
        self.altered.append(tool)
        for server in self.servers:
            for item in server.items:
                item.altered = item.altered or (item.node is tool.node and tool.node is not None)

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        if isinstance(holder, ExternalCall):
            if name in tables.SCHEMA_ATTRIBUTES and holder.func.last == "from_function":
                self._alter(holder)
                return
            is_either = self.run.doubt and name in holder.kwargs
            holder.kwargs[name] = join(self.run, holder.kwargs[name], value) if is_either else value
        elif isinstance(holder, ServerValue) and name in ServerInfo.FIELDS:
            setattr(holder.info, name, UNKNOWN if self.run.doubt else value)

    def set_item(self, holder: Any, key: Any, value: Any) -> None:
        """`server.request_handlers[ListToolsRequest] = handler`; `ArgModelBase.model_config["extra"] = "forbid"`."""
        if isinstance(holder, External) and holder.name.endswith(tables.ARGUMENT_CONFIG) and key == "extra":
            self.forbids_extra = value == "forbid" and not self.run.doubt
            return
        kind = tables.LIST_REQUESTS.get(key.last) if isinstance(key, External) else None
        server = holder.of if isinstance(holder, Method) else None
        if isinstance(server, ServerValue) and holder.name == "_tools":
            register(self, server, "tools", value, {"name": key}, Call([], {}))
        if kind is not None and isinstance(server, ServerValue) and isinstance(value, Function):
            server.handlers.append(ListHandler(kind, value, self.run.doubt > 0))
        kind = tables.CALL_REQUESTS.get(key.last) if isinstance(key, External) else None
        if kind is not None and isinstance(server, ServerValue) and isinstance(value, Function):
            server.call_handlers.append(CallHandler(kind, value))

    def call(self, func: Any, args: list[Any]) -> Any:
        if isinstance(func, PendingRegistration):
            self._unapplied.pop(id(func.call.node), None)
            if args and not isinstance(args[0], (str, type(None))):
                self._apply(func, args[0])
                return args[0]
            return func
        if args and isinstance(func, ExternalCall) and isinstance(args[0], Function):
            if func.func.package == "fastmcp" and func.func.last in tables.DECORATORS:
                args[0].attributes[FASTMCP_MARK] = func
                return args[0]
            if servers.is_mark(func):
                servers.mark(func, args[0])
                return args[0]
        return UNKNOWN

    def decorate(self, decorator: External, function: Any, node: ast.AST) -> Any:
        if decorator.package == "fastmcp" and decorator.last in tables.DECORATORS and isinstance(function, Function):
            function.attributes[FASTMCP_MARK] = ExternalCall(decorator, [], {}, node)
        return UNKNOWN

    def external_call(self, call: ExternalCall) -> Any:
        owner, _, last = call.func.name.rpartition(".")
        if (
            last in ("model_validate", "parse_obj", "model_construct")
            and owner.rpartition(".")[2] in tables.PROTOCOL_TYPES
        ):
            given = call.args[0] if call.args and isinstance(call.args[0], dict) else call.kwargs
            call = ExternalCall(External(owner), [], dict(given), call.node, call.module, complete=call.complete)
        if call.func.package in tables.INSTALLED_PACKAGES:
            # schemas and names take defaults; `enabled` decides about an item, so that it may be disabled stays visible
            call.args = [default_of(argument) for argument in call.args]
            call.kwargs = {
                key: default_of(argument) if key != "enabled" else argument for key, argument in call.kwargs.items()
            }
        framework = framework_of(call.func)
        if framework is not None:
            server = self._create(framework, call.node, call.module)
            self.initialize(server, Call(call.args, call.kwargs))
            return server
        if call.func.last in tables.PROTOCOL_TYPES and call.func.package in tables.PROTOCOL_PACKAGES:
            if self.run.doubt:
                self._doubtful.add(id(call))
            self.protocol_items.append(call)  # a handler may return it from somewhere that cannot be followed
            self.effects += 1
        if last == "InitializationOptions":
            self.initializations.append(call)
        if last == "adk_to_mcp_tool_type" and call.args and servers.is_adk_tool(call.args[0]):
            call = servers.converted_adk_tool(call.args[0])
            self.protocol_items.append(call)
        wraps_server = any(isinstance(argument, ServerValue) for argument in call.args)
        framework = framework_of(External(owner))
        if last in tables.OPEN_CONSTRUCTORS and framework is not None and not wraps_server:
            server = self._create(framework, call.node, call.module)
            server.open_at.append(call)
            return server
        if call.func.last in tables.PROXY_CONSTRUCTORS and call.args and isinstance(call.args[0], ServerValue):
            return call.args[0]
        return call

    def class_method(self, cls: Class, name: str, call: Call) -> Any:
        if name in ("model_json_schema", "schema"):
            return model_json_schema(self.run, cls)
        if name in ("model_construct", "construct"):
            return instantiate(self.run, cls, call)
        return servers.constructed_by_subclass(cls, name, call)

    def method(self, holder: Any, name: str, call: Call) -> Any:
        if isinstance(holder, ExternalCall):
            return self._method_of_call(holder, name, call)
        if isinstance(holder, ServerValue):
            return self._method_of_server(holder, name, call)
        # An object may register its own methods: `mixin.register_all(server)`.
        if isinstance(holder, Instance) and name in tables.MIXIN_METHODS:
            server = server_of(call.args[0] if call.args else call.kwargs.get("mcp_server"))
            if server is not None and any(base.last == "MCPMixin" for base in holder.cls.external_bases()):
                for kind, method, given in servers.marked(holder, name, call):
                    register(self, server, kind, method, given, Call([], {}))
        # `def register(mcp): mcp.tool(...)` without a type: the name of the method has to be enough
        if holder is UNKNOWN and name in tables.UNTYPED_METHODS:
            if self._untyped is None:
                self._untyped = ServerValue("", is_given=True)
                self.servers.append(self._untyped)
            if name in tables.CALL_HANDLERS and not self.run.decorating:
                return UNKNOWN
            if name in tables.LIST_HANDLERS and (call.args or call.kwargs or not self.run.decorating):
                return UNKNOWN
            return self._method_of_server(self._untyped, name, call)
        return UNKNOWN

    def _method_of_call(self, holder: ExternalCall, name: str, call: Call) -> Any:
        func = holder.func
        if name in ("model_dump", "dict"):
            return SourceDict(holder.kwargs)
        if name in ("model_copy", "copy"):
            return servers.copied(holder, call.kwargs.get("update"))
        if func.last == "TypeAdapter" and name == "json_schema" and holder.args and isinstance(holder.args[0], Class):
            return model_json_schema(self.run, holder.args[0])
        if name == "run_until_complete" and call.args:
            return call.args[0]
        # a library's function may return a server if its name mentions MCP, and it is not a framework itself
        may_be_server = "mcp" in func.name.lower() and func.package not in tables.PACKAGES | tables.PROTOCOL_PACKAGES
        is_handler = name in (*tables.LIST_HANDLERS, *tables.CALL_HANDLERS)
        if name in tables.UNTYPED_METHODS and may_be_server and (self.run.decorating or not is_handler):
            if id(holder) not in self._of_libraries:
                self._of_libraries[id(holder)] = holder, self._create("", holder.node, holder.module)
            return self._method_of_server(self._of_libraries[id(holder)][1], name, call)
        return ExternalCall(External(f"{func.name}().{name}"), call.args, call.kwargs, call.node, call.module)

    def _method_of_server(self, server: ServerValue, name: str, call: Call) -> Any:
        method = tables.SERVER_METHODS.get(name)
        if method is None:
            return UNKNOWN
        args, doubtful = call.args, self.run.doubt > 0
        match method.effect:
            case "decorator":
                return self._decorator(server, name, method, call)
            case "add" if args or call.kwargs:
                names = (key for key in method.values if key in call.kwargs)
                value = args[0] if args else call.kwargs.get(next(names, ""), UNKNOWN)
                given = {**dict(zip(method.parameters, args[1:], strict=False)), **call.kwargs}
                register(self, server, method.kind, value, given, call)
                return value
            case "mount":
                mount(server, call, doubtful=doubtful)
            case "look up" if args:
                return ToolHandle(server, args[0])
            case "remove" if args:
                remove_tool(server, args[0], doubtful=doubtful)
            case "middleware" if args:
                served_items.note_middleware(server, args[0])
            case "transform" if args:
                served_items.note_transform(server, args[0], call, doubtful=doubtful)
            case "switch":
                server.changes.switches += served_items.switches_of_call(name, call, doubtful=doubtful)
                return server
            case "list handler" | "call handler" if not args:
                return PendingRegistration(server, name, method.kind, call)
        return UNKNOWN

    def _decorator(self, server: ServerValue, name: str, method: tables.ServerMethod, call: Call) -> Any:
        """`@server.tool`, `@server.tool(...)` or `server.tool(function, ...)`."""
        pending = PendingRegistration(server, name, method.kind, call)
        first = default_of(call.args[0] if call.args else call.kwargs.get(method.values[0]))
        # `register = mcp.tool(x)`: only what happens to the result shows whether `x` was a name or the function
        if is_opaque(first) and not self.run.decorating and call.node is not None:
            self._unapplied[id(call.node)] = pending
        if first is None or is_opaque(first) or isinstance(first, str):
            return pending
        self._apply(PendingRegistration(server, name, method.kind, call._replace(args=call.args[1:])), first)
        return first

    def _apply(self, pending: PendingRegistration, value: Any) -> None:
        """Register what a decorator is applied to."""
        server, call = pending.server, pending.call
        if pending.may_do_nothing:
            with self.run.in_doubt():
                self._apply(PendingRegistration(server, pending.method, pending.kind, call), value)
            return
        if pending.method in tables.CALL_HANDLERS:
            if isinstance(value, Function):
                server.call_handlers.append(CallHandler(pending.kind, value))
            return
        if pending.method in tables.LIST_HANDLERS:
            if isinstance(value, Function):
                server.handlers.append(ListHandler(pending.kind, value, self.run.doubt > 0))
            return
        names = tables.SERVER_METHODS[pending.method].parameters
        register(self, server, pending.kind, value, {**dict(zip(names, call.args, strict=False)), **call.kwargs}, call)

    def register_unapplied(self) -> None:
        """Take every unapplied `server.tool(x)` for the registration of something unknown."""
        for pending in self._unapplied.values():
            call = pending.call
            register(self, pending.server, pending.kind, UNKNOWN, call.kwargs, call)
            if not isinstance(call.kwargs.get("name"), str):
                self.omit(NO_NAME[pending.kind], call.module, call.node, is_incomplete=True)
        self._unapplied.clear()

    def register_unreached(self, path: str) -> None:
        """Take the tools that a file creates for those of a server, if nothing that was followed serves anything."""
        if any(server.items or server.handlers for server in self.servers):
            return
        unreached = [item for item in self.protocol_items if item.module is not None and item.module.path == path]
        tools = [item for item in unreached if tables.PROTOCOL_TYPES[item.func.last] == "tools"]
        if tools:
            server = ServerValue("lowlevel", is_given=True)
            self.servers.append(server)
            for tool in tools:
                register(self, server, "tools", tool, {}, Call([], {}))

    def traits(self, server: ServerValue, framework: str) -> frozenset[str]:
        """What the framework of a server does, in the version that its project uses."""
        path = server.module.path if server.module is not None else self.run.modules.top
        return tables.traits_of(
            framework, self.declarations.of(path).versions.get(tables.DISTRIBUTIONS.get(framework, ""))
        )

    def is_doubtful(self, value: Any) -> bool:
        """Whether an object of the protocol's types was created under a condition."""
        return id(value) in self._doubtful

    def doubt_lowered(self, doubt: int) -> None:
        if self._created_in_doubt:
            for server in self._created_in_doubt:
                server.doubt = min(server.doubt, doubt)
            self._created_in_doubt = [server for server in self._created_in_doubt if server.doubt]

    def omit(
        self, reason: OmissionReason, module: Module | None, node: ast.AST | None, *, is_incomplete: bool = False
    ) -> None:
        """Record an omission; with `is_incomplete`, registrations may be missing because of it."""
        if module is not None:
            self.omissions.note(reason, module.file, getattr(node, "lineno", None))
        self.is_incomplete = self.is_incomplete or is_incomplete

    def cut_short(self, module: Module, node: ast.AST) -> None:
        self.omit(TOO_MANY, module, node, is_incomplete=True)

    def import_unresolved(self, module: Module | None, node: ast.AST | None) -> None:
        self.omit(OPEN_LIST, module, node, is_incomplete=True)
