"""Catalog × rules → findings.

Every tool is walked once and shown to all rules; then its walk is let go. A rule that fails on a subject
becomes one finding about that rule, and everything else goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog.model import Tool

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog, Item
    from mcproof.linting.finding import Finding
    from mcproof.linting.registry import Rule


class RuleCrash(NamedTuple):
    """A rule that failed: on what first, how, and how often in all."""

    rule: str
    subject: str
    error: str
    times: int


def check(catalog: Catalog, rules: list[Rule]) -> list[Finding]:
    """Everything that these rules find: the server's findings first, then each item's in the catalog's order."""
    run = _RuleRun(rules)
    for each in catalog.by_server():
        run.show("Catalog", each, catalog.server)
    if catalog.connection is not None:
        run.show("ConnectionFacts", catalog.connection, catalog.server)
    for tool in catalog.tools:
        run.show("Item", tool, tool)
        run.tell_of(tool)
        run.show("Tool", tool, tool)
        if run.looks_at("SchemaTree") and tool.tree is not None:
            run.show("SchemaTree", tool.tree, tool)
        tool.forget_tree()
    for scope, items in (
        ("Resource", catalog.resources),
        ("ResourceTemplate", catalog.templates),
        ("Prompt", catalog.prompts),
    ):
        for item in items:
            run.show("Item", item, item)
            run.tell_of(item)
            run.show(scope, item, item)
    for tried in catalog.item_probes or ():
        run.show("ItemProbes", tried, tried.item)
    for crash in run.crashes():
        run.show("RuleCrash", crash, catalog.server)
    return run.findings if catalog.source is None else [each for each in run.findings if not _is_guess(each)]


def _is_guess(finding: Finding) -> bool:
    """Whether a finding about Python source may only be there because the source does not settle something.

    That is so where what it points at, what contains that, or a member of it is not known: silence is better.
    """
    item, pointer = finding.item, finding.pointer
    if not isinstance(item, Tool) or item.source is None:
        return False
    return not item.knows(pointer) or any(each.rpartition("/")[0] == pointer for each in item.source.unknown)


class _RuleRun:
    """One pass of some rules over one catalog."""

    def __init__(self, rules: list[Rule]) -> None:
        self.findings: list[Finding] = []
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.looks_at, []).append(rule)
        self._crashes: dict[str, RuleCrash] = {}
        self._later: dict[int, list[Finding]] = {}
        """What a rule about the whole catalog said of single items, by the id of the item, until it is their turn."""

    def looks_at(self, scope: str) -> bool:
        return scope in self._rules

    def show(self, scope: str, subject: Any, item: Item) -> None:
        """Show a subject, which is an item or a part of it, to every rule of a scope."""
        add = self.findings.append
        for rule in self._rules.get(scope, ()):
            try:
                for problem in rule.check(subject):
                    if problem.item is None:
                        add(problem.finding(rule, item))
                    else:
                        self._later.setdefault(id(problem.item), []).append(problem.finding(rule, problem.item))
            except Exception as error:  # a rule must not take the others down with it
                self._note_crash(rule, item, error)

    def tell_of(self, item: Item) -> None:
        """Add what was already said of an item, now that it is its turn."""
        self.findings += self._later.pop(id(item), ())

    def _note_crash(self, rule: Rule, item: Item, error: Exception) -> None:
        first = self._crashes.get(rule.id) or RuleCrash(rule.id, item.subject, f"{type(error).__name__}: {error}", 0)
        self._crashes[rule.id] = first._replace(times=first.times + 1)

    def crashes(self) -> list[RuleCrash]:
        return list(self._crashes.values())
