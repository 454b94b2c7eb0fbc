"""Endpoints: the command or the URL of a server, with its secrets, and how to get access to it.

These are values; `connect` opens them. Every command needs the types, few need a connection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record


class AccessOptions(NamedTuple):
    """The OAuth client to use, the scopes to request, and whether a user may be asked to log in."""

    client_id: str = ""
    """A registered id, or the URL of a client metadata document; empty to register with the authorization server."""
    secret_variable: str = ""
    """The environment variable with the secret of the client."""
    key_variable: str = ""
    """The environment variable with the private key of the client, in PEM."""
    issuer: str = ""
    """The only authorization server to use; empty for the one that the server names."""
    scope: str = ""
    """Scopes to request in addition to those that the server requires, separated by spaces."""
    callback_port: int = 0
    """The port of the redirect URI; 0 for any."""
    may_log_in: bool = False
    """Whether a browser may be opened."""
    is_anonymous: bool = False
    """Whether only the headers of the request authorize it: no stored token is used, and none is requested."""

    @property
    def uses_client_credentials(self) -> bool:
        """Whether the client gets a token for itself, without a user."""
        return self.has_credential and not self.may_log_in

    @property
    def has_credential(self) -> bool:
        """Whether the user names the secret or the private key of a client."""
        return bool(self.secret_variable or self.key_variable)

    @property
    def secrets(self) -> list[str]:
        """The values of the named variables."""
        named = (self.secret_variable, self.key_variable)
        return [os.environ[name] for name in named if name and os.environ.get(name)]


@record()
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
        from mcproof.client.redaction import secrets_of_command  # here: every command imports this module

        return [*self.environment.values(), *self.filled, *secrets_of_command(self.words)]

    @property
    def named_secrets(self) -> list[tuple[str, str]]:
        """The secrets with their names."""
        from mcproof.client.redaction import secrets_of_command

        values = [*self.filled, *secrets_of_command(self.words)]
        return [*self.environment.items(), *(("token", value) for value in values)]

    @property
    def described(self) -> dict[str, Any]:
        from mcproof.client.redaction import hiding, redacted_command

        hide = hiding(self.filled)
        return {"command": [hide(word) for word in redacted_command(self.words)]}


@record()
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
        from mcproof.client.redaction import hiding, redacted_url

        return hiding(self.filled)(redacted_url(self.url))

    @property
    def secrets(self) -> list[str]:
        """Values that no report may contain."""
        from mcproof.client.redaction import secrets_of_url

        # Of `Bearer TOKEN`, a server may repeat the token alone.
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
