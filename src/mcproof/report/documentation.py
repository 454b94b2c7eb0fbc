"""Links to the documentation site, under a base that users can replace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcproof.checks.findings import RuleFacts

HOME = "https://github.com/mcproof/mcproof"
SITE = "https://mcproof.github.io/mcproof"
VARIABLE = "MCPROOF_DOCS_URL"
"""The environment variable with another base: the URL of a site that `make site` built."""


def page_url(page: str) -> str:
    """Return the URL of a page, such as `suites/`."""
    return f"{(os.environ.get(VARIABLE) or SITE).rstrip('/')}/{page}"


def help_uri(rule: RuleFacts) -> str:
    """Return the URL of the page of a rule, or of the page about changes."""
    return page_url(f"changes/#{rule.id}" if rule.ruleset == "diff" else f"rules/{rule.id}/")
