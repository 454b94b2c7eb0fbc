"""`[store]` and `[[watch]]` of a configuration."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from mcproof.core.errors import SettingLocation
from mcproof.runs.config import StoreSettings, WatchEntry, Webhook
from mcproof.targets.client_config import ConfiguredServer

from .test_config import VALIDATOR, here, read, refusal

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here"]

WATCH = "[[watch]]\ntarget = 'https://host.example/mcp'\nevery = '15m'\n"
WEBHOOK = "webhook = {url = 'https://hooks.example/x', secret = '${HOOK}'}"


def test_a_watch_has_everything_about_a_server() -> None:
    [watch] = read(f"""\
[[watch]]
name = "books"
target = {{url = "https://host.example/mcp", headers = {{Authorization = "Bearer ${{TOKEN}}"}}}}
every = "6h"
checks = ["lint", "scan"]
min-grade = "b"
max-tokens = 4000
fail-on-verdict = "review"
{WEBHOOK}
""").watches
    entry = {"url": "https://host.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    assert watch == WatchEntry(
        name="books",
        target=ConfiguredServer("", entry, "mcproof.toml", 3),
        every=21_600,
        location=SettingLocation("mcproof.toml", 1),
        checks=("lint", "scan"),
        min_grade="B",
        max_tokens=4000,
        fail_on_verdict="review",
        webhook=Webhook("https://hooks.example/x", "HOOK"),
    )


def test_a_watch_without_a_name_has_that_of_its_target() -> None:
    watches = read(
        f"{WATCH}[[watch]]\ntarget = 'books'\nevery = '10s'\n[[watch]]\ntarget = 'x.json'\nevery = '30d'\n"
        "[targets]\nbooks = ['python', 'server.py']",
        "folder/mcproof.toml",
    ).watches
    assert [each.name for each in watches] == ["https://host.example/mcp", "books", "x.json"]
    assert [each.every for each in watches] == [900, 10, 2_592_000]
    books = watches[1].target
    assert isinstance(books, ConfiguredServer)
    assert books.entry["command"] == "python"
    assert watches[2].target == "folder/x.json"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("[watch]\ntarget = 'x'", "`watch` is a table; it must be a list of tables, each under `[[watch]]`", 1),
        ("[[watch]]\nevery = '1h'", "`watch[0]` needs `target`", 1),
        ("[[watch]]\ntarget = 'x'", "`watch[0]` needs `every`", 1),
        (f"{WATCH}evry = '1h'", "unknown key `evry` (did you mean `every`?)", 4),
        (f"{WATCH}interval = '1h'", "unknown key `interval`; there are name, target, every", 4),
        ("[[watch]]\ntarget = 'x'\nevery = 15", "`watch[0].every` is a number; it must be a duration such as", 3),
        ("[[watch]]\ntarget = 'x'\nevery = '5 minutes'", "`watch[0].every` is `5 minutes`; it must be a duration", 3),
        ("[[watch]]\ntarget = 'x'\nevery = '9s'", "`watch[0].every` is `9s`; it must be from 10s to 30d", 3),
        ("[[watch]]\ntarget = 'x'\nevery = '31d'", "it must be from 10s to 30d", 3),
        (f"{WATCH}checks = ['lnt']", "`watch[0].checks[0]` cannot be `lnt` (did you mean `lint`?)", 4),
        (f"{WATCH}checks = []", "`watch[0].checks` is empty", 4),
        (f"{WATCH}min-grade = 'E'", "`watch[0].min-grade` cannot be `E`", 4),
        (f"{WATCH}fail-on-verdict = 'block'", "`watch[0].fail-on-verdict` is a gate of `scan`, which `checks`", 4),
        (f"{WATCH}checks = ['scan']\nmax-tokens = 1", "`watch[0].max-tokens` is a gate of `lint`", 5),
        (f"{WATCH}webhook = 'https://x.example'", "`watch[0].webhook` is a string; it must be a table", 4),
        (f"{WATCH}webhook = {{url = 'https://x.example'}}", "`watch[0].webhook` needs `secret`", 4),
        (f"{WATCH}webhook = {{url = 'ftp://x', secret = '${{A}}'}}", "is not an http:// or https:// URL", 4),
        (f"{WATCH}webhook = {{url = 'https://x.example', secret = 'hunter2'}}", "must be an environment variable", 4),
        (f"{WATCH}webhook = {{uri = 'https://x.example'}}", "unknown key `uri` (did you mean `url`?)", 4),
        (f"{WATCH}{WATCH}", "two entries are named `https://host.example/mcp`; the other is at mcproof.toml:1", 4),
        ("[[watch]]\ntarget = ['x']\nevery = '1h'", "`watch[0]` needs `name`", 1),
        ("[[watch]]\ntarget = {url = 'x'}\nevery = '1h'\nname = 'x'", "is not an http:// or https:// URL", 2),
        (f"{WATCH}name = '{'x' * 501}'", "`watch[0].name` is longer than 500 characters", 4),
        ("[store]\npath = 'x'", "unknown key `path`; there are database, days, keep", 2),
        ("[store]\nkeep = 0", "`store.keep` must be 1 or more", 2),
        ("[store]\ndays = 1.5", "`store.days` is a number; it must be a whole number", 2),
        ("[store]\ndatabase = 'mysql://x'", "`store.database` must be a file, or postgresql://…", 2),
        ("[store]\ndatabase = 'postgresql://me:hunter2@host/x'", "`store.database` has a password; name", 2),
    ],
)
def test_a_mistake_is_reported_with_its_line(text: str, message: str, line: int) -> None:
    error = refusal(text)
    assert message in error.message
    assert "hunter2" not in error.message
    assert error.line == line


def test_the_store_is_a_file_beside_the_configuration_or_a_server() -> None:
    text = "[store]\ndatabase = 'runs.sqlite'\ndays = 90\nkeep = 100"
    assert read(text, "folder/mcproof.toml").store == StoreSettings("folder/runs.sqlite", 90, 100)
    url = "postgresql://me:${DB_PASSWORD}@host/x"
    assert read(f"[store]\ndatabase = '{url}'").store.database == url


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        (f"{WATCH}{WEBHOOK}\nchecks = ['lint', 'scan']\nmin-grade = 'b'", True),
        ("[store]\ndatabase = 'x.sqlite'\ndays = 1\nkeep = 1", True),
        ("[store]\ndatabase = 'postgres://host/x'", True),
        ("[store]\ndatabase = 'mysql://host/x'", False),
        ("[store]\ndatabase = ' '", False),
        (f"{WATCH}every2 = '1h'", False),
        ("[[watch]]\ntarget = 'x'\nevery = '1 h'", False),
        (f"{WATCH}checks = []", False),
        (f"{WATCH}webhook = {{url = 'https://x.example', secret = 'x'}}", False),
    ],
)
def test_the_schema_and_the_reader_agree_about_the_service(text: str, *, is_valid: bool) -> None:
    assert VALIDATOR.is_valid(tomllib.loads(text)) == is_valid
    if is_valid:
        read(text)
    else:
        refusal(text)


def test_a_path_that_no_file_can_have_is_refused(here: Path) -> None:
    assert not list(here.iterdir())
    assert "null character" in refusal('[[watch]]\ntarget = "a\\u0000"\nevery = "1h"').message
