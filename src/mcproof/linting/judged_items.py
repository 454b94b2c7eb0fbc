"""Items with the protocol revision that judges them, and the rules of a revision that can concern an item.

Most items break no rule of the specification. A quick look at an item gives marks for everything unusual about it; a
rule names the marks without which it reports nothing, and runs only on items with one of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog.model import Tool
from mcproof.catalog.tool_marks import NULL, ODD_TITLE, OUTPUT
from mcproof.exchange.revisions import FIRST_STATELESS, HANDSHAKE, REVISIONS
from mcproof.schema.header_parameters import ANNOTATION
from mcproof.schema.references import REFERENCE_KEYWORDS
from mcproof.schema.schema_marks import ODD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.catalog.model import Catalog, Item
    from mcproof.linting.registry import Rule
    from mcproof.schema.tree import SchemaNode

ASSUMED = HANDSHAKE[0]
"""The revision that judges a catalog without a handshake."""
DIALECT_SINCE = HANDSHAKE[0]
"""The revision from which on schemas have a default dialect, in which they must be valid."""

ODD_PARAMETERS = "(parameters)"
"""`properties` has values that are not objects, or `required` is not a list of strings."""
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
"""A parameter has a header."""
SERVER_ICONS = "(server icons)"

_MARKING_MEMBERS = frozenset({"icons", "_meta", "size", "mimeType", "annotations"})
"""The members that are marks themselves, `annotations` only on items that are not tools."""
_ONLY_OBJECTS, _ONLY_TEXTS = frozenset({dict}), frozenset({str})
_NO_PROPERTIES: dict[str, Any] = {}
_NO_NAMES: list[str] = []
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
        self._needed = _marks_needed(tuple(self._rules))
        self._chosen: dict[tuple[str, frozenset[str]], list[Rule]] = {}
        self._has_dialect = self.judged_by.revision >= DIALECT_SINCE
        self._has_headers = self.judged_by.is_assumed or self.judged_by.revision >= FIRST_STATELESS

    def rules_for(self, item: Item) -> list[Rule]:
        """The rules that can concern an item."""
        if isinstance(item, Tool):
            key = "tool", self._needed.intersection(self._tool_marks(item))
        else:
            key = item.kind, frozenset(_marks(item))
        rules = self._chosen.get(key)
        if rules is None:
            kind, marks = key
            rules = self._chosen[key] = [
                each
                for each in self._rules
                if kind in each.traits["kinds"]
                and (not each.traits["marks"] or not marks.isdisjoint(each.traits["marks"]))
            ]
        return rules

    def _tool_marks(self, tool: Tool) -> Iterable[str]:
        marks, more = tool.marks, list[str]()
        if OUTPUT in marks:
            more += self._marks_of_output(tool)
        tree = tool.tree
        if tree is None:
            return (*marks, *more)
        if tree.holders:
            more.append(REFERENCE)
            if any(map(_is_external, tree.holders)):
                more.append(EXTERNAL)
        if self._has_headers and ANNOTATION in tree.marks:
            more.append(HEADER)
        if self._has_dialect:
            if ODD in tree.marks:
                more += (ODD_PARAMETERS, ODD_SCHEMA, FOREIGN)
            if "$schema" in tree.root:
                more += _marks_of_dialect(tree.root, ODD_SCHEMA)
        elif _has_odd_parameters(tree.root):
            more.append(ODD_PARAMETERS)
        return (*marks, *more) if more else marks

    def _marks_of_output(self, tool: Tool) -> Iterator[str]:
        output, look = tool.fields["outputSchema"], tool.output_look
        if look.has_reference:
            yield REFERENCE
        if look.has_external:
            yield EXTERNAL
        if type(output) is not dict or output.get("type") != "object":
            yield ODD_OUTPUT
        if self._has_dialect and type(output) is dict:
            if not look.is_plain:
                yield ODD_OUTPUT
                yield FOREIGN
            if "$schema" in output:
                yield from _marks_of_dialect(output, ODD_OUTPUT)


def _marks_of_dialect(schema: dict[str, Any], odd: str) -> Iterator[str]:
    """The marks of a schema that declares its dialect."""
    yield DIALECT
    yield FOREIGN
    if "draft-04" in str(schema["$schema"]):  # where plainly valid schemas may be invalid
        yield odd


def _is_external(holder: SchemaNode) -> bool:
    """Whether a schema has a reference to another document, unless that is a part with its own `$id`."""
    texts = (holder.schema.get(keyword, "#") for keyword in REFERENCE_KEYWORDS)
    return any(type(each) is str and not each.startswith("#") for each in texts)


def _has_odd_parameters(schema: dict[str, Any]) -> bool:
    declared, required = schema.get("properties", _NO_PROPERTIES), schema.get("required", _NO_NAMES)
    return (
        type(declared) is not dict
        or not _ONLY_OBJECTS.issuperset(map(type, declared.values()))
        or type(required) is not list
        or not _ONLY_TEXTS.issuperset(map(type, required))
    )


@lru_cache(maxsize=32)  # a run with many files has a few
def _applying(rules: tuple[Rule, ...], judged_by: JudgingRevision) -> list[Rule]:
    """The rules of a revision, and, if it is only assumed, those that only the newest one has."""
    revision, is_assumed = judged_by
    return [
        each
        for each in rules
        if revision in each.traits["revisions"] or (is_assumed and min(each.traits["revisions"]) == FIRST_STATELESS)
    ]


@lru_cache(maxsize=32)
def _marks_needed(rules: tuple[Rule, ...]) -> frozenset[str]:
    """The marks that choose between these rules."""
    return frozenset().union(*(each.traits["marks"] for each in rules))


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
