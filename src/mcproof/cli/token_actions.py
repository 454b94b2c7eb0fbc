"""`mcproof serve token create | list | revoke`: the tokens of the REST API."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcproof.cli.parser import whole_number
from mcproof.cli.record_options import parse_store
from mcproof.core.console import Style, display_width, print_lines, remark
from mcproof.core.errors import OK, UsageError, nearest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from mcproof.cli.parser import Parser
    from mcproof.services.store.database import Database
    from mcproof.services.store.queries import StoredToken

ACTIONS = ("create", "list", "revoke")
TOKENS = "Tokens"
"""The title of a group of options."""
SCOPES = ("read", "lint", "record")
DAYS = 90


def add_tokens(parser: Parser) -> None:
    group = parser.group(TOKENS)
    group.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        metavar="SCOPE",
        help="what a new token is for: read, lint or record (the default); repeatable",
    )
    group.add_argument("--server", metavar="NAME", help="a new token records only this server; may have `*`")
    group.add_argument(
        "--days",
        type=whole_number("a number of days", 1, 3650),
        metavar="N",
        help=f"a new token expires after this time (default {DAYS})",
    )


def run_token_action(words: list[str], options: argparse.Namespace) -> int:
    """Create, list or revoke tokens; `words` are those after `token`."""
    action, *names = words or [""]
    if action not in ACTIONS:
        hint = nearest(action, list(ACTIONS)) if action else ""
        raise UsageError(f"`mcproof serve token` needs create NAME, list or revoke NAME{hint}")
    if len(names) != (action != "list"):
        raise UsageError(f"`token {action}` takes {'no name' if action == 'list' else 'the name of one token'}")
    if action != "create" and (options.scope or options.server is not None or options.days is not None):
        raise UsageError("--scope, --server and --days are for `token create`")
    from mcproof.services.store.database import open_database

    database = open_database(parse_store(options).database)
    from mcproof.services.store.queries import list_tokens, revoke_token  # after the check that SQLAlchemy is installed

    try:
        if action == "list":
            print_lines(_table(list_tokens(database), Style.of(sys.stdout)), sys.stdout)
        elif action == "revoke":
            revoke_token(database, names[0])
            remark(f"revoked the token {names[0]}")
        else:
            sys.stdout.write(_created(database, names[0], options) + "\n")
    finally:
        database.close()
    return OK


def _created(database: Database, name: str, options: argparse.Namespace) -> str:
    from mcproof.services.store.queries import LONGEST_NAME, create_token

    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise UsageError(f"the name of a token has 1 to {LONGEST_NAME} printable characters")
    scopes = tuple(options.scope or ("record",))
    if options.server is not None and "record" not in scopes:
        raise UsageError("--server is for the scope `record`")
    days = options.days or DAYS
    token = create_token(database, name, scopes, server=options.server, days=days, now=datetime.now(UTC))
    remark(f"created the token {name} for {', '.join(scopes)}, valid for {days} days; it is not shown again")
    return token


def _table(tokens: list[StoredToken], style: Style) -> Iterator[str]:
    if not tokens:
        yield "no tokens\n"
        return
    now = datetime.now(UTC)
    rows = [
        [
            style.text(each.name),
            ", ".join(each.scopes),
            style.text(each.server or "every server") if each.permits("record") else "",
            f"{'expired' if each.is_expired(now) else 'expires'} {each.expires[:10]}",
        ]
        for each in tokens
    ]
    widths = [max(display_width(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        cells = (cell + " " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip() + "\n"
