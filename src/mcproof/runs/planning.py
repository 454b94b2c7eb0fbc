"""Plans: request, configuration and defaults resolved into what is checked on each target."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from mcproof.checks.rule import CRASHED, RULESETS, Thresholds, choose_rules, find_rule, rules_named
from mcproof.core.console import few, shell_word
from mcproof.core.errors import ConfigError, Untested, UsageError
from mcproof.core.text.files import leaves_folder
from mcproof.runs.config import SettingsFinder, directory_of
from mcproof.runs.judging import Plan
from mcproof.runs.requests import (
    KINDS,
    CheckRequest,
    GradeRequest,
    LintRequest,
    LockRequest,
    RuleSelection,
    ScanRequest,
)
from mcproof.runs.results import AppliedConfiguration
from mcproof.targets.arguments import configured_target, is_live, shown_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcproof.checks.baseline import Baseline
    from mcproof.checks.clients.hits import ClientChecks
    from mcproof.checks.rule import Rule
    from mcproof.core.errors import SettingLocation
    from mcproof.runs.config import Settings
    from mcproof.runs.requests import CatalogRequest, TargetSelection
    from mcproof.targets.arguments import Input, Target

Value = TypeVar("Value")
DRIFT_RULES = ("TRU-201", "TRU-202", "TRU-203", "TRU-204")
"""What `lint` runs besides, if it compares with an earlier state."""


RULES_OF_SOURCE = ("MP004", "MP005")
"""Rules of `polish` about written schemas, which `lint` runs for source by default; MP002 is `prop-no-description`."""


class Planner:
    """The plans of one run: one for each configuration that applies to its targets."""

    def __init__(self, request: CatalogRequest | LockRequest, contents: Mapping[str, bytes]) -> None:
        """Prepare to plan; `contents` replaces that of files, by their absolute paths."""
        self.kind = KINDS[type(request)]
        self.targets = _only_named(request.targets)
        self._policy = request.policy
        self._selection = request.rules if isinstance(request, LintRequest | ScanRequest) else RuleSelection()
        self._clients = request.clients if isinstance(request, LintRequest) else ()
        self.compares = isinstance(request, LockRequest) or compares(request)
        """Whether whole catalogs are needed, because they are compared with an earlier state now or later."""
        self._min_grade = request.min_grade if isinstance(request, GradeRequest | CheckRequest) else None
        self._max_tokens = request.max_tokens if isinstance(request, GradeRequest) else None
        self._plans: dict[tuple[str | None, str | None, bool], Plan] = {}
        self._baselines: dict[str, Baseline] = {}
        self._finder = SettingsFinder(contents, request.policy.settings.top)
        self._given = request.policy.settings.given()
        # Named targets and the time limit come from here; rules from the configuration near each target.
        self._here = self._given or self._finder.settings_for(os.curdir)
        self.timeout = _first(request.targets.timeout, self._here.timeout)
        self._applied: dict[str, dict[str, SettingLocation]] = {}
        self.messages: list[str] = []
        """How the configuration changes the targets, for the user."""

    def target_names(self) -> list[Target]:
        """The named targets, names from the configuration resolved. If none is named: all configured files, or `.`.

        A configuration may come from a stranger, so its live servers need `--live` or their name.
        """
        if not self.targets.is_empty:
            return [*map(self._resolve, self.targets.names), *self.targets.servers]
        configured = self._here.targets
        if self.targets.live.uses_configured:
            if not configured:
                raise UsageError("--live checks the targets of a configuration, and there are none")
            return list(configured.values())
        live = [name for name, target in configured.items() if is_live(target)]
        if self.kind.calls_tools:
            raise self._no_server(live)
        how = f"`mcproof {self.kind.command} NAME` checks one, `--live` all"
        if live and len(live) == len(configured):
            raise UsageError(f"nothing to check: {self._here.file} names only live servers ({few(live)}); {how}")
        if live:
            self.messages.append(f"{self._here.file}: live servers are left out ({few(live)}); {how}")
        return [target for target in configured.values() if not is_live(target)] or [os.curdir]

    def _no_server(self, configured: list[str]) -> UsageError:
        """The error of a command that needs a live server, without one; `configured` are names that could be used."""
        command = f"mcproof {self.kind.command}"
        named = f", or `{command} NAME` for one in {self._here.file} ({few(configured)})" if configured else ""
        ways = f"`{command} -- python server.py` or `{command} https://host/mcp`"
        return UsageError(f"nothing to test: name a live server, as in {ways}{named}")

    @property
    def folder(self) -> str | None:
        """The folder of the configuration, if that names the targets and not the command line; else None."""
        return os.path.dirname(self._here.file) if self.targets.is_empty and self._here.file is not None else None

    def _resolve(self, name: str) -> Target:
        target, message = named_target(name, self._here, is_live_allowed=self.targets.live.uses_configured)
        self.messages += message
        return target

    def plan_for(self, source: Input) -> Plan:
        """The plan for an input, by the configuration that applies to it."""
        settings = self._given or self._finder.settings_for(directory_of(source.configured_near))
        file = _first(self._policy.baseline, settings.baseline)
        if file is None and self._policy.updates_baseline:
            raise UsageError("--update-baseline needs a file: `--baseline FILE`, or `baseline` in the configuration")
        # A file that a stranger's configuration names is written only inside its own folder.
        if self._policy.baseline is None and self._policy.updates_baseline:
            _refuse_foreign_baseline(settings)
        # Thousands of inputs share a few plans, and rules are chosen once for each.
        key = (settings.file, file, source.is_source)
        if key not in self._plans:
            if settings.file is not None:
                self._applied[settings.file] = settings.locations
            plan = self._plan(settings, is_source=source.is_source)
            self._plans[key] = plan._replace(baseline=None if file is None else self._baseline(file))
        return self._plans[key]

    def configurations(self) -> Iterator[AppliedConfiguration]:
        """The configurations that change what is checked, each with its keys that do."""
        kind = self.kind
        if kind.command == "lock":
            return
        keys = ["ignore", "severity", "ignore-for"]
        keys += ["rulesets", "select", "clients"] if kind.is_selectable else []
        keys += ["client-profiles"] if kind.is_selectable or kind.command in ("compat", "check") else []
        keys += ["min-grade", "max-tokens"] if kind.is_grading else []
        keys += ["fail-on"] if kind.uses_fail_on else []
        keys += ["scan"] if kind.command in ("scan", "check") else []
        keys += [] if self._policy.baseline is not None else ["baseline"]
        for file, locations in self._applied.items():
            if applied := [key for key in locations if key in keys]:
                yield AppliedConfiguration(file, applied)

    def _plan(self, settings: Settings, *, is_source: bool) -> Plan:
        kind, selection = self.kind, self._selection
        select, rulesets = selection.select, selection.rulesets
        # What the request selects by name runs, even if the configuration ignores it.
        ignored_by_settings = () if select else settings.ignore
        if kind.is_selectable and not select and not rulesets:
            select, rulesets = settings.select, settings.rulesets
        clients = (self._clients or settings.clients) if kind.is_selectable else ()
        try:
            ignored = [*selection.ignore, *ignored_by_settings]
            # Chosen rulesets run as they are; only the usual choice has additions for source.
            usual = kind.is_selectable and not rulesets
            rules = choose_rules(rulesets or kind.rulesets, select=select, ignore=ignored, in_lint=usual)
            if usual and not select and is_source:
                left_out = {rule.id for rule in rules_named(ignored)}
                rules += [rule for rule in rules_named(RULES_OF_SOURCE) if rule.id not in left_out]
        except UsageError as error:
            if not ignored_by_settings or selection.ignore:
                raise
            raise _at_ignore(settings, error.message) from None
        if kind.is_selectable and self.compares:
            running, left_out = {rule.id for rule in rules}, {rule.id for rule in rules_named(ignored)}
            rules += [rule for rule in rules_named(DRIFT_RULES) if rule.id not in running | left_out]
        if kind.command in ("scan", "check") and all(rule.id != CRASHED for rule in rules):
            rules.append(find_rule(CRASHED))  # a rule that crashed must not count as passed, whatever is ignored
        if kind.is_grading and all(rule.ruleset != "grade" for rule in rules):
            raise _at_ignore(settings, "nothing to grade: `ignore` names every rule of the grade")
        severity = settings.severity
        fail_on = self._policy.fail_on or (settings.fail_on if kind.uses_fail_on else None) or kind.fail_on
        return Plan(
            rules=[rule.with_severity(severity[rule.id]) if rule.id in severity else rule for rule in rules],
            fail_on=fail_on,
            ignores=settings.ignores,
            min_grade=(self._min_grade or settings.min_grade) if kind.is_grading else None,
            max_tokens=_first(self._max_tokens, settings.max_tokens) if kind.is_grading else None,
            ignored=frozenset() if select else frozenset(rule.id for rule in rules_named(ignored)),
            left_out=tuple(self._left_out(rules, ignored_by_settings, settings)),
            clients=self._client_checks(clients, settings) if any(rule.ruleset == "compat" for rule in rules) else None,
            profiles=settings.all_profiles,
            named_clients=settings.clients,
            thresholds=Thresholds()._replace(**settings.thresholds),
        )

    def _client_checks(self, clients: tuple[str, ...], settings: Settings) -> ClientChecks | None:
        """The constraints that `lint` checks; None for the usual ones."""
        if not self.kind.is_selectable or not (clients or settings.client_profiles):
            return None
        from mcproof.checks.clients.hits import ClientChecks
        from mcproof.checks.clients.profiles import choose_clients

        choice = choose_clients(clients, settings.all_profiles)
        self.messages += choice.version_messages()
        return ClientChecks(choice.for_lint())

    def _left_out(
        self, rules: list[Rule], ignored_by_settings: Iterable[str], settings: Settings
    ) -> Iterator[Untested]:
        if self._selection.ignore:
            yield Untested.of(_ids(self._selection.ignore), "left out by --ignore")
        if ignored_by_settings:
            location = settings.locations["ignore"]
            yield Untested.of(_ids(ignored_by_settings), f"left out by {location.file}:{location.line}")
        if self.kind.is_selectable:
            running = {rule.ruleset for rule in rules if rule.id not in RULES_OF_SOURCE or self._selection.rulesets}
            for name in RULESETS:
                if name not in running:
                    yield Untested(f"ruleset {name}", "not selected")

    def _baseline(self, file: str) -> Baseline:
        from mcproof.checks.baseline import Baseline

        path = os.path.realpath(file)  # two configurations may share one, by different relative paths
        if path not in self._baselines:
            if self._policy.updates_baseline and not os.path.exists(file):
                self._baselines[path] = Baseline(file, accepts_all=True)
            else:
                self._baselines[path] = Baseline.read(file, accepts_all=self._policy.updates_baseline)
        return self._baselines[path]

    def is_baseline(self, file: str) -> bool:
        """Whether a file is a baseline of this run."""
        return os.path.realpath(file) in self._baselines

    def baselines(self) -> list[Baseline]:
        """The baselines of this run."""
        return list(self._baselines.values())

    def rules(self) -> list[Rule]:
        """Every rule in any plan."""
        return [rule for plan in self._plans.values() for rule in plan.rules]


def named_target(name: str, settings: Settings, *, is_live_allowed: bool = False) -> tuple[Target, list[str]]:
    """A target by its name in the configuration, with a message that says so; or as it is."""
    target = configured_target(name, settings.targets, settings.locations, is_live_allowed=is_live_allowed)
    if target is name:
        return name, []
    return target, [f"{name}: {shown_target(target)} ({settings.locations[f'targets.{name}']})"]


def compares(request: CatalogRequest) -> bool:
    """Whether a run compares its targets with an earlier state."""
    return isinstance(request, LintRequest | ScanRequest) and (request.locked or request.against is not None)


def _only_named(targets: TargetSelection) -> TargetSelection:
    """Targets without `--all` if only a configuration names them, and `--live` is not there."""
    if targets.is_empty and not targets.live.uses_configured:
        return targets._replace(live=targets.live._replace(all_configured=False))
    return targets


def _refuse_foreign_baseline(settings: Settings) -> None:
    """Raise a ConfigError if a configuration would have a file written outside its own folder, or through a link."""
    if settings.file is None or settings.baseline is None:
        return
    problem = leaves_folder(settings.baseline, os.path.dirname(settings.file))
    if problem is not None:
        location = settings.locations["baseline"]
        message = f"`baseline` {problem}; `--baseline {shell_word(settings.baseline)}` writes it"
        raise ConfigError(message, file=location.file, line=location.line)


def _at_ignore(settings: Settings, message: str) -> ConfigError:
    location = settings.locations["ignore"]
    return ConfigError(message, file=location.file, line=location.line)


def _ids(names: Iterable[str]) -> list[str]:
    """The ids of the rules that ids, names and rulesets refer to."""
    return [rule.id for rule in rules_named(names)]


def _first(*values: Value | None) -> Value | None:
    return next((value for value in values if value is not None), None)
