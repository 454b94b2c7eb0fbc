"""Fix source, where a schema is a literal and the effect of the edit is verified.

A fix edits the literal of a dict or an object. It is offered if the literal belongs to one tool, and if discovery, run
on the edited text before anything is written, finds exactly the intended change.
Why fixes are text edits: docs/decisions/0008-fixes-are-text-edits.md.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcproof.checks.findings import Finding, TextEdit
from mcproof.checks.fixes import FileEdit, MemberChange, member_changes, newly_required
from mcproof.checks.fixes.javascript_document import JavaScriptText
from mcproof.checks.fixes.python_document import PythonText, UncertainError
from mcproof.checks.fixes.snippet_tables import (
    FASTMCP,
    MCP1,
    MCP2,
    python_type,
    with_likely_type,
)
from mcproof.core.catalog.model import Catalog, SourceMap
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import SourceLocation
from mcproof.core.text.json_document import Edit, splice
from mcproof.core.text.json_positions import escape, resolve

LONGEST_TRAIL = 6
"""The most variables a literal is followed through to the tool that uses it."""


class SourceTexts:
    """The files of a target, each read and parsed once."""

    def __init__(self, target: str, overrides: Mapping[str, bytes]) -> None:
        """Prepare to read the files of a target; `overrides` replace the content of some, by their real paths."""
        from mcproof.source.python.files import python_files

        self.files = python_files(target, [])
        self._overrides = overrides
        self._texts: dict[str, PythonText | None] = {}
        self._scripts: dict[str, JavaScriptText | None] = {}
        self._bytes: dict[str, bytes | None] = {}

    def text(self, file: str) -> PythonText | None:
        """A parsed file; None if it cannot be read or parsed."""
        if file not in self._texts:
            data = self._data(file)
            try:
                self._texts[file] = None if data is None else PythonText(data)
            except UncertainError:  # remembered as well, so that no other fix reads the file again
                self._texts[file] = None
        return self._texts[file]

    def script(self, file: str) -> JavaScriptText | None:
        """A parsed file in JavaScript or TypeScript; None if it cannot be read or parsed."""
        if file not in self._scripts:
            data = self._data(file)
            try:
                self._scripts[file] = None if data is None else JavaScriptText(file, data)
            except UncertainError:
                self._scripts[file] = None
        return self._scripts[file]

    def any_text(self, file: str) -> PythonText | JavaScriptText | None:
        """A parsed file in any language."""
        return self.text(file) if file.endswith(".py") else self.script(file)

    def _data(self, file: str) -> bytes | None:
        if file not in self._bytes:
            from mcproof.source.python.files import read_bytes

            unsaved = self._overrides.get(os.path.realpath(file)) if self._overrides else None
            self._bytes[file] = read_bytes(file, []) if unsaved is None else unsaved
        return self._bytes[file]

    def scripts_about(self, name: str, files: Iterable[str]) -> Iterator[JavaScriptText]:
        """Those of some files in JavaScript that contain a name."""
        for file in files:
            if name.encode() in (self._data(file) or b""):
                if (text := self.script(file)) is None:
                    raise UncertainError("a file that may use it cannot be parsed")
                yield text

    def nodes_about(self, name: str) -> Iterator[tuple[str, ast.AST]]:
        """Every node of every file that contains a name."""
        for file in self.files:
            # Parsing takes longer than a search: docs/decisions/0023-text-before-trees.md.
            if name.encode() not in (self._data(file) or b""):
                continue
            if (text := self.text(file)) is None:
                raise UncertainError("a file that may use it cannot be parsed")
            for node in ast.walk(text.tree):
                yield file, node


def require_owner(texts: SourceTexts, file: str, node: ast.AST, name: str, trail: int = LONGEST_TRAIL) -> None:
    """Raise an UncertainError unless the value of this node is used only for the tool with this name."""
    text = texts.text(file)
    if text is None or not trail:
        raise UncertainError("its owner is unknown")
    # Upwards until something names the tool. A value that two tools share must not be edited for one of them.
    for part, parent in text.parents(node):
        if isinstance(parent, ast.Dict):
            for key, value in zip(parent.keys, parent.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "name" and _names_tool(value, name):
                    return
        elif isinstance(parent, ast.Call):
            given = next((keyword.value for keyword in parent.keywords if keyword.arg == "name"), None)
            if given is not None and not (_names_tool(given, name) or _is_constant(text, given)):
                if _is_own_name(texts, text, parent, given, name):
                    return
                break
            if given is not None or _names_tool(next(iter(parent.args), None), name):
                return
        elif isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if part in parent.decorator_list:
                return
            break
        elif isinstance(parent, (ast.Assign, ast.AnnAssign)):
            target, *others = _targets(parent)
            if others or not isinstance(target, ast.Name):
                break
            uses = [(user, node) for user, node in texts.nodes_about(target.id) if target.id in _words(node)]
            if len(uses) != 1 or not isinstance(uses[0][1], (ast.Name, ast.Attribute)):
                raise UncertainError("it is not used in exactly one place")
            require_owner(texts, *uses[0], name, trail - 1)
            return
        elif not isinstance(parent, (ast.List, ast.Tuple, ast.keyword)):
            break
    raise UncertainError("its owner is unknown")


def _is_own_name(texts: SourceTexts, text: PythonText, call: ast.Call, given: ast.expr, name: str) -> bool:
    """Whether `self.name` is certainly the tool's name: an attribute of a class without subclasses."""
    owner = next((parent for _, parent in text.parents(call) if isinstance(parent, ast.ClassDef)), None)
    if owner is None or not isinstance(given, ast.Attribute) or not isinstance(given.value, ast.Name):
        return False
    declared = [
        statement.value
        for statement in owner.body
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
        and any(isinstance(part, ast.Name) and part.id == given.attr for part in _targets(statement))
    ]
    if given.value.id not in ("self", "cls") or len(declared) != 1 or not _names_tool(declared[0], name):
        return False
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Attribute) and node.attr == given.attr and not isinstance(node.ctx, ast.Load):
            return False
    return not any(_inherits(node, owner.name) for _, node in texts.nodes_about(owner.name))


