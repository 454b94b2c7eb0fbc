"""What each version of a framework does with the functions that it serves. Plain data, measured on the frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DISTRIBUTIONS = {"fastmcp": "fastmcp", "mcp1": "mcp", "mcp": "mcp", "lowlevel": "mcp"}
"""The distribution of each framework."""

OUTPUT_SCHEMAS = "derives output schemas"
NO_TITLES = "removes generated titles"
INLINED = "inlines references"
CLOSED = "closes objects of arguments"
DOCSTRING_PARAMETERS = "describes parameters by the docstring, and removes its sections then"
PLAIN_WRAPPER = "wraps output without a description, removes all titles, and keeps an empty description"
TOOL_TITLES = "derives titles of tools from their names, and keeps titles of fields"
DOCSTRING_SECTIONS = "removes every section of a docstring"

SINCE: dict[str, dict[str, tuple[int, ...]]] = {
    "fastmcp": {
        OUTPUT_SCHEMAS: (2, 10),
        NO_TITLES: (2, 12),
        INLINED: (2, 14),
        CLOSED: (3, 0),
        DOCSTRING_PARAMETERS: (3, 2),
        PLAIN_WRAPPER: (3, 2),
        TOOL_TITLES: (4, 0),
        DOCSTRING_SECTIONS: (4, 1),
    },
    "mcp1": {OUTPUT_SCHEMAS: (1, 10)},
}
"""The first version of each trait; other frameworks have all that apply to them in every version."""
ALL_TRAITS = frozenset(trait for traits in SINCE.values() for trait in traits)


def traits_of(framework: str, versions: Mapping[str, tuple[float, ...]]) -> frozenset[str]:
    """The traits of a framework in the version that a project uses; those of the newest if that is unknown."""
    version = versions.get(DISTRIBUTIONS.get(framework, ""))
    if version is None:
        return ALL_TRAITS
    return ALL_TRAITS - {trait for trait, since in SINCE.get(framework, {}).items() if version < since}
