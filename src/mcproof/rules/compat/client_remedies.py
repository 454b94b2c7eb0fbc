"""What to change about the findings of each `compat` rule, in a few words with their number."""

from __future__ import annotations

import re

from mcproof.core.console import plural

_REMEDIES = {
    "CMP-001": "use only letters, digits and underscores in {name}",
    "CMP-002": "shorten {name} to 64 characters",
    "CMP-003": "shorten {name}, or recommend a shorter server name",
    "CMP-004": "rename {tool} with the name of another",
    "CMP-005": "describe {tool}",
    "CMP-006": "shorten {description}",
    "CMP-007": "shorten {parameter description}",
    "CMP-010": "make {input schema} `type: object`",
    "CMP-011": "replace the combinator at the root of {input schema}",
    "CMP-012": "add `properties: {{}}` to {input schema}",
    "CMP-013": "rename {parameter}",
    "CMP-014": "list only declared properties in {`required` list}",
    "CMP-020": "add `items` to {array}",
    "CMP-021": "replace {list of `items`} with one schema",
    "CMP-022": "rewrite {non-object schema}",
    "CMP-023": "give {list of types} a single type",
    "CMP-024": "give {schema} a type",
    "CMP-025": "drop `type` beside {union}",
    "CMP-026": "use distinct strings in {enum}",
    "CMP-027": "drop {`format` keyword}",
    "CMP-028": "anchor or simplify {pattern}",
    "CMP-029": "lower or drop {large bound}",
    "CMP-030": "replace {`$ref`}",
    "CMP-031": "drop {refused keyword}",
    "CMP-032": "do not rely on {ignored keyword}",
    "CMP-033": "make {input schema} valid JSON Schema",
    "CMP-034": "drop `$schema` from {input schema}",
    "CMP-040": "shrink {schema}",
    "CMP-041": "use the shape of strict mode in {place}",
    "CMP-050": "make {output schema} `type: object`",
    "CMP-051": "drop `$schema` from {output schema}",
    "CMP-052": "simplify {output schema}",
    "CMP-060": "offer fewer tools",
    "CMP-061": "offer fewer or smaller tools",
    "CMP-062": "shorten the instructions",
    "CMP-063": "offer fewer tools, optional parameters and unions",
    "CMP-064": "return all tools on the first page",
    "CMP-066": "set `readOnlyHint` on {tool}, if reading",
    "CMP-070": "drop or correct {member}",
}
"""One phrase a rule; `{noun}` is replaced with their number."""
_PER_TOOL = frozenset({"tool", "name", "description", "input schema", "output schema"})
"""Nouns of which a tool has one."""
_NOUN = re.compile(r"(?<!\{)\{([^{}]+)\}(?!\})")


def remedy_for(rule: str, places: int, tools: int) -> str:
    """Return what to change about the findings of a rule, such as "drop `$schema` from 7 output schemas"."""

    def counted(found: re.Match[str]) -> str:
        noun = found[1]
        count = tools if noun in _PER_TOOL and tools else places
        return _plural(count, noun)

    return _NOUN.sub(counted, _REMEDIES.get(rule, f"fix {{place}} of {rule}")).replace("{{}}", "{}")


def _plural(count: int, noun: str) -> str:
    head, of, rest = noun.partition(" of ")
    return plural(count, head) + of + rest
