"""Run rules on a catalog and observations, and collect their findings; say which rules could not be judged.

Why rules and subjects meet by class: docs/decisions/0062-subjects-by-class.md.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Finding, Problem
from mcproof.checks.rule import GradeTraits, Rule, TrustTraits
from mcproof.checks.subjects import (
    NOTHING,
    ONLY_SCANNED,
    ClientHits,
    DatedCatalog,
    DatedItem,
    Neighbourhood,
    Observed,
    RuleCrash,
    Unjudged,
    WholeCatalog,
    effective_revision,
    rules_about,
)
from mcproof.core.catalog.model import (
    METHODS,
    Catalog,
    Item,
    Prompt,
    Resource,
    ResourceTemplate,
    Server,
    Tool,
    unread_lists,
)
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import ObservedConnection
from mcproof.core.observations.probes import ItemProbes, ResourceBodies
from mcproof.core.schema.tree import SchemaTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcproof.checks.clients.hits import CatalogHits, ClientChecks

    Derive = Callable[[Any, "Context"], Iterable[Any]]


class Context:
    """What the subjects of one check are derived from."""

    def __init__(self, catalog: Catalog, observed: Observed, clients: ClientChecks | CatalogHits | None) -> None:
        self.catalog = catalog
        self.observed = observed
        self.servers = catalog.by_server()
        self.judged_by = effective_revision(catalog, observed.revision)
        self._clients = clients

    @cached_property
    def clients(self) -> ClientChecks | CatalogHits:
        """The constraints of clients; by default those that `lint` checks."""
        if self._clients is not None:
            return self._clients
        from mcproof.checks.clients.hits import default_client_checks  # here, as many runs have no rules about clients

        return default_client_checks()

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


def _dated(item: Item, context: Context) -> Iterable[DatedItem]:
    return (DatedItem(item, context.judged_by.revision),)


def _given(subject: Any | None) -> Iterable[Any]:
    return () if subject is None else (subject,)


DERIVED: Mapping[type, Mapping[type, Derive]] = {
    Catalog: {
        Catalog: _itself,
        DatedCatalog: lambda part, context: (DatedCatalog(part, context.judged_by),),
        Neighbourhood: lambda part, context: (Neighbourhood(part, context.observed.neighbours),),
        ClientHits: lambda part, context: _given(context.clients.places_on_server(part)),
    },
    Server: {DatedItem: _dated},
    Tool: {
        Item: _itself,
        Tool: _itself,
        DatedItem: _dated,
        SchemaTree: lambda tool, _: _given(tool.tree),
        ClientHits: lambda tool, context: _given(context.clients.places_on_tool(tool, context.server_key)),
    },
    Resource: {Item: _itself, Resource: _itself, DatedItem: _dated},
    ResourceTemplate: {Item: _itself, ResourceTemplate: _itself, DatedItem: _dated},
    Prompt: {Item: _itself, Prompt: _itself, DatedItem: _dated},
}
"""The subjects of each part of a catalog, in the order of their findings. An observation is its own subject."""

_IN_ONE_ROW = (Catalog, DatedCatalog, Neighbourhood)
"""The subjects whose rules run in one row, in the order of the rules: to a report they are all about the catalog."""

_OF_CATALOG = frozenset(subject for subjects in DERIVED.values() for subject in subjects)


def is_of_catalog(subject: type) -> bool:
    """Whether every catalog has these subjects. All others are observations, and crashes of rules."""
    return subject in _OF_CATALOG or issubclass(subject, WholeCatalog)


def _whole(subject: type[WholeCatalog]) -> Derive:
    def derive(part: Catalog, context: Context) -> Iterable[WholeCatalog]:
        read = context.observed.of(ResourceBodies) if part is context.servers[0] else []
        return (subject(part, [body for bodies in read for body in bodies.bodies]),)

    return derive


class Step(NamedTuple):
    """The rules about one subject of a part."""

    subject: type
    derive: Derive
    rules: tuple[Rule, ...]


@lru_cache(maxsize=32)  # a run with many files has a few plans
def _steps(rules: tuple[Rule, ...]) -> Mapping[type, list[Step]]:
    """What to check on each part of a catalog and on each observation, by its class."""
    subjects = dict.fromkeys(rule.subject for rule in rules)
    whole = {subject: _whole(subject) for subject in subjects if issubclass(subject, WholeCatalog)}
    observations = {subject: {subject: _itself} for subject in subjects if not is_of_catalog(subject)}
    # Sorted once for each set of rules, since a run with a folder of catalogs asks for them again and again.
    steps = {}
    for part, derived in {**DERIVED, Catalog: {**DERIVED[Catalog], **whole}, **observations}.items():
        places = {subject: 0 if subject in _IN_ONE_ROW else place for place, subject in enumerate(derived)}
        about = sorted((rule for rule in rules if rule.subject in places), key=lambda rule: places[rule.subject])
        groups = groupby(about, key=lambda rule: rule.subject)
        steps[part] = [Step(subject, derived[subject], tuple(group)) for subject, group in groups]
    return steps


def check(
    catalog: Catalog,
    rules: list[Rule],
    clients: ClientChecks | CatalogHits | None = None,
    observed: Observed = NOTHING,
) -> list[Finding]:
    """Run rules on a catalog and on what was observed besides.

    `clients` has the constraints for rules about clients; by default those that `lint` checks.
    """
    context = Context(catalog, observed, clients)
    run = _RuleRun(rules, context)
    for part, item in context.parts():
        run.check(part, item)
        if isinstance(part, Tool):
            part.release_tree()
    # Last, since every other rule may have added one; a crash of the rule about crashes is not reported again.
    for crash in list(run.crashes.values()):
        run.check(crash, catalog.server)
    return run.findings if catalog.source is None else [finding for finding in run.findings if not _is_guess(finding)]


def _is_guess(finding: Finding) -> bool:
    """Whether a finding about source may only exist because something in the source is unknown.

    That is the case if the value it points at, a value around it, or one of its members is unknown. Which members
    matter is known of the rules of the grade.
    """
    item, pointer = finding.item, finding.pointer
    if not isinstance(item, Tool) or item.source is None:
        return False
    if not item.knows(pointer):
        return True
    if isinstance(traits := finding.rule.traits.own, GradeTraits):
        return any(f"{pointer}/{member}" in item.source.unknown for member in traits.reads)
    return not item.source.knows_members(pointer)


class _RuleRun:
    """One pass of rules over one catalog."""

    def __init__(self, rules: list[Rule], context: Context) -> None:
        self.findings: list[Finding] = []
        self.crashes: dict[str, RuleCrash] = {}
        self._steps = _steps(tuple(rules))
        self._context = context
        self._deferred: dict[int, list[Finding]] = {}
        """Findings of catalog-wide rules about single items, by the id of the item, until that item is checked."""

    def check(self, part: Any, item: Item) -> None:
        """Run the rules about every subject of a part."""
        steps = self._steps.get(type(part), ())
        first = 1 if steps and steps[0].subject is Item else 0
        for step in steps[:first]:
            self._run(step, part, item)
        if part is item:
            self.findings += self._deferred.pop(id(item), ())
        for step in steps[first:]:
            self._run(step, part, item)

    def _run(self, step: Step, part: Any, item: Item) -> None:
        """Run the rules about one subject of a part."""
        rules = step.rules
        try:
            if step.subject is DatedItem:
                rules = rules_about(part, rules, self._context.judged_by)
            subjects = step.derive(part, self._context) if rules else ()
        except Exception as error:
            self._record_crash(rules[0], item, error)
            return
        for subject in subjects:
            # A tool breaks few of the rules about clients, so that to ask each would cost more than all findings.
            broken = [rule for rule in rules if rule.id in subject.by_rule] if step.subject is ClientHits else rules
            for rule in broken:
                try:
                    for problem in rule.check(subject):
                        self._add(rule, item, problem)
                except Exception as error:  # one rule's crash must not stop the others
                    self._record_crash(rule, item, error)

    def _add(self, rule: Rule, item: Item, problem: Problem) -> None:
        if problem.severity is not None or problem.same_as is not None:
            rule = rule.for_problem(problem.severity, problem.same_as)
        if problem.item is None:
            self.findings.append(Finding(rule, item, problem))
        else:
            self._deferred.setdefault(id(problem.item), []).append(Finding(rule, problem.item, problem))

    def _record_crash(self, rule: Rule, item: Item, error: Exception) -> None:
        first = self.crashes.get(rule.id) or RuleCrash(rule.id, item.subject, f"{type(error).__name__}: {error}", 0)
        self.crashes[rule.id] = first._replace(times=first.times + 1)


_SAID_ELSEWHERE = (RuleCrash, ObservedConnection, ItemProbes)
"""What a report says of the whole input: that there was no live connection, and that no tool was called."""


def _is_observation(rule: Rule) -> bool:
    """Whether a rule is about something that is observed besides the catalog."""
    return not is_of_catalog(rule.subject) and rule.subject not in _SAID_ELSEWHERE


def needs_observation(rule: Rule) -> bool:
    """Whether there are inputs on which a rule cannot be judged."""
    return _is_observation(rule) or _reads_lists(rule) or rule.traits.needs == "server"


def _reads_lists(rule: Rule) -> bool:
    own = rule.traits.own
    return isinstance(own, TrustTraits) and own.phase == "post-handshake"


def unjudged_rules(rules: Iterable[Rule], catalog: Catalog, observed: Observed = NOTHING) -> dict[str, Unjudged]:
    """The rules that could not be judged, by id."""
    unread = unread_lists(catalog)
    reasons = ((rule, _why(rule, catalog, observed, unread)) for rule in rules)
    return {rule.id: why for rule, why in reasons if why is not None}


def _why(rule: Rule, catalog: Catalog, observed: Observed, unread: Mapping[str, str]) -> Unjudged | None:
    if _is_observation(rule):
        return _why_unobserved(rule, observed)
    if _reads_lists(rule):
        if not catalog.lists_tools:
            return Unjudged(observed.unlisted)
        for key in _lists_read(rule):
            if key in unread:
                return Unjudged(unread[key])
    if rule.traits.needs == "neighbours" and not observed.neighbours:
        return Unjudged("no other server of a client configuration was read before", concerns=False)
    if rule.traits.needs == "resources" and not (catalog.resources or catalog.templates):
        return Unjudged("no resources are listed", concerns=False)
    if rule.traits.needs == "server" and not catalog.describes_server:
        of_source = catalog.source is not None or catalog.server_info
        return Unjudged("source code leaves it to the framework" if of_source else "a list of tools has no server info")
    return None


def _why_unobserved(rule: Rule, observed: Observed) -> Unjudged | None:
    for value in observed.of(rule.subject):
        if (why := getattr(value, "not_applicable", {}).get(rule.id)) is not None:
            return Unjudged(why, concerns=False)
        if (why := getattr(value, "unobserved", {}).get(rule.id)) is not None:
            return Unjudged(why)
        return None
    return observed.missing.get(rule.subject, Unjudged(ONLY_SCANNED))


def _lists_read(rule: Rule) -> Iterable[str]:
    """The keys of the lists that a rule about a catalog reads."""
    if issubclass(rule.subject, WholeCatalog):
        return METHODS
    if rule.traits.needs == "server":
        return ()
    return rule.traits.reads