def _names_tool(node: ast.expr | None, name: str) -> bool:
    """Whether a string is a tool's name, or its part after the prefix of a mounted server."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value:
        return False
    return name == node.value or name.endswith(f"_{node.value}")


def _is_constant(text: PythonText, node: ast.expr) -> bool:
    """Whether `Names.SEARCH` is constant: an attribute of a class or module, not of a parameter."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    binding = [candidate for candidate in ast.walk(text.tree) if _binds(candidate, node.id)]
    if len(binding) != 1 or isinstance(binding[0], (ast.ClassDef, ast.alias)):
        return len(binding) == 1
    around = [parent for _, parent in text.parents(binding[0])]
    return isinstance(around[0], (ast.Assign, ast.AnnAssign)) and isinstance(around[1], ast.Module)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _inherits(node: ast.AST, name: str) -> bool:
    """Whether a node is a class that may inherit from a class of this name, or an import that renames it."""
    if isinstance(node, ast.ClassDef):
        return any(name in _words(part) for base in node.bases for part in ast.walk(base))
    return isinstance(node, ast.alias) and node.asname is not None and name in _words(node)


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node binds a name."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.arg):
        return node.arg == name
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) == name
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name == name
    return name in (getattr(node, "rest", None), getattr(node, "name", None)) and isinstance(
        node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.ExceptHandler)
    )


