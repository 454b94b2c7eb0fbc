"""`mcproof demo`."""

from __future__ import annotations

import os
import sys
from importlib.resources import as_file, files

from mcproof.cli import grade, lint
from mcproof.cli.main import OK
from mcproof.cli.options import Parser
from mcproof.report.terminal import Style


def parser() -> Parser:
    return Parser("demo", "Lint and grade an example catalog, with the faults that real servers have.")


def command(arguments: list[str]) -> int:
    parser().parse_args(arguments)
    style = Style.of(sys.stdout)
    with as_file(files("mcproof") / "demo" / "weather.json") as path:
        os.chdir(path.parent)
        for name, run in (("lint", lint.command), ("grade", grade.command)):
            sys.stdout.write(style.paint(f"$ mcproof {name} weather.json", "bold") + "\n\n")
            sys.stdout.flush()
            run([path.name])
            sys.stdout.write("\n")
    sys.stdout.write("Now try it on a catalog of your own: mcproof grade tools.json\n")
    return OK
