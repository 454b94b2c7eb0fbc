"""`mcproof advisories`."""

from __future__ import annotations

import json
import sys

from mcproof.checks.advisories import advisory_table
from mcproof.cli.outputs import add_format
from mcproof.cli.parser import Parser
from mcproof.core.console import Style, print_lines, remark
from mcproof.core.errors import OK, nearest
from mcproof.report.listings import advisory_document, advisory_lines

ADVISORIES_NOTES = """\
The table ships with mcproof and has a date: newer advisories are not in it. `scan` checks the packages of a server that
its command, source or capture shows with a version; an unknown version is reported as not checked.
"""


def advisories_parser() -> Parser:
    parser = Parser(
        "advisories",
        "List the known vulnerabilities of MCP servers and frameworks that `scan` checks.",
        usage="[OPTIONS] [PACKAGE...]",
        examples="mcproof advisories  all of them\nmcproof advisories mcp-remote  those of one package",
        notes=ADVISORIES_NOTES,
    )
    parser.add_argument("packages", metavar="PACKAGE", nargs="*", help="names of packages (default: all)")
    add_format(parser, "text", "json")
    return parser


def advisories_command(arguments: list[str]) -> int:
    options = advisories_parser().parse_args(arguments)
    table = advisory_table()
    wanted = {name.lower() for name in options.packages}
    chosen = [each for each in table.advisories if not wanted or each.package in wanted]
    if options.format == "json":
        sys.stdout.write(json.dumps(advisory_document(chosen, table.checked), indent=2) + "\n")
    else:
        print_lines(advisory_lines(chosen, table.checked, Style.of(sys.stdout)), sys.stdout)
        for name in sorted(wanted - {each.package for each in chosen}):
            remark(
                f"no advisory about {name} is in the table{nearest(name, [each.package for each in table.advisories])}"
            )
    return OK
