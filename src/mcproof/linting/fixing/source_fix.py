"""From findings to better Python source: only where a schema is a literal, and only what is proven.

A fix changes a dict display in a file. It is offered where the display is the tool's own, and where discovery, run on
the changed text before anything is written, shows the change that was meant and no other.
"""

from __future__ import annotations

import ast
import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.linting.fixing.snapshot_fix import member_changes, newly_required
from mcproof.text.jsontext import Edit, splice
from mcproof.text.pointers import escape, resolve
from mcproof.text.pythontext import PythonText, UncertainError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mcproof.catalog.model import Catalog
    from mcproof.discovery import Discovered
    from mcproof.linting.finding import Finding
    from mcproof.linting.fixing.snapshot_fix import MemberChange

MOST_PROOFS = 40
"""How often discovery is run to find out which of many changes are not as intended."""
LONGEST_TRAIL = 6
"""From how many names to the next a schema is followed to the tool that has it."""


_INTERPLAY = frozenset(
    ("allOf", "anyOf", "const", "dependencies", "dependentRequired", "dependentSchemas", "else", "enum", "if",
     "maxProperties", "minProperties", "not", "oneOf", "propertyNames", "then")
)  # fmt: skip
"""Keywords beside which an object that requires all its properties, or takes no others, may take nothing at all."""


class FixedFile(NamedTuple):
    """One source file before and after its fixes."""

    file: str
    before: bytes
    after: bytes
    text: str
    """The text before."""
    edits: list[Edit]
    """What was changed in the text before, in order."""


class FixedSource(NamedTuple):
    """What the fixes of a catalog make of its source."""

    files: list[FixedFile]
    mended: list[Finding]
    """The findings that are gone with it."""
    made_required: int
    """How many parameters were optional and are not any more."""

    @property
    def applied(self) -> int:
        return len(self.mended)


class _Repair(NamedTuple):
    """What happens to one dict display."""

    pointer: str
    file: str
    members: dict[str, Any]
    changes: tuple[MemberChange, ...]
    edits: tuple[Edit, ...]


def fix_source(catalog: Catalog, findings: list[Finding], *, keep_optional: bool = False) -> FixedSource:
    """The source files of a catalog with every fix of these findings that is certain, all other bytes as they were."""
    source = catalog.source
    assert source is not None  # noqa: S101 (whoever asks knows)
    changes = member_changes(findings, keep_optional=keep_optional)
    by_object: dict[str, list[MemberChange]] = {}
    for change in changes:
        by_object.setdefault(change.pointer, []).append(change)
    project = _Project(catalog.name, source)
    repairs = []
    for pointer, wanted in by_object.items():
        try:
            repairs.append(project.repair(pointer, wanted))
        except UncertainError:
            continue
    proven = _Proof(project, source).of(repairs)
    mended = {id(change.finding) for repair in proven for change in repair.changes}
    first = {(change.pointer, change.key): change for repair in proven for change in reversed(repair.changes)}
    return FixedSource(
        project.files_with(proven),
        [finding for finding in findings if id(finding) in mended],
        newly_required(first.values()),
    )


class SourceEdit(NamedTuple):
    """What the fix of one finding alone changes, from a line and column up to another."""

    file: str
    start: tuple[int, int]
    end: tuple[int, int]
    replacement: str


def edits_by_finding(catalog: Catalog, findings: list[Finding]) -> dict[int, SourceEdit]:
    """For each finding whose fix is certain, by its number, the edit that mends it and nothing else.

    A round proves one change of every object, so that each is proven without the others of its object.
    """
    source = catalog.source
    assert source is not None  # noqa: S101 (whoever asks knows)
    fixable = [(at, finding) for at, finding in enumerate(findings) if may_be_fixed(source, finding)]
    numbers = {id(finding): at for at, finding in fixable}
    by_object: dict[str, dict[str, list[MemberChange]]] = {}
    for change in member_changes([finding for _, finding in fixable]):
        same = by_object.setdefault(change.pointer, {}).setdefault(change.key, [])
        if not same or same[0].value == change.value:
            same.append(change)
    project = _Project(catalog.name, source)
    edits: dict[int, SourceEdit] = {}
    for number in range(max(map(len, by_object.values()), default=0)):
        repairs = []
        for pointer, changes in by_object.items():
            if number < len(changes):
                try:
                    repairs.append(project.repair(pointer, list(changes.values())[number]))
                except UncertainError:
                    continue
        for repair in _Proof(project, source).of(repairs):
            edit = project.own_edit(repair)
            edits.update((numbers[id(change.finding)], edit) for change in repair.changes)
    return edits


