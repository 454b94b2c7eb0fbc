"""Frameworks that serve what the files of a folder export: mcp-framework, by class, and xmcp, by module."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.source.javascript.frameworks.registration import add, member_places, members_of
from mcproof.source.javascript.frameworks.servers import ServerValue
from mcproof.source.javascript.interp.classes import JsClass, construct
from mcproof.source.javascript.interp.interpreter import default_of
from mcproof.source.javascript.interp.members import get_member, keys_of
from mcproof.source.javascript.interp.modules import Module
from mcproof.source.javascript.values import UNDEFINED, JsObject, Unknown
from mcproof.source.javascript.zod.schema import ZodSchema

if TYPE_CHECKING:
    from mcproof.source.javascript.frameworks.host import McpHost
    from mcproof.source.javascript.frameworks.servers import Place
    from mcproof.source.javascript.values import Value

HIGHEST = 5
"""How many folders above the file of a server are searched."""
CLASS_METHODS = {"addTool": "tools", "addPrompt": "prompts", "addResource": "resources"}
_FIELDS = ("name", "title", "description", "annotations", "icons", "execution")


def load_classes(host: McpHost, server: ServerValue, place: Place) -> None:
    """Register the classes in the folders `tools`, `prompts` and `resources` beside a server of mcp-framework."""
    for kind in ("tools", "prompts", "resources"):
        folder = os.path.dirname(place[0].source.path)
        for _ in range(HIGHEST):
            modules = _modules(host, os.path.join(folder, kind))
            if modules or folder == host.files.top:
                break
            folder = os.path.dirname(folder)
        for module in modules:
            add_class(host, server, kind, _class_of(module))


def _modules(host: McpHost, folder: str) -> list[Module]:
    paths = [path for path in host.files.source_files() if path.startswith(folder + os.sep)]
    loaded = [host.run.modules.load(path) for path in sorted(paths)]
    return [module for module in loaded if isinstance(module, Module)]


def _class_of(module: Module) -> Value:
    """The class that a file exports: its default, else the first."""
    names, _ = keys_of(module.value())
    for name in ("default", *names):
        exported = module.exported(name) if isinstance(name, str) else None
        if isinstance(exported, JsClass):
            return exported
    return None


def add_class(host: McpHost, server: ServerValue, kind: str, exported: Value) -> None:
    """Register an instance of a class of mcp-framework."""
    exported = default_of(exported)
    if not isinstance(exported, JsClass):
        return
    instance = construct(host.run, exported, [], None)
    if not isinstance(instance, JsObject):
        return
    place = (exported.code.module, exported.code.node)
    body = exported.code.node.child_by_field_name("body")
    if body is not None:
        instance.sources = ((place[0], body),)
    schema = get_member(host.run, instance, "schema")
    if kind == "tools":
        fields = members_of(host, instance, _FIELDS)
        fields["inputSchema"] = _tool_schema(host, schema)
        output = get_member(host.run, instance, "outputSchemaShape")
        if output is not UNDEFINED:
            fields["outputSchema"] = output
    elif kind == "prompts":
        fields = members_of(host, instance, ("name", "title", "description", "icons"))
        fields["argsSchema"] = _by_name(host, schema, "required") if isinstance(schema, JsObject) else schema
    else:
        fields = members_of(host, instance, ("uri", "name", "title", "description", "mimeType", "size", "icons"))
    add(host, server, kind, fields, place, places=member_places(instance))


def _tool_schema(host: McpHost, schema: Value) -> Value:
    """The schema of a tool: an object of zod, or the older form `{name: {type, description}}` as one."""
    schema = default_of(schema)
    return _by_name(host, schema, None) if isinstance(schema, JsObject) else schema


def _by_name(host: McpHost, schema: JsObject, required: str | None) -> Value:
    """An object of zod for `{name: {type, description, required}}`."""
    names, is_open = keys_of(schema)
    shape: dict[str, Value] = {}
    texts: dict[str, Value] = {}
    for name in names:
        if not isinstance(name, str):
            is_open = True
            continue
        entry = get_member(host.run, schema, name)
        member = default_of(get_member(host.run, entry, "type"))
        texts[name] = default_of(get_member(host.run, entry, "description"))
        if required is not None and isinstance(member, ZodSchema):
            is_required = default_of(get_member(host.run, entry, required))
            member = member if is_required is True else member.wrapped("optional")
        shape[name] = member
    return ZodSchema("object", {"shape": shape, "is_open": is_open, "texts": texts}, module="zod/v3")


def load_modules(host: McpHost, folder: str) -> None:
    """Register the modules in `src/tools` of a project of xmcp: each exports a function, `metadata` and `schema`."""
    modules = _modules(host, os.path.join(folder, "src", "tools"))
    server: ServerValue | None = None
    for module in modules:
        exports = module.value()
        if not isinstance(exports, JsObject) or "default" not in exports.members:
            continue
        place = (module, module.source.root)
        if server is None:
            server = ServerValue("xmcp", place, host.run.doubts(), {})
            server.package = "xmcp"
            host.servers.append(server)
        metadata = module.exported("metadata")
        fields: dict[str, Value] = {
            "name": os.path.splitext(os.path.basename(module.source.path))[0],
            "description": "No description provided",
        }
        fields |= members_of(host, metadata, ("name", "description", "annotations", "_meta"))
        if isinstance(metadata, Unknown):
            fields = dict.fromkeys(fields, metadata)
        fields["inputSchema"] = Unknown("xmcp converts each field of a schema by itself, which is not read")
        add(host, server, "tools", fields, place, literal=default_of(metadata))
