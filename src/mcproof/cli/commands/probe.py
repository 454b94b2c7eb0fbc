"""`mcproof probe`, and what `prove` does as well."""

from __future__ import annotations

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
    whole_number,
    words,
)
from mcproof.cli.planning import Command
from mcproof.errors import UsageError, nearest
from mcproof.results.run import BROKEN

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.execute import Work
    from mcproof.cli.live_command import Prepared
    from mcproof.client.open_server import OpenServer
    from mcproof.execution.check_catalog import Depth
    from mcproof.prove.probe_session import ProbePlan
    from mcproof.results.payloads import Payload
    from mcproof.results.run import TargetResult

COMMAND = Command("probe", ("wire",), fail_on=BROKEN, calls=True)


def parser() -> Parser:
    parser = Parser("probe", "Send a live server bad requests, and see whether it refuses them.")
    add_probing(parser)
    return parser


def command(arguments: list[str]) -> int:
    return run(COMMAND, parser().parse_args(arguments), explores=False)


def add_probing(parser: Parser) -> None:
    """The options of the commands that send probes."""
    add_targets(parser)
    add_outputs(parser)
    parser.add_argument(
        "--checks",
        action="append",
        default=[],
        metavar="PROBE",
        help="send only these probes; comma-separated, repeatable",
    )
    add_calls(parser)
    parser.add_argument(
        "--oversize",
        type=whole_number("bytes", 1, 32 * 1024 * 1024),
        default=1024 * 1024,
        metavar="BYTES",
        help="how long the oversized text is (default 1048576)",
    )
    add_fail_on(parser, BROKEN)
    add_settings(parser)
    add_live(parser)


def run(command: Command, options: argparse.Namespace, *, explores: bool) -> int:
    """Probe one live server, and report."""
    from mcproof.prove.probe_session import ProbePlan
    from mcproof.prove.proving import default_checks

    checks = chosen_checks(options) or default_checks(explores=explores)

    def look(work: Work, depth: Depth, prepared: Prepared) -> TargetResult:
        server, permissions, arguments, limit, target = prepared
        inquiry = ProbePlan(permissions, checks, explores, arguments, options.oversize, limit, target)
        return _probe(work, depth, server, inquiry)

    return call_one(command, options, look)


def chosen_checks(options: argparse.Namespace) -> list[str]:
    """The probes that were asked for, in the order in which they are sent."""
    from mcproof.prove.proving import default_checks

    known = default_checks(explores=True)
    chosen = words(options.checks)
    for name in chosen:
        if name not in known:
            raise UsageError(f"unknown probe `{name}`{nearest(name, known)}; there are {', '.join(known)}")
    return [name for name in known if name in chosen]


def _probe(work: Work, depth: Depth, server: OpenServer, inquiry: ProbePlan) -> TargetResult:
    from mcproof.console import Counter
    from mcproof.prove.contract import with_predictions
    from mcproof.prove.proving import prove
    from mcproof.results.payloads import ProbePayload, ProvePayload

    counter = Counter()
    proof = prove(work.catalog, server, inquiry, counter.step)
    counter.clear()
    work.catalog.connection = server.close()
    if server.is_interrupted:
        work.interrupt()
    keep_failures(proof.stored)
    work.catalog.item_probes = proof.item_probes
    report = work.examined(depth)
    payload: Payload = ProbePayload(proof.probes)
    if inquiry.explores:
        payload = ProvePayload(proof.probes, with_predictions(proof.matrix, [*report.findings, *report.suppressed]))
    return report._replace(
        gates=gates_of(sum(each.passed is not None for each in proof.probes)),
        payload=payload,
        untested=[*report.untested, *proof.untested],
    )
