"""`mcproof fuzz`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.cli.live_command import call_one, gates_of, keep_failures
from mcproof.cli.options import (
    Parser,
    add_calls,
    add_fail_on,
    add_live,
    add_outputs,
    add_settings,
    add_targets,
    seconds,
    whole_number,
)
from mcproof.cli.planning import Command
from mcproof.linting.registry import find_rule
from mcproof.results.run import BROKEN

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.execute import Work
    from mcproof.cli.live_command import Prepared
    from mcproof.execution.check_catalog import Depth
    from mcproof.linting.registry import Rule
    from mcproof.prove.failure_store import StoredFailure
    from mcproof.prove.fuzz.tool_fuzzer import FoundFailure
    from mcproof.results.proof import Failure
    from mcproof.results.run import TargetResult

COMMAND = Command("fuzz", ("wire",), fail_on=BROKEN, calls=True)
ACCEPTING = ("WIR-012", "WIR-013", "WIR-014", "WIR-015", "WIR-016")
"""The rules about invalid calls that are accepted; fuzzing finds many, so they fail a run only when asked to."""


def parser() -> Parser:
    parser = Parser("fuzz", "Call the tools of a live server with generated arguments until something breaks.")
    add_targets(parser)
    add_outputs(parser)
    parser.add_argument(
        "--seed",
        type=whole_number("seeds", 0, 2**63 - 1),
        default=0,
        metavar="N",
        help="which random cases: the same seed gives the same (default 0)",
    )
    parser.add_argument(
        "--cases",
        type=whole_number("cases", 1, 100_000_000),
        default=200,
        metavar="N",
        help="how many cases for each tool (default 200)",
    )
    parser.add_argument("--max-time", type=seconds, metavar="SECONDS", help="stop after this long")
    parser.add_argument("--strict", action="store_true", help="also fail where an invalid call is accepted")
    parser.add_argument(
        "--processes",
        type=whole_number("processes", 1, 64),
        metavar="N",
        help="how many server processes at once (default: one a core, up to 4; one connection to a URL)",
    )
    add_calls(parser)
    add_fail_on(parser, BROKEN)
    add_settings(parser)
    add_live(parser)
    return parser


def command(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    return call_one(COMMAND, options, lambda work, depth, prepared: _fuzz(work, depth, prepared, options))


def _fuzz(work: Work, depth: Depth, prepared: Prepared, options: argparse.Namespace) -> TargetResult:
    from mcproof.client.endpoints import UrlEndpoint
    from mcproof.console import Counter
    from mcproof.prove.fuzz.campaign import fuzz
    from mcproof.prove.fuzz.tool_fuzzer import FuzzPlan
    from mcproof.results.payloads import FuzzPayload
    from mcproof.results.proof import Fuzzing

    server, permissions, arguments, limit, target = prepared
    usual = 1 if isinstance(server.session.server, UrlEndpoint) else min(4, os.cpu_count() or 1)
    campaign = FuzzPlan(
        permissions,
        arguments,
        options.seed,
        options.cases,
        limit,
        options.max_time,
        options.processes or usual,
        target,
    )
    counter = Counter()
    fuzzed = fuzz(work.catalog, server, campaign, counter.step)
    counter.clear()
    work.catalog.connection = server.close()
    if server.is_interrupted:
        work.interrupt()
    keep_failures(fuzzed.stored)
    work.catalog.item_probes = fuzzed.item_probes
    plan = work.plan._replace(rules=[_as_asked(rule, strict=options.strict) for rule in work.plan.rules])
    report = work._replace(plan=plan).examined(depth)
    failures = [_failure(found, kept) for found, kept in zip(fuzzed.failures, fuzzed.stored, strict=True)]
    return report._replace(
        gates=gates_of(sum(fuzzed.cases.values())),
        payload=FuzzPayload(Fuzzing(options.seed, sum(fuzzed.cases.values()), fuzzed.outcomes, failures, fuzzed.cases)),
        untested=[*report.untested, *fuzzed.untested],
    )


def _failure(found: FoundFailure, kept: StoredFailure) -> Failure:
    """A failure for the report."""
    from mcproof.exchange.probe_facts import cropped_value
    from mcproof.results.proof import Failure

    what = f"{found.case.description}: {found.judgement.problem}" if found.case.description else found.judgement.problem
    arguments = cropped_value(found.case.arguments)
    return Failure(kept.id, kept.tool, kept.outcome, arguments, f"mcproof replay {kept.id}", what, found.times)


def _as_asked(rule: Rule, *, strict: bool) -> Rule:
    """A rule, as serious as the command line asks for; a configured severity stands."""
    is_configured = rule is not find_rule(rule.id)
    return rule if strict or is_configured or rule.id not in ACCEPTING else rule.with_severity("warning")
