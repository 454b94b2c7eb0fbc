"""Try the drafts of a new suite on their servers, so that the suite passes when it is first run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.endpoints import CommandEndpoint
from mcproof.core.observations.probes import CHECKS
from mcproof.suite.definition import NegativePathBlock, ServerEntry, Suite, SuiteLocation, SuiteTest
from mcproof.suite.run.execute_test import UNMARKED_ERROR
from mcproof.suite.run.runner import run_suite
from mcproof.suite.scaffold.drafts import with_results
from mcproof.suite.scaffold.server_entry import milliseconds
from mcproof.suite.snapshots import SnapshotStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.client.endpoints import Endpoint
    from mcproof.results.suite_tests import TestResult
    from mcproof.suite.run.suite_runtime import RunOptions
    from mcproof.suite.scaffold.drafts import Draft
    from mcproof.suite.scaffold.server_entry import EntryOptions

_ROUNDS = 3
"""How often probes are sent; each round leaves out the probes that failed before."""
_NOWHERE = SuiteLocation("", 1, 1)


class TrialServer(NamedTuple):
    """A server and the drafts to try on it."""

    name: str
    endpoint: Endpoint
    drafts: list[Draft]


def try_drafts(
    servers: list[TrialServer],
    options: EntryOptions,
    run_options: RunOptions,
    progress: Callable[[int, int, str], None],
) -> list[list[Draft]]:
    """Return the drafts of each server with trial results. Raises KeyboardInterrupt."""
    tried = [list(each.drafts) for each in servers]
    remaining = [(at, number) for at, each in enumerate(servers) for number in range(len(each.drafts))]
    secrets = tuple(secret for each in servers for secret in each.endpoint.secrets)
    entries = {each.name: _entry(each, options) for each in servers}

    def show(done: int, total: int, test: str) -> None:
        at, number = map(int, test.split())
        progress(done, total, tried[at][number].subject)

    for turn in range(_ROUNDS):
        unnumbered = [
            test
            for at, number in remaining
            for test in _tests(f"{at} {number}", servers[at].name, tried[at][number], calls=turn == 0)
        ]
        tests = [test._replace(number=number) for number, test in enumerate(unnumbered)]
        suite = Suite("", entries, tuple(tests), secrets=secrets)
        run = run_suite(suite, tests, run_options, SnapshotStore("", updates=False), show)
        if run.interrupted:
            raise KeyboardInterrupt
        results = {(result.name, result.block): result for result in run.results}
        again = []
        for at, number in remaining:
            before = tried[at][number]
            call, path = (results.get((f"{at} {number}", block)) for block in (before.block, "negative_path"))
            after = tried[at][number] = _with_trial(before, call, path, is_last=turn == _ROUNDS - 1)
            if after.passing_checks and after.passing_checks != before.passing_checks:
                again.append((at, number))
        remaining = again
        if not remaining:
            break
    return tried


def _entry(trial: TrialServer, options: EntryOptions) -> ServerEntry:
    entry = ServerEntry(
        name=trial.name,
        location=_NOWHERE,
        timeout_ms=None if options.timeout is None else milliseconds(options.timeout),
        start_timeout_ms=None if options.start_timeout is None else milliseconds(options.start_timeout),
        protocol=options.protocol,
    )
    endpoint = trial.endpoint
    if isinstance(endpoint, CommandEndpoint):
        return entry._replace(command=endpoint.words, environment=endpoint.environment, directory=endpoint.directory)
    return entry._replace(url=endpoint.url, headers=endpoint.headers, access=endpoint.access)


def _tests(name: str, server: str, draft: Draft, *, calls: bool) -> Iterator[SuiteTest]:
    """Yield separate tests for the call and the probes: a call alone gives the clearest error."""
    if not draft.is_active:
        return
    test = SuiteTest(
        number=0,
        block=draft.block,
        name=name,
        server=server,
        location=_NOWHERE,
        subject=draft.subject,
        arguments=draft.arguments if draft.block == "tools" else draft.arguments or None,
    )
    if calls:
        yield test
    if draft.passing_checks:
        yield test._replace(negative_path=NegativePathBlock(draft.passing_checks, None, are_named=True))


def _with_trial(draft: Draft, call: TestResult | None, path: TestResult | None, *, is_last: bool) -> Draft:
    error = draft.failed_call
    if call is not None and call.outcome != "passed":
        error = call.message.removeprefix("the call failed: ")
    elif call is not None and call.message.startswith(UNMARKED_ERROR):
        error = call.message
    if path is None or path.outcome == "passed":
        return with_results(draft, error, (), "")
    failed = [(each.target, each.message) for each in path.failures]
    if is_last or not failed or any(check not in CHECKS for check, _ in failed):
        return with_results(draft, error, (), path.message)
    return with_results(draft, error, failed, "")