def _words(node: ast.AST) -> list[str]:
    """The names that a node reads or renames."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Store) else [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.alias):
        return [] if node.asname is None else [node.name.rpartition(".")[2]]
    return node.names if isinstance(node, (ast.Global, ast.Nonlocal)) else []


MOST_RUNS = 40
"""The most discovery runs to find out which of many edits do not have the intended effect."""
_INTERACTING = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "const", "enum", "maxProperties", "minProperties"}
    | {"propertyNames", "dependencies", "dependentRequired", "dependentSchemas"}
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
        except UncertainError:  # left to the author: only what is certain is edited
            continue
    proven = _Verifier(project, source).verified(fixes)
    fixed = {id(change.finding) for fix in proven for change in fix.changes}
    # Reversed, so that the first change of a member counts.
    first = {(change.pointer, change.key): change for fix in proven for change in reversed(fix.changes)}
    return FixedSource(
        project.files_with(proven),
        [finding for finding in findings if id(finding) in fixed],
        newly_required(first.values()),
    )


def edits_by_finding(catalog: Catalog, findings: list[Finding]) -> dict[int, FileEdit]:
    """For each finding with a certain fix, by its index, the edit that fixes it alone.

    Each round verifies one change per object, so that changes to the same object are verified separately.
    """
    source = catalog.source
    assert source is not None  # noqa: S101 (only called with source)
    fixable = [(index, finding) for index, finding in enumerate(findings) if may_be_fixed(source, finding)]
    numbers = {id(finding): index for index, finding in fixable}
    by_object: dict[str, dict[str, list[MemberChange]]] = {}
    for change in member_changes([finding for _, finding in fixable]):
        same = by_object.setdefault(change.pointer, {}).setdefault(change.key, [])
        if not same or same[0].value == change.value:
            same.append(change)
    project = _Project(source)
    edits: dict[int, FileEdit] = {}
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
        self._texts = SourceTexts(source.target, source.overrides)
        self._own = set(self._texts.files)
        files = {place.file for place in source.locations.values() if not place.file.endswith(".py")}
        self._own |= files if os.path.isdir(source.target) else files & {source.target}
        self._written: dict[tuple[str, int, int], int] = {}
        for place in source.locations.values():
            key = (place.file, place.line, place.column)
            self._written[key] = self._written.get(key, 0) + 1

    def fix_for(self, pointer: str, changes: list[MemberChange]) -> _LiteralFix:
        """The edits for the changes of one object. Raises an UncertainError if their effect is not certain."""
        tool = self._source.tools[changes[0].finding.item.index]
        below = pointer.removeprefix(changes[0].finding.item.pointer)
        touched = {below, *(f"{below}/{escape(change.key)}" for change in changes)}
        properties = f"{below}/properties"
        # An object may have undiscovered properties, or has one of them only under a condition.
        is_open = any(path == properties or path.rpartition("/")[0] == properties for path in tool.unknown)
        if not tool.schema_is_explicit or touched & tool.unknown or is_open:
            raise UncertainError("the source leaves it open")
        members = resolve(self._source.document, pointer)
        if not isinstance(members, dict):
            raise UncertainError("it is not an object")
        declared = members.get("properties")
        if not _INTERACTING.isdisjoint(members) or (isinstance(declared, dict) and False in declared.values()):
            raise UncertainError("another keyword relates its properties")
        file, literal = self._literal(pointer, members)
        text = self._texts.any_text(file)
        wanted: dict[str, Any] = {}
        for change in changes:
            wanted.setdefault(change.key, change.value)
        if isinstance(text, JavaScriptText):
            is_whole = os.path.isdir(self._source.target)
            text.require_owner(literal, changes[0].finding.item.name, self._scripts_with if is_whole else None)
        else:
            require_owner(self._texts, file, literal, changes[0].finding.item.name)
        assert text is not None  # noqa: S101 (the literal is in it)
        return _LiteralFix(pointer, file, wanted, tuple(changes), tuple(text.edit_of(literal, wanted)))

    def _scripts_with(self, name: str) -> Iterator[JavaScriptText]:
        """The files in JavaScript that the catalog depends on and that have a name in them."""
        from mcproof.source.pipeline import SOURCE_SUFFIXES

        shown = {os.path.abspath(file): file for file in self._own}
        scripts = (path for path in self._source.read if path.endswith(SOURCE_SUFFIXES))
        return self._texts.scripts_about(name, sorted(shown.get(path, path) for path in scripts))

    def _literal(self, pointer: str, members: dict[str, Any]) -> tuple[str, Any]:
        """The literal of an object: with the same keys in the same order, and used for nothing else."""
        display: Any = None
        text: PythonText | JavaScriptText | None = None
        file = ""
        for key in members:
            place = self._source.locations.get(f"{pointer}/{escape(key)}")
            # A place that several pointers have is shared: docs/decisions/0008-fixes-are-text-edits.md.
            if place is None or place.file not in self._own or self._written[place[:3]] != 1:
                raise UncertainError("it is not written in exactly one place")
            text = self._texts.any_text(place.file)
            literal = None if text is None else text.display_with(key, place.line, place.column)
            if literal is None or (display is not None and literal != display):
                raise UncertainError("its keys are not in one literal")
            display, file = literal, place.file
        if display is None or text is None or text.names_in(display) != list(members):
            raise UncertainError("the literal has other keys")
        return file, display

    def as_edit(self, fix: _LiteralFix) -> FileEdit:
        """A fix as one edit."""
        text = self._texts.any_text(fix.file)
        assert text is not None  # noqa: S101 (it has been edited)
        start, end = fix.edits[0].start, fix.edits[-1].end
        moved = [Edit(edit.start - start, edit.end - start, edit.replacement) for edit in fix.edits]
        replacement = splice(text.text[start:end], moved)
        return FileEdit(fix.file, TextEdit(*text.position(start), *text.position(end), replacement))

    def files_with(self, fixes: list[_LiteralFix]) -> list[FixedFile]:
        """The files that these fixes change. Raises an UncertainError if a file's encoding cannot represent them."""
        by_file: dict[str, list[Edit]] = {}
        for fix in fixes:
            by_file.setdefault(fix.file, []).extend(fix.edits)
        files = []
        for file, edits in sorted(by_file.items()):
            text = self._texts.any_text(file)
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
        from mcproof.source.pipeline import rediscover  # here, as fixes of snapshots load this module, too

        rediscovered = rediscover(self._source, {os.path.realpath(file.file): file.after for file in files})
        if rediscovered is None or rediscovered.problems != self._source.problems:
            return False
        if rediscovered.tools != self._source.tools:
            return False
        intended = json.loads(json.dumps(self._source.document))
        for fix in fixes:
            resolve(intended, fix.pointer).update(fix.members)
        # As text: the order of members counts, and in Python `1 == True`.
        return json.dumps(rediscovered.document) == json.dumps(intended)


