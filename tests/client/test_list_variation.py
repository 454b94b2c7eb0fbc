"""The lists of a stateless server: members for caching, and the same tools on every connection."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.client.listing import caching_faults, variation

GOOD = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
A, B = {"name": "a"}, {"name": "b"}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"ttlMs": -1}, "`ttlMs` is not a non-negative number"),
        ({"ttlMs": True}, "`ttlMs` is not a non-negative number"),
        ({"ttlMs": "60"}, "`ttlMs` is not a non-negative number"),
        ({"cacheScope": "shared"}, "`cacheScope` is neither `public` nor `private`"),
        ({"cacheScope": ["public"]}, "`cacheScope` is neither `public` nor `private`"),
        ({"resultType": "input_required"}, "`resultType` is not `complete`"),
    ],
)
def test_a_member_with_a_wrong_value_is_reported(change: dict[str, Any], fault: str) -> None:
    assert list(caching_faults({**GOOD, **change}, [])) == [fault]


def test_every_member_is_required() -> None:
    assert list(caching_faults({}, [])) == ["`resultType` is missing", "`ttlMs` is missing", "`cacheScope` is missing"]
    assert list(caching_faults(GOOD, [])) == []


def test_pages_with_different_scopes_are_reported_once() -> None:
    scopes: list[str] = []
    pages = [GOOD, {**GOOD, "cacheScope": "private"}, {**GOOD, "cacheScope": "private"}]
    assert [list(caching_faults(page, scopes)) for page in pages] == [
        [],
        ["`cacheScope` is `private` on one page and `public` on another"],
        [],
    ]


def test_equal_lists_do_not_vary() -> None:
    assert variation([A, B], [dict(A), dict(B)]) is None


@pytest.mark.parametrize(
    ("second", "kind", "detail"),
    [
        ([B, A], "list-order-varies", "a second connection lists the tools in another order"),
        ([A], "list-varies", "`b` is listed on one of two connections only"),
        ([A, {"name": "b", "title": "B"}], "list-varies", "a second connection lists other details"),
    ],
)
def test_another_list_is_reported(second: list[Any], kind: str, detail: str) -> None:
    found = variation([A, B], second)
    assert found is not None
    assert (found.kind, found.detail, found.method) == (kind, detail, "tools/list")
