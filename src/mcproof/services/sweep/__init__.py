"""Check thousands of targets, on one machine or a cluster, with results that survive a kill.

Here is a sweep as the user asks for it: what to check, what may be started, how hard to try, and where the work is
done. The way from there to the results is in `run`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcproof import __version__
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record
from mcproof.runs.requests import RuleSelection, SettingsSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.services.sweep.summary import SweepSummary

AT_ONCE = 32
"""How many live servers are checked at once by default."""


class Permissions(NamedTuple):
    """What the user allows a sweep to do because a file names it."""

    commands: bool = False
    """Whether to start the commands of lists and client configurations."""
    packages: bool = False
    """Whether to download and run the packages of registry documents."""
    variables: frozenset[str] = frozenset()
    """The environment variables that may be filled in: `NAME` in what the user wrote, `NAME=PLACE` only there."""

    def for_user(self, host: str) -> frozenset[str]:
        """The variables for an entry of a list or a configuration, at a host."""
        return frozenset(name for name in self.variables if "=" not in name) | self.for_strangers(host)

    def for_strangers(self, place: str) -> frozenset[str]:
        """The variables for an entry that others wrote, such as those of a registry.

        Whoever publishes an entry decides which variables it names, so a name alone would give its value to everybody.
        """
        pairs = (variable.partition("=") for variable in self.variables)
        return frozenset(name for name, _, entry in pairs if entry and entry == place)


@record()
class SweepPlan(NamedTuple):
    """What to check on every target, and part of the identity of a sweep."""

    rules: RuleSelection = RuleSelection()
    settings: SettingsSource = SettingsSource(is_disabled=True)
    scans: bool = False
    proves: bool = False
    limit: float = 60.0
    """Seconds for one try of a target."""
    records: bool = False
    """Whether an attempt includes the results for the store."""


class Politeness(NamedTuple):
    """How hard a sweep tries."""

    per_host: int = 2
    """How many servers of one host are checked at once."""
    retries: int = 2


class EngineChoice(NamedTuple):
    """Where the work is done."""

    name: str = "local"
    address: str | None = None
    """Of a Ray cluster; None for one on this machine."""
    jobs: int | None = None
    """How many processes check captures; None for one per core."""
    at_once: int = AT_ONCE
    """How many live servers are checked at once."""


class SweepRequest(NamedTuple):
    """A sweep."""

    sources: tuple[str, ...]
    results: str
    plan: SweepPlan = SweepPlan()
    permissions: Permissions = Permissions()
    politeness: Politeness = Politeness()
    engine: EngineChoice = EngineChoice()
    restarts: bool = False
    outputs: tuple[str, ...] = ()
    """Files for the summary, a leaderboard or a table, by their extensions."""
    database: str | None = None
    """The store to record in, if the plan records; None for the user's own."""

    @property
    def ours(self) -> frozenset[str]:
        """The files that the sweep writes, by real path."""
        return frozenset(map(os.path.realpath, (self.results, f"{self.results}.journal", *self.outputs)))

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a sweep to go on."""
        plan, allowed = self.plan, self.permissions
        return {
            "targets": list(self.sources),
            "select": list(plan.rules.select),
            "ignore": list(plan.rules.ignore),
            "config": plan.settings.file,
            "scan": plan.scans,
            "prove": plan.proves,
            "record": plan.records,
            "allow-commands": allowed.commands,
            "run-packages": allowed.packages,
            "allow-env": sorted(allowed.variables),
            "mcproof": __version__,
        }


def run_sweep(request: SweepRequest, print_note: Callable[[str], None] = lambda _: None) -> SweepSummary:
    """Check all targets that the results do not have yet, write the outputs, and return the summary.

    Raises KeyboardInterrupt; what is done is kept.
    """
    # Here, because every worker process loads this package, and needs neither engines nor pages.
    from mcproof.services.sweep.run import sweep

    return sweep(request, print_note)
