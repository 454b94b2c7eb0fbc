"""Fix snapshots for clients, for `compat --fix`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mcproof.checks.clients.fix import KeptHit, fix_for_clients
from mcproof.checks.clients.hits import ClientChecks
from mcproof.checks.clients.profiles import choose_clients
from mcproof.checks.engine import check
from mcproof.checks.fixes.source import FixedFile
from mcproof.core.errors import InputError
from mcproof.core.text.json_document import splice
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.checks.clients.profiles import ClientChoice
    from mcproof.checks.findings import Finding
    from mcproof.core.catalog.model import Catalog
    from mcproof.core.text.json_document import Edit
    from mcproof.execution.check_catalog import CatalogFindings, Plan
    from mcproof.execution.run_requests import CompatRequest
    from mcproof.execution.target_run import LoadedTarget


class ClientChanges(NamedTuple):
    """A snapshot before and after its fixes, and what is left."""

    file: FixedFile
    applied: int
    catalog: Catalog
    """The catalog after the fixes."""
    left: list[Finding]
    active: list[Finding]
    kept: list[KeptHit]


class ClientFixer:
    """Fixes catalogs for the clients of a request, with the profiles of each configuration."""

    def __init__(self, request: CompatRequest, plans: Iterable[Plan]) -> None:
        self._server_key = request.server_key
        self._choices = {id(plan.profiles): choose_clients(request.clients, plan.profiles) for plan in plans}

    def planned(self, target: LoadedTarget) -> LoadedTarget:
        """A target to check for these clients. Raises an InputError for source, which is not edited for clients."""
        if target.catalog.source is not None:
            raise InputError(
                "`compat --fix` edits snapshots, not Python source; `mcproof capture` saves the catalog of a server",
                file=target.source.name,
            )
        checks = ClientChecks(self._choice(target).for_compat(), self._server_key)
        return target._replace(plan=target.plan._replace(clients=checks))

    def _choice(self, target: LoadedTarget) -> ClientChoice:
        return self._choices[id(target.plan.profiles)]

    def fix(self, target: LoadedTarget, found: CatalogFindings) -> ClientChanges:
        """Fix a snapshot; a rule that is ignored for a tool is not fixed in it."""
        catalog, plan = target.catalog, target.plan
        scored = _places(found.scored)
        ignored, accepted = _places(found.findings) - scored, scored - _places(found.active)
        to_fix = {pointer for _, pointer in scored}
        rules = {
            tool.index: {rule.id for rule in plan.rules if (rule.id, tool.pointer) not in ignored}
            for tool in catalog.tools
            if tool.pointer in to_fix
        }
        fixes = fix_for_clients(catalog, self._choice(target), rules, self._server_key)
        file = edited_file(catalog, fixes.edits)
        if not fixes.edits:
            return ClientChanges(file, 0, catalog, found.scored, found.active, fixes.kept)
        after = read_snapshot(file.after, catalog.name)
        after.connection = catalog.connection
        left = [each for each in check(after, plan.rules, plan.clients) if _place(each) not in ignored]
        active = [each for each in left if _place(each) not in accepted]
        gone = Counter(map(_place, found.scored))
        gone.subtract(map(_place, left))
        applied = sum(count for count in gone.values() if count > 0)
        return ClientChanges(file, applied, after, left, active, fixes.kept)


def edited_file(catalog: Catalog, edits: list[Edit]) -> FixedFile:
    """A snapshot before and after its edits."""
    document = catalog.document
    before = document.encode(document.text)
    after = document.encode(splice(document.text, edits)) if edits else before
    return FixedFile(file=catalog.name, before=before, after=after, text=document.text, edits=edits)


def _place(finding: Finding) -> tuple[str, str]:
    """The rule and the item of a finding."""
    return finding.rule.id, finding.item.pointer


def _places(findings: list[Finding]) -> set[tuple[str, str]]:
    return set(map(_place, findings))
