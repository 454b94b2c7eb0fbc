"""The kinds of change between two catalogs, in words; a change, what it can be about, and its place in a finding.

Items are matched by their identifiers. Parts that only running the source would reveal are left out of both tools,
because a missing part is not a removed one.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from inspect import cleandoc
from typing import Any, Generic, TypeVar

from mcproof.checks.diff.documents import json_key
from mcproof.core.catalog.model import CONDITIONAL, Catalog, Item, Tool
from mcproof.core.console import cut
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_positions import unescape


class ChangeKind(NamedTuple):
    """One kind of change. Whether a particular change breaks callers is part of the change."""

    id: str
    """Permanent."""
    summary: str
    """What changed, in one sentence."""
    why: str
    """Why it matters to callers."""
    advice: str = "nothing; mention it in your release notes"
    """What the author can do about it."""
    since: str = "0.1.0"
    """The first version of mcproof that reports it."""


_KEEP = "keep it for a while beside its replacement, and name the replacement in its description"
_NEW_NAME = "publish the changed behaviour under a new name or in a new major version, and keep the old one for a while"
_EITHER_DIRECTION = (
    "an input that accepts less may reject the values callers send; an output that allows more may return values "
    "callers do not expect"
)
_KEEP_CONTRACT = "keep accepting the old inputs and keep the promises of the old output, or announce the change"

CHANGE_KINDS: dict[str, ChangeKind] = {
    kind.id: kind
    for kind in (
        ChangeKind("tool-removed", "A tool was removed.", "every call of it fails", _KEEP),
        ChangeKind("tool-added", "A tool was added.", "agents have one more tool to choose from"),
        ChangeKind(
            "description-changed",
            "A description changed.",
            "agents choose tools and fill in arguments by their descriptions",
            "retry the prompts your users rely on",
        ),
        ChangeKind("title-changed", "A title changed.", "users see it in lists and dialogs"),
        ChangeKind(
            "read-only-lost",
            "A tool no longer declares that it is read-only.",
            "clients run read-only tools without confirmation; users approved the tool on that promise",
            "move the writing part into a separate tool",
        ),
        ChangeKind(
            "destructive-now",
            "A tool no longer declares that it is non-destructive.",
            "clients ask for fewer confirmations of non-destructive tools; users approved the tool on that promise",
            "move the part that deletes or overwrites into a separate tool",
        ),
        ChangeKind(
            "annotation-changed",
            "A hint about the behaviour of a tool changed.",
            "clients use hints to decide when to ask the user and when to retry",
            "mention it in your release notes",
        ),
        ChangeKind(
            "execution-changed",
            "How a tool is run changed.",
            "a tool that requires tasks rejects plain calls, and one that forbids tasks rejects task calls",
            "support both, or publish the other way under a new name",
        ),
        ChangeKind(
            "metadata-changed",
            "Other metadata of an item changed.",
            "clients that know it may display it or depend on it",
        ),
        ChangeKind(
            "parameter-added",
            "An optional parameter was added.",
            "calls without it work as before, unless callers already send something else under that name",
        ),
        ChangeKind(
            "parameter-added-required",
            "A required parameter was added.",
            "existing calls lack it and are rejected",
            "make it optional, with a default that preserves the behaviour",
        ),
        ChangeKind(
            "parameter-required",
            "An optional parameter became required.",
            "calls without it are rejected",
            "keep it optional, with a default that preserves the behaviour",
        ),
        ChangeKind("parameter-optional", "A required parameter became optional.", "calls with it work as before"),
        ChangeKind(
            "parameter-removed",
            "A parameter was removed.",
            "calls that send it are rejected, or accepted without its effect",
            "keep it, and name its replacement in its description",
        ),
        ChangeKind(
            "field-added",
            "A field was added to the result.",
            "callers that do not know it ignore it, unless the schema excluded other fields",
        ),
        ChangeKind(
            "field-removed", "A field was removed from the result.", "callers that read it find nothing", _KEEP_CONTRACT
        ),
        ChangeKind(
            "field-optional",
            "A field of the result became optional.",
            "callers that rely on it fail when it is missing",
            "keep sending it, with an empty value if necessary",
        ),
        ChangeKind("field-required", "A field of the result became required.", "callers can rely on it"),
        ChangeKind("type-narrowed", "Fewer types are allowed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("type-widened", "More types are allowed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("type-changed", "Other types are allowed.", _EITHER_DIRECTION, _NEW_NAME),
        ChangeKind("values-removed", "Values are no longer allowed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("values-added", "More values are allowed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("values-changed", "The allowed values changed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("const-changed", "The only allowed value changed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("bound-narrowed", "A bound became tighter.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("bound-widened", "A bound became looser.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("bound-changed", "A bound changed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("pattern-changed", "The pattern of a string changed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind(
            "format-changed",
            "The format of a string changed.",
            "some servers and clients enforce formats, others treat them as hints",
            "state in the description whether other values are rejected",
        ),
        ChangeKind(
            "object-closed",
            "Undeclared properties are rejected now.",
            "agents send undeclared arguments; such calls used to succeed",
            "announce the change if such calls should fail, else keep the object open",
        ),
        ChangeKind(
            "object-opened",
            "Undeclared properties are allowed now.",
            "callers that validate results strictly may reject undeclared fields",
            "declare the fields that are sent",
        ),
        ChangeKind("union-narrowed", "An alternative was removed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("union-widened", "An alternative was added.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind("union-changed", "The alternatives changed.", _EITHER_DIRECTION, _KEEP_CONTRACT),
        ChangeKind(
            "constraint-changed", "The values that a schema accepts changed.", _EITHER_DIRECTION, _KEEP_CONTRACT
        ),
        ChangeKind(
            "default-changed",
            "A default changed.",
            "calls without the argument may behave differently",
            "keep the default, or announce the change",
        ),
        ChangeKind(
            "dialect-changed",
            "A schema uses another JSON Schema dialect.",
            "some keywords have another meaning in it, or none",
            "use only keywords that both dialects share",
        ),
        ChangeKind(
            "not-compared",
            "Part of a schema was not compared.",
            "whether it changed in a breaking way is unknown",
            "simplify the schema; it is too large for agents as well",
        ),
        ChangeKind(
            "output-schema-removed",
            "The output schema was removed.",
            "callers of structured results can no longer rely on their shape",
            "keep the output schema, and keep sending what it describes",
        ),
        ChangeKind("output-schema-added", "An output schema was added.", "callers can rely on the shape of the result"),
        ChangeKind("prompt-removed", "A prompt was removed.", "every use of it fails", _KEEP),
        ChangeKind("prompt-added", "A prompt was added.", "users have one more prompt to choose from"),
        ChangeKind(
            "prompt-argument-required",
            "A prompt requires an argument that it did not require before.",
            "uses without it are rejected",
            "keep the argument optional",
        ),
        ChangeKind(
            "prompt-argument-optional", "An argument of a prompt became optional.", "uses with it work as before"
        ),
        ChangeKind(
            "prompt-argument-removed",
            "An argument of a prompt was removed.",
            "uses that pass it are rejected, or lose its effect",
            "keep the argument, even if the prompt ignores it",
        ),
        ChangeKind(
            "prompt-argument-added", "An optional argument was added to a prompt.", "uses without it work as before"
        ),
        ChangeKind("resource-removed", "A resource was removed.", "reading its URI fails", _KEEP),
        ChangeKind("resource-added", "A resource was added.", "clients can read it"),
        ChangeKind("template-removed", "A resource template was removed.", "reading URIs built from it fails", _KEEP),
        ChangeKind("template-added", "A resource template was added.", "clients can build URIs from it"),
        ChangeKind(
            "mime-type-changed",
            "The MIME type of a resource changed.",
            "callers parse the content by its type",
            "publish the other type under a separate URI",
        ),
        ChangeKind("server-name-changed", "The name of the server changed.", "clients may store settings by name"),
        ChangeKind(
            "server-version-changed", "The version of the server changed.", "it indicates that something changed"
        ),
        ChangeKind(
            "instructions-changed",
            "The instructions of the server changed.",
            "agents read them before choosing a tool",
            "retry the prompts your users rely on",
        ),
        ChangeKind(
            "protocol-changed",
            "The server negotiates another protocol revision.",
            "clients that do not support it cannot connect",
            "keep supporting the revision that a client requests",
        ),
        ChangeKind(
            "capability-removed",
            "The server no longer offers a capability.",
            "clients that use it no longer can",
            "mention it in your release notes",
        ),
        ChangeKind("capability-added", "The server offers a new capability.", "clients can use it"),
    )
}
"""Every kind of change, by its id."""


_MAX_VALUE_LENGTH = 40
_MAX_VALUES = 5
_MAX_NAMES = 20
_MAX_NAME_LENGTH = 120


def value_text(value: Any) -> str:
    """A value as JSON, truncated."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):  # nested deeper than the encoder goes
        return "…"
    return cut(text, _MAX_VALUE_LENGTH)


