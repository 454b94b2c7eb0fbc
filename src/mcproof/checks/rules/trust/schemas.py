"""Rules about the quality of input schemas: well-formed, complete, and not broader than a reviewer can judge.

Why a problem is reported for each tool: docs/decisions/0026-well-formed-per-tool.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import because, identity, near, trust_rule
from mcproof.checks.scores.tokens import bytes_of
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.schema.acceptance import accepts_anything
from mcproof.core.schema.keywords import is_page_token, role_of, texts_of
from mcproof.core.text.english import first_sentence, word_set, words_of

if TYPE_CHECKING:
    from mcproof.core.schema.tree import SchemaNode, SchemaTree

MAX_BYTES, MAX_LEVELS = 65_536, 32


def _identity(evidence: dict[str, Any]) -> str:
    """All hits of a tool, in any order; a small change of a size does not change the identity."""
    hits = {f"{hit['kind']} {hit['detail'] if hit['kind'].startswith('ref_') else ''}" for hit in evidence["hits"]}
    return "\0".join(sorted(hits))


_schema_rule = partial(
    trust_rule, Tool, category="schema", dimension="Schema quality", phase="post-handshake", in_lint=True
)
"""Registers a rule about one tool, which `lint` runs."""


@_schema_rule("tool_input_schemas_well_formed", "ill-formed-schema", "medium", weight=4, sums_up=_identity)
def tool_input_schemas_well_formed(tool: Tool) -> Iterator[Problem]:
    """An input schema is too large or too deep, or has a `$ref` that is external, unresolvable or circular.

    Why: strict clients fail on such a schema, lenient ones skip validation; either way no call is validated.
    Fix: keep schemas small and flat, keep every `$ref` inside the schema, and end recursive shapes explicitly.
    """
    tree = tool.tree
    if tree is None:
        return
    defects = list(_hits(tree))
    if defects:
        hits = [
            {"toolName": tool.label, "kind": kind, "path": path or "(root)", "detail": detail}
            for kind, path, detail in defects
        ]
        more = f" (and {len(hits) - 1} more)" if len(hits) > 1 else ""
        _, path, detail = defects[0]
        yield Problem(f"{detail}{more}", f"{tree.base}{path}", evidence={"hits": hits})


def _hits(tree: SchemaTree) -> Iterator[tuple[str, str, str]]:
    """The defects of a schema: kind, pointer of the schema that contains it, and detail."""
    if tree.most_bytes > MAX_BYTES and (size := bytes_of(tree.root)) > MAX_BYTES:
        yield "oversized", "", f"the schema has {size:,} bytes; the limit is {MAX_BYTES:,}"
    if tree.deepest > MAX_LEVELS:
        yield "too_deep", "", f"the schema is nested {tree.deepest} levels deep; the limit is {MAX_LEVELS}"
    if not tree.holders:
        return
    for reference in tree.references.all:
        shown = f"`{reference.keyword}`: {reference.text}"
        if not reference.is_local:
            yield "ref_non_local", reference.holder.path, f"external {shown}"
        elif not reference.is_resolved:
            yield "ref_unresolvable", reference.holder.path, f"unresolvable {shown}"
    reported: set[str] = set()
    for reference in tree.references.on_cycles():
        if reference.text not in reported:
            reported.add(reference.text)
            yield "ref_cycle", reference.holder.path, f"circular `{reference.keyword}`: {reference.text}"


@_schema_rule("all_tools_have_input_schema", "no-input-schema", "medium", weight=6, same_as="tool-no-schema")
def all_tools_have_input_schema(tool: Tool) -> Iterator[Problem]:
    """A tool has no input schema, an empty one, or one that only states that arguments are an object.

    A tool without parameters passes if its schema declares that: `"properties": {}` or `"additionalProperties": false`.

    Why: neither a client nor a reviewer can tell what the tool accepts without calling it.
    Fix: declare every parameter; without any, write `{"type": "object", "additionalProperties": false}`.
    """
    if tool.schema is not None and "properties" in tool.schema:  # as almost every schema
        return
    if not tool.is_object or not tool.knows_all("/inputSchema"):
        return
    at, evidence = tool.pointer_to("inputSchema"), {"missingFor": [tool.label]}
    if tool.schema is None:
        yield Problem("has no input schema", at, evidence=evidence)
    elif not (tool.schema.keys() - _SAYING_NOTHING):
        yield Problem("the input schema does not declare what the tool accepts", at, evidence=evidence)


_SAYING_NOTHING = frozenset({"type", "$schema", "$id", "title", "description", "$comment"})
"""Keywords that leave open which arguments a tool takes."""

_SAFE_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_.-]{0,63}\Z")


@_schema_rule(
    "tool_name_safety", "unsafe-tool-name", "low", category="naming", weight=2, same_as="tool-name-convention"
)
def tool_name_safety(tool: Tool) -> Iterator[Problem]:
    """A tool's name is not 1 to 64 letters, digits, `_`, `.` and `-` that start with a letter.

    Why: clients and model APIs refuse such names or change them, and look-alike characters can imitate another tool.
    Fix: use ASCII letters, digits and `_`, starting with a letter.
    """
    if "name" in tool.fields and tool.knows("/name") and _SAFE_NAME.match(tool.name) is None:
        reason = _fault_of(tool.name)
        evidence = {"unsafeNames": [{"toolName": tool.label, "reason": reason}]}
        yield Problem(f"the name {_FAULTS[reason]}", "/name", evidence=evidence)


_FAULTS = {
    "empty": "is empty",
    "contains-whitespace": "contains whitespace",
    "contains-unsafe-characters": "contains other characters than letters, digits, `_`, `.` and `-`",
    "too-long": "is longer than 64 characters",
    "does-not-start-with-a-letter": "does not start with a letter",
}


def _fault_of(name: str) -> str:
    if not name:
        return "empty"
    if any(character.isspace() for character in name):
        return "contains-whitespace"
    if any(not (character.isascii() and (character.isalnum() or character in "_.-")) for character in name):
        return "contains-unsafe-characters"
    return "too-long" if len(name) > 64 else "does-not-start-with-a-letter"


_BROAD = frozenset({"command", "path", "prompt", "query", "secret", "sql", "token", "url"})
_INSTRUCTABLE = frozenset({"command", "instruction", "message", "prompt", "query", "sql"})
_COMMANDING = frozenset({"command", "instruction", "sql"})
"""Roles of texts that are orders in themselves."""
_OBEYING = word_set(
    "agent agents ai ask assistant chat chatbot code command commands completion cypher execute executes execution "
    "generate generates generation gpt graphql instruction instructions llm model models promql run runs shell sparql "
    "sql"
)
"""Words of tools that execute a query, or give a prompt or message to a model."""
_BOUNDED_OBJECT = frozenset(
    {"properties", "additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames", "$ref"}
    | {"allOf", "anyOf", "oneOf", "enum", "const", "maxProperties"}
)


@_schema_rule("no_broad_schema_risk", "broad-schema", "low", weight=2, sums_up=identity("hits", "kind", "path"))
def no_broad_schema_risk(tool: Tool) -> Iterator[Problem]:
    """An input schema allows more than a reviewer can judge: any property, any value, or any text for a risky field.

    Risky fields are strings with the role `query`, `command`, `path`, `url`, `sql`, `prompt`, `token` or `secret` that
    have no `enum`, `pattern` or `format`. A page token or a search query is not one of them.

    Why: whatever a model is made to write into such a field reaches the server unchecked.
    Fix: close objects, give properties a type, and restrict risky strings with `enum`, `pattern` or `format`.
    """
    tree = tool.tree
    if tree is None:
        return
    hits: list[tuple[SchemaNode, str, str]] = []
    for node in tree.objects:
        if node.schema.get("additionalProperties") is True:
            hits.append((node, "additional_properties", str(node.step[-1]) if node.step else "(root)"))
    for prop in tree.properties:
        schema = prop.schema
        kind = schema.get("type") if type(schema) is dict else None
        if kind == "string":  # the common case first
            if role_of(prop.name) in _BROAD and _is_free_form(schema):
                hits.append((prop, "free_form_sensitive_field", prop.name))
        elif kind == "object":
            if _BOUNDED_OBJECT.isdisjoint(schema):
                hits.append((prop, "open_object", prop.name))
        elif kind is None and accepts_anything(schema, tree):
            hits.append((prop, "untyped_property", prop.name))
        elif role_of(prop.name) in _BROAD and any(map(_is_free_form, texts_of(schema))):
            hits.append((prop, "free_form_sensitive_field", prop.name))
    if not hits:
        return
    reported = [
        {"toolName": tool.label, "kind": kind, "field": field, "path": node.path or "(root)"}
        for node, kind, field in hits
        if not is_page_token(field, node.schema) and tool.knows(node.pointer)
    ]
    if reported:
        field, kind, path = (reported[0][key] for key in ("field", "kind", "path"))
        more = f" (and {len(reported) - 1} more)" if len(reported) > 1 else ""
        subject = "the schema" if path == "(root)" else f"`{field}`"
        at = tree.base + path.removeprefix("(root)")
        repeats = "prop-no-type" if kind == "untyped_property" and not more else None
        yield Problem(f"{subject} {_BREADTHS[kind]}{more}", at, evidence={"hits": reported}, same_as=repeats)


_BREADTHS = {
    "additional_properties": "accepts any property",
    "untyped_property": "accepts any value",
    "open_object": "accepts any object",
    "free_form_sensitive_field": "accepts any text",
}


def _is_free_form(schema: dict[str, Any]) -> bool:
    return not ("enum" in schema or "pattern" in schema or "format" in schema or "const" in schema)


LONGEST_BOUNDED = 200
"""The `maxLength` up to which a text leaves no room for instructions."""


@trust_rule(
    Catalog,
    "prompt_injection_surface",
    "prompt-injection-surface",
    "high",
    category="capability",
    weight=8,
    dimension="Tool surface risk",
    phase="post-handshake",
    sums_up=identity("hits", "toolName", "path"),
)
def prompt_injection_surface(catalog: Catalog) -> Iterator[Problem]:
    """A text that a tool acts on is not restricted: a prompt, query, command, SQL, instruction or message.

    It passes with an `enum`, a `pattern`, or a `maxLength` of at most 200. A query, prompt or message counts only if
    the tool says that it is executed or given to a model: that of a search, a commit or a form field is plain text.

    Why: instructions that hide in a page or a mail travel through the model into such a field, and the server obeys.
    Fix: restrict the text with `enum`, `pattern` or a short `maxLength`, or split it into typed parameters.
    """
    hits, first = [], None
    for tool in catalog.tools:
        fields = [
            {"toolName": tool.label, "field": prop.name, "path": prop.path}
            for prop in (tool.tree.properties if tool.tree is not None else ())
            if (role := role_of(prop.name)) in _INSTRUCTABLE
            and any(map(_is_instructable, texts_of(prop.schema)))
            and tool.knows(prop.pointer)
            and (role in _COMMANDING or _is_obeyed(tool, prop.schema))
        ]
        tool.release_tree()  # one tree at a time: docs/decisions/0014-one-schema-walk.md
        hits += fields
        first = first or (tool if fields else None)
    if first is not None:
        reasons = [(hit["toolName"], f"its parameter `{hit['field']}`") for hit in hits]
        message = because(reasons, "can receive any text")
        yield Problem(message, evidence={"hits": hits}, near=near(first))


def _is_obeyed(tool: Tool, schema: Any) -> bool:
    """Whether a tool says that it executes a text or gives it to a model."""
    described = schema.get("description") if isinstance(schema, dict) else None
    texts = (first_sentence(tool.description), described if isinstance(described, str) else "")
    words = {*words_of(tool.name), *(word for text in texts for word in words_of(text[:500]))}
    return not _OBEYING.isdisjoint(words)


def _is_instructable(schema: dict[str, Any]) -> bool:
    if "enum" in schema or "pattern" in schema or "const" in schema:
        return False
    longest = schema.get("maxLength")
    return not (isinstance(longest, (int, float)) and longest <= LONGEST_BOUNDED)
