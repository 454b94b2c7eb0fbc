"""What generation hands out."""

from __future__ import annotations

from typing import Any, NamedTuple


class GeneratedCase(NamedTuple):
    """The arguments of one call."""

    arguments: Any
    is_valid: bool
    what: str
    """What was done, for people."""
    keyword: str = ""
    """The keyword that an invalid case violates."""
    pointer: str = ""
    """The place inside the arguments."""
