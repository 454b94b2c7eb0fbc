"""What is asked of each target: by the command line, else by the configuration, else by the command itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mcproof.cli.options import words
from mcproof.config.settings import DEFAULTS, directory_of, read_settings, settings_for
from mcproof.errors import ConfigError, UsageError
from mcproof.execution.check_catalog import Plan
from mcproof.linting.registry import RULESETS, choose_rules, rules_named
from mcproof.results.run import Untested

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from mcproof.config.settings import Settings
    from mcproof.linting.registry import Rule
    from mcproof.linting.suppression.baseline import Baseline

Value = TypeVar("Value")


class Command(NamedTuple):
    """What a checking command does where nobody asks for anything else."""

    name: str
    rulesets: tuple[str, ...]
    fail_on: str = "error"
    selects: bool = False
    """Whether the user chooses the rules; else they are what the command is."""
    grades: bool = False
    """Whether the grade is what it is about, and what its gates are for."""
    on_source: tuple[str, ...] = ()
    """The rulesets that run on Python source as well."""
    calls: bool = False
    """Whether it calls the tools of a live server, and judges what they do."""


class Planning:
    """The plans of one run: one for each configuration that its targets have."""

    def __init__(self, command: Command, options: argparse.Namespace) -> None:
        self._command = command
        self._options = options
        self._plans: dict[tuple[str | None, bool], Plan] = {}
        self._baselines: dict[str, Baseline] = {}
        self._given = given_settings(options)
        self._here = self._given or settings_for(os.curdir)
        self.timeout = self._here.timeout
        self.updates_baseline: bool = options.update_baseline

    def targets(self) -> list[str]:
        """The targets of the command line, names of the configuration resolved; without any, all that it names."""
        settings = self._here
        if not self._options.targets:
            if self._options.server_command:
                return []
            if not settings.targets:
                raise UsageError(
                    f"nothing to check: name a TARGET, or list some under `[targets]` in mcproof.toml; "
                    f"`mcproof {self._command.name} --help` shows how"
                )
            return list(settings.targets.values())
        return [resolve_target(word, settings) for word in self._options.targets]

    def plan_for(self, target: str, *, is_source: bool = False) -> tuple[Plan, Baseline | None]:
        """What is asked of this target, and the findings that are accepted in it."""
        settings = self._given or settings_for(directory_of(target))
        key = (settings.file, is_source)
        if key not in self._plans:
            self._plans[key] = self._plan(settings, is_source=is_source)
        file = _first(self._options.baseline, settings.baseline)
        if file is None and self.updates_baseline:
            raise UsageError("--update-baseline needs a file: `--baseline FILE`, or `baseline` in the configuration")
        return self._plans[key], None if file is None else self._baseline(file)

    def _plan(self, settings: Settings, *, is_source: bool) -> Plan:
        options, command = self._options, self._command
        select = words(getattr(options, "select", []))
        ignore = words(getattr(options, "ignore", []))
        rulesets = words(getattr(options, "ruleset", []))
        # What the command line asks for by name runs, whatever the configuration leaves out.
        ignored_by_settings = () if select else settings.ignore
        if command.selects and not select and not rulesets:
            select, rulesets = list(settings.select), list(settings.rulesets)
        try:
            usual = (*command.rulesets, *(command.on_source if is_source else ()))
            rules = choose_rules(rulesets or usual, select=select, ignore=[*ignore, *ignored_by_settings])
        except UsageError as error:
            if not ignored_by_settings or ignore:
                raise
            place = settings.locations["ignore"]
            raise ConfigError(error.message, file=place.file, line=place.line) from None
        if command.grades and all(rule.ruleset != "grade" for rule in rules):
            place = settings.locations["ignore"]
            message = "nothing to grade: `ignore` names every rule of the grade"
            raise ConfigError(message, file=place.file, line=place.line)
        severity = settings.severity
        return Plan(
            [rule.with_severity(severity[rule.id]) if rule.id in severity else rule for rule in rules],
            options.fail_on or (None if command.calls else settings.fail_on) or command.fail_on,
            settings.ignores,
            (options.min_grade or settings.min_grade) if command.grades else None,
            _first(options.max_tokens, settings.max_tokens) if command.grades else None,
            tuple(self._left_out(rules, ignore, ignored_by_settings, settings)),
        )

    def _left_out(
        self, rules: list[Rule], ignore: list[str], ignored_by_settings: Iterable[str], settings: Settings
    ) -> Iterator[Untested]:
        if ignore:
            yield Untested.of(_ids(ignore), "left out by --ignore")
        if ignored_by_settings:
            place = settings.locations["ignore"]
            yield Untested.of(_ids(ignored_by_settings), f"left out by {place.file}:{place.line}")
        if self._command.selects:
            running = {rule.ruleset for rule in rules}
            for name in RULESETS:
                if name not in running:
                    yield Untested(f"ruleset {name}", "not asked for")

    def _baseline(self, file: str) -> Baseline:
        from mcproof.linting.suppression.baseline import Baseline

        one = os.path.realpath(file)  # two configurations may share it, each with its own way to it
        if one not in self._baselines:
            if self.updates_baseline and not os.path.exists(file):
                self._baselines[one] = Baseline(file, accepts_all=True)
            else:
                self._baselines[one] = Baseline.read(file, accepts_all=self.updates_baseline)
        return self._baselines[one]

    def is_baseline(self, file: str) -> bool:
        """Whether a file is one of the baselines of this run."""
        return os.path.realpath(file) in self._baselines

    def baselines(self) -> list[Baseline]:
        """The baselines that this run has looked at."""
        return list(self._baselines.values())

    def rules(self) -> list[Rule]:
        """Every rule that some target was judged by."""
        return [rule for plan in self._plans.values() for rule in plan.rules]


def given_settings(options: argparse.Namespace) -> Settings | None:
    """The settings that hold for every target, where the command line says which."""
    if options.config is not None and options.no_config:
        raise UsageError("--config and --no-config exclude each other")
    if options.config is not None:
        return read_settings(options.config)
    return DEFAULTS if options.no_config else None


def resolve_target(word: str, settings: Settings) -> str:
    """What a word of the command line stands for: a file that is there, or else what the configuration calls so."""
    return word if os.path.exists(word) else settings.targets.get(word, word)


def _ids(names: Iterable[str]) -> list[str]:
    """The ids of the rules that ids, names and rulesets stand for."""
    return [rule.id for rule in rules_named(names)]


def _first(*values: Value | None) -> Value | None:
    return next((value for value in values if value is not None), None)
