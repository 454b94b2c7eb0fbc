"""How a server makes its session ids; the ids themselves are secret and not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

ENOUGH_BITS = 128


class SessionIds(NamedTuple):
    """What the session ids of several handshakes have in common."""

    handshakes: int = 0
    ids: int = 0
    """How many handshakes got an id."""
    distinct: int = 0
    bits: int = 0
    """The entropy of the weakest id, at most: its length times the bits of its alphabet."""
    counts_up: bool = False
    """Whether each id is a small step above the one before."""
    is_time_based: bool = False
    """Whether they are UUIDs made from the time."""
    is_visible_ascii: bool = True
    why_none: str = ""
    """Why there are no ids, such as the stateless era."""

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        if self.ids or not (self.why_none or self.handshakes):
            return {}
        return {"TRU-503": self.why_none or "the server issues no session ids"}

    @property
    def unobserved(self) -> Mapping[str, str]:
        """The other rules that could not be judged, with the reason."""
        is_judged = self.ids > 1 or bool(self.not_applicable)
        return {} if is_judged else {"TRU-503": "no two handshakes succeeded"}
