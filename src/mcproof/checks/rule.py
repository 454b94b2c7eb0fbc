"""Rules: their ids, rulesets and faults, how they are registered, and which of them a run chooses.

A rule is a generator function with a decorator, which names the class of its subject; its docstring is its
documentation: a sentence, then `Why:` and `Fix:` paragraphs, and `Disable:` where a project may do without it. Advice
that differs for JavaScript goes on with `In JavaScript:`. The verdicts of `scan` and their limits are here, too.
Why rules are generators: docs/decisions/0019-rules-are-generators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from mcproof.checks.findings import Level, Problem, level_of
from mcproof.core.catalog.model import Kind
from mcproof.core.errors import UsageError, nearest
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    # Not loaded for it: only `scan` judges an exposure, and every command imports the rules.
    from mcproof.core.observations.perimeter import Exposure

S = TypeVar("S")
"""What a rule checks: an item, a part of one, a catalog, or an observation."""

Check = Callable[[S], Iterator[Problem]]


class Fault(NamedTuple):
    """An entry of the fault taxonomy that static rules and runtime probes share."""

    id: str
    summary: str
    paper: str


_REAL_FAULTS, _RUNTIME_FAULTS = "arXiv:2603.05637", "arXiv:2606.05339"

MISSING_REQUIRED = Fault(
    "FAULT-SCHEMA-MISSING-REQUIRED", "A call without a required argument is not rejected.", _REAL_FAULTS
)
TYPE_MISMATCH = Fault(
    "FAULT-SCHEMA-TYPE-MISMATCH", "An argument of the wrong type reaches the tool's logic.", _REAL_FAULTS
)
UNEXPECTED_FIELD = Fault("FAULT-SCHEMA-UNEXPECTED-FIELD", "An unknown argument is silently accepted.", _REAL_FAULTS)
OVERSIZED = Fault(
    "FAULT-INPUT-OVERSIZED",
    "An argument of any size is accepted, even one that hangs or crashes the server.",
    _RUNTIME_FAULTS,
)
UNKNOWN_METHOD = Fault(
    "FAULT-PROTO-UNKNOWN-METHOD", "A call of something that does not exist succeeds.", _RUNTIME_FAULTS
)
FAULTS = {fault.id: fault for fault in (MISSING_REQUIRED, TYPE_MISMATCH, UNEXPECTED_FIELD, OVERSIZED, UNKNOWN_METHOD)}


class Ruleset(NamedTuple):
    """A family of rules with its own severities."""

    name: str
    summary: str
    is_default: bool


RULESETS = {
    ruleset.name: ruleset
    for ruleset in (
        Ruleset("catalog", "Problems of the input itself; not part of a score.", True),
        Ruleset("strict", "Whether input schemas constrain what callers may send.", False),
        Ruleset("grade", "The 21 rules behind the grade from A to F.", True),
        Ruleset("trust", "Whether agents and reviewers can rely on the catalog.", True),
        Ruleset("spec", "Demands of the MCP specification, by protocol revision.", True),
        Ruleset("polish", "Whether names, descriptions and schemas are clear to the model that reads them.", False),
        Ruleset("compat", "What breaks in MCP clients and model APIs; not part of a score.", True),
        Ruleset("wire", "Problems of a live connection and its responses; not part of a score.", True),
    )
}
"""Each ruleset is a module of the same name in `mcproof.checks.rules`."""

Need = Literal["neighbours", "resources", "server"]
ListName = Literal["tools", "resources", "resourceTemplates", "prompts"]
Phase = Literal["perimeter", "post-handshake", "auth-required", "source", "drift"]
Dimension = Literal[
    "Transport security",
    "Endpoint hygiene",
    "Tool surface risk",
    "Schema quality",
    "MCP discovery posture",
    "Exposure minimization",
    "Metadata transparency",
    "Auth discovery posture",
]

Identity = Callable[[dict[str, Any]], str | None]
"""Returns the identity of a finding from its evidence; None if its pointer identifies it."""
HardFail = Callable[[Mapping[str, Any], "Exposure"], bool]
"""Whether a finding with this evidence forces the verdict `block`, for a server reached like this."""


class GradeTraits(NamedTuple):
    """What a rule of the `grade` ruleset adds."""

    remedy: str
    """What to do about `{n}` findings, in a few words."""
    reads: tuple[str, ...]
    """What it reads of the value that a finding points at; one that is unknown makes the finding a guess."""


class TrustTraits(NamedTuple):
    """What a rule of the `trust` ruleset adds."""

    weight: int
    dimension: Dimension
    phase: Phase
    hard_fail: HardFail | None = None
    """Which findings alone block a server."""
    counted_by: str | None = None
    """The rule that states the same fact in the score."""
    chosen: tuple[str, ...] = ()
    """What the published catalog leaves open and mcproof sets: `severity`, `weight`."""
    title_of: Callable[[Mapping[str, Any]], str | None] | None = None
    """Another title for findings that the summary does not describe."""


class SpecTraits(NamedTuple):
    """What a rule of the `spec` ruleset adds."""

    revisions: tuple[str, ...]
    """The revisions of the protocol that make the demand."""
    source: str
    """The address of the page that has it."""
    kinds: tuple[Kind, ...]
    """The kinds of items that can have a problem."""
    needs: frozenset[str] | None
    """The marks of which a tool must have one to have a problem; None if any tool may."""


T = TypeVar("T", GradeTraits, TrustTraits, SpecTraits)


class RuleTraits(NamedTuple):
    """What the engine and the reports ask of every rule."""

    in_lint: bool = True
    """Whether `lint` runs it by default."""
    needs: Need | None = None
    """What an input has to have, else the rule cannot be judged."""
    reads: tuple[ListName, ...] = ("tools",)
    """The lists that a rule about a catalog reads."""
    compares_lists: bool = False
    """Whether it needs the tools of a second connection."""
    accompanies: str | None = None
    """The ruleset, or `all`, that it runs with, to report where its checks fell short."""
    sums_up: Identity | None = None
    """The identity of a finding that summarises several places."""
    withholds_line: bool = False
    """Whether a report may not quote the line of a finding, because the line has a secret."""
    own: GradeTraits | TrustTraits | SpecTraits | None = None
    """What its ruleset adds."""


USUAL = RuleTraits()


class Rule:
    """One check with a permanent id."""

    def __init__(
        self,
        check: Check[Any],
        *,
        subject: type[Any],
        id: str,
        ruleset: str,
        name: str,
        severity: str,
        category: str,
        fault: Fault | None,
        fixable: bool,
        since: str,
        traits: RuleTraits = USUAL,
        same_as: str | None = None,
    ) -> None:
        self.check = check
        self._docstring = check.__doc__ or ""
        self.id = id
        self.ruleset = ruleset
        self.name = name
        self.severity = severity
        self.scheme_severity = severity
        """The severity in its ruleset, which scores use even if a user changes the severity."""
        self.level: Level = level_of(severity)
        self.category = category
        self.fault = fault
        self.fixable = fixable
        self.needs_language_model = False
        self.since = since
        self.same_as = same_as
        """The id of an equivalent rule in another ruleset."""
        self.traits = traits
        self.subject = subject
        """The class that the check takes."""
        self._is_severity_chosen = False
        """Whether the user set the severity, which then holds for every problem."""
        self._variants: dict[tuple[str, str | None], Rule] = {}

    def own(self, kind: type[T]) -> T:
        """What its ruleset adds to the traits of a rule."""
        if not isinstance(self.traits.own, kind):
            raise TypeError(f"rule {self.id} has no {kind.__name__}")
        return self.traits.own

    def with_severity(self, severity: str) -> Rule:
        """The same rule with a severity that the user chose; scores do not change."""
        chosen = self._copy(severity)
        chosen._is_severity_chosen = True
        return chosen

    def _copy(self, severity: str) -> Rule:
        from copy import copy

        changed = copy(self)
        changed.severity, changed.level = severity, level_of(severity)
        # Not shared with the copy, whose variants have another severity.
        changed._variants = {}
        return changed

    def for_problem(self, severity: str | None, same_as: str | None) -> Rule:
        """The rule as it reports a problem with its own severity or equivalent; a user's severity comes first."""
        # What a user decides about a rule holds for all that it reports.
        if severity is None or self._is_severity_chosen:
            severity = self.severity
        same_as = same_as or self.same_as
        if severity == self.severity and same_as == self.same_as:
            return self
        key = severity, same_as
        if key not in self._variants:
            self._variants[key] = self._copy(severity)
            self._variants[key].same_as = same_as
        return self._variants[key]

    @property
    def repeated(self) -> str | None:
        """The id of the rule whose ignores apply to it too; rules about clients and trust have their own ignores."""
        return self.same_as if self.ruleset in _REPEATING else None

    @property
    def summary(self) -> str:
        """What it reports, in one sentence."""
        return next(iter(self._documentation()), "")

    @property
    def details(self) -> list[str]:
        """Further documentation, such as exceptions."""
        return [text for text in self._documentation()[1:] if not text.startswith(_LABELS)]

    @property
    def why(self) -> str:
        return self._paragraph("Why:")

    @property
    def advice(self) -> str:
        """How to fix a finding."""
        return self._paragraph("Fix:")

    @property
    def disabling(self) -> str:
        """When a project may do without it."""
        return (
            self._paragraph("Disable:") or "where a finding is meant to be so: ignore it for that tool, with a reason."
        )

    def _paragraph(self, label: str) -> str:
        return next((text[len(label) :].strip() for text in self._documentation() if text.startswith(label)), "")

    def _documentation(self) -> list[str]:
        """The docstring's paragraphs, each on one line; a labelled line starts a new paragraph."""
        lines = [line.strip() for line in self._docstring.splitlines()]
        text = "\n".join(lines).replace("\nFix:", "\n\nFix:").replace("\nDisable:", "\n\nDisable:")
        return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


