"""Write docs/rules, docs/reference and the other generated pages from the code and its data, and the parts of the
published schemas that follow from types.

`make docs` runs this; a test fails when a page is stale.
"""

from __future__ import annotations

import ast
import inspect
import json
import pathlib
import re
import textwrap
from collections.abc import Mapping
from itertools import pairwise
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin

from mcproof.checks.baseline import BaselineEntry
from mcproof.checks.clients.profiles import Profile, known_profiles
from mcproof.checks.clients.verdicts import BrokenConstraint, ClientGain, ClientOutcome, Improvement
from mcproof.checks.diff.changes import CHANGE_KINDS
from mcproof.checks.findings import RULESET_NAMES, Level, RuleSummary, Severity, Snippet, TextEdit
from mcproof.checks.fixes.snippets import CodeHelp
from mcproof.checks.ignores import Suppression
from mcproof.checks.rule import FAULTS, RULESETS, all_rules
from mcproof.checks.rulebook import grade_method, rule_page, rules_of_fault, trust_method
from mcproof.checks.scores.grade import Grade, NotJudged
from mcproof.checks.scores.tokens import TokenCost
from mcproof.checks.scores.trust import Action, RuleOutcome, Trust
from mcproof.checks.texts.tool_graph import ToolEdge, ToolGraph
from mcproof.cli.help import all_commands
from mcproof.cli.main import COMMAND_GROUPS
from mcproof.core.errors import Notice, Untested
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Fault, Position, Text, member, record
from mcproof.probing.outcomes import Cell, Failure, NegativePathCounts, ProbeResult, Promises
from mcproof.report.formats import FORMATS
from mcproof.report.grids import KIND_WORDS
from mcproof.report.listings import ListedParameter, newest_date
from mcproof.runs.codec import is_record, members_of
from mcproof.runs.results import AppliedConfiguration, Conclusion, Descriptions, Edit, Trouble
from mcproof.services.store.queries import PastRun
from mcproof.testing.outcomes import TestFailure, TestResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.cli.command import Command, Option

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SCHEMAS = ROOT / "src" / "mcproof" / "runs" / "schemas"


@record()
class FixRecord(NamedTuple):
    """An automatic fix: set this member of the object at `pointer`."""

    set: str
    """The key of the member."""
    to: Any
    """The new value. Any JSON."""


@record()
class FindingRecord(NamedTuple):
    """A finding."""

    # Written by hand in `runs.records`, because a long report is little else; this is what that writes.

    rule: Text
    """The permanent id of the rule."""
    ruleset: Annotated[str, member(enum=RULESET_NAMES[:-1])]
    """The ruleset of the rule."""
    severity: Severity
    """The severity, as the ruleset publishes it."""
    level: Level
    """The level, which determines the exit code."""
    fault: Fault | None
    """The id in the fault taxonomy that rules and probes share, or None."""
    subject: Annotated[str, member(pattern="^(server$|(tool|resource|template|prompt|parameter):)")]
    """The subject: `server`, or a kind and a name such as `tool:search` or `parameter:query`."""
    tool: Text | None
    """The tool, also of a parameter, or None."""
    pointer: Annotated[str, member(pattern="^(/([^/~]|~[01])*)*$")]
    """A JSON pointer to the problem, relative to the tool, resource or prompt."""
    message: Text
    """The problem, in one sentence."""
    evidence: dict[str, Any] | None
    """Evidence for programs; its members depend on the rule. Null if the message is complete."""
    file: Text
    """The file, as given."""
    line: Position | None
    """The line in that file, counted from 1, or None if there is no location."""
    column: Position | None
    """The column in that line, in characters, counted from 1, or None."""
    fix: FixRecord | None
    """The change that `schema-lint --fix` makes, or None."""


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
        "grade.md": _method_page(),
        "rules/index.md": _index_page(),
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


