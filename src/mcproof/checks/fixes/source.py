"""Fix Python source, where a schema is a literal and the effect of the edit is verified.

A fix edits a dict literal. It is offered if the literal belongs to one tool (`literal_owner`), and if discovery, run on
the edited text before anything is written, finds exactly the intended change.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.text.json_document import Edit, splice
from mcproof.core.text.json_positions import escape, resolve
from mcproof.core.text.python_document import UncertainError
from mcproof.linting.fixing.literal_owner import SourceTexts, require_owner
from mcproof.linting.fixing.snapshot_fix import member_changes, newly_required

if TYPE_CHECKING:
    import ast
    from collections.abc import Collection

    from mcproof.core.catalog.model import Catalog, SourceMap
    from mcproof.linting.finding import Finding
    from mcproof.linting.fixing.snapshot_fix import MemberChange

MOST_RUNS = 40
"""The most discovery runs to find out which of many edits do not have the intended effect."""
_INTERACTING = frozenset(
    [
        "allOf",
        "anyOf",
        "const",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "enum",
        "if",
        "maxProperties",
        "minProperties",
        "not",
        "oneOf",
        "propertyNames",
        "then",
    ]
)
"""Keywords beside which an object that requires all its properties, or accepts no others, may accept nothing at all."""


class FixedFile(NamedTuple):
    """One source file before and after its fixes."""

    file: str
    before: bytes
    after: bytes
    text: str
    """The original text."""
    edits: list[Edit]
    """The edits of the original text, in ascending order."""


class FixedSource(NamedTuple):
    """The fixed source of a catalog."""

    files: list[FixedFile]
    fixed: list[Finding]
    """The findings that are fixed."""
    made_required: int
    """The number of parameters that were optional and are now required."""

    @property
    def applied(self) -> int:
        return len(self.fixed)


class _LiteralFix(NamedTuple):
    """The edits of one dict literal."""

    pointer: str
    file: str
    members: dict[str, Any]
    changes: tuple[MemberChange, ...]
    edits: tuple[Edit, ...]


def fix_source(catalog: Catalog, findings: list[Finding], *, keep_optional: bool = False) -> FixedSource:
    """Apply every fix of these findings that is certain to the source files; all other bytes stay as they are."""
    source = catalog.source
    assert source is not None  # noqa: S101 (only called with source)
    changes = member_changes(findings, keep_optional=keep_optional)
    by_object: dict[str, list[MemberChange]] = {}
    for change in changes:
        by_object.setdefault(change.pointer, []).append(change)
    project = _Project(source)
    fixes = []
    for pointer, wanted in by_object.items():
        try:
            fixes.append(project.fix_for(pointer, wanted))
        except UncertainError:
            continue
    proven = _Verifier(project, source).verified(fixes)
    fixed = {id(change.finding) for fix in proven for change in fix.changes}
    first = {(change.pointer, change.key): change for fix in proven for change in reversed(fix.changes)}
    return FixedSource(
        project.files_with(proven),
        [finding for finding in findings if id(finding) in fixed],
        newly_required(first.values()),
    )


class SourceEdit(NamedTuple):
    """The edit that fixes one finding alone, with its start and end as line and column."""

    file: str
    start: tuple[int, int]
    end: tuple[int, int]
    replacement: str


def edits_by_finding(catalog: Catalog, findings: list[Finding]) -> dict[int, SourceEdit]:
    """For each finding with a certain fix, by its index, the edit that fixes it alone.

    Each round verifies one change per object, so that changes to the same object are verified separately.
    """
    source = catalog.source
    assert source is not None  # noqa: S101 (only called with source)
    fixable = [(at, finding) for at, finding in enumerate(findings) if may_be_fixed(source, finding)]
    numbers = {id(finding): at for at, finding in fixable}
    by_object: dict[str, dict[str, list[MemberChange]]] = {}
    for change in member_changes([finding for _, finding in fixable]):
        same = by_object.setdefault(change.pointer, {}).setdefault(change.key, [])
        if not same or same[0].value == change.value:
            same.append(change)
    project = _Project(source)
    edits: dict[int, SourceEdit] = {}
    for number in range(max(map(len, by_object.values()), default=0)):
        fixes = []
        for pointer, changes in by_object.items():
            if number < len(changes):
                try:
                    fixes.append(project.fix_for(pointer, list(changes.values())[number]))
                except UncertainError:
                    continue
        for fix in _Verifier(project, source).verified(fixes):
            edit = project.as_edit(fix)
            edits.update((numbers[id(change.finding)], edit) for change in fix.changes)
    return edits


def may_be_fixed(source: SourceMap, finding: Finding) -> bool:
    """Whether a fix is plausible: the schema is written out, and the object is a literal."""
    if finding.fix is None or finding.item.kind != "tool":
        return False
    if not source.tools[finding.item.index].schema_is_explicit:
        return False
    pointer = finding.item.pointer + finding.pointer
    members = resolve(source.document, pointer)
    return isinstance(members, dict) and all(f"{pointer}/{escape(key)}" in source.locations for key in members)


class _Project:
    """The files of a target, and the literals in them."""

    def __init__(self, source: SourceMap) -> None:
        self._source = source
        self._texts = SourceTexts(source.target, source.instead)
        self._own = set(self._texts.files)
        self._written: dict[tuple[str, int, int], int] = {}
        for place in source.locations.values():
            key = (place.file, place.line, place.column)
            self._written[key] = self._written.get(key, 0) + 1

    def fix_for(self, pointer: str, changes: list[MemberChange]) -> _LiteralFix:
        """The edits for the changes of one object. Raises an UncertainError if their effect is not certain."""
        tool = self._source.tools[changes[0].finding.item.index]
        below = pointer.removeprefix(changes[0].finding.item.pointer)
        touched = {below, *(f"{below}/{escape(change.key)}" for change in changes)}
        if not tool.schema_is_explicit or touched & tool.unknown or _has_uncertain_property(below, tool.unknown):
            raise UncertainError("the source leaves it open")
        members = resolve(self._source.document, pointer)
        if not isinstance(members, dict):
            raise UncertainError("it is not an object")
        if not _INTERACTING.isdisjoint(members) or False in _property_schemas(members):
            raise UncertainError("another keyword relates its properties")
        file, literal = self._literal(pointer, members)
        text = self._texts.text(file)
        assert text is not None  # noqa: S101 (the literal is in it)
        require_owner(self._texts, file, literal, changes[0].finding.item.name)
        wanted: dict[str, Any] = {}
        for change in changes:
            wanted.setdefault(change.key, change.value)
        return _LiteralFix(pointer, file, wanted, tuple(changes), tuple(text.edit_of(literal, wanted)))

    def _literal(self, pointer: str, members: dict[str, Any]) -> tuple[str, ast.Dict]:
        """The dict literal of an object: with the same keys in the same order, and used for nothing else."""
        found: ast.Dict | None = None
        file = ""
        for key in members:
            place = self._source.locations.get(f"{pointer}/{escape(key)}")
            if place is None or place.file not in self._own or self._written[place[:3]] != 1:
                raise UncertainError("it is not written in exactly one place")
            text = self._texts.text(place.file)
            literal = None if text is None else text.display_with(key, place.line, place.column)
            if literal is None or (found is not None and literal is not found):
                raise UncertainError("its keys are not in one literal")
            found, file = literal, place.file
        if found is None or [getattr(key, "value", None) for key in found.keys] != list(members):
            raise UncertainError("the literal has other keys")
        return file, found

    def as_edit(self, fix: _LiteralFix) -> SourceEdit:
        """A fix as one edit."""
        text = self._texts.text(fix.file)
        assert text is not None  # noqa: S101 (it has been edited)
        start, end = fix.edits[0].start, fix.edits[-1].end
        moved = [Edit(each.start - start, each.end - start, each.replacement) for each in fix.edits]
        return SourceEdit(fix.file, text.position(start), text.position(end), splice(text.text[start:end], moved))

    def files_with(self, fixes: list[_LiteralFix]) -> list[FixedFile]:
        """The files that these fixes change. Raises an UncertainError if a file's encoding cannot represent them."""
        by_file: dict[str, list[Edit]] = {}
        for fix in fixes:
            by_file.setdefault(fix.file, []).extend(fix.edits)
        files = []
        for file, edits in sorted(by_file.items()):
            text = self._texts.text(file)
            assert text is not None  # noqa: S101 (it has been edited)
            edits.sort()
            files.append(FixedFile(file, text.data, text.encode(edits), text.text, edits))
        return files