_LABELS = ("Why:", "Fix:", "Disable:")
_REPEATING = frozenset({"spec", "polish"})
"""Rulesets that report facts which other rulesets report too."""

CRASHED = "CAT-004"
"""The rule that reports crashes of other rules; its evidence names the rule that crashed."""

_RULESETS_PACKAGE = "mcproof.checks.rules"
_RULES: dict[str, Rule] = {}


def rule(
    subject: type[S],
    id: str,
    *,
    ruleset: str,
    severity: str,
    category: str,
    name: str | None = None,
    fault: Fault | None = None,
    fixable: bool = False,
    since: str = "0.1.0",
    same_as: str | None = None,
    traits: RuleTraits = USUAL,
) -> Callable[[Check[S]], Check[S]]:
    """Register a generator of problems about a class of subjects as a rule. The name defaults to the id."""

    def register(check: Check[S]) -> Check[S]:
        if id in _RULES:
            raise ValueError(f"two rules have the id {id}")
        _in_order.cache_clear()
        _RULES[id] = Rule(
            check,
            subject=subject,
            id=id,
            ruleset=ruleset,
            name=name or id,
            severity=severity,
            category=category,
            fault=fault,
            fixable=fixable,
            since=since,
            traits=traits,
            same_as=same_as,
        )
        return check

    return register


