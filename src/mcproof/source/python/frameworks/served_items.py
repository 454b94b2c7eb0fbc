"""The items that the servers of a project serve: registered, mounted, listed by a handler, hidden or changed.

Switches such as `mcp.disable(tags=...)` and namespaces have known effects. Middleware of the project may do
anything: then every tool is conditional, and the parts that its code mentions are unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.source.document import LIST_CHANGED, LISTS, NO_PREFIX, OPEN_LIST, TOO_MANY
from mcproof.source.framework_tables import LISTING_METHODS, PROTOCOL_TYPES
from mcproof.source.python.frameworks.servers import ListHandler, RegisteredItem, ServerValue, is_incomplete, listed
from mcproof.source.python.interp.calls import call_function
from mcproof.source.python.interp.containers import OPEN, STEPS_OF_ONE_ROOT, doubtful_positions, extent_of
from mcproof.source.python.interp.operators import items_of, unwrapped
from mcproof.source.python.interp.values import (
    UNKNOWN,
    BudgetExceededError,
    Call,
    Class,
    ExternalCall,
    Function,
    Instance,
)

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from mcproof.source.python.frameworks.domain import McpDomain
    from mcproof.source.python.interp.modules import Module


_KINDS = {"tools": "tool", "resources": "resource", "prompts": "prompt", "templates": "template"}
_CRITERIA = ("names", "keys", "tags", "components", "version")


class Switch(NamedTuple):
    """Shows or hides all items that meet its criteria; the last matching switch wins."""

    shows: bool
    criteria: dict[str, Any]
    """The criteria by name; without any, nothing matches."""
    means_all: bool
    doubtful: bool


def switches_of_call(name: str, call: Call, *, doubtful: bool) -> list[Switch]:
    """The switches of `server.enable(…)` or `server.disable(…)`."""
    criteria = {key: call.kwargs[key] for key in _CRITERIA if call.kwargs.get(key) is not None}
    if not call.complete:
        criteria["version"] = UNKNOWN
    only = call.kwargs.get("only", False)
    switches = [Switch(name == "enable", criteria, False, doubtful)]
    if name == "enable" and only is not False:
        switches.insert(0, Switch(False, {}, True, doubtful or only is not True))
    return switches


def switches_of_constructor(kwargs: dict[str, Any], *, doubtful: bool) -> list[Switch]:
    """The switches of `FastMCP(include_tags=…, exclude_tags=…)`."""
    switches = []
    included, excluded = kwargs.get("include_tags"), kwargs.get("exclude_tags")
    if included is not None:
        may_be_none = doubtful or included is UNKNOWN
        switches += [Switch(False, {}, True, may_be_none), Switch(True, {"tags": included}, False, may_be_none)]
    if excluded is not None:
        switches.append(Switch(False, {"tags": excluded}, False, doubtful))
    return switches


def is_shown(item: RegisteredItem, name: Any, switches: Iterable[Switch]) -> bool | None:
    """Whether an item is served under this name; None if unknown."""
    shown: bool | None = True
    for switch in switches:
        met = switch.means_all or _meets(item, name, switch.criteria)
        if met and not switch.doubtful:
            shown = switch.shows
        elif met is not False and shown is not switch.shows:
            shown = None
    return shown


def _meets(item: RegisteredItem, name: Any, criteria: dict[str, Any]) -> bool | None:
    """Whether an item meets all criteria; None if unknown."""
    kind = _KINDS[item.kind]
    answers: list[bool | None] = []
    for criterion, wanted in criteria.items():
        if criterion == "version":
            answers.append(None)
        elif criterion == "tags":
            answers.append(_any_among(items_of(item.given.get("tags") or []), wanted))
        elif criterion == "names":
            answers.append(_any_among([name, item.given["uri"]] if "uri" in item.given else [name], wanted))
        else:
            answers.append(_any_among([kind if criterion == "components" else f"{kind}:{name}@"], wanted))
    if not answers or False in answers:
        return False
    return None if None in answers else True


def _any_among(values: list[Any] | None, wanted: Any) -> bool | None:
    """Whether one of some values is among the wanted ones; None if unknown."""
    among = items_of(wanted)
    if values is None or among is None:
        return None
    doubtful = doubtful_positions(wanted)
    certain = [unwrapped(entry) for index, entry in enumerate(among) if index not in doubtful]
    possible = [unwrapped(among[index]) for index in doubtful]
    values = [unwrapped(value) for value in values]
    if any(isinstance(value, str) and value in certain for value in values):
        return True
    is_open = extent_of(wanted) is OPEN or any(not isinstance(value, str) for value in [*values, *certain])
    return None if is_open or any(value in possible for value in values) else False


MOST_SERVED = 20_000
DEEPEST_MOUNT = 8


class ServedItem(NamedTuple):
    """An item and how it is served."""

    item: RegisteredItem
    server: ServerValue
    """The server that it is registered on."""
    root: ServerValue
    """The server that serves it: that one, or one that it is part of."""
    prefix: str
    doubtful: bool

    @property
    def registered_at(self) -> tuple[Module | None, ast.AST | None]:
        """The module and the node of the registration, or else of the function."""
        item, function = self.item, self.item.exposed_function
        if function is None or (item.module is not None and item.node is not None):
            return item.module, item.node
        return function.module, function.node


def served_items(domain: McpDomain, incomplete_lists: set[str]) -> list[ServedItem]:
    """Every item of every server, in order; `incomplete_lists` collects the lists that may be incomplete."""
    for server in list(domain.servers):
        for handler in server.handlers:
            if not _run_list_handler(domain, server, handler):
                incomplete_lists.add(LISTS[handler.kind])
                domain.omit(OPEN_LIST, handler.function.module, handler.function.node)
    # items of one server, even if it is created in several ways, are only as conditional as that server
    serving = {id(server.node) for server in domain.servers if server.items and not server.is_given}
    if len(serving) > 1:
        for item in (item for server in domain.servers for item in server.items):
            item.doubtful = item.doubtful or item.under_condition
    collector = _Collector(domain, incomplete_lists)
    domain.run.budget.allow(2 * MOST_SERVED)
    for server in domain.servers:
        if not server.mounted:
            try:
                collector.add(server, "", [], doubtful=False)
            except BudgetExceededError:  # servers that contain each other many times
                collector.omit_everything(TOO_MANY, server.module, server.node)
    return collector.found


class _Collector:
    """Collects the items of servers and of the servers that are mounted on them."""

    def __init__(self, domain: McpDomain, incomplete_lists: set[str]) -> None:
        self.found: list[ServedItem] = []
        self._domain = domain
        self._incomplete_lists = incomplete_lists

    def omit_everything(self, reason: Any, module: Module | None, node: ast.AST | None) -> None:
        """Record an omission that may concern every list."""
        self._incomplete_lists.update(LISTS.values())
        self._domain.omit(reason, module, node)

    def add(self, server: ServerValue, prefix: str, above: list[tuple[str, ServerValue]], *, doubtful: bool) -> None:
        """Add the items of a server; `above` are the servers that it is part of, with their prefixes.

        Each of those shows and hides items by the names that it serves them under.
        """
        budget, changes = self._domain.run.budget, server.changes
        if len(self.found) >= MOST_SERVED or len(above) > DEEPEST_MOUNT:
            self.omit_everything(TOO_MANY, server.module, server.node)
            return
        budget.step()
        prefix += "".join(f"{namespace}_" for namespace in reversed(changes.namespaces))
        levels = [*above, (prefix, server)]
        for call in server.open_at:
            self.omit_everything(OPEN_LIST, call.module, call.node)
        if changes.changed_at is not None:
            self._incomplete_lists.add(LISTS["tools"])
            self._domain.omit(LIST_CHANGED, *changes.changed_at)
            doubtful = True
        switches = sum(len(level.changes.switches) for _, level in levels)
        for item in server.items:
            budget.step()
            budget.charge(switches)
            shown = [
                is_shown(item, _name_in(item, prefix.removeprefix(outer)), level.changes.switches)
                for outer, level in levels
                if level.changes.switches
            ]
            if False not in shown:
                is_doubtful = doubtful or item.doubtful or None in shown
                self.found.append(ServedItem(item, server, levels[0][1], prefix, is_doubtful))
        for mount in server.mounts:
            given = unwrapped(mount.prefix)
            if given is not None and not isinstance(given, str):
                self.omit_everything(NO_PREFIX, mount.call.module, mount.call.node)
                continue
            inner = f"{prefix}{given}_" if given else prefix
            self.add(mount.server, inner, levels, doubtful=doubtful or mount.doubtful)


def _name_in(item: RegisteredItem, prefix: str) -> Any:
    """The name of an item with this prefix."""
    name = unwrapped(item.name)
    return f"{prefix}{name}" if isinstance(name, str) else UNKNOWN


def _run_list_handler(domain: McpDomain, server: ServerValue, handler: ListHandler) -> bool:
    """Add the items that a list handler returns; whether those are all of them."""
    run = domain.run
    run.budget.allow(STEPS_OF_ONE_ROOT)
    run.reset()
    before = len(domain.protocol_items)
    is_whole = False
    items: list[Any] | None = None
    in_doubt: set[int] = set()
    try:
        value = call_function(run, handler.function, Call([], {}))
        items, in_doubt = listed(value)
        is_whole = items is not None and not is_incomplete(value)
    except (BudgetExceededError, RecursionError):
        pass
    # without a result: what the handler created while it was followed, else everything of its kind, as conditional
    from_elsewhere = False
    if not items and not is_whole:
        items = [item for item in domain.protocol_items[before:] if PROTOCOL_TYPES[item.func.last] == handler.kind]
        from_elsewhere = not items
        if from_elsewhere:
            items = [item for item in domain.protocol_items if PROTOCOL_TYPES[item.func.last] == handler.kind]
    for index, entry in enumerate(items or ()):
        item = _listed_item(handler.kind, entry)
        if item is None:
            is_whole = False
            continue
        item.doubtful = handler.doubtful or index in in_doubt
        if isinstance(entry, ExternalCall):
            item.doubtful = item.doubtful or from_elsewhere or domain.is_doubtful(entry)
        server.items.append(item)
    return is_whole


def _listed_item(kind: str, value: Any) -> RegisteredItem | None:
    """The item that an entry of a handler's list describes; None if it is unknown."""
    if isinstance(value, ExternalCall):
        given = {**dict(zip(("name",), value.args, strict=False)), **value.kwargs}
        return RegisteredItem(kind, given, node=value.node, module=value.module, complete=value.complete)
    if isinstance(value, Instance):
        return RegisteredItem(kind, dict(value.attributes), node=value.node, module=value.cls.module)
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        given = {str(key): item for key, item in value.items()}
        return RegisteredItem(kind, given, module=getattr(value, "module", None))
    return None


