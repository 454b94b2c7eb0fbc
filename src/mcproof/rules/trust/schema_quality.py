"""Rules about the quality of input schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.rules.trust.trust_rule import trust_rule
from mcproof.text.javascript import stringify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.model import Tool
    from mcproof.schema.tree import SchemaTree

MAX_BYTES, MAX_LEVELS = 65_536, 32


def _identity(evidence: dict[str, Any]) -> str:
    """All hits of a tool, in any order; a small change of a size does not change the identity."""
    hits = {f"{hit['kind']} {hit['detail'] if hit['kind'].startswith('ref_') else ''}" for hit in evidence["hits"]}
    return "\0".join(sorted(hits))


@trust_rule(
    "tool_input_schemas_well_formed",
    name="ill-formed-schema",
    severity="medium",
    category="schema",
    weight=4,
    dimension="Schema quality",
    phase="post-handshake",
    in_lint=True,
    sums_up=_identity,
)
def tool_input_schemas_well_formed(tool: Tool) -> Iterator[Problem]:
    """An input schema is too large or too deep, or has a `$ref` that is external, unresolvable or circular.

    Why: strict clients fail on such a schema, lenient ones skip validation; either way no call is validated.
    Fix: keep schemas small and flat, keep every `$ref` inside the schema, and end recursive shapes explicitly.
    """
    tree = tool.tree
    if tree is None:
        return
    found = list(_hits(tool, tree))
    if found:
        hits = [
            {"toolName": tool.label, "kind": kind, "path": path or "(root)", "detail": detail}
            for kind, path, detail in found
        ]
        more = f" (and {len(hits) - 1} more)" if len(hits) > 1 else ""
        _, path, detail = found[0]
        yield Problem(f"{detail}{more}", f"{tree.base}{path}", evidence={"hits": hits})


def _hits(tool: Tool, tree: SchemaTree) -> Iterator[tuple[str, str, str]]:
    """The defects of a schema: kind, pointer of the schema that contains it, and detail."""
    if tool.may_exceed(MAX_BYTES):
        size = len(stringify(tree.root).encode())
        if size > MAX_BYTES:
            yield "oversized", "", f"the schema has {size:,} bytes; the limit is {MAX_BYTES:,}"
    if tree.deepest > MAX_LEVELS:
        yield "too_deep", "", f"the schema is nested {tree.deepest} levels deep; the limit is {MAX_LEVELS}"
    if not tree.holders:
        return
    for reference in tree.references.all:
        if not reference.is_local:
            yield (
                "ref_non_local",
                reference.holder.path,
                f"external `{reference.keyword}`: {reference.text}",
            )
        elif not reference.is_resolved:
            yield "ref_unresolvable", reference.holder.path, f"unresolvable `{reference.keyword}`: {reference.text}"
    reported: set[str] = set()
    for reference in tree.references.on_cycles():
        if reference.text not in reported:
            reported.add(reference.text)
            yield "ref_cycle", reference.holder.path, f"circular `{reference.keyword}`: {reference.text}"
