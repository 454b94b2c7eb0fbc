"""The rules there are: their ids, rulesets and faults, and how a user picks some of them.

A rule is a generator with a decorator. The annotation of its first parameter says what it looks at; its
docstring is its documentation: a sentence, then `Why:` and `Fix:` paragraphs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.errors import UsageError, nearest
from mcproof.linting.finding import Level, level_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.linting.finding import Problem

    Check = Callable[[Any], Iterator[Problem]]


class Fault(NamedTuple):
    """An entry of the fault taxonomy that static rules and runtime probes share."""

    id: str
    summary: str
    paper: str


_REAL_FAULTS, _RUNTIME_FAULTS = "arXiv:2603.05637", "arXiv:2606.05339"

MISSING_REQUIRED = Fault(
    "FAULT-SCHEMA-MISSING-REQUIRED", "A call without an argument that the tool needs is not refused.", _REAL_FAULTS
)
TYPE_MISMATCH = Fault(
    "FAULT-SCHEMA-TYPE-MISMATCH", "An argument of the wrong type reaches the tool's logic.", _REAL_FAULTS
)
UNEXPECTED_FIELD = Fault(
    "FAULT-SCHEMA-UNEXPECTED-FIELD", "An argument that the tool does not know is accepted in silence.", _REAL_FAULTS
)
OVERSIZED = Fault(
    "FAULT-INPUT-OVERSIZED",
    "An argument of any size is accepted, up to what hangs or ends the server.",
    _RUNTIME_FAULTS,
)
UNKNOWN_METHOD = Fault(
    "FAULT-PROTO-UNKNOWN-METHOD", "A call of something that does not exist is answered as if it did.", _RUNTIME_FAULTS
)
FAULTS = {fault.id: fault for fault in (MISSING_REQUIRED, TYPE_MISMATCH, UNEXPECTED_FIELD, OVERSIZED, UNKNOWN_METHOD)}


class Ruleset(NamedTuple):
    """A family of rules with severities of its own."""

    name: str
    summary: str
    is_default: bool


RULESETS = {
    ruleset.name: ruleset
    for ruleset in (
        Ruleset("catalog", "What is wrong with the input itself; part of no score.", True),
        Ruleset("strict", "Whether the input schemas constrain what a caller may send.", False),
        Ruleset("grade", "The 21 rules behind the grade from A to F.", True),
        Ruleset("trust", "Whether an agent, and whoever reviews it, can rely on the catalog.", True),
        Ruleset("polish", "How well names, descriptions and schemas serve the model that reads them.", False),
        Ruleset("wire", "What a live connection and its answers show; part of no score.", True),
    )
}
"""Each has a module of its name in `mcproof.rules`."""


class Rule:
    """One check with a permanent id."""

    def __init__(
        self,
        check: Check,
        *,
        id: str,
        ruleset: str,
        name: str,
        severity: str,
        category: str,
        fault: Fault | None,
        fixable: bool,
        since: str,
        traits: dict[str, Any],
        same_as: str | None = None,
    ) -> None:
        self.check = check
        self.id = id
        self.ruleset = ruleset
        self.name = name
        self.severity = severity
        self.scheme_severity = severity
        """The severity that its ruleset gives it, which scores go by whatever a user makes of it."""
        self.level: Level = level_of(severity)
        self.category = category
        self.fault = fault
        self.fixable = fixable
        self.needs_language_model = False
        self.since = since
        self.same_as = same_as
        """The id of the rule of another ruleset that says the same, though it is no fault of the taxonomy."""
        self.traits = traits
        """What only this rule's scheme knows: a trust rule's weight, dimension and phase; and whether one finding sums
        up all that it has to say of an item."""
        self.looks_at = next(iter(check.__annotations__.values()))
        """The name of the type that the check takes."""

    def with_severity(self, severity: str) -> Rule:
        """The same rule, as serious as somebody finds it; no score changes with that."""
        from copy import copy

        changed = copy(self)
        changed.severity, changed.level = severity, level_of(severity)
        return changed

    @property
    def summary(self) -> str:
        """What it fires on, in one sentence."""
        return next(iter(self._documentation()), "")

    @property
    def details(self) -> list[str]:
        """What else its reader should know, such as what does not count."""
        return [text for text in self._documentation()[1:] if not text.startswith(("Why:", "Fix:"))]

    @property
    def why(self) -> str:
        return self._paragraph("Why:")

    @property
    def advice(self) -> str:
        """What to do about a finding."""
        return self._paragraph("Fix:")

    def _paragraph(self, label: str) -> str:
        return next((text[len(label) :].strip() for text in self._documentation() if text.startswith(label)), "")

    def _documentation(self) -> list[str]:
        """The docstring's paragraphs, each on one line; a labelled line starts a paragraph of its own."""
        lines = [line.strip() for line in (self.check.__doc__ or "").splitlines()]
        text = "\n".join(lines).replace("\nFix:", "\n\nFix:")
        return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


