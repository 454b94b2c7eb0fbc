"""Tokens for the REST API, in both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from mcproof.core.errors import UsageError
from mcproof.services.store.queries import create_token, find_token, list_tokens, revoke_token
from mcproof.services.store.tables import TOKENS

if TYPE_CHECKING:
    from mcproof.services.store.database import Database

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def create(database: Database, name: str = "ci", *scopes: str, server: str | None = None) -> str:
    return create_token(database, name, scopes or ("record",), server=server, days=90, now=NOW)


def test_a_token_is_found_by_what_its_creator_was_shown(database: Database) -> None:
    found = find_token(database, create(database, "ci", "record", "read", server="books"), NOW)
    assert found is not None
    assert found == list_tokens(database)[0]
    assert (found.name, found.scopes, found.server) == ("ci", ("read", "record"), "books")
    assert (found.created, found.expires) == ("2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z")
    assert (found.permits("record"), found.permits("lint")) == (True, False)


def test_the_secret_is_not_in_the_store(database: Database) -> None:
    secret = create(database)[len("mcproof_") + 17 :]
    with database.reading() as connection:
        assert secret not in str(connection.execute(select(TOKENS)).all())


def test_a_wrong_token_is_not_found(database: Database) -> None:
    token, other = create(database), create(database, "other")
    mixed = token[: len("mcproof_") + 16] + other[len("mcproof_") + 16 :]
    for wrong in ("", "mcproof_", token[:-1], token + "a", f"{token}\n", mixed, "mcproof_" + "0" * 16 + token[24:]):
        assert find_token(database, wrong, NOW) is None, wrong


def test_a_token_expires_and_is_still_listed(database: Database) -> None:
    token = create(database)
    assert find_token(database, token, NOW + timedelta(days=90, seconds=-1)) is not None
    assert find_token(database, token, NOW + timedelta(days=90)) is None
    assert [each.name for each in list_tokens(database)] == ["ci"]


def test_a_revoked_token_is_gone(database: Database) -> None:
    token = create(database)
    revoke_token(database, "ci")
    assert find_token(database, token, NOW) is None
    with pytest.raises(UsageError, match="there is no token `ci`"):
        revoke_token(database, "ci")


def test_a_name_is_used_once(database: Database) -> None:
    create(database)
    with pytest.raises(UsageError, match="there is a token `ci` already"):
        create(database)


@pytest.mark.parametrize(
    ("server", "name", "is_permitted"),
    [
        (None, "books", True),
        ("books", "books", True),
        ("books", "bookshop", False),
        ("team-a/*", "team-a/books", True),
        ("team-a/*", "team-b/books", False),
        ("[x]", "[x]", True),
    ],
)
def test_a_token_may_be_for_some_servers_only(
    database: Database, server: str | None, name: str, *, is_permitted: bool
) -> None:
    found = find_token(database, create(database, server=server), NOW)
    assert found is not None
    assert found.permits_server(name) == is_permitted
