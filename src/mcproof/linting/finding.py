"""Problems, which rules yield, and findings, which are problems with their rule and item.

Findings are plain values: no rendering, no line number, no judgement beyond the rule's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Item
    from mcproof.core.observations.source import HiddenLine, SourceLocation
    from mcproof.core.text.json_positions import Span
    from mcproof.linting.registry import Rule

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")
"""From the most to the least serious."""

_LEVEL_OF: dict[str, Level] = {
    **dict.fromkeys(("critical", "high", "error"), "error"),
    **dict.fromkeys(("medium", "warning", "warn"), "warning"),
    **dict.fromkeys(("low", "info", "note"), "note"),
}


def level_of(severity: str) -> Level:
    """The level of a severity word of any ruleset."""
    return _LEVEL_OF[severity]


class SetMember(NamedTuple):
    """A fix: set the member `key` of the object that the finding points at."""

    key: str
    value: Any


class SharedEvidence(dict[str, Any]):
    """Evidence that many findings share, which is therefore encoded only once."""

    __slots__ = ("encoded",)
    encoded: str
    """Its JSON text, once a report needed it."""


class Problem(NamedTuple):
    """What a rule reports about a subject."""

    message: str
    at: str = ""
    """The pointer from the checked item; empty for the item itself."""
    parameter: str | None = None
    """The argument at fault, if there is one."""
    evidence: dict[str, Any] | None = None
    fix: SetMember | None = None
    near: str | Span | SourceLocation | HiddenLine | None = None
    """A pointer, a span in the document or a place in source to show instead, for what has no pointer of its own."""
    item: Item | None = None
    """The item at fault, if a catalog-wide rule reports a single item."""
    severity: str | None = None
    """Its severity, if that is not the rule's; a user's choice of severity comes first."""
    same_as: str | None = None
    """The id of the rule of another ruleset that reports the same, if not every problem of the rule has one."""


class Finding(NamedTuple):
    """One rule, one subject, one pointer, one message."""

    rule: Rule
    item: Item
    problem: Problem

    @property
    def pointer(self) -> str:
        """The pointer from the item: `/inputSchema/properties/x`."""
        return self.problem.at

    @property
    def message(self) -> str:
        return self.problem.message

    @property
    def parameter(self) -> str | None:
        return self.problem.parameter

    @property
    def evidence(self) -> dict[str, Any] | None:
        return self.problem.evidence

    @property
    def fix(self) -> SetMember | None:
        return self.problem.fix

    @property
    def near(self) -> str | Span | SourceLocation | HiddenLine | None:
        return self.problem.near

    @property
    def level(self) -> Level:
        return self.rule.level

    @property
    def subject(self) -> str:
        """The subject as `kind:name`."""
        if self.parameter is not None:
            return f"parameter:{self.parameter}"
        return self.item.subject

    @property
    def shown_pointer(self) -> str:
        """The pointer to show in the document; a finding about a whole item is shown at its name."""
        _, item, problem = self
        if isinstance(problem.near, str):
            return problem.near
        if not problem.at and item.name:
            return f"{item.pointer}/name"
        return item.pointer + problem.at


def fingerprints(findings: list[Finding]) -> list[str]:
    """An identity for each finding that survives moved lines, reordered tools and reordered lists.

    It consists of the rule, the item's name and the pointer without its indices. Findings with equal parts are
    numbered: two tools of one name stay distinct, as do three branches of a union. A finding that summarises an item is
    identified by everything it summarises, not by its pointer, so one more problem changes its identity.
    """
    seen: dict[tuple[str, ...], int] = {}
    result = []
    for finding in findings:
        item = finding.item
        sums_up = finding.rule.traits.get("sums_up")
        pointer = sums_up(finding.evidence) if sums_up is not None and finding.evidence is not None else None
        if pointer is None:
            pointer = "/".join("*" if token.isdigit() else token for token in finding.pointer.split("/"))
        key = (finding.rule.id, item.kind, item.given_name, pointer, finding.parameter or "")
        twin = seen[key] = seen.get(key, -1) + 1
        result.append(identity_of(*key, str(twin)))
    return result


def identity_of(*parts: str) -> str:
    """A short hash of a combination of texts."""
    from hashlib import sha256

    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
