"""Fix the findings of a check: tighten snapshots and source, or edit snapshots for clients."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from mcproof.checks.clients.fix import UnfixedHit, fix_for_clients
from mcproof.checks.clients.hits import ClientChecks
from mcproof.checks.clients.profiles import ClientChoice, choose_clients
from mcproof.checks.engine import check
from mcproof.checks.fixes import fix_snapshot
from mcproof.checks.fixes.source import FixedFile, fix_source
from mcproof.checks.reporting import report_findings
from mcproof.core.errors import InputError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import replace_files
from mcproof.core.text.json_document import Edit, splice
from mcproof.runs.events import FixedTarget, FixPlanned, Listener, TargetFixed
from mcproof.runs.judging import CatalogFindings, Checked, Plan, find_problems
from mcproof.runs.loop import LoadedTarget, TargetRun
from mcproof.runs.requests import CompatRequest, FixRequest, RunSession
from mcproof.runs.results import RunResult, TargetResult
from mcproof.targets.arguments import read_bytes
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.checks.findings import Finding
    from mcproof.core.catalog.model import Catalog


class ClientChanges(NamedTuple):
    """A snapshot before and after its fixes, and what is left."""

    file: FixedFile
    applied: int
    catalog: Catalog
    """The catalog after the fixes."""
    left: list[Finding]
    active: list[Finding]
    kept: list[UnfixedHit]


class ClientFixer:
    """Fixes catalogs for the clients of a request, with the profiles of each configuration."""

    def __init__(self, request: CompatRequest, plans: Iterable[Plan]) -> None:
        self._server_key = request.server_key
        self._choices = {id(plan.profiles): choose_clients(request.clients, plan.profiles) for plan in plans}

    def planned(self, target: LoadedTarget) -> LoadedTarget:
        """A target to check for these clients. Raises an InputError for source, which is not edited for clients."""
        if target.catalog.source is not None:
            raise InputError(
                "`compat --fix` edits snapshots, not source; `mcproof capture` saves the catalog of a server",
                file=target.source.name,
            )
        checks = ClientChecks(self._choice(target).for_compat(), self._server_key)
        return target._replace(plan=target.plan._replace(clients=checks))

    def _choice(self, target: LoadedTarget) -> ClientChoice:
        return self._choices[id(target.plan.profiles)]

    def fix(self, target: LoadedTarget, checked: CatalogFindings) -> ClientChanges:
        """Fix a snapshot; a rule that is ignored for a tool is not fixed in it."""
        catalog, plan = target.catalog, target.plan
        scored = _places(checked.scored)
        ignored, accepted = _places(checked.findings) - scored, scored - _places(checked.active)
        to_fix = {pointer for _, pointer in scored}
        rules = {
            tool.index: {rule.id for rule in plan.rules if (rule.id, tool.pointer) not in ignored}
            for tool in catalog.tools
            if tool.pointer in to_fix
        }
        fixes = fix_for_clients(catalog, self._choice(target), rules, self._server_key)
        file = edited_file(catalog, fixes.edits)
        if not fixes.edits:
            return ClientChanges(file, 0, catalog, checked.scored, checked.active, fixes.unfixed)
        after = read_snapshot(file.after, catalog.name)
        left = [finding for finding in check(after, plan.rules, plan.clients) if _place(finding) not in ignored]
        active = [finding for finding in left if _place(finding) not in accepted]
        gone = Counter(map(_place, checked.scored))
        # Counted, as one edit may fix several findings and cause one of another rule.
        gone.subtract(map(_place, left))
        applied = sum(count for count in gone.values() if count > 0)
        return ClientChanges(file, applied, after, left, active, fixes.unfixed)


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


def fix_targets(request: FixRequest, listen: Listener, session: RunSession) -> RunResult:
    """Fix every target of a request; the result has the findings that are left."""
    run = TargetRun(request.check, listen, session)
    clients = ClientFixer(request.check, run.plans) if isinstance(request.check, CompatRequest) else None

    def check(target: LoadedTarget) -> Checked:
        if request.writes:
            target = _current(target)
        if clients is not None:
            target = clients.planned(target)
        catalog = target.catalog
        checked = find_problems(catalog, target.plan, run.tracker, target.observed)
        if clients is not None:
            fixed = _fix_for_clients(target, checked, clients)
        else:
            fix = _fix_snapshot if catalog.source is None else _fix_source
            fixed = fix(target, checked, keep_optional=request.keep_optional)
        changed = [(file.file, file.before, file.after) for file in fixed.files if file.before != file.after]
        # Told before anything is written, since a fix may break callers.
        listen(FixPlanned(fixed))
        if request.writes and changed:
            for file, _, _ in changed:
                run.refuse_foreign(target.source, file)
            # All or none: half of a change to shared source may not run.
            replace_files(changed)
        listen(TargetFixed(fixed))
        # A dry run changes nothing, so every finding is still there. Accepted ones never count.
        subject, left = (catalog, checked.active) if request.is_dry_run else (fixed.catalog, fixed.active)
        result = TargetResult(catalog.name, findings=report_findings(subject, left), fail_on=target.plan.fail_on)
        return Checked(result)

    return run.run(check)


def _current(target: LoadedTarget) -> LoadedTarget:
    """One of several servers in a folder as its source is now: fixing another one may have changed shared files."""
    if not target.source.folder or target.catalog.source is None:
        return target
    from mcproof.source.pipeline import rediscover
    from mcproof.targets.folders import catalog_of

    rediscovered = rediscover(target.catalog.source, {})
    return target if rediscovered is None else target._replace(catalog=catalog_of(rediscovered, target.catalog.name))


def _fix_snapshot(target: LoadedTarget, checked: CatalogFindings, *, keep_optional: bool) -> FixedTarget:
    catalog, findings = target.catalog, checked.scored
    changes = fix_snapshot(catalog, findings, keep_optional=keep_optional)
    file = edited_file(catalog, changes.edits)
    fixed = [finding for finding in findings if finding.fix is not None]
    return _fixed_target(catalog, checked, fixed, [file], changes.made_required)


def _fix_for_clients(target: LoadedTarget, checked: CatalogFindings, clients: ClientFixer) -> FixedTarget:
    changes = clients.fix(target, checked)
    return FixedTarget(
        name=target.catalog.name,
        files=[changes.file],
        applied=changes.applied,
        made_required=0,
        left=changes.left,
        active=changes.active,
        catalog=changes.catalog,
        kept=tuple(changes.kept),
    )


def _fix_source(target: LoadedTarget, checked: CatalogFindings, *, keep_optional: bool) -> FixedTarget:
    """Fix source; what is not certain is left as it is."""
    catalog, name, findings = target.catalog, target.source.name, checked.scored
    changes = fix_source(catalog, findings, keep_optional=keep_optional)
    files = changes.files
    if not files and os.path.isfile(name):
        data = read_bytes(target.source)
        files = [FixedFile(file=name, before=data, after=data, text="", edits=[])]
    return _fixed_target(catalog, checked, changes.fixed, files, changes.made_required)


def _fixed_target(
    catalog: Catalog, checked: CatalogFindings, fixed: list[Finding], files: list[FixedFile], made_required: int
) -> FixedTarget:
    # By identity: two findings may be equal and only one of them fixed.
    identities = frozenset(map(id, fixed))
    return FixedTarget(
        name=catalog.name,
        files=files,
        applied=len(fixed),
        made_required=made_required,
        left=[finding for finding in checked.scored if id(finding) not in identities],
        active=[finding for finding in checked.active if id(finding) not in identities],
        catalog=catalog,
    )
