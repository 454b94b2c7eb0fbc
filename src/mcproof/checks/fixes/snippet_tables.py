"""The snippets: for each rule and framework, where to write something and what. Plain data.

`$name` is a parameter or argument, `$type` its Python type, `$bounded` the same with a size limit, `$default` its
default; `$zod` and `$zod_bounded` are the same for zod, and `$members` the members of its schema. `$signature` and
`$schema` declare it. `$tool`, `$prompt` and `$resource` are the item, `$model` is the class of a nested object, and
`$server` the server. Which framework a server seems to use is decided here, too.
Why every snippet was tried: docs/decisions/0036-snippets-are-tried.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from functools import partial
from typing import Any

from mcproof.core.catalog.model import Catalog, Item, Tool
from mcproof.core.named_tuple import NamedTuple

MCP2, MCP1, FASTMCP, LOW_LEVEL, ZOD, LITERAL = "mcp", "mcp1", "fastmcp", "lowlevel", "zod", "literal"
FRAMEWORKS = {
    MCP2: "MCPServer of mcp 2",
    MCP1: "FastMCP of mcp 1",
    FASTMCP: "fastmcp",
    LOW_LEVEL: "low-level Server of mcp",
    ZOD: "TypeScript SDK with zod",
    LITERAL: "TypeScript SDK with JSON Schema",
}
"""The frameworks that snippets exist for, with their names."""
COMMONEST = (MCP2, ZOD)
EITHER_LITERAL = (LOW_LEVEL, LITERAL)
_OF_LANGUAGE = {"python": (FASTMCP, LOW_LEVEL), "javascript": (ZOD, LITERAL)}
"""Of a server that shows only its language: FastMCP of mcp is recognised by its schemas."""
_PYTHON_LAUNCHERS = ("python", "uv", "uvx", "pipx", "poetry", "hatch", "fastmcp")
_JAVASCRIPT = ("node", "npx", "tsx", "ts-node", "bun", "bunx", "deno", "npm", "pnpm", "yarn")
_MOST_PARTS = 2_000
"""How many parts of a schema are looked at for how it was written."""
_DIALECTS = ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema")
"""What zod writes as `$schema`, in its third and fourth version."""


def frameworks_of(catalog: Catalog, item: Item) -> tuple[str, ...]:
    """Return the frameworks that an item may be written with: of its source, as recognised, or the two commonest."""
    if catalog.source is None:
        return live_frameworks(catalog)
    facts = item.source if isinstance(item, Tool) else next((tool.source for tool in catalog.tools), None)
    if facts is None:
        return ()
    if facts.framework in (ZOD, LITERAL):
        return (facts.framework,)
    is_literal = facts.schema_is_explicit and isinstance(item, Tool)
    return (LOW_LEVEL,) if is_literal else (facts.framework,) if facts.framework in FRAMEWORKS else ()


def live_frameworks(catalog: Catalog) -> tuple[str, ...]:
    """Return the frameworks that a live server may be written with."""
    schemas = [tool.schema for tool in catalog.tools if tool.schema is not None and tool.parameters]
    language = _language(catalog.server.fields.get("server"))
    metas = [tool.fields.get("_meta") for tool in catalog.tools]
    if any(isinstance(meta, dict) and not {"fastmcp", "_fastmcp"}.isdisjoint(meta) for meta in metas):
        return (FASTMCP,)
    # FastMCP derives schemas from a class of a function's arguments, which has this title.
    if schemas and all(str(schema.get("title")).endswith("Arguments") for schema in schemas):
        return (MCP2, MCP1)
    # zod writes a dialect and, unlike schemars of Rust, no title.
    is_of_zod = all(schema.get("$schema") in _DIALECTS and "title" not in schema for schema in schemas)
    if schemas and language != "python" and is_of_zod:
        return (ZOD,)
    if language != "javascript" and any("$schema" not in schema and _is_written_by_hand(schema) for schema in schemas):
        return (LOW_LEVEL,) if language == "python" else EITHER_LITERAL
    return _OF_LANGUAGE.get(language, COMMONEST)


def _is_written_by_hand(schema: Any) -> bool:
    """Whether a schema has a list of types: classes and signatures of Python are written with `anyOf`."""
    waiting, seen = [schema], 0
    while waiting and seen < _MOST_PARTS:
        part = waiting.pop()
        seen += 1
        if isinstance(part, dict) and isinstance(part.get("type"), list):
            return True
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return False


def _language(server: Any) -> str:
    """Return the language of a server by the command that starts it; empty if unknown."""
    command = server.get("command") if isinstance(server, dict) else None
    words = command if isinstance(command, list) else [command]
    names = [os.path.basename(word) for word in words[:3] if isinstance(word, str)]
    if not names:
        return ""
    # A program may have a version: `python3.12`.
    if names[0].rstrip("0123456789.") in _PYTHON_LAUNCHERS or any(name.endswith(".py") for name in names):
        return "python"
    is_script = any(name.endswith((".js", ".mjs", ".cjs", ".ts", ".mts")) for name in names)
    return "javascript" if is_script or names[0] in _JAVASCRIPT else _interpreter(words[0])


def _interpreter(program: Any) -> str:
    """Return the language of a console script by its first lines; empty if it is none."""
    path = shutil.which(program) if isinstance(program, str) else None
    if path is None or not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as opened:
            first = opened.read(512)
    except OSError:
        return ""
    if not first.startswith(b"#!"):
        return ""
    # The second line has the interpreter where its path is too long for the first.
    lines = b" ".join(first.splitlines()[:2])
    return "python" if b"python" in lines else "javascript" if b"node" in lines else ""


TEXT_SIZE, LIST_SIZE = 200, 50
"""The sizes in snippets: examples, because only the author knows the right ones."""
_DEEPEST = 4
_MOST_VALUES = 5
_LONGEST_MEMBERS = 60
_PYTHON_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_ZOD = {
    "string": "z.string()",
    "integer": "z.number().int()",
    "number": "z.number()",
    "boolean": "z.boolean()",
    "null": "z.null()",
}


def python_type(schema: Any, *, bounded: bool = False, depth: int = 0) -> str:
    """Return the annotation whose schema this is; with `bounded`, strings and lists have a size limit."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return "Any"
    if isinstance(reference := schema.get("$ref"), str):
        return _class_name(reference.rpartition("/")[2]) or "Any"
    if "enum" in schema or "const" in schema:
        return f"Literal[{', '.join(map(python_value, _values(schema))) or '...'}]"
    if parts := _union(schema):
        types = dict.fromkeys(python_type(part, bounded=bounded, depth=depth + 1) for part in parts)
        return " | ".join(types)
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        inner = f"list[{python_type(items, depth=depth + 1)}]" if isinstance(items, dict) and items else "list"
        return _sized(inner, LIST_SIZE) if bounded and "maxItems" not in schema else inner
    if kind == "object":
        if "properties" in schema:
            return _class_name(schema.get("title")) or "Model"
        values = schema.get("additionalProperties")
        return f"dict[str, {python_type(values, depth=depth + 1)}]" if isinstance(values, dict) and values else "dict"
    name = _PYTHON_TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"
    return _sized(name, TEXT_SIZE) if bounded and kind == "string" and "maxLength" not in schema else name