def rules_of(*rulesets: str, in_lint: bool = False) -> list[Rule]:
    """The rules of these rulesets, in the order of the rulesets and of definition.

    With `in_lint`, only those that `lint` runs by default; modules that have none of them are not imported.
    """
    for ruleset in rulesets:
        # Imported on demand: most runs use a few of the rulesets, and a rule registers itself when its module is
        # imported.
        package = import_module(f"{_RULESETS_PACKAGE}.{ruleset}")
        for name in () if in_lint else getattr(package, "NOT_IN_LINT", ()):
            import_module(name)
    rules = [rule for ruleset in rulesets for rule in _in_order(ruleset)]
    return [rule for rule in rules if rule.traits.in_lint] if in_lint else rules


@cache  # a sweep asks for each of thousands of targets; forgotten when a rule is registered
def _in_order(ruleset: str) -> list[Rule]:
    """The imported rules of a ruleset: in the order that its package states, else of their ids or of definition."""
    rules = [rule for rule in _RULES.values() if rule.ruleset == ruleset]
    stated: tuple[str, ...] = getattr(import_module(f"{_RULESETS_PACKAGE}.{ruleset}"), "ORDER", ())
    if stated:
        positions = {rule_id: position for position, rule_id in enumerate(stated)}
        return sorted(rules, key=lambda rule: positions.get(rule.id, len(positions)))
    # Ids with numbers are in the order of their rulebook, whichever module of the ruleset is imported first.
    return sorted(rules, key=lambda rule: rule.id if rule.id[-1].isdigit() else "")


