"""Run rules on a catalog and collect their findings.

Every tool's schema is walked once, checked by all rules and released. A rule that crashes on a subject becomes one
finding about that rule; all other checks continue.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.catalog.model import Tool
from mcproof.linting.finding import Finding
from mcproof.linting.judged_items import ItemSurvey, JudgedItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.compat.catalog_hits import CatalogHits
    from mcproof.compat.client_hits import ClientChecks, ClientHits
    from mcproof.core.catalog.model import Catalog, Item
    from mcproof.linting.kept_findings import KeptFindings
    from mcproof.linting.registry import Rule


_new = tuple.__new__
"""Builds a named tuple faster than a call of its class; used where there is one for each finding."""


class RuleCrash(NamedTuple):
    """A rule that crashed: its first subject, the error, and the number of crashes."""

    rule: str
    subject: str
    error: str
    times: int


def check(
    catalog: Catalog,
    rules: list[Rule],
    clients: ClientChecks | CatalogHits | None = None,
    facts: Iterable[Any] = (),
    kept: KeptFindings | None = None,
) -> list[Finding]:
    """Run rules on a catalog: the server's findings first, then each item's in catalog order.

    `clients` has the constraints for rules about clients; by default those that `lint` checks. `facts` are what was
    observed besides the catalog; each is checked by the rules whose scope is its class. `kept` has the findings about
    tools of an earlier check, for callers that check a catalog after every edit.
    """
    run = _RuleRun(rules)
    checks = clients
    if not run.has_rules_for("ClientHits"):
        checks = None
    elif clients is None:
        from mcproof.compat.client_hits import usual_checks

        checks = usual_checks()
    facts = tuple(facts)
    bodies = next((fact.bodies for fact in facts if type(fact).__name__ == "ResourceBodies"), ())
    for each in catalog.by_server():
        run.check("Catalog", each, catalog.server)
        if checks is not None:
            run.check_hits(partial(checks.places_on_server, each), catalog.server)
        if run.has_rules_for("ModelTexts"):
            run.check_texts(each, catalog.server, bodies)
            bodies = ()
    server_key = checks.key_of(catalog) if checks is not None else ""
    survey = run.survey(catalog)
    if survey is not None:
        run.check_judged(survey, catalog.server)
    if catalog.connection is not None:
        run.check("ConnectionFacts", catalog.connection, catalog.server)
    for fact in facts:
        run.check(type(fact).__name__, fact, catalog.server)
    if kept is not None:
        run.recall_from(kept, checks, server_key, survey.judged_by if survey is not None else None)
    for tool in catalog.tools:
        if run.recall(tool):
            continue
        run.check("Item", tool, tool)
        mark = run.add_deferred(tool)
        run.check("Tool", tool, tool)
        if survey is not None:
            run.check_judged(survey, tool)
        if run.has_rules_for("SchemaTree") and tool.tree is not None:
            run.check("SchemaTree", tool.tree, tool)
        if checks is not None:
            run.check_hits(partial(checks.places_on_tool, tool, server_key), tool)
        run.keep(tool, mark)
        tool.release_tree()
    for scope, items in (
        ("Resource", catalog.resources),
        ("ResourceTemplate", catalog.templates),
        ("Prompt", catalog.prompts),
    ):
        for item in items:
            run.check("Item", item, item)
            run.add_deferred(item)
            run.check(scope, item, item)
            if survey is not None:
                run.check_judged(survey, item)
    for tried in catalog.item_probes or ():
        run.check("ItemProbes", tried, tried.item)
    for crash in run.crashes():
        run.check("RuleCrash", crash, catalog.server)
    return run.findings if catalog.source is None else [each for each in run.findings if not _is_guess(each)]


def _is_guess(finding: Finding) -> bool:
    """Whether a finding about Python source may only exist because something in the source is unknown.

    That is the case if the value it points at, a value around it, or one of its members is unknown.
    """
    item, pointer = finding.item, finding.pointer
    if not isinstance(item, Tool) or item.source is None:
        return False
    return not item.knows(pointer) or any(each.rpartition("/")[0] == pointer for each in item.source.unknown)


@lru_cache(maxsize=32)  # a run with many files has a few plans
def _by_scope(rules: tuple[Rule, ...]) -> dict[str, list[Rule]]:
    """The rules of each scope."""
    by_scope: dict[str, list[Rule]] = {}
    for rule in rules:
        by_scope.setdefault(rule.scope, []).append(rule)
    return by_scope


class _RuleRun:
    """One pass of rules over one catalog."""

    def __init__(self, rules: list[Rule]) -> None:
        self.findings: list[Finding] = []
        self._rules = _by_scope(tuple(rules))
        self._crashes: dict[str, RuleCrash] = {}
        self._deferred: dict[int, list[Finding]] = {}
        """Findings of catalog-wide rules about single items, by the id of the item, until that item is checked."""
        self._kept: KeptFindings | None = None
        self._start = 0
        """Where the findings about the present tool start, if they are kept."""
        self._irregular = 0
        """The number of crashes and of findings about other items than the checked one."""

    def recall_from(self, kept: KeptFindings, *setting: object) -> None:
        """Use the findings of an earlier check with the same rules and setting, and keep those of this one."""
        self._kept = kept
        kept.begin(self._rules, *setting)

    def recall(self, tool: Tool) -> bool:
        """Whether the findings about a tool are known from an earlier check; then add them."""
        if self._kept is None:
            return False
        self._start, self._irregular = len(self.findings), 0
        known = self._kept.recall(tool)
        if known is None:
            return False
        self.findings += known.as_item
        self.add_deferred(tool)
        self.findings += known.as_tool
        return True

    def keep(self, tool: Tool, mark: tuple[int, int]) -> None:
        """Keep the findings about a tool; `mark` is where those of catalog-wide rules start and end."""
        if self._kept is not None and not self._irregular:
            start, end = mark
            self._kept.keep(tool, self.findings[self._start : start], self.findings[end:])

    def has_rules_for(self, scope: str) -> bool:
        return scope in self._rules

    def check(self, scope: str, subject: Any, item: Item) -> None:
        """Run every rule of a scope on a subject, which is an item or a part of it."""
        self._run(self._rules.get(scope, ()), subject, item)

    def _run(self, rules: Iterable[Rule], subject: Any, item: Item) -> None:
        add = self.findings.append
        for base in rules:
            try:
                for problem in base.check(subject):
                    rule = base
                    if problem.severity is not None or problem.same_as is not None:
                        rule = base.for_problem(problem.severity, problem.same_as)
                    if problem.item is None:
                        add(_new(Finding, (rule, item, problem)))
                    else:
                        self._irregular += 1
                        found = Finding(rule, problem.item, problem)
                        self._deferred.setdefault(id(problem.item), []).append(found)
            except Exception as error:  # one rule's crash must not stop the others
                self._record_crash(base, item, error)

    def check_judged(self, survey: ItemSurvey, item: Item) -> None:
        """Run the rules of the revision that can concern an item."""
        try:
            concerned = survey.rules_for(item)
        except Exception as error:
            self._record_crash(self._rules["JudgedItem"][0], item, error)
            return
        if concerned:
            self._run(concerned, JudgedItem(item, survey.judged_by.revision), item)

    def survey(self, catalog: Catalog) -> ItemSurvey | None:
        """The rules of the revision, by what they can concern; None if there are none."""
        rules = self._rules.get("JudgedItem")
        return None if rules is None else ItemSurvey(catalog, rules)

    def check_hits(self, find: Callable[[], ClientHits | None], item: Item) -> None:
        """Run the rules about clients on an item, if it breaks a constraint of one."""
        rules = self._rules["ClientHits"]
        try:
            hits = find()
        except Exception as error:
            self._record_crash(rules[0], item, error)
            return
        if hits is not None:
            self._run([rule for rule in rules if rule.id in hits.by_rule], hits, item)

    def check_texts(self, catalog: Catalog, item: Item, bodies: Iterable[tuple[str, str]]) -> None:
        """Run the rules about texts that a model reads on those of one server, with the resources that were read."""
        from mcproof.poisoning.model_texts import ModelTexts

        self.check("ModelTexts", ModelTexts(catalog, bodies), item)

    def add_deferred(self, item: Item) -> tuple[int, int]:
        """Add the findings of catalog-wide rules about an item; return where they start and end."""
        start = len(self.findings)
        self.findings += self._deferred.pop(id(item), ())
        return start, len(self.findings)

    def _record_crash(self, rule: Rule, item: Item, error: Exception) -> None:
        self._irregular += 1
        first = self._crashes.get(rule.id) or RuleCrash(rule.id, item.subject, f"{type(error).__name__}: {error}", 0)
        self._crashes[rule.id] = first._replace(times=first.times + 1)

    def crashes(self) -> list[RuleCrash]:
        return list(self._crashes.values())