_TYPING = frozenset(("type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "properties", "items"))


def with_likely_type(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with the type that its default shows, or `string`, if it has none."""
    if not _TYPING.isdisjoint(schema):
        return schema
    default = schema.get("default")
    return {**schema, "type": next((name for name, kind in _JSON_TYPES.items() if type(default) is kind), "string")}


_JSON_TYPES = {"boolean": bool, "integer": int, "number": float, "array": list, "object": dict}


def with_imports(code: str) -> str:
    """Return Python with the imports of the names of `typing` that it uses, so that it runs as pasted."""
    head, _, body = code.rpartition("\n")
    used = sorted(name for name in ("Annotated", "Any", "Literal") if re.search(rf"\b{name}\b", body))
    line = f"from typing import {', '.join(used)}" if used else ""
    others = [other for other in head.splitlines() if not other.startswith("from typing import ")]
    return "\n".join([*filter(None, [line]), *others, body])


def _sized(annotation: str, size: int) -> str:
    return f"Annotated[{annotation}, Field(max_length={size})]"


def _class_name(name: Any) -> str:
    return name if isinstance(name, str) and name.isidentifier() and name.isascii() and len(name) <= 64 else ""


def zod_type(schema: Any, *, bounded: bool = False, depth: int = 0) -> str:
    """Return the zod schema whose JSON Schema this is."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return "z.any()"
    if "enum" in schema or "const" in schema:
        values = [value for value in _values(schema) if isinstance(value, str)]
        listed = ", ".join(json.dumps(value, ensure_ascii=False) for value in values) or "…"
        return f"z.literal({listed})" if "const" in schema else f"z.enum([{listed}])"
    if parts := _union(schema):
        types = list(dict.fromkeys(zod_type(part, bounded=bounded, depth=depth + 1) for part in parts))
        others = [zod for zod in types if zod != "z.null()"]
        inner = others[0] if len(others) == 1 else f"z.union([{', '.join(others)}])"
        return f"{inner}.nullable()" if len(others) < len(types) else inner
    kind = schema.get("type")
    if kind == "array":
        limit = f".max({LIST_SIZE})" if bounded and "maxItems" not in schema else ""
        return f"z.array({zod_type(schema.get('items'), depth=depth + 1)}){limit}"
    if kind == "object":
        return "z.object({ … })" if "properties" in schema else "z.record(z.string(), z.any())"
    name = _ZOD.get(kind, "z.any()") if isinstance(kind, str) else "z.any()"
    return f"{name}.max({TEXT_SIZE})" if bounded and kind == "string" and "maxLength" not in schema else name


def literal_members(schema: Any, *, is_python: bool) -> str:
    """Return the members of a schema as the start of a literal, such as `"type": "string", `."""
    if not isinstance(schema, dict):
        return ""
    if all(map(is_flat, schema.values())):
        shown = "".join(f"{_literal(key, is_python)}: {_literal(value, is_python)}, " for key, value in schema.items())
        if len(shown) <= _LONGEST_MEMBERS:
            return shown
    kind = schema.get("type")
    return f'"type": "{kind}", ' if isinstance(kind, str) and kind in (*_PYTHON_TYPES, "array", "object") else ""


def _literal(value: Any, is_python: bool) -> str:
    return python_value(value) if is_python else json.dumps(value, ensure_ascii=False)


def is_flat(value: Any) -> bool:
    """Whether a JSON value is a scalar, or has nothing but scalars in it: others are too long to show."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not any(isinstance(part, (dict, list)) for part in parts)


def python_value(value: Any) -> str:
    """Return a flat JSON value as Python, with double quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python_value(key)}: {python_value(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(python_value, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def has_format(schema: Any) -> bool:
    """Whether a schema, or a branch of it, names a format: its type in code is unknown."""
    branches = [schema, *_union(schema)] if isinstance(schema, dict) else []
    return any(isinstance(branch, dict) and "format" in branch for branch in branches)


def _values(schema: dict[str, Any]) -> list[Any]:
    """Return the values that an enumeration allows, if they are few and plain."""
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if not isinstance(listed, list) or not 0 < len(listed) <= _MOST_VALUES:
        return []
    is_short = sum(len(str(value)) for value in listed if is_flat(value)) <= _LONGEST_MEMBERS
    return listed if is_short and all(isinstance(value, str | int | bool) for value in listed) else []


def _union(schema: dict[str, Any]) -> list[Any]:
    """Return the branches of a union."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and len(kinds) <= len(_PYTHON_TYPES) + 2:
        return [{**schema, "type": kind} for kind in kinds if isinstance(kind, str)]
    branches = schema.get("anyOf", schema.get("oneOf"))
    return branches if isinstance(branches, list) and len(branches) <= _MOST_VALUES else []


_SIGNATURE = (MCP2, MCP1, FASTMCP)
_FIELD = "from typing import Annotated\nfrom pydantic import Field\n"
_MODEL = "from pydantic import BaseModel, ConfigDict\n"
_CLOSED = 'ArgModelBase.model_config["extra"] = "forbid"'
_IN_SIGNATURE = "in $signature"
_IN_SCHEMA = "in $schema"


class SnippetTemplate(NamedTuple):
    """What to write, and where."""

    rules: tuple[str, ...]
    frameworks: tuple[str, ...]
    place: str
    code: str
    nested: bool | None = None
    """Whether it is for nested objects only, or for the arguments themselves only; None for both."""


_described_parameter = partial(SnippetTemplate, ("prop-no-description", "MP002"))
_example = partial(SnippetTemplate, ("MP022",))
_type = partial(SnippetTemplate, ("SCH-003", "prop-no-type"))
_size = partial(SnippetTemplate, ("SCH-004",))
_required = partial(SnippetTemplate, ("SCH-001", "tool-no-required"))
_closed = partial(SnippetTemplate, ("SCH-002",))
_strict = partial(SnippetTemplate, ("SCH-002", "WIR-014"))
_described_tool = partial(SnippetTemplate, ("tool-no-description", "MP001"))
_described_prompt = partial(SnippetTemplate, ("prompt-no-description",))
_described_argument = partial(SnippetTemplate, ("prompt-arg-no-description",))
_described_resource = partial(SnippetTemplate, ("resource-no-description",))
_result = partial(SnippetTemplate, ("MP003",))
_version = partial(SnippetTemplate, ("server-no-version", "WIR-010"))

TEMPLATES = (
    _described_parameter(_SIGNATURE, _IN_SIGNATURE, f'{_FIELD}$name: Annotated[$type, Field(description="…")]$default'),
    _described_parameter(EITHER_LITERAL, _IN_SCHEMA, '"$name": {$members"description": "…"}'),
    _described_parameter((ZOD,), _IN_SCHEMA, '$name: $zod.describe("…")'),
    _example(
        _SIGNATURE, _IN_SIGNATURE, f'{_FIELD}$name: Annotated[$type, Field(description="…", examples=["…"])]$default'
    ),
    _example(EITHER_LITERAL, _IN_SCHEMA, '"$name": {$members"examples": ["…"]}'),
    _type(_SIGNATURE, _IN_SIGNATURE, "$name: $type$default"),
    _type(EITHER_LITERAL, _IN_SCHEMA, '"$name": {"type": "$json_type"}'),
    _type((ZOD,), _IN_SCHEMA, "$name: $zod"),
    _size(_SIGNATURE, _IN_SIGNATURE, f"{_FIELD}$name: $bounded$default"),
    _size(EITHER_LITERAL, _IN_SCHEMA, '"$name": {$members"$size_keyword": $size}'),
    _size((ZOD,), _IN_SCHEMA, "$name: $zod_bounded"),
    _required(_SIGNATURE, f"{_IN_SIGNATURE}, without a default if every call needs it", "$name: $required_type"),
    SnippetTemplate(("SCH-001", "tool-no-required", "MP004"), EITHER_LITERAL, _IN_SCHEMA, '"required": ["$name"]'),
    _required((ZOD,), f"{_IN_SCHEMA}, without .optional() if every call needs it", "$name: $required_zod"),
    # The SDK has no option for it: the base class of all argument models is changed before the first tool uses it.
    _closed(
        (MCP2,),
        "before the first tool",
        f"from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase\n{_CLOSED}",
        nested=False,
    ),
    _closed(
        (MCP1,),
        "before the first tool",
        f"from mcp.server.fastmcp.utilities.func_metadata import ArgModelBase\n{_CLOSED}",
        nested=False,
    ),
    _closed((FASTMCP,), "in the dependencies; since version 3, signatures are closed", "fastmcp>=3", False),
    _closed(
        _SIGNATURE,
        "in the model",
        f'{_MODEL}class $model(BaseModel):\n    model_config = ConfigDict(extra="forbid")',
        nested=True,
    ),
    _closed((LOW_LEVEL,), _IN_SCHEMA, '"additionalProperties": False'),
    _closed((LITERAL,), _IN_SCHEMA, '"additionalProperties": false'),
    _strict((ZOD,), "in registerTool of $tool", "inputSchema: z.object({ … }).strict()", False),
    _strict((ZOD,), _IN_SCHEMA, "z.object({ … }).strict()", nested=True),
    _described_tool(
        _SIGNATURE, "as the docstring of $tool", '"""What it does, when to use it, and what it returns."""'
    ),
    _described_tool((LOW_LEVEL,), "in the Tool(…) of $tool", 'description="…"'),
    _described_tool((ZOD,), "in registerTool of $tool", 'description: "…"'),
    _described_tool((LITERAL,), "in the list entry of $tool", 'description: "…"'),
    _described_prompt(_SIGNATURE, "as the docstring of $prompt", '"""What it is for."""'),
    _described_prompt((LOW_LEVEL,), "in the Prompt(…) of $prompt", 'description="…"'),
    _described_prompt((ZOD,), "in registerPrompt of $prompt", 'description: "…"'),
    _described_argument(
        _SIGNATURE, "in the signature of $prompt", f'{_FIELD}$name: Annotated[str, Field(description="…")]$default'
    ),
    _described_argument(
        (LOW_LEVEL,), "in the Prompt(…) of $prompt", 'PromptArgument(name="$name", description="…", required=$required)'
    ),
    _described_argument((ZOD,), "in the argsSchema of $prompt", '$name: z.string()$optional.describe("…")'),
    _described_resource(_SIGNATURE, "in the decorator of $resource", 'description="…"'),
    _described_resource((LOW_LEVEL,), "in the Resource(…) of $resource", 'description="…"'),
    _described_resource((ZOD,), "in registerResource of $resource", 'description: "…"'),
    SnippetTemplate(("resource-no-mimetype",), (ZOD,), "in registerResource of $resource", 'mimeType: "text/plain"'),
    _result(_SIGNATURE, "as the return type of $tool, for a structured result", "-> dict[str, str]"),
    _result((ZOD,), "in registerTool of $tool", "outputSchema: { … }"),
    _version((MCP2,), "in the constructor", 'MCPServer("$server", version="1.0.0")'),
    _version((FASTMCP,), "in the constructor", 'FastMCP("$server", version="1.0.0")'),
    _version((LOW_LEVEL,), "in the constructor", 'Server("$server", version="1.0.0")'),
    _version((ZOD, LITERAL), "in the constructor", '{ name: "$server", version: "1.0.0" }'),
)


OF_FRAMEWORKS = {
    ("SPEC-203", FASTMCP): ("`logging`", "fastmcp declares `logging` for every server"),
    ("WIR-031", MCP2): ("-32603 for a prompt", "MCPServer of mcp 2 returns -32603 for every unknown prompt"),
}
"""Findings that a framework causes, by rule and framework: words of their message, and what the framework does.

Each was seen on a server that does nothing of it itself: fastmcp 4.1.2, mcp 2.3.0.
"""


def templates_of(rule: str) -> list[SnippetTemplate]:
    """Return the templates for the findings of a rule."""
    return [template for template in TEMPLATES if rule in template.rules]
