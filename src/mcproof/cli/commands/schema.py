"""`mcproof schema`."""

from __future__ import annotations

import sys

from mcproof.cli.parser import Parser
from mcproof.errors import OK

NOTES = """\
An editor with a YAML language server checks suites while you type, if their first line is
`# yaml-language-server: $schema=mcproof.schema.json`.
"""


def parser() -> Parser:
    return Parser(
        "schema",
        "Print the JSON Schema of test suites, for editors.",
        usage="",
        examples="mcproof schema > mcproof.schema.json",
        notes=NOTES,
    )


def command(arguments: list[str]) -> int:
    from importlib.resources import files

    parser().parse_args(arguments)
    sys.stdout.write((files("mcproof.suite") / "suite.schema.json").read_text(encoding="utf-8"))
    return OK
