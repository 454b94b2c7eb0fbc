"""The catalog document, in any language: items in order, locations, and what could not be followed.

Rendered items are assembled into one document without duplicate names. Omissions keep the place and the reason of
everything that is missing, so that it is reported and not mistaken for absent.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcproof.core.catalog.model import CONDITIONAL, SourceMap, SourceTool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import SourceLocation, SourceProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


MOST_REPORTED = 3
"""How many locations are reported for one reason; if there are more, only the first and their number."""


class OmissionReason(NamedTuple):
    """Why something is not checked."""

    of_one: str
    of_many: str
    """The message for several locations, reported at the first; `{}` is their number."""


NO_NAME = {
    kind: OmissionReason(
        f"the {identity} of a {noun} is not known statically, so it is not checked",
        f"the {identity}s of {{}} {noun}s are not known statically, so they are not checked; this is the first",
    )
    for kind, noun, identity in (
        ("tools", "tool", "name"),
        ("resources", "resource", "URI"),
        ("templates", "resource template", "URI"),
        ("prompts", "prompt", "name"),
    )
}
OPEN_LIST = OmissionReason(
    "the contents of this list are not known statically, so some of it may not be checked",
    "the contents of {} lists are not known statically, so some of it may not be checked; this is the first",
)
NO_PREFIX = OmissionReason(
    "the prefix of a mounted server is not known statically, so nothing that it serves is checked",
    "the prefixes of {} mounted servers are not known statically, so nothing that they serve is checked; "
    "this is the first",
)
LIST_CHANGED = OmissionReason(
    "this code may change the list of tools, so clients may see other tools than the checked ones",
    "{} places may change the list of tools, so clients may see other tools than the checked ones; this is the first",
)
NO_END = OmissionReason(
    "this code takes too long to follow, so not all that it serves may be checked",
    "{} places take too long to follow, so not all that they serve may be checked; this is the first",
)
TOO_MANY = OmissionReason(
    "this code does too much to follow, so not all that it serves is checked",
    "{} places do too much to follow, so not all that they serve is checked; this is the first",
)


class Omissions:
    """The omissions so far, by reason; each location counts once."""

    def __init__(self) -> None:
        self._lines: dict[OmissionReason, dict[tuple[str, int | None], None]] = {}

    def note(self, reason: OmissionReason, file: str, line: int | None) -> None:
        """Record an omission at a line."""
        self._lines.setdefault(reason, {})[file, line] = None

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def reported(self) -> list[SourceProblem]:
        """The omissions to report."""
        problems = []
        for reason, lines in self._lines.items():
            if len(lines) <= MOST_REPORTED:
                problems += [SourceProblem(file, line, None, reason.of_one) for file, line in lines]
            else:
                file, line = next(iter(lines))
                problems.append(SourceProblem(file, line, None, reason.of_many.format(f"{len(lines):,}")))
        return problems


MOST_SERVED = 20_000
"""How many items of one kind a document may have."""
LISTS = {"tools": "tools", "resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}
"""The list of the document for each kind of item."""


class Registration(NamedTuple):
    """Where an item is registered, and how that decides between items with the same name."""

    server: int
    """The server that serves it."""
    owner: int
    """The server that it is registered on: that one or a part of it."""
    origin: int
    """The function, or else the call, that it is made from."""
    is_any_server: bool
    """Whether `server` stands for a parameter that may be any other server."""
    may_repeat: bool
    """Whether its server serves all items with the same name."""
    keeps_last: bool | None
    """Whether a later item with the same name replaces it; None if unknown."""
    location: tuple[str, int | None] | None
    """File and line of the registration."""


class RenderedItem(NamedTuple):
    """One item as a server would serve it."""

    kind: str
    raw: dict[str, Any]
    tool: SourceTool | None
    is_conditional: bool
    registration: Registration
    locations: Mapping[str, SourceLocation]
    """Where its parts are in the source, by JSON pointer."""
    lines: tuple[tuple[str, int], ...]
    """The lines that register it."""
    continuation_lines: dict[tuple[str, int], int]
    """The first line of each parameter, docstring or argument, by its further lines."""

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it for clients: kind and name or address."""
        return self.kind, str(self.raw.get("uri") or self.raw.get("uriTemplate") or self.raw.get("name"))


