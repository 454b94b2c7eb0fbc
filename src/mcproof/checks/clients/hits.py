"""Which places of a catalog break which constraint of which client, found once for verdicts and rules.

Why only some constraints are checked on a tool: docs/decisions/0043-survey-before-constraints.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from mcproof.checks.clients.constraints import LONG_NAME, LONGEST_PLAIN_NAME, SERVER_KINDS, TOOL_KINDS, needs_of
from mcproof.checks.clients.profiles import RANK, ActiveConstraint, ClientChoice, known_profiles
from mcproof.checks.clients.schema_constraints import ClientView, server_view
from mcproof.checks.findings import LEVELS, Level
from mcproof.checks.subjects import ClientHits
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.named_tuple import NamedTuple


class ClientHit(NamedTuple):
    """One place that breaks one constraint of one client."""

    active: ActiveConstraint
    pointer: str
    tool: Tool | None = None
    """The tool, if a constraint on the whole server names one."""

    @property
    def level(self) -> Level:
        return self.active.level


class AffectedClients:
    """The constraints of clients that one place breaks, the worst effect first; many places share them."""

    __slots__ = ("constraints", "depends_on_key", "level", "summary")

    def __init__(self, constraints: Iterable[ActiveConstraint]) -> None:
        self.constraints = sorted(
            constraints,
            key=lambda active: (LEVELS.index(active.level), RANK[active.constraint.effect], active.profile.name),
        )
        self.level = self.constraints[0].level
        self.depends_on_key = any(constraint.depends_on_key for constraint in self.constraints)
        """Whether some only apply because of the server's name."""
        self.summary: tuple[str, dict[str, Any]] | None = None
        """The effects in words and the evidence of a finding, once there is one."""


class BrokenPlace(NamedTuple):
    """A place that breaks constraints of one rule."""

    pointer: str
    tool: Tool | None
    """The tool, if a constraint on the whole server names one."""
    affected: AffectedClients


_MOST_COMBINATIONS = 10_000


class _Check:
    """A constraint as several clients share it."""

    __slots__ = ("_by_key", "by_rule", "find", "holders", "needs", "params")

    def __init__(self, find: Any, params: Mapping[str, Any], needs: frozenset[str] | None) -> None:
        self.find = find
        self.params = params
        self.needs = needs
        """The marks of which a tool must have one to break it; None if any tool may."""
        self.holders: list[ActiveConstraint] = []
        self.by_rule: dict[str, list[ActiveConstraint]] = {}
        """The holders about which there are findings, by rule."""
        self._by_key: _Check | None = None

    def add(self, holder: ActiveConstraint, reported: ActiveConstraint | None) -> None:
        """Add a client that has the constraint, as it counts for the verdict and as findings report it, if they do."""
        self.holders.append(holder)
        if reported is not None:
            self.by_rule.setdefault(holder.constraint.rule, []).append(reported)

    def on(self, tool: Tool) -> _Check:
        """The constraint as the tool breaks it: a note if its name is only too long with the server's name."""
        # Each user chooses the server's name in a configuration: docs/decisions/0045-lint-reports-certain-breaks.md.
        if "template" not in self.params or len(tool.name) > self.params["max"]:
            return self
        if self._by_key is None:
            self._by_key = _Check(self.find, self.params, self.needs)
            reported = {holder.key for holders in self.by_rule.values() for holder in holders}
            for holder in self.holders:
                noted = holder._replace(level="note", holds=False, depends_on_key=True)
                self._by_key.add(noted, noted if holder.key in reported else None)
        return self._by_key


Violation = tuple[_Check, "Tool | None", str]
"""What is broken, the tool if a constraint on the whole server names one, and the pointer."""