def values_text(values: list[Any]) -> str:
    """Values joined by commas and "or"; a long list is truncated."""
    if not values:
        return "no value"
    texts = [value_text(value) for value in values[:_MAX_VALUES]]
    if len(values) > _MAX_VALUES:
        texts.append(f"{len(values) - _MAX_VALUES} others")
    return " or ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]


def names_text(names: list[str]) -> str:
    """Quoted names joined by commas; a long list is truncated."""
    first = ", ".join(f"`{shortened_name(name)}`" for name in names[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return first if more <= 0 else f"{first} and {more} more"


def shortened_name(name: str) -> str:
    """A name or dotted path, cut in the middle if it is too long."""
    return f"{name[:60]}…{name[-50:]}" if len(name) > _MAX_NAME_LENGTH else name


def text_change(name: str, old: Any, new: Any, of: str = "") -> str:
    """How a text changed; both texts are quoted if they are short."""
    subject = f"{name} of {of}" if of else name
    if not old or not new:
        return f"{subject} was {'added' if new else 'removed'}"
    texts = value_text(old), value_text(new)
    return f"{subject} changed" + ("" if any("…" in text for text in texts) else f" from {texts[0]} to {texts[1]}")


def member_change(key: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    """How a member changed, was added or removed, as a predicate."""
    if key not in old:
        return f"was added: {value_text(new[key])}"
    if key not in new:
        return f"was removed: {value_text(old[key])}"
    return f"changed from {value_text(old[key])} to {value_text(new[key])}"


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


class CatalogChange(NamedTuple):
    """One difference between two catalogs."""

    kind: ChangeKind
    breaking: bool | None
    """Whether callers break; None if unknown."""
    message: str
    """The change as a predicate, with both values if they are short."""
    item: Item
    """The changed item of the new catalog, or of the old one if `is_old`."""
    is_old: bool
    """Whether item and pointer belong to the old catalog, as for everything that was removed."""
    pointer: str = ""
    """Relative to the item: `/inputSchema/properties/limit`."""
    parameter: str | None = None

    @classmethod
    def of(
        cls,
        kind: str,
        breaking: bool | None,
        message: str,
        item: Item,
        pointer: str = "",
        *,
        is_old: bool = False,
        parameter: str | None = None,
    ) -> CatalogChange:
        """Construct a change from the id of its kind."""
        return cls(CHANGE_KINDS[kind], breaking, message, item, is_old, pointer, parameter)


class ComparableTools(NamedTuple):
    """Two tools without the parts that are unknown in either."""

    old: Tool
    new: Tool
    doubtful_members: frozenset[str] = frozenset()
    """Members in which a difference may come from an unknown part."""


def is_conditional(item: Item) -> bool:
    """Whether an item from source code is served only under an unknown condition."""
    meta = item.fields.get("_meta")
    return isinstance(meta, dict) and CONDITIONAL in meta


def may_be_incomplete(catalog: Catalog, list_key: str) -> bool:
    """Whether a catalog from source code may lack items of a list."""
    source = catalog.source
    return source is not None and (bool(source.problems) or list_key in source.incomplete_lists)


def served_members(item: Item) -> dict[str, Any]:
    """The members that a server would send: without the mark of conditional items."""
    fields = item.fields
    meta = fields.get("_meta")
    if not isinstance(meta, dict) or CONDITIONAL not in meta:
        return fields
    served_meta = {key: value for key, value in meta.items() if key != CONDITIONAL}
    others = {key: value for key, value in fields.items() if key != "_meta"}
    return {**others, "_meta": served_meta} if served_meta else others


def comparable_tools(old: Tool, new: Tool) -> ComparableTools:
    """Remove the parts of two tools that are unknown in either."""
    unknown = {pointer for tool in (old, new) if tool.source is not None for pointer in tool.source.unknown}
    if old.source is not None or new.source is not None:
        before, after = old.fields.get("description"), new.fields.get("description")
        # Python 3.13 strips the indentation of docstrings.
        if (
            isinstance(before, str)
            and isinstance(after, str)
            and before != after
            and cleandoc(before) == cleandoc(after)
        ):
            new = _with_fields(new, {**new.fields, "description": before})
    if not unknown or not old.is_object or not new.is_object:
        return ComparableTools(old, new)
    # Nothing is known of one tool as a whole. A tool compared with itself has no changes.
    if "" in unknown:
        return ComparableTools(old, old)
    pointers = sorted(unknown)
    (old_fields, old_missing), (new_fields, new_missing) = (_without(tool.fields, pointers) for tool in (old, new))
    doubtful = frozenset(pointer.split("/", 2)[1] for pointer in old_missing | new_missing)
    return ComparableTools(_with_fields(old, old_fields), _with_fields(new, new_fields), doubtful)


def _with_fields(tool: Tool, fields: dict[str, Any]) -> Tool:
    return Tool(fields, tool.pointer, tool.index)


def _without(fields: dict[str, Any], pointers: list[str]) -> tuple[dict[str, Any], set[str]]:
    """Return a copy without the values at some pointers, and the pointers that do not exist.

    A list that contains such a value is removed as a whole. Only changed objects are copied.
    """
    root = dict(fields)
    copied = {id(root)}
    missing: set[str] = set()
    for pointer in pointers:
        tokens = [unescape(token) for token in pointer.split("/")[1:]]
        parent, parent_key = root, ""
        for token in tokens[:-1]:
            child = parent.get(token)
            if isinstance(child, list):
                del parent[token]
                break
            if not isinstance(child, dict):
                if parent_key != "properties":  # a property that the other tool lacks is not doubtful
                    missing.add(pointer)
                break
            if id(child) not in copied:
                child = parent[token] = dict(child)
                copied.add(id(child))
            parent, parent_key = child, token
        else:
            parent.pop(tokens[-1], None)
    return root, missing


AnyItem = TypeVar("AnyItem", bound=Item)


class MatchedItems(NamedTuple, Generic[AnyItem]):
    """The new items, each with its old counterpart if there is one, and the removed items."""

    new: list[tuple[AnyItem | None, AnyItem]]
    removed: list[AnyItem]


def match_items(old: Sequence[AnyItem], new: Sequence[AnyItem], key: str) -> MatchedItems[AnyItem]:
    """Match items by an identifying member; items without it are matched with each other."""
    before, after = _grouped(old, key), _grouped(new, key)
    partners = {
        id(item): partner
        for identity, items in after.items()
        for partner, item in _paired(before.get(identity, []), items)
    }
    matched = {id(item) for item in partners.values()}  # by identity, since items may be equal
    return MatchedItems(
        [(partners.get(id(item)), item) for item in new], [item for item in old if id(item) not in matched]
    )


def _grouped(items: Sequence[AnyItem], key: str) -> dict[str | None, list[AnyItem]]:
    groups: dict[str | None, list[AnyItem]] = {}
    for item in items:
        value = item.fields.get(key)
        groups.setdefault(value if isinstance(value, str) else None, []).append(item)
    return groups


def _paired(old: list[AnyItem], new: list[AnyItem]) -> Iterator[tuple[AnyItem, AnyItem]]:
    """Pair items with the same identifier: equal ones first, then the others in order."""
    if len(old) == len(new) == 1:
        yield old[0], new[0]
        return
    by_content: dict[Hashable, list[AnyItem]] = {}
    for item in reversed(old):  # so that `pop` takes equal items in their order
        by_content.setdefault(json_key(item.raw), []).append(item)
    matched, unmatched = set(), []
    for item in new:
        if equal := by_content.get(json_key(item.raw)):
            matched.add(id(equal[-1]))
            yield equal.pop(), item
        else:
            unmatched.append(item)
    # Not strict: what remains in the longer list was added or removed.
    yield from zip((item for item in old if id(item) not in matched), unmatched, strict=False)
