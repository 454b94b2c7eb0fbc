"""Servers, and what is registered on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value

    Place = tuple[Module, Node]
    Doubts = frozenset[tuple[int, int]]


class RegisteredItem:
    """A tool, a resource, a template or a prompt."""

    __slots__ = ("doubts", "given", "handler", "is_conditional", "kind", "place", "places", "server")

    def __init__(
        self,
        kind: str,
        given: dict[str, Value],
        server: ServerValue,
        place: Place | None,
        doubts: Doubts,
        places: dict[str, Place] | None = None,
    ) -> None:
        self.kind = kind
        """The list that it is in: `tools`, `resources`, `templates` or `prompts`."""
        self.given = given
        """What is known of it, by the names of the protocol; the schemas are not converted yet."""
        self.server = server
        self.place = place
        self.places = places or {}
        """Where its parts are written."""
        self.handler: Value = None
        """The function that handles its requests."""
        self.doubts = doubts
        self.is_conditional = False


class ServerValue:
    """A server that the source creates."""

    kind = "server"

    def __init__(self, framework: str, place: Place | None, doubts: Doubts, info: dict[str, Value]) -> None:
        self.framework = framework
        """`sdk`, `lowlevel`, or the name of a framework."""
        self.package = ""
        """The package that its class is from."""
        self.place = place
        self.doubts = doubts
        self.info = info
        self.items: list[RegisteredItem] = []
        self.handlers: dict[str, tuple[Value, Doubts, Place | None]] = {}
        """The functions that list items, by kind."""

    def is_in_doubt(self, doubts: Doubts) -> bool:
        """Whether code runs only under a condition, other than one that the server itself needs."""
        return not doubts <= self.doubts


class ServerPart(NamedTuple):
    """Something that stands for a server or an item that is registered: `server.server`, a registered tool."""

    server: ServerValue
    item: Any = None
    """The item; None for the server itself."""


class TemplateValue(NamedTuple):
    """The template of the URIs of a resource."""

    uri: Value
    place: Any
