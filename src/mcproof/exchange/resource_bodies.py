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
    unlisted: str = ""
    """Why the list of resources was not read as a whole; empty if it was."""

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        is_concerned = bool(self.bodies or self.offered or self.unlisted)
        return {} if is_concerned else {_RULE: "the server has no https resources"}

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The rules that could not be judged, with the reason."""
        why = self.unlisted or ("no resource could be read" if self.offered and not self.bodies else "")
        return {_RULE: why} if why else {}
