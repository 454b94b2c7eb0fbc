"""The changes between two catalogs, item by item: server, tools, resources, templates, prompts.

Items are matched by the identifiers that callers use, so a renamed item is removed and added. Changes are in the
order of the new catalog; removed items follow in the old order. Within a tool: texts, annotations, execution, input
schema, output schema, other members. Changes inside schemas are found in `schemas`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mcproof.checks.diff.changes import (
    CatalogChange,
    ChangeKind,
    comparable_tools,
    is_conditional,
    match_items,
    may_be_incomplete,
    names_text,
    served_members,
    text_change,
    value_text,
)
from mcproof.checks.diff.containment import ContainmentBudget
from mcproof.checks.diff.documents import changed_keys, same_json
from mcproof.checks.diff.schemas import Direction, compare_schemas
from mcproof.checks.findings import CHANGE_SEVERITIES, ReportedFinding, RuleSummary, Snippet, identity_of, level_of
from mcproof.checks.reporting import FindingLocation, SourceLines, find_spans, locate, snippet_at
from mcproof.core.catalog.model import Catalog, Item, Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.json_document import kind_of
from mcproof.core.text.json_positions import Span, escape

_HARMLESS_MEMBERS = frozenset({"_meta", "icons", "annotations", "size", "name"})
"""Members that do not affect how an item is used."""


def as_text(value: Any) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def annotations_of(item: Item) -> dict[str, Any]:
    """The annotations of an item; empty if absent or malformed."""
    annotations = item.fields.get("annotations")
    return annotations if isinstance(annotations, dict) else {}


def removal_doubt(item: Item, new: Catalog) -> str | None:
    """Why it is unknown whether a missing item was removed; None if it was."""
    if may_be_incomplete(new, item.list_key):
        return "is not in the new catalog, whose source code was only partly analysed"
    if is_conditional(item):
        return "was removed; it was only served under a condition"
    return None


def text_changes(old: Item, new: Item) -> Iterator[CatalogChange]:
    """Yield changes of title and description."""
    for key in ("title", "description"):
        before, after = (as_text(item.fields.get(key)) for item in (old, new))
        if key == "title":
            before, after = (
                before or as_text(annotations_of(old).get(key)),
                after or as_text(annotations_of(new).get(key)),
            )
        if before != after:
            yield CatalogChange.of(f"{key}-changed", False, text_change(key, before, after), new, new.pointer_to(key))


def member_changes(old: Item, new: Item, compared: frozenset[str]) -> Iterator[CatalogChange]:
    """Yield changes of all other members: one for the harmless ones, one for those of unknown effect."""
    changed = [key for key in changed_keys(served_members(old), served_members(new)) if key not in compared]
    for keys, breaking in (
        ([key for key in changed if key in _HARMLESS_MEMBERS], False),
        ([key for key in changed if key not in _HARMLESS_MEMBERS], None),
    ):
        if keys:
            pointer = f"/{escape(keys[0])}" if keys[0] in new.fields else ""
            yield CatalogChange.of("metadata-changed", breaking, f"{names_text(keys)} changed", new, pointer)


_RESOURCE_MEMBERS = frozenset({"uri", "uriTemplate", "title", "description", "mimeType"})
_PROMPT_MEMBERS = frozenset({"name", "title", "description", "arguments"})


def _other_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    """Yield the changes of all resources, resource templates and prompts."""
    # A bare list of tools says nothing about other items.
    if old.server.fields and new.server.fields:
        yield from _list_changes(new, "resource", "uri", old.resources, new.resources, _changes_of_resource)
        yield from _list_changes(new, "template", "uriTemplate", old.templates, new.templates, _changes_of_resource)
        yield from _list_changes(new, "prompt", "name", old.prompts, new.prompts, _changes_of_prompt)


def _list_changes(
    catalog: Catalog,
    noun: str,
    key: str,
    old: Sequence[Item],
    new: Sequence[Item],
    compare: Callable[[Item, Item], Iterator[CatalogChange]],
) -> Iterator[CatalogChange]:
    """Yield the changes of a list of items; `catalog` is the new one."""
    matches = match_items(old, new, key)
    for before, after in matches.new:
        if before is None:
            yield CatalogChange.of(f"{noun}-added", False, "was added", after)
        elif not same_json(before.raw, after.raw):
            yield from text_changes(before, after)
            yield from compare(before, after)
    for item in matches.removed:
        doubt = removal_doubt(item, catalog)
        if doubt is None and not isinstance(catalog.server.fields.get(item.list_key), list):
            doubt = f"is missing: the new catalog has no `{item.list_key}`"
        breaking = True if doubt is None else None
        yield CatalogChange.of(f"{noun}-removed", breaking, doubt or "was removed", item, is_old=True)


def _changes_of_resource(old: Item, new: Item) -> Iterator[CatalogChange]:
    before, after = (as_text(item.fields.get("mimeType")) for item in (old, new))
    if before != after:
        # A first type breaks nobody; without a type, the content may still be the same.
        breaking = (True if after else None) if before else False
        message = text_change("type", before, after)
        yield CatalogChange.of("mime-type-changed", breaking, message, new, new.pointer_to("mimeType"))
    yield from member_changes(old, new, _RESOURCE_MEMBERS)


class _PromptArgument(NamedTuple):
    """An argument of a prompt, and its pointer relative to the prompt."""

    fields: dict[str, Any]
    pointer: str

    @property
    def is_required(self) -> bool:
        return self.fields.get("required") is True


def _changes_of_prompt(old: Item, new: Item) -> Iterator[CatalogChange]:
    before, after = _arguments(old), _arguments(new)
    for name, argument in after.items():
        yield from _changes_of_argument(name, before.get(name), argument, new)
    for name, argument in before.items():
        if name not in after:
            message, at = f"`{name}` was removed", argument.pointer
            yield CatalogChange.of("prompt-argument-removed", True, message, old, at, is_old=True, parameter=name)
    yield from member_changes(old, new, _PROMPT_MEMBERS)


def _changes_of_argument(
    name: str, old: _PromptArgument | None, new: _PromptArgument, prompt: Item
) -> Iterator[CatalogChange]:
    is_required = new.is_required
    if old is None:
        kind = "prompt-argument-required" if is_required else "prompt-argument-added"
        message = f"`{name}` was added" + (", and is required" if is_required else "")
        yield CatalogChange.of(kind, is_required, message, prompt, new.pointer, parameter=name)
        return
    if old.is_required != is_required:
        state = "required" if is_required else "optional"
        message = f"`{name}` became {state}"
        yield CatalogChange.of(f"prompt-argument-{state}", is_required, message, prompt, new.pointer, parameter=name)
    others = [key for key in changed_keys(old.fields, new.fields) if key != "required"]
    if others:
        message = f"{names_text(others)} of `{name}` changed"
        yield CatalogChange.of("description-changed", False, message, prompt, new.pointer, parameter=name)


def _arguments(prompt: Item) -> dict[str, _PromptArgument]:
    """The arguments of a prompt; of several with the same name, the first."""
    arguments = prompt.fields.get("arguments")
    by_name: dict[str, _PromptArgument] = {}
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if isinstance(argument, dict) and isinstance(argument.get("name"), str):
            by_name.setdefault(argument["name"], _PromptArgument(argument, f"/arguments/{index}"))
    return by_name


def _server_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    """Yield the changes of the server: its name and version, instructions, protocol revision and capabilities."""
    pointer = new.server_info_pointer.removeprefix(new.server.pointer)
    for key in ("name", "version"):
        if not (old.knows_server_info(key) and new.knows_server_info(key)):
            continue
        before, after = (as_text(catalog.server_info.get(key)) for catalog in (old, new))
        if before != after:
            pointer_to = f"{pointer}/{key}" if key in new.server_info else pointer
            message = text_change(key, before, after)
            yield CatalogChange.of(f"server-{key}-changed", False, message, new.server, pointer_to)
    (before, _), (after, pointer) = instructions_in(old), instructions_in(new)
    is_known = all(catalog.describes_server or text for catalog, text in ((old, before), (new, after)))
    if is_known and before != after:
        message = text_change("text of the instructions", before, after)
        yield CatalogChange.of("instructions-changed", False, message, new.server, pointer)
    if old.protocol and new.protocol and old.protocol != new.protocol:
        result = new.server.fields.get("initialize")
        is_written = isinstance(result, dict) and "protocolVersion" in result
        message = text_change("protocol revision", old.protocol, new.protocol)
        pointer_to = "/initialize/protocolVersion" if is_written else ""
        yield CatalogChange.of("protocol-changed", None, message, new.server, pointer_to)
    # A lock has no capabilities, which is not the same as none.
    if all(catalog.describes_server and _states_capabilities(catalog) for catalog in (old, new)):
        offered_before, offered = _capabilities(old), _capabilities(new)
        for name, pointer_to in offered.items():
            if name not in offered_before:
                yield CatalogChange.of("capability-added", False, f"offers `{name}` now", new.server, pointer_to)
        for name, pointer_to in offered_before.items():
            if name not in offered:
                message = f"does not offer `{name}` any more"
                yield CatalogChange.of("capability-removed", None, message, old.server, pointer_to, is_old=True)


def instructions_in(catalog: Catalog) -> tuple[str, str]:
    """The instructions of a server and their pointer; both empty if it has none."""
    for era in ("initialize", "discover"):
        result = catalog.server.fields.get(era)
        if isinstance(result, dict) and (text := as_text(result.get("instructions"))):
            return text, f"/{era}/instructions"
    return "", ""


def _states_capabilities(catalog: Catalog) -> bool:
    results = [catalog.server.fields.get(era) for era in ("initialize", "discover")]
    return any(isinstance(result, dict) and "capabilities" in result for result in results)


def _capabilities(catalog: Catalog) -> dict[str, str]:
    """The capabilities of a server, as `tools` or `resources.subscribe`, with their pointers."""
    capabilities: dict[str, str] = {}
    for era in ("initialize", "discover"):
        result = catalog.server.fields.get(era)
        offered = result.get("capabilities") if isinstance(result, dict) else None
        for name, details in (offered if isinstance(offered, dict) else {}).items():
            if details is None or details is False:  # `null` and `false` offer nothing
                continue
            pointer = f"/{era}/capabilities/{escape(name)}"
            capabilities.setdefault(name, pointer)
            for detail, value in (details if isinstance(details, dict) else {}).items():
                if value is not None and value is not False:
                    capabilities.setdefault(f"{name}.{detail}", f"{pointer}/{escape(detail)}")
    return capabilities


_EMPTY_INPUT: dict[str, Any] = {"type": "object", "properties": {}}
"""The schema of a tool without an input schema."""
_HINT_DEFAULTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""The hints of a tool without annotations: the protocol assumes the worst."""
_COMPARED_MEMBERS = frozenset(
    {"name", "title", "description", "annotations", "execution", "inputSchema", "outputSchema"}
)


