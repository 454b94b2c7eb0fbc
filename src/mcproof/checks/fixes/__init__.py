"""Fixes: edits of snapshots that findings ask for, and snippets for code that cannot be edited.

`fix_snapshot` changes JSON text, `source` edits Python; both keep every other byte. `snippets` says what to write
where no edit is possible. `proven_edits` is for formats that carry fixes.
Why fixes are text edits: docs/decisions/0008-fixes-are-text-edits.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcproof.checks.findings import Finding, TextEdit
from mcproof.core.catalog.model import Catalog, Item
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.acceptance import is_declared_optional
from mcproof.core.schema.tree import SchemaTree
from mcproof.core.text.json_document import Edit, Position, splice
from mcproof.core.text.json_positions import resolve


class FixedSnapshot(NamedTuple):
    """A snapshot's text after its fixes."""

    text: str
    edits: list[Edit]
    """The edits of the original text, in ascending order."""
    applied: int
    """The number of fixed findings."""
    made_required: int
    """The number of parameters that were optional and are now required."""


def fix_snapshot(catalog: Catalog, findings: list[Finding], *, keep_optional: bool = False) -> FixedSnapshot:
    """Apply the fixes of these findings to a catalog's text; all other bytes stay as they are.

    With `keep_optional`, parameters that have a default or accept null are left out of a new `required` list.
    """
    changes = member_changes(findings, keep_optional=keep_optional)
    members: dict[tuple[str, str], MemberChange] = {}
    for change in changes:
        members.setdefault((change.pointer, change.key), change)  # two rules may ask for the same member
    asked = [(change.pointer, change.key, change.value) for change in members.values()]
    edits = sorted(catalog.document.member_edits(asked), key=lambda edit: edit[:2]) if asked else []
    return FixedSnapshot(splice(catalog.document.text, edits), edits, len(changes), newly_required(members.values()))


class MemberChange(NamedTuple):
    """The effect of one finding's fix: set the member `key` of the object at `pointer`."""

    finding: Finding
    pointer: str
    """From the root of the document."""
    key: str
    value: Any


def member_changes(findings: list[Finding], *, keep_optional: bool = False) -> list[MemberChange]:
    """The changes that the fixes of these findings make, in order."""
    changes = []
    tree: SchemaTree | None = None
    owner: Item | None = None
    for finding in findings:
        if finding.fix is None:
            continue
        value = finding.fix.value
        if finding.fix.key == "required" and keep_optional:
            if tree is None or owner is not finding.item:  # the findings of a tool are consecutive
                if tree is not None:
                    tree.release()
                owner, tree = finding.item, SchemaTree(finding.item.fields["inputSchema"])
            properties = resolve(finding.item.raw, f"{finding.pointer}/properties")
            value = [name for name in value if not is_declared_optional(properties[name], tree)]
        changes.append(MemberChange(finding, finding.item.pointer + finding.pointer, finding.fix.key, value))
    return changes


def newly_required(changes: Iterable[MemberChange]) -> int:
    """The number of parameters these changes make required."""
    return sum(len(change.value) for change in changes if change.key == "required")


class FileEdit(NamedTuple):
    """An edit, and the file that it changes."""

    file: str
    change: TextEdit


def proven_edits(catalog: Catalog, findings: list[Finding]) -> dict[int, FileEdit]:
    """Return the edit of each fix that is certain, by the index of its finding; none for a live server."""
    if catalog.source is not None:
        from mcproof.checks.fixes.source import edits_by_finding

        return edits_by_finding(catalog, findings)
    # The schemas of a live server are in its code: docs/decisions/0036-snippets-are-tried.md.
    if catalog.origin is not None:
        return {}
    document = catalog.document
    fixes = [
        (index, (finding.item.pointer + finding.pointer, finding.fix.key, finding.fix.value))
        for index, finding in enumerate(findings)
        if finding.fix is not None
    ]
    if not fixes:
        return {}
    edits = document.member_edits([change for _, change in fixes])
    # A position costs a pass over the text, so all are computed at once: docs/decisions/0016-positions-on-demand.md.
    offsets = sorted({offset for edit in edits for offset in (edit.start, edit.end)})
    positions: dict[int, Position] = dict(zip(offsets, document.positions(offsets), strict=True))
    return {
        index: FileEdit(catalog.name, TextEdit(*positions[edit.start], *positions[edit.end], edit.replacement))
        for (index, _), edit in zip(fixes, edits, strict=True)
    }
