"""Parse `expect` blocks: assertions with value paths and matchers, and snapshot names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.text.yaml_document import json_value
from mcproof.suite.definition import Expect, Expectation
from mcproof.suite.matchers import NAMES, NOT, NUMERIC, MatcherError, matcher_of
from mcproof.suite.parse.suite_fields import LONGEST_WAIT
from mcproof.suite.snapshots import Mask, mask_of
from mcproof.suite.value_paths import ValuePathError, is_number, parse_value_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.core.text.yaml_document import Node
    from mcproof.suite.definition import SuiteLocation
    from mcproof.suite.matchers import Matcher
    from mcproof.suite.parse.suite_fields import Fields
    from mcproof.suite.value_paths import ValuePath

    Refusal = Callable[[ValuePath], str | None]
    """Returns why a test has no such path; None if it has."""

ASSERTION_KEYS = ("target", "matcher", "message")


class ExpectationParser:
    """Parses the `expect` blocks of a suite and keeps its snapshot names unique."""

    def __init__(self) -> None:
        self._given: dict[str, SuiteLocation] = {}
        """Locations of the snapshots named by the author."""
        self._derived: dict[str, int] = {}
        """How often each name was derived from a test and a path."""

    def parse(
        self, fields: Fields, node: Node | None, test: str, refuse: Refusal, *, allows_duration: bool
    ) -> Expect | None:
        """Parse the `expect` block of a test; `test` names its snapshots."""
        if node is None:
            return None
        limit = None
        listed = node
        if isinstance(node.value, dict):
            known = ("assertions", "max_duration_ms") if allows_duration else ("assertions",)
            members = fields.mapping(node, "`expect`", known)
            limit = fields.number(members.get("max_duration_ms"), "`max_duration_ms`", 1, LONGEST_WAIT)
            if "assertions" not in members:
                return Expect((), limit)
            listed = members["assertions"]
        elif not isinstance(node.value, list):
            fields.complain(node, f"`expect` must be a list or a mapping with `assertions`, not {node.kind}")
            return None
        if listed.value == []:
            fields.complain(listed, "empty `expect`; omit it to use the default")
        items = fields.items(listed, "`assertions`")
        return Expect(tuple(found for each in items if (found := self._assertion(fields, each, test, refuse))), limit)

    def _assertion(self, fields: Fields, node: Node, test: str, refuse: Refusal) -> Expectation | None:
        members = fields.mapping(node, "an assertion", ASSERTION_KEYS, ("target", "matcher"))
        message = fields.text(members.get("message"), "`message`")
        path = _value_path(fields, members.get("target"), refuse)
        found = _matcher(fields, members["matcher"]) if "matcher" in members else None
        if path is None or found is None:
            return None
        matcher, options = found
        location = fields.location(node)
        if matcher.name == "snapshot":
            given, mask = _snapshot(fields, options)
            stored = self._named(fields, options, given) if given else self._unique(f"{test}: {path.text}")
            return Expectation(path, matcher, message, location, stored, mask)
        if is_number(path) and matcher.name == "schema" and not NUMERIC & _keywords(matcher):
            fields.complain(options, f"`{path.text}` is a number; its schema needs one of {', '.join(sorted(NUMERIC))}")
        return Expectation(path, matcher, message, location)

    def _named(self, fields: Fields, node: Node, name: str) -> str:
        first = self._given.setdefault(name, fields.location(node))
        if first != fields.location(node):
            fields.complain(node, f"duplicate snapshot name; first used at {first.file}:{first.line}")
        return name

    def _unique(self, name: str) -> str:
        """Return a unique name for an unnamed snapshot; repeats of a path are numbered."""
        count = self._derived[name] = self._derived.get(name, 0) + 1
        return name if count == 1 else f"{name} ({count})"


def _keywords(matcher: Matcher) -> set[str]:
    return set(matcher.expected) if isinstance(matcher.expected, dict) else set()


def _value_path(fields: Fields, node: Node | None, refuse: Refusal) -> ValuePath | None:
    text = fields.text(node, "`target`")
    if node is None or not text or fields.is_unresolved(text):
        return None
    try:
        path = parse_value_path(text)
    except ValuePathError as error:
        fields.complain(node, f"the target `{text[:60]}` {error}")
        return None
    if (why := refuse(path)) is not None:
        fields.complain(node, why)
        return None
    return path


def _matcher(fields: Fields, node: Node, *, is_negated: bool = False) -> tuple[Matcher, Node] | None:
    if not isinstance(node.value, dict) or len(node.value) != 1:
        what = f"{len(node.value)} keys" if isinstance(node.value, dict) else node.kind
        fields.complain(node, f"a matcher must be a mapping with one key, such as {{contains: text}}, not {what}")
        return None
    ((name, value),) = node.value.items()
    if is_negated and name in (NOT, "snapshot"):
        fields.complain_at(node.keys[name], f"`not` cannot be combined with `{name}`")
        return None
    if name == NOT:
        return _matcher(fields, value, is_negated=True)
    if name not in NAMES:
        fields.complain_unknown(node.keys[name], "matcher", name, (*NAMES, NOT))
        return None
    if name == "regex" and isinstance(value.value, str) and fields.is_unresolved(value.value):
        return None
    try:
        return matcher_of(name, json_value(value), is_negated=is_negated), value
    except MatcherError as error:
        fields.complain(value, str(error))
        return None


def _snapshot(fields: Fields, node: Node) -> tuple[str, Mask]:
    """Parse `snapshot`: the name, if given, and the mask."""
    if node.value is True:
        return "", Mask()
    if isinstance(node.value, str) and node.value:
        return node.value, Mask()
    if not isinstance(node.value, dict):
        fields.complain(node, f"`snapshot` must be true, a name, or a mapping with `name` and `mask`, not {node.kind}")
        return "", Mask()
    members = fields.mapping(node, "`snapshot`", ("name", "mask"))
    words = []
    listed = members.get("mask")
    for item in fields.items(listed, "`mask`") if listed is not None else ():
        word = fields.text(item, "an item of `mask`")
        try:
            mask_of([word] if word else [])
            words.append(word)
        except ValuePathError as error:
            fields.complain(item, str(error))
    return fields.text(members.get("name"), "`name` of a snapshot"), mask_of([word for word in words if word])
