"""Which server is meant: a command to start, or a URL to reach; and what may be said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.secrets import hiding, redacted_command, redacted_url, secrets_of_command, secrets_of_url

if TYPE_CHECKING:
    from collections.abc import Mapping


class CommandEndpoint(NamedTuple):
    """A server to start."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    """What it gets beyond the minimum."""
    directory: str | None = None
    filled: tuple[str, ...] = ()
    """Values of variables that stand in the words, whatever those look like."""

    @property
    def label(self) -> str:
        import shlex

        return shlex.join(self.described["command"])

    @property
    def secrets(self) -> list[str]:
        """What no report may repeat."""
        return [*self.environment.values(), *self.filled, *secrets_of_command(self.words)]

    @property
    def named_secrets(self) -> list[tuple[str, str]]:
        """The same, each with the name that it goes by."""
        values = [*self.filled, *secrets_of_command(self.words)]
        return [*self.environment.items(), *(("token", value) for value in values)]

    @property
    def described(self) -> dict[str, Any]:
        hide = hiding(self.filled)
        return {"command": [hide(word) for word in redacted_command(self.words)]}


class UrlEndpoint(NamedTuple):
    """A server to reach."""

    url: str
    headers: Mapping[str, str]
    filled: tuple[str, ...] = ()
    """Values of variables that stand in the URL, wherever that may be."""

    @property
    def label(self) -> str:
        return hiding(self.filled)(redacted_url(self.url))

    @property
    def secrets(self) -> list[str]:
        """What no report may repeat."""
        values = [part for value in self.headers.values() for part in (value, value.rpartition(" ")[2])]
        return [*values, *self.filled, *secrets_of_url(self.url)]

    @property
    def named_secrets(self) -> list[tuple[str, str]]:
        """The same, each with the name that it goes by."""
        return [("token", value) for value in self.secrets]

    @property
    def described(self) -> dict[str, Any]:
        return {"url": self.label}


Endpoint = CommandEndpoint | UrlEndpoint
