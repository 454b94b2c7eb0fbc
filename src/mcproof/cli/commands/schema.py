"""`mcproof schema`."""

from __future__ import annotations

import sys

from mcproof.cli.parser import Parser
from mcproof.errors import OK

EPILOG = """\
An editor with a YAML language server checks suites while you type:

  mcproof schema > mcproof.schema.json
  # yaml-language-server: $schema=mcproof.schema.json   (the first line of the suite)
"""


def parser() -> Parser:
    return Parser("schema", "Print the JSON Schema of test suites, for editors.", epilog=EPILOG)


def command(arguments: list[str]) -> int:
    from importlib.resources import files

    parser().parse_args(arguments)
    sys.stdout.write((files("mcproof.suite") / "suite.schema.json").read_text(encoding="utf-8"))
    return OK
