"""Every string of a catalog that a model may read, with its role, each analysed once however often it occurs.

Clients pass more than descriptions to a model: schemas in full, with titles, values, defaults, examples and keys
that no specification names; annotations and `_meta`; instructions; prompts; resources and what they contain.
Why texts are searched in one pass: docs/decisions/0050-texts-in-one-pass.md.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from mcproof.checks.subjects import WholeCatalog
from mcproof.core.catalog.model import Catalog, Item, Kind, Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import word_set
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


Place = Literal[
    "name",
    "title",
    "description",
    "annotation",
    "_meta",
    "icon",
    "instructions",
    "server info",
    "capability",
    "schema description",
    "parameter name",
    "parameter title",
    "parameter description",
    "enum value",
    "default",
    "example",
    "const",
    "comment",
    "pattern",
    "keyword",
    "argument name",
    "argument title",
    "argument description",
    "uri",
    "resource body",
    "unknown key",
    "unknown value",
]

PROSE: frozenset[Place] = frozenset(
    (
        "description",
        "schema description",
        "parameter description",
        "argument description",
        "instructions",
        "resource body",
    )
)
"""Places where sentences belong."""

_SCHEMAS = ("inputSchema", "outputSchema")
_MAPS = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies", "dependentRequired")
)
"""Keywords whose members are named freely."""
_VALUES: dict[str | int, Place] = {
    "enum": "enum value",
    "default": "default",
    "examples": "example",
    "example": "example",
    "const": "const",
}
"""Keywords whose value is data, with everything inside it."""
_TEXTS: dict[str | int, Place] = {
    "description": "parameter description",
    "title": "parameter title",
    "$comment": "comment",
    "pattern": "pattern",
}
_APPLICATORS = frozenset(
    (
        *("items", "prefixItems", "additionalItems", "contains", "allOf", "anyOf", "oneOf", "not"),
        *("if", "then", "else", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
    )
)
_OTHER_KEYWORDS = frozenset(
    (
        *("type", "format", "required", "$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor"),
        *("contentEncoding", "contentMediaType", "$vocabulary"),
    )
)
_OF_ITEMS: dict[str | int, Place] = {
    "name": "name",
    "title": "title",
    "description": "description",
    "annotations": "annotation",
    "_meta": "_meta",
    "icons": "icon",
    "uri": "uri",
    "uriTemplate": "uri",
    "mimeType": "keyword",
    "execution": "keyword",
}
_OF_SERVERS: dict[str | int, Place] = {
    "instructions": "instructions",
    "serverInfo": "server info",
    "capabilities": "capability",
    "protocolVersion": "keyword",
    "_meta": "_meta",
}
_OF_ARGUMENTS: dict[str | int, Place] = {
    "name": "argument name",
    "title": "argument title",
    "description": "argument description",
}


def place_of(kind: Kind, tokens: Sequence[str | int], *, is_key: bool) -> Place:
    """The role of the text at a path from an item, or of the last key of that path."""
    first = tokens[0]
    if kind == "server":
        place = _OF_SERVERS.get(tokens[1] if len(tokens) > 1 else "")
    elif kind == "tool" and first in _SCHEMAS:
        return _place_in_schema(tokens[1:], is_key=is_key)
    elif kind == "prompt" and first == "arguments" and len(tokens) == 3:
        place = _OF_ARGUMENTS.get(tokens[2])
    elif tuple(tokens) == ("annotations", "title"):
        place = "title"
    else:
        place = _OF_ITEMS.get(first)
    if place is None:
        return "unknown key" if is_key else "unknown value"
    return place


def _place_in_schema(tokens: Sequence[str | int], *, is_key: bool) -> Place:
    """The role of a text inside a schema, given its path from the root of the schema."""
    depth, at, last = 0, 0, len(tokens) - 1
    while at <= last:
        token = tokens[at]
        if token in _VALUES:
            return _VALUES[token]
        if token in _MAPS and at < last:
            if at + 1 == last:
                return "parameter name" if is_key else "keyword"
            depth, at = depth + 1, at + 2
            continue
        if at == last and not is_key:
            if token == "description" and depth == 0:  # noqa: S105 (a keyword)
                return "schema description"
            if token in _TEXTS:
                return _TEXTS[token]
            return "keyword" if token in _OTHER_KEYWORDS else "unknown value"
        if token in _APPLICATORS or type(token) is int:
            depth, at = depth + (token in _APPLICATORS), at + 1
            continue
        if token in _OTHER_KEYWORDS:
            return "keyword"
        break
    return "unknown key" if is_key else "unknown value"


if TYPE_CHECKING:
    Analysis = TypeVar("Analysis")

MAX_TEXTS, MAX_CHARACTERS, MAX_LEVELS, MAX_USES = 1_000_000, 100_000_000, 500, 1_000
"""Limits: distinct texts and their characters for each server, levels of nesting, and recorded uses of one text."""

INTRODUCTIONS = ("initialize", "discover")
"""The members of a capture in which a server describes itself."""

DESCRIBING = ("description", "instructions")
"""Keys whose texts are prose."""

KEYWORDS = word_set(
    """
    $anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary _meta additionalItems
    additionalProperties allOf annotations anyOf arguments capabilities const contains contentEncoding
    contentMediaType default definitions dependencies dependentRequired dependentSchemas deprecated description
    destructiveHint discover else enum examples exclusiveMaximum exclusiveMinimum execution format icons
    idempotentHint if initialize inputSchema instructions items maxContains maxItems maxLength maxProperties maximum
    mimeType minContains minItems minLength minProperties minimum multipleOf name not nullable oneOf openWorldHint
    outputSchema pattern patternProperties prefixItems prompts properties propertyNames protocolVersion readOnly
    readOnlyHint required resources serverInfo size src taskSupport then title tools type unevaluatedItems
    unevaluatedProperties uniqueItems uri uriTemplate version writeOnly
    """
)
"""Keys of MCP and JSON Schema: every other key is a text, such as the name of a property."""


class ModelText(NamedTuple):
    """A text that a model may read, and where it is."""

    item: Item
    pointer: str
    """The pointer from the item; a key has the pointer of its value."""
    text: str
    place: Place
    """Its role, such as `description` or `enum value`."""


class _Holder(NamedTuple):
    """An object or list of a catalog, and the path to it."""

    value: Any
    around: _Holder | None
    key: str | int


class ModelTexts(WholeCatalog):
    """The texts of one server, without repetitions, in the order of the catalog."""

    def __init__(self, catalog: Catalog, bodies: Iterable[tuple[str, str]] = ()) -> None:
        """Collect the texts of a catalog. `bodies` are the contents of resources that were read: URI and text."""
        self.catalog = catalog
        self.bodies = tuple(bodies)
        self.left_out = 0
        """The number of texts beyond the limits, which no rule sees."""
        self._texts: dict[str, bool] = {}
        """The texts in the order of the catalog, and whether they occur elsewhere than in prose."""
        self._uses: dict[str, list[ModelText]] | None = None
        self._analyses: dict[str, Any] = {}
        for item in self._items():
            self._add_texts(_readable(item))
        for _, body in self.bodies:
            self._texts.setdefault(body, False)
        if len(self._texts) > MAX_TEXTS or sum(map(len, self._texts)) > MAX_CHARACTERS:
            self._leave_out()

    @property
    def is_plain(self) -> bool:
        """Whether all texts are known to have only printable ASCII characters and whitespace."""
        return not self.bodies and self.catalog.source is None and self.catalog.document.is_plain

    @property
    def distinct(self) -> Iterable[str]:
        """Each text once."""
        return self._texts.keys()

    @property
    def outside_prose(self) -> Iterable[str]:
        """Each text once that occurs elsewhere than in a description or in instructions: names, values, keys."""
        return (text for text, is_outside in self._texts.items() if is_outside)

    @cached_property
    def joined(self) -> str:
        """All texts, one after the other on lines of their own: for searches in one pass."""
        return "\n".join(self._texts)

    @cached_property
    def joined_bytes(self) -> bytes:
        """The joined texts with one byte for each character: `?` for those beyond Latin-1."""
        # Offsets are the same as in `joined`.
        return self.joined.encode("latin-1", "replace")

    def with_any(self, characters: str) -> list[str]:
        """The texts with one of some characters beyond ASCII, which are given as a set of a regular expression."""
        if self.joined.isascii() or re.search(characters, self.unusual_characters) is None:
            return []
        return [text for text in self.beyond_ascii if re.search(characters, text) is not None]

    @cached_property
    def beyond_ascii(self) -> list[str]:
        """Each text once that has characters beyond ASCII."""
        return [text for text in self._texts if not text.isascii()]

    @cached_property
    def unusual_characters(self) -> str:
        """The characters of the texts beyond ASCII, each once."""
        return "".join(set[str]().union(*self.beyond_ascii))

    def with_match(self, rare: bytes, expression: bytes, data: bytes | None = None) -> Iterator[str]:
        """The texts of `data`, a form of `joined_bytes`, where an expression matches, once for each match.

        The expression starts with a rare character and looks behind it for the rest.
        """
        # `re` skips to the next rare character, while for a longer sign, or one of several, it would look at every
        # character. Most servers have no text with it, so that the expression is not even compiled.
        data = self.joined_bytes if data is None else data
        if rare in data:
            for match in re.finditer(expression, data):
                yield self.text_at(match.start())

    def text_at(self, offset: int) -> str:
        """The text at an offset of `joined`."""
        starts, texts = self._starts
        return texts[bisect_right(starts, offset) - 1]

    @cached_property
    def _starts(self) -> tuple[list[int], list[str]]:
        """Where each text starts in `joined`."""
        texts = list(self._texts)
        return list(accumulate((len(text) + 1 for text in texts[:-1]), initial=0)), texts

    def uses(self, text: str) -> list[ModelText]:
        """Where a text occurs, at most `MAX_USES` times; places that source code leaves unknown are omitted."""
        if self._uses is None:
            self._uses = {}
            # Only for texts that a rule reports, which most servers do not have:
            # docs/decisions/0050-texts-in-one-pass.md.
            for use in self._all_uses():
                uses = self._uses.setdefault(use.text, [])
                if len(uses) < MAX_USES:
                    uses.append(use)
        return self._uses.get(text, [])

    def analysis(self, name: str, analyse: Callable[[ModelTexts], Analysis]) -> Analysis:
        """The result of an analysis that several rules share, computed once."""
        if name not in self._analyses:
            self._analyses[name] = analyse(self)
        result: Analysis = self._analyses[name]
        return result

    def _items(self) -> Iterator[Item]:
        catalog = self.catalog
        yield catalog.server
        yield from catalog.tools
        yield from catalog.resources
        yield from catalog.templates
        yield from catalog.prompts

    def _add_texts(self, fields: dict[str, Any]) -> None:
        """Add all texts of an item, level by level."""
        texts = self._texts
        # Prose never overwrites True: a text that occurs elsewhere as well stays outside of prose.
        add_prose = texts.setdefault
        level: list[Any] = [fields]
        for _ in range(MAX_LEVELS):
            below: list[Any] = []
            for holder in level:
                if type(holder) is dict:
                    for key, value in holder.items():
                        if key not in KEYWORDS:
                            texts[key] = True
                        kind = type(value)
                        if kind is str:
                            if key in DESCRIBING:
                                add_prose(value, False)
                            else:
                                texts[value] = True
                        elif kind is dict or kind is list:
                            below.append(value)
                else:
                    for value in holder:
                        kind = type(value)
                        if kind is str:
                            texts[value] = True
                        elif kind is dict or kind is list:
                            below.append(value)
            if not below:
                return
            level = below
        self.left_out += len(level)

    def _leave_out(self) -> None:
        """Remove the texts beyond the limits."""
        texts: dict[str, bool] = {}
        characters = 0
        for text, is_outside in self._texts.items():
            if len(texts) < MAX_TEXTS and characters + len(text) <= MAX_CHARACTERS:
                characters += len(text)
                texts[text] = is_outside
        self.left_out += len(self._texts) - len(texts)
        self._texts = texts

    def _all_uses(self) -> Iterator[ModelText]:
        for item in self._items():
            for tokens, text, is_key in _paths(_readable(item)):
                if text in self._texts:
                    pointer = "".join(f"/{escape(token) if type(token) is str else token}" for token in tokens)
                    if not isinstance(item, Tool) or item.knows(pointer):
                        yield ModelText(item, pointer, text, place_of(item.kind, tokens, is_key=is_key))
        # Reversed, so that the first of several resources with one URI counts.
        read = {item.fields.get("uri"): item for item in reversed(self.catalog.resources)}
        for uri, body in self.bodies:
            if body in self._texts:
                resource = read.get(uri)
                item, pointer = (self.catalog.server, "") if resource is None else (resource, "/uri")
                yield ModelText(item, pointer, body, "resource body")


def _readable(item: Item) -> dict[str, Any]:
    """The members of an item that a client may pass to a model."""
    if item.kind != "server":
        return item.fields
    return {key: value for key, value in item.fields.items() if key in INTRODUCTIONS}


def _paths(fields: dict[str, Any]) -> Iterator[tuple[list[str | int], str, bool]]:
    """All texts of an item with their paths, and whether a text is the last key of its path."""
    level = [_Holder(fields, None, "")]
    for _ in range(MAX_LEVELS):
        below: list[_Holder] = []
        for holder in level:
            path = _path_to(holder)
            members = holder.value.items() if type(holder.value) is dict else enumerate(holder.value)
            for key, value in members:
                if type(key) is str and key not in KEYWORDS:
                    yield [*path, key], key, True
                if type(value) is str:
                    yield [*path, key], value, False
                elif type(value) is dict or type(value) is list:
                    below.append(_Holder(value, holder, key))
        level = below


def _path_to(holder: _Holder) -> list[str | int]:
    path: list[str | int] = []
    around: _Holder | None = holder
    while around is not None and around.around is not None:
        path.append(around.key)
        around = around.around
    return path[::-1]
