"""`spec` rules about tools: their names, titles, annotations and other members, and nulls anywhere.

Those about input and output schemas are in `schemas`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.spec.demand import ANNOTATED, DIALECTS, STRUCTURED, demand, item_demand, shown
from mcproof.checks.subjects import DatedCatalog, DatedItem
from mcproof.core.catalog.model import HINTS, ODD_HINT, ODD_MEMBER, ODD_NAME, TOOL_MEMBERS, Catalog, Kind, Tool
from mcproof.core.text.json_document import kind_of
from mcproof.core.text.json_positions import escape

ITEMS: tuple[Kind, ...] = ("tool", "resource", "template", "prompt")
_SUPPORT = ("forbidden", "optional", "required")
_OPTIONAL = {
    "tool": ("title", "description", "outputSchema", "annotations", "execution", "icons", "_meta"),
    "resource": ("title", "description", "mimeType", "size", "annotations", "icons", "_meta"),
    "template": ("title", "description", "mimeType", "annotations", "icons", "_meta"),
    "prompt": ("title", "description", "arguments", "icons", "_meta"),
}
_ADDED_TO_ALL = {"title": STRUCTURED, "_meta": STRUCTURED, "icons": DIALECTS}
_ADDED = {
    "tool": {"annotations": ANNOTATED, "outputSchema": STRUCTURED, **_ADDED_TO_ALL},
    **dict.fromkeys(("resource", "template", "prompt"), _ADDED_TO_ALL),
}
"""The members that a revision added. Many SDKs send `execution` in any revision, which harms nobody."""


_hint_demand = partial(item_demand, source="schema#ToolAnnotations", category="annotations", since=ANNOTATED)


@_hint_demand("SPEC-030", "annotation-type", "error", needs=(ODD_HINT,))
def annotation_type(dated: DatedItem) -> Iterator[Problem]:
    """A hint of a tool's annotations is not a boolean, or their title is not a string.

    Why: clients built on the TypeScript and Rust SDKs reject the whole list because of one such tool.
    Fix: write `true` or `false` without quotes; the title is a string.
    """
    hints = _annotations(dated)
    for key in HINTS:
        if hints.get(key) is not None and not isinstance(hints[key], bool):
            yield Problem(f"`{key}` is {kind_of(hints[key])}, not a boolean", f"/annotations/{key}")
    if hints.get("title") is not None and not isinstance(hints["title"], str):
        yield Problem(f"the title is {kind_of(hints['title'])}, not a string", "/annotations/title")


@_hint_demand("SPEC-031", "unknown-annotation", "note", needs=(ODD_HINT,))
def unknown_annotation(dated: DatedItem) -> Iterator[Problem]:
    """A tool's annotations have a member that the protocol does not define.

    Why: clients ignore it.
    Fix: correct the name of the hint, or move the member into `_meta`.
    """
    for key in _annotations(dated):
        if key not in HINTS and key != "title":
            yield Problem(f"the protocol defines no annotation {shown(key)}", f"/annotations/{escape(key)}")


@_hint_demand("SPEC-032", "contradicting-hints", "warning", needs=(ODD_HINT,))
def contradicting_hints(dated: DatedItem) -> Iterator[Problem]:
    """A tool is annotated as both read-only and destructive.

    Why: a destructive tool changes something. Clients that trust `readOnlyHint` do not ask the user before a call.
    Fix: remove the wrong hint.
    """
    hints = _annotations(dated)
    if hints.get("readOnlyHint") is True and hints.get("destructiveHint") is True:
        yield Problem("`readOnlyHint` and `destructiveHint` are both true", "/annotations")


@item_demand(
    "SPEC-034", "two-titles", "note", "schema#Tool", category="annotations", since=STRUCTURED, needs=(ODD_HINT,)
)
def two_titles(dated: DatedItem) -> Iterator[Problem]:
    """A tool has two different titles: `title` and `annotations.title`.

    Why: clients prefer `title`; older ones know only `annotations.title`, so users see different names.
    Fix: make them equal, or remove `annotations.title`.
    """
    title, other = dated.item.fields.get("title"), _annotations(dated).get("title")
    if isinstance(title, str) and isinstance(other, str) and title != other:
        yield Problem(f"`title` is {shown(title)}, `annotations.title` is {shown(other)}", "/annotations/title")


@item_demand(
    "SPEC-035",
    "empty-title",
    "note",
    "schema#BaseMetadata",
    category="naming",
    since=STRUCTURED,
    kinds=ITEMS,
    needs=(ODD_MEMBER,),
)
def empty_title(dated: DatedItem) -> Iterator[Problem]:
    """A title is empty.

    Why: clients show the title instead of the name, so users see nothing.
    Fix: write a title, or leave it out; clients then show the name.
    """
    title = dated.item.fields.get("title")
    if isinstance(title, str) and not title.strip():
        yield Problem("`title` is empty", "/title")


@item_demand(
    "SPEC-040", "null-member", "error", "schema#Tool", kinds=ITEMS, same_as="CAT-006", needs=(ODD_MEMBER, ODD_HINT)
)
def null_member(dated: DatedItem) -> Iterator[Problem]:
    """An optional member is null.

    Why: optional members may be left out, but not be null; clients built on the TypeScript SDK reject the whole list.
    Fix: leave the member out. In Python, serialize with `exclude_none=True`.
    """
    item = dated.item
    for key in _OPTIONAL[item.kind]:
        if key in item.fields and item.fields[key] is None:
            yield Problem(f"`{key}` is null", f"/{key}")
    if item.kind == "tool":
        hints = _annotations(dated)
        for key in ("title", *HINTS):
            if key in hints and hints[key] is None:
                yield Problem(f"`{key}` is null", f"/annotations/{key}")


@item_demand("SPEC-041", "task-support", "note", "schema@2025-11-25#ToolExecution", since=DIALECTS, needs=(ODD_MEMBER,))
def task_support(dated: DatedItem) -> Iterator[Problem]:
    """`execution.taskSupport` has an invalid value, or one that revision 2026-07-28 does not have any more.

    Why: clients ignore it, or refuse the tool.
    Fix: use `forbidden`, `optional` or `required`; leave `execution` out from revision 2026-07-28 on.
    """
    execution = dated.item.fields.get("execution")
    if execution is None:
        return  # SPEC-040 reports a member that is null
    if not isinstance(execution, dict):
        yield Problem(f"`execution` is {kind_of(execution)}, not an object", "/execution")
        return
    support = execution.get("taskSupport", "forbidden")
    if support not in _SUPPORT:
        what = shown(support) if isinstance(support, str) else kind_of(support)
        yield Problem(f"`taskSupport` is {what}, not one of {', '.join(_SUPPORT)}", "/execution/taskSupport")
    elif dated.revision > DIALECTS and support != "forbidden":
        yield Problem(f"`taskSupport` is `{support}`, which this revision does not have", "/execution/taskSupport")


@demand(Catalog, "SPEC-042", "task-capability", "note", "tools#tool", since=DIALECTS, until=DIALECTS)
def task_capability(catalog: Catalog) -> Iterator[Problem]:
    """A tool supports tasks, but the server does not declare that it does.

    Why: clients ignore `taskSupport` without the capability `tasks.requests.tools.call`.
    Fix: declare the capability, or leave `execution` out.
    """
    support: Any = catalog.capabilities
    for key in ("tasks", "requests", "tools", "call"):
        support = support.get(key) if isinstance(support, dict) else None
    if catalog.capabilities is None or support is not None:
        return
    for tool in catalog.tools:
        execution = tool.fields.get("execution")
        support = execution.get("taskSupport") if isinstance(execution, dict) else None
        if support in ("optional", "required"):
            message = f"`taskSupport` is `{support}`, but the server does not declare `tasks.requests.tools.call`"
            yield Problem(message, "/execution/taskSupport", item=tool)


@item_demand("SPEC-043", "unknown-member", "note", "schema#Tool", needs=(ODD_MEMBER,))
def unknown_member(dated: DatedItem) -> Iterator[Problem]:
    """A tool has a member that no revision defines.

    Why: clients ignore it; a mistyped name loses its value without a word.
    Fix: correct the name, or move the member into `_meta`.
    """
    for key in dated.item.fields:
        if key not in TOOL_MEMBERS:
            yield Problem(f"a tool has no member {shown(key)}", f"/{escape(key)}")


@demand(DatedCatalog, "SPEC-044", "later-member", "note", "schema#Tool", until=DIALECTS)
def later_member(dated: DatedCatalog) -> Iterator[Problem]:
    """Items have a member that a later revision added.

    Why: clients of the negotiated revision ignore it.
    Fix: none is needed if newer clients get it too; do not rely on it in older ones.
    """
    catalog, (revision, _) = dated
    for items in (catalog.tools, catalog.resources, catalog.templates, catalog.prompts):
        for key, since in _ADDED[items[0].kind].items() if items else ():
            if revision >= since:
                continue
            having = [item for item in items if key in item.fields]
            if having:
                count = f"{len(having)} of {len(items)} {having[0].list_key}"
                message = f"{count} have `{key}`, which revision {since} added; the server speaks {revision}"
                evidence = {"member": key, "count": len(having)}
                yield Problem(message, near=f"{having[0].pointer}/{key}", evidence=evidence)


def _annotations(dated: DatedItem) -> dict[str, Any]:
    annotations = dated.item.fields.get("annotations")
    return annotations if isinstance(annotations, dict) else {}


LONGEST_NAME = 128
_UNUSUAL = r"[^A-Za-z0-9_.-]"
_SDK_NAMES = "https://github.com/modelcontextprotocol/python-sdk/blob/main/src/mcp/shared/tool_name_validation.py"


@item_demand("SPEC-001", "tool-required-member", "error", "schema#Tool", needs=(ODD_MEMBER,))
def required_member(dated: DatedItem) -> Iterator[Problem]:
    """A tool has no `name`, a name that is not a string, or no `inputSchema`.

    Why: both are required; clients that validate the list reject all of it, with every other tool.
    Fix: give the tool a name and an `inputSchema`; without parameters, `{"type": "object", "properties": {}}`.
    """
    item = dated.item
    if not item.is_object:
        return  # CAT-001 reports a tool that is no object
    if "name" not in item.fields:
        yield Problem("has no `name`", same_as="CAT-002")
    elif not isinstance(item.fields["name"], str):
        yield Problem(f"`name` is {kind_of(item.fields['name'])}, not a string", "/name", same_as="CAT-002")
    if "inputSchema" not in item.fields:
        yield Problem("has no `inputSchema`", same_as="tool-no-schema")


@item_demand(
    "SPEC-002",
    "tool-name-format",
    "warning",
    "tools#tool-names",
    category="naming",
    since=DIALECTS,
    same_as="tool-name-convention",
    needs=(ODD_NAME,),
)
def name_format(dated: DatedItem) -> Iterator[Problem]:
    """A tool's name is empty, longer than 128 characters, or has other characters than letters, digits, `_`, `-`, `.`.

    Why: clients use names in identifiers and prefixes; other characters are replaced or refused.
    Fix: use 1 to 128 ASCII letters, digits, underscores, hyphens and dots.
    """
    name = dated.item.fields.get("name")
    if not isinstance(name, str):
        return
    if not name:
        yield Problem("the name is empty", "/name")
    elif (odd := re.search(_UNUSUAL, name)) is not None:
        yield Problem(f"the name has the character {odd[0]!r}; use letters, digits, `_`, `-` and `.`", "/name")
    elif len(name) > LONGEST_NAME:
        yield Problem(f"the name has {len(name):,} characters; at most {LONGEST_NAME} are recommended", "/name")


@demand(
    Catalog,
    "SPEC-003",
    "tool-name-unique",
    "warning",
    "tools#tool",
    category="naming",
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


@item_demand("SPEC-004", "tool-name-ends", "note", _SDK_NAMES, category="naming", needs=(ODD_NAME,))
def name_ends(dated: DatedItem) -> Iterator[Problem]:
    """A tool's name starts or ends with `-` or `.`.

    The specification allows it; the Python SDK warns about it.

    Why: shells and clients that build longer names from it misread it.
    Fix: start and end the name with a letter or a digit.
    """
    name = dated.item.name
    if name and (name[0] in "-." or name[-1] in "-."):
        yield Problem(f"the name {'starts' if name[0] in '-.' else 'ends'} with `-` or `.`", "/name")
