"""`mcproof auth`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mcproof.cli.command import ARGUMENTS, AUTHORIZATION, Command, Option, whole_number
from mcproof.cli.outputs import TEXT_OR_JSON
from mcproof.cli.target_options import CLIENT, parse_authorization
from mcproof.core.console import Style, print_document, print_lines, print_message
from mcproof.core.errors import FINDINGS, OK, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from mcproof.client.auth.authorizer import TokenStatus
    from mcproof.client.endpoints import UrlEndpoint


def _auth(options: argparse.Namespace) -> int:
    if options.action == "status":
        return _status(options)
    if options.url is None:
        raise UsageError(f"`mcproof auth {options.action}` needs the URL of a server")
    return _login(options) if options.action == "login" else _logout(options)


def _server(options: argparse.Namespace) -> UrlEndpoint:
    from mcproof.client.endpoints import UrlEndpoint
    from mcproof.testing.suites.entries import is_http_url

    if not is_http_url(options.url):
        raise UsageError("not a URL such as https://host/mcp")
    return UrlEndpoint(options.url, {})


def _login(options: argparse.Namespace) -> int:
    from mcproof.client.auth.authorizer import log_in_to
    from mcproof.client.connect import ConnectOptions

    access = parse_authorization(options, may_log_in=True, callback_port=options.callback_port)
    status, file = log_in_to(_server(options)._replace(access=access), ConnectOptions())
    _print([status], as_json=options.format == "json")
    print_message(f"logged in; the token is stored in {file}")
    return OK


def _logout(options: argparse.Namespace) -> int:
    from mcproof.client.auth.authorizer import log_out_of

    server = _server(options)
    done = log_out_of(server.url)
    if done is None:
        print_message(f"no token is stored for {server.label}")
        return FINDINGS
    if done.is_revoked:
        print_message(f"logged out: the token for {server.label} is revoked, and deleted here")
    else:
        why = f": {done.why}" if done.why else ""
        print_message(f"logged out: the token for {server.label} is deleted here, and may still be valid{why}")
    return OK


def _status(options: argparse.Namespace) -> int:
    from mcproof.client.auth.authorizer import token_states

    server = None if options.url is None else _server(options)
    tokens = token_states(server)
    _print(tokens, as_json=options.format == "json")
    if not tokens:
        print_message("no token is stored" if server is None else f"no token is stored for {server.label}")
    return OK if tokens or server is None else FINDINGS


def _print(tokens: list[TokenStatus], *, as_json: bool) -> None:
    if as_json:
        from mcproof.runs.records import small_document

        print_document(small_document(tokens=[token._asdict() for token in tokens]))
    else:
        style = Style.of(sys.stdout)
        print_lines((line for token in tokens for line in _lines(token, style)), sys.stdout)


def _lines(token: TokenStatus, style: Style) -> Iterator[str]:
    yield f"{style.text(token.url)}: {token.state}\n"
    yield f"  issuer: {style.text(token.issuer)}\n"
    if token.scopes:
        yield f"  scopes: {style.text(' '.join(token.scopes))}\n"
    if token.expires_at is not None:
        yield f"  expires: {token.expires_at}\n"


COMMANDS = (
    Command(
        "auth",
        "Log in to servers that require authorization.",
        (
            Option(ARGUMENTS, "action ACTION", "login, status or logout", choices=("login", "status", "logout")),
            Option(ARGUMENTS, "url URL", "the URL of the server", nargs="?"),
            CLIENT,
            Option(
                AUTHORIZATION,
                "--callback-port PORT",
                "port of the redirect URI, http://127.0.0.1:PORT/callback, if that is registered (default: any)",
                type=whole_number("a port", 1, 65535),
                default=0,
            ),
            TEXT_OR_JSON,
        ),
        usage="[OPTIONS] login URL\n[OPTIONS] status [URL]\n[OPTIONS] logout URL",
        examples="""\
mcproof auth login https://host/mcp  log in with the browser, for all later commands
mcproof auth status  list the servers with a stored token
mcproof auth logout https://host/mcp  revoke and delete the token
""",
        notes="""\
Tokens are stored in the state folder of the user, readable by the user only. `auth status URL` exits with 1 if no token
is stored for it.
""",
        run=_auth,
    ),
)
