"""Which server is meant: a command to start, or a URL to reach; and what may be said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.live.secrets import redacted_command, redacted_url, secrets_of_command, secrets_of_url

if TYPE_CHECKING:
    from collections.abc import Mapping


class Command(NamedTuple):
    """A server to start."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    """What it gets beyond the minimum."""
    directory: str | None = None

    @property
    def label(self) -> str:
        import shlex

        return shlex.join(redacted_command(self.words))

    @property
    def secrets(self) -> list[str]:
        """What no report may repeat."""
        return [*self.environment.values(), *secrets_of_command(self.words)]

    @property
    def described(self) -> dict[str, Any]:
        return {"command": redacted_command(self.words)}


class Endpoint(NamedTuple):
    """A server to reach."""

    url: str
    headers: Mapping[str, str]

    @property
    def label(self) -> str:
        return redacted_url(self.url)

    @property
    def secrets(self) -> list[str]:
        """What no report may repeat."""
        values = [part for value in self.headers.values() for part in (value, value.rpartition(" ")[2])]
        return [*values, *secrets_of_url(self.url)]

    @property
    def described(self) -> dict[str, Any]:
        return {"url": redacted_url(self.url)}


Server = Command | Endpoint
