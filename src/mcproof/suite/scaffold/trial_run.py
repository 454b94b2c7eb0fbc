"""The drafts of a first suite on their servers: what does not pass today is not expected of tomorrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.client.endpoints import CommandEndpoint
from mcproof.exchange.probe_facts import CHECKS
from mcproof.suite.definition import NegativePath, Place, ServerEntry, Suite, SuiteTest
from mcproof.suite.run.runner import run_suite
from mcproof.suite.scaffold.drafts import with_results
from mcproof.suite.snapshots import SnapshotStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcproof.client.endpoints import Endpoint
    from mcproof.results.suite_tests import TestResult
    from mcproof.suite.run.runner import Running
    from mcproof.suite.scaffold.drafts import Draft
    from mcproof.suite.scaffold.server_entry import Way

_ROUNDS = 3
"""How often probes are sent: with those left out that did not pass, the others are tried again."""
_NOWHERE = Place("", 1, 1)


class OnTrial(NamedTuple):
    """A server with the drafts that are to be tried on it."""

    name: str
    server: Endpoint
    drafts: list[Draft]


def tried(
    servers: list[OnTrial], way: Way, running: Running, progress: Callable[[int, int, str], None]
) -> list[list[Draft]]:
    """The drafts of each server with what came of them. Raises KeyboardInterrupt where the user wants to stop."""
    found = [list(each.drafts) for each in servers]
    places = [(at, number) for at, each in enumerate(servers) for number in range(len(each.drafts))]
    secrets = tuple(secret for each in servers for secret in each.server.secrets)
    entries = {each.name: _entry(each, way) for each in servers}
    for turn in range(_ROUNDS):
        tests = [
            test
            for at, number in places
            for test in _tests(f"{at} {number}", servers[at].name, found[at][number], calls=turn == 0)
        ]
        ran = run_suite(Suite("", entries, tuple(tests), secrets=secrets), tests, running, _no_snapshots(), progress)
        if ran.interrupted:
            raise KeyboardInterrupt
        results = {(result.name, result.block): result for result in ran.results}
        again = []
        for at, number in places:
            before = found[at][number]
            of = [results.get((f"{at} {number}", block)) for block in (before.block, "negative_path")]
            after = found[at][number] = _judged(before, *of, is_last=turn == _ROUNDS - 1)
            if after.passing_checks and after.passing_checks != before.passing_checks:
                again.append((at, number))
        places = again
        if not places:
            break
    return found


def _no_snapshots() -> SnapshotStore:
    return SnapshotStore("", updates=False)


def _entry(each: OnTrial, way: Way) -> ServerEntry:
    limit = None if way.timeout is None else max(1, round(way.timeout * 1000))
    entry = ServerEntry(each.name, _NOWHERE, timeout_ms=limit, protocol=way.protocol)
    server = each.server
    if isinstance(server, CommandEndpoint):
        return entry._replace(command=server.words, environment=server.environment, directory=server.directory)
    return entry._replace(url=server.url, headers=server.headers)


def _tests(name: str, server: str, draft: Draft, *, calls: bool) -> Iterator[SuiteTest]:
    """The call and the probes, apart from each other: a call alone says best why it fails."""
    if not draft.is_on:
        return
    arguments = draft.arguments if draft.block == "tools" else draft.arguments or None
    test = SuiteTest(draft.block, name, server, _NOWHERE, draft.subject, arguments)
    if calls:
        yield test
    if draft.passing_checks:
        yield test._replace(negative_path=NegativePath(draft.passing_checks, None, are_named=True))


def _judged(draft: Draft, call: TestResult | None, path: TestResult | None, *, is_last: bool) -> Draft:
    said = draft.failed_call
    if call is not None and call.outcome != "passed":
        said = call.message.removeprefix("the call failed: ")
    if path is None or path.outcome == "passed":
        return with_results(draft, said, (), "")
    failed = [(each.target, each.message) for each in path.failures]
    if is_last or not failed or any(check not in CHECKS for check, _ in failed):
        return with_results(draft, said, (), path.message)
    return with_results(draft, said, failed, "")
