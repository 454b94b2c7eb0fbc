"""Catalogs to measure with: made up, but shaped like real ones, and the same every time.

The shares are those of 207 captured servers: three parameters a tool in the middle and eight at the ninetieth
percentile, descriptions of 190 characters in the middle and 1,000 at the ninetieth percentile, a parameter in five
without a description, one in six a union with null, two tools in five with an output schema, one in fifty with
references.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pathlib

WORDS = tuple(
    "returns the list of items for a project and filters by status date owner or label use this when user asks to find "
    "create update search records documents with optional limit cursor page size default value must be valid id".split()
)


def sentence(rng: random.Random, characters: int) -> str:
    words: list[str] = []
    while sum(map(len, words)) + len(words) < characters:
        words.append(rng.choice(WORDS))
    return " ".join(words).capitalize() + "."


def schema(rng: random.Random, depth: int) -> dict[str, Any]:
    """The schema of one parameter."""
    kind = rng.random()
    made: dict[str, Any]
    if kind < 0.16:
        made = {"anyOf": [{"type": rng.choice(("string", "integer"))}, {"type": "null"}], "default": None}
    elif kind < 0.24:
        made = {"type": "string", "enum": rng.sample(WORDS, 4)}
    elif kind < 0.34 and depth < 3:
        made = {"type": "array", "items": schema(rng, depth + 1)}
    elif kind < 0.42 and depth < 3:
        made = object_schema(rng, rng.randint(1, 4), depth + 1)
    elif kind < 0.6:
        made = {"type": rng.choice(("integer", "number", "boolean"))}
    else:
        made = {"type": "string"}
    if rng.random() < 0.8:
        made["description"] = sentence(rng, rng.choice((30, 60, 60, 90, 200)))
    if rng.random() < 0.25:
        made["title"] = rng.choice(WORDS).capitalize()
    return made


def object_schema(rng: random.Random, properties: int, depth: int) -> dict[str, Any]:
    names = [f"{rng.choice(WORDS)}_{number}" for number in range(properties)]
    made: dict[str, Any] = {"type": "object", "properties": {name: schema(rng, depth) for name in names}}
    if names and rng.random() < 0.85:
        made["required"] = names[: rng.randint(1, len(names))]
    if rng.random() < 0.33:
        made["additionalProperties"] = False
    return made


def tool(rng: random.Random, number: int) -> dict[str, Any]:
    made = object_schema(rng, rng.choice((0, 1, 2, 2, 3, 3, 4, 5, 8, 12)), 0)
    if rng.random() < 0.02:
        made["$defs"] = {"shared": object_schema(rng, 3, 2)}
        made["properties"]["shared"] = {"$ref": "#/$defs/shared"}
    described: dict[str, Any] = {
        "name": f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{number}",
        "description": sentence(rng, rng.choice((40, 60, 120, 190, 190, 300, 450, 600, 1000))),
        "inputSchema": made,
    }
    if rng.random() < 0.46:
        described["annotations"] = {"title": sentence(rng, 20), "readOnlyHint": rng.random() < 0.5}
    if rng.random() < 0.4:
        described["outputSchema"] = object_schema(rng, rng.randint(1, 6), 1)
    return described


def catalog(seed: int, tools: int) -> str:
    rng = random.Random(seed)
    document = {
        "server": {"package": f"example-{seed}", "version": "1.0.0"},
        "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "example", "version": "1.0.0"}},
        "tools": [tool(rng, number) for number in range(tools)],
        "resources": [],
        "prompts": [],
    }
    return json.dumps(document, indent=2)


def write_folder(folder: pathlib.Path, catalogs: int = 120) -> pathlib.Path:
    """A folder of catalogs of 2 to 120 tools each."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(catalogs):
        tools = rng.choice((2, 5, 8, 8, 14, 20, 40, 120))
        (folder / f"server-{number:03}.json").write_text(catalog(number, tools), encoding="utf-8")
    return folder