def may_be_fixed(source: Discovered, finding: Finding) -> bool:
    """Whether a fix can be offered at first sight: the schema is written out, and the object is there as a literal."""
    if finding.fix is None or finding.item.kind != "tool":
        return False
    if not source.tools[finding.item.index].schema_is_explicit:
        return False
    pointer = finding.item.pointer + finding.pointer
    members = resolve(source.document, pointer)
    return isinstance(members, dict) and all(f"{pointer}/{escape(key)}" in source.locations for key in members)


class _Project:
    """The files of a target, each read once."""

    def __init__(self, target: str, source: Discovered) -> None:
        from mcproof.discovery import python_files

        self.target = target
        self._source = source
        self._files = python_files(target, [])
        self._own = set(self._files)
        self._texts: dict[str, PythonText | None] = {}
        self._bytes: dict[str, bytes | None] = {}
        self._written: dict[tuple[str, int, int], int] = {}
        for place in source.locations.values():
            key = (place.file, place.line, place.column)
            self._written[key] = self._written.get(key, 0) + 1

    def text(self, file: str) -> PythonText | None:
        """A file of the project; None where it cannot be read or parsed."""
        if file not in self._texts:
            data = self._data(file)
            try:
                self._texts[file] = None if data is None else PythonText(data)
            except UncertainError:
                self._texts[file] = None
        return self._texts[file]

    def _data(self, file: str) -> bytes | None:
        if file not in self._bytes:
            from mcproof.discovery import read_bytes

            self._bytes[file] = read_bytes(file, [])
        return self._bytes[file]

    def repair(self, pointer: str, changes: list[MemberChange]) -> _Repair:
        """What is to be done for the changes of one object. Raises an UncertainError where it is not certain."""
        tool = self._source.tools[changes[0].finding.item.index]
        below = pointer.removeprefix(changes[0].finding.item.pointer)
        touched = {below, *(f"{below}/{escape(change.key)}" for change in changes)}
        if not tool.schema_is_explicit or touched & tool.unknown or _has_doubtful_property(below, tool.unknown):
            raise UncertainError("the source does not settle it")
        members = resolve(self._source.document, pointer)
        if not isinstance(members, dict):
            raise UncertainError("it is no object")
        if not _INTERPLAY.isdisjoint(members) or False in _property_schemas(members):
            raise UncertainError("another keyword says which properties go together")
        file, display = self._display(pointer, members)
        text = self.text(file)
        assert text is not None  # noqa: S101 (the display is in it)
        self._belongs(file, display, changes[0].finding.item.name, LONGEST_TRAIL)
        wanted: dict[str, Any] = {}
        for change in changes:
            wanted.setdefault(change.key, change.value)
        return _Repair(pointer, file, wanted, tuple(changes), tuple(text.edit_of(display, wanted)))

    def _display(self, pointer: str, members: dict[str, Any]) -> tuple[str, ast.Dict]:
        """The dict display that is this object: with the same keys in the same order, and nobody else's."""
        found: ast.Dict | None = None
        file = ""
        for key in members:
            place = self._source.locations.get(f"{pointer}/{escape(key)}")
            if place is None or place.file not in self._own or self._written[place[:3]] != 1:
                raise UncertainError("it is not written in one place of its own")
            text = self.text(place.file)
            display = None if text is None else text.display_with(key, place.line, place.column)
            if display is None or (found is not None and display is not found):
                raise UncertainError("its keys do not stand in one literal")
            found, file = display, place.file
        if found is None or [getattr(key, "value", None) for key in found.keys] != list(members):
            raise UncertainError("the literal has other keys")
        return file, found

    def _belongs(self, file: str, node: ast.AST, name: str, trail: int) -> None:
        """Raise an UncertainError unless whatever makes this value makes it for the tool of this name alone."""
        text = self.text(file)
        if text is None or not trail:
            raise UncertainError("nobody can tell whose it is")
        for part, parent in text.parents(node):
            if isinstance(parent, ast.Dict):
                if any(_says(key, "name") and _says_end(value, name) for key, value in _items(parent)):
                    return
            elif isinstance(parent, ast.Call):
                given = next((each.value for each in parent.keywords if each.arg == "name"), None)
                if given is not None and not (_says_end(given, name) or _is_constant(text, given)):
                    if self._is_own_name(text, parent, given, name):
                        return
                    break
                if given is not None or _says_end(next(iter(parent.args), None), name):
                    return
            elif isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if part in parent.decorator_list:
                    return
                break
            elif isinstance(parent, (ast.Assign, ast.AnnAssign)):
                target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
                several = isinstance(parent, ast.Assign) and len(parent.targets) > 1
                if several or not isinstance(target, ast.Name):
                    break
                user, used = self._only_use(target.id)
                self._belongs(user, used, name, trail - 1)
                return
            elif not isinstance(parent, (ast.List, ast.Tuple, ast.keyword)):
                break
        raise UncertainError("nobody can tell whose it is")

    def _is_own_name(self, text: PythonText, call: ast.Call, given: ast.expr, name: str) -> bool:
        """Whether `self.name` is the tool's name for certain: an attribute of a class that nothing inherits from."""
        owner = next((parent for _, parent in text.parents(call) if isinstance(parent, ast.ClassDef)), None)
        if owner is None or not isinstance(given, ast.Attribute) or not isinstance(given.value, ast.Name):
            return False
        said = [
            each.value
            for each in owner.body
            if isinstance(each, (ast.Assign, ast.AnnAssign))
            and any(isinstance(part, ast.Name) and part.id == given.attr for part in _targets(each))
        ]
        if given.value.id not in ("self", "cls") or len(said) != 1 or not _says_end(said[0], name):
            return False
        if any(isinstance(each, ast.Attribute) and _sets(each, given.attr) for each in ast.walk(text.tree)):
            return False
        return not any(_inherits(node, owner.name) for _, node in self._nodes_about(owner.name))

    def _nodes_about(self, name: str) -> Iterator[tuple[str, ast.AST]]:
        """Every node of every file in which a name occurs."""
        for file in self._files:
            if name.encode() not in (self._data(file) or b""):
                continue
            if (text := self.text(file)) is None:
                raise UncertainError("a file that may use it cannot be read")
            for node in ast.walk(text.tree):
                yield file, node

    def _only_use(self, name: str) -> tuple[str, ast.AST]:
        """Where a name is read, if that is one place in the whole project."""
        uses = [(file, node) for file, node in self._nodes_about(name) if name in _words(node)]
        if len(uses) != 1 or not isinstance(uses[0][1], (ast.Name, ast.Attribute)):
            raise UncertainError("it is used in several places, or in none that can be seen")
        return uses[0]

    def own_edit(self, repair: _Repair) -> SourceEdit:
        """What a repair changes, as one edit."""
        text = self.text(repair.file)
        assert text is not None  # noqa: S101 (it has been repaired)
        start, end = repair.edits[0].start, repair.edits[-1].end
        moved = [Edit(each.start - start, each.end - start, each.replacement) for each in repair.edits]
        return SourceEdit(repair.file, text.position(start), text.position(end), splice(text.text[start:end], moved))

    def files_with(self, repairs: list[_Repair]) -> list[FixedFile]:
        """The files that these repairs change. Raises an UncertainError where a file cannot hold its new text."""
        by_file: dict[str, list[Edit]] = {}
        for repair in repairs:
            by_file.setdefault(repair.file, []).extend(repair.edits)
        files = []
        for file, edits in sorted(by_file.items()):
            text = self.text(file)
            assert text is not None  # noqa: S101 (it has been repaired)
            edits.sort()
            files.append(FixedFile(file, text.data, text.encode(edits), text.text, edits))
        return files


