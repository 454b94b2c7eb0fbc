"""`mcproof demo`."""

from __future__ import annotations

import os
import sys

import mcproof
from mcproof.cli.commands import grade, lint, prove
from mcproof.cli.outputs import add_color
from mcproof.cli.parser import Parser
from mcproof.core.console import Style
from mcproof.core.errors import FINDINGS, OK

SERVER = ("python", "-m", "mcproof.demo.server")
_ENVIRONMENT = (
    "--env",
    f"PYTHONPATH={os.path.dirname(os.path.dirname(mcproof.__file__))}",
    "--env",
    "PYTHONSAFEPATH=1",
)
"""Makes Python import the server from this package, whatever the current folder contains."""


def demo_parser() -> Parser:
    parser = Parser(
        "demo", "Lint, grade and prove an example server, with the faults of real ones.", examples="mcproof demo"
    )
    add_color(parser)
    return parser


def demo_command(arguments: list[str]) -> int:
    options = demo_parser().parse_args(arguments)
    style = Style.of(sys.stdout)
    # Makes `python` this interpreter, whether or not its environment is active.
    os.environ["PATH"] = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    for name, run in (("lint", lint.lint_command), ("grade", grade.grade_command), ("prove", _prove)):
        sys.stdout.write(style.paint(f"$ mcproof {name} -- {' '.join(SERVER)}", "bold") + "\n\n")
        sys.stdout.flush()
        code = run(["--no-config", "--color", options.color, *_ENVIRONMENT, "--", *SERVER])
        if code not in (OK, FINDINGS):
            return code
        sys.stdout.write("\n")
    sys.stdout.write("Now try it on a server of your own: mcproof prove -- python server.py\n")
    sys.stdout.write("Or see such results in the browser: mcproof serve --demo (pip install 'mcproof[web]')\n")
    return OK


def _prove(arguments: list[str]) -> int:
    """Prove without storing failures: the demo leaves no files, so its output has no ids to replay."""
    return prove.prove_command(arguments, stores_failures=False)
