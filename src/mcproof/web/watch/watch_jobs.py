"""What a process needs to check a watched server, and what it observes; both travel as lines of JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from mcproof.runs.stored import read_run
from mcproof.targets.client_config import ConfiguredServer

if TYPE_CHECKING:
    from mcproof.runs.config import WatchEntry
    from mcproof.runs.results import RunResult


class WatchJob(NamedTuple):
    """A server to check. Variables of its configuration are filled in by the process that does."""

    target: str | ConfiguredServer
    checks: tuple[str, ...]
    config: str | None
    """The configuration with the rules and limits."""
    allows_commands: bool

    @property
    def may_start_server(self) -> bool:
        """Whether the target is a command, or a client configuration that may name one."""
        return self.allows_commands and (isinstance(self.target, str) or "command" in self.target.entry)

    def line(self) -> str:
        """Return the job as a line."""
        return json.dumps(self) + "\n"

    @classmethod
    def of_entry(cls, entry: WatchEntry, config: str | None, *, allows_commands: bool) -> WatchJob:
        return cls(entry.target, entry.checks, config, allows_commands)

    @classmethod
    def of_line(cls, line: str | bytes) -> WatchJob:
        target, checks, config, allows_commands = json.loads(line)
        server = target if isinstance(target, str) else ConfiguredServer(*target)
        return cls(server, tuple(checks), config, allows_commands)


class ObservedRun(NamedTuple):
    """A run, with the catalog that it has read."""

    run: RunResult
    catalog: str | None = None
    surface: str | None = None
    """The hash of what the server offers."""

    @classmethod
    def of_line(cls, line: str | bytes) -> ObservedRun:
        record = json.loads(line)
        return cls(read_run(record["report"].encode(), "report"), record["catalog"], record["surface"])


def observed_line(report: str, catalog: str | None, surface: str | None) -> str:
    """Return a run as a line."""
    return json.dumps({"report": report, "catalog": catalog, "surface": surface}) + "\n"
