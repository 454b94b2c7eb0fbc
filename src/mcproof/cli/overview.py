"""`mcproof --help`: the commands in groups, when to use which, and examples."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from mcproof.cli.parser import filled, help_width, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

USES = {
    "probe": "you want a quick answer: one bad request of each kind per tool",
    "prove": "you want certainty before a release: every promise of every schema, tried and shown as a matrix",
    "fuzz": "you look for crashes, hangs and leaks: hundreds of generated calls per tool",
    "run": "you want your own expectations in CI: a suite in YAML, which can also probe and fuzz",
}
"""When to use each of the commands that call tools."""
_TARGETS = """\
A TARGET is a snapshot (the result of `tools/list` saved as JSON), Python source, a folder with either, - for standard
input, a URL, FILE.json#NAME of a client configuration, or a name from `[targets]` of mcproof.toml. -- COMMAND ARG... at
the end starts a server.
"""
_EXAMPLES = """\
mcproof grade -- python server.py  how good it is, and what would help most
mcproof prove -- python server.py  whether it keeps the promises of its schemas
mcproof lint  all findings about what is in this folder
mcproof lint https://host/mcp  all findings about a live server
mcproof tools -- python server.py  its tools, with parameters and token cost
mcproof call TOOL key=value -- python server.py  call one of them
mcproof init -- python server.py  write a first test suite, mcproof.yaml
mcproof run  run the tests in mcproof.yaml
mcproof schema-lint tools.json --fix  print the catalog with tightened schemas
"""
_END = """\
Exit codes: 0 no findings, 1 findings or a failed gate, 2 could not do the job, 130 interrupted.

`mcproof COMMAND --help` shows the options of a command.
"""


def overview(groups: Mapping[str, Mapping[str, str]]) -> str:
    """The help of mcproof itself, in the width of the terminal."""
    width = help_width()
    lines = ["mcproof proves that an MCP server is fit for agents.", "", "Usage: mcproof COMMAND [OPTIONS] TARGET..."]
    for title, commands in groups.items():
        lines += ["", f"{title}:", *_table(commands, width)]
    lines += ["", "Use this when:", *_table(USES, width)]
    lines += ["", filled(_TARGETS, width), "", "Examples:", *laid_out(_EXAMPLES, width), "", filled(_END, width), ""]
    return "\n".join(lines)


def _table(rows: Mapping[str, str], width: int) -> Iterator[str]:
    for name, text in rows.items():
        yield from wrap(text, width, initial_indent=f"  {name:13}", subsequent_indent=" " * 15)
