"""What tests of several parts need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.finding import Problem
from mcproof.registry import find_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.registry import Rule


@pytest.fixture
def broken_rule(monkeypatch: pytest.MonkeyPatch) -> Rule:
    """A rule that yields one problem and then fails, as long as the test runs."""
    rule = find_rule("SCH-002")

    def fails(tree: object) -> Iterator[Problem]:
        yield Problem("seen before the failure")
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(rule, "check", fails)
    return rule
