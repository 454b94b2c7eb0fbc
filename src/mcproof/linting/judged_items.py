"""Items with the protocol revision that judges them, and the rules of a revision that can concern an item.

Most items break no rule of the specification. A quick look at an item gives marks for everything unusual about it; a
rule names the marks without which it reports nothing, and runs only on items with one of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog.model import Tool
from mcproof.exchange.revisions import FIRST_STATELESS, HANDSHAKE, REVISIONS
from mcproof.schema.header_parameters import ANNOTATION
from mcproof.schema.plain_schemas import are_plainly_valid

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
"""The name is not an identifier of usual length."""
ODD_ROOT = "(root)"
"""The input schema is not an object of type `object`."""
ODD_PARAMETERS = "(parameters)"
"""`properties` has values that are not objects, or `required` is not a list of strings."""
NO_PARAMETERS = "(no parameters)"
ODD_SCHEMA = "(schema)"
"""The input schema is not plainly valid."""
DIALECT = "(dialect)"
"""The input schema declares its dialect."""
FOREIGN = "(foreign keyword)"
"""The document has a keyword that not every dialect has."""
REFERENCE = "(reference)"
"""The input schema has a reference, or the output schema may have one."""
HEADER = "(header)"
"""The document has a parameter header."""
UNKNOWN = "(unknown)"
"""A tool has a member that no revision defines."""
SERVER_ICONS = "(server icons)"

_PLAIN_MEMBERS = frozenset({"name", "description", "inputSchema", "uri", "uriTemplate", "arguments"})
TOOL_MEMBERS = frozenset(
    {"name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta"}
)
_LONGEST_NAME = 128
_ONLY_OBJECTS, _ONLY_TEXTS = frozenset({dict}), frozenset({str})
_ESCAPED = "\\u00"
_KEYWORDS = ('"definitions"', '"dependencies"', '"prefixItems"', '"$defs"', '"items"')
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
        return JudgingRevision(catalog.judged_as)
    revision = catalog.protocol
    if revision is None and isinstance(catalog.server.fields.get("discover"), dict):
        return JudgingRevision(FIRST_STATELESS)
    if revision is None or _DATE.fullmatch(revision) is None:
        return JudgingRevision(ASSUMED, is_assumed=True)
    return JudgingRevision(max((each for each in REVISIONS if each <= revision), default=min(REVISIONS)))


class ItemSurvey:
    """The rules that can concern each item of one catalog."""

    def __init__(self, catalog: Catalog, rules: list[Rule]) -> None:
        self.judged_by = judging_revision(catalog)
        self._rules = [each for each in rules if self._applies(each)]
        self._chosen: dict[tuple[str, frozenset[str]], list[Rule]] = {}
        text = catalog.document.text
        is_escaped = _ESCAPED in text  # any key may be
        self._has_references = is_escaped or '"$ref"' in text or '"$dynamicRef"' in text
        common = set()
        if is_escaped or ANNOTATION in text:
            common.add(HEADER)
        if is_escaped or any(each in text for each in _KEYWORDS):
            common.add(FOREIGN)
        self._common = frozenset(common)
        self._has_dialect = self.judged_by.revision >= DIALECT_SINCE

    def _applies(self, rule: Rule) -> bool:
        revisions = rule.traits["revisions"]
        return self.judged_by.revision in revisions or (self.judged_by.is_assumed and min(revisions) == FIRST_STATELESS)

    def rules_for(self, item: Item) -> list[Rule]:
        """The rules that can concern an item."""
        marks = self._tool_marks(item) if isinstance(item, Tool) else _marks(item)
        if not marks and item.kind == "tool":
            return []
        key = item.kind, frozenset(marks)
        rules = self._chosen.get(key)
        if rules is None:
            rules = [
                each
                for each in self._rules
                if item.kind in each.traits["kinds"]
                and (not each.traits["marks"] or not marks.isdisjoint(each.traits["marks"]))
            ]
            if len(self._chosen) < _MOST_KEYS:
                self._chosen[key] = rules
        return rules

    def _tool_marks(self, tool: Tool) -> set[str]:
        fields, name, schema = tool.fields, tool.name, tool.schema
        marks = fields.keys() - _PLAIN_MEMBERS
        if not fields.keys() <= TOOL_MEMBERS:
            marks = (marks & TOOL_MEMBERS) | {UNKNOWN}
        if None in fields.values():
            marks.add(NULL)
        if len(name) > _LONGEST_NAME or not name.isidentifier() or not name.isascii():
            marks.add(ODD_NAME)
        if self._common:
            marks |= self._common
        if schema is None:
            marks.add(ODD_ROOT)
            return marks
        if schema.get("type") != "object":
            marks.add(ODD_ROOT)
        if "$schema" in schema:
            marks.add(DIALECT)
        declared, required = schema.get("properties"), schema.get("required", ())
        if not declared:
            marks.add(NO_PARAMETERS)
        if type(declared) is not dict:
            if "properties" in schema:
                marks.add(ODD_PARAMETERS)
        elif not _ONLY_OBJECTS.issuperset(map(type, declared.values())):
            marks.add(ODD_PARAMETERS)
        if required and type(required) is list:
            if not _ONLY_TEXTS.issuperset(map(type, required)):
                marks.add(ODD_PARAMETERS)
        elif required != ():
            marks.add(ODD_PARAMETERS)
        tree = tool.tree if self._has_references or self._has_dialect else None
        if tree is not None:
            if self._has_references and (tree.holders or "outputSchema" in fields):
                marks.add(REFERENCE)
            if self._has_dialect and (_is_draft_04(schema) or not are_plainly_valid(tree.nodes)):
                marks.add(ODD_SCHEMA)
        return marks


def _is_draft_04(schema: dict[str, Any]) -> bool:
    """Whether a schema declares draft-04, which refuses usual values of later dialects."""
    return "$schema" in schema and "draft-04" in str(schema["$schema"])


_MOST_KEYS = 1_000
"""How many combinations of marks are remembered; unknown members are one mark, so there are few."""


def _marks(item: Item) -> set[str]:
    """The marks of an item that is not a tool."""
    if item.kind == "server":
        introduction = item.fields.get("initialize")
        info = introduction.get("serverInfo") if isinstance(introduction, dict) else None
        return {SERVER_ICONS} if isinstance(info, dict) and "icons" in info else set()
    marks = {"title", "annotations", "icons", "_meta", "size", "mimeType"} & item.fields.keys()
    if None in item.fields.values():
        marks.add(NULL)
    return marks
