"""Run rules on a catalog and observations, and collect their findings; say which rules could not be judged.

The server comes first, then each item in catalog order. A schema is walked once for all rules. A rule that crashes
becomes one finding about that rule; all other checks continue. Each item is judged by the revision of its server.
Why a crash is a finding: docs/decisions/0018-rules-about-mcproof.md.
"""

from __future__ import annotations

import marshal
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.findings import Finding, Problem
from mcproof.checks.rule import FACTS, Rule
from mcproof.core.catalog.model import METHODS, Catalog, Item, SourceTool, Tool, unread_lists
from mcproof.core.catalog.tool_marks import NULL, ODD_TITLE
from mcproof.core.protocol import FIRST_STATELESS, HANDSHAKE, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.checks.clients.hits import CatalogHits, ClientChecks, ClientHits


ASSUMED = HANDSHAKE[0]
"""The revision that judges a catalog without a handshake."""

SERVER_ICONS = "(server icons)"

_MARKING_MEMBERS = frozenset({"icons", "_meta", "size", "mimeType", "annotations"})
"""The members that are marks themselves, `annotations` only on items that are not tools."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class JudgingRevision(NamedTuple):
    """The revision that judges a catalog."""

    revision: str
    is_assumed: bool = False
    """Whether the catalog does not name its revision: demands that only the newest one makes are then notes."""


class JudgedItem(NamedTuple):
    """An item with the revision that judges it."""

    item: Item
    revision: str


def judging_revision(catalog: Catalog) -> JudgingRevision:
    """The revision that judges a catalog: the user's choice, the negotiated one, or an assumed one."""
    if catalog.judged_as is not None:
        return known_revision(catalog.judged_as)
    revision = catalog.protocol
    if revision is None and isinstance(catalog.server.fields.get("discover"), dict):
        revision = FIRST_STATELESS
    return known_revision(revision)


@lru_cache(maxsize=64)
def known_revision(revision: str | None) -> JudgingRevision:
    """A revision, or the last one before it that exists."""
    if revision is None or _DATE.fullmatch(revision) is None:
        return JudgingRevision(ASSUMED, is_assumed=True)
    return JudgingRevision(max((each for each in REVISIONS if each <= revision), default=min(REVISIONS)))


class ItemSurvey:
    """The rules that can concern each item of one catalog."""

    def __init__(self, catalog: Catalog, rules: list[Rule]) -> None:
        self.judged_by = judging_revision(catalog)
        self._rules = _applying(tuple(rules), self.judged_by)
        self._needed = _marks_needed(tuple(self._rules))
        self._chosen: dict[tuple[str, frozenset[str]], list[Rule]] = {}

    def rules_for(self, item: Item) -> list[Rule]:
        """The rules that can concern an item."""
        key = item.kind, self._tool_marks(item) if isinstance(item, Tool) else frozenset(_marks(item))
        rules = self._chosen.get(key)
        if rules is None:
            kind, marks = key
            rules = self._chosen[key] = [
                each
                for each in self._rules
                if kind in each.traits["kinds"]
                and (not each.traits["marks"] or not marks.isdisjoint(each.traits["marks"]))
            ]
        return rules

    def _tool_marks(self, tool: Tool) -> frozenset[str]:
        found = self._needed & tool.marks
        return found if tool.tree is None else found | (self._needed & tool.tree.marks)


@lru_cache(maxsize=32)  # a run with many files has a few
def _applying(rules: tuple[Rule, ...], judged_by: JudgingRevision) -> list[Rule]:
    """The rules of a revision, and, if it is only assumed, those that only the newest one has."""
    revision, is_assumed = judged_by
    return [
        each
        for each in rules
        if revision in each.traits["revisions"] or (is_assumed and min(each.traits["revisions"]) == FIRST_STATELESS)
    ]


@lru_cache(maxsize=32)
def _marks_needed(rules: tuple[Rule, ...]) -> frozenset[str]:
    """The marks that choose between these rules."""
    return frozenset().union(*(each.traits["marks"] for each in rules))


def _marks(item: Item) -> set[str]:
    """The marks of an item that is not a tool."""
    if item.kind == "server":
        introduction = item.fields.get("initialize")
        info = introduction.get("serverInfo") if isinstance(introduction, dict) else None
        return {SERVER_ICONS} if isinstance(info, dict) and "icons" in info else set()
    marks = {*(_MARKING_MEMBERS & item.fields.keys())}
    if "title" in item.fields:
        marks.add(ODD_TITLE)
    if None in item.fields.values():
        marks.add(NULL)
    return marks


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
        from mcproof.checks.clients.hits import usual_checks

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
        from mcproof.checks.texts.model_texts import ModelTexts

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


if TYPE_CHECKING:
    ToolKey = tuple[bytes, SourceTool | None]


class FindingsOfTool(NamedTuple):
    """The findings about a tool: of rules about every item, and of all other rules."""

    as_item: list[Finding]
    as_tool: list[Finding]


class _Kept(NamedTuple):
    pointer: str
    """The pointer of the tool when it was checked."""
    as_item: tuple[tuple[Rule, Problem], ...]
    as_tool: tuple[tuple[Rule, Problem], ...]


