"""What resources of a live server contain, as far as they were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_RULE = "resource_contents_no_injection"


class ResourceBodies(NamedTuple):
    """The texts of the resources that were read, each with its URI and cut off at a limit."""

    bodies: tuple[tuple[str, str], ...]
    offered: int = 0
    """How many https resources the server has."""

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        return {} if self.bodies or self.offered else {_RULE: "the server has no https resources"}

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The rules that could not be judged, with the reason."""
        return {_RULE: "no resource could be read"} if self.offered and not self.bodies else {}
