"""`mcproof lsp`."""

from __future__ import annotations

import gc
import os
import signal
import sys

from mcproof.cli.parser import Parser
from mcproof.core.console import remark
from mcproof.core.errors import OK, UsageError

LSP_NOTES = """\
Editors start it; see docs/editors.md for their settings. It checks Python source that registers tools, snapshots, \
suites and configurations while you type, with the nearest mcproof.toml. It never runs the code of a project, starts \
no server and writes no file: every change goes through the editor.
"""


def lsp_parser() -> Parser:
    parser = Parser(
        "lsp",
        "Serve an editor: findings while you type, fixes, completion, and token counts over tools.",
        usage="[OPTIONS]",
        notes=LSP_NOTES,
        examples="mcproof lsp  speak the Language Server Protocol on standard input and output\n",
    )
    parser.add_argument(
        "--stdio",
        action="store_true",
        help="speak on standard input and output: the default, accepted for editors that pass it",
    )
    return parser


def lsp_command(arguments: list[str]) -> int:
    lsp_parser().parse_args(arguments)
    try:
        from mcproof.services.lsp.server import serve
    except ImportError:
        raise UsageError("`lsp` needs one more package: `pip install 'mcproof[lsp]'`") from None
    if sys.stdin.isatty():
        remark("an editor starts this, and speaks on standard input; docs/editors.md has the settings. Ctrl-C ends it")
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # else Ctrl-C would wait for the next line
    gc.enable()  # it runs for days, and syntax trees have cycles
    stdin, stdout = sys.stdin.buffer, sys.stdout
    with os.fdopen(os.dup(stdout.fileno()), "wb") as messages:
        sys.stdout = sys.stderr  # standard output is for the protocol alone
        try:
            serve(stdin, messages)
        finally:
            sys.stdout = stdout
    return OK
