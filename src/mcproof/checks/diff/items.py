"""Changes of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_document import kind_of
from mcproof.diff.change_wording import names_text, value_text
from mcproof.diff.changes import CatalogChange
from mcproof.diff.comparable_parts import comparable_tools
from mcproof.diff.containment import ContainmentBudget
from mcproof.diff.equality import changed_keys, same_json
from mcproof.diff.item_changes import annotations_of, member_changes, removal_doubt, text_changes
from mcproof.diff.item_matching import match_items
from mcproof.diff.schema_changes import compare_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.diff.schema_changes import Direction

_EMPTY_INPUT: dict[str, Any] = {"type": "object", "properties": {}}
"""The schema of a tool without an input schema."""
_HINT_DEFAULTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""The hints of a tool without annotations: the protocol assumes the worst."""
_COMPARED_MEMBERS = frozenset(
    {"name", "title", "description", "annotations", "execution", "inputSchema", "outputSchema"}
)


def tool_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    """Yield the changes of all tools."""
    matches = match_items(old.tools, new.tools, "name")
    budget = ContainmentBudget()
    for before, after in matches.new:
        if before is None:
            yield CatalogChange.of("tool-added", False, "was added", after)
        elif not same_json(before.raw, after.raw):
            yield from _changes_of_tool(before, after, budget)
    for tool in matches.removed:
        yield _removal(tool, new)


def _removal(tool: Tool, new: Catalog) -> CatalogChange:
    if new.has_more:
        doubt: str | None = "is not in the new catalog, whose list of tools is incomplete"
    else:
        doubt = removal_doubt(tool, new)
    if doubt is None and not tool.name:
        doubt = "was removed; it had no name to call it by"
    return CatalogChange.of("tool-removed", True if doubt is None else None, doubt or "was removed", tool, is_old=True)


def _changes_of_tool(old: Tool, new: Tool, budget: ContainmentBudget) -> Iterator[CatalogChange]:
    """Yield the changes of a tool, as far as both versions are known."""
    tools = comparable_tools(old, new)
    for change in _known_changes(tools.old, tools.new, budget):
        is_doubtful = change.breaking and change.pointer[1:].partition("/")[0] in tools.doubtful_members
        yield change._replace(item=old if change.is_old else new, breaking=None if is_doubtful else change.breaking)


def _known_changes(old: Tool, new: Tool, budget: ContainmentBudget) -> Iterator[CatalogChange]:
    if not old.is_object or not new.is_object:
        message = f"was {kind_of(old.raw)} and is {kind_of(new.raw)}"
        yield CatalogChange.of("constraint-changed", None, message, new)
        return
    yield from text_changes(old, new)
    yield from _annotation_changes(old, new)
    yield from _execution_changes(old, new)
    yield from _schema_changes(old, new, "input", budget)
    yield from _schema_changes(old, new, "output", budget)
    yield from member_changes(old, new, _COMPARED_MEMBERS)


def _annotation_changes(old: Tool, new: Tool) -> Iterator[CatalogChange]:
    """Yield changed hints. Losing a harmless one breaks callers: users approved the tool because of it."""
    before, after = _effective_hints(old), _effective_hints(new)
    annotations = annotations_of(new)
    for hint, default in _HINT_DEFAULTS.items():
        if before[hint] == after[hint]:
            continue
        kind, breaking = "annotation-changed", None if after[hint] == default else False
        if hint == "readOnlyHint" and not after[hint]:
            kind, breaking = "read-only-lost", True
        elif hint == "destructiveHint" and after[hint]:
            kind, breaking = "destructive-now", not after["readOnlyHint"]
        message = f"`{hint}` changed from {value_text(before[hint])} to {value_text(after[hint])}"
        if hint not in annotations:
            message += ", the default"
        pointer = f"/annotations/{hint}" if hint in annotations else new.pointer_to("annotations")
        yield CatalogChange.of(kind, breaking, message, new, pointer)
    changed = changed_keys(annotations_of(old), annotations)
    others = [key for key in changed if key not in _HINT_DEFAULTS and key != "title"]
    if others:
        message = f"{names_text(others)} of the annotations changed"
        yield CatalogChange.of("annotation-changed", None, message, new, new.pointer_to("annotations"))


def _effective_hints(tool: Tool) -> dict[str, bool]:
    hints = annotations_of(tool)
    return {
        hint: hints[hint] if isinstance(hints.get(hint), bool) else default for hint, default in _HINT_DEFAULTS.items()
    }


def _execution_changes(old: Tool, new: Tool) -> Iterator[CatalogChange]:
    """Compare `execution`. A tool that requires tasks rejects plain calls; `taskSupport` defaults to `forbidden`."""
    before, after = _execution(old), _execution(new)
    if same_json(before, after):
        return
    old_support, new_support = (each.get("taskSupport") if isinstance(each, dict) else None for each in (before, after))
    if new_support == "required" != old_support:
        message = "can be called only as a task now: `taskSupport` is `required`"
        yield CatalogChange.of("execution-changed", True, message, new, "/execution/taskSupport")
    else:
        yield CatalogChange.of("execution-changed", None, "`execution` changed", new, new.pointer_to("execution"))


def _execution(tool: Tool) -> Any:
    execution = tool.fields.get("execution", {})
    return {"taskSupport": "forbidden", **execution} if isinstance(execution, dict) else execution


def _schema_changes(old: Tool, new: Tool, direction: Direction, budget: ContainmentBudget) -> Iterator[CatalogChange]:
    key = f"{direction}Schema"
    before, after = old.fields.get(key), new.fields.get(key)
    if same_json(before, after):
        return
    if direction == "output" and before is None:
        yield CatalogChange.of("output-schema-added", False, "describes its result now", new, f"/{key}")
        return
    if direction == "output" and after is None:
        message = "does not describe its result any more"
        yield CatalogChange.of("output-schema-removed", True, message, old, f"/{key}", is_old=True)
        return
    before, after = (_EMPTY_INPUT if schema is None else {} if schema is True else schema for schema in (before, after))
    if not isinstance(before, dict) or not isinstance(after, dict):
        message = f"`{key}` was {kind_of(before)} and is {kind_of(after)}"
        yield CatalogChange.of("constraint-changed", None, message, new, new.pointer_to(key))
        return
    for found in compare_schemas(before, after, direction, budget):
        yield CatalogChange.of(
            found.kind,
            found.breaking,
            found.message,
            old if found.is_old else new,
            found.pointer if found.is_old or key in new.fields else "",
            is_old=found.is_old,
            parameter=found.parameter,
        )
