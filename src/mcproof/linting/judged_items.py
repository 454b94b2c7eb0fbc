"""Items with the protocol revision that judges them, and the rules of a revision that can concern an item.

Most items break no rule of the specification. A quick look at an item gives marks for everything unusual about it; a
rule names the marks without which it reports nothing, and runs only on items with one of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog.model import Tool
from mcproof.exchange.revisions import FIRST_STATELESS, HANDSHAKE, REVISIONS
from mcproof.schema.header_parameters import ANNOTATION
from mcproof.schema.plain_schemas import is_plainly_valid

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog, Item
    from mcproof.linting.registry import Rule

ASSUMED = HANDSHAKE[0]
"""The revision that judges a catalog without a handshake."""
DIALECT_SINCE = HANDSHAKE[0]
"""The revision from which on schemas have a default dialect, in which they must be valid."""

NULL = "(null)"
"""A member is null."""
ODD_NAME = "(name)"
"""The name is not an identifier of usual length, with hyphens inside."""
ODD_ROOT = "(root)"
"""The input schema is not an object of type `object`."""
ODD_PARAMETERS = "(parameters)"
"""`properties` has values that are not objects, or `required` is not a list of strings."""
NO_PARAMETERS = "(no parameters)"
ODD_SCHEMA = "(schema)"
"""The input schema is not plainly valid."""
ODD_OUTPUT = "(output)"
"""The output schema is not an object of type `object`, or not plainly valid."""
DIALECT = "(dialect)"
"""A schema declares its dialect."""
FOREIGN = "(foreign keyword)"
"""A schema may have a keyword that its dialect does not have."""
REFERENCE = "(reference)"
"""A schema may have a reference."""
EXTERNAL = "(external reference)"
"""A schema may have a reference to another document."""
HEADER = "(header)"
"""The document has a parameter header."""
ODD_ANNOTATIONS = "(annotations)"
"""The annotations of a tool are not plain hints, or contradict each other."""
ODD_TITLE = "(title)"
"""The title is blank, or not the one of the annotations."""
UNKNOWN = "(unknown)"
"""A tool has a member that no revision defines."""
SERVER_ICONS = "(server icons)"

TOOL_MEMBERS = frozenset(
    {"name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta"}
)
_USUAL_MEMBERS = frozenset({"name", "description", "inputSchema"})
_MARKING_MEMBERS = frozenset({"icons", "_meta", "size", "mimeType", "annotations"})
"""The members that are marks themselves, `annotations` only on items that are not tools."""
_NO_TASKS = {"taskSupport": "forbidden"}
_HINTS = frozenset({"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})
_LONGEST_NAME = 128
_ONLY_OBJECTS, _ONLY_TEXTS = frozenset({dict}), frozenset({str})
_ESCAPED = "\\u00"
_EXTERNAL = re.compile(r'\$(?:dynamicR|r)ef"\s*:\s*"[^#]')
_REFERENCE = re.compile(r'\$(?:dynamicR|r)ef"')
_FOREIGN_KEYWORDS = ('definitions"', '$defs"')
"""Keywords that are valid, but foreign, in some dialects; others are not plainly valid."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class JudgingRevision(NamedTuple):
    """The revision that judges a catalog."""

    revision: str
    is_assumed: bool = False
    """Whether the catalog does not name its revision: demands that only the newest one makes are then notes."""


class JudgedItem(NamedTuple):
    """An item with the revision that judges it."""

    item: Item
    revision: str


def judging_revision(catalog: Catalog) -> JudgingRevision:
    """The revision that judges a catalog: the user's choice, the negotiated one, or an assumed one."""
    if catalog.judged_as is not None:
        return known_revision(catalog.judged_as)
    revision = catalog.protocol
    if revision is None and isinstance(catalog.server.fields.get("discover"), dict):
        revision = FIRST_STATELESS
    return known_revision(revision)


@lru_cache(maxsize=64)
def known_revision(revision: str | None) -> JudgingRevision:
    """A revision, or the last one before it that exists."""
    if revision is None or _DATE.fullmatch(revision) is None:
        return JudgingRevision(ASSUMED, is_assumed=True)
    return JudgingRevision(max((each for each in REVISIONS if each <= revision), default=min(REVISIONS)))


