"""What resources of a live server contain, as far as they were read."""

from __future__ import annotations

from typing import NamedTuple


class ResourceBodies(NamedTuple):
    """The texts of the resources that were read, each with its URI and cut off at a limit."""

    bodies: tuple[tuple[str, str], ...]
