"""`spec` rules about the input and output schemas of tools."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.spec.demand import DIALECTS, STATELESS, STRUCTURED, item_demand, shown
from mcproof.core.catalog.model import ODD_MEMBER, ODD_OUTPUT, ODD_ROOT, OUTPUT_DIALECT, OUTPUT_REFERENCE, Tool
from mcproof.core.text.json_document import kind_of
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from mcproof.checks.subjects import DatedItem
    from mcproof.core.schema.references import Reference
    from mcproof.core.schema.tree import SchemaTree

_INPUT, _OUTPUT = "/inputSchema", "/outputSchema"
_NEWEST = "json-schema.org/draft/2020-12/schema"
_FOREIGN = {
    "2020-12": {"definitions": "$defs", "dependencies": "dependentRequired or dependentSchemas"},
    "draft-07": {"$defs": "definitions", "prefixItems": "a list of `items`"},
}
"""The keywords of other dialects that each dialect ignores, with what it has instead."""

_schema_demand = partial(item_demand, category="schema")
_validity_demand = partial(_schema_demand, source="basic#schema-validation", since=DIALECTS)
_dialect_demand = partial(_schema_demand, source="basic#schema-dialect", since=DIALECTS)
_WELL_FORMED = "tool_input_schemas_well_formed"


@_schema_demand("SPEC-010", "input-schema-object", "error", "tools#tool", same_as="tool-no-schema", needs=(ODD_MEMBER,))
def input_schema_object(dated: DatedItem) -> Iterator[Problem]:
    """`inputSchema` is null or another value that is not an object.

    Why: it must be a JSON Schema object; clients that validate the list reject all of it.
    Fix: write an object; for a tool without parameters, `{"type": "object", "properties": {}}`.
    """
    fields = dated.item.fields
    if "inputSchema" in fields and not isinstance(fields["inputSchema"], dict):
        yield Problem(f"`inputSchema` is {kind_of(fields['inputSchema'])}, not an object", _INPUT)


@_schema_demand(
    "SPEC-011",
    "input-schema-type",
    "error",
    "schema#Tool.inputSchema",
    same_as="tool-schema-not-object",
    needs=(ODD_ROOT,),
)
def input_schema_type(dated: DatedItem) -> Iterator[Problem]:
    """The `type` of an input schema is not exactly `"object"`.

    Why: the protocol requires that value; clients built on the TypeScript SDK reject the whole list because of one
    such tool.
    Fix: set `"type": "object"` at the root of the schema.
    """
    schema = _tool(dated).schema
    if schema is not None and schema.get("type") != "object":
        yield Problem(f"the input schema {_type_in_words(schema)}", _INPUT)


@_schema_demand("SPEC-012", "property-schema-object", "error", "schema#Tool.inputSchema", until=DIALECTS, needs=())
def property_schema_object(dated: DatedItem) -> Iterator[Problem]:
    """The schema of a parameter is `true`, `false` or another value that is not an object.

    Why: up to revision 2025-11-25 the protocol allows only objects there; clients that validate reject the whole list.
    Fix: write `{}` instead of `true`, and leave out a parameter that accepts nothing.
    """
    schema = _tool(dated).schema or {}
    declared = schema.get("properties", {})
    if not isinstance(declared, dict):
        yield Problem(f"`properties` is {kind_of(declared)}, not an object", f"{_INPUT}/properties", same_as="CAT-007")
        return
    for name, declared_schema in declared.items():
        if not isinstance(declared_schema, dict):
            at = f"{_INPUT}/properties/{escape(name)}"
            same = None if isinstance(declared_schema, bool) else "CAT-007"
            message = f"the schema of {shown(name)} is {kind_of(declared_schema)}, not an object"
            yield Problem(message, at, name, same_as=same)


@_schema_demand(
    "SPEC-013", "required-list", "error", "schema#Tool.inputSchema", until=DIALECTS, same_as="CAT-007", needs=()
)
def required_list(dated: DatedItem) -> Iterator[Problem]:
    """`required` of an input schema is not a list of strings.

    Later revisions leave this to the dialect (SPEC-014).

    Why: clients that validate reject the whole list; `null` is the usual form of this fault.
    Fix: list the names of the required parameters, or leave `required` out.
    """
    schema = _tool(dated).schema or {}
    if "required" not in schema:
        return
    required = schema["required"]
    if not isinstance(required, list):
        yield Problem(f"`required` is {kind_of(required)}, not a list of strings", f"{_INPUT}/required")
        return
    for index, name in enumerate(required):
        if not isinstance(name, str):
            yield Problem(f"`required` has {kind_of(name)}, not only strings", f"{_INPUT}/required/{index}")


@_validity_demand("SPEC-014", "input-schema-valid", "error", same_as="MP005", needs=())
def input_schema_valid(dated: DatedItem) -> Iterator[Problem]:
    """An input schema is not valid in its dialect: the one it declares, or 2020-12.

    Unknown dialects are not checked. A schema written for draft-07 that does not declare it is judged by 2020-12,
    where a list of `items`, for example, is invalid.

    Why: schemas must be valid; clients that validate them refuse the tool or the whole list.
    Fix: correct the keyword in the message, or declare the dialect with `$schema`.
    """
    tool = _tool(dated)
    if tool.tree is not None and dated.revision >= DIALECTS:
        faults = _faults(tool.tree)
        yield from _first([fault for fault in faults if not _is_reported(fault[0], dated.revision)], _INPUT)


@_dialect_demand("SPEC-015", "schema-dialect", "note", needs=("$schema", OUTPUT_DIALECT))
def schema_dialect(dated: DatedItem) -> Iterator[Problem]:
    """A schema declares another dialect than 2020-12, the only one that clients must support.

    It is a warning for an output schema: some clients then refuse every result of the tool.

    Why: a client need not support another dialect, and may refuse the tool.
    Fix: leave `$schema` out, and use keywords that mean the same in 2020-12.
    """
    for key, words, severity in (
        ("inputSchema", "input schema", "note"),
        ("outputSchema", "output schema", "warning"),
    ):
        schema = dated.item.fields.get(key)
        named = schema.get("$schema") if isinstance(schema, dict) else None
        if isinstance(named, str) and _address(named) != _NEWEST:
            message = f"the {words} declares the dialect {shown(named)}; clients need only support 2020-12"
            yield Problem(message, f"/{key}/$schema", severity=severity)


@_schema_demand(
    "SPEC-016",
    "external-reference",
    "warning",
    "basic@2026-07-28#ref-resolution",
    same_as=_WELL_FORMED,
    needs=("$ref", OUTPUT_REFERENCE),
)
def external_reference(dated: DatedItem) -> Iterator[Problem]:
    """A schema refers to another document.

    It is an error from revision 2026-07-28 on, which forbids clients to fetch it.

    Why: clients do not fetch other documents, so they reject the schema or validate nothing.
    Fix: copy the referenced schema into `$defs` and refer to it there.
    """
    severity = "error" if dated.revision >= STATELESS else None
    for reference in _references(dated):
        if not reference.is_local:
            message = f"`{reference.keyword}` refers to another document: {shown(reference.text)}"
            yield Problem(message, reference.holder.pointer, severity=severity)


@_validity_demand("SPEC-017", "unresolved-reference", "warning", same_as=_WELL_FORMED, needs=("$ref", OUTPUT_REFERENCE))
def unresolved_reference(dated: DatedItem) -> Iterator[Problem]:
    """A reference inside a schema leads nowhere.

    Why: the schema is not valid; clients refuse the tool, or validate nothing.
    Fix: define what the reference names in `$defs`, or correct the name.
    """
    for reference in _references(dated):
        if reference.is_local and not reference.is_resolved:
            yield Problem(f"`{reference.keyword}` leads nowhere: {shown(reference.text)}", reference.holder.pointer)


@_dialect_demand(
    "SPEC-018", "foreign-keyword", "warning", needs=("$schema", OUTPUT_DIALECT, ODD_OUTPUT, OUTPUT_REFERENCE)
)
def foreign_keyword(dated: DatedItem) -> Iterator[Problem]:
    """A schema uses a keyword of another dialect than the one it declares.

    Checked are `definitions`, `dependencies` and a list of `items` in 2020-12, and `$defs` and `prefixItems` in
    draft-07. Without `$schema` the dialect is 2020-12, and only `dependencies` is reported: definitions can be
    referred to in any dialect, and SPEC-014 reports a list of `items`.

    Why: a validator ignores keywords that its dialect does not have, so the constraint is lost without a word.
    Fix: use the keyword of the dialect that the message names.
    """
    tool = _tool(dated)
    for tree in filter(None, (tool.tree, tool.output_tree)):
        declared = tree.root.get("$schema")
        is_declared = isinstance(declared, str)
        dialect = _address(declared).rpartition("/")[0].rpartition("/")[2] if isinstance(declared, str) else "2020-12"
        foreign = _FOREIGN.get(dialect, {})
        for node in tree.nodes:
            schema = node.schema
            if type(schema) is not dict:
                continue
            for keyword in foreign:
                if keyword in schema and (is_declared or keyword == "dependencies"):
                    message = f"`{keyword}` is not a keyword of {dialect}; use {foreign[keyword]}"
                    yield Problem(message, f"{node.pointer}/{keyword}")
            if is_declared and dialect == "2020-12" and type(schema.get("items")) is list:
                yield Problem("a list of `items` is `prefixItems` in 2020-12", f"{node.pointer}/items")


@_schema_demand("SPEC-019", "no-parameters-open", "note", "tools#tool", since=DIALECTS, needs=(ODD_ROOT,))
def no_parameters_open(dated: DatedItem) -> Iterator[Problem]:
    """A tool without parameters does not declare that it has none.

    Why: the schema accepts any arguments; the specification recommends one that accepts only an empty object.
    Fix: write `{"type": "object", "properties": {}, "additionalProperties": false}`. The specification's own form has
    no `properties`, which OpenAI models refuse (CMP-012).
    """
    schema = _tool(dated).schema
    is_bare = schema is not None and schema.get("type") == "object" and schema.keys() <= _BARE
    if schema and is_bare and not schema.get("properties") and schema.get("additionalProperties", True) in (True, {}):
        yield Problem("has no parameters, but accepts any: `additionalProperties` is not false", _INPUT)


@_schema_demand(
    "SPEC-020",
    "output-schema-type",
    "error",
    "schema#Tool.outputSchema",
    since=STRUCTURED,
    until=DIALECTS,
    needs=(ODD_OUTPUT,),
)
def output_schema_type(dated: DatedItem) -> Iterator[Problem]:
    """The `type` of an output schema is not `"object"`.

    Revision 2026-07-28 allows any type; a server must not send such a schema to older clients.

    Why: clients that validate reject the whole list.
    Fix: wrap the value: `{"type": "object", "properties": {"result": …}}`.
    """
    schema = dated.item.fields.get("outputSchema")
    if isinstance(schema, dict):
        if schema.get("type") != "object":
            yield Problem(f"the output schema {_type_in_words(schema)}", _OUTPUT)
    elif schema is not None:
        yield Problem(f"`outputSchema` is {kind_of(schema)}, not an object", _OUTPUT, same_as="CAT-006")


@_validity_demand("SPEC-021", "output-schema-valid", "error", needs=(ODD_OUTPUT,))
def output_schema_valid(dated: DatedItem) -> Iterator[Problem]:
    """An output schema is not valid in its dialect: the one it declares, or 2020-12.

    Unknown dialects are not checked.

    Why: schemas must be valid; clients then refuse the tool, or every result of it.
    Fix: correct the keyword in the message, or declare the dialect with `$schema`.
    """
    tree = _tool(dated).output_tree
    if tree is not None:
        yield from _first(_faults(tree), _OUTPUT)


_BARE = frozenset(
    {"type", "properties", "required", "additionalProperties", "$schema", "title", "description", "$defs"}
)
"""The keywords of a schema that declares no parameters in another way."""


def _tool(dated: DatedItem) -> Tool:
    assert isinstance(dated.item, Tool)  # noqa: S101 (by the kinds of these rules)
    return dated.item


def _faults(tree: SchemaTree) -> list[tuple[str, str]]:
    """The errors of a schema."""
    from mcproof.core.schema.validation import objections  # here, as nearly all schemas are plainly valid

    return objections(tree)


def _first(faults: list[tuple[str, str]], base: str) -> Iterator[Problem]:
    """The first of the errors of a schema, with the number of others."""
    if faults:
        pointer, message = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        yield Problem(f"invalid schema: {message}{more}", f"{base}{pointer}")


def _is_reported(pointer: str, revision: str) -> bool:
    """Whether SPEC-011, 012 or 013 reports the value at a pointer in an input schema."""
    # Those rules say it in plainer words, and one fault is reported once.
    if pointer == "/type":
        return True
    if revision > DIALECTS:
        return False
    _, key, *rest = f"{pointer}/".split("/")
    return key == "required" or (key == "properties" and len(rest) <= 2)


def _type_in_words(schema: dict[str, Any]) -> str:
    if "type" not in schema:
        return "has no `type`; it must be `object`"
    named = schema["type"]
    return f"is of type {shown(named) if isinstance(named, str) else kind_of(named)}; it must be `object`"


def _address(named: str) -> str:
    return named.partition("://")[2].removesuffix("#")


def _references(dated: DatedItem) -> Iterator[Reference]:
    tool = _tool(dated)
    for tree in filter(None, (tool.tree, tool.output_tree)):
        if tree.holders:
            yield from tree.references.all