def _method_page() -> str:
    """The documentation page about the grade and the verdict, in Markdown."""
    parts = [
        "# Grade and verdict",
        "",
        "```console",
        "$ mcproof grade catalogs/weather.json",
        "...",
        "What would help most",
        "  declare 1 required parameter: +15, C → B",
        "  describe 2 parameters: +10",
        "  describe 1 prompt argument: +5",
        "...",
        "```",
        "",
        "`mcproof grade` shows the letter, and `mcproof scan` the verdict. `mcproof explain grade` and",
        "`mcproof explain verdict` show the same as this page, which `make docs` generates from the rules.",
    ]
    for title, lines in (("The grade", grade_method()), ("The verdict", trust_method())):
        parts += ["", f"## {title}", "", "```text", *lines, "```"]
    return "\n".join([*parts, ""])


def _index_page() -> str:
    """The list of all rules, by ruleset, in Markdown."""
    lines = ["# Rules", "", "Generated from the rules by `make docs`. `mcproof explain ID` shows the same text.", ""]
    for ruleset in RULESETS.values():
        when = "runs by default" if ruleset.is_default else "opt-in: `--ruleset`"
        lines += [f"## {ruleset.name}", "", f"{ruleset.summary} ({when})", ""]
        lines += ["| rule | severity | fix | what it reports |", "| --- | --- | --- | --- |"]
        for rule in all_rules():
            if rule.ruleset == ruleset.name:
                fix = "yes" if rule.fixable else ""
                lines.append(f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {fix} | {rule.summary} |")
        lines.append("")
    lines += ["## Faults", "", "| fault | what goes wrong | from | rules |", "| --- | --- | --- | --- |"]
    for fault in FAULTS.values():
        named = ", ".join(rule.id for rule in rules_of_fault(fault)) or "(a runtime probe only)"
        lines.append(f"| {fault.id} | {fault.summary} | {fault.paper} | {named} |")
    return "\n".join([*lines, ""])


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


_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def definition_of(kind: Any, names: Mapping[Any, str]) -> dict[str, Any]:
    """Return the JSON Schema of a NamedTuple; types with a name in `names` are references to `$defs`."""
    documentation = _documentation(kind)
    properties = {
        stored.key: {**documentation.get(stored.name, {}), **_schema_of(stored.hint, names)}
        for stored in members_of(kind)
    }
    return {
        **documentation.get("", {}),
        "type": "object",
        "properties": properties,
        "required": [stored.key for stored in members_of(kind) if stored.presence == "always"],
        "additionalProperties": False,
    }


def _schema_of(kind: Any, names: Mapping[Any, str]) -> dict[str, Any]:
    """Return the JSON Schema of a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        schema = _schema_of(arguments[0], names)
        for declared in arguments[1:]:
            schema.update((key, list(limit) if isinstance(limit, tuple) else limit) for key, limit in declared.limits)
        return {key: value for key, value in schema.items() if key != "type" or "enum" not in schema}
    if origin is Literal:
        return {"enum": list(arguments)} if len(arguments) > 1 else {"const": arguments[0]}
    if origin in (Union, UnionType):
        return _union_of([_schema_of(part, names) for part in arguments])
    if origin in (list, tuple):
        return {"type": "array", "items": _schema_of(arguments[0], names)}
    if origin is dict:
        values = _schema_of(arguments[1], names)
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if is_record(kind):
        return {"$ref": f"#/$defs/{names[kind]}"} if kind in names else definition_of(kind, names)
    return {} if kind is Any else {"type": _TYPES[kind]}


def _union_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one schema for alternatives; with null, a simple one has two types, and an enum one more value."""
    first, *others = schemas
    if others != [{"type": "null"}] or "$ref" in first:
        return {"anyOf": schemas}
    if "enum" in first:
        return {"enum": [*first["enum"], None]}
    return {**first, "type": [first["type"], "null"]}


def _documentation(kind: Any) -> dict[str, dict[str, Any]]:
    """Return the descriptions of a type, by its fields and properties; of the type itself by an empty name."""
    # From the source: a docstring below a field exists nowhere at run time.
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    body = cast("ast.ClassDef", definition).body
    texts = {"": ast.get_docstring(cast("ast.ClassDef", definition)) or ""}
    for statement, following in pairwise(body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                texts[name] = text
    texts |= {method.name: ast.get_docstring(method) or "" for method in body if isinstance(method, ast.FunctionDef)}
    return {name: {"description": _in_json(text)} for name, text in texts.items() if text}


def _in_json(text: str) -> str:
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))


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
