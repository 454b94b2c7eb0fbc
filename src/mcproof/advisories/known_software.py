"""What is known of the software of a server, and how: the fact that the rules about advisories judge."""

from __future__ import annotations

from typing import NamedTuple


class KnownPackage(NamedTuple):
    """One package of a server."""

    name: str
    """In the normalized form of its ecosystem."""
    ecosystem: str
    """`pypi` or `npm`."""
    version: str | None
    """None if it is not pinned."""
    known_from: str
    """How it is known, such as `the command` or the name of a file."""


class KnownSoftware(NamedTuple):
    """The packages of a server, and the circumstances that advisories depend on."""

    packages: list[KnownPackage]
    server_name: str = ""
    """The name that the server reports; empty if unknown."""
    server_version: str = ""
    transport: str = ""
    """`stdio` or `http`; empty if unknown."""
    platform: str = ""
    """`windows` or `other`; empty if unknown."""
    unobserved: dict[str, str] = {}  # noqa: RUF012 (never mutated)
    """The rules that could not be judged, each with the reason."""

    def meets(self, need: str) -> bool | None:
        """Whether a circumstance that an advisory needs is the case; None if unknown."""
        if need == "http":
            return self.transport == "http" if self.transport else None
        if need == "windows":
            return self.platform == "windows" if self.platform else None
        return None
