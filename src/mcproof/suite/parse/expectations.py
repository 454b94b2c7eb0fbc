"""What must come of a test: assertions with targets and matchers, and where snapshots are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.suite.definition import Expect, Expectation
from mcproof.suite.matchers import NAMES, NOT, NUMERIC, MatcherError, matcher_of
from mcproof.suite.parse.fields import LONGEST_WAIT
from mcproof.suite.snapshots import Mask, mask_of
from mcproof.suite.value_paths import TargetError, is_number, parse_target
from mcproof.text.yamltext import json_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.suite.definition import Place
    from mcproof.suite.matchers import Matcher
    from mcproof.suite.parse.fields import Fields
    from mcproof.suite.value_paths import Target
    from mcproof.text.yamltext import Node

    Refusal = Callable[[Target], str | None]
    """Says why a target means nothing in a test."""

KEYS = ("target", "matcher", "message")


class Expectations:
    """Reads what is expected in a suite, and knows which names its snapshots have taken."""

    def __init__(self) -> None:
        self._given: dict[str, Place] = {}
        """The snapshots that were given a name, each with its place."""
        self._made: dict[str, int] = {}
        """How often each name was made of a test and a target."""

    def read(self, fields: Fields, node: Node | None, test: str, refuse: Refusal, *, measures: bool) -> Expect | None:
        """What is expected of a test, which goes by a name; of what is called, also how long it may take."""
        if node is None:
            return None
        limit = None
        listed = node
        if isinstance(node.value, dict):
            known = ("assertions", "max_duration_ms") if measures else ("assertions",)
            members = fields.mapping(node, "`expect`", known)
            limit = fields.number(members.get("max_duration_ms"), "`max_duration_ms`", 1, LONGEST_WAIT)
            if "assertions" not in members:
                return Expect((), limit)
            listed = members["assertions"]
        elif not isinstance(node.value, list):
            fields.complain(node, f"`expect` is a list, or a mapping with `assertions`, and this is {node.kind}")
            return None
        if listed.value == []:
            fields.complain(listed, "nothing is expected here; leave `expect` out to get the default")
        items = fields.items(listed, "`assertions`")
        return Expect(tuple(found for each in items if (found := self._assertion(fields, each, test, refuse))), limit)

    def _assertion(self, fields: Fields, node: Node, test: str, refuse: Refusal) -> Expectation | None:
        members = fields.mapping(node, "an assertion", KEYS, ("target", "matcher"))
        message = fields.text(members.get("message"), "`message`")
        target = _target(fields, members.get("target"), refuse)
        found = _matcher(fields, members["matcher"]) if "matcher" in members else None
        if target is None or found is None:
            return None
        matcher, options = found
        place = fields.place(node)
        if matcher.name == "snapshot":
            given, mask = _snapshot(fields, options)
            stored = self._named(fields, options, given) if given else self._unique(f"{test}: {target.text}")
            return Expectation(target, matcher, message, place, stored, mask)
        if is_number(target) and matcher.name == "schema" and not NUMERIC & _keywords(matcher):
            fields.complain(options, f"`{target.text}` is a number; a schema of it has {', '.join(sorted(NUMERIC))}")
        return Expectation(target, matcher, message, place)

    def _named(self, fields: Fields, node: Node, name: str) -> str:
        first = self._given.setdefault(name, fields.place(node))
        if first != fields.place(node):
            fields.complain(node, f"another snapshot has this name: {first.file}:{first.line}")
        return name

    def _unique(self, name: str) -> str:
        """A name for a snapshot that has none of its own; the second of one target has a number."""
        count = self._made[name] = self._made.get(name, 0) + 1
        return name if count == 1 else f"{name} ({count})"


def _keywords(matcher: Matcher) -> set[str]:
    return set(matcher.expected) if isinstance(matcher.expected, dict) else set()


def _target(fields: Fields, node: Node | None, refuse: Refusal) -> Target | None:
    text = fields.text(node, "`target`")
    if node is None or not text or fields.is_open(text):
        return None
    try:
        target = parse_target(text)
    except TargetError as error:
        fields.complain(node, f"the target `{text[:60]}` {error}")
        return None
    if (why := refuse(target)) is not None:
        fields.complain(node, why)
        return None
    return target


def _matcher(fields: Fields, node: Node, *, is_negated: bool = False) -> tuple[Matcher, Node] | None:
    if not isinstance(node.value, dict) or len(node.value) != 1:
        what = f"{len(node.value)} of them" if isinstance(node.value, dict) else node.kind
        fields.complain(node, f"a matcher is a mapping with one key, such as {{contains: text}}, and this is {what}")
        return None
    ((name, value),) = node.value.items()
    if is_negated and name in (NOT, "snapshot"):
        fields.complain_at(node.keys[name], f"`not` makes no sense with `{name}`")
        return None
    if name == NOT:
        return _matcher(fields, value, is_negated=True)
    if name not in NAMES:
        fields.complain_unknown(node.keys[name], "matcher", name, (*NAMES, NOT))
        return None
    if name == "regex" and isinstance(value.value, str) and fields.is_open(value.value):
        return None
    try:
        return matcher_of(name, json_value(value), is_negated=is_negated), value
    except MatcherError as error:
        fields.complain(value, str(error))
        return None


def _snapshot(fields: Fields, node: Node) -> tuple[str, Mask]:
    """The name of a snapshot, where it has one of its own, and what it does not compare."""
    if node.value is True:
        return "", Mask()
    if isinstance(node.value, str) and node.value:
        return node.value, Mask()
    if not isinstance(node.value, dict):
        fields.complain(node, f"`snapshot` is true, a name, or a mapping with `name` and `mask`, not {node.kind}")
        return "", Mask()
    members = fields.mapping(node, "`snapshot`", ("name", "mask"))
    words = []
    listed = members.get("mask")
    for item in fields.items(listed, "`mask`") if listed is not None else ():
        word = fields.text(item, "an item of `mask`")
        try:
            mask_of([word] if word else [])
            words.append(word)
        except TargetError as error:
            fields.complain(item, str(error))
    return fields.text(members.get("name"), "`name` of a snapshot"), mask_of([word for word in words if word])
