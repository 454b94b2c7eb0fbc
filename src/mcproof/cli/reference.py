"""The reference page of the command line, in Markdown, from the same parsers that read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.cli.introspection import anatomies
from mcproof.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.cli.introspection import Anatomy, Argument

_INTRODUCTION = """\
# Command line

Generated from the commands by `make docs`; `mcproof COMMAND --help` shows the same.

| exit code | means |
| --- | --- |
| 0 | nothing at or above `--fail-on`, every gate met |
| 1 | findings, a gate not met, a breaking change, or a stale entry in the baseline |
| 2 | could not do the job: bad arguments or configuration, unreadable input, nothing to check |
| 130 | interrupted; what was found so far has been written |

Findings go to standard output; progress, hints and notices to standard error.
"""


def reference_page() -> str:
    """Every command with its arguments, and the formats."""
    return "\n".join(
        [_INTRODUCTION, *_overview(), *(line for each in anatomies() for line in _section(each)), *_formats()]
    )


def _overview() -> Iterator[str]:
    yield from ("| command | does |", "| --- | --- |")
    for each in anatomies():
        yield f"| [{each.name}](#{each.name}) | {each.summary} |"
    yield ""


def _section(command: Anatomy) -> Iterator[str]:
    yield from (f"## {command.name}", "", command.description, "", "```text", command.usage, "```", "")
    yield from _table(command.positionals)
    yield from _table(command.options)
    if command.epilog:
        yield from (" ".join(command.epilog.split()), "")


def _table(arguments: Iterable[Argument]) -> Iterator[str]:
    rows = [f"| {_spelt(each)} | {_cell(each.help)} |" for each in arguments]
    if rows:
        yield from ("| | |", "| --- | --- |", *rows, "")


def _spelt(argument: Argument) -> str:
    names = argument.flags or ("",)
    value = _cell(argument.value)
    return ", ".join(f"`{f'{name} {value}'.strip()}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _formats() -> Iterator[str]:
    yield from ("## Formats", "", "| `--format` | for | `--output` by extension |", "| --- | --- | --- |")
    for each in FORMATS.values():
        yield f"| `{each.name}` | {each.summary} | {', '.join(f'`{extension}`' for extension in each.extensions)} |"
    yield from ("", "`--output FORMAT:FILE` writes any format into any file.", "")
