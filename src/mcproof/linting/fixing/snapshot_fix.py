"""Fix a snapshot: turn findings into edits of its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.schema.acceptance import admits_null
from mcproof.schema.tree import SchemaTree
from mcproof.text.jsontext import Edit, splice
from mcproof.text.pointers import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.catalog.model import Catalog, Item
    from mcproof.linting.finding import Finding


class FixedSnapshot(NamedTuple):
    """A catalog's text after its fixes."""

    text: str
    edits: list[Edit]
    """What was changed in the text before, in order."""
    applied: int
    """How many findings are mended."""
    made_required: int
    """How many parameters were optional and are not any more."""


def fix_snapshot(catalog: Catalog, findings: list[Finding], *, keep_optional: bool = False) -> FixedSnapshot:
    """The catalog's text with every fix of these findings in it, all other bytes as they were.

    With `keep_optional`, a parameter that has a default or admits null stays out of a new `required` list.
    """
    changes = member_changes(findings, keep_optional=keep_optional)
    members: dict[tuple[str, str], MemberChange] = {}
    for change in changes:
        members.setdefault((change.pointer, change.key), change)
    asked = [(change.pointer, change.key, change.value) for change in members.values()]
    edits = sorted(catalog.document.member_edits(asked), key=lambda edit: edit[:2]) if asked else []
    return FixedSnapshot(splice(catalog.document.text, edits), edits, len(changes), newly_required(members.values()))


class MemberChange(NamedTuple):
    """What one finding's fix does: give the object at `pointer` the member `key`."""

    finding: Finding
    pointer: str
    """From the document's root."""
    key: str
    value: Any


def member_changes(findings: list[Finding], *, keep_optional: bool = False) -> list[MemberChange]:
    """What the fixes of these findings do, in their order."""
    changes = []
    tree: SchemaTree | None = None
    owner: Item | None = None
    for finding in findings:
        if finding.fix is None:
            continue
        value = finding.fix.value
        if finding.fix.key == "required" and keep_optional:
            if tree is None or owner is not finding.item:  # the findings of a tool come one after the other
                if tree is not None:
                    tree.release()
                owner, tree = finding.item, SchemaTree(finding.item.fields["inputSchema"])
            properties = resolve(finding.item.raw, f"{finding.pointer}/properties")
            value = [name for name in value if not _says_optional(properties[name], tree)]
        changes.append(MemberChange(finding, finding.item.pointer + finding.pointer, finding.fix.key, value))
    return changes


def newly_required(changes: Iterable[MemberChange]) -> int:
    """How many parameters become required by these changes."""
    return sum(len(change.value) for change in changes if change.key == "required")


def _says_optional(schema: Any, tree: SchemaTree) -> bool:
    """Whether a property says itself that it can be left out."""
    return (isinstance(schema, dict) and "default" in schema) or admits_null(schema, tree)
