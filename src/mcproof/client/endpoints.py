"""Endpoints: the command or the URL of a server, with its secrets and a description without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.auth.access_options import AccessOptions
from mcproof.client.secrets import hiding, redacted_command, redacted_url, secrets_of_command, secrets_of_url

if TYPE_CHECKING:
    from collections.abc import Mapping


class CommandEndpoint(NamedTuple):
    """A server that is started by a command."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    """Variables in addition to the inherited ones."""
    directory: str | None = None
    filled: tuple[str, ...] = ()
    """Values taken from this process's environment: secret, whatever they look like."""

    @property
    def label(self) -> str:
        import shlex

        return shlex.join(self.described["command"])

    @property
    def secrets(self) -> list[str]:
        """Values that no report may contain."""
        return [*self.environment.values(), *self.filled, *secrets_of_command(self.words)]

    @property
    def named_secrets(self) -> list[tuple[str, str]]:
        """The secrets with their names."""
        values = [*self.filled, *secrets_of_command(self.words)]
        return [*self.environment.items(), *(("token", value) for value in values)]

    @property
    def described(self) -> dict[str, Any]:
        hide = hiding(self.filled)
        return {"command": [hide(word) for word in redacted_command(self.words)]}


class UrlEndpoint(NamedTuple):
    """A server at a URL."""

    url: str
    headers: Mapping[str, str]
    filled: tuple[str, ...] = ()
    """Values of variables in the URL: secret, whatever they look like."""
    access: AccessOptions = AccessOptions()
    """How to get an authorization, if the server requires one."""

    @property
    def label(self) -> str:
        return hiding(self.filled)(redacted_url(self.url))

    @property
    def secrets(self) -> list[str]:
        """Values that no report may contain."""
        values = [part for value in self.headers.values() for part in (value, value.rpartition(" ")[2])]
        return [*values, *self.filled, *secrets_of_url(self.url), *self.access.secrets]

    @property
    def has_authorization(self) -> bool:
        """Whether the user names the authorization to send."""
        return any(name.lower() == "authorization" for name in self.headers)

    @property
    def named_secrets(self) -> list[tuple[str, str]]:
        """The secrets with their names."""
        return [("token", value) for value in self.secrets]

    @property
    def described(self) -> dict[str, Any]:
        return {"url": self.label}


Endpoint = CommandEndpoint | UrlEndpoint
