"""`mcproof schema`."""

from __future__ import annotations

import sys

from mcproof.cli.parser import Parser
from mcproof.core.errors import OK

SCHEMA_NOTES = """\
An editor with a YAML language server checks suites while you type, if their first line is
`# yaml-language-server: $schema=mcproof.schema.json`.
"""


def schema_parser() -> Parser:
    return Parser(
        "schema",
        "Print the JSON Schema of test suites, for editors.",
        usage="",
        examples="mcproof schema > mcproof.schema.json",
        notes=SCHEMA_NOTES,
    )


def schema_command(arguments: list[str]) -> int:
    from importlib.resources import files

    schema_parser().parse_args(arguments)
    sys.stdout.write((files("mcproof.testing.suites") / "suite.schema.json").read_text(encoding="utf-8"))
    return OK
