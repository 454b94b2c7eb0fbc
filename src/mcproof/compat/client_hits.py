"""Check a catalog against the constraints of clients: which place breaks which constraint of which client."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.compat.client_choice import ClientChoice
from mcproof.compat.client_profiles import RANK, known_profiles
from mcproof.compat.constraint_kinds import SERVER_KINDS, TOOL_KINDS
from mcproof.compat.surface_marks import marks_of
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
    server_key: str = ""
    """The server's name, if the tool's name is only too long with it."""

    @property
    def level(self) -> Level:
        """The level in this run; a note if users decide by how they name the server."""
        return "note" if self.server_key else self.active.level


class ClientHits:
    """The hits on one item: a tool, or the server as a whole."""

    __slots__ = ("by_rule",)

    def __init__(self, hits: list[ClientHit]) -> None:
        self.by_rule: dict[str, list[ClientHit]] = {}
        for hit in hits:
            self.by_rule.setdefault(hit.active.constraint.rule, []).append(hit)

    def of_rule(self, rule: str) -> list[list[ClientHit]]:
        """The hits of a rule, grouped by place; in each group the worst effect first."""
        places: dict[tuple[int, str], list[ClientHit]] = {}
        for hit in self.by_rule.get(rule, ()):
            places.setdefault((id(hit.tool), hit.pointer), []).append(hit)
        return [sorted(each, key=_badness) for each in places.values()]


def _badness(hit: ClientHit) -> tuple[int, int, str]:
    return _LEVELS.index(hit.level), RANK[hit.active.constraint.effect], hit.active.profile.name


_LEVELS = ("error", "warning", "note")
_MOST_COMBINATIONS = 10_000


class _Check(NamedTuple):
    """A constraint as several clients share it."""

    kind: Any
    params: Mapping[str, Any]
    is_surveyed: bool
    """Whether the survey of a tool can rule it out: not for a user's profiles, which may refuse what is usual."""
    holders: list[ActiveConstraint]

    def may_apply(self, marks: frozenset[str]) -> bool:
        return not self.is_surveyed or self.kind.may_apply(marks, self.params)

    def depends_on_key(self, tool: Tool) -> bool:
        """Whether it is a limit on prefixed names that the tool's name alone keeps."""
        return "template" in self.params and len(tool.name) <= self.params["max"]


class ClientChecks:
    """The constraints of a run, each distinct one checked once however many clients share it."""

    def __init__(self, active: Iterable[ActiveConstraint], server_key: str = "") -> None:
        self._server_key = server_key
        self._tool_checks: list[_Check] = []
        self._server_checks: list[_Check] = []
        self._may_apply: dict[frozenset[str], list[_Check]] = {}
        """The checks that can find something in a tool with these marks; few combinations occur."""
        shared: dict[str, _Check] = {}
        for each in active:
            kind, params = each.constraint.kind, each.constraint.params
            is_surveyed = each.profile.is_shipped
            key = f"{kind} {is_surveyed} {sorted(params.items())}"
            if key not in shared:
                checks, table = (
                    (self._tool_checks, TOOL_KINDS) if kind in TOOL_KINDS else (self._server_checks, SERVER_KINDS)
                )
                shared[key] = _Check(table[kind], params, is_surveyed, [])
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
        """The hits on one tool; none on a value that is not an object, which no client reads as a tool."""
        if not tool.is_object:
            return []
        marks = marks_of(tool, server_key)
        checks = self._may_apply.get(marks)
        if checks is None:
            checks = [each for each in self._tool_checks if each.may_apply(marks)]
            if len(self._may_apply) < _MOST_COMBINATIONS:
                self._may_apply[marks] = checks
        surface = ToolSurface(tool, server_key, marks)
        hits = [
            ClientHit(holder, pointer, None, server_key if check.depends_on_key(tool) else "")
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
