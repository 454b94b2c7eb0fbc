"""The table of advisories is consistent."""

from __future__ import annotations

import re
from datetime import date

import pytest

from mcproof.checks.advisories import Advisory, advisory_table, conditions
from mcproof.checks.findings import level_of
from mcproof.core.observations.source import in_range

ADVISORIES = advisory_table().advisories
each_advisory = pytest.mark.parametrize("advisory", ADVISORIES, ids=[each.id for each in ADVISORIES])


def test_the_table_has_a_date_and_no_entry_twice() -> None:
    assert date.fromisoformat(advisory_table().checked) <= date(2100, 1, 1)
    keys = [(each.package, each.id) for each in ADVISORIES]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


@each_advisory
def test_an_entry_has_a_range_that_ends_where_it_is_fixed(advisory: Advisory) -> None:
    assert in_range("0.0.0", advisory.vulnerable, advisory.ecosystem) is not None
    if advisory.fixed is not None:
        assert in_range(advisory.fixed, advisory.vulnerable, advisory.ecosystem) is False


@each_advisory
def test_an_entry_says_where_it_is_published_and_how_it_was_confirmed(advisory: Advisory) -> None:
    assert advisory.reference.startswith("https://")
    assert advisory.confirmed
    assert advisory.summary.endswith(".")
    assert level_of(advisory.severity)
    others = [need for need in advisory.needs if need not in ("http", "windows")]
    assert all(need in ("exploded-template", "undecided") or need.startswith("code:") for need in others)
    assert bool(others) == bool(advisory.when)
    assert advisory.when in conditions(advisory)
    is_assigned = re.match(r"CVE-\d{4}-\d+$|GHSA(-\w{4}){3}$", advisory.id) is not None
    assert is_assigned or advisory.note or "malicious" in advisory.kind