def _tool_changes(old: Catalog, new: Catalog) -> Iterator[CatalogChange]:
    """Yield the changes of all tools, as far as both versions of a tool are known."""
    matches = match_items(old.tools, new.tools, "name")
    budget = ContainmentBudget()
    for before, after in matches.new:
        if before is None:
            yield CatalogChange.of("tool-added", False, "was added", after)
        elif not same_json(before.raw, after.raw):
            tools = comparable_tools(before, after)
            for change in _changes_of_tool(tools.old, tools.new, budget):
                is_doubtful = change.breaking and change.pointer[1:].partition("/")[0] in tools.doubtful_members
                breaking = None if is_doubtful else change.breaking
                yield change._replace(item=before if change.is_old else after, breaking=breaking)
    for tool in matches.removed:
        doubt = removal_doubt(tool, new)
        if new.has_more:
            doubt = "is not in the new catalog, whose list of tools is incomplete"
        elif doubt is None and not tool.name:
            doubt = "was removed; it had no name to call it by"
        breaking = True if doubt is None else None
        yield CatalogChange.of("tool-removed", breaking, doubt or "was removed", tool, is_old=True)


def _changes_of_tool(old: Tool, new: Tool, budget: ContainmentBudget) -> Iterator[CatalogChange]:
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
        # Defaults are the worst case: a hint that falls back to one may take back a promise, any other makes one.
        kind, breaking = "annotation-changed", None if after[hint] == default else False
        if hint == "readOnlyHint" and not after[hint]:
            kind, breaking = "read-only-lost", True
        elif hint == "destructiveHint" and after[hint]:
            # The protocol gives this hint a meaning only for tools that are not read-only.
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
    executions = [
        {"taskSupport": "forbidden", **execution} if isinstance(execution, dict) else execution
        for execution in (tool.fields.get("execution", {}) for tool in (old, new))
    ]
    if same_json(*executions):
        return
    before, after = (execution.get("taskSupport") if isinstance(execution, dict) else None for execution in executions)
    if after == "required" != before:
        message = "can be called only as a task now: `taskSupport` is `required`"
        yield CatalogChange.of("execution-changed", True, message, new, "/execution/taskSupport")
    else:
        yield CatalogChange.of("execution-changed", None, "`execution` changed", new, new.pointer_to("execution"))


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
    for change in compare_schemas(before, after, direction, budget):
        kind, breaking, message, pointer, is_old, parameter = change
        item, at = (old if is_old else new), pointer if is_old or key in new.fields else ""
        yield CatalogChange.of(kind, breaking, message, item, at, is_old=is_old, parameter=parameter)