class _Proof:
    """Finds the repairs that do what they should, by discovery on the changed text."""

    def __init__(self, project: _Project, source: Discovered) -> None:
        self._project = project
        self._source = source
        self._left = MOST_PROOFS

    def of(self, repairs: list[_Repair]) -> list[_Repair]:
        """Those repairs that are right, alone and all together; each half is tried where the whole is not right."""
        if not repairs or self._is_right(repairs):
            return repairs
        if len(repairs) == 1 or self._left <= 0:
            return []
        middle = len(repairs) // 2
        first, second = self.of(repairs[:middle]), self.of(repairs[middle:])
        if not first or not second or self._is_right([*first, *second]):
            return [*first, *second]
        return first

    def _is_right(self, repairs: list[_Repair]) -> bool:
        from mcproof.discovery import discover

        if self._left <= 0:
            return False
        self._left -= 1
        try:
            files = self._project.files_with(repairs)
        except UncertainError:
            return False
        found = discover(self._project.target, {os.path.realpath(each.file): each.after for each in files})
        if found.problems != self._source.problems:
            return False
        same = found.tools == self._source.tools
        return same and json.dumps(found.document) == json.dumps(self._intended(repairs))

    def _intended(self, repairs: list[_Repair]) -> Any:
        """The document as it should be after these repairs."""
        document = json.loads(json.dumps(self._source.document))
        for repair in repairs:
            resolve(document, repair.pointer).update(repair.members)
        return document