def all_rules() -> list[Rule]:
    return rules_of(*RULESETS)


def find_rule(word: str) -> Rule:
    """The rule with this id or name, in any case. Raises a UsageError with the nearest match."""
    rules = all_rules()
    wanted = word.lower()
    for rule in rules:
        if wanted in (rule.id.lower(), rule.name.lower()):
            return rule
    names = [*RULESETS, *(name for rule in rules for name in (rule.id, rule.name))]
    raise UsageError(f"unknown rule `{word}`{nearest(word, names)}; `mcproof explain rules` lists them all")


def choose_rules(
    rulesets: Iterable[str], *, select: Iterable[str] = (), ignore: Iterable[str] = (), in_lint: bool = False
) -> list[Rule]:
    """The rules to run: those of `rulesets`, or only those in `select`, without those in `ignore`.

    Rules are named by id or name, families by their ruleset. A rule that accompanies a ruleset, to report where its
    checks fell short, runs exactly when that ruleset does.
    """
    expanded = [name for word in rulesets for name in (RULESETS if word == "all" else (word,))]
    for name in expanded:
        if name not in RULESETS:
            names = [*RULESETS, "all"]
            raise UsageError(f"unknown ruleset `{name}`{nearest(name, names)}; there are {', '.join(names)}")
    selected = rules_named(select)
    ignored = {rule.id for rule in rules_named(ignore)}
    chosen = selected or rules_of(*dict.fromkeys(expanded), in_lint=in_lint)
    if all(rule.id in ignored for rule in chosen):
        raise UsageError("no rules left to run: `ignore` names all selected rules")
    running = {"all", *(rule.ruleset for rule in chosen)}
    companions = {
        rule: rule.traits.accompanies in running for rule in rules_of("catalog") if rule.traits.accompanies is not None
    }
    # A rule that reports where checks fell short says nothing without those checks.
    rules = [rule for rule in chosen if companions.get(rule, True) or rule in selected]
    rules += [rule for rule, is_wanted in companions.items() if is_wanted and rule not in rules]
    return [rule for rule in rules if rule.id not in ignored]


def rules_named(words: Iterable[str]) -> list[Rule]:
    """The rules that ids, names and rulesets stand for. Raises a UsageError for an unknown one."""
    named: dict[str, Rule] = {}
    for word in words:
        family = word.lower()
        families = RULESETS if family == "all" else [family] if family in RULESETS else []
        rules = rules_of(*families) if families else [find_rule(word)]
        named.update((rule.id, rule) for rule in rules)
    return list(named.values())


def is_ignored(rule: Rule, ignored: frozenset[str]) -> bool:
    """Whether rules that a user ignores include a rule, or one that it repeats and that is not ignored as a ruleset."""
    if rule.id in ignored:
        return True
    return rule.repeated is not None and rule.repeated in _ignored_singly(ignored)


@lru_cache(maxsize=64)
def _ignored_singly(ignored: frozenset[str]) -> frozenset[str]:
    """The rules that are not ignored together with their whole ruleset."""
    rulesets = {rule.ruleset for rule in _RULES.values() if rule.id in ignored}
    whole = {name for name in rulesets if all(rule.id in ignored for rule in rules_of(name))}
    return frozenset(rule.id for rule in _RULES.values() if rule.id in ignored and rule.ruleset not in whole)


Verdict = Literal["allow", "review", "block"]
VERDICTS: tuple[Verdict, ...] = ("allow", "review", "block")
"""From the best to the worst."""


class Thresholds(NamedTuple):
    """The least trust scores of the verdicts `allow` and `review`; below both, the verdict is `block`."""

    allow: int = 80
    review: int = 50
