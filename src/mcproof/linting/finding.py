"""What a rule says: a problem, and the finding that it becomes once it is known whose it is.

Findings are values: they hold no rendering, no line number and no judgement beyond the rule's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from mcproof.catalog.model import Item
    from mcproof.linting.registry import Rule
    from mcproof.text.json_positions import Span

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")
"""From the most to the least serious."""

_LEVEL_OF: dict[str, Level] = {
    **dict.fromkeys(("critical", "high", "error"), "error"),
    **dict.fromkeys(("medium", "warning", "warn"), "warning"),
    **dict.fromkeys(("low", "info", "note"), "note"),
}


def level_of(severity: str) -> Level:
    """The level of a severity word, whichever ruleset spells it."""
    return _LEVEL_OF[severity]


class SetMember(NamedTuple):
    """A fix: give the object that the finding points at the member `key` with this value."""

    key: str
    value: Any


class Problem(NamedTuple):
    """What one rule sees in one subject."""

    message: str
    at: str = ""
    """A pointer from the item that the rule looks at; empty for the item itself."""
    parameter: str | None = None
    """The argument that is at fault, if it is one."""
    evidence: dict[str, Any] | None = None
    fix: SetMember | None = None
    near: str | Span | None = None
    """What to show instead, for what is missing or has no pointer of its own: a pointer or a place in the document."""
    item: Item | None = None
    """The item at fault, where a rule that looks at the whole catalog reports one of its items."""

    def finding(self, rule: Rule, item: Item) -> Finding:
        """The finding that this problem is, once its rule and its item are known."""
        return Finding(
            rule=rule,
            item=item,
            pointer=self.at,
            message=self.message,
            parameter=self.parameter,
            evidence=self.evidence,
            fix=self.fix,
            near=self.near,
        )


class Finding(NamedTuple):
    """One rule, one subject, one pointer, one message."""

    rule: Rule
    item: Item
    pointer: str
    """From the item that it is about: `/inputSchema/properties/x`."""
    message: str
    parameter: str | None = None
    evidence: dict[str, Any] | None = None
    fix: SetMember | None = None
    near: str | Span | None = None

    @property
    def level(self) -> Level:
        return self.rule.level

    @property
    def subject(self) -> str:
        """What it is about, as `kind:name`."""
        if self.parameter is not None:
            return f"parameter:{self.parameter}"
        return self.item.subject

    @property
    def place_pointer(self) -> str:
        """The pointer in the document that a reader should be shown; a whole item is shown at its name."""
        if isinstance(self.near, str):
            return self.near
        if not self.pointer and self.item.name:
            return f"{self.item.pointer}/name"
        return self.item.pointer + self.pointer


def fingerprints(findings: list[Finding]) -> list[str]:
    """An identity for each finding that survives moved lines, reordered tools and reordered lists.

    It is made of the rule, the item's own name and the pointer without the numbers in it. Twins are counted: two tools
    of one name stay two, and of three branches of a union each has its own. A finding that sums up an item is known by
    all that it sums up, not by what it points at: one thing more makes it another.
    """
    seen: dict[tuple[str, ...], int] = {}
    result = []
    for finding in findings:
        item = finding.item
        sums_up = finding.rule.traits.get("sums_up")
        if sums_up is not None and finding.evidence is not None:
            pointer = sums_up(finding.evidence)
        else:
            pointer = "/".join("*" if token.isdigit() else token for token in finding.pointer.split("/"))
        key = (finding.rule.id, item.kind, item.given_name, pointer, finding.parameter or "")
        twin = seen[key] = seen.get(key, -1) + 1
        result.append(identity_of(*key, str(twin)))
    return result


def identity_of(*parts: str) -> str:
    """A short name for a combination of texts."""
    from hashlib import sha256

    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
