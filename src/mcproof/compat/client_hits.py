"""Check a catalog against the constraints of clients: which place breaks which constraint of which client."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.compat.client_choice import ClientChoice
from mcproof.compat.client_profiles import RANK, known_profiles
from mcproof.compat.constraint_kinds import SERVER_KINDS, TOOL_KINDS
from mcproof.compat.tool_surface import ToolSurface, server_surface

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcproof.catalog.model import Catalog, Tool
    from mcproof.compat.client_choice import ActiveConstraint
    from mcproof.linting.finding import Level


class ClientHit(NamedTuple):
    """One place that breaks one constraint of one client."""

    active: ActiveConstraint
    pointer: str
    tool: Tool | None = None
    """The tool, if a constraint on the whole server names one."""

    @property
    def level(self) -> Level:
        return self.active.level


class ClientHits(NamedTuple):
    """The hits on one item: a tool, or the server as a whole."""

    hits: list[ClientHit]

    def of_rule(self, rule: str) -> list[list[ClientHit]]:
        """The hits of a rule, grouped by place; in each group the worst effect first."""
        places: dict[tuple[int, str], list[ClientHit]] = {}
        for hit in self.hits:
            if hit.active.constraint.rule == rule:
                places.setdefault((id(hit.tool), hit.pointer), []).append(hit)
        for each in places.values():
            each.sort(key=_badness)
        return list(places.values())


def _badness(hit: ClientHit) -> tuple[int, int, str]:
    return _LEVELS.index(hit.level), RANK[hit.active.constraint.effect], hit.active.profile.name


_LEVELS = ("error", "warning", "note")


class _Check(NamedTuple):
    """A constraint as several clients share it."""

    kind: Any
    params: Mapping[str, Any]
    holders: list[ActiveConstraint]


class ClientChecks:
    """The constraints of a run, each distinct one checked once however many clients share it."""

    def __init__(self, active: Iterable[ActiveConstraint], server_key: str = "") -> None:
        self._server_key = server_key
        self._tool_checks: list[_Check] = []
        self._server_checks: list[_Check] = []
        self._may_apply: dict[frozenset[str], list[_Check]] = {}
        """The checks that can find something in a schema with these keywords; few combinations occur."""
        shared: dict[str, _Check] = {}
        for each in active:
            kind, params = each.constraint.kind, each.constraint.params
            key = f"{kind} {sorted(params.items())}"
            if key not in shared:
                checks, table = (
                    (self._tool_checks, TOOL_KINDS) if kind in TOOL_KINDS else (self._server_checks, SERVER_KINDS)
                )
                shared[key] = _Check(table[kind], params, [])
                checks.append(shared[key])
            shared[key].holders.append(each)

    def key_of(self, catalog: Catalog) -> str:
        """The server's name in client configurations: as given, or as the server reports it."""
        name = catalog.server_info.get("name")
        return self._server_key or (name if isinstance(name, str) else "")

    def on_server(self, catalog: Catalog) -> list[ClientHit]:
        """The hits of constraints on all tools together."""
        surface = server_surface(catalog)
        return [
            ClientHit(holder, pointer, tool)
            for check in self._server_checks
            for tool, pointer in check.kind(surface, check.params)
            for holder in check.holders
        ]

    def on_tool(self, tool: Tool, server_key: str) -> list[ClientHit]:
        """The hits on one tool."""
        surface = ToolSurface(tool, server_key)
        used = surface.keywords
        checks = self._may_apply.get(used)
        if checks is None:
            checks = [each for each in self._tool_checks if each.kind.may_apply(used, each.params)]
            self._may_apply[used] = checks
        hits = [
            ClientHit(holder, pointer)
            for check in checks
            for pointer in check.kind.check(surface, check.params)
            for holder in check.holders
        ]
        surface.release()
        return hits


@cache
def usual_checks() -> ClientChecks:
    """The constraints that `lint` checks if no client is named."""
    return ClientChecks(ClientChoice(known_profiles()).for_lint())