def compare_catalogs(old: Catalog, new: Catalog) -> list[CatalogChange]:
    """Return the changes between two catalogs.

    Every member of an item is compared, unless it is malformed in both catalogs. Of the server, its name and version,
    instructions, protocol revision and capabilities are compared. If a catalog is a bare list of tools, only tools are
    compared.
    """
    return [*_server_changes(old, new), *_tool_changes(old, new), *_other_changes(old, new)]


def report_changes(old: Catalog, new: Catalog, changes: list[CatalogChange]) -> list[ReportedFinding]:
    """Return every change with its location: in the new catalog, or in the old one for removed items."""
    findings: dict[int, ReportedFinding] = {}
    lines = SourceLines()
    # A position costs a pass over the text, so all of a document are computed at once:
    # docs/decisions/0016-positions-on-demand.md.
    for catalog in (old, new):
        indexes = [index for index, change in enumerate(changes) if change.is_old == (catalog is old)]
        spans = find_spans(catalog.document, [_document_pointer(changes[index]) for index in indexes])
        anchors = sorted({span.anchor for span in spans})
        positions = dict(zip(anchors, catalog.document.positions(anchors), strict=True))
        for index, span in zip(indexes, spans, strict=True):
            findings[index] = _finding(changes[index], catalog, span, *positions[span.anchor], lines)
    seen: Counter[tuple[str, ...]] = Counter()
    reported = []
    for index, change in enumerate(changes):
        key = (change.kind.id, change.item.kind, change.item.given_name, change.pointer)
        # Twins get a number, so that each has an identity: docs/decisions/0006-finding-identity.md.
        reported.append(findings[index]._replace(fingerprint=identity_of(*key, str(seen[key]))))
        seen[key] += 1
    return reported


