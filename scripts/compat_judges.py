"""Compare the client profiles with the code of the clients themselves, where it can be run.

    python scripts/compat_judges.py FOLDER           # every snapshot below FOLDER, and the examples of the rules
    python scripts/compat_judges.py FOLDER --write   # also write the tables in docs/compat-judges.md

Installs the newest packages from npm and PyPI into a cache folder. Each judge, a program in `scripts/judges`, reads all
catalogs at once and reports the lists and tools that it refuses. Exit code 1 if a difference is not explained.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from package_cache import InstallError, cache_folder, install_npm, install_pypi

from mcproof.checks.clients.hits import ClientChecks
from mcproof.checks.clients.profiles import ClientChoice, known_profiles
from mcproof.checks.rule import all_rules
from mcproof.checks.rulebook import cases_of
from mcproof.core.errors import InputError
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "scripts" / "judges"
PAGE = ROOT / "docs" / "compat-judges.md"
START, END = "<!-- results: scripts/compat_judges.py --write -->", "<!-- end of results -->"
CLOSED = {"type": "object", "properties": {}, "additionalProperties": False}
TIMEOUT = 600
"""Seconds that a judge may take for all catalogs."""


class Judge(NamedTuple):
    """A program that runs the code of a client, and the constraints that it can confirm."""

    name: str
    program: str
    package: str
    """The npm or PyPI package whose version counts."""
    profile: str
    constraints: frozenset[str]
    refuses: Literal["list", "tool"]
    """Whether a broken constraint loses the whole list or one tool."""


class Difference(NamedTuple):
    """A list or tool that only one side refuses."""

    judge: str
    by: Literal["judge", "mcproof"]
    place: str
    reason: str


class Comparison(NamedTuple):
    """The verdicts of a judge and of mcproof on the same catalogs."""

    judge: Judge
    version: str
    catalogs: int
    tools: int
    agreed: int
    """How many lists or tools both refuse."""
    differences: list[Difference]

    def only(self, by: str) -> int:
        return sum(each.by == by for each in self.differences)


_LIST = frozenset({"root-object", "output-root-object", "property-object", "required-list", "nulls", "types"})

JUDGES = (
    Judge(
        "TypeScript SDK, list",
        "typescript_sdk.js",
        "@modelcontextprotocol/sdk",
        "mcp-typescript-sdk-1",
        _LIST | {"output-compile", "output-valid"},
        "list",
    ),
    Judge(
        "VS Code JSON language service",
        "vscode_json.js",
        "vscode-json-languageservice",
        "vscode-copilot",
        frozenset({"schema-draft07", "enum-shape"}),
        "tool",
    ),
    Judge(
        "OpenAI Agents SDK, list",
        "agents_sdk.py",
        "openai-agents",
        "openai-agents-sdk",
        frozenset({"duplicate", "depth"}),
        "list",
    ),
    Judge(
        "OpenAI Agents SDK, strict schemas",
        "agents_sdk.py",
        "openai-agents",
        "openai-agents-sdk",
        frozenset({"strict-open"}),
        "tool",
    ),
    Judge("Python SDK, list", "python_sdk.py", "mcp", "mcp-typescript-sdk-1", _LIST, "list"),
    Judge("Python SDK, calls", "python_sdk.py", "mcp", "mcp-python-sdk", frozenset({"output-valid"}), "tool"),
)


class Explanation(NamedTuple):
    """Why a judge and mcproof differ, and the differences that this covers."""

    judge: str
    by: Literal["judge", "mcproof"]
    found: tuple[str, ...]
    """Texts of which the place or the reason of a difference has one."""
    why: str

    def covers(self, difference: Difference) -> bool:
        text = f"{difference.place}\n{difference.reason}"
        return (difference.judge, difference.by) == (self.judge, self.by) and any(each in text for each in self.found)


EXPLANATIONS = (
    Explanation(
        "TypeScript SDK, list",
        "judge",
        ("expected object, received",),
        "An entry of the list that is not an object: `CAT-001` reports it. Client rules only look at tools.",
    ),
    Explanation(
        "Python SDK, list",
        "judge",
        ("valid dictionary or instance of Tool ",),
        "An entry of the list that is not an object: `CAT-001` reports it. Client rules only look at tools.",
    ),
    Explanation(
        "VS Code JSON language service",
        "mcproof",
        ("MP005 “the same keyword where the schema names the older draft”",),
        "The language service validates by the `$schema` that a schema declares, here draft-04; the profile always by "
        "draft-07.",
    ),
    Explanation(
        "VS Code JSON language service",
        "mcproof",
        ("tool-no-schema “a boolean schema",),
        "`true` is valid JSON Schema but not an input schema of MCP, which is an object.",
    ),
    Explanation(
        "OpenAI Agents SDK, list",
        "mcproof",
        ("duplicate",),
        "The SDK compares the names of several servers, not those of one. The constraint is therefore opt-in and does "
        "not count for the verdict.",
    ),
    Explanation(
        "OpenAI Agents SDK, strict schemas",
        "judge",
        ("permits undeclared properties",),
        "The converter also refuses an object without declared properties, unless it is closed. The constraint is "
        "about `additionalProperties` as written.",
    ),
    Explanation(
        "OpenAI Agents SDK, strict schemas",
        "judge",
        ("a reference whose target", "`$ref` with incompatible", "singleton `allOf`", "must not use `anyOf`"),
        "The converter also refuses references, unions and intersections that it cannot merge. The tool works, but "
        "not in strict mode.",
    ),
    Explanation(
        "OpenAI Agents SDK, strict schemas",
        "judge",
        ("to be a dictionary",),
        "The converter does not handle boolean schemas; `CMP-022` reports them for other clients.",
    ),
    Explanation(
        "Python SDK, list",
        "judge",
        ("Maximum serialization depth",),
        "A schema that is nested hundreds of levels deep: the SDK cannot process it.",
    ),
    Explanation(
        "Python SDK, list",
        "mcproof",
        ("property-object", "required-list", "types", "nulls"),
        "The Python SDK accepts boolean properties, nulls, and texts such as `yes` for booleans.",
    ),
)
NPM = ("@modelcontextprotocol/sdk@1", "vscode-json-languageservice@5")
PYPI = ("openai-agents", "mcp")


class Packages:
    """The packages of the judges, installed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.npm = folder / "npm"
        install_npm(self.npm, NPM)
        self.python = install_pypi(folder / "pypi", PYPI)

    def version(self, package: str) -> str:
        found = self.npm / "node_modules" / package / "package.json"
        if found.exists():
            return str(json.loads(found.read_text(encoding="utf-8"))["version"])
        asked = f"import importlib.metadata as m; print(m.version({package!r}))"
        return subprocess.run([self.python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()

    def verdicts(self, program: str, catalogs: list[Catalog]) -> list[dict[str, Any]]:
        """Run a program of a judge over catalogs."""
        words = ["node", program, str(self.npm)] if program.endswith(".js") else [str(self.python), program]
        given = json.dumps([{"tools": [tool.raw for tool in each.tools]} for each in catalogs])
        environment = {**os.environ, "OPENAI_AGENTS_DONT_LOG_TOOL_DATA": "0", "PYTHONUTF8": "1"}
        done = subprocess.run(
            words,
            input=given,
            cwd=PROGRAMS,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=TIMEOUT,
        )
        if done.returncode:
            raise InstallError(f"{program} failed: {done.stderr[-500:].strip()}")
        verdicts: list[dict[str, Any]] = json.loads(done.stdout)
        return verdicts


def compare(judge: Judge, version: str, catalogs: list[Catalog], verdicts: list[dict[str, Any]]) -> Comparison:
    """Compare the verdicts of a judge with the hits of its profile."""
    choice = ClientChoice(known_profiles())
    wanted = [each for each in choice.all_active() if each.key[0] == judge.profile and each.key[1] in judge.constraints]
    checks = ClientChecks(wanted)
    agreed, differences = 0, []
    for catalog, verdict in zip(catalogs, verdicts, strict=True):
        unjudged = {_place(judge, catalog, index) for index in verdict.get("unjudged", ())} - {catalog.name}
        theirs = _refusals(judge, catalog, verdict)
        ours = {place: why for place, why in _hits(checks, judge, catalog).items() if place not in unjudged}
        agreed += len(ours.keys() & theirs.keys())
        differences += [Difference(judge.name, "judge", each, theirs[each]) for each in theirs.keys() - ours.keys()]
        differences += [Difference(judge.name, "mcproof", each, ours[each]) for each in ours.keys() - theirs.keys()]
    tools = sum(len(each.tools) for each in catalogs)
    return Comparison(judge, version, len(catalogs), tools, agreed, sorted(differences))


def _hits(checks: ClientChecks, judge: Judge, catalog: Catalog) -> dict[str, str]:
    """The places that mcproof expects to be refused, with a constraint."""
    found: dict[str, str] = {}
    if judge.refuses == "list":
        found.update((catalog.name, hit.active.constraint.id) for hit in checks.on_server(catalog))
    for tool in catalog.tools:
        for hit in checks.on_tool(tool, ""):
            found[_place(judge, catalog, tool.index)] = hit.active.constraint.id
    return found


def _refusals(judge: Judge, catalog: Catalog, verdict: dict[str, Any]) -> dict[str, str]:
    """The places that a judge refuses, with its reason."""
    if judge.refuses == "list":
        return {catalog.name: verdict["list"]} if "list" in verdict else {}
    return {_place(judge, catalog, int(index)): reason for index, reason in verdict["tools"].items()}


def _place(judge: Judge, catalog: Catalog, index: int) -> str:
    return catalog.name if judge.refuses == "list" else f"{catalog.name} tool {index}"


def snapshots(folder: pathlib.Path) -> Iterator[Catalog]:
    """The catalogs in the snapshots below a folder."""
    for path in sorted(folder.rglob("*.json")):
        try:
            yield read_snapshot(path.read_bytes(), path.stem, is_certain=False)
        except InputError as error:
            print(f"left out: {error}", file=sys.stderr)


def examples() -> Iterator[Catalog]:
    """The catalogs of the examples of all rules; where a tool has no input schema, also with one.

    Many examples leave the schema out, which alone loses the list and so hides other faults.
    """
    for rule in all_rules():
        for case in (*cases_of(rule).bad, *cases_of(rule).good):
            if case.snapshot is None:
                continue
            name = f"{rule.id} “{case.title}”"
            catalog = read_snapshot(case.snapshot.encode(), name)
            yield catalog
            tools = [tool.raw for tool in catalog.tools]
            if any(isinstance(tool, dict) and "inputSchema" not in tool for tool in tools):
                filled = [{"inputSchema": CLOSED, **tool} if isinstance(tool, dict) else tool for tool in tools]
                yield read_snapshot(json.dumps({"tools": filled}).encode(), f"{name} with a schema")


def judge_all(packages: Packages, catalogs: list[Catalog]) -> list[Comparison]:
    """Run every judge over catalogs, each program once."""
    programs = {each.program for each in JUDGES}
    verdicts = {program: packages.verdicts(program, catalogs) for program in sorted(programs)}
    return [compare(each, packages.version(each.package), catalogs, verdicts[each.program]) for each in JUDGES]


def explained(difference: Difference) -> Explanation | None:
    return next((each for each in EXPLANATIONS if each.covers(difference)), None)


def table(parts: dict[str, list[Comparison]]) -> Iterator[str]:
    """The results as Markdown."""
    yield f"Run on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}."
    for title, comparisons in parts.items():
        yield f"\n### {title}\n"
        yield "| judge | version | catalogs | tools | refused | by both | only by the judge | only by mcproof |"
        yield f"| --- | --- |{' ---: |' * 2} --- |{' ---: |' * 3}"
        for each in comparisons:
            counts = [each.agreed, each.only("judge"), each.only("mcproof")]
            sizes = f"{each.catalogs} | {each.tools} | {each.judge.refuses}s"
            yield f"| {each.judge.name} | {each.version} | {sizes} | {' | '.join(map(str, counts))} |"
    differences = [each for comparisons in parts.values() for one in comparisons for each in one.differences]
    yield "\n### Differences\n\n| judge | refused only by | how many | why |\n| --- | --- | ---: | --- |"
    for why in EXPLANATIONS:
        count = sum(explained(each) is why for each in differences)
        if count:
            yield f"| {why.judge} | {why.by} | {count} | {why.why} |"
    unexplained = [each for each in differences if explained(each) is None]
    yield from (f"| {each.judge} | {each.by} | 1 | not explained: {each.place} |" for each in unexplained)


def write_page(lines: list[str]) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}\n\n" + "\n".join(lines) + f"\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the client profiles with the code of the clients.")
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="snapshots of real servers")
    parser.add_argument("--write", action="store_true", help="write the tables in docs/compat-judges.md")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every difference")
    options = parser.parse_args()
    try:
        packages = Packages(cache_folder("judges"))
        parts = {
            "Real servers": judge_all(packages, list(snapshots(options.folder))),
            "Examples of the rules": judge_all(packages, list(examples())),
        }
    except InstallError as error:
        sys.exit(str(error))
    lines = list(table(parts))
    print(*lines, sep="\n")
    if options.write:
        write_page(lines)
    differences = [each for comparisons in parts.values() for one in comparisons for each in one.differences]
    unexplained = [each for each in differences if explained(each) is None]
    for each in differences if options.verbose else unexplained:
        print(f"{each.judge}: only {each.by} refuses {each.place}: {' '.join(each.reason.split())}")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
