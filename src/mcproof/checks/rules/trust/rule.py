"""What `trust` rules share: registration with weight, dimension and phase, and problems of texts and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rule import (
    Check,
    Dimension,
    HardFail,
    Identity,
    ListName,
    Need,
    Phase,
    RuleTraits,
    S,
    TrustTraits,
    rule,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcproof.checks.texts.model_texts import ModelTexts
    from mcproof.core.catalog.model import Tool
    from mcproof.core.observations.perimeter import Exposure


LONGEST_SHOWN, LONGEST_QUOTED, MOST_ITEMS = 400, 120, 50
"""Limits: characters of a text in the evidence and in a message, and items named in the evidence."""


def problem_of_text(
    texts: ModelTexts, text: str, message: str, evidence: dict[str, Any], severity: str | None = None
) -> Problem | None:
    """A problem at the first use of a text; None if source code leaves all its uses unknown."""
    uses = texts.uses(text)
    if not uses:
        return None
    first = uses[0]
    items = list(dict.fromkeys(use.item.subject for use in uses))
    if len(items) > 1:
        message = f"{message} (also in {len(items) - 1} other item{'s' if len(items) > 2 else ''})"
    return Problem(
        message,
        first.pointer,
        evidence={"pointer": first.pointer, "place": first.place, **evidence, "items": items[:MOST_ITEMS]},
        item=first.item if first.item is not texts.catalog.server else None,
        severity=severity,
    )


def escaped(text: str, limit: int = LONGEST_SHOWN) -> str:
    """A text on one line with every invisible character written as an escape, cut off at a limit."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text[:limit]
    )
    return f"{shown} …" if len(text) > limit else shown


def quoted(text: str) -> str:
    """A text as it is quoted in a message."""
    return f"`{escaped(' '.join(text.split()), LONGEST_QUOTED).replace('`', chr(39))}`"


_NAMED = 3


def few(names: Iterable[str], quote: str = "`") -> str:
    """The first names, and how many more there are: "`a`, `b`, `c` and 2 more"."""
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return ", ".join(f"{quote}{name}{quote}" for name in distinct[:_NAMED]) + more


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number != 1 else f"1 {noun}"


def because(tools: Sequence[tuple[str, str]], what: str) -> str:
    """A sentence about tools, each with the reason: "1 tool can run code: `a` (`run` in its name)"."""
    reasons: dict[str, str] = {}
    for tool, why in tools:
        reasons.setdefault(tool, why)
    shown = [f"`{tool}` ({why})" for tool, why in reasons.items()]
    return f"{counted(len(shown), 'tool' if len(shown) == 1 else 'tools')} {what}: {few(shown, quote='')}"


def near(tool: Tool) -> str:
    """The pointer of a tool's name in the document, or of the tool if it has none."""
    return tool.pointer + tool.pointer_to("name")


def identity(key: str, *parts: str) -> Callable[[Mapping[str, Any]], str]:
    """Return a function for the identity of a finding: every entry of a list in its evidence, in any order.

    One more tool changes the identity, so that a baseline does not hide it.
    """

    def of(evidence: Mapping[str, Any]) -> str:
        entries = evidence.get(key) or ()
        texts = {"\0".join(str(entry[part]) for part in parts) if parts else str(entry) for entry in entries}
        return "\0\0".join(sorted(texts))

    return of


WEIGHTS = {"critical": 14, "high": 8, "medium": 4, "low": 2, "info": 0}
"""The weight of a rule that the published catalog does not have, by severity."""


def trust_rule(
    subject: type[S],
    id: str,
    name: str,
    severity: str,
    *,
    category: str,
    dimension: Dimension,
    phase: Phase,
    weight: int | None = None,
    hard_fail: HardFail | None = None,
    counted_by: str | None = None,
    chosen: tuple[str, ...] = (),
    title_of: Callable[[Mapping[str, Any]], str | None] | None = None,
    in_lint: bool = False,
    needs: Need | None = None,
    reads: tuple[ListName, ...] = ("tools",),
    sums_up: Identity | None = None,
    withholds_line: bool = False,
    same_as: str | None = None,
) -> Callable[[Check[S]], Check[S]]:
    """Register a rule of the `trust` ruleset with its traits; the default of `weight` is that of the severity."""
    own = TrustTraits(
        weight=WEIGHTS[severity] if weight is None else weight,
        dimension=dimension,
        phase=phase,
        hard_fail=hard_fail,
        counted_by=counted_by,
        chosen=chosen,
        title_of=title_of,
    )
    return rule(
        subject,
        id,
        ruleset="trust",
        name=name,
        severity=severity,
        category=category,
        same_as=same_as,
        traits=RuleTraits(
            in_lint=in_lint, needs=needs, reads=reads, sums_up=sums_up, withholds_line=withholds_line, own=own
        ),
    )


def always(_evidence: Mapping[str, Any], _exposure: Exposure) -> bool:
    """The condition of a rule that always blocks."""
    return True


def if_open(_evidence: Mapping[str, Any], exposure: Exposure) -> bool:
    """The condition of a rule that blocks only if anyone can reach the server."""
    return exposure.is_open
