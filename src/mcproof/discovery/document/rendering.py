"""The document: what each server would serve, and where each part of it is written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog.model import CONDITIONAL, SourceTool
from mcproof.discovery.document import item_locations
from mcproof.discovery.document.json_writer import Writer
from mcproof.discovery.document.omissions import NO_END, NO_NAME, TOO_MANY
from mcproof.discovery.document.render_prompt_resource import prompt, resource
from mcproof.discovery.document.render_tool import rendered_tool
from mcproof.discovery.frameworks.served_items import KEYS, MOST_SERVED, Entry, entries_of
from mcproof.discovery.frameworks.servers import Item, ServerValue, introduction
from mcproof.discovery.interp.values import TooMuchError

if TYPE_CHECKING:
    from mcproof.discovery.document.node_locations import Place
    from mcproof.discovery.frameworks.registrations import Servers
    from mcproof.discovery.interp.interpreter import Interpreter

MOST_WORK = 600_000
MOST_WORK_ON_ONE = 50_000
"""How many steps it may take to write everything down, and one item of it."""


class Rendered(NamedTuple):
    """A document under way."""

    document: dict[str, Any]
    places: dict[str, Place]
    tools: list[SourceTool]
    lines: dict[str, tuple[tuple[str, int], ...]]
    files: list[str]
    partial: set[str]
    """The lists that may lack something."""
    continued: dict[str, dict[tuple[str, int], int]]


class Served(NamedTuple):
    """One item as it is served, with what the source tells of it."""

    kind: str
    raw: dict[str, Any]
    tool: SourceTool | None
    writer: Writer
    entry: Entry


def render(run: Interpreter, servers: Servers, only: str | None = None, *, as_one: bool = False) -> Rendered:
    """Write down everything that was registered; with `only`, what is written in that file.

    Each server has a name once, and with `as_one`, where all of them make one catalog, each name is there once.
    """
    partial: set[str] = set(KEYS.values()) if servers.is_partial else set()
    document: dict[str, Any] = {"tools": [], "resources": [], "resourceTemplates": [], "prompts": []}
    rendered = Rendered(document, {}, [], {}, [], partial, {})
    files: dict[str, None] = {}
    served = _served(run, servers, only, partial, as_one=as_one)
    numbers = _numbers(servers)
    for kind, raw, tool, writer, entry in served:
        if entry.doubtful:
            raw["_meta"] = {**raw.get("_meta", {}), CONDITIONAL: True}
        listed_items = document[KEYS[kind]]
        if len(listed_items) >= MOST_SERVED:
            partial.update(KEYS.values())
            run.omissions.note(TOO_MANY, *entry.place)
            break
        pointer = f"/{KEYS[kind]}/{len(listed_items)}"
        listed_items.append(raw)
        rendered.lines[pointer] = item_locations.lines(entry.item)
        if continued := item_locations.continued(entry.item):
            rendered.continued[pointer] = continued
        if tool is not None:
            rendered.tools.append(tool._replace(server=numbers[id(entry.root)]))
        for below, place in writer.places.items():
            rendered.places[f"{pointer}{below}"] = place
            files.setdefault(place.file)
    rendered.files.extend(sorted(files))
    if any(document.values()) and (said := introduction(servers.made, servers.announced)):
        return rendered._replace(document={"initialize": said, **document})
    return rendered


def _served(run: Interpreter, servers: Servers, only: str | None, partial: set[str], *, as_one: bool) -> list[Served]:
    """Every item that is served, in the order in which its name was registered first."""
    default = _default_framework(servers)
    served: list[Served] = []
    namesakes: dict[tuple[str, str], list[int]] = {}
    origins: set[tuple[str, str, int]] = set()
    entries = entries_of(run, servers, partial)
    most = run.work + MOST_WORK
    made_by = Counter(id(entry.item.node) for entry in entries)
    for entry in entries:
        if only is not None and not _is_in(entry.item, only):
            continue
        framework = entry.server.framework or default
        writer = Writer(run)
        run.allow(min(MOST_WORK_ON_ONE, most - run.work))
        made = _rendered(run, entry, framework, writer)
        if made is None:
            partial.add(KEYS[entry.item.kind])
            continue
        if made_by[id(entry.item.node)] > 1:
            item_locations.tell_apart(entry.item, writer)
        each = Served(*made, writer, entry)
        key = each.kind, str(each.raw.get("uri") or each.raw.get("uriTemplate") or each.raw.get("name"))
        others = namesakes.setdefault(key, [])
        at = next((index for index in others if served[index].entry.root is entry.root), None)
        is_new = (*key, entry.origin) not in origins
        origins.add((*key, entry.origin))
        if at is None:
            is_ours = is_new and not any(
                as_one or _may_be_one(served[index].entry.root, entry.root) for index in others
            )
        else:  # a list that names something twice does so itself
            is_ours = framework == "lowlevel" and served[at].entry.server is entry.server
        if is_ours:
            others.append(len(served))
            served.append(each)
        elif at is not None and served[at].entry.server is entry.server:
            served[at] = _kept(served[at], each, entry.server.keeps_last(each.kind, framework))
    return served


def _numbers(servers: Servers) -> dict[int, int]:
    """A number for each server, by its identity: those that may be one with any other are one."""
    made = [each for each in servers.made if not each.is_given and not each.mounted and (each.items or each.mounts)]
    numbers = dict.fromkeys(map(id, servers.made), 0)
    if len(made) > 1:
        numbers.update((id(each), number) for number, each in enumerate(made, 1))
    return numbers


def _may_be_one(server: ServerValue, other: ServerValue) -> bool:
    """Whether two servers may be one: a parameter can stand for any of them."""
    return server.is_given or other.is_given


def _kept(first: Served, last: Served, keeps_last: bool | None) -> Served:
    """Which of two items of one name is served; where nobody knows, one of them, unknown in what tells them apart."""
    winner, other = (last, first) if keeps_last else (first, last)
    if keeps_last is not None and not winner.entry.doubtful:
        return winner
    differing = {f"/{key}" for key in first.raw.keys() | last.raw.keys() if first.raw.get(key) != last.raw.get(key)}
    entry = winner.entry._replace(doubtful=first.entry.doubtful and last.entry.doubtful)
    if winner.tool is None or other.tool is None:
        return winner._replace(entry=entry)
    unknown = winner.tool.unknown | other.tool.unknown | differing
    explicit = winner.tool.schema_is_explicit and other.tool.schema_is_explicit
    return winner._replace(entry=entry, tool=SourceTool(explicit, winner.tool.required_by_signature, unknown))


def _is_in(item: Item, file: str) -> bool:
    """Whether an item, or the function that it is made of, stands in a file."""
    modules = [item.module, item.function.face().module if item.function is not None else None]
    return any(module.path == file for module in modules if module is not None)


def _default_framework(servers: Servers) -> str:
    """The framework of a server that only stands for a parameter: that of the project's others."""
    known = [each.framework for each in servers.made if each.framework in ("mcp", "mcp1", "fastmcp")]
    return known[0] if known else "mcp"


def _rendered(run: Interpreter, entry: Entry, framework: str, writer: Writer) -> tuple[str, dict[str, Any], Any] | None:
    """One item as JSON: its kind, itself, and for a tool what only the source knows; None where that is left out."""
    kind = entry.item.kind
    made: tuple[str, dict[str, Any], Any] | None
    try:
        if kind == "tools":
            tool = rendered_tool(run, entry, framework, writer)
            made = None if tool is None else (kind, *tool)
        elif kind == "prompts":
            raw = prompt(run, entry.item, framework, entry.prefix, writer)
            made = None if raw is None else (kind, raw, None)
        else:
            served = resource(entry.item, framework, entry.prefix, writer)
            made = None if served is None else (*served, None)
    except (TooMuchError, RecursionError):
        run.omissions.note(NO_END, *entry.place)
        return None
    if made is None:
        run.omissions.note(NO_NAME[kind], *entry.place)
    return made