class OfferedEdit(NamedTuple):
    """An edit of a tool's function that leaves a text to write."""

    title: str
    file: str
    edits: list[Edit]


_DESCRIBED, _TYPED = ("prop-no-description", "MP002"), ("prop-no-type", "SCH-003")
_UNDOCUMENTED = ("tool-no-description", "MP001")


def offered_edit(catalog: Catalog, finding: Finding) -> OfferedEdit | None:
    """The edit of a tool's function that a finding asks for; None if its effect is not certain.

    It is offered if discovery, run on the edited text, finds the description or the type, and no other change.
    """
    source = catalog.source
    if source is None or finding.item.kind != "tool":
        return None
    tool = source.tools[finding.item.index]
    if tool.schema_is_explicit or tool.framework not in (MCP2, MCP1, FASTMCP):
        return None
    pointer = finding.item.pointer + finding.pointer
    place = source.locations.get(pointer) or source.locations.get(f"{finding.item.pointer}/name")
    text = None if place is None else SourceTexts(source.target, source.overrides).text(place.file)
    if place is None or text is None:
        return None
    try:
        if finding.parameter is None:
            return _documented(source, finding, place, text)
        return _annotated(source, finding, place, text)
    except (UncertainError, LookupError):
        return None


def _documented(source: SourceMap, finding: Finding, place: SourceLocation, text: PythonText) -> OfferedEdit | None:
    if finding.rule.id not in _UNDOCUMENTED or place.line is None:
        return None
    name = finding.item.given_name
    written = "TODO: what it does, when to use it, and what it returns."
    edits = text.documented(place.line, written)
    is_proven = _changes_only(source, finding.item.pointer, {"description": written}, place.file, text.encode(edits))
    return OfferedEdit(f"Give `{name}` a docstring", place.file, edits) if is_proven else None


def _annotated(source: SourceMap, finding: Finding, place: SourceLocation, text: PythonText) -> OfferedEdit | None:
    is_described = finding.rule.id in _DESCRIBED
    if place.line is None or place.column is None or not (is_described or finding.rule.id in _TYPED):
        return None
    pointer, name = finding.item.pointer + finding.pointer, finding.parameter
    schema = resolve(source.document, pointer)
    if not isinstance(schema, dict):
        return None
    parameter = text.parameter(place.line, place.column)
    is_typed = parameter.annotation is not None
    # A framework may give a parameter without annotation a type, whatever its default is.
    likely = schema if is_typed else with_likely_type({key: schema[key] for key in ("default",) if key in schema})
    if not is_typed and "default" not in schema and not is_described:
        return None
    written, annotation = f"TODO: describe {name}", python_type(likely)
    field = f'Field(description="{written}")' if is_described else ""
    edits = text.annotated(parameter, annotation, field)
    members: dict[str, Any] = {"description": written} if is_described else {}
    members |= {} if is_typed else {"type": likely.get("type")}
    if not _changes_only(source, pointer, members, place.file, text.encode(edits)):
        return None
    if is_typed:
        return OfferedEdit(f"Describe `{name}`", place.file, edits)
    described = ", and describe it" if is_described else ""
    return OfferedEdit(f"Annotate `{name}` as `{annotation}`{described}", place.file, edits)


def _changes_only(source: SourceMap, pointer: str, members: dict[str, Any], file: str, after: bytes) -> bool:
    """Whether discovery finds the source changed in nothing but these members of one object."""
    from mcproof.source.pipeline import rediscover

    rediscovered = rediscover(source, {os.path.realpath(file): after})
    if rediscovered is None or rediscovered.problems != source.problems or rediscovered.tools != source.tools:
        return False
    intended, document = (json.loads(json.dumps(source.document)), json.loads(json.dumps(rediscovered.document)))
    resolve(intended, pointer).update(members)
    if "type" in members:  # the titles of parameters without annotation are made in another way
        resolve(document, pointer).pop("title", None)
        resolve(intended, pointer).pop("title", None)
    return json.dumps(document, sort_keys=True) == json.dumps(intended, sort_keys=True)
