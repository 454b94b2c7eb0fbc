"""The options for servers that require authorization."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.client.endpoints import AccessOptions
from mcproof.core.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.parser import Parser

AUTHORIZATION = "Authorization"
"""The title of a group of options."""


def add_authorization(parser: Parser) -> None:
    """Add the options for live servers that require authorization."""
    parser.group(AUTHORIZATION).add_argument(
        "--login", action="store_true", help="log in with the browser when a server requires authorization"
    )
    add_client(parser)


def add_client(parser: Parser) -> None:
    """Add the options that name an OAuth client."""
    group = parser.group(AUTHORIZATION)
    group.add_argument(
        "--client-id",
        metavar="ID",
        help="OAuth client id, or the URL of a client metadata document (default: mcproof registers itself)",
    )
    group.add_argument("--client-secret-env", metavar="NAME", help="variable with the secret of the OAuth client")
    group.add_argument(
        "--client-key-env", metavar="NAME", help="variable with the private key of the OAuth client, in PEM"
    )
    group.add_argument("--issuer", metavar="URL", help="use only this authorization server")
    group.add_argument("--scope", metavar="SCOPES", help="request these scopes too, separated by spaces")


def parse_authorization(options: argparse.Namespace, *, may_log_in: bool, callback_port: int = 0) -> AccessOptions:
    """Parse the options of `add_client`."""
    access = AccessOptions(
        client_id=options.client_id or "",
        secret_variable=options.client_secret_env or "",
        key_variable=options.client_key_env or "",
        issuer=options.issuer or "",
        scope=options.scope or "",
        callback_port=callback_port,
        may_log_in=may_log_in,
    )
    if access.secret_variable and access.key_variable:
        raise UsageError("--client-secret-env and --client-key-env exclude each other: a client has a secret or a key")
    for option, name in (("secret", access.secret_variable), ("key", access.key_variable)):
        if name and not access.client_id:
            raise UsageError(f"--client-{option}-env needs --client-id")
        if name and not os.environ.get(name):
            raise UsageError(f"--client-{option}-env: the environment has no variable {name}")
    if access.client_id and not (access.uses_client_credentials or may_log_in):
        raise UsageError("--client-id needs --client-secret-env or --client-key-env, or --login for a user")
    return access