class KeptFindings:
    """The findings of the last check, by the content of each tool."""

    def __init__(self) -> None:
        self._setting: tuple[Any, ...] = ()
        self._last: dict[ToolKey, _Kept] = {}
        self._now: dict[ToolKey, _Kept] = {}

    def begin(self, rules: object, *setting: object) -> None:
        """Start a check with a table of rules and other settings; other ones make all earlier findings useless."""
        is_same = bool(self._setting) and self._setting[0] is rules and self._setting[1:] == setting
        self._setting = (rules, *setting)
        self._last, self._now = self._now if is_same else {}, {}

    def recall(self, tool: Tool) -> FindingsOfTool | None:
        """The findings about a tool, if an equal one was in the last check."""
        key = _key(tool)
        known = self._last.get(key) if key is not None else None
        if key is None or known is None:
            return None
        self._now[key] = known
        return FindingsOfTool(_about(tool, known.as_item, known.pointer), _about(tool, known.as_tool, known.pointer))

    def keep(self, tool: Tool, as_item: Iterable[Finding], as_tool: Iterable[Finding]) -> None:
        """Keep the findings about a tool, unless one of them has a place of its own in the text."""
        key = _key(tool)
        kept = [tuple((each.rule, each.problem) for each in findings) for findings in (as_item, as_tool)]
        if key is not None and all(_can_move(problem, tool) for part in kept for _, problem in part):
            self._now[key] = _Kept(tool.pointer, *kept)


def _key(tool: Tool) -> ToolKey | None:
    """What the findings about a tool depend on; None for a tool without a name, whose number is its name."""
    if not tool.name or (tool.document is not None and tool.document.has_duplicate_keys):
        return None
    try:
        return marshal.dumps(tool.raw, 2), tool.source
    except ValueError:  # too deep
        return None


def _can_move(problem: Problem, tool: Tool) -> bool:
    near = problem.near
    return near is None or (isinstance(near, str) and near.startswith(f"{tool.pointer}/"))


def _about(tool: Tool, kept: tuple[tuple[Rule, Problem], ...], pointer: str) -> list[Finding]:
    return [Finding(rule, tool, _moved(problem, pointer, tool.pointer)) for rule, problem in kept]


def _moved(problem: Problem, before: str, now: str) -> Problem:
    if before == now or not isinstance(problem.near, str):
        return problem
    return problem._replace(near=now + problem.near.removeprefix(before))


NO_TOOLS = "no list of tools"
ONLY_SCANNED = "only `mcproof scan` observes it"


class Unjudged(NamedTuple):
    """Why a rule neither passes nor fails."""

    why: str
    concerns: bool = True
    """Whether the rule concerns the target and could not be observed; false if it does not apply to it."""
    is_crash: bool = False
    """Whether the rule crashed: a hostile server may have caused it."""


class Observed(NamedTuple):
    """What was observed of a target besides its catalog."""

    facts: tuple[Any, ...] = ()
    """Values of the classes in `FACTS`."""
    absent: Mapping[str, Unjudged] = {}
    """Why a fact was not collected, by the name of its class."""
    unlisted: str = NO_TOOLS
    """Why there is no list of tools, if there is none."""


NOTHING = Observed()


def needs_observation(rule: Rule) -> bool:
    """Whether there are inputs on which a rule cannot be judged."""
    return rule.scope in FACTS or rule.traits.get("phase") == "post-handshake" or rule.traits.get("needs") == "server"


def unjudged_rules(rules: Iterable[Rule], catalog: Catalog, observed: Observed = NOTHING) -> dict[str, Unjudged]:
    """The rules that could not be judged, by id."""
    facts = {type(fact).__name__: fact for fact in observed.facts}
    unread = unread_lists(catalog)
    found = {}
    for rule in rules:
        why = _why(rule, catalog, observed, facts, unread)
        if why is not None:
            found[rule.id] = why
    return found


def _why(
    rule: Rule, catalog: Catalog, observed: Observed, facts: Mapping[str, Any], unread: Mapping[str, str]
) -> Unjudged | None:
    if rule.scope in FACTS:
        fact = facts.get(rule.scope)
        if fact is None:
            return observed.absent.get(rule.scope, Unjudged(ONLY_SCANNED))
        if (why := getattr(fact, "not_applicable", {}).get(rule.id)) is not None:
            return Unjudged(why, concerns=False)
        if (why := getattr(fact, "unobserved", {}).get(rule.id)) is not None:
            return Unjudged(why)
        return None
    if rule.traits.get("phase") == "post-handshake":
        if not catalog.lists_tools:
            return Unjudged(observed.unlisted)
        for key in _lists_read(rule):
            if key in unread:
                return Unjudged(unread[key])
    if rule.traits.get("needs") == "neighbours" and not catalog.neighbours:
        return Unjudged("no other server of a client configuration was read before", concerns=False)
    if rule.traits.get("needs") == "resources" and not (catalog.resources or catalog.templates):
        return Unjudged("no resources are listed", concerns=False)
    if rule.traits.get("needs") == "server" and not catalog.describes_server:
        of_source = catalog.source is not None or catalog.server_info
        return Unjudged("source code leaves it to the framework" if of_source else "a list of tools has no server info")
    return None


def _lists_read(rule: Rule) -> Iterable[str]:
    """The keys of the lists that a rule about a catalog reads."""
    if rule.scope == "ModelTexts":
        return METHODS
    if rule.traits.get("needs") == "server":
        return ()
    reads: tuple[str, ...] = rule.traits.get("reads", ("tools",))
    return reads