class _Verifier:
    """Finds the fixes with the intended effect, by running discovery on the edited text."""

    def __init__(self, project: _Project, source: SourceMap) -> None:
        self._project = project
        self._source = source
        self._left = MOST_RUNS

    def verified(self, fixes: list[_LiteralFix]) -> list[_LiteralFix]:
        """The fixes that are as intended, alone and together; if all together are not, each half is tried."""
        if not fixes or self._is_as_intended(fixes):
            return fixes
        if len(fixes) == 1 or self._left <= 0:
            return []
        middle = len(fixes) // 2
        first, second = self.verified(fixes[:middle]), self.verified(fixes[middle:])
        if not first or not second or self._is_as_intended([*first, *second]):
            return [*first, *second]
        return first

    def _is_as_intended(self, fixes: list[_LiteralFix]) -> bool:
        if self._left <= 0:
            return False
        self._left -= 1
        try:
            files = self._project.files_with(fixes)
        except UncertainError:
            return False
        from mcproof.source import rediscover  # here, as fixes of snapshots load this module, too

        found = rediscover(self._source, {os.path.realpath(each.file): each.after for each in files})
        if found is None or found.problems != self._source.problems:
            return False
        same = found.tools == self._source.tools
        return same and json.dumps(found.document) == json.dumps(self._intended(fixes))

    def _intended(self, fixes: list[_LiteralFix]) -> Any:
        """The intended document after these fixes."""
        document = json.loads(json.dumps(self._source.document))
        for fix in fixes:
            resolve(document, fix.pointer).update(fix.members)
        return document


def _property_schemas(members: dict[str, Any]) -> list[Any]:
    """The schemas of an object's properties."""
    properties = members.get("properties")
    return list(properties.values()) if isinstance(properties, dict) else []


def _has_uncertain_property(pointer: str, unknown: Collection[str]) -> bool:
    """Whether an object may have undiscovered properties, or has one of them only under a condition."""
    properties = f"{pointer}/properties"
    return any(each == properties or each.rpartition("/")[0] == properties for each in unknown)