class ItemSurvey:
    """The rules that can concern each item of one catalog."""

    def __init__(self, catalog: Catalog, rules: list[Rule]) -> None:
        self.judged_by = judging_revision(catalog)
        self._rules = _applying(tuple(rules), self.judged_by)
        self._chosen: dict[tuple[str, frozenset[str]], list[Rule]] = {}
        self._has_dialect = self.judged_by.revision >= DIALECT_SINCE
        self._document = catalog.document
        self._has_foreign: bool | None = None
        self._everywhere = self._marks_of_document()

    def _marks_of_document(self) -> frozenset[str]:
        """The marks that every tool has because of a word somewhere in the document."""
        text, (revision, is_assumed) = self._document.text, self.judged_by
        is_escaped = not self._document.is_plain and _ESCAPED in text  # any key may be
        marks = set()
        if is_escaped or _EXTERNAL.search(text) is not None:
            marks.add(EXTERNAL)
        if self._has_dialect and (is_escaped or _REFERENCE.search(text) is not None):
            marks.add(REFERENCE)
        if self._has_dialect and (is_escaped or 'dependencies"' in text):
            marks.add(FOREIGN)
        if (is_assumed or revision >= FIRST_STATELESS) and (is_escaped or ANNOTATION in text):
            marks.add(HEADER)
        return frozenset(marks)

    def rules_for(self, item: Item) -> list[Rule]:
        """The rules that can concern an item."""
        if isinstance(item, Tool):
            marks = self._tool_marks(item)
            if not marks:
                return []
        else:
            marks = _marks(item)
        key = item.kind, frozenset(marks)
        rules = self._chosen.get(key)
        if rules is None:
            rules = self._chosen[key] = [
                each
                for each in self._rules
                if item.kind in each.traits["kinds"]
                and (not each.traits["marks"] or not marks.isdisjoint(each.traits["marks"]))
            ]
        return rules

    def _tool_marks(self, tool: Tool) -> set[str]:
        fields, name, schema = tool.fields, tool.name, tool.schema
        marks = set(self._everywhere)
        if not (name.isidentifier() and name.isascii() and len(name) <= _LONGEST_NAME) and _is_odd(name):
            marks.add(ODD_NAME)
        if not fields.keys() <= _USUAL_MEMBERS:
            self._mark_members(fields, marks)
        if None in fields.values():
            marks.add(NULL)
        if schema is None:
            marks.add(ODD_ROOT)
            return marks
        if schema.get("type") != "object":
            marks.add(ODD_ROOT)
        declared, required = schema.get("properties"), schema.get("required")
        if not declared and self._has_dialect:
            marks.add(NO_PARAMETERS)
        if type(declared) is dict:
            if not _ONLY_OBJECTS.issuperset(map(type, declared.values())):
                marks.add(ODD_PARAMETERS)
        elif "properties" in schema:
            marks.add(ODD_PARAMETERS)
        if type(required) is list:
            if not _ONLY_TEXTS.issuperset(map(type, required)):
                marks.add(ODD_PARAMETERS)
        elif "required" in schema:
            marks.add(ODD_PARAMETERS)
        if self._has_dialect:
            self._mark_dialect(schema, marks, ODD_SCHEMA)
        return marks

    def _mark_members(self, fields: dict[str, Any], marks: set[str]) -> None:
        """Add the marks of members that not every tool has."""
        if not fields.keys() <= TOOL_MEMBERS:
            marks.add(UNKNOWN)
        for key in ("icons", "_meta"):
            if key in fields:
                marks.add(key)
        hints = fields.get("annotations")
        if type(hints) is dict:
            if not _are_plain_hints(hints):
                marks.add(ODD_ANNOTATIONS)
        else:
            hints = {}
        if "title" in fields:
            title = fields["title"]
            if type(title) is str and (title != hints.get("title", title) or not title.strip()):
                marks.add(ODD_TITLE)
        if "execution" in fields and fields["execution"] != _NO_TASKS:
            marks.add("execution")
        if "outputSchema" in fields:
            output = fields["outputSchema"]
            if type(output) is not dict or output.get("type") != "object":
                marks.add(ODD_OUTPUT)
            if self._has_dialect and type(output) is dict:
                self._mark_dialect(output, marks, ODD_OUTPUT)

    def _mark_dialect(self, schema: dict[str, Any], marks: set[str], odd: str) -> None:
        """Add the marks of a schema that must be valid in its dialect."""
        if "$schema" in schema:
            marks.add(DIALECT)
            if self._has_foreign is None:
                self._has_foreign = any(each in self._document.text for each in _FOREIGN_KEYWORDS)
            if self._has_foreign:
                marks.add(FOREIGN)
        if not is_plainly_valid(schema) or ("$schema" in schema and "draft-04" in str(schema["$schema"])):
            marks.update((odd, FOREIGN) if "$schema" in schema else (odd,))


def _is_odd(name: str) -> bool:
    """Whether a name that is not an identifier has more than hyphens inside."""
    plain = name.replace("-", "_")
    return len(name) > _LONGEST_NAME or not (plain.isidentifier() and plain.isascii()) or "-" in (name[0], name[-1])


def _are_plain_hints(hints: dict[str, Any]) -> bool:
    for key, value in hints.items():
        if type(value) is bool:
            if key not in _HINTS:
                return False
        elif type(value) is not str or key != "title":
            return False
    return not (hints.get("readOnlyHint") and hints.get("destructiveHint"))


@lru_cache(maxsize=32)  # a run with many files has a few
def _applying(rules: tuple[Rule, ...], judged_by: JudgingRevision) -> list[Rule]:
    """The rules of a revision, and, if it is only assumed, those that only the newest one has."""
    revision, is_assumed = judged_by
    return [
        each
        for each in rules
        if revision in each.traits["revisions"] or (is_assumed and min(each.traits["revisions"]) == FIRST_STATELESS)
    ]


def _marks(item: Item) -> set[str]:
    """The marks of an item that is not a tool."""
    if item.kind == "server":
        introduction = item.fields.get("initialize")
        info = introduction.get("serverInfo") if isinstance(introduction, dict) else None
        return {SERVER_ICONS} if isinstance(info, dict) and "icons" in info else set()
    marks = {*(_MARKING_MEMBERS & item.fields.keys())}
    if "title" in item.fields:
        marks.add(ODD_TITLE)
    if None in item.fields.values():
        marks.add(NULL)
    return marks
