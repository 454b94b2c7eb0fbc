"""Sentences and phrases that several formats share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.console import plural, shell_word
from mcproof.results.run import BROKEN

if TYPE_CHECKING:
    from mcproof.results.run import Gate, TargetResult

COUNTED = {"tools": "tool", "resources": "resource", "templates": "template", "prompts": "prompt"}
CHANGE_WORDS = {"error": "breaking", "warning": "cannot tell", "note": "compatible"}
"""The levels of changes, in words."""


def scope_of(result: TargetResult) -> str:
    """Return the numbers of checked items, such as "4 tools, 1 prompt"."""
    counted = [
        plural(result.counts.get(key, 0), word)
        for key, word in COUNTED.items()
        if result.counts.get(key) or key == "tools"
    ]
    return ", ".join(counted)


def failing_words(fail_on: str) -> str:
    """Return which findings fail a run, as a phrase after their number."""
    if fail_on == BROKEN:
        return f"at level error in the server's behaviour (--fail-on {BROKEN})"
    return f"at or above level {fail_on} (--fail-on)"


def fixing_command(result: TargetResult) -> str:
    """Return the command that applies the automatic fixes."""
    target = shell_word(result.target) if result.connection is None else "FILE"
    how = "--fix" if result.connection is not None or result.findings[0].file == result.target else "--diff"
    rulesets = {each.rule.ruleset for each in result.findings if each.fix is not None}
    is_source = result.findings[0].file.endswith(".py")  # where `lint` runs the polish rules by default
    return f"mcproof {'lint' if rulesets == {'polish'} and is_source else 'schema-lint'} {target} {how}"


def gate_sentence(gate: Gate) -> str:
    """Return the actual value of a gate and its limit."""
    if gate.gate == "min-grade":
        return f"grade {gate.actual}, at least {gate.limit} required"
    if gate.gate == "tested":
        return f"{plural(int(gate.actual), 'request')} judged, at least {gate.limit} required"
    return f"{gate.actual:,} tokens, at most {gate.limit:,} allowed"
