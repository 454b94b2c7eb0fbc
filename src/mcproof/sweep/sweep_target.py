"""One target of a sweep: a capture or a live server, with an identity that is the same in every run."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from mcproof.client.endpoints import UrlEndpoint

if TYPE_CHECKING:
    from mcproof.client.endpoints import Endpoint


class Permissions(NamedTuple):
    """What the user allows a sweep to do because a file names it."""

    commands: bool = False
    """Whether to start the commands of lists and client configurations."""
    packages: bool = False
    """Whether to download and run the packages of registry documents."""
    variables: frozenset[str] = frozenset()
    """The environment variables that may be filled in."""


class Hindrance(NamedTuple):
    """Why a target is not checked; known without any work."""

    outcome: str
    """`left-out` or `unreadable`."""
    reason: str
    """A few words that many targets share, for the summary."""
    message: str


class SweepTarget(NamedTuple):
    """What to check; picklable, so that any process can do it."""

    key: int
    """64 bits of a hash over what the target is, without the values of variables."""
    label: str
    """Its name in results: a file, a command or a URL, without secrets."""
    name: str = ""
    """The name that a configuration or a registry gives it."""
    file: str = ""
    """The capture to read; empty for a live server."""
    data: bytes | None = None
    """The content of the file, if another machine has to check it."""
    endpoint: Endpoint | None = None
    hindrance: Hindrance | None = None

    @property
    def host(self) -> str:
        """The host and port that requests go to; empty for anything but a URL."""
        if not isinstance(self.endpoint, UrlEndpoint):
            return ""
        try:
            return urlsplit(self.endpoint.url).netloc.rpartition("@")[2].lower()
        except ValueError:
            return ""

    @property
    def is_live(self) -> bool:
        return self.endpoint is not None


def key_of(*parts: str) -> int:
    """Return the identity of a target, never 0."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") or 1


def capture_target(file: str) -> SweepTarget:
    """Return the target of a capture."""
    return SweepTarget(key_of("file", file), file, file=file)
