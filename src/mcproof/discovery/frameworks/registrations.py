"""Servers, and what a program registers on them: tools, resources and prompts, in the order it does so."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mcproof.discovery.document.omissions import NO_NAME, TOO_MANY
from mcproof.discovery.frameworks import mixins, tool_objects, tool_transforms, visibility
from mcproof.discovery.frameworks.servers import (
    FRAMEWORKS,
    MOST_ITEMS,
    Item,
    Mount,
    Pending,
    Registered,
    ServerValue,
    framework_of,
    introduce,
    name_of,
)
from mcproof.discovery.interp.branches import joined
from mcproof.discovery.interp.builtin_values import items_of, unwrapped
from mcproof.discovery.interp.values import (
    MISSING,
    UNKNOWN,
    Call,
    Called,
    Class,
    External,
    Function,
    Instance,
    Method,
    PlacedDict,
    truth,
)
from mcproof.discovery.pydantic.generator import Generator

if TYPE_CHECKING:
    from mcproof.discovery.interp.interpreter import Interpreter
    from mcproof.discovery.interp.modules import Module

_KINDS = {"tool": "tools", "resource": "resources", "prompt": "prompts"}
_LISTS = {"list_tools": "tools", "list_resources": "resources", "list_prompts": "prompts",
          "list_resource_templates": "templates"}  # fmt: skip
_INNER = frozenset(
    ("_tool_manager", "_prompt_manager", "_resource_manager", "_mcp_server", "_lowlevel_server", "local_provider")
)
"""Parts of a server that take registrations as it does."""
_REQUESTS = {"ListToolsRequest": "tools", "ListResourcesRequest": "resources", "ListPromptsRequest": "prompts",
             "ListResourceTemplatesRequest": "templates"}  # fmt: skip
_SERVED_TYPES = {"Tool": "tools", "Resource": "resources", "Prompt": "prompts", "ResourceTemplate": "templates"}


_OPEN_SERVERS = frozenset(("as_proxy", "from_client", "from_fastapi", "from_openapi"))
"""Ways to make a server with tools that are not in the source."""


def _servers_in(made: Called) -> bool:
    return any(isinstance(each, ServerValue) for each in made.args)


class Servers:
    """Every server of a project."""

    def __init__(self) -> None:
        self.run: Interpreter
        self.made: list[ServerValue] = []
        self.unnamed: ServerValue | None = None
        """Stands for a server that a function was given and whose class nothing tells."""
        self.spelt_out: list[Called] = []
        """Every `Tool(...)` of the protocol's types that was made."""
        self.announced: list[Called] = []
        """Every `InitializationOptions(...)`: what a low-level server is called when a client connects."""
        self.registered = 0
        """How often something was registered, or a tool spelt out."""
        self.is_partial = False
        """Whether something may have been registered that was not seen."""
        self._given: dict[str, ServerValue] = {}
        self._unapplied: dict[int, Pending] = {}
        """Calls such as `mcp.tool(x)`, where nobody knows whether `x` is a name, or what is to be registered."""
        self._doubtful: set[int] = set()

    # --- what the interpreter asks

    def is_ours(self, value: Any) -> bool:
        return isinstance(value, (ServerValue, Pending))

    def of_annotation(self, kind: Any) -> Any:
        """The server that a parameter of this type must be; UNKNOWN for any other type."""
        framework = framework_of(kind)
        if framework is None:
            return UNKNOWN
        if framework not in self._given:
            self._given[framework] = ServerValue(framework, is_given=True)
            self.made.append(self._given[framework])
        return self._given[framework]

    def instance_server(self, cls: Class, call: Call) -> ServerValue | None:
        """The server in an object whose class inherits from one."""
        framework = next((each for each in map(framework_of, cls.external_bases()) if each is not None), None)
        if framework is None:
            return None
        server = self._new(framework, call.node, cls.module)
        self.configure(server, call.args, call.kwargs)
        tool_transforms.note_class(server, cls)
        return server

    def _new(self, framework: str, node: ast.AST | None, module: Module | None) -> ServerValue:
        server = ServerValue(framework)
        if self.run.doubt:
            server.floor = self.run.doubt
            self.run.made_in_doubt.append(server)
        server.node, server.module = node, module
        self.made.append(server)
        return server

    def configure(self, server: ServerValue, args: list[Any], kwargs: dict[str, Any]) -> None:
        """What the constructor of a server is told."""
        introduce(server, args, kwargs)
        for kind in (*_KINDS.values(), "templates"):
            told = kwargs.get("on_duplicate", kwargs.get(f"on_duplicate_{kind}"))
            server.on_duplicate[kind] = unwrapped(told)
        for name, kind in _LISTS.items():
            handler = kwargs.get(f"on_{name}")
            if isinstance(handler, Function):
                server.handlers.append((kind, handler, self.run.doubt > 0))
        for each in items_of(kwargs.get("tools")) or ():
            self._add(server, "tools", each, {}, Call([], {}))
        server.switches += visibility.switches_of_constructor(kwargs, doubtful=self.run.doubt > 0)
        for each in items_of(kwargs.get("middleware")) or ():
            tool_transforms.note_middleware(server, each)
        for each in items_of(kwargs.get("providers")) or ():
            self._mount(server, Call([each], {}))
        for each in items_of(kwargs.get("transforms")) or ():
            tool_transforms.note_transform(server, each, Call([], {}), doubtful=self.run.doubt > 0)

    def attribute(self, value: Any, name: str) -> Any:
        if isinstance(value, Instance):
            value = value.server
        if isinstance(value, Registered):
            if name in ("parameters", "output_schema", "inputSchema", "outputSchema"):
                for item in value.server.items:
                    item.altered = item.altered or value.name is UNKNOWN or value.name == name_of(item)
            return UNKNOWN
        if isinstance(value, ServerValue):
            if name in _INNER:
                return value
            return value.name if name == "name" else Method(value, name)
        return MISSING

    def attribute_of_call(self, value: Called, name: str) -> Any:
        """An attribute of what an external call returned."""
        if value.func.name == "types.SimpleNamespace":
            return value.kwargs.get(name, UNKNOWN)
        if value.func.package in (*FRAMEWORKS, "mcp_types"):
            if name in value.kwargs:
                return value.kwargs[name]
            if value.func.last == "from_function":
                return tool_objects.attribute(value, name)
        if tool_objects.is_of_adk(value) and name in ("name", "description"):
            return tool_objects.said_by_adk(value, name)
        return Method(value, name)

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        if isinstance(holder, Called):
            doubted = self.run.doubt and name in holder.kwargs
            holder.kwargs[name] = joined(self.run, holder.kwargs[name], value) if doubted else value
        elif isinstance(holder, ServerValue) and name in ("name", "version", "instructions"):
            setattr(holder, name, UNKNOWN if self.run.doubt else value)

    def doubt(self, values: list[Any]) -> None:
        """Note that these values get somewhere only under a condition."""
        for value in values:
            for each in value if isinstance(value, list) else (value,):
                if isinstance(each, Called):
                    self._doubtful.add(id(each))

    def set_item(self, holder: Any, key: Any, value: Any) -> None:
        """`server.request_handlers[ListToolsRequest] = handler`."""
        kind = _REQUESTS.get(key.last) if isinstance(key, External) else None
        server = holder.of if isinstance(holder, Method) else None
        if kind is not None and isinstance(server, ServerValue) and isinstance(value, Function):
            server.handlers.append((kind, value, self.run.doubt > 0))

    def is_doubtful(self, value: Any) -> bool:
        return id(value) in self._doubtful

    def decorate(self, decorator: External, function: Any, node: ast.AST) -> Any:
        """A decorator from outside that is used without a call."""
        if decorator.package == "fastmcp" and decorator.last in _KINDS and isinstance(function, Function):
            function.attributes["__fastmcp__"] = Called(decorator, [], {}, node)
        return UNKNOWN

    def external_call(self, made: Called) -> Any:
        """A call of something outside the project: a server is made, or a tool spelt out."""
        owner, _, last = made.func.name.rpartition(".")
        if last in ("model_validate", "parse_obj", "model_construct") and owner.rpartition(".")[2] in _SERVED_TYPES:
            given = made.args[0] if made.args and isinstance(made.args[0], dict) else made.kwargs
            made = Called(External(owner), [], dict(given), made.node, made.module, complete=made.complete)
        framework = framework_of(made.func)
        if framework is not None:
            server = self._new(framework, made.node, made.module)
            self.configure(server, made.args, made.kwargs)
            return server
        if made.func.last in _SERVED_TYPES and made.func.package in ("mcp", "mcp_types"):
            if self.run.doubt:
                self._doubtful.add(id(made))
            self.spelt_out.append(made)
            self.registered += 1
        if last == "InitializationOptions":
            self.announced.append(made)
        if last == "adk_to_mcp_tool_type" and made.args and tool_objects.is_of_adk(made.args[0]):
            made = tool_objects.converted_by_adk(made.args[0])
            self.spelt_out.append(made)
        if last in _OPEN_SERVERS and framework_of(External(owner)) is not None and not _servers_in(made):
            server = self._new(framework_of(External(owner)) or "", made.node, made.module)
            server.open_at.append(made)
            return server
        if made.func.last in ("from_fastmcp", "as_proxy") and made.args and isinstance(made.args[0], ServerValue):
            return made.args[0]
        return made

    def model_schema(self, cls: Class) -> Any:
        """`Model.model_json_schema()`."""
        from mcproof.discovery.pydantic import class_schema

        maker = Generator(self.run)
        reference = class_schema.reference(maker, cls, "")
        name = reference.get("$ref", "").removeprefix("#/$defs/")
        if "" in maker.unknown or name not in maker.definitions:
            return UNKNOWN
        made = maker.definitions[name]
        if maker.is_referenced(name):
            made = reference
        else:
            del maker.definitions[name]
        whole = maker.told_apart(maker.whole(made))
        if isinstance(whole, PlacedDict):
            whole.incomplete = bool(maker.unknown)
        return whole

    # --- calls on servers

    def call(self, func: Any, args: list[Any]) -> Any:
        if isinstance(func, Pending):
            self._unapplied.pop(id(func.call.node), None)
            if args and not isinstance(args[0], (str, type(None))):
                self._add_pending(func, args[0])
                return args[0]
            return func
        marks = isinstance(func, Called) and func.func.package == "fastmcp" and func.func.last in _KINDS
        if marks and args and isinstance(args[0], Function):
            args[0].attributes["__fastmcp__"] = func
            return args[0]
        if mixins.is_mark(func) and args and isinstance(args[0], Function):
            mixins.mark(func, args[0])
            return args[0]
        return UNKNOWN

    def method(self, holder: Any, name: str, call: Call) -> Any:
        """A call of a method: of a server, of an unknown value, of what an external call returned."""
        if isinstance(holder, Called):
            return self._method_of_call(holder, name, call)
        if isinstance(holder, ServerValue):
            return self._method_of_server(holder, name, call)
        if isinstance(holder, Instance) and name in mixins.REGISTERING:
            self._add_marked(holder, name, call)
        if holder is UNKNOWN and name in (*_KINDS, "add_tool", *_LISTS):
            if self.unnamed is None:
                self.unnamed = ServerValue("", is_given=True)
                self.made.append(self.unnamed)
            if name in _LISTS and (call.args or call.kwargs or not self.run.decorating):
                return UNKNOWN
            return self._method_of_server(self.unnamed, name, call)
        return UNKNOWN

    def _method_of_call(self, holder: Called, name: str, call: Call) -> Any:
        func = holder.func
        if name in ("model_dump", "dict"):
            return PlacedDict(holder.kwargs)
        if name in ("model_copy", "copy"):
            return tool_objects.copied(holder, call.kwargs.get("update"))
        if func.last == "TypeAdapter" and name == "json_schema" and holder.args and isinstance(holder.args[0], Class):
            return self.model_schema(holder.args[0])
        if name == "run_until_complete" and call.args:
            return call.args[0]
        return Called(External(f"{func.name}().{name}"), call.args, call.kwargs, call.node, call.module)

    def _method_of_server(self, server: ServerValue, name: str, call: Call) -> Any:
        args, kwargs = call.args, call.kwargs
        if name in _KINDS:
            pending = Pending(server, _KINDS[name], call)
            first = args[0] if args else kwargs.get("name_or_fn")
            if first is UNKNOWN and not self.run.decorating and call.node is not None:
                self._unapplied[id(call.node)] = pending
            if first is not None and not isinstance(first, str) and first is not UNKNOWN:
                self._add_pending(Pending(server, pending.kind, call._replace(args=args[1:])), first)
                return first
            return pending
        if name in ("add_tool", "add_prompt", "add_resource") and (args or kwargs):
            value = args[0] if args else kwargs.get("fn", kwargs.get("tool", kwargs.get(name[4:], UNKNOWN)))
            names = dict(zip(("name", "title", "description"), args[1:], strict=False))
            self._add(server, f"{name[4:]}s", value, {**names, **kwargs}, call)
            return value
        if name == "add_resource_fn" and len(args) > 1:
            self._add(server, "resources", args[0], {"uri": args[1], **kwargs}, call)
        if name in ("mount", "import_server", "include_server", "add_server", "add_provider"):
            self._mount(server, call)
        if name == "get_tool" and args:
            return Registered(server, args[0])
        if name in ("remove_tool", "disable_tool") and args:
            self._remove(server, args[0])
        if name == "add_middleware" and args:
            tool_transforms.note_middleware(server, args[0])
        if name == "add_transform" and args:
            tool_transforms.note_transform(server, args[0], call, doubtful=self.run.doubt > 0)
        if name in ("enable", "disable"):
            server.switches += visibility.switches_of_call(name, call, doubtful=self.run.doubt > 0)
            return server
        if name in _LISTS and not args:
            return Pending(server, name, call)
        return UNKNOWN

    def _add_marked(self, holder: Instance, name: str, call: Call) -> None:
        """`object.register_all(server)` of fastmcp's mixin."""
        server = call.args[0] if call.args else call.kwargs.get("mcp_server")
        server = server.server if isinstance(server, Instance) else server
        if isinstance(server, ServerValue) and any(base.last == "MCPMixin" for base in holder.cls.external_bases()):
            for kind, method, given in mixins.marked(holder, name, call):
                self._add(server, kind, method, given, Call([], {}))

    def take_unapplied(self) -> None:
        """Take what was never applied for what it then was: the registration of something that nobody knows."""
        for each in self._unapplied.values():
            call = each.call
            self._add(each.server, each.kind, UNKNOWN, call.kwargs, call)
            if not isinstance(call.kwargs.get("name"), str):
                self.run.omissions.note(NO_NAME[each.kind], call.module, call.node)
                self.is_partial = True
        self._unapplied.clear()

    def _remove(self, server: ServerValue, name: Any) -> None:
        if name is UNKNOWN:
            for each in server.items:
                each.doubtful = each.doubtful or each.kind == "tools"
        if isinstance(name, str):
            server.removed.append((name, self.run.doubt > 0))
            if not self.run.doubt:
                server.items = [each for each in server.items if each.kind != "tools" or name_of(each) != name]
            else:
                for each in server.items:
                    if each.kind == "tools" and name_of(each) == name:
                        each.doubtful = True

    def _mount(self, server: ServerValue, call: Call) -> None:
        args, kwargs = call.args, call.kwargs
        values = [*args, *(kwargs[key] for key in ("server", "app") if key in kwargs)]
        values = [each.server if isinstance(each, Instance) and each.server is not None else each for each in values]
        sub = next((each for each in values if isinstance(each, ServerValue)), None)
        if sub is None:
            server.open_at.append(call)
        if sub is None or sub.holds(server):
            return
        rest = [each for each in args if each is not sub and not isinstance(each, Instance)]
        prefix = kwargs.get("prefix", kwargs.get("namespace", rest[0] if rest else None))
        sub.mounted = True
        if len(server.mounts) < MOST_ITEMS:
            renames = kwargs.get("tool_names") is not None
            server.mounts.append(Mount(sub, prefix, self.run.doubt > 0 or renames, call))
            if renames:
                server.open_at.append(call)

    def _add_pending(self, pending: Pending, value: Any) -> None:
        server, kind, call = pending.server, pending.kind, pending.call
        if pending.may_do_nothing:
            with self.run.in_doubt():
                self._add_pending(Pending(server, kind, call), value)
            return
        if kind in _LISTS:
            if isinstance(value, Function):
                server.handlers.append((_LISTS[kind], value, self.run.doubt > 0))
            return
        order = ("uri", "name", "title", "description") if kind == "resources" else ("name", "title", "description")
        self._add(server, kind, value, {**dict(zip(order, call.args, strict=False)), **call.kwargs}, call)

    def _add(self, server: ServerValue, kind: str, value: Any, given: dict[str, Any], call: Call) -> None:
        """Register a function, a tool object or a callable object."""
        doubtful = self.run.doubt > server.floor or self.is_doubtful(value)
        if isinstance(value, Function) and value.face().wrapped is UNKNOWN:
            value = UNKNOWN
        enabled = given.get("enabled")
        if enabled is False:
            return
        self.registered += 1
        if len(server.items) >= MOST_ITEMS:
            self.run.omissions.note(TOO_MANY, call.module, call.node)
            self.is_partial = True
            return
        doubtful = doubtful or (enabled is not None and truth(enabled) is None)
        function: Function | None = None
        node: ast.AST | None = call.node
        module, complete = call.module, call.complete
        if isinstance(value, Called):
            inner = (
                value.argument(0, "fn")
                if value.func.last in ("from_function", "FunctionTool")
                else value.kwargs.get("fn")
            )
            function = inner if isinstance(inner, Function) else None
            given = {**value.kwargs, **given}
            complete = complete and value.complete
            node, module = value.node, value.module or module
        elif isinstance(value, Instance):
            own = value.cls.attribute("__call__")
            if isinstance(own, Function):
                function = own.bound(value)
                given.setdefault("name", value.cls.name)
            given = {**value.attributes, **given}
        elif isinstance(value, Function):
            function = value
            marked = value.attributes.get("__fastmcp__")
            if isinstance(marked, Called):
                names = dict(zip(("name",), marked.args, strict=False))
                given = {**names, **marked.kwargs, **given}
        elif isinstance(value, Class):
            own = value.attribute("__init__")
            if isinstance(own, Function):
                function = own.bound(value)
            given = {"name": value.name, "description": ast.get_docstring(value.node, clean=False), **given}
        elif value is not UNKNOWN:
            return
        item = Item(kind, given, function=function, node=node, module=module, doubtful=doubtful, complete=complete)
        item.under_condition = self.run.doubt > 0
        server.items.append(item)
