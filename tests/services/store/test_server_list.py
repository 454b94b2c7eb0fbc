"""Lists of servers, and counts of all of them, in both databases."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.core.errors import UsageError
from mcproof.services.store.queries import list_findings, list_runs
from mcproof.services.store.recording import record_run
from mcproof.services.store.servers import ServerFilter, find_server, list_servers, recent_changes, recent_days, totals

from .runs import BAD, GOOD, judged, linted, scanned

if TYPE_CHECKING:
    from mcproof.services.store.database import Database


@pytest.fixture
def filled(database: Database) -> Database:
    for number in range(5):
        data = GOOD if number % 2 else BAD
        run = linted(data, "x", started=f"2026-01-0{number + 1}T00:00:00Z")
        record_run(database, run, [data.decode()], f"server {number}")
    return database


def names(database: Database, **wanted: Any) -> list[str]:
    return [each.name[-1] for each in list_servers(database, ServerFilter(**wanted)).servers]


def test_servers_are_sorted(filled: Database) -> None:
    assert names(filled, sort="name") == list("01234")
    assert names(filled, sort="-name") == list("43210")
    assert names(filled, sort="-score")[:2] == ["3", "1"]
    assert names(filled, sort="seen") == list("01234")


@pytest.mark.parametrize("sort", ["name", "-score", "tokens", "-trust", "-seen"])
def test_pages_have_every_server_once(filled: Database, sort: str) -> None:
    seen: list[str] = []
    cursor = ""
    for _ in range(3):
        page = list_servers(filled, ServerFilter(sort=sort, cursor=cursor, size=2))
        seen += [each.name for each in page.servers]
        cursor = page.next
    assert sorted(seen) == [f"server {number}" for number in range(5)]
    assert cursor == ""


def test_servers_are_filtered(filled: Database) -> None:
    assert names(filled, sort="name", grade="A") == ["1", "3"]
    assert names(filled, sort="name", rule="tool-no-description") == ["0", "2", "4"]
    assert names(filled, verdict="block") == names(filled, client="cursor") == []
    record_run(filled, judged(BAD, "x"), [None], "server 1")
    record_run(filled, scanned(BAD, "x"), [None], "server 2")
    found = find_server(filled, "server 2")
    assert found is not None
    assert names(filled, verdict=str(found.verdict)) == ["2"]


def test_a_search_finds_the_start_of_every_word(filled: Database) -> None:
    assert names(filled, search="SERV 3") == ["3"]
    assert names(filled, search="erver") == []
    assert len(names(filled, search="%_")) == 5


def test_a_search_does_not_depend_on_the_order_of_a_language(database: Database) -> None:
    record_run(database, linted(GOOD, "x"), [None], "chata 1")  # in Czech, `ch` is a letter after `h`
    assert names(database, search="c") == ["1"]


def test_unknown_numbers_come_last_and_are_none(filled: Database) -> None:
    record_run(filled, linted(b"not json", "x"), [None], "server 9")
    page = list_servers(filled, ServerFilter(sort="-score")).servers
    assert (page[-1].name, page[-1].score, page[-1].is_reachable) == ("server 9", None, False)


def cursor_of(*values: Any) -> str:
    return urlsafe_b64encode(json.dumps(values).encode()).decode()


@pytest.mark.parametrize(
    ("sort", "cursor"),
    [
        *(("name", word) for word in ("x", "e30=", "W10=", "NQ==", "bnVsbA==", "\N{SNOWMAN}")),
        ("name", cursor_of("-name", "x", 1)),
        ("name", cursor_of("name", 1, 1)),
        ("name", cursor_of("name", None, 1)),
        ("name", cursor_of("name", "x", 2**70)),
        ("name", cursor_of("name", "x", "1")),
        ("-score", cursor_of("-score", "x", 1)),
        ("-score", cursor_of("-score", 2**70, 1)),
        ("-score", cursor_of("-score", 2**62, 1)),
        ("-score", cursor_of("-score", 1, 2**31)),
        ("-score", cursor_of("-score", True, 1)),
    ],
)
def test_a_wrong_cursor_is_refused(database: Database, sort: str, cursor: str) -> None:
    with pytest.raises(UsageError, match="the cursor is not one of this list"):
        list_servers(database, ServerFilter(sort=sort, cursor=cursor))


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "\U0010ffff", "%", "'"])
def test_no_text_of_a_filter_is_an_error(filled: Database, text: str) -> None:
    for field in ("grade", "verdict", "client", "rule"):
        assert names(filled, **{field: text}) == []
    names(filled, search=text)
    assert find_server(filled, text) is None
    assert list_runs(filled, text) is None
    assert list_findings(filled, text) is None
    assert list_servers(filled, ServerFilter(sort="name", cursor=cursor_of("name", text, 1))) is not None


def test_an_unknown_order_is_refused(database: Database) -> None:
    with pytest.raises(UsageError, match="unknown order `size`"):
        list_servers(database, ServerFilter(sort="size"))


def test_everything_is_counted(filled: Database) -> None:
    counted = totals(filled)
    assert counted.servers == 5
    assert sum(counted.grades.values()) == 5
    assert counted.grades["A"] == 2
    record_run(filled, linted(GOOD, "x", started="2026-02-01T00:00:00Z"), [GOOD.decode()], "server 0")
    assert totals(filled).grades["A"] == 3
    assert sum(totals(filled).grades.values()) == 5


def test_days_have_the_mean_of_their_scores(filled: Database) -> None:
    record_run(filled, linted(GOOD, "x", started="2026-01-01T12:00:00Z"), [None], "server 1")
    days = recent_days(filled, 5)
    assert [each.day for each in days] == [f"2026-01-0{number}" for number in range(1, 6)]
    one, other = (linted(data).targets[0].scores.grade for data in (GOOD, BAD))
    assert one is not None
    assert other is not None
    assert (days[0].runs, days[0].mean) == (2, (one.score + other.score) / 2)


def test_changes_are_told_in_words(filled: Database) -> None:
    assert recent_changes(filled, "2020") == []
    record_run(filled, linted(BAD, "x", started="2026-02-01T00:00:00Z"), [BAD.decode()], "server 1")
    record_run(filled, linted(b"no", "x", started="2026-02-02T00:00:00Z"), [None], "server 2")
    gone, worse = recent_changes(filled, "2026-02")
    assert (gone.name, gone.changes) == ("server 2", "cannot be checked any more")
    assert worse.changes is not None
    assert worse.changes.startswith("grade A → ")
    assert worse.changes.endswith("its catalog changed")
