"""Every string of a server that a model may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog


class ModelTexts:
    """The strings of one server that a model may read."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
