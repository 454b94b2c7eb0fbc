"""Versions and ranges, as the two indexes define them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mcproof.core.observations.source import in_range, version_key

PEP440 = [
    "1.0.dev0",
    "1.0.dev1",
    "1.0a1.dev1",
    "1.0a1",
    "1.0a2",
    "1.0b1",
    "1.0rc1.dev2",
    "1.0rc1",
    "1.0",
    "1.0+local.1",
    "1.0.post1.dev1",
    "1.0.post1",
    "1.0.1",
    "1.1",
    "1.9",
    "1.10",
    "2.0a1",
    "2.0",
    "2025.1.14",
    "2025.7.1",
    "2025.11.25",
    "1!0.1",
]
"""In ascending order."""
SEMVER = [
    "0.0.5-0",
    "0.0.5",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.10",
    "1.2.0",
    "1.10.0",
    "2025.7.1",
]


@pytest.mark.parametrize(("ecosystem", "versions"), [("pypi", PEP440), ("npm", SEMVER)])
def test_versions_are_ordered(ecosystem: str, versions: list[str]) -> None:
    keys = [version_key(each, ecosystem) for each in versions]
    assert None not in keys
    for one, other in pairwise(keys):
        assert one is not None
        assert other is not None
        assert one < other


@pytest.mark.parametrize(
    ("one", "other", "ecosystem"),
    [
        ("1.0", "1.0.0", "pypi"),
        ("v1.0", "1.0", "pypi"),
        ("1.0-alpha_1", "1.0a1", "pypi"),
        ("1.0c1", "1.0rc1", "pypi"),
        ("1.0-1", "1.0.post1", "pypi"),
        ("2025.04.07", "2025.4.7", "pypi"),
        ("1.0.0+build.7", "1.0.0", "npm"),
        ("v1.2.3", "1.2.3", "npm"),
    ],
)
def test_versions_that_are_written_differently_are_equal(one: str, other: str, ecosystem: str) -> None:
    assert version_key(one, ecosystem) == version_key(other, ecosystem)


@pytest.mark.parametrize("text", ["", "latest", "1.x", "^1.2.3", ">=1", "1..2", "x" * 10_000, "1." * 60 + "1"])
@pytest.mark.parametrize("ecosystem", ["pypi", "npm"])
def test_what_is_not_a_version_has_no_key(text: str, ecosystem: str) -> None:
    assert version_key(text, ecosystem) is None
    assert in_range(text, "<2", ecosystem) is None


@pytest.mark.parametrize(
    ("version", "allowed", "ecosystem", "expected"),
    [
        ("0.1.15", ">=0.0.5,<0.1.16", "npm", True),
        ("0.1.16", ">=0.0.5,<0.1.16", "npm", False),
        ("0.0.4", ">=0.0.5,<0.1.16", "npm", False),
        ("0.1.16-1", ">=0.0.5,<0.1.16", "npm", True),
        ("1.9.4", "<1.10.0", "pypi", True),
        ("1.10.0rc1", "<1.10.0", "pypi", True),
        ("1.10", "<1.10.0", "pypi", False),
        ("0.1.11", "<=0.1.11", "pypi", True),
        ("0.1.12", "<=0.1.11", "pypi", False),
        ("1.0.16", ">1.0.15", "npm", True),
        ("1.2", "==1.2.0", "pypi", True),
        ("7.7.7", "*", "pypi", True),
    ],
)
def test_a_version_is_in_a_range_or_not(version: str, allowed: str, ecosystem: str, expected: bool) -> None:
    assert in_range(version, allowed, ecosystem) is expected


def test_a_bad_range_is_an_error_of_the_table() -> None:
    with pytest.raises(ValueError, match="not a range"):
        in_range("1.0", "<x", "pypi")