_SCHEMAS = re.compile(r"\binput_?[sS]chema\b|\.parameters\b|['\"]parameters['\"]")
_TEXTS = re.compile(r"\bdescription\b")
_EVERYTHING = ("/description", "/inputSchema", "/outputSchema", "/title", "/annotations")


def note_class(server: ServerValue, cls: Class) -> None:
    """Record that a middleware class, or a server class, overrides the list of tools."""
    for name in LISTING_METHODS:
        method = cls.attribute(name)
        if not isinstance(method, Function):
            continue
        # its code may do anything to the list, so only what it mentions is known to change
        server.changes.changed_at = method.module, method.node
        if _SCHEMAS.search(method.module.text) is not None:
            server.changes.unknown |= {"/inputSchema", "/outputSchema"}
        first = method.node.lineno
        if _TEXTS.search(method.module.lines_between(first, method.node.end_lineno or first)) is not None:
            server.changes.unknown.add("/description")


def note_transform(server: ServerValue, value: Any, call: Call, *, doubtful: bool) -> None:
    """Record the effect of `server.add_transform(value)`."""
    kind = value.func.last if isinstance(value, ExternalCall) and value.func.package == "fastmcp" else ""
    if kind == "Visibility":
        server.changes.switches += _switches(value, doubtful=doubtful)
        return
    prefix = unwrapped(value.argument(0, "prefix", UNKNOWN)) if kind == "Namespace" else UNKNOWN
    if isinstance(prefix, str) and not doubtful:
        server.changes.namespaces.append(prefix)
        return
    server.changes.changed_at = call.module, call.node
    server.changes.unknown.update(_EVERYTHING)


def _switches(value: ExternalCall, *, doubtful: bool) -> list[Switch]:
    shows = value.argument(0, "enabled", UNKNOWN)
    if value.kwargs.get("match_all") is True:
        return [Switch(shows is True, {}, True, doubtful or not isinstance(shows, bool))]
    switches = switches_of_call("enable" if shows is True else "disable", Call([], value.kwargs), doubtful=doubtful)
    return switches if isinstance(shows, bool) else [switch._replace(doubtful=True) for switch in switches]


def note_middleware(server: ServerValue, value: Any) -> None:
    """Record the effect of a middleware of the project."""
    if isinstance(value, Instance):
        note_class(server, value.cls)
