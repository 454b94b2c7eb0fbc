"""`spec`: demands of the MCP specification on a catalog, each in the revisions that make it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.exchange.revisions import FIRST_STATELESS
from mcproof.linting.finding import Problem
from mcproof.linting.registry import rule
from mcproof.schema.header_parameters import ANNOTATION, header_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.model import Catalog


@rule("SPEC-070", ruleset="spec", name="invalid-parameter-header", severity="error", category="protocol")
def invalid_parameter_header(catalog: Catalog) -> Iterator[Problem]:
    """An `x-mcp-header` annotation is invalid.

    Why: from revision 2026-07-28 on, clients over HTTP must drop the whole tool, so no model can call it.
    Fix: annotate only parameters of type string, integer or boolean, at the top or below `properties` alone. Give each
    a header name of its own, of letters, digits and hyphens.
    """
    if catalog.protocol is not None and catalog.protocol < FIRST_STATELESS:
        return  # the annotation has no meaning yet
    text = catalog.document.text
    if ANNOTATION not in text and "\\u" not in text:  # a key may be escaped
        return
    for tool in catalog.tools:
        if tool.tree is not None:
            for node, message in header_parameters(tool.tree).problems:
                yield Problem(message, node.pointer, item=tool)
