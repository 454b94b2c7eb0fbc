"""Changes to a server's list of tools before clients see it: middleware, transforms, an overridden `list_tools`.

Namespaces and switches have known effects. Other project code may do anything: then every tool is conditional, and the
parts that the code mentions are unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.discovery.frameworks.registration_tables import LISTING_METHODS
from mcproof.discovery.frameworks.visibility import Switch, switches_of_call
from mcproof.discovery.interp.builtin_values import unwrapped
from mcproof.discovery.interp.values import UNKNOWN, Call, Class, ExternalCall, Function, Instance

if TYPE_CHECKING:
    from mcproof.discovery.frameworks.servers import ServerValue

_SCHEMAS = re.compile(r"\binput_?[sS]chema\b|\.parameters\b|['\"]parameters['\"]")
_TEXTS = re.compile(r"\bdescription\b")
_EVERYTHING = ("/description", "/inputSchema", "/outputSchema", "/title", "/annotations")


def note_class(server: ServerValue, cls: Class) -> None:
    """Record that a middleware class, or a server class, overrides the list of tools."""
    for name in LISTING_METHODS:
        method = cls.attribute(name)
        if not isinstance(method, Function):
            continue
        server.changes.changed_at = method.module, method.node
        if _SCHEMAS.search(method.module.text) is not None:
            server.changes.unknown |= {"/inputSchema", "/outputSchema"}
        first = method.node.lineno
        if _TEXTS.search(method.module.lines_between(first, method.node.end_lineno or first)) is not None:
            server.changes.unknown.add("/description")


def note_transform(server: ServerValue, value: Any, call: Call, *, doubtful: bool) -> None:
    """Record the effect of `server.add_transform(value)`."""
    kind = value.func.last if isinstance(value, ExternalCall) and value.func.package == "fastmcp" else ""
    if kind == "Visibility":
        server.changes.switches += _switches(value, doubtful=doubtful)
        return
    prefix = unwrapped(value.argument(0, "prefix", UNKNOWN)) if kind == "Namespace" else UNKNOWN
    if isinstance(prefix, str) and not doubtful:
        server.changes.namespaces.append(prefix)
        return
    server.changes.changed_at = call.module, call.node
    server.changes.unknown.update(_EVERYTHING)


def _switches(value: ExternalCall, *, doubtful: bool) -> list[Switch]:
    shows = value.argument(0, "enabled", UNKNOWN)
    if value.kwargs.get("match_all") is True:
        return [Switch(shows is True, {}, True, doubtful or not isinstance(shows, bool))]
    switches = switches_of_call("enable" if shows is True else "disable", Call([], value.kwargs), doubtful=doubtful)
    return switches if isinstance(shows, bool) else [each._replace(doubtful=True) for each in switches]


def note_middleware(server: ServerValue, value: Any) -> None:
    """Record the effect of a middleware of the project."""
    if isinstance(value, Instance):
        note_class(server, value.cls)
