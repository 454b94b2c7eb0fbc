"""`mcproof demo`."""

from __future__ import annotations

import os
import sys
from tempfile import TemporaryDirectory

import mcproof
from mcproof.cli.commands import grade, lint, prove
from mcproof.cli.main import FINDINGS, OK
from mcproof.cli.options import Parser
from mcproof.console import Style

SERVER = ("python", "-m", "mcproof.demo.server")
_BY_ITSELF = (
    "--env",
    f"PYTHONPATH={os.path.dirname(os.path.dirname(mcproof.__file__))}",
    "--env",
    "PYTHONSAFEPATH=1",
)
"""What lets the server be this package's, whatever lies in the folder where it is started."""


def parser() -> Parser:
    return Parser("demo", "Start an example server, with the faults that real ones have, and lint, grade and prove it.")


def command(arguments: list[str]) -> int:
    parser().parse_args(arguments)
    style = Style.of(sys.stdout)
    # `python` is the one that runs this, whether or not its environment is active.
    os.environ["PATH"] = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    here = os.getcwd()
    with TemporaryDirectory() as folder:  # for the failures that are stored
        os.chdir(folder)
        try:
            for name, run in (("lint", lint.command), ("grade", grade.command), ("prove", prove.command)):
                sys.stdout.write(style.paint(f"$ mcproof {name} -- {' '.join(SERVER)}", "bold") + "\n\n")
                sys.stdout.flush()
                code = run(["--no-config", *_BY_ITSELF, "--", *SERVER])
                if code not in (OK, FINDINGS):
                    return code
                sys.stdout.write("\n")
        finally:
            os.chdir(here)
    sys.stdout.write("Now try it on a server of your own: mcproof prove -- python server.py\n")
    return OK
