"""`catalog`: problems of the input itself that no other ruleset reports. Not part of a score.

Why mcproof reports its own crashes: docs/decisions/0018-rules-about-mcproof.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcproof.checks.findings import Problem
from mcproof.checks.rule import RuleTraits, rule
from mcproof.checks.subjects import RuleCrash
from mcproof.core.catalog.model import Catalog, Item, Tool
from mcproof.core.schema.tree import STRICT_LEVELS, SchemaTree
from mcproof.core.text.english import words_of
from mcproof.core.text.json_document import kind_of
from mcproof.core.text.json_positions import escape

_LISTS = ("tools", "resources", "resourceTemplates", "prompts")


@rule(Item, "CAT-001", ruleset="catalog", name="entry-not-object", severity="error", category="protocol")
def entry_not_object(item: Item) -> Iterator[Problem]:
    """An entry of a list is not an object.

    Why: clients that validate the list reject all of it, valid entries included.
    Fix: find out why the server sends it; every entry is an object with at least a name.
    """
    if not item.is_object:
        yield Problem(f"is {kind_of(item.raw)}, not an object")


@rule(Item, "CAT-002", ruleset="catalog", name="missing-name", severity="error", category="protocol")
def missing_name(item: Item) -> Iterator[Problem]:
    """A tool, template or prompt has no name, or one that is not a string.

    Why: it cannot be called or requested without a name, and validating clients reject the whole list.
    Fix: set its name to a non-empty string.
    """
    # Resources are known by their URIs, and `grade` reports those without a name.
    if item.is_object and not item.name and item.kind != "resource":
        if "name" in item.fields:
            name = item.fields["name"]
            what = "is empty" if name == "" else f"is {kind_of(name)}, not a string"
            yield Problem(f"the name {what}", at="/name")
        else:
            yield Problem("has no name")


@rule(Catalog, "CAT-003", ruleset="catalog", name="duplicate-key", severity="warning", category="protocol")
def duplicate_key(catalog: Catalog) -> Iterator[Problem]:
    """An object of the snapshot has the same key twice.

    Why: parsers keep the last one, keep the first, or fail; a client may use another value than a reader of the file
    sees.
    Fix: remove one of them.
    """
    for pointer, key, place in catalog.document.duplicate_keys():
        message = f"the key `{key}` occurs twice in one object; the last one counts"
        yield Problem(message, pointer.removeprefix(catalog.server.pointer), evidence={"key": key}, near=place)


@rule(
    RuleCrash,
    "CAT-004",
    ruleset="catalog",
    name="rule-crashed",
    severity="error",
    category="internal",
    traits=RuleTraits(accompanies="all"),
)
def rule_crashed(crash: RuleCrash) -> Iterator[Problem]:
    """A rule of mcproof crashed on this input.

    Why: what the rule would have found is unknown; other rules are not affected.
    Fix: report the bug with the input that caused it; `--ignore` the rule until it is fixed.
    """
    times = f", {crash.times} times in total" if crash.times > 1 else ""
    yield Problem(f"rule `{crash.rule}` crashed on {crash.subject}{times}: {crash.error}", evidence=crash._asdict())


@rule(
    SchemaTree,
    "CAT-005",
    ruleset="catalog",
    name="nested-too-deep",
    severity="warning",
    category="schema",
    traits=RuleTraits(accompanies="strict"),
)
def nested_too_deep(tree: SchemaTree) -> Iterator[Problem]:
    """A schema is nested too deep for the strict rules.

    Why: deeper levels were not checked; clients and models cannot handle such a schema either.
    Fix: flatten the schema; give a recursive shape a name in `$defs` and refer to it.
    """
    if tree.cut is not None:
        message = f"the schema is nested more than {STRICT_LEVELS} levels deep; deeper levels were not checked"
        yield Problem(message, at=tree.base, evidence={"pointer": tree.cut.pointer, "limit": STRICT_LEVELS})


@rule(Item, "CAT-006", ruleset="catalog", name="wrong-json-type", severity="warning", category="protocol")
def wrong_json_type(item: Item) -> Iterator[Problem]:
    """A field has a different JSON type than the protocol defines.

    Why: validating clients reject the whole list; others ignore the field.
    Fix: send the type that the message names, or omit the field.
    """
    for key, (expected, name) in _FIELDS[item.kind].items():
        if key in item.fields and not isinstance(item.fields[key], expected):
            yield Problem(f"`{key}` is {kind_of(item.fields[key])}, not {name}", at=f"/{key}")
    arguments = item.fields.get("arguments") if item.kind == "prompt" else None
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if not isinstance(argument, dict):
            yield Problem(f"argument {index} is {kind_of(argument)}, not an object", at=f"/arguments/{index}")


@rule(Tool, "CAT-007", ruleset="catalog", name="malformed-parameters", severity="warning", category="schema")
def malformed_parameters(tool: Tool) -> Iterator[Problem]:
    """The parameters of a tool are not declared as JSON Schema requires.

    Why: validators reject such a schema or ignore the keyword, so nothing is constrained.
    Fix: make `properties` an object of schemas, and `required` a list of names.
    """
    if tool.schema is None:
        return
    for keyword, expected, name in (("properties", dict, "an object"), ("required", list, "a list")):
        if keyword in tool.schema and not isinstance(tool.schema[keyword], expected):
            yield Problem(f"`{keyword}` is {kind_of(tool.schema[keyword])}, not {name}", at=f"/inputSchema/{keyword}")
    for name, schema in tool.parameters.items():
        if type(schema) is not dict and type(schema) is not bool:
            message = f"the schema of `{name}` is {kind_of(schema)}, not an object or a boolean"
            yield Problem(message, f"/inputSchema/properties/{escape(name)}", name)


@rule(Catalog, "CAT-008", ruleset="catalog", name="not-a-list", severity="error", category="protocol")
def not_a_list(catalog: Catalog) -> Iterator[Problem]:
    """A part of a capture that should be a list is not a list.

    Why: nothing in it could be read, so nothing in it was checked.
    Fix: capture the server again, or remove the part.
    """
    for key in _LISTS:
        if key in catalog.server.fields and not isinstance(catalog.server.fields[key], list):
            yield Problem(f"`{key}` is {kind_of(catalog.server.fields[key])}, not a list", at=f"/{key}")


@rule(Catalog, "CAT-009", ruleset="catalog", name="more-pages", severity="warning", category="protocol")
def more_pages(catalog: Catalog) -> Iterator[Problem]:
    """The saved list of tools continues on another page.

    Why: tools on later pages were not checked.
    Fix: repeat the request with the `cursor` until there is no `nextCursor`, and save all pages as one list.
    """
    if catalog.has_more:
        yield Problem("the list has a `nextCursor`: only this page was checked")


@rule(Catalog, "CAT-010", ruleset="catalog", name="source-not-read", severity="error", category="source")
def source_not_read(catalog: Catalog) -> Iterator[Problem]:
    """A source file could not be read.

    Why: what it registers is unknown and was not checked.
    Fix: fix the file; `python -m py_compile FILE` shows the error.
    """
    for number, (file, _, _, reason) in enumerate(catalog.source.problems if catalog.source is not None else ()):
        yield Problem(f"{file}: {reason}", near=f"/problems/{number}", evidence={"file": file})


@rule(Item, "CAT-011", ruleset="catalog", name="placeholder", severity="warning", category="description")
def placeholder(item: Item) -> Iterator[Problem]:
    """A description is a placeholder that nobody has replaced.

    Such as an ellipsis, "TODO", "description of x", lorem ipsum, "x parameter", or the text of a snippet of mcproof.

    Why: a model learns nothing from it, and checks that only ask for a description are satisfied.
    Fix: replace it: say what a tool does and when to use it, and what a parameter means.
    """
    if _is_placeholder(item.fields.get("description"), item.given_name):
        yield Problem("the description is a placeholder", at="/description")
    parameters = item.parameters.items() if isinstance(item, Tool) else ()
    for name, schema in parameters:
        if type(schema) is dict and _is_placeholder(schema.get("description"), name):
            at = f"/inputSchema/properties/{escape(name)}/description"
            yield Problem(f"the description of `{name}` is a placeholder", at, name)
    arguments = item.fields.get("arguments") if item.kind == "prompt" else None
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if isinstance(argument, dict) and _is_placeholder(argument.get("description"), str(argument.get("name", ""))):
            yield Problem(f"the description of argument {index} is a placeholder", at=f"/arguments/{index}/description")


_PLACEHOLDER = (
    r"(?is)\W+|(?:todo|tbd|fixme|placeholder|n/?a|xxx+)|(?-i:TODO|FIXME|TBD)\b\W.*|lorem ipsum\b.*"
    r"|(?:(?:add|enter|insert|write|your|a|the|some) )*(?:short |brief )?description(?: goes)?(?: here)?"
    r"|(?:a |the )?description (?:of|for) (?:(?:a|the|this) )?[\w-]+(?: (?:argument|parameter|prompt|resource|tool))?"
    r"|what it does, when to use it, and what it returns|what it is for"
)
"""Texts that stand for one that is still to be written; the last ones are in snippets of mcproof."""
_PLACEHOLDER_SIGNS = (
    "todo",
    "tbd",
    "fixme",
    "placeholder",
    "xxx",
    "lorem ipsum",
    "description",
    "what it ",
    "param",
    "arg",
)
"""Of these every placeholder has one that starts with a letter or a digit."""
_LONGEST_PLACEHOLDER = 600


def _is_placeholder(text: object, name: str) -> bool:
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST_PLACEHOLDER:
        return False
    # A dot at the end says nothing, but dots alone are a placeholder.
    bare = text.strip().rstrip(".") or text.strip()
    if "description" in name.lower() and words_of(name)[-1] == "description":  # "The description" says what that is
        return False
    lowered = bare.lower()
    if bare[0].isalnum() and lowered not in ("na", "n/a") and not any(sign in lowered for sign in _PLACEHOLDER_SIGNS):
        return False
    return _is_name(bare, name) or re.fullmatch(_PLACEHOLDER, bare) is not None


def _is_name(text: str, name: str) -> bool:
    """Whether a text says no more than "x parameter" of a parameter `x`."""
    words = [word for word in words_of(text) if word not in ("the", "a", "an", "of", "for")]
    return len(words) > 1 and words[-1] in ("argument", "parameter", "param") and words[:-1] == words_of(name)


_STRING, _OBJECT, _LIST = (str, "a string"), (dict, "an object"), (list, "a list")
_FIELDS: dict[str, dict[str, tuple[type, str]]] = {
    "tool": {"title": _STRING, "annotations": _OBJECT, "outputSchema": _OBJECT, "_meta": _OBJECT, "icons": _LIST},
    "resource": {"uri": _STRING, "name": _STRING, "title": _STRING, "description": _STRING, "mimeType": _STRING},
    "template": {"uriTemplate": _STRING, "title": _STRING, "description": _STRING, "mimeType": _STRING},
    "prompt": {"title": _STRING, "description": _STRING, "arguments": _LIST},
}
