"""Judge a catalog client by client: `compat`, its verdicts, and the changes that help most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.hits import CatalogHits, ClientChecks
from mcproof.checks.clients.profiles import choose_clients, find_client
from mcproof.checks.clients.verdicts import improvements, judge_clients
from mcproof.core.errors import UsageError
from mcproof.runs.loop import TargetRun
from mcproof.runs.results import CompatPayload, Gate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcproof.checks.clients.profiles import ClientChoice, Profile
    from mcproof.checks.clients.verdicts import ClientOutcome
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import Listener
    from mcproof.runs.judging import Checked, Plan
    from mcproof.runs.loop import LoadedTarget
    from mcproof.runs.requests import CompatRequest, RunSession
    from mcproof.runs.results import RunResult, TargetResult


class ClientJudge:
    """The checks of a run, for the profiles of one configuration."""

    def __init__(
        self, request: CompatRequest, profiles: Mapping[str, Profile] | None, configured: tuple[str, ...] = ()
    ) -> None:
        """Choose the clients; those that the request requires, or a configuration names, matter too."""
        self.choice = choose_clients(request.clients, profiles)
        important = choose_clients((*request.require, *configured), profiles).pins
        self.named = tuple(dict.fromkeys(choice.profile for choice in self.choice.named))
        clients = sum(profile.kind == "client" for profile in self.choice.profiles.values())
        if request.min_clients is not None and request.min_clients > clients:
            raise UsageError(f"--min-clients {request.min_clients}: there are {clients} clients")
        # What no user named stays a warning: docs/decisions/0045-lint-reports-certain-breaks.md.
        reported = self.choice.for_compat(important)
        self.checks = ClientChecks(self.choice.all_active(), request.server_key, reported=reported)

    def payload(self, hits: CatalogHits, tools: int) -> CompatPayload:
        """What each client makes of a catalog with this number of tools."""
        outcomes = judge_clients(self.choice, hits.all())
        return CompatPayload(outcomes, improvements(outcomes, tools, self.named), self.named)


class ClientJudges:
    """The judges of a run; they are made before anything is started, as a client may be unknown."""

    def __init__(self, request: CompatRequest, run: TargetRun, important: tuple[str, ...] = ()) -> None:
        """Make the judge of each configuration; `important` are clients that matter besides those of the request."""
        self._judges: dict[Any, ClientJudge] = {}
        for plan in run.plans:
            # A run has a plan for each configuration, but most of them change no profile.
            key = self._key(plan)
            if key not in self._judges:
                judge = self._judges[key] = ClientJudge(request, plan.profiles, (*plan.named_clients, *important))
                run.add_messages(judge.choice.version_messages())

    @staticmethod
    def _key(plan: Plan) -> tuple[int, tuple[str, ...]]:
        return id(plan.profiles), plan.named_clients

    def of(self, plan: Plan) -> ClientJudge:
        return self._judges[self._key(plan)]


def check_clients(request: CompatRequest, listen: Listener, session: RunSession) -> RunResult:
    """Judge every target of a request for every client."""
    run = TargetRun(request, listen, session)
    judges = ClientJudges(request, run)

    def check(target: LoadedTarget) -> Checked:
        judge = judges.of(target.plan)
        hits = CatalogHits(judge.checks, target.catalog)
        payload = judge.payload(hits, len(target.catalog.tools))
        checked = run.judge(target._replace(plan=target.plan._replace(clients=hits)), payload)
        if _is_fixable(target.catalog, checked.result, judge.choice, request.server_key):
            checked = checked._replace(result=checked.result._replace(payload=payload._replace(is_fixable=True)))
        return checked.with_gates(client_gates(request, payload.outcomes))

    return run.run(check)


def _is_fixable(catalog: Catalog, result: TargetResult, choice: ClientChoice, server_key: str) -> bool:
    """Whether `compat --fix` has edits for the findings about a snapshot."""
    if catalog.source is not None or catalog.connection is not None:
        return False
    # By tool: an edit counts only where a finding asks for it.
    rules: dict[str, set[str]] = {}
    for finding in result.findings:
        if finding.rule.fixable:
            rules.setdefault(finding.item_pointer, set()).add(finding.rule.id)
    to_fix = {tool.index: rules[tool.pointer] for tool in catalog.tools if tool.pointer in rules}
    if not to_fix:
        return False
    from mcproof.checks.clients.fix import is_fixable_for_clients  # here, as most catalogs have nothing to fix

    return is_fixable_for_clients(catalog, choice, to_fix, server_key)


def client_gates(request: CompatRequest, outcomes: list[ClientOutcome]) -> Iterator[Gate]:
    """The requested gates: clients in which the server must not break, and how many there must be."""
    verdicts = {outcome.client: outcome.verdict for outcome in outcomes}
    names = {outcome.client: outcome.name for outcome in outcomes}
    for name in [find_client(word.partition("@")[0], names) for word in request.require]:
        yield Gate(f"require {name}", "does not break", verdicts[name], verdicts[name] != "breaks")
    if request.min_clients is not None:
        unbroken = sum(outcome.verdict != "breaks" for outcome in outcomes if outcome.kind == "client")
        yield Gate("min-clients", request.min_clients, unbroken, unbroken >= request.min_clients)
