"""Identical findings about several items: generators copy one definition into the schema of every tool that uses it."""

from __future__ import annotations

from marshal import dumps
from typing import TYPE_CHECKING

from mcproof.core.text.json_positions import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.linting.finding import Finding

_NO_REFERENCES = 2
"""The newest version of `marshal` that writes equal values as equal bytes."""


def number_twins(findings: Sequence[Finding]) -> dict[int, int]:
    """Number the findings that several items share, by their index: same rule, message, pointer and schema there.

    A finding about a live server's behaviour has its own evidence, so it is not shared.
    """
    alike: dict[tuple[str, str, str], list[int]] = {}
    for at, (rule, _, problem) in enumerate(findings):
        if problem.at and rule.ruleset != "wire":
            alike.setdefault((rule.id, problem.at, problem.message), []).append(at)
    numbers: dict[int, int] = {}
    written: dict[int, bytes] = {}
    latest = 0
    for indices in alike.values():
        if len(indices) > 1:
            for twins in _by_content(findings, indices, written):
                if len({findings[at].item.pointer for at in twins}) > 1:
                    latest += 1
                    numbers |= dict.fromkeys(twins, latest)
    return numbers


def _by_content(findings: Sequence[Finding], indices: list[int], written: dict[int, bytes]) -> list[list[int]]:
    """Group findings by the value that they point at; one that cannot be compared is left out.

    `written` keeps each value as bytes, by identity: several rules report the same schemas.
    """
    groups: dict[bytes, list[int]] = {}
    for at in indices:
        _, item, problem = findings[at]
        try:
            value = resolve(item.raw, problem.at)
            content = written.get(id(value))
            if content is None:
                content = written[id(value)] = dumps(value, _NO_REFERENCES)
        except (LookupError, ValueError):  # no such value, or nested too deeply
            continue
        groups.setdefault(content, []).append(at)
    return list(groups.values())
