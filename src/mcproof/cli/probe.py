"""`mcproof probe`, and what `prove` does as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.calling import (
    gates_of,
    given_arguments,
    keep_failures,
    live_server,
    permissions_of,
    refuse_several,
    tell_permissions,
)
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
from mcproof.cli.session import check_targets
from mcproof.errors import UsageError, nearest
from mcproof.report.model import BROKEN

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.session import Work
    from mcproof.pipeline import Depth
    from mcproof.report.model import TargetReport

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
    from mcproof.proof.proving import default_checks

    refuse_several(options)
    checks = chosen_checks(options) or default_checks(explores=explores)
    options.min_grade = options.max_tokens = None
    return check_targets(command, options, lambda work, depth: _probe(work, depth, options, checks, explores=explores))


def chosen_checks(options: argparse.Namespace) -> list[str]:
    """The probes that were asked for, in the order in which they are sent."""
    from mcproof.proof.proving import default_checks

    known = default_checks(explores=True)
    chosen = words(options.checks)
    for name in chosen:
        if name not in known:
            raise UsageError(f"unknown probe `{name}`{nearest(name, known)}; there are {', '.join(known)}")
    return [name for name in known if name in chosen]


def _probe(work: Work, depth: Depth, options: argparse.Namespace, checks: list[str], *, explores: bool) -> TargetReport:
    from mcproof.proof.contract import with_predictions
    from mcproof.proof.interview import Inquiry
    from mcproof.proof.proving import prove
    from mcproof.proof.store import described
    from mcproof.report.terminal import Counter

    server, asking = live_server(work, options)
    permissions = permissions_of(work.catalog, options)
    arguments = given_arguments(options, permissions)
    tell_permissions(permissions)
    limit = options.max_call_ms / 1000
    inquiry = Inquiry(permissions, checks, explores, arguments, options.oversize, limit, described(work.source))
    counter = Counter()
    proof = prove(work.catalog, server, asking, inquiry, counter.step)
    counter.clear()
    if proof.interrupted:
        work.interrupt()
    keep_failures(proof.stored)
    work.catalog.trials = proof.trials
    report = work.examined(depth)
    return report._replace(
        gates=gates_of(sum(each.passed is not None for each in proof.probes)),
        probes=proof.probes,
        matrix=with_predictions(proof.matrix, [*report.findings, *report.suppressed]),
        untested=[*report.untested, *proof.untested],
    )
