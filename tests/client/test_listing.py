"""Listing: pages, cursors, limits, and capabilities that are not served."""

from __future__ import annotations

import pytest

from mcproof.client import listing
from servers.raw import TOOLS

from .running import captured, command, document, noted, tool_names


def test_every_list_is_read_to_its_last_page() -> None:
    capture = captured(command("pages"))
    found = document(capture)
    for key in ("tools", "resources", "resourceTemplates", "prompts"):
        assert [each["name"] for each in found[key]] == [f"{key} 1", f"{key} 2", f"{key} 3"]
    assert capture.connection.anomalies == ()
    assert capture.connection.unserved == ()


def test_only_what_is_declared_is_asked_for() -> None:
    assert list(document(captured(command("undeclared")))) == ["server", "initialize", "prompts"]


def test_without_any_capabilities_the_tools_are_asked_for() -> None:
    assert list(document(captured(command("no-capabilities")))) == ["server", "initialize", "tools"]


def test_a_list_that_is_declared_and_not_served_is_reported_and_templates_are_optional() -> None:
    capture = captured(command("not-served"))
    assert capture.connection.unserved == (
        ("resources/list", "error -32601: Method not found: resources/list"),
        ("prompts/list", "error -32601: Method not found: prompts/list"),
    )
    assert document(capture)["resources"] == []


@pytest.mark.parametrize(
    ("fault", "expected", "names"),
    [
        ("cursor-loop", ("cursor-loop", "the cursor 'a' is repeated"), ["find_book"] * 3),
        ("number-cursor", ("bad-cursor", "`nextCursor` is a number"), ["find_book", "lend_book"]),
    ],
)
def test_paging_that_goes_wrong_keeps_what_came(fault: str, expected: tuple[str, str], names: list[str]) -> None:
    capture = captured(command(fault))
    assert noted(capture) == [expected]
    assert capture.connection.anomalies[0].method == "tools/list"
    assert tool_names(capture) == names


@pytest.mark.parametrize(
    ("limit", "value", "detail", "count"),
    [
        ("MOST_PAGES", 5, "more than 5 pages", 10),
        ("MOST_ITEMS", 7, "more than 7 items", 8),
        ("MOST_BYTES", 1000, "more than 1,000 bytes", 8),
    ],
)
def test_pages_without_end_are_left(
    limit: str, value: int, detail: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, limit, value)
    capture = captured(command("endless-pages"))
    assert noted(capture) == [("endless-pages", detail)]
    assert len(document(capture)["tools"]) == count


@pytest.mark.parametrize(
    ("fault", "instead"),
    [("tools-not-a-list", "`tools` is an object"), ("no-tools-key", "the result has no `tools`")],
)
def test_an_answer_without_a_list_serves_nothing(fault: str, instead: str) -> None:
    capture = captured(command(fault))
    assert capture.connection.unserved == (("tools/list", instead),)
    assert document(capture)["tools"] == []


def test_what_stands_in_a_list_is_kept_as_it_is() -> None:
    assert document(captured(command("odd-tools")))["tools"] == [None, 7, "find_book", [], TOOLS[0]]
