"""Texts about rules, as Markdown for an editor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.checks.reporting import rule_facts
from mcproof.checks.rule import find_rule
from mcproof.core.errors import UsageError
from mcproof.lsp.ignore_entries import rules_on
from mcproof.report.phrases import help_uri

if TYPE_CHECKING:
    from mcproof.checks.findings import RuleFacts

LONGEST_WORD = 60
_QUOTED = re.compile(r"""["']([\w-]+)["']|^\s*([\w-]+)\s*=""")


def rule_text(rule: RuleFacts) -> str:
    """The text of a rule: what it reports, why, how to fix it, and a link to its page."""
    parts = [f"**{rule.id}** · {rule.ruleset} · {rule.severity}", rule.summary]
    parts += [f"**Why** {rule.why}"] if rule.why else []
    parts += [f"**Fix** {rule.fix}"] if rule.fix else []
    return "\n\n".join([*parts, f"[{rule.id}]({help_uri(rule)})"])


def rule_at(line: str, column: int, *, is_settings: bool) -> tuple[int, int, RuleFacts] | None:
    """The rule that a comment or a setting names at a column, with the columns of its name."""
    words = rules_on(line)
    if is_settings:
        words = (
            (found.start(group), found.end(group), found[group])
            for found in _QUOTED.finditer(line)
            for group in (1, 2)
            if found[group]
        )
    for start, end, word in words:
        if start <= column <= end:
            try:
                return start, end, rule_facts(find_rule(word[:LONGEST_WORD]))
            except UsageError:
                return None
    return None
