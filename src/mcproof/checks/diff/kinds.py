"""The kinds of change between two catalogs: why each matters to callers, what authors can do, and its wording."""

from __future__ import annotations

import json
from typing import Any

from mcproof.core.named_tuple import NamedTuple


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
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[: _MAX_VALUE_LENGTH - 1]}…"


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