CRASHED = "CAT-004"
"""The rule that reports the failure of another; its evidence names that one."""

SCOPES = (
    *("Catalog", "Item", "Tool", "SchemaTree", "Resource", "ResourceTemplate", "Prompt"),
    *("ConnectionFacts", "ItemProbes", "RuleCrash"),
)
"""What a rule can look at: the types of its first parameter."""

_RULES: dict[str, Rule] = {}


def rule(
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
    **traits: Any,
) -> Callable[[Check], Check]:
    """Register a generator of problems as a rule. The id is the name, where the id reads as one."""

    def register(check: Check) -> Check:
        if id in _RULES:
            raise ValueError(f"two rules have the id {id}")
        if next(iter(check.__annotations__.values()), "") not in SCOPES:
            raise ValueError(f"the first parameter of rule {id} is of no type that rules look at")
        _RULES[id] = Rule(
            check,
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


def rules_of(*rulesets: str) -> list[Rule]:
    """The rules of these rulesets, in the order of the rulesets and of their definition."""
    for ruleset in rulesets:
        import_module(f"mcproof.rules.{ruleset}")
    return [each for ruleset in rulesets for each in _RULES.values() if each.ruleset == ruleset]


def all_rules() -> list[Rule]:
    return rules_of(*RULESETS)


def find_rule(word: str) -> Rule:
    """The rule of this id or name, in whatever case. Raises a UsageError that names the nearest."""
    known = all_rules()
    wanted = word.lower()
    for each in known:
        if wanted in (each.id.lower(), each.name.lower()):
            return each
    names = [*RULESETS, *(name for each in known for name in (each.id, each.name))]
    raise UsageError(f"unknown rule `{word}`{nearest(word, names)}; `mcproof rules` lists them all")


def choose(rulesets: Iterable[str], *, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> list[Rule]:
    """The rules to run: those of `rulesets`, or only what `select` names, without what `ignore` names.

    Rules are named by id or name, whole families by their ruleset. A rule that accompanies a ruleset, to say
    where that one fell short, runs whenever the ruleset does and only then.
    """
    expanded = [name for each in rulesets for name in (RULESETS if each == "all" else (each,))]
    for name in expanded:
        if name not in RULESETS:
            known = [*RULESETS, "all"]
            raise UsageError(f"unknown ruleset `{name}`{nearest(name, known)}; there are {', '.join(known)}")
    selected = rules_named(select)
    ignored = {each.id for each in rules_named(ignore)}
    chosen = selected or rules_of(*dict.fromkeys(expanded))
    if all(each.id in ignored for each in chosen):
        raise UsageError("no rule is left to run: `ignore` names all that were chosen")
    running = {"all", *(each.ruleset for each in chosen)}
    companions = {
        each: each.traits["accompanies"] in running for each in rules_of("catalog") if "accompanies" in each.traits
    }
    kept = [each for each in chosen if companions.get(each, True) or each in selected]
    kept += [each for each, wanted in companions.items() if wanted and each not in kept]
    return [each for each in kept if each.id not in ignored]


def rules_named(words: Iterable[str]) -> list[Rule]:
    """The rules that ids, names and rulesets stand for. Raises a UsageError for one that there is not."""
    named: dict[str, Rule] = {}
    for word in words:
        family = word.lower()
        families = RULESETS if family == "all" else [family] if family in RULESETS else []
        rules = rules_of(*families) if families else [find_rule(word)]
        named.update((each.id, each) for each in rules)
    return list(named.values())
