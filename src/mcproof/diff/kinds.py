"""The kinds of change between two catalogs, each with why it matters to a caller and what its author can do."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of change. Whether a change of that kind breaks callers is said by the change."""

    id: str
    """Permanent."""
    summary: str
    """What changed, in one sentence."""
    why: str
    """Why it matters to a caller."""
    advice: str
    """What the author can do about it."""
    since: str = "0.1.0"
    """The version of mcproof that first told it."""


_KEEP_TOOL = "keep it for a while beside its replacement, and say in its description what to use instead"
_NEW_NAME = "publish the changed behaviour under a new name, or a new major version, and keep the old one for a while"
_BOTH_WAYS = (
    "a caller's value may be refused where an input accepts less, and a caller may meet a value that it does not "
    "expect where an output allows more"
)
_ACCEPT_BOTH = "let an input accept what it did, and an output promise what it did; otherwise announce the change"
_NOTHING = "nothing; this is for your release notes"

KINDS: dict[str, Kind] = {
    kind.id: kind
    for kind in (
        Kind("tool-removed", "A tool is gone.", "every call of it fails from now on", _KEEP_TOOL),
        Kind("tool-added", "There is a new tool.", "agents see one more tool to choose from", _NOTHING),
        Kind(
            "description-changed",
            "A description changed.",
            "agents choose tools, and fill in arguments, by what the descriptions say",
            "try the prompts that your users rely on again",
        ),
        Kind("title-changed", "The title for people changed.", "it is what users see in lists and dialogs", _NOTHING),
        Kind(
            "read-only-lost",
            "A tool no longer says that it only reads.",
            "clients run read-only tools without asking; users have approved it on that promise",
            "put what writes into a tool of its own",
        ),
        Kind(
            "destructive-now",
            "A tool no longer says that it destroys nothing.",
            "clients ask less before tools that only add; users have approved it on that promise",
            "put what deletes or overwrites into a tool of its own",
        ),
        Kind(
            "annotation-changed",
            "A hint about what a tool does changed.",
            "clients decide by the hints when to ask the user, and when to try again",
            "say so in your release notes",
        ),
        Kind(
            "execution-changed",
            "How a tool is to be run changed.",
            "a tool that runs only as a task refuses plain calls, and one that never does refuses tasks",
            "let a tool run either way, or publish the other way under a new name",
        ),
        Kind(
            "metadata-changed",
            "Something else that an item says about itself changed.",
            "clients show it, or keep to it, if they know it",
            _NOTHING,
        ),
        Kind(
            "parameter-added",
            "There is a new optional parameter.",
            "calls without it work as before, unless callers sent something else under that name already",
            _NOTHING,
        ),
        Kind(
            "parameter-added-required",
            "There is a new required parameter.",
            "every call that was written before lacks it and is refused",
            "make it optional, with a default that does what the tool did before",
        ),
        Kind(
            "parameter-required",
            "An optional parameter became required.",
            "calls that left it out are refused",
            "keep it optional, with a default that does what the tool did before",
        ),
        Kind("parameter-optional", "A required parameter became optional.", "calls with it work as before", _NOTHING),
        Kind(
            "parameter-removed",
            "A parameter is gone.",
            "calls that send it are refused, or accepted and do something else than they say",
            "keep it, and say in its description what to use instead",
        ),
        Kind(
            "field-added",
            "The result has a new field.",
            "callers that do not know it ignore it, unless they were promised that there is no other",
            _NOTHING,
        ),
        Kind("field-removed", "A field of the result is gone.", "callers that read it find nothing", _ACCEPT_BOTH),
        Kind(
            "field-optional",
            "A field of the result is no longer always there.",
            "callers that rely on it fail when it is missing",
            "keep sending it, with an empty value if need be",
        ),
        Kind("field-required", "A field of the result is always there now.", "callers can rely on it", _NOTHING),
        Kind("type-narrowed", "Fewer types of values are allowed.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("type-widened", "More types of values are allowed.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("type-changed", "Other types of values are allowed.", _BOTH_WAYS, _NEW_NAME),
        Kind("values-removed", "Values are no longer allowed.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("values-added", "Further values are allowed.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("values-changed", "The list of allowed values changed.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("const-changed", "The only allowed value is another one.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("bound-narrowed", "A bound became tighter.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("bound-widened", "A bound became looser.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("bound-changed", "A bound changed.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("pattern-changed", "The pattern of a text changed.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind(
            "format-changed",
            "The format of a text changed.",
            "some servers and clients enforce a format, others take it as a hint",
            "say in the description whether other values are refused",
        ),
        Kind(
            "object-closed",
            "Undeclared properties are refused now.",
            "agents send arguments that nobody declared; these calls worked and are refused now",
            "keep it if you want such calls to fail loudly, and announce it",
        ),
        Kind(
            "object-opened",
            "Undeclared properties are allowed now.",
            "a caller that checks results strictly may meet fields that it refuses",
            "declare the fields that are sent",
        ),
        Kind("union-narrowed", "An alternative is gone.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("union-widened", "There is a further alternative.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("union-changed", "The alternatives changed.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind("constraint-changed", "What a schema accepts changed.", _BOTH_WAYS, _ACCEPT_BOTH),
        Kind(
            "default-changed",
            "A default changed.",
            "calls that leave the argument out may do something else than before",
            "keep the default, or announce what changes",
        ),
        Kind(
            "dialect-changed",
            "A schema is written in another JSON Schema dialect.",
            "some keywords mean something else there, or nothing",
            "use only keywords that both dialects share",
        ),
        Kind(
            "not-compared",
            "Part of a schema was not compared.",
            "whether it changed in a way that breaks callers is not known",
            "flatten the schema; no agent can make use of one that large",
        ),
        Kind(
            "output-schema-removed",
            "The result is no longer described.",
            "callers that read structured results were promised their shape, and are no longer",
            "keep the output schema, and keep sending what it describes",
        ),
        Kind("output-schema-added", "The result is described now.", "callers can rely on its shape", _NOTHING),
        Kind("prompt-removed", "A prompt is gone.", "every use of it fails from now on", _KEEP_TOOL),
        Kind("prompt-added", "There is a new prompt.", "users see one more prompt to choose from", _NOTHING),
        Kind(
            "prompt-argument-required",
            "A prompt requires an argument that it did not.",
            "uses without it are refused",
            "keep the argument optional",
        ),
        Kind(
            "prompt-argument-optional",
            "An argument of a prompt became optional.",
            "uses with it work as before",
            _NOTHING,
        ),
        Kind(
            "prompt-argument-removed",
            "An argument of a prompt is gone.",
            "uses that give it are refused, or lose what it said",
            "keep the argument, even if the prompt makes no use of it",
        ),
        Kind("prompt-argument-added", "A prompt has a new optional argument.", "uses without it work", _NOTHING),
        Kind("resource-removed", "A resource is gone.", "whoever reads its address finds nothing", _KEEP_TOOL),
        Kind("resource-added", "There is a new resource.", "there is more to read", _NOTHING),
        Kind(
            "template-removed",
            "A resource template is gone.",
            "addresses that were made from it lead nowhere",
            _KEEP_TOOL,
        ),
        Kind("template-added", "There is a new resource template.", "there is more to read", _NOTHING),
        Kind(
            "mime-type-changed",
            "The content of a resource has another type.",
            "callers read the content by its type",
            "publish the other type under an address of its own",
        ),
        Kind("server-name-changed", "The server has another name.", "clients keep settings by name", _NOTHING),
        Kind("server-version-changed", "The server has another version.", "it tells that something changed", _NOTHING),
        Kind(
            "instructions-changed",
            "The instructions of the server changed.",
            "agents read them before they choose a tool",
            "try the prompts that your users rely on again",
        ),
        Kind(
            "protocol-changed",
            "The server speaks another revision of the protocol.",
            "a client that does not know it cannot connect",
            "keep answering in the revision that a client asks for",
        ),
        Kind(
            "capability-removed",
            "The server no longer offers a capability.",
            "clients that make use of it can no longer",
            "say so in your release notes",
        ),
        Kind("capability-added", "The server offers a new capability.", "clients can make use of it", _NOTHING),
    )
}
"""Every kind of change, by its id."""
