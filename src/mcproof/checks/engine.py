"""Run rules on a catalog and observations, and collect their findings.

The server comes first, then each item in catalog order. A schema is walked once for all rules. A rule that crashes
becomes one finding about that rule; all other checks continue. Each item is judged by the revision of its server.
Why a crash is a finding: docs/decisions/0018-rules-about-mcproof.md. Why subjects are classes:
docs/decisions/0062-subjects-by-class.md.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.findings import Finding
from mcproof.checks.subjects import NOTHING, ClientHits, ItemSurvey, JudgedItem, RuleCrash, judging_revision
from mcproof.checks.texts.model_texts import ModelTexts
from mcproof.core.catalog.model import Catalog, Item, Prompt, Resource, ResourceTemplate, Server, Tool
from mcproof.core.observations.probes import ItemProbes, ResourceBodies
from mcproof.core.schema.tree import SchemaTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcproof.checks.clients.hits import CatalogHits, ClientChecks
    from mcproof.checks.kept_findings import KeptFindings
    from mcproof.checks.rule import Rule
    from mcproof.checks.subjects import Observed

    Derive = Callable[[Any, "Context"], Iterable[Any]]


class Context:
    """What the subjects of one check are derived from."""

    def __init__(self, catalog: Catalog, observed: Observed, clients: ClientChecks | CatalogHits | None) -> None:
        self.catalog = catalog
        self.observed = observed
        self.servers = catalog.by_server()
        self.judged_by = judging_revision(catalog)
        self._clients = clients

    @cached_property
    def clients(self) -> ClientChecks | CatalogHits:
        """The constraints of clients; by default those that `lint` checks."""
        if self._clients is not None:
            return self._clients
        from mcproof.checks.clients.hits import usual_checks  # here, as many runs have no rules about clients

        return usual_checks()

    @cached_property
    def server_key(self) -> str:
        return self.clients.key_of(self.catalog)

    def parts(self) -> Iterator[tuple[Any, Item]]:
        """Everything that has subjects, in the order of the findings, each with the item that findings are about."""
        catalog, server = self.catalog, self.catalog.server
        yield from ((part, server) for part in self.servers)
        yield server, server
        yield from ((value, server) for value in self.observed.values if not isinstance(value, ItemProbes))
        for items in (catalog.tools, catalog.resources, catalog.templates, catalog.prompts):
            yield from ((item, item) for item in items)
        yield from ((probes, probes.item) for probes in self.observed.of(ItemProbes))


def _itself(part: Any, _: Context) -> Iterable[Any]:
    return (part,)


def _dated(item: Item, context: Context) -> Iterable[JudgedItem]:
    return (JudgedItem(item, context.judged_by.revision),)


def _tree(tool: Tool, _: Context) -> Iterable[SchemaTree]:
    return () if tool.tree is None else (tool.tree,)


def _texts(part: Catalog, context: Context) -> Iterable[ModelTexts]:
    read = context.observed.of(ResourceBodies) if part is context.servers[0] else []
    return (ModelTexts(part, [body for bodies in read for body in bodies.bodies]),)


def _hits_on_server(part: Catalog, context: Context) -> Iterable[ClientHits]:
    hits = context.clients.places_on_server(part)
    return () if hits is None else (hits,)


def _hits_on_tool(tool: Tool, context: Context) -> Iterable[ClientHits]:
    hits = context.clients.places_on_tool(tool, context.server_key)
    return () if hits is None else (hits,)


DERIVED: Mapping[type, Mapping[type, Derive]] = {
    Catalog: {Catalog: _itself, ClientHits: _hits_on_server, ModelTexts: _texts},
    Server: {JudgedItem: _dated},
    Tool: {Item: _itself, Tool: _itself, JudgedItem: _dated, SchemaTree: _tree, ClientHits: _hits_on_tool},
    Resource: {Item: _itself, Resource: _itself, JudgedItem: _dated},
    ResourceTemplate: {Item: _itself, ResourceTemplate: _itself, JudgedItem: _dated},
    Prompt: {Item: _itself, Prompt: _itself, JudgedItem: _dated},
}
"""The subjects of each part of a catalog, in the order of their findings. An observation is its own subject."""

OF_CATALOG = frozenset(subject for subjects in DERIVED.values() for subject in subjects)
"""The subjects that every catalog has. All others are observations, and crashes of rules."""


class Step(NamedTuple):
    """The rules about one subject of a part."""

    subject: type
    derive: Derive
    rules: list[Rule]


@lru_cache(maxsize=32)  # a run with many files has a few plans
def _steps(rules: tuple[Rule, ...]) -> Mapping[type, list[Step]]:
    """What to check on each part of a catalog and on each observation, by its class."""
    by_subject: dict[type, list[Rule]] = {}
    for rule in rules:
        by_subject.setdefault(rule.subject, []).append(rule)
    observations = {subject: {subject: _itself} for subject in by_subject if subject not in OF_CATALOG}
    return {
        part: [Step(subject, derived[subject], by_subject[subject]) for subject in derived if subject in by_subject]
        for part, derived in {**DERIVED, **observations}.items()
    }


def check(
    catalog: Catalog,
    rules: list[Rule],
    clients: ClientChecks | CatalogHits | None = None,
    observed: Observed = NOTHING,
    kept: KeptFindings | None = None,
) -> list[Finding]:
    """Run rules on a catalog and on what was observed besides.

    `clients` has the constraints for rules about clients; by default those that `lint` checks. `kept` has the findings
    about tools of an earlier check, for callers that check a catalog after every edit.
    """
    context = Context(catalog, observed, clients)
    run = _RuleRun(rules, context)
    if kept is not None:
        kept.begin(_steps(tuple(rules)), clients, catalog.server_info.get("name"), context.judged_by)
    for part, item in context.parts():
        if isinstance(part, Tool) and kept is not None:
            run.check_kept(part, kept)
        else:
            run.check(part, item)
        if isinstance(part, Tool):
            part.release_tree()
    for crash in run.crashes():
        run.check(crash, catalog.server)
    return run.findings if catalog.source is None else [each for each in run.findings if not _is_guess(each)]


def _is_guess(finding: Finding) -> bool:
    """Whether a finding about Python source may only exist because something in the source is unknown.

    That is the case if the value it points at, a value around it, or one of its members is unknown.
    """
    item, pointer = finding.item, finding.pointer
    if not isinstance(item, Tool) or item.source is None:
        return False
    return not item.knows(pointer) or any(each.rpartition("/")[0] == pointer for each in item.source.unknown)


class _RuleRun:
    """One pass of rules over one catalog."""

    def __init__(self, rules: list[Rule], context: Context) -> None:
        self.findings: list[Finding] = []
        self._steps = _steps(tuple(rules))
        self._context = context
        self._crashes: dict[str, RuleCrash] = {}
        self._deferred: dict[int, list[Finding]] = {}
        """Findings of catalog-wide rules about single items, by the id of the item, until that item is checked."""
        self._irregular = 0
        """The number of crashes and of findings about other items than the checked one."""

    @cached_property
    def _survey(self) -> ItemSurvey:
        [rules] = (step.rules for step in self._steps[Server] if step.subject is JudgedItem)
        return ItemSurvey(rules, self._context.judged_by)

    def check(self, part: Any, item: Item) -> tuple[int, int]:
        """Run the rules about every subject of a part; return where deferred findings start and end."""
        steps = self._steps.get(type(part), ())
        first = 1 if steps and steps[0].subject is Item else 0
        for step in steps[:first]:
            self._run(step, part, item)
        start = len(self.findings)
        if part is item:
            self.findings += self._deferred.pop(id(item), ())
        end = len(self.findings)
        for step in steps[first:]:
            self._run(step, part, item)
        return start, end

    def check_kept(self, tool: Tool, kept: KeptFindings) -> None:
        """Add the findings about a tool that are known from an earlier check, or check it and keep them."""
        known = kept.recall(tool)
        if known is not None:
            self.findings += [*known.as_item, *self._deferred.pop(id(tool), ()), *known.as_tool]
            return
        begin, self._irregular = len(self.findings), 0
        start, end = self.check(tool, tool)
        if not self._irregular:
            kept.keep(tool, self.findings[begin:start], self.findings[end:])

    def _run(self, step: Step, part: Any, item: Item) -> None:
        """Run the rules about one subject of a part."""
        rules = step.rules
        try:
            if step.subject is JudgedItem:
                rules = self._survey.rules_for(part)
            subjects = step.derive(part, self._context) if rules else ()
        except Exception as error:
            self._record_crash(rules[0], item, error)
            return
        add = self.findings.append
        for subject in subjects:
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

    def _record_crash(self, rule: Rule, item: Item, error: Exception) -> None:
        self._irregular += 1
        first = self._crashes.get(rule.id) or RuleCrash(rule.id, item.subject, f"{type(error).__name__}: {error}", 0)
        self._crashes[rule.id] = first._replace(times=first.times + 1)

    def crashes(self) -> list[RuleCrash]:
        return list(self._crashes.values())


_new = tuple.__new__
"""Builds a named tuple faster than a call of its class; used where there is one for each finding."""