def _document_pointer(change: CatalogChange) -> str:
    if not change.pointer and change.item.name:
        return f"{change.item.pointer}/name"
    return change.item.pointer + change.pointer


def _finding(
    change: CatalogChange, catalog: Catalog, span: Span, line: int, column: int, lines: SourceLines
) -> ReportedFinding:
    """A change at its location: in the document, in source, or at the endpoint of a live server."""
    item, origin = change.item, catalog.origin
    snippet = snippet_at(catalog.document, column, span)
    shown: Snippet | None = snippet
    place = FindingLocation(catalog.name, line, column, column + max(1, snippet.end - snippet.start))
    if catalog.source is not None:
        place = locate(catalog, _document_pointer(change))
        shown = lines.snippet(place)
    elif origin is not None:
        place = FindingLocation(origin.file, origin.line, None, None)
    return ReportedFinding(
        rule=kind_facts(change.kind, change.breaking),
        item=item.subject,
        item_pointer=item.pointer,
        subject=f"parameter:{change.parameter}" if change.parameter is not None else item.subject,
        pointer=change.pointer,
        message=change.message,
        evidence=None,
        file=place.file,
        line=place.line,
        column=place.column,
        fix=None,
        end_column=place.end_column,
        snippet=shown,
    )


def kind_facts(kind: ChangeKind, breaking: bool | None) -> RuleSummary:
    """Return a kind of change in the shape of a rule, with the severity of this change."""
    severity = CHANGE_SEVERITIES[breaking]
    return RuleSummary(
        id=kind.id,
        name=kind.id,
        ruleset="diff",
        category="change",
        severity=severity,
        level=level_of(severity),
        fault=None,
        fixable=False,
        needs_language_model=False,
        since=kind.since,
        summary=kind.summary,
        why=kind.why,
        fix=kind.advice,
    )
