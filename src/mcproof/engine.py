"""Catalog × rules → findings.

Every tool is walked once and shown to all rules; then its walk is let go. A rule that fails on a subject
becomes one finding about that rule, and everything else goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.catalog import Catalog, Item, Tool
    from mcproof.registry import Rule

_DEEP_SCOPES = frozenset({"ObjectSchema", "Property"})
"""Rules that look at every schema of a tool, and so must say where they stop."""


class RuleCrash(NamedTuple):
    """A rule that failed: on what first, how, and how often in all."""

    rule: str
    subject: str
    error: str
    times: int


def check(catalog: Catalog, rules: list[Rule]) -> list[Finding]:
    """Everything that these rules find: the server's findings first, then each item's in the catalog's order."""
    run = _Run(rules)
    run.apply("Catalog", (catalog,), catalog.server)
    for tool in catalog.tools:
        run.check_tool(tool)
    for scope, items in (
        ("Resource", catalog.resources),
        ("ResourceTemplate", catalog.templates),
        ("Prompt", catalog.prompts),
    ):
        for item in items:
            run.apply("Item", (item,), item)
            run.apply(scope, (item,), item)
    run.apply("RuleCrash", run.crashes(), catalog.server)
    return run.findings


class _Run:
    """One pass of some rules over one catalog."""

    def __init__(self, rules: list[Rule]) -> None:
        self.findings: list[Finding] = []
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.looks_at, []).append(rule)
        self._goes_deep = not _DEEP_SCOPES.isdisjoint(self._rules)
        self._crashes: dict[str, RuleCrash] = {}

    def check_tool(self, tool: Tool) -> None:
        self.apply("Item", (tool,), tool)
        self.apply("Tool", (tool,), tool)
        tree = tool.tree if self._goes_deep or "Parameter" in self._rules else None
        if tree is not None:
            self.apply("Parameter", tree.parameters, tool, tree.base)
            self.apply("ObjectSchema", tree.objects, tool, tree.base)
            self.apply("Property", tree.properties, tool, tree.base)
            if self._goes_deep:
                self.apply("SchemaTree", (tree,), tool)
        tool.forget_tree()

    def apply(self, scope: str, subjects: Iterable[Any], item: Item, base: str | None = None) -> None:
        """Show the subjects of one item to every rule of a scope; `base` is set where they are its schemas."""
        findings = self.findings
        for rule in self._rules.get(scope, ()):
            look = rule.check
            for subject in subjects:
                try:
                    for message, at, evidence, fix, parameter, near in look(subject):
                        pointer = at if at is not None else "" if base is None else subject.pointer
                        findings.append(Finding(rule, item, pointer, message, evidence, fix, parameter, near))
                except Exception as error:  # a rule must not take the others down with it
                    self._note_crash(rule, item, error)

    def _note_crash(self, rule: Rule, item: Item, error: Exception) -> None:
        first = self._crashes.get(rule.id) or RuleCrash(rule.id, item.subject, f"{type(error).__name__}: {error}", 0)
        self._crashes[rule.id] = first._replace(times=first.times + 1)

    def crashes(self) -> list[RuleCrash]:
        return list(self._crashes.values())