def assemble(
    items: Iterable[RenderedItem],
    info: dict[str, Any],
    numbers: Mapping[int, int],
    omissions: Omissions,
    incomplete_lists: set[str],
    problems: Iterable[SourceProblem],
    target: str,
) -> SourceMap:
    """The catalog of items without duplicates.

    `info` is its `initialize` entry, `numbers` the number of each server; `incomplete_lists` collects incomplete lists.
    """
    document: dict[str, Any] = {name: [] for name in ("tools", "resources", "resourceTemplates", "prompts")}
    locations: dict[str, SourceLocation] = {}
    lines: dict[str, tuple[tuple[str, int], ...]] = {}
    continuation_lines: dict[str, dict[tuple[str, int], int]] = {}
    tools: list[SourceTool] = []
    for item in items:
        siblings = document[LISTS[item.kind]]
        if len(siblings) >= MOST_SERVED:
            incomplete_lists.update(LISTS.values())
            if item.registration.location is not None:
                omissions.note(TOO_MANY, *item.registration.location)
            break
        pointer = f"/{LISTS[item.kind]}/{len(siblings)}"
        if item.is_conditional:
            item.raw["_meta"] = {**item.raw.get("_meta", {}), CONDITIONAL: True}
        siblings.append(item.raw)
        lines[pointer] = item.lines
        if item.continuation_lines:
            continuation_lines[pointer] = item.continuation_lines
        if item.tool is not None:
            tools.append(item.tool._replace(server=numbers[item.registration.server]))
        locations.update((f"{pointer}{below}", location) for below, location in item.locations.items())
    return SourceMap(
        target=target,
        document={"initialize": info, **document} if info and any(document.values()) else document,
        locations=locations,
        tools=tools,
        lines=lines,
        comments={},
        problems=sorted(set(problems), key=lambda problem: (problem.file, problem.line or 0)),
        files=sorted({location.file for location in locations.values()}),
        incomplete_lists=frozenset(incomplete_lists),
        continuation_lines=continuation_lines,
        omissions=omissions.reported(),
    )


def without_duplicates(items: Iterable[RenderedItem], *, as_one: bool) -> list[RenderedItem]:
    """The items that are served, in the order in which their names were registered first.

    Names are unique per server; with `as_one`, all servers make one catalog, in which names are unique.
    """
    distinct: list[RenderedItem] = []
    same_name: dict[tuple[str, str], list[int]] = {}
    origins: set[tuple[str, str, int]] = set()
    for item in items:
        here = item.registration
        others = same_name.setdefault(item.key, [])
        at = next((index for index in others if distinct[index].registration.server == here.server), None)
        # a factory that is called twice registers the same function on two servers, which users see as one
        is_new = (*item.key, here.origin) not in origins
        origins.add((*item.key, here.origin))
        if at is None:
            may_be_same = (here.is_any_server or distinct[index].registration.is_any_server for index in others)
            is_kept = is_new and not (any(may_be_same) or (as_one and others))
        else:
            is_kept = here.may_repeat and distinct[at].registration.owner == here.owner
        if is_kept:
            others.append(len(distinct))
            distinct.append(item)
        elif at is not None and distinct[at].registration.owner == here.owner:
            distinct[at] = _either(distinct[at], item)
    return distinct


def _either(first: RenderedItem, last: RenderedItem) -> RenderedItem:
    """The one of two items with the same name that is served; their differences are unknown if that is unknown."""
    keeps_last = last.registration.keeps_last
    winner, other = (last, first) if keeps_last else (first, last)
    if keeps_last is not None and not winner.is_conditional:
        return winner
    winner = winner._replace(is_conditional=first.is_conditional and last.is_conditional)
    if winner.tool is None or other.tool is None:
        return winner
    # either may be served, so a rule must not judge what they do not agree on: docs/decisions/0025-unknown-is-silent.md
    differing = {f"/{key}" for key in first.raw.keys() | last.raw.keys() if first.raw.get(key) != last.raw.get(key)}
    tool = SourceTool(
        schema_is_explicit=winner.tool.schema_is_explicit and other.tool.schema_is_explicit,
        required_by_signature=winner.tool.required_by_signature,
        unknown=winner.tool.unknown | other.tool.unknown | differing,
        framework=winner.tool.framework,
    )
    return winner._replace(tool=tool)


class ServerGroup(NamedTuple):
    """One server of the source, with all values that stand for it."""

    servers: list[Any]
    """The values, in the types of the language's reader."""
    items: list[RenderedItem]
    location: tuple[str, int]
    """File and line of the call that creates it."""


def nearest_group(groups: list[ServerGroup], file: str) -> ServerGroup:
    """The server whose file has the longest path in common with a file; the first of several."""
    path = os.path.abspath(file)
    return max(groups, key=lambda group: len(os.path.commonpath([os.path.abspath(group.location[0]), path])))


def group_names(target: str, groups: list[ServerGroup]) -> list[str]:
    """A name for each server of a folder: the highest folder with no other server in it, else its file.

    The same name as a target leads to the same server.
    """
    if len(groups) == 1:
        return [target]
    files = [group.location[0] for group in groups]
    names = []
    for number, (file, line) in enumerate(group.location for group in groups):
        others = [os.path.abspath(path) for index, path in enumerate(files) if index != number]
        name = _highest_alone(target, file, others)
        names.append(f"{file}:{line}" if name is None else name)
    return [os.path.normpath(name) for name in names]


def _highest_alone(target: str, file: str, others: list[str]) -> str | None:
    """The highest folder below a target, or the file itself, without any of the others; None if there is none."""
    top = os.path.abspath(target)
    parts = os.path.relpath(os.path.abspath(file), top).split(os.sep)
    for count in range(1, len(parts) + 1):
        path = os.path.join(top, *parts[:count])
        if not any(other == path or other.startswith(path + os.sep) for other in others):
            return os.path.join(target, *parts[:count])
    return None
