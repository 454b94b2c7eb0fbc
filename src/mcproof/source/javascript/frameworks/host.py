"""What names of other packages mean to the interpreter: servers, schemas, and the modules of Node."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.frameworks import arguments as parsers
from mcproof.source.javascript.frameworks import folders, registration, schemas, typebox
from mcproof.source.javascript.frameworks import node as node_modules
from mcproof.source.javascript.frameworks.servers import ServerPart, ServerValue
from mcproof.source.javascript.interp.builtins import argument
from mcproof.source.javascript.interp.classes import JsClass
from mcproof.source.javascript.interp.functions import NativeFunction
from mcproof.source.javascript.interp.globals import Environment, environment_member
from mcproof.source.javascript.interp.members import pass_on
from mcproof.source.javascript.values import UNDEFINED, JsObject, JsPromise, Library, Unknown
from mcproof.source.javascript.zod.emitters import NEWEST_CONVERTER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcproof.source.javascript.files import ProjectFiles
    from mcproof.source.javascript.frameworks.servers import Place
    from mcproof.source.javascript.interp.interpreter import Interpreter
from mcproof.source.javascript.values import Value

MOST_CALLBACKS = 500


_SDK = "@modelcontextprotocol/sdk"
_CLASSES: tuple[tuple[frozenset[str], Library], ...] = (
    (frozenset(("registerTool", "setToolRequestHandlers", "tool")), Library(_SDK, ("McpServer",))),
    (frozenset(("registerTool", "setToolRequestHandlers")), Library("@modelcontextprotocol/server", ("McpServer",))),
    (frozenset(("_oninitialize", "getClientCapabilities")), Library(_SDK, ("Server",))),
    (frozenset(("listCallback", "completeCallback", "uriTemplate")), Library(_SDK, ("ResourceTemplate",))),
    (frozenset(("addTool", "addResourceTemplate", "addPrompt", "embedded")), Library("fastmcp", ("FastMCP",))),
    *parsers.CLASSES,
)
"""The classes that a bundle may hold, by the names of their methods, which no build changes."""


class McpHost:
    """Servers of the source, and what else its names of other packages mean."""

    def __init__(self, files: ProjectFiles) -> None:
        self.run: Interpreter
        self.files = files
        self.servers: list[ServerValue] = []
        self.versions = schemas.Versions(files)
        self.starts: list[Callable[[], None]] = []
        """What frameworks load when a server starts."""
        self.callbacks: dict[int, Value] = {}
        """Functions that unknown code may call."""
        self.program: Value = None
        """The parser that `commander` exports."""

    def is_native(self, value: Any) -> bool:
        return isinstance(value, (ServerValue, ServerPart, Environment, parsers.ParserValue))

    def recognized(self, value: Value) -> Value:
        """What of a known package a value is, although it is defined in the source: a part of a bundle."""
        if isinstance(value, JsClass):
            names = value.prototype().members.keys()
            return next((library for words, library in _CLASSES if words <= names), None)
        if isinstance(value, JsObject):
            return schemas.recognized_names(value.members)
        return schemas.recognized_code(value)

    def is_instance(self, value: Any, target: Any) -> Value:
        """Whether a value is an instance of a class of a package."""
        if isinstance(target, Library) and target.package == "zod":
            return schemas.is_kind(value, target.path[-1] if target.path else "")
        return Unknown("the class of a value is not known")

    def constructor(self, name: str) -> Value:
        """A class that zod 4 creates in a bundle."""
        return schemas.constructor_of(self.run, name)

    def pass_callback(self, function: Value) -> None:
        if len(self.callbacks) < MOST_CALLBACKS and not function.code.is_called:
            self.callbacks.setdefault(id(function.code), function)

    def member(self, value: Any, name: str) -> Value:
        if isinstance(value, Library):
            return self._library_member(value, name)
        if isinstance(value, Environment):
            return environment_member(name)
        if schemas.is_schema(value):
            return schemas.zod_value(self.run, value, name)
        if isinstance(value, parsers.ParserValue):
            return parsers.member(self, value, name)
        if isinstance(value, ServerValue):
            if name in ("server", "mcp", "mcpServer"):
                return self.wrapped(value)
            return NativeFunction(name, lambda this, given: self.method(value, name, given, None))
        if isinstance(value, ServerPart):
            return NativeFunction(name, lambda this, given: self.method(value, name, given, None))
        return Unknown(f"`{name}` of this value is not known")

    def wrapped(self, server: Any) -> JsObject:
        """A server as a value of the program."""
        wrapper = JsObject({})
        wrapper.native = server
        return wrapper

    def _library_member(self, library: Library, name: str) -> Value:
        path = [part for part in library.path if part[:1] != "/"]
        if name == "__esModule":
            return True
        if name == "default" and not path:
            return library
        if name == "then":
            return UNDEFINED
        if library.package == "zod" and name in schemas.CLASSES_OF_ONE_VERSION:
            zod = self.versions.zod(os.path.join(self.files.top, name))
            if not schemas.has_class(name, zod):
                return UNDEFINED
        if library.package in parsers.PACKAGES and (member := parsers.library_member(self, library, name)) is not None:
            return member
        if library.package == "process" and not path:
            process = self.run.globals["process"]
            members = process.members if isinstance(process, JsObject) else {}
            return members.get(name, Unknown("this is not known"))
        return Library(library.package, (*library.path, name))

    def call(self, value: Any, arguments: Sequence[Value], place: Place | None) -> Value:
        given = list(arguments)
        if isinstance(value, Library):
            return self._call_library(value, given, place)
        pass_on(self.run, given)
        return Unknown("what a call returns is not known")

    def method(self, value: Any, name: str, arguments: Sequence[Value], place: Place | None) -> Value:
        given = list(arguments)
        if isinstance(value, ServerValue):
            kind = folders.CLASS_METHODS.get(name) if value.framework == "mcp-framework" else None
            if kind is not None:
                folders.add_class(self, value, kind, argument(given, 0))
                return UNDEFINED
            return registration.call_server(self, value, name, given, place)
        if isinstance(value, ServerPart):
            return registration.call_part(self, value, name, given)
        if isinstance(value, parsers.ParserValue):
            return parsers.call(self, value, name, given)
        if isinstance(value, Library):
            return self._call_library(Library(value.package, (*value.path, name)), given, place)
        if schemas.is_schema(value):
            path = place[0].source.path if place is not None else os.path.join(self.files.top, name)
            return schemas.call_schema(self.run, value, name, given, place, self.versions.zod(path))
        pass_on(self.run, given)
        return Unknown(f"what `{name}` returns is not known")

    def construct(self, value: Any, arguments: Sequence[Value], place: Place | None) -> Value:
        given = list(arguments)
        if isinstance(value, Library) and value.package in parsers.PACKAGES:
            return parsers.create(self, value)
        if isinstance(value, Library) and value.path:
            instance = registration.create(self, value, given, place)
            if instance is not None:
                server = instance.native
                if isinstance(server, ServerValue) and server.framework == "mcp-framework" and place is not None:
                    self.starts.append(lambda: folders.load_classes(self, server, place))
                return instance
        pass_on(self.run, given)
        return Unknown("what is created here is not known")

    def _call_library(self, library: Library, given: list[Value], place: Place | None) -> Value:
        name = library.path[-1] if library.path else ""
        path = place[0].source.path if place is not None else os.path.join(self.files.top, name)
        if library.package == "zod":
            return schemas.call_zod(self.run, library, given, place, self.versions.zod(path))
        if name == "zodToJsonSchema" or (library.package == "zod-to-json-schema" and not name):
            converter = self.versions.of("zod-to-json-schema", path) or NEWEST_CONVERTER
            return schemas.convert(given, self.versions.zod(path), converter)
        if library.package in typebox.PACKAGES:
            return typebox.schema_of(self.run, name, given)
        value = parsers.call_function(self, library, name, given)
        if value is None:
            value = registration.call_function(self, library, name, given, place)
        if value is not None:
            return value
        if library.package in node_modules.MODULES:
            if library.package == "module" and name == "createRequire" and place is not None:
                return place[0].require
            if library.package == "url" and name == "URL":
                return node_modules.url_of(given)
            subpath = [part for part in library.path if part[:1] == "/"]
            if name in ("readdir", "readdirSync"):
                listed = node_modules.names_in_folder(self.files, argument(given, 0), argument(given, 1))
                return listed if name == "readdirSync" else JsPromise(listed)
            result = node_modules.call_node(self.files, library.package, name, given)
            if "/promises" in subpath or "promises" in library.path:
                return JsPromise(result)
            if not isinstance(result, Unknown) or result.options:
                return result
        # A library that is not followed may call the functions that it gets, and register items in them.
        pass_on(self.run, given)
        return Unknown(f"what `{name or library.package}` of `{library.package}` returns is not known")
