"""`spec` rules about the names of tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.core.catalog.tool_marks import ODD_NAME, ODD_ROOT
from mcproof.core.text.json_document import kind_of
from mcproof.linting.finding import Problem
from mcproof.rules.spec.demands import DIALECTS, demand, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.linting.judged_items import JudgedItem

LONGEST_NAME = 128
_UNUSUAL = r"[^A-Za-z0-9_.-]"
_SDK_NAMES = "https://github.com/modelcontextprotocol/python-sdk/blob/main/src/mcp/shared/tool_name_validation.py"


@demand(
    "SPEC-001",
    name="tool-required-member",
    severity="error",
    category="protocol",
    source="schema#Tool",
    marks=(ODD_NAME, ODD_ROOT),
)
def required_member(judged: JudgedItem) -> Iterator[Problem]:
    """A tool has no `name`, a name that is not a string, or no `inputSchema`.

    Why: both are required; clients that validate the list reject all of it, with every other tool.
    Fix: give the tool a name and an `inputSchema`; without parameters, `{"type": "object", "properties": {}}`.
    """
    item = judged.item
    if not item.is_object:
        return  # CAT-001
    if "name" not in item.fields:
        yield Problem("has no `name`", same_as="CAT-002")
    elif not isinstance(item.fields["name"], str):
        yield Problem(f"`name` is {kind_of(item.fields['name'])}, not a string", "/name", same_as="CAT-002")
    if "inputSchema" not in item.fields:
        yield Problem("has no `inputSchema`", same_as="tool-no-schema")


@demand(
    "SPEC-002",
    name="tool-name-format",
    severity="warning",
    category="naming",
    source="tools#tool-names",
    since=DIALECTS,
    marks=(ODD_NAME,),
    same_as="tool-name-convention",
)
def name_format(judged: JudgedItem) -> Iterator[Problem]:
    """A tool's name is empty, longer than 128 characters, or has other characters than letters, digits, `_`, `-`, `.`.

    Why: clients use names in identifiers and prefixes; other characters are replaced or refused.
    Fix: use 1 to 128 ASCII letters, digits, underscores, hyphens and dots.
    """
    name = judged.item.fields.get("name")
    if not isinstance(name, str):
        return
    if not name:
        yield Problem("the name is empty", "/name")
    elif (odd := re.search(_UNUSUAL, name)) is not None:
        yield Problem(f"the name has the character {odd[0]!r}; use letters, digits, `_`, `-` and `.`", "/name")
    elif len(name) > LONGEST_NAME:
        yield Problem(f"the name has {len(name):,} characters; at most {LONGEST_NAME} are recommended", "/name")


@demand(
    "SPEC-003",
    name="tool-name-unique",
    severity="warning",
    category="naming",
    source="tools#tool",
    same_as="server-duplicate-tools",
)
def name_unique(catalog: Catalog) -> Iterator[Problem]:
    """Two or more tools have the same name.

    Why: the name identifies a tool; only one of them can be called.
    Fix: give every tool a unique name.
    """
    first: dict[str, Tool] = {}
    repeated: dict[str, Tool] = {}
    for tool in catalog.tools:
        if tool.name and first.setdefault(tool.name, tool) is not tool:
            repeated.setdefault(tool.name, tool)
    if repeated:
        names = ", ".join(map(shown, [*repeated][:3])) + (f" and {len(repeated) - 3} more" if len(repeated) > 3 else "")
        yield Problem(f"several tools are named {names}", near=f"{next(iter(repeated.values())).pointer}/name")


@demand(
    "SPEC-004",
    name="tool-name-ends",
    severity="note",
    category="naming",
    source=_SDK_NAMES,
    marks=(ODD_NAME,),
)
def name_ends(judged: JudgedItem) -> Iterator[Problem]:
    """A tool's name starts or ends with `-` or `.`.

    The specification allows it; the Python SDK warns about it.

    Why: shells and clients that build longer names from it misread it.
    Fix: start and end the name with a letter or a digit.
    """
    name = judged.item.name
    if name and (name[0] in "-." or name[-1] in "-."):
        yield Problem(f"the name {'starts' if name[0] in '-.' else 'ends'} with `-` or `.`", "/name")
