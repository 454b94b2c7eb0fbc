"""Group what a source tree registers by server: what each server serves, and where it is created."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.discovery.document.assembly import RenderedItem
    from mcproof.discovery.frameworks.mcp_domain import McpDomain
    from mcproof.discovery.frameworks.servers import ServerValue


class ServerGroup(NamedTuple):
    """One server of the source, with all values that stand for it."""

    servers: list[ServerValue]
    items: list[RenderedItem]

    @property
    def location(self) -> tuple[str, int]:
        """File and line of the call that creates it."""
        for server in self.servers:
            if server.module is not None:
                return server.module.file, getattr(server.node, "lineno", 1)
        return "", 1


def group_by_server(domain: McpDomain, items: Iterable[RenderedItem]) -> list[ServerGroup]:
    """Items by the server that serves them, in the order of the servers.

    A factory that is called twice creates one server, and so do two calls in one file if what one of the servers
    serves is part of what the other serves, as with alternatives. Items of a parameter that may be any server belong
    to the server that is created nearest.
    """
    by_root: dict[int, list[RenderedItem]] = {}
    for item in items:
        by_root.setdefault(item.registration.server, []).append(item)
    groups: list[ServerGroup] = []
    given: list[ServerGroup] = []
    for server in domain.servers:
        group = ServerGroup([server], by_root.get(id(server), []))
        if not group.items:
            continue
        if server.is_given or server.module is None:
            given.append(group)
        elif (same := next((each for each in groups if _is_same(each, group)), None)) is not None:
            same.servers.append(server)
            same.items.extend(group.items)
        else:
            groups.append(group)
    if not groups:
        servers = [each for group in given for each in group.servers]
        return [ServerGroup(servers, [each for group in given for each in group.items])]
    for group in given:
        place = group.items[0].registration.location
        nearest = groups[0] if place is None else nearest_group(groups, place[0])
        nearest.servers.extend(group.servers)
        nearest.items.extend(group.items)
    return groups


def _is_same(one: ServerGroup, other: ServerGroup) -> bool:
    """Whether two groups are the same server, created in several ways."""
    first, second = one.servers[0], other.servers[0]
    if first.node is second.node:
        return True
    if first.module is not second.module:
        return False
    origins = [{(*item.key, item.registration.origin) for item in group.items} for group in (one, other)]
    return origins[0] <= origins[1] or origins[1] <= origins[0]


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
        others = [os.path.abspath(each) for at, each in enumerate(files) if at != number]
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
