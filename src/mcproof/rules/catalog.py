"""`catalog`: what is wrong with the input itself, where no other rule names it. Part of no score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.linting.finding import Problem
from mcproof.linting.registry import rule
from mcproof.schema.tree import STRICT_LEVELS
from mcproof.text.jsontext import kind_of
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.model import Catalog, Item, Tool
    from mcproof.linting.engine import RuleCrash
    from mcproof.schema.tree import SchemaTree

_LISTS = ("tools", "resources", "resourceTemplates", "prompts")


@rule("CAT-001", ruleset="catalog", name="entry-not-object", severity="error", category="protocol")
def entry_not_object(item: Item) -> Iterator[Problem]:
    """An entry of a list is not an object.

    Why: clients that validate the list refuse all of it, good entries included.
    Fix: find out what the server put there; every entry is an object with at least a name.
    """
    if not item.is_object:
        yield Problem(f"is {kind_of(item.raw)}, not an object")


@rule("CAT-002", ruleset="catalog", name="missing-name", severity="error", category="protocol")
def missing_name(item: Item) -> Iterator[Problem]:
    """A tool, template or prompt has no name, or one that is not a string.

    Why: nothing can be called or asked for without its name, and validating clients refuse the whole list.
    Fix: give it a name that is a non-empty string.
    """
    if item.is_object and not item.name and item.kind != "resource":
        if "name" in item.fields:
            found = item.fields["name"]
            what = "is empty" if found == "" else f"is {kind_of(found)}, not a string"
            yield Problem(f"the name {what}", at="/name")
        else:
            yield Problem("has no name")


@rule("CAT-003", ruleset="catalog", name="duplicate-key", severity="warning", category="protocol")
def duplicate_key(catalog: Catalog) -> Iterator[Problem]:
    """An object of the snapshot has the same key twice.

    Why: parsers keep the last one, or the first, or refuse; what a reader of the file sees may not be what is used.
    Fix: remove one of them.
    """
    for pointer, key, place in catalog.document.duplicate_keys():
        yield Problem(
            f"the key `{key}` stands twice in one object; the last one counts",
            pointer.removeprefix(catalog.server.pointer),
            evidence={"key": key},
            near=place,
        )


@rule("CAT-004", ruleset="catalog", name="rule-crashed", severity="error", category="internal", accompanies="all")
def rule_crashed(crash: RuleCrash) -> Iterator[Problem]:
    """A rule of mcproof failed on this input.

    Why: what the rule would have found is not known; the other rules are not affected.
    Fix: report it with the input that caused it; `--ignore` the rule until it is mended.
    """
    times = f", {crash.times} times in all" if crash.times > 1 else ""
    yield Problem(f"rule `{crash.rule}` failed on {crash.subject}{times}: {crash.error}", evidence=crash._asdict())


@rule("CAT-005", ruleset="catalog", name="nested-too-deep", severity="warning", category="schema", accompanies="strict")
def nested_too_deep(tree: SchemaTree) -> Iterator[Problem]:
    """A schema nests so deeply that the strict rules stop.

    Why: what lies deeper was not checked; no client or model makes sense of such a schema either.
    Fix: flatten the schema; give a recursive shape a name in `$defs` and refer to it.
    """
    if tree.cut is not None:
        yield Problem(
            f"the schema nests more than {STRICT_LEVELS} levels deep; what lies below was not checked",
            at=tree.base,
            evidence={"pointer": tree.cut.pointer, "limit": STRICT_LEVELS},
        )


@rule("CAT-006", ruleset="catalog", name="wrong-json-type", severity="warning", category="protocol")
def wrong_json_type(item: Item) -> Iterator[Problem]:
    """A field has another JSON type than the protocol says.

    Why: validating clients refuse the whole list for it; the others ignore the field.
    Fix: send the type that the message names, or leave the field out.
    """
    for key, (wanted, name) in _FIELDS[item.kind].items():
        if key in item.fields and not isinstance(item.fields[key], wanted):
            yield Problem(f"`{key}` is {kind_of(item.fields[key])}, not {name}", at=f"/{key}")
    arguments = item.fields.get("arguments") if item.kind == "prompt" else None
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if not isinstance(argument, dict):
            yield Problem(f"argument {index} is {kind_of(argument)}, not an object", at=f"/arguments/{index}")


@rule("CAT-007", ruleset="catalog", name="malformed-parameters", severity="warning", category="schema")
def malformed_parameters(tool: Tool) -> Iterator[Problem]:
    """The parameters of a tool are not declared the way JSON Schema asks.

    Why: validators refuse such a schema or ignore the keyword, so nothing is constrained.
    Fix: make `properties` an object of schemas, and `required` a list of names.
    """
    if tool.schema is None:
        return
    for keyword, wanted, name in (("properties", dict, "an object"), ("required", list, "a list")):
        if keyword in tool.schema and not isinstance(tool.schema[keyword], wanted):
            yield Problem(f"`{keyword}` is {kind_of(tool.schema[keyword])}, not {name}", at=f"/inputSchema/{keyword}")
    for name, schema in tool.parameters.items():
        if type(schema) is not dict and type(schema) is not bool:
            yield Problem(
                f"the schema of `{name}` is {kind_of(schema)}, not an object or a boolean",
                f"/inputSchema/properties/{escape(name)}",
                name,
            )


@rule("CAT-008", ruleset="catalog", name="not-a-list", severity="error", category="protocol")
def not_a_list(catalog: Catalog) -> Iterator[Problem]:
    """A part of a capture that should be a list is something else.

    Why: nothing in it could be read, so nothing in it was checked.
    Fix: capture the server again, or leave the part out.
    """
    for key in _LISTS:
        if key in catalog.server.fields and not isinstance(catalog.server.fields[key], list):
            yield Problem(f"`{key}` is {kind_of(catalog.server.fields[key])}, not a list", at=f"/{key}")


@rule("CAT-009", ruleset="catalog", name="more-pages", severity="warning", category="protocol")
def more_pages(catalog: Catalog) -> Iterator[Problem]:
    """The list of tools goes on after the page that was saved.

    Why: what stands on the next pages was not checked.
    Fix: ask again with the `cursor` until there is no `nextCursor`, and save all pages as one list.
    """
    if catalog.has_more:
        yield Problem("the list has a `nextCursor`: this is one page of several, and only it was checked")


@rule("CAT-010", ruleset="catalog", name="source-not-read", severity="error", category="source")
def source_not_read(catalog: Catalog) -> Iterator[Problem]:
    """A file of the source could not be read.

    Why: what it registers was not checked, and nobody knows what that is.
    Fix: mend the file; `python -m py_compile FILE` tells what is wrong with it.
    """
    for number, (file, _, _, what) in enumerate(catalog.source.problems if catalog.source is not None else ()):
        yield Problem(f"{file}: {what}", near=f"/problems/{number}", evidence={"file": file})


_STRING, _OBJECT, _LIST = (str, "a string"), (dict, "an object"), (list, "a list")
_FIELDS: dict[str, dict[str, tuple[type, str]]] = {
    "tool": {"title": _STRING, "annotations": _OBJECT, "outputSchema": _OBJECT, "_meta": _OBJECT, "icons": _LIST},
    "resource": {"uri": _STRING, "name": _STRING, "title": _STRING, "description": _STRING, "mimeType": _STRING},
    "template": {"uriTemplate": _STRING, "title": _STRING, "description": _STRING, "mimeType": _STRING},
    "prompt": {"title": _STRING, "description": _STRING, "arguments": _LIST},
}
