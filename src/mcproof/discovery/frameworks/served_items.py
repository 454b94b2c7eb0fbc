"""Which items the servers of a project serve: their own, those of the servers in them, those that a handler lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.document.omissions import NO_PREFIX, OPEN_LIST, RESHAPED, TOO_MANY
from mcproof.discovery.frameworks.servers import Item, ServerValue, is_incomplete, listed, name_of
from mcproof.discovery.frameworks.visibility import is_shown
from mcproof.discovery.interp.builtin_values import unwrapped
from mcproof.discovery.interp.call_user_function import follow
from mcproof.discovery.interp.values import UNKNOWN, Call, Called, Instance, TooMuchError

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from mcproof.discovery.frameworks.registrations import Servers
    from mcproof.discovery.interp.interpreter import Interpreter
    from mcproof.discovery.interp.modules import Module

MOST_SERVED = 20_000
DEEPEST_MOUNT = 8
KEYS = {"tools": "tools", "resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}
"""For each kind of item the list of a catalog that it stands in."""


class Entry(NamedTuple):
    """One item with what stands around it."""

    item: Item
    server: ServerValue
    """The one that it is registered on."""
    root: ServerValue
    """The one that serves it: that server, or one that it is part of."""
    prefix: str
    doubtful: bool

    @property
    def place(self) -> tuple[Module | None, ast.AST | None]:
        """Where it is registered."""
        function = self.item.function.face() if self.item.function is not None else None
        if function is None or (self.item.module is not None and self.item.node is not None):
            return self.item.module, self.item.node
        return function.module, function.node

    @property
    def origin(self) -> int:
        """What tells it from another item of its name: the function, or else the call, that it is made of."""
        return id(self.item.function.face().node if self.item.function is not None else self.item.node)


def entries_of(run: Interpreter, servers: Servers, partial: set[str]) -> list[Entry]:
    """Every item of every server that is not part of another, in order; `partial` learns which lists lack some."""
    for server in list(servers.made):
        for kind, handler, doubtful in server.handlers:
            if not _ask(run, servers, server, kind, handler, doubtful=doubtful):
                partial.add(KEYS[kind])
                run.omissions.note(OPEN_LIST, handler.module, handler.node)
    if not _is_one_server(servers):
        for item in (item for server in servers.made for item in server.items):
            item.doubtful = item.doubtful or item.under_condition
    found: list[Entry] = []
    run.allow(2 * MOST_SERVED)
    for server in servers.made:
        if not server.mounted:
            try:
                _collect(run, server, "", False, found, partial)
            except TooMuchError:  # servers in servers, each many times
                partial.update(KEYS.values())
                run.omissions.note(TOO_MANY, server.module, server.node)
    return found


def _is_one_server(servers: Servers) -> bool:
    """Whether there is one server in the project, however many ways lead to it; else each may be there or not."""
    serving = [each for each in servers.made if each.items and not each.is_given]
    return len({id(each.node) for each in serving}) <= 1


def _collect(
    run: Interpreter,
    server: ServerValue,
    prefix: str,
    doubtful: bool,
    found: list[Entry],
    partial: set[str],
    above: Sequence[tuple[str, ServerValue]] = (),
) -> None:
    """Add what a server serves, itself and by its parts; `above` are the servers that it is part of and their prefixes.

    Each of them shows and hides what it serves by the names that it knows it by.
    """
    if len(found) >= MOST_SERVED or len(above) > DEEPEST_MOUNT:
        partial.update(KEYS.values())
        run.omissions.note(TOO_MANY, server.module, server.node)
        return
    run.step()
    prefix += "".join(f"{each}_" for each in reversed(server.namespaces))
    levels = [*above, (prefix, server)]
    root = levels[0][1]
    for each in server.open_at:
        partial.update(KEYS.values())
        run.omissions.note(OPEN_LIST, each.module, each.node)
    if server.reshaped_at is not None:
        partial.add(KEYS["tools"])
        run.omissions.note(RESHAPED, *server.reshaped_at)
    doubtful = doubtful or server.reshaped_at is not None
    switches = sum(len(each.switches) for _, each in levels)
    for item in server.items:
        run.step()
        run.charge(switches)
        answers = [
            is_shown(item, _name_in(item, prefix.removeprefix(outer)), each.switches)
            for outer, each in levels
            if each.switches
        ]
        if False not in answers:
            found.append(Entry(item, server, root, prefix, doubtful or item.doubtful or None in answers))
    for mount in server.mounts:
        given = unwrapped(mount.prefix)
        if given is None or given == "":
            inner = prefix
        elif isinstance(given, str):
            inner = f"{prefix}{given}_"
        else:
            partial.update(KEYS.values())
            run.omissions.note(NO_PREFIX, mount.call.module, mount.call.node)
            continue  # a name that nobody can know is not made up
        _collect(run, mount.server, inner, doubtful or mount.doubtful, found, partial, levels)


def _name_in(item: Item, prefix: str) -> Any:
    """The name of an item where it has this prefix."""
    name = unwrapped(name_of(item))
    return f"{prefix}{name}" if isinstance(name, str) else UNKNOWN


def _ask(run: Interpreter, servers: Servers, server: ServerValue, kind: str, handler: Any, *, doubtful: bool) -> bool:
    """Add what a handler of the low-level server answers; whether that is all of it."""
    from mcproof.discovery.interp.interpreter import STEPS_OF_ONE_ROOT

    run.allow(STEPS_OF_ONE_ROOT)
    run.doubt = run.depth = run.calls = 0
    del run.frames[1:]
    run.active.clear()
    before = len(servers.spelt_out)
    is_whole = False
    try:
        value = follow(run, handler, Call([], {}))
        answer, in_doubt = listed(value)
        is_whole = answer is not None and not is_incomplete(value)
    except (TooMuchError, RecursionError):
        answer, in_doubt = None, set()
    from_elsewhere = False
    if answer is None or not (answer or is_whole):
        wanted = {"tools": "Tool", "resources": "Resource", "prompts": "Prompt", "templates": "ResourceTemplate"}[kind]
        made = [each for each in servers.spelt_out if each.func.last == wanted]
        answer = [each for each in servers.spelt_out[before:] if each.func.last == wanted]
        from_elsewhere = not answer
        answer = answer or made
    for index, each in enumerate(answer):
        if isinstance(each, Called):
            sure = not (doubtful or from_elsewhere or servers.is_doubtful(each) or index in in_doubt)
            given = {**dict(zip(("name",), each.args, strict=False)), **each.kwargs}
            server.items.append(
                Item(kind, given, node=each.node, module=each.module, doubtful=not sure, complete=each.complete)
            )
        elif isinstance(each, Instance):
            in_question = doubtful or index in in_doubt
            server.items.append(
                Item(kind, dict(each.attributes), node=each.node, module=each.cls.module, doubtful=in_question)
            )
        elif isinstance(each, dict) and isinstance(each.get("name"), str):
            server.items.append(
                Item(
                    kind,
                    {str(key): value for key, value in each.items()},
                    module=getattr(each, "module", None),
                    doubtful=doubtful or index in in_doubt,
                )
            )
        else:
            is_whole = False
    return is_whole
