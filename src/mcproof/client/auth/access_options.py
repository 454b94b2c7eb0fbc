"""How to get an authorization for a server: values without secrets, which are named by their variables."""

from __future__ import annotations

import os
from typing import NamedTuple


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
        return bool(self.secret_variable or self.key_variable) and not self.may_log_in

    @property
    def secrets(self) -> list[str]:
        """The values of the named variables."""
        named = (self.secret_variable, self.key_variable)
        return [os.environ[name] for name in named if name and os.environ.get(name)]
