"""`mcproof serve token`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mcproof.services.store.database import open_database
from mcproof.services.store.queries import find_token

from .running import fails, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store.sqlite")


def test_a_token_is_printed_once_and_listed_without_its_secret(store: str) -> None:
    created = run("serve", "token", "create", "ci", "--server", "books", "--days", "30", "--database", store)
    assert created.returncode == 0, created.stderr
    token = created.stdout.strip()
    assert re.fullmatch(r"mcproof_[0-9a-f]{16}_[\w-]{43}", token)
    assert "created the token ci for record, valid for 30 days; it is not shown again" in created.stderr
    assert token not in created.stderr
    listed = run("serve", "token", "list", "--database", store).stdout
    assert re.fullmatch(r"ci  record  books  expires \d{4}-\d\d-\d\d\n", listed)
    database = open_database(store)
    assert find_token(database, token) is not None
    assert run("serve", "token", "revoke", "ci", "--database", store).stderr == "mcproof: revoked the token ci\n"
    assert find_token(database, token) is None
    database.close()
    assert run("serve", "token", "list", "--database", store).stdout == "no tokens\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["token"], "needs create NAME, list or revoke NAME"),
        (["token", "creat", "x"], "needs create NAME, list or revoke NAME (did you mean `create`?)"),
        (["token", "create"], "`token create` takes the name of one token"),
        (["token", "list", "x"], "`token list` takes no name"),
        (["token", "list", "--scope", "read"], "--scope, --server and --days are for `token create`"),
        (["token", "create", " "], "the name of a token has 1 to 100 printable characters"),
        (["token", "create", "x", "--scope", "read", "--server", "y"], "--server is for the scope `record`"),
        (["token", "create", "x", "--days", "0"], "0"),
        (["token", "revoke", "x"], "there is no token `x`"),
        (["tokens"], "`mcproof serve` takes no argument `tokens`"),
        (["--scope", "read"], "--scope, --server and --days are for `token create`"),
    ],
)
def test_a_mistake_is_reported(store: str, words: list[str], message: str) -> None:
    assert message in fails("serve", *words, "--database", store)
