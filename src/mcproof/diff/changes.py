"""A change between two catalogs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.diff.change_kinds import CHANGE_KINDS

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Item
    from mcproof.diff.change_kinds import ChangeKind


class CatalogChange(NamedTuple):
    """One difference between two catalogs."""

    kind: ChangeKind
    breaking: bool | None
    """Whether callers break; None if unknown."""
    message: str
    """The change as a predicate, with both values if they are short."""
    item: Item
    """The changed item of the new catalog, or of the old one if `is_old`."""
    is_old: bool
    """Whether item and pointer belong to the old catalog, as for everything that was removed."""
    pointer: str = ""
    """Relative to the item: `/inputSchema/properties/limit`."""
    parameter: str | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        breaking: bool | None,
        message: str,
        item: Item,
        pointer: str = "",
        *,
        is_old: bool = False,
        parameter: str | None = None,
    ) -> CatalogChange:
        """Construct a change from the id of its kind."""
        return cls(
            kind=CHANGE_KINDS[kind],
            breaking=breaking,
            message=message,
            item=item,
            is_old=is_old,
            pointer=pointer,
            parameter=parameter,
        )
