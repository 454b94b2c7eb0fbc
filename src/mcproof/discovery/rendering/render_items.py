"""Every item that the servers of a project serve, rendered within a budget."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mcproof.discovery.document.assembly import LISTS, Registration, RenderedItem
from mcproof.discovery.document.omissions import NO_END, NO_NAME
from mcproof.discovery.frameworks.served_items import served_items
from mcproof.discovery.interp.values import BudgetExceededError
from mcproof.discovery.rendering import item_locations
from mcproof.discovery.rendering.json_writer import JsonWriter
from mcproof.discovery.rendering.render_prompt_resource import render_prompt, render_resource
from mcproof.discovery.rendering.render_tool import render_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import SourceTool
    from mcproof.discovery.frameworks.mcp_domain import McpDomain
    from mcproof.discovery.frameworks.served_items import ServedItem
    from mcproof.discovery.rendering.kept_renderings import KeptRenderings

MOST_WORK = 600_000
"""How many steps rendering may take in all."""
MOST_WORK_ON_ONE = 50_000
"""How many steps rendering may take for one item."""


def render_items(
    domain: McpDomain, only: str | None, partial: set[str], kept: KeptRenderings | None = None
) -> Iterator[RenderedItem]:
    """Render what is served; with `only`, what is defined in that file. `partial` collects the incomplete lists.

    `kept` has earlier renderings, for callers that discover the same source after every edit.
    """
    run = domain.run
    default = _default_framework(domain)
    entries = served_items(domain, partial)
    most = run.budget.work + MOST_WORK
    if kept is not None:
        kept.begin(run.modules)
    per_node = Counter(id(entry.item.node) for entry in entries)
    for entry in entries:
        if only is not None and not _is_in(entry, only):
            continue
        framework = entry.server.framework or default
        writer = JsonWriter(run)
        run.budget.allow(min(MOST_WORK_ON_ONE, most - run.budget.work))
        rendered = _render(domain, entry, framework, writer, kept)
        if rendered is None:
            partial.add(LISTS[entry.item.kind])
            continue
        if per_node[id(entry.item.node)] > 1:
            item_locations.use_own_location(entry.item, writer)
        kind, raw, tool = rendered
        yield RenderedItem(
            kind=kind,
            raw=raw,
            tool=tool,
            is_conditional=entry.doubtful,
            registration=_registration(entry, kind, framework),
            locations=writer.locations,
            lines=item_locations.lines(entry.item),
            continued=item_locations.continued(entry.item),
        )
    if kept is not None:
        kept.end(run.modules)


def _registration(entry: ServedItem, kind: str, framework: str) -> Registration:
    module, node = entry.registered_at
    return Registration(
        server=id(entry.root),
        owner=id(entry.server),
        origin=id(entry.item.exposed_function.node if entry.item.exposed_function is not None else entry.item.node),
        is_any_server=entry.root.is_given,
        may_repeat=framework == "lowlevel",
        keeps_last=entry.server.keeps_last(kind, framework),
        location=(module.file, getattr(node, "lineno", None)) if module is not None else None,
    )


def _is_in(entry: ServedItem, file: str) -> bool:
    """Whether an item, or the function that it is made from, is in a file."""
    function = entry.item.exposed_function
    modules = (entry.item.module, function.module if function is not None else None)
    return any(module.path == file for module in modules if module is not None)


def _default_framework(domain: McpDomain) -> str:
    """The framework of a server that stands for a parameter: that of the project's other servers."""
    return next((each.framework for each in domain.servers if each.framework in ("mcp", "mcp1", "fastmcp")), "mcp")


def _render(
    domain: McpDomain, entry: ServedItem, framework: str, writer: JsonWriter, kept: KeptRenderings | None
) -> tuple[str, dict[str, Any], SourceTool | None] | None:
    """Kind, JSON and source facts of an item; None if it is omitted."""
    if kept is None:
        return _render_anew(domain, entry, framework, writer)
    budget, traits = domain.run.budget, domain.traits(entry.server, framework)
    known = kept.find(entry, framework, traits, budget.limit - budget.steps)
    if known is not None:
        budget.steps += known.work
        writer.locations = known.locations
        return entry.item.kind, known.raw, known.tool
    work, omitted = budget.work, len(domain.omissions)
    made = _render_anew(domain, entry, framework, writer)
    if made is not None and len(domain.omissions) == omitted:
        kept.keep(entry, framework, traits, (made[1], made[2], writer.locations), budget.work - work)
    return made


def _render_anew(
    domain: McpDomain, entry: ServedItem, framework: str, writer: JsonWriter
) -> tuple[str, dict[str, Any], SourceTool | None] | None:
    kind = entry.item.kind
    traits = domain.traits(entry.server, framework)
    made: tuple[str, dict[str, Any], SourceTool | None] | None
    try:
        if kind == "tools":
            tool = render_tool(domain.run, entry, framework, traits, writer)
            made = None if tool is None else (kind, *tool)
        elif kind == "prompts":
            raw = render_prompt(domain.run, entry.item, framework, traits, entry.prefix, writer)
            made = None if raw is None else (kind, raw, None)
        else:
            resource = render_resource(entry.item, framework, entry.prefix, writer)
            made = None if resource is None else (*resource, None)
    except (BudgetExceededError, RecursionError):
        domain.omit(NO_END, *entry.registered_at)
        return None
    if made is None:
        domain.omit(NO_NAME[kind], *entry.registered_at)
    return made


def server_numbers(domain: McpDomain) -> dict[int, int]:
    """A number for each server, by identity; zero for a server that may be the same as another."""
    made = [each for each in domain.servers if not (each.is_given or each.mounted) and (each.items or each.mounts)]
    numbers = dict.fromkeys(map(id, domain.servers), 0)
    if len(made) > 1:
        numbers.update((id(each), number) for number, each in enumerate(made, 1))
    return numbers
