"""Whether a server lists the same tools to every client."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class ToolHash(NamedTuple):
    """The name of a listed tool, and the hash of everything that the list has about it."""

    name: str
    hash: str


class ListReading(NamedTuple):
    """One reading of the list of tools."""

    client: str
    """The client name under which it was requested."""
    moment: str
    """`before initialized`, `after initialized` or, in the stateless era, `stateless`."""
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

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The rules that could not be judged, with the reason."""
        return {} if len(self.readings) > 1 else {"TRU-205": "the tools could not be listed twice"}
