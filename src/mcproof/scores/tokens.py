"""Context cost: an estimate of the tokens a catalog's tools take in every request."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from mcproof.text.javascript import length, stringify

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog, Tool

CHARACTERS_PER_TOKEN = 3.5


class TokenCost(NamedTuple):
    total: int
    tools: dict[str, int]
    """By the tool's label, in catalog order; tools with the same name are added up."""


def token_cost(catalog: Catalog) -> TokenCost:
    costs: dict[str, int] = {}
    for tool in catalog.tools:
        costs[tool.label] = costs.get(tool.label, 0) + tool_tokens(tool)
    return TokenCost(sum(costs.values()), costs)


def tool_tokens(tool: Tool) -> int:
    """The tokens of one tool: its name, its description as received, and its schema as compact JSON."""
    schema = stringify(tool.fields["inputSchema"]) if "inputSchema" in tool.fields else "undefined"
    parts = [tool.name, tool.description, schema] if tool.description else [tool.name, schema]
    return ceil(length(" ".join(parts)) / CHARACTERS_PER_TOKEN)
