"""What `mcproof advisories` prints: the table of advisories, with the date on which it was checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.advisories import conditions
from mcproof.core.console import plural, wrapped
from mcproof.runs.records import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.checks.advisories import Advisory
    from mcproof.core.console import Style
    from mcproof.runs.records import Record

_INDENT = 4
_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}


def advisory_lines(advisories: Sequence[Advisory], checked: str, style: Style) -> Iterator[str]:
    """Render advisories for people, package by package."""
    package = ""
    for each in advisories:
        if each.package != package:
            package = each.package
            yield style.paint(f"{package} ({each.ecosystem})", "bold") + "\n"
        yield from _advisory(each, style)
    packages = len({(each.ecosystem, each.package) for each in advisories})
    known = f"{len(advisories):,} {'advisory' if len(advisories) == 1 else 'advisories'}"
    yield f"\n{known} about {plural(packages, 'package')}, checked {checked}\n"


def _advisory(each: Advisory, style: Style) -> Iterator[str]:
    fixed = f"fixed in {each.fixed}" if each.fixed is not None else "no fixed version known"
    severity = style.paint(each.severity, _LEVELS[each.severity])
    yield f"  {style.paint(each.id, 'bold')} {severity}, {each.kind}: {each.vulnerable}, {fixed}\n"
    condition = conditions(each)
    texts = [each.summary, f"Applies if {condition}." if condition else "", each.note, each.reference]
    for text in filter(None, texts):
        first, *others = wrapped(text, style.width, used=_INDENT, indent=_INDENT)
        yield f"{' ' * _INDENT}{first}\n"
        yield from (f"{line}\n" for line in others)


def advisory_document(advisories: Sequence[Advisory], checked: str) -> Record:
    """Return advisories as a JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "checked": checked,
        "advisories": [{**each._asdict(), "applies_if": conditions(each) or None} for each in advisories],
    }
