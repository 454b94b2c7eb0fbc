"""Run the official MCP conformance suite against `mcproof mcp` over HTTP.

    python scripts/server_conformance.py           # all server scenarios; exit 1 if one that applies fails
    python scripts/server_conformance.py --write   # also write the table in docs/mcp.md

The suite is written for a server with tools, prompts and resources of its own, such as `test_simple_text`. Scenarios
that call those do not apply; `ABSENT` has the reasons, and they may fail for nothing else.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from conformance import REVISIONS, ROOT, VERSION, installed
from package_cache import InstallError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance import Suite

PAGE = ROOT / "docs" / "mcp.md"
START, END = "<!-- results: scripts/server_conformance.py --write -->", "<!-- end of results -->"
TIMEOUT = 180
"""Seconds for all scenarios of a revision."""
ABSENT = {
    "tools-call-*": "calls tools of the suite's own, such as `test_simple_text`",
    "json-schema-2020-12": "reads a tool of the suite's own",
    "elicitation-*": "calls tools that ask the user; those of mcproof ask nothing",
    "input-required-result-*": "calls tools and a prompt that ask the client; those of mcproof ask nothing",
    "prompts-get-*": "gets prompts of the suite's own",
    "resources-read-*": "reads resources of the suite's own",
    "resources-templates-read": "reads a template of the suite's own",
    "resources-subscribe": "optional: rules do not change while the server runs, so there are no subscriptions",
    "resources-unsubscribe": "optional: rules do not change while the server runs, so there are no subscriptions",
    "logging-set-level": "optional, deprecated: the server logs nothing to clients",
    "http-custom-header-server-validation": "no parameter is sent in a header",
    "server-sse-polling": "optional: streams are not resumed, because calls are short",
}
"""Scenarios that do not apply, with the reasons."""
_UNTESTABLE = re.compile(r"Not testable: ")
_MISSING = re.compile(
    r"Not testable: |unknown (tool|prompt) `test_|Method not found|resource not found|"
    r"json_schema_2020_12_tool' not found|Prerequisite failed: could not get initial|Expected InputRequiredResult"
)
"""Messages of the checks that may fail: in a scenario that applies, and in one that does not."""


class Judged(NamedTuple):
    """The result of one scenario in one revision."""

    scenario: str
    revision: str
    passed: int
    untestable: int
    """Checks that need a tool of the suite's own."""
    failed: tuple[str, ...]

    @property
    def absent(self) -> str | None:
        """Why the scenario does not apply; None if it does."""
        return reason_to_skip(self.scenario)

    @property
    def is_good(self) -> bool:
        return not self.failed and (self.absent is not None or self.passed > 0)

    @property
    def cell(self) -> str:
        """The result in a word of the table."""
        if self.failed:
            return f"✗ {self.passed} of {self.passed + len(self.failed)}"
        return f"✓ {self.passed}" + (f", {self.untestable} not testable" if self.untestable else "")


def reason_to_skip(scenario: str) -> str | None:
    """Why a scenario does not apply; None if it does."""
    return next((why for pattern, why in ABSENT.items() if fnmatchcase(scenario, pattern)), None)


@contextmanager
def served() -> Iterator[str]:
    """The URL of the server, in a process of its own and an empty folder."""
    command = [sys.executable, "-P", "-m", "mcproof", "mcp", "--http", "127.0.0.1:0"]
    with (
        tempfile.TemporaryDirectory(prefix="mcproof-conformance-") as folder,
        subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process,
    ):
        found = re.search(r"http://\S+/mcp", process.stderr.readline() if process.stderr else "")
        try:
            if found is None:
                raise RuntimeError("mcproof mcp does not start")
            yield found[0]
        finally:
            process.terminate()


def run_revision(suite: Suite, url: str, revision: str) -> list[Judged]:
    """Run all server scenarios of a revision."""
    with tempfile.TemporaryDirectory(prefix="mcproof-conformance-") as folder:
        words = suite.words("server", "--url", url, "--suite", "all", "--spec-version", revision, "-o", folder)
        subprocess.run(words, capture_output=True, check=False, timeout=TIMEOUT)
        found = sorted(pathlib.Path(folder).glob("server-*/checks.json"))
        named = [(re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", each.parent.name), each) for each in found]
        return [judge(name, revision, json.loads(each.read_text(encoding="utf-8"))) for name, each in named]


def judge(scenario: str, revision: str, checks: Iterable[dict[str, str]]) -> Judged:
    """Count the checks of a scenario."""
    may_fail = _UNTESTABLE if reason_to_skip(scenario) is None else _MISSING
    passed, untestable, failed = 0, 0, []
    for check in checks:
        message = check.get("errorMessage") or check["description"]
        if check["status"] == "SUCCESS":
            passed += 1
        elif check["status"] == "FAILURE":
            if may_fail.search(message):
                untestable += 1
            else:
                failed.append(f"{check['name']}: {message}")
    return Judged(scenario, revision, passed, untestable, tuple(failed))


def run_all(suite: Suite, revisions: Iterable[str]) -> list[Judged]:
    """Run all server scenarios of some revisions, which are tested at the same time."""
    with served() as url, ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda each: run_revision(suite, url, each), revisions))
    return [each for result in results for each in result]


def table(judged: list[Judged]) -> Iterator[str]:
    """The results as Markdown."""
    cells = {(each.scenario, each.revision): each.cell for each in judged}
    applied = [each for each in judged if each.absent is None]
    good = sum(each.is_good for each in applied)
    yield f"Suite {VERSION}: {good} of {len(applied)} runs of scenarios that apply pass."
    yield "A number counts checks; – marks a scenario that a revision does not have;"
    yield "a check is not testable if it needs a tool of the suite's own.\n"
    yield f"| scenario | {' | '.join(REVISIONS)} |\n| --- | {' | '.join('---' for _ in REVISIONS)} |"
    for name in sorted({each.scenario for each in applied}):
        yield f"| `{name}` | {' | '.join(cells.get((name, revision), '–') for revision in REVISIONS)} |"
    yield "\n| does not apply | because it |\n| --- | --- |"
    yield from (f"| `{pattern}` | {why} |" for pattern, why in ABSENT.items())
    yield "| `tasks-*`, `sep-2640-*` | is about extensions: tasks, skills |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the MCP conformance suite against `mcproof mcp`.")
    parser.add_argument("--write", action="store_true", help="write the table in docs/mcp.md")
    options = parser.parse_args()
    try:
        judged = run_all(installed(None), REVISIONS)
    except InstallError as error:
        sys.exit(str(error))
    for each in judged:
        print(f"{each.revision}  {each.cell:24}  {each.scenario}{'' if each.absent is None else ' (does not apply)'}")
        print(*(f"    {line}\n" for line in each.failed), sep="", end="")
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{START}\n\n" + "\n".join(table(judged)) + f"\n\n{END}{after}", encoding="utf-8")
    sys.exit(0 if judged and all(each.is_good for each in judged) else 1)


if __name__ == "__main__":
    main()