def _property_schemas(members: dict[str, Any]) -> list[Any]:
    """The schemas of an object's properties."""
    properties = members.get("properties")
    return list(properties.values()) if isinstance(properties, dict) else []


def _has_doubtful_property(pointer: str, unknown: Collection[str]) -> bool:
    """Whether an object may have other properties than those that were found, or only sometimes has one of them."""
    properties = f"{pointer}/properties"
    return any(each == properties or each.rpartition("/")[0] == properties for each in unknown)


def _items(display: ast.Dict) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    return zip(display.keys, display.values, strict=True)


def _says(node: ast.expr | None, word: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == word


def _says_end(node: ast.expr | None, name: str) -> bool:
    """Whether a string is the name of a tool, or what follows the prefix of a mounted server in it."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value:
        return False
    return name == node.value or name.endswith(f"_{node.value}")


def _is_constant(text: PythonText, node: ast.expr) -> bool:
    """Whether `Names.SEARCH` is the same whenever it is read: of a class or a module, not of something passed in."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    binding = [each for each in ast.walk(text.tree) if _binds(each, node.id)]
    if len(binding) != 1 or isinstance(binding[0], (ast.ClassDef, ast.alias)):
        return len(binding) == 1
    around = [parent for _, parent in text.parents(binding[0])]
    return isinstance(around[0], (ast.Assign, ast.AnnAssign)) and isinstance(around[1], ast.Module)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _sets(node: ast.Attribute, name: str) -> bool:
    return node.attr == name and not isinstance(node.ctx, ast.Load)


def _inherits(node: ast.AST, name: str) -> bool:
    """Whether a node is a class that may inherit from one of this name, or gives that another name."""
    if isinstance(node, ast.ClassDef):
        return any(name in _words(part) for base in node.bases for part in ast.walk(base))
    return isinstance(node, ast.alias) and node.asname is not None and name in _words(node)


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node gives a name its value."""
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
    """The names that a node reads, or gives another name."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Store) else [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.alias):
        return [] if node.asname is None else [node.name.rpartition(".")[2]]
    return node.names if isinstance(node, (ast.Global, ast.Nonlocal)) else []