class ClientChecks:
    """The constraints of a run, each distinct one checked once however many clients share it."""

    def __init__(
        self,
        active: Iterable[ActiveConstraint],
        server_key: str = "",
        reported: Iterable[ActiveConstraint] | None = None,
    ) -> None:
        """`reported` are those about which there are findings, with their levels there; by default all."""
        active = list(active)
        by_key = {holder.key: holder for holder in (active if reported is None else reported)}
        self._server_key = server_key
        self._tool_checks: list[_Check] = []
        self._server_checks: list[_Check] = []
        self._affected: dict[tuple[Any, ...], AffectedClients] = {}
        shared: dict[str, _Check] = {}
        for holder in active:
            kind, params = holder.constraint.kind, holder.constraint.params
            key = f"{kind} {sorted(params.items())}"
            if key not in shared:
                if kind in TOOL_KINDS:
                    shared[key] = _Check(TOOL_KINDS[kind], params, needs_of(kind, params))
                    self._tool_checks.append(shared[key])
                else:
                    shared[key] = _Check(SERVER_KINDS[kind], params, None)
                    self._server_checks.append(shared[key])
            shared[key].add(holder, by_key.get(holder.key))
        self._needed = frozenset().union(*(check.needs or () for check in self._tool_checks))
        self._by_marks: dict[frozenset[str], list[_Check]] = {}
        """The checks that can find something in a tool with these marks; few combinations occur."""

    def key_of(self, catalog: Catalog) -> str:
        """The server's name in client configurations: as given, or as the server reports it."""
        name = catalog.server_info.get("name")
        return self._server_key or (name if isinstance(name, str) else "")

    def on_server(self, catalog: Catalog) -> list[ClientHit]:
        """The hits of constraints on all tools together."""
        return hits_of(self.find_on_server(catalog))

    def on_tool(self, tool: Tool, server_key: str) -> list[ClientHit]:
        """The hits on one tool."""
        return hits_of(self.find_on_tool(tool, server_key))

    def places_on_server(self, catalog: Catalog) -> ClientHits | None:
        """The places of the server that break constraints on all tools together; None if there are none."""
        return self.group(self.find_on_server(catalog))

    def places_on_tool(self, tool: Tool, server_key: str) -> ClientHits | None:
        """The places of a tool that break constraints; None if there are none."""
        return self.group(self.find_on_tool(tool, server_key), server_key)

    def find_on_server(self, catalog: Catalog) -> list[Violation]:
        """What the server as a whole breaks."""
        view = server_view(catalog)
        return [
            (check, tool, pointer) for check in self._server_checks for tool, pointer in check.find(view, check.params)
        ]

    def find_on_tool(self, tool: Tool, server_key: str) -> list[Violation]:
        """What a tool breaks; nothing for a value that is not an object, which no client reads as a tool."""
        if not tool.is_object:
            return []
        checks = self._checks_on(tool, server_key)
        view = ClientView(tool, server_key)
        violations: list[Violation] = [
            (check.on(tool), None, pointer) for check in checks for pointer in check.find(view, check.params)
        ]
        source = tool.source
        if source is None or not source.unknown:
            return violations
        # A description that the source does not show is not one that the server lacks.
        return [violation for violation in violations if source.knows_members(violation[2])]

    def _checks_on(self, tool: Tool, server_key: str) -> list[_Check]:
        """The constraints that a tool may break."""
        if tool.marks is None:
            return self._tool_checks
        keywords = tool.marks & self._needed
        if len(tool.name) + len(server_key) > LONGEST_PLAIN_NAME:
            keywords |= {LONG_NAME}
        checks = self._by_marks.get(keywords)
        if checks is None:
            checks = [
                check for check in self._tool_checks if check.needs is None or not keywords.isdisjoint(check.needs)
            ]
            if len(self._by_marks) < _MOST_COMBINATIONS:
                self._by_marks[keywords] = checks
        return checks

    def group(self, violations: list[Violation], server_key: str = "") -> ClientHits | None:
        """Group what was found by rule and place; None if no finding is about it."""
        # Verdicts count more than findings report: docs/decisions/0045-lint-reports-certain-breaks.md.
        if not violations:
            return None
        places: dict[tuple[str, int, str], list[_Check]] = {}
        tools: dict[int, Tool | None] = {}
        for check, tool, pointer in violations:
            tools[id(tool)] = tool
            for rule in check.by_rule:
                places.setdefault((rule, id(tool), pointer), []).append(check)
        by_rule: dict[str, list[BrokenPlace]] = {}
        for (rule, tool_id, pointer), checks in places.items():
            key = (rule, *map(id, checks))
            affected = self._affected.get(key)
            if affected is None:
                affected = AffectedClients(holder for check in checks for holder in check.by_rule[rule])
                if len(self._affected) < _MOST_COMBINATIONS:
                    self._affected[key] = affected
            by_rule.setdefault(rule, []).append(BrokenPlace(pointer, tools[tool_id], affected))
        return ClientHits(by_rule, server_key) if by_rule else None


def hits_of(violations: list[Violation]) -> list[ClientHit]:
    """Return the hits, one for each client that a broken constraint is of."""
    return [ClientHit(holder, pointer, tool) for check, tool, pointer in violations for holder in check.holders]


@cache
def default_client_checks() -> ClientChecks:
    """The constraints that `lint` checks if no client is named."""
    return ClientChecks(ClientChoice(known_profiles()).for_lint())


class CatalogHits:
    """What the server and each tool of one catalog break. Rules take it in place of the checks."""

    def __init__(self, checks: ClientChecks, catalog: Catalog) -> None:
        self._checks = checks
        self._tools = catalog.tools
        self._on_servers: dict[int, list[Violation]] = {
            _first_tool(part): checks.find_on_server(part) for part in catalog.by_server()
        }
        """What is found about each server, by its first tool; source code can define several."""
        self._on_tools: dict[int, list[Violation]] = {}
        server_key = checks.key_of(catalog)
        for tool in catalog.tools:
            self._on_tools[id(tool)] = checks.find_on_tool(tool, server_key)
            # One tree at a time: docs/decisions/0014-one-schema-walk.md.
            tool.release_tree()

    def all(self) -> Iterator[tuple[str | None, ClientHit]]:
        """Every hit, with the name of its tool."""
        for violations in self._on_servers.values():
            for hit in hits_of(violations):
                yield (None if hit.tool is None else hit.tool.label), hit
        for tool in self._tools:
            for hit in hits_of(self._on_tools[id(tool)]):
                yield tool.label, hit

    def key_of(self, catalog: Catalog) -> str:
        """The server's name in client configurations."""
        return self._checks.key_of(catalog)

    def places_on_server(self, catalog: Catalog) -> ClientHits | None:
        """The places of a server that break constraints on all tools together; None if there are none."""
        return self._checks.group(self._on_servers[_first_tool(catalog)])

    def places_on_tool(self, tool: Tool, server_key: str) -> ClientHits | None:
        """The places of a tool that break constraints; None if there are none."""
        return self._checks.group(self._on_tools[id(tool)], server_key)


def _first_tool(catalog: Catalog) -> int:
    return id(catalog.tools[0]) if catalog.tools else 0
