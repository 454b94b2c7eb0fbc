"""Compare two catalogs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof import __version__
from mcproof.checks.diff.changes import report_changes
from mcproof.checks.diff.items import compare_catalogs
from mcproof.config.settings import settings_for
from mcproof.core.errors import McproofError, UsageError
from mcproof.execution.clock import Clock
from mcproof.execution.events import RunFinished, RunStarted, TargetFinished
from mcproof.execution.exit_code import exit_code
from mcproof.execution.planning import given_settings
from mcproof.execution.target_inputs import read_one
from mcproof.results.payloads import DiffPayload
from mcproof.results.run import RunResult, TargetResult, Trouble

if TYPE_CHECKING:
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import DiffRequest


def diff_catalogs(request: DiffRequest, listen: Listener) -> RunResult:
    """Return the changes between two catalogs as the findings of the new one."""
    clock = Clock()
    new_name = "".join(request.new.names) or "--"
    listen(RunStarted(is_single=True, files=dict.fromkeys((*request.old.names, *request.new.names), "what is read")))
    settings = given_settings(request.settings) or settings_for(os.curdir)
    try:
        old = read_one(request.old, settings.timeout, listen, settings=settings)
        new = read_one(request.new, settings.timeout, listen, settings=settings)
    except UsageError:
        raise
    except McproofError as error:
        result = TargetResult(error.file or new_name, Trouble.of(error), payload=DiffPayload())
    else:
        result = TargetResult(
            new.name,
            counts=new.counts,
            findings=report_changes(old, new, compare_catalogs(old, new)),
            fail_on=request.fail_on,
            seconds=clock.seconds,
            payload=DiffPayload(old.name),
        )
    listen(TargetFinished(result))
    run = RunResult(
        command="diff",
        version=__version__,
        targets=[result],
        rules=list({each.rule.id: each.rule for each in result.findings}.values()),
        exit_code=exit_code([result]),
        started=clock.started,
        seconds=clock.seconds,
    )
    listen(RunFinished(run))
    return run
