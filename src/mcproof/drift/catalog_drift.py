"""How a catalog differs from what was locked or captured before: the fact that the drift rules judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.core.catalog.model import Item

DriftKind = Literal["new-tool", "description", "schema", "other", "removed-tool"]
"""What a difference is about: `other` is everything that is neither a description nor a schema of a tool."""


class Difference(NamedTuple):
    """One difference: a part of an item, or a whole item that was added or removed."""

    kind: DriftKind
    item: Item
    """The item of the new catalog; of the old one if it was removed."""
    part: str
    """The member that changed, such as `inputSchema`; `other` for several; empty for a whole item."""
    summary: str
    """The change as a predicate: `description changed`."""
    detail: str
    """What changed, in words; may be empty."""
    pointer: str
    """The pointer of the changed part, from the item."""
    prior_hash: str | None
    """None if it was added."""
    current_hash: str | None
    """None if it was removed."""
    lines: list[str]
    """The difference itself, as lines that start with `-` and `+`."""
    fires: tuple[str, ...] = ()
    """The ids of the rules about poisoned texts that report the new version, and did not report the old one."""

    @property
    def evidence(self) -> dict[str, Any]:
        """The difference as the evidence of a finding."""
        return {
            "item": self.item.label if self.item.kind != "server" else "server",
            "part": self.part or None,
            "priorHash": self.prior_hash,
            "currentHash": self.current_hash,
            "diff": self.lines,
            "firesNow": list(self.fires),
        }


class CatalogDrift(NamedTuple):
    """All differences between a catalog and an earlier version of it."""

    reference: str
    """The name of the lock or of the capture."""
    differences: list[Difference]
    prior_hash: str
    current_hash: str
    unobserved: Mapping[str, str] = {}
    """Rules that could not be observed, each with the reason."""

    def of_kind(self, *kinds: DriftKind) -> list[Difference]:
        """Return the differences of some kinds."""
        return [each for each in self.differences if each.kind in kinds]

    @property
    def summary(self) -> str:
        """The differences in numbers, such as "1 new tool, 2 changes"; empty if there are none."""
        from mcproof.core.console import plural

        new, removed = len(self.of_kind("new-tool")), len(self.of_kind("removed-tool"))
        changed = len(self.differences) - new - removed
        counted = [(new, "new tool"), (removed, "removed tool"), (changed, "change")]
        return ", ".join(plural(count, noun) for count, noun in counted if count)
