"""Whether a server lists the same tools to every client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

BEFORE, AFTER, STATELESS = "before initialized", "after initialized", "in the stateless era"


class ToolHash(NamedTuple):
    """The name of a listed tool, and the hash of everything that the list has about it."""

    name: str
    hash: str


class ListReading(NamedTuple):
    """One reading of the list of tools."""

    client: str
    """The client name under which it was requested."""
    moment: str
    """`BEFORE` or `AFTER` the handshake is complete or, in the stateless era, `STATELESS`."""
    tools: tuple[ToolHash, ...] = ()
    """Sorted by name."""

    @property
    def hash(self) -> str:
        """The hash of the whole list."""
        from hashlib import sha256

        return sha256("".join(each.hash for each in self.tools).encode()).hexdigest()


class ListStability(NamedTuple):
    """Several readings of the list of tools, by differently named clients."""

    readings: tuple[ListReading, ...] = ()
    unseen_tools: tuple[dict[str, Any], ...] = ()
    """Tools of other readings that the usual one does not have in this form, so that no other rule judges them."""

    @property
    def usual(self) -> ListReading | None:
        """The reading that a capture has: the first one after the handshake."""
        settled = (each for each in self.readings if each.moment != BEFORE)
        return next(settled, next(iter(self.readings), None))

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The rules that could not be judged, with the reason."""
        return {} if len(self.readings) > 1 else {"TRU-205": "the tools could not be listed twice"}
