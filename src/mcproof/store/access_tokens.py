"""Tokens for the REST API: created once, stored as hashes, with scopes and an end."""

from __future__ import annotations

import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, insert, select

from mcproof.core.errors import UsageError, nearest
from mcproof.store.tables import TOKENS

if TYPE_CHECKING:
    from sqlalchemy import Row

    from mcproof.store.database import Database

SCOPES = ("read", "lint", "record")
LONGEST_NAME = 100
_TOKEN = re.compile(r"mcproof_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class StoredToken(NamedTuple):
    """A token without its secret."""

    name: str
    scopes: tuple[str, ...]
    server: str | None
    """The name or pattern of the servers that it may record; None for all."""
    created: str
    expires: str

    def permits(self, scope: str) -> bool:
        return scope in self.scopes

    def permits_server(self, name: str) -> bool:
        """Whether it may record runs of a server."""
        return self.server is None or name == self.server or fnmatchcase(name, self.server)

    def is_expired(self, now: datetime) -> bool:
        return self.expires <= now.strftime(_TIME)


def create_token(
    database: Database, name: str, scopes: tuple[str, ...], *, server: str | None = None, days: int, now: datetime
) -> str:
    """Store a new token, and return it: it cannot be shown again. Raises a UsageError if the name is taken."""
    identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    values = {
        "id": identity,
        "name": name,
        "hash": _hash(secret),
        "scopes": ",".join(scope for scope in SCOPES if scope in scopes),
        "server": server,
        "created": now.strftime(_TIME),
        "expires": (now + timedelta(days=days)).strftime(_TIME),
    }
    with database.writing() as connection:
        if connection.execute(select(TOKENS.c.id).where(TOKENS.c.name == name)).scalar() is not None:
            raise UsageError(f"there is a token `{name}` already; revoke it first, or use another name")
        connection.execute(insert(TOKENS).values(values))
    return f"mcproof_{identity}_{secret}"


def list_tokens(database: Database) -> list[StoredToken]:
    """Return all tokens by name, also those that have expired."""
    with database.reading() as connection:
        return [_token(row) for row in connection.execute(select(TOKENS).order_by(TOKENS.c.name))]


def revoke_token(database: Database, name: str) -> None:
    """Delete a token. Raises a UsageError if no token has that name."""
    with database.writing() as connection:
        if not connection.execute(delete(TOKENS).where(TOKENS.c.name == name)).rowcount:
            known = list(connection.execute(select(TOKENS.c.name)).scalars())
            raise UsageError(f"there is no token `{name}`{nearest(name, known)}")


def find_token(database: Database, text: str, now: datetime | None = None) -> StoredToken | None:
    """Return the token that a client sends; None if it is unknown or has expired.

    It is found by its public part, and its secret part is compared in constant time.
    """
    parts = _TOKEN.fullmatch(text)
    if parts is None:
        return None
    with database.reading() as connection:
        row = connection.execute(select(TOKENS).where(TOKENS.c.id == parts[1])).first()
    known = row.hash if row is not None else _hash("")
    is_right = hmac.compare_digest(known, _hash(parts[2]))
    if row is None or not is_right:
        return None
    token = _token(row)
    return None if token.is_expired(now or datetime.now(UTC)) else token


def _hash(secret: str) -> str:
    """Return the hash of a secret, which has 256 random bits, so that no salt and no slow hash are needed."""
    return sha256(secret.encode()).hexdigest()


def _token(row: Row[Any]) -> StoredToken:
    return StoredToken(row.name, tuple(row.scopes.split(",")), row.server, row.created, row.expires)
