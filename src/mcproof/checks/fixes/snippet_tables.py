"""The snippets: for each rule and framework, where to write something and what. Plain data.

`$name` is a parameter or argument, `$type` its Python type, `$bounded` the same with a size limit, `$default` its
default; `$zod` and `$zod_bounded` are the same for zod, and `$members` the members of its schema. `$signature` and
`$schema` declare it. `$tool`, `$prompt` and `$resource` are the item, `$model` is the class of a nested object, and
`$server` the server.
"""

from __future__ import annotations

from typing import NamedTuple

from mcproof.linting.code_help.framework_guess import FASTMCP, LITERAL, LOW_LEVEL, MCP1, MCP2, ZOD

_SIGNATURE = (MCP2, MCP1, FASTMCP)
_EITHER_LITERAL = (LOW_LEVEL, LITERAL)
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


TEMPLATES = (
    # Descriptions of parameters.
    SnippetTemplate(
        ("prop-no-description", "MP002"),
        _SIGNATURE,
        _IN_SIGNATURE,
        f'{_FIELD}$name: Annotated[$type, Field(description="…")]$default',
    ),
    SnippetTemplate(
        ("prop-no-description", "MP002"), _EITHER_LITERAL, _IN_SCHEMA, '"$name": {$members"description": "…"}'
    ),
    SnippetTemplate(("prop-no-description", "MP002"), (ZOD,), _IN_SCHEMA, '$name: $zod.describe("…")'),
    SnippetTemplate(
        ("MP022",),
        _SIGNATURE,
        _IN_SIGNATURE,
        f'{_FIELD}$name: Annotated[$type, Field(description="…", examples=["…"])]$default',
    ),
    SnippetTemplate(("MP022",), _EITHER_LITERAL, _IN_SCHEMA, '"$name": {$members"examples": ["…"]}'),
    # Types and sizes of parameters.
    SnippetTemplate(("SCH-003", "prop-no-type"), _SIGNATURE, _IN_SIGNATURE, "$name: str"),
    SnippetTemplate(("SCH-003", "prop-no-type"), _EITHER_LITERAL, _IN_SCHEMA, '"$name": {"type": "string"}'),
    SnippetTemplate(("SCH-003", "prop-no-type"), (ZOD,), _IN_SCHEMA, "$name: z.string()"),
    SnippetTemplate(("SCH-004",), _SIGNATURE, _IN_SIGNATURE, f"{_FIELD}$name: $bounded$default"),
    SnippetTemplate(("SCH-004",), _EITHER_LITERAL, _IN_SCHEMA, '"$name": {$members"$size_keyword": $size}'),
    SnippetTemplate(("SCH-004",), (ZOD,), _IN_SCHEMA, "$name: $zod_bounded"),
    # Required parameters.
    SnippetTemplate(
        ("SCH-001", "tool-no-required"),
        _SIGNATURE,
        f"{_IN_SIGNATURE}, without a default if every call needs it",
        "$name: $required_type",
    ),
    SnippetTemplate(("SCH-001", "tool-no-required", "MP004"), _EITHER_LITERAL, _IN_SCHEMA, '"required": ["$name"]'),
    SnippetTemplate(
        ("SCH-001", "tool-no-required"),
        (ZOD,),
        f"{_IN_SCHEMA}, without .optional() if every call needs it",
        "$name: $required_zod",
    ),
    # Closed objects.
    SnippetTemplate(
        ("SCH-002",),
        (MCP2,),
        "before the first tool",
        f"from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase\n{_CLOSED}",
        nested=False,
    ),
    SnippetTemplate(
        ("SCH-002",),
        (MCP1,),
        "before the first tool",
        f"from mcp.server.fastmcp.utilities.func_metadata import ArgModelBase\n{_CLOSED}",
        nested=False,
    ),
    SnippetTemplate(
        ("SCH-002",), (FASTMCP,), "in the dependencies; since version 3, signatures are closed", "fastmcp>=3", False
    ),
    SnippetTemplate(
        ("SCH-002",),
        _SIGNATURE,
        "in the model",
        f'{_MODEL}class $model(BaseModel):\n    model_config = ConfigDict(extra="forbid")',
        nested=True,
    ),
    SnippetTemplate(("SCH-002",), (LOW_LEVEL,), _IN_SCHEMA, '"additionalProperties": False'),
    SnippetTemplate(("SCH-002",), (LITERAL,), _IN_SCHEMA, '"additionalProperties": false'),
    SnippetTemplate(
        ("SCH-002", "WIR-014"), (ZOD,), "in registerTool of $tool", "inputSchema: z.object({ … }).strict()", False
    ),
    SnippetTemplate(("SCH-002", "WIR-014"), (ZOD,), _IN_SCHEMA, "z.object({ … }).strict()", nested=True),
    # Descriptions of items.
    SnippetTemplate(
        ("tool-no-description", "MP001"),
        _SIGNATURE,
        "as the docstring of $tool",
        '"""What it does, when to use it, and what it returns."""',
    ),
    SnippetTemplate(("tool-no-description", "MP001"), (LOW_LEVEL,), "in the Tool(…) of $tool", 'description="…"'),
    SnippetTemplate(("tool-no-description", "MP001"), (ZOD,), "in registerTool of $tool", 'description: "…"'),
    SnippetTemplate(("tool-no-description", "MP001"), (LITERAL,), "in the list entry of $tool", 'description: "…"'),
    SnippetTemplate(("prompt-no-description",), _SIGNATURE, "as the docstring of $prompt", '"""What it is for."""'),
    SnippetTemplate(("prompt-no-description",), (LOW_LEVEL,), "in the Prompt(…) of $prompt", 'description="…"'),
    SnippetTemplate(("prompt-no-description",), (ZOD,), "in registerPrompt of $prompt", 'description: "…"'),
    SnippetTemplate(
        ("prompt-arg-no-description",),
        _SIGNATURE,
        "in the signature of $prompt",
        f'{_FIELD}$name: Annotated[str, Field(description="…")]$default',
    ),
    SnippetTemplate(
        ("prompt-arg-no-description",),
        (LOW_LEVEL,),
        "in the Prompt(…) of $prompt",
        'PromptArgument(name="$name", description="…", required=$required)',
    ),
    SnippetTemplate(
        ("prompt-arg-no-description",),
        (ZOD,),
        "in the argsSchema of $prompt",
        '$name: z.string()$optional.describe("…")',
    ),
    SnippetTemplate(("resource-no-description",), _SIGNATURE, "in the decorator of $resource", 'description="…"'),
    SnippetTemplate(("resource-no-description",), (LOW_LEVEL,), "in the Resource(…) of $resource", 'description="…"'),
    SnippetTemplate(("resource-no-description",), (ZOD,), "in registerResource of $resource", 'description: "…"'),
    SnippetTemplate(("resource-no-mimetype",), (ZOD,), "in registerResource of $resource", 'mimeType: "text/plain"'),
    # Results and the server.
    SnippetTemplate(
        ("MP003",), _SIGNATURE, "as the return type of $tool, for a structured result", "-> dict[str, str]"
    ),
    SnippetTemplate(("MP003",), (ZOD,), "in registerTool of $tool", "outputSchema: { … }"),
    SnippetTemplate(
        ("server-no-version", "WIR-010"), (MCP2,), "in the constructor", 'MCPServer("$server", version="1.0.0")'
    ),
    SnippetTemplate(
        ("server-no-version", "WIR-010"), (FASTMCP,), "in the constructor", 'FastMCP("$server", version="1.0.0")'
    ),
    SnippetTemplate(
        ("server-no-version", "WIR-010"), (LOW_LEVEL,), "in the constructor", 'Server("$server", version="1.0.0")'
    ),
    SnippetTemplate(
        ("server-no-version", "WIR-010"),
        (ZOD, LITERAL),
        "in the constructor",
        '{ name: "$server", version: "1.0.0" }',
    ),
)


def templates_of(rule: str) -> list[SnippetTemplate]:
    """Return the templates for the findings of a rule."""
    return [each for each in TEMPLATES if rule in each.rules]
