"""Write docs/rules, docs/reference and the other generated pages from the code and its data, and the parts of the
published schemas that follow from types.

`make docs` runs this; a test fails when a page is stale.
"""

from __future__ import annotations

import json
import pathlib
from typing import TYPE_CHECKING, Any

from mcproof.checks.baseline import BaselineEntry
from mcproof.checks.clients.profiles import Profile, known_profiles
from mcproof.checks.clients.verdicts import BrokenConstraint, ClientGain, ClientOutcome, Improvement
from mcproof.checks.diff.changes import CHANGE_KINDS
from mcproof.checks.findings import RuleSummary, Snippet, TextEdit
from mcproof.checks.fixes.snippets import CodeHelp
from mcproof.checks.ignores import Suppression
from mcproof.checks.rule import all_rules
from mcproof.checks.rulebook import index_page, method_page, rule_page
from mcproof.checks.scores.grade import Grade, NotJudged
from mcproof.checks.scores.tokens import TokenCost
from mcproof.checks.scores.trust import Action, RuleOutcome, Trust
from mcproof.checks.texts.tool_graph import ToolEdge, ToolGraph
from mcproof.cli.help import all_commands
from mcproof.cli.main import COMMAND_GROUPS
from mcproof.core.errors import Notice, Untested
from mcproof.probing.outcomes import Cell, Failure, NegativePathCounts, ProbeResult, Promises
from mcproof.report.formats import FORMATS
from mcproof.report.grids import KIND_WORDS
from mcproof.report.listings import ListedParameter, newest_date
from mcproof.runs.codec import definition_of
from mcproof.runs.records import FindingRecord, FixRecord
from mcproof.runs.results import AppliedConfiguration, Conclusion, Descriptions, Edit, Trouble
from mcproof.services.store.queries import PastRun
from mcproof.testing.outcomes import TestFailure, TestResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.cli.command import Command, Option

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SCHEMAS = ROOT / "src" / "mcproof" / "runs" / "schemas"

NAMES: dict[type, str] = {
    Action: "action",
    AppliedConfiguration: "configuration",
    BrokenConstraint: "hit",
    Cell: "cell",
    ClientGain: "gain",
    ClientOutcome: "client",
    CodeHelp: "code_help",
    Conclusion: "conclusion",
    Descriptions: "descriptions",
    Edit: "next_edit",
    Failure: "failure",
    FindingRecord: "finding",
    FixRecord: "fix",
    Grade: "grade_score",
    NotJudged: "not_judged",
    Improvement: "improvement",
    Notice: "notice",
    ProbeResult: "probe_result",
    RuleSummary: "rule",
    RuleOutcome: "rule_outcome",
    Snippet: "snippet",
    Suppression: "suppression",
    TestFailure: "test_failure",
    TestResult: "test",
    TextEdit: "edit",
    TokenCost: "tokens",
    ToolEdge: "tool_edge",
    ToolGraph: "tool_graph",
    Trouble: "problem",
    Trust: "trust",
    Untested: "untested",
}
"""The names that types have in the `$defs` of schemas."""


def _named(*kinds: type) -> dict[str, type]:
    return {f"$defs/{NAMES[kind]}": kind for kind in kinds}


TYPES: dict[str, dict[str, type]] = {
    "baseline": {"properties/entries/items": BaselineEntry},
    "check": _named(Conclusion, Edit, Trouble, FindingRecord, FixRecord, Grade, NotJudged),
    "compat": _named(
        Conclusion, Trouble, FindingRecord, FixRecord, NotJudged, BrokenConstraint, ClientGain, Improvement
    ),
    "diff": _named(Conclusion),
    "error": _named(Trouble),
    "fuzz": _named(Conclusion, Trouble, FindingRecord, FixRecord, Failure),
    "grade": _named(Conclusion, Trouble, FindingRecord, FixRecord, NotJudged),
    "history": {"$defs/run": PastRun},
    "lint": _named(Conclusion, Trouble, FindingRecord, FixRecord, NotJudged),
    "probe": {
        **_named(Conclusion, Trouble, FindingRecord, FixRecord, ProbeResult),
        "$defs/probe/properties/negative_path": NegativePathCounts,
    },
    "prove": {
        **_named(Conclusion, Trouble, FindingRecord, FixRecord, ProbeResult, Cell),
        "$defs/prove/properties/negative_path": NegativePathCounts,
        "$defs/prove/properties/promises": Promises,
    },
    # A finding of a run report may also be a change, and has members that only renderers need.
    "run": _named(*(kind for kind in NAMES if kind not in (FindingRecord, Conclusion))),
    "scan": _named(
        Conclusion, Trouble, FindingRecord, FixRecord, NotJudged, Trust, RuleOutcome, Action, ToolGraph, ToolEdge
    ),
    "tests": _named(Conclusion, Trouble, TestResult, TestFailure),
    "tools": {"$defs/parameter": ListedParameter},
}
"""The parts of published schemas that follow from types, by their place in the schema. The rest is written by hand."""


