"""Sentences, links and names of files that several formats share.

Sentences about counts, gates and fixes, about probes, cases and tests, and about trust; links to the documentation;
paths from the root of a repository, as CI systems want them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.console import plural, shell_word
from mcproof.runs.results import BROKEN, COMPLETE

if TYPE_CHECKING:
    from mcproof.runs.results import Gate, TargetResult

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


def fixing_hint(result: TargetResult) -> tuple[str, str]:
    """Return how many findings have an automatic fix, and the command that applies them.

    There is no command for a live server: its schemas are in its code, often derived from signatures.
    """
    fixes = [(each.rule.ruleset, each.fix.key) for each in result.findings if each.fix is not None]
    if not fixes:
        return "", ""
    if result.connection is not None:
        keys = " and ".join(f"`{key}`" for key in sorted({key for _, key in fixes}))
        return f"{len(fixes):,} can be fixed by setting {keys} in the server's code", ""
    how = "--fix" if result.findings[0].file == result.target else "--diff"
    is_source = result.findings[0].file.endswith(".py")  # where `lint` runs the polish rules by default
    command = "lint" if is_source and {ruleset for ruleset, _ in fixes} == {"polish"} else "schema-lint"
    return f"{len(fixes):,} can be fixed automatically", f"mcproof {command} {shell_word(result.target)} {how}"


def code_help_lines(result: TargetResult, rule: str) -> list[str]:
    """Return what to write in the server's code about the findings of a rule; empty if a file can be fixed instead.

    Names and values in it come from the server: renderers escape the lines like any other text.
    """
    lines = []
    for each in result.code_help:
        if each.rule == rule:
            lines.append(f"{each.framework}, {each.place}:")
            lines += [f"    {line}".rstrip() for line in each.code.splitlines()]
    return lines


def gate_sentence(gate: Gate) -> str:
    """Return the actual value of a gate and its limit."""
    if gate.gate == "min-grade":
        return f"grade {gate.actual}, at least {gate.limit} required"
    if gate.gate == "tested":
        return f"{plural(int(gate.actual), 'request')} judged, at least {gate.limit} required"
    if gate.gate == "tested-tools":
        return f"{gate.actual} of {plural(int(gate.limit), 'tool')} tested, all required"
    if gate.gate == "min-clients":
        return f"does not break in {plural(int(gate.actual), 'client')}, at least {gate.limit} required"
    if gate.gate.startswith("require "):
        client = gate.gate.removeprefix("require ")
        return f"does not break in {client}, as required" if gate.passed else f"breaks in {client}, which is required"
    if gate.gate == "verdict":
        return f"verdict {gate.actual}" + ("" if gate.passed else f" (--fail-on-verdict {gate.limit})")
    if gate.gate == "locked":
        return f"{gate.actual} since {gate.limit}" if not gate.passed else f"equals {gate.limit}"
    if gate.gate == COMPLETE:
        return f"{gate.actual}: incomplete"
    return f"{gate.actual:,} tokens, at most {gate.limit:,} allowed"
