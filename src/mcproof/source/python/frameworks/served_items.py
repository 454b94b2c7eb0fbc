"""The items that the servers of a project serve: registered, mounted, or listed by a handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.document.omissions import LIST_CHANGED, NO_PREFIX, OPEN_LIST, TOO_MANY
from mcproof.discovery.frameworks.registration_tables import CATALOG_KEYS, PROTOCOL_TYPES
from mcproof.discovery.frameworks.servers import RegisteredItem, is_incomplete, listed
from mcproof.discovery.frameworks.visibility import is_shown
from mcproof.discovery.interp.budget import STEPS_OF_ONE_ROOT
from mcproof.discovery.interp.builtin_values import unwrapped
from mcproof.discovery.interp.call_user_function import call_function
from mcproof.discovery.interp.values import UNKNOWN, BudgetExceededError, Call, ExternalCall, Instance

if TYPE_CHECKING:
    import ast

    from mcproof.discovery.frameworks.mcp_domain import McpDomain
    from mcproof.discovery.frameworks.servers import ListHandler, ServerValue
    from mcproof.discovery.interp.modules import Module

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


def served_items(domain: McpDomain, partial: set[str]) -> list[ServedItem]:
    """Every item of every server, in order; `partial` collects the lists that may be incomplete."""
    for server in list(domain.servers):
        for handler in server.handlers:
            if not _run_list_handler(domain, server, handler):
                partial.add(CATALOG_KEYS[handler.kind])
                domain.omit(OPEN_LIST, handler.function.module, handler.function.node)
    if not _is_one_server(domain):
        for item in (item for server in domain.servers for item in server.items):
            item.doubtful = item.doubtful or item.under_condition
    collector = _Collector(domain, partial)
    domain.run.budget.allow(2 * MOST_SERVED)
    for server in domain.servers:
        if not server.mounted:
            try:
                collector.add(server, "", [], doubtful=False)
            except BudgetExceededError:  # servers that contain each other many times
                collector.omit_everything(TOO_MANY, server.module, server.node)
    return collector.found


def _is_one_server(domain: McpDomain) -> bool:
    """Whether all items are registered on the same server, possibly created in several ways."""
    serving = [each for each in domain.servers if each.items and not each.is_given]
    return len({id(each.node) for each in serving}) <= 1


class _Collector:
    """Collects the items of servers and of the servers that are mounted on them."""

    def __init__(self, domain: McpDomain, partial: set[str]) -> None:
        self.found: list[ServedItem] = []
        self._domain = domain
        self._partial = partial

    def omit_everything(self, reason: Any, module: Module | None, node: ast.AST | None) -> None:
        """Record an omission that may concern every list."""
        self._partial.update(CATALOG_KEYS.values())
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
        prefix += "".join(f"{each}_" for each in reversed(changes.namespaces))
        levels = [*above, (prefix, server)]
        for each in server.open_at:
            self.omit_everything(OPEN_LIST, each.module, each.node)
        if changes.changed_at is not None:
            self._partial.add(CATALOG_KEYS["tools"])
            self._domain.omit(LIST_CHANGED, *changes.changed_at)
            doubtful = True
        switches = sum(len(each.changes.switches) for _, each in levels)
        for item in server.items:
            budget.step()
            budget.charge(switches)
            shown = [
                is_shown(item, _name_in(item, prefix.removeprefix(outer)), each.changes.switches)
                for outer, each in levels
                if each.changes.switches
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
    from_elsewhere = False
    if not items and not is_whole:
        of_kind = [PROTOCOL_TYPES[each.func.last] == handler.kind for each in domain.protocol_items]
        items = [each for each, fits in list(zip(domain.protocol_items, of_kind, strict=True))[before:] if fits]
        from_elsewhere = not items
        if from_elsewhere:
            items = [each for each, fits in zip(domain.protocol_items, of_kind, strict=True) if fits]
    for index, each in enumerate(items or ()):
        item = _listed_item(handler.kind, each)
        if item is None:
            is_whole = False
            continue
        item.doubtful = handler.doubtful or index in in_doubt
        if isinstance(each, ExternalCall):
            item.doubtful = item.doubtful or from_elsewhere or domain.is_doubtful(each)
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