def _changes_page() -> str:
    """Every kind of change, why it matters and what to do about it."""
    lines = [
        "# Kinds of change",
        "",
        "Generated from the code by `make docs`. Each change states whether it breaks callers: see [diff](diff.md).",
        "",
    ]
    for kind in CHANGE_KINDS.values():
        lines += [f"## {kind.id}", "", kind.summary, ""]
        lines += [f"Why it matters: {kind.why}.", "", f"What to do: {kind.advice}.", ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every generated page, by its path in docs."""
    rules = {f"rules/{rule.id}.md": rule_page(rule) for rule in all_rules()}
    return {
        "kinds-of-change.md": _changes_page(),
        "clients.md": clients_page(list(known_profiles().values())),
        "reference/index.md": reference_page(),
        **{f"reference/{command.name}.md": command_page(command) for command in all_commands()},
        "grade.md": method_page(),
        "rules/index.md": index_page(),
        **rules,
    }


def clients_page(profiles: Sequence[Profile]) -> str:
    """Return the documentation page with the table of profiles, as Markdown."""
    facts = sum(len(profile.constraints) for profile in profiles)
    lines = [
        "# Clients",
        "",
        f"The {len(profiles)} profiles of [`mcproof compat`](compat.md), with {facts} facts. "
        "`mcproof explain clients NAME` shows the facts about one, with sources and dates.",
        "",
        "| id | name | kind | passes tools on to | facts | checked | newest fact |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for profile in profiles:
        cells = (
            f"`{profile.id}`",
            f"{profile.name} ({profile.about})" if profile.about else profile.name,
            KIND_WORDS.get(profile.kind, profile.kind),
            ", ".join(f"`{api}`" for api in profile.sends_to),
            str(len(profile.constraints)),
            profile.checked,
            newest_date(profile),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


_INTRODUCTION = """\
# Command line

Generated by `make docs`; `mcproof COMMAND --help` shows the same.

| exit code | meaning |
| --- | --- |
| 0 | nothing at or above `--fail-on`, every gate met |
| 1 | findings, a gate not met, a breaking change, or a stale entry in the baseline |
| 2 | could not do the job: bad arguments or configuration, unreadable input, nothing to check |
| 130 | interrupted; the results so far are written |

Findings go to standard output; progress, hints and notices to standard error.
"""


def reference_page() -> str:
    """The list of all commands, and the formats."""
    return "\n".join([_INTRODUCTION, *_overview(), *_formats()])


def command_page(command: Command) -> str:
    """A command with its arguments."""
    return "\n".join(_section(command))


def _overview() -> Iterator[str]:
    for title, commands in COMMAND_GROUPS.items():
        yield from (f"| {title} | |", "| --- | --- |")
        yield from (f"| [{name}]({name}.md) | {summary} |" for name, (_, summary) in commands.items())
        yield ""


def _section(command: Command) -> Iterator[str]:
    yield from (f"# mcproof {command.name}", "", command.description, "", "```text", *command.ways, "```", "")
    for title, options in command.groups.items():
        yield from (f"| {title} | |", "| --- | --- |")
        yield from (f"| {_names(option)} | {_cell(option.help)} |" for option in options)
        yield ""
    if command.notes:
        yield from (" ".join(command.notes.split()), "")
    if command.examples:
        yield from ("```sh", *_commented(command.examples), "```", "")


def _commented(examples: str) -> Iterator[str]:
    """Examples, each with its purpose as a comment."""
    pairs = [line.partition("  ")[::2] for line in examples.splitlines()]
    longest = max(len(command) for command, _ in pairs)
    for command, purpose in pairs:
        yield f"{command:{longest}}  # {purpose}" if purpose else command


def _names(option: Option) -> str:
    names = option.flags or ("",)
    value = _cell(option.value)
    return ", ".join(f"`{f'{name} {value}'.strip()}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _formats() -> Iterator[str]:
    yield from ("## Formats", "", "| `--format` | for | `--output` by extension |", "| --- | --- | --- |")
    for entry in FORMATS.values():
        yield f"| `{entry.name}` | {entry.summary} | {', '.join(f'`{extension}`' for extension in entry.extensions)} |"
    yield from ("", "`--output FORMAT:FILE` writes any format into any file.", "")


def schemas() -> dict[str, str]:
    """Every published schema with parts that follow from types, by its name, with these brought up to date."""
    texts = {}
    for name, types in TYPES.items():
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
        for place, kind in types.items():
            *path, key = place.split("/")
            parent: dict[str, Any] = schema
            for step in path:
                parent = parent[step]
            parent[key] = _in_order_of(parent[key], definition_of(kind, NAMES))
        texts[name] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    return texts


def _in_order_of(present: Any, value: Any) -> Any:
    """Return a value with its keys and words in the order of the present one: an order says nothing, and stays."""
    if isinstance(present, dict) and isinstance(value, dict):
        keys = [key for key in present if key in value]
        return {key: _in_order_of(present.get(key), value[key]) for key in (*keys, *value)}
    if isinstance(present, list) and isinstance(value, list) and sorted(map(repr, present)) == sorted(map(repr, value)):
        return present
    return value


def main() -> None:
    wanted = pages()
    for stale in (*DOCS.glob("rules/*.md"), *DOCS.glob("reference/*.md")):
        if stale.relative_to(DOCS).as_posix() not in wanted:
            stale.unlink()
    for name, text in wanted.items():
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(wanted)} pages to {DOCS}")
    published = schemas()
    for name, text in published.items():
        (SCHEMAS / f"{name}.schema.json").write_text(text, encoding="utf-8")
    print(f"wrote {len(published)} schemas to {SCHEMAS}")


if __name__ == "__main__":
    main()
