"""Run the official MCP conformance suite with mcproof as the client.

    python scripts/conformance.py                          # all client scenarios; exit 1 if one fails
    python scripts/conformance.py --scenario 'auth/*' -v   # some of them, with the checks that failed
    python scripts/conformance.py --write                  # also write the table in docs/conformance.md

Installs the suite and the Node.js that it needs from npm into a cache folder, once; `MCPROOF_CONFORMANCE` names a
folder where both are installed already. `scripts/conformance_client.py` is the client that the suite starts.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from package_cache import InstallError, cache_folder, install_npm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
NODE = "node@22"
"""The suite does not start with an older Node.js."""
REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
EXTENSION = "extension"
UNSUPPORTED = {
    "auth/dpop": "proof of possession of tokens",
    "auth/dpop-nonce": "proof of possession of tokens",
    "auth/enterprise-managed-authorization": "an identity provider of an enterprise",
    "auth/wif-jwt-bearer": "workload identity federation",
    "sep-2640-*": "skills",
}
"""Scenarios of extensions that mcproof does not implement, with what they are about."""
TIMEOUT = 60
"""Seconds that the client of one scenario may take."""

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLIENT = ROOT / "scripts" / "conformance_client.py"
PAGE = ROOT / "docs" / "conformance.md"
START, END = "<!-- results: scripts/conformance.py --write -->", "<!-- end of results -->"


class Outcome(NamedTuple):
    """The result of one scenario in one revision."""

    scenario: str
    revision: str
    """A revision, or `extension`."""
    passed: int
    failed: tuple[str, ...]
    """The failed checks, each with its message."""
    warnings: tuple[str, ...]
    trouble: str
    """Why the result is incomplete, such as a client that timed out; empty if it is not."""

    @property
    def is_good(self) -> bool:
        return not (self.failed or self.trouble) and self.passed > 0

    @property
    def cell(self) -> str:
        """The result in a word of the table."""
        total = self.passed + len(self.failed)
        counted = f"{self.passed} of {total}" if not self.is_good else f"{self.passed}"
        warned = f", {len(self.warnings)} warning{'s' * (len(self.warnings) > 1)}" if self.warnings else ""
        return f"{'✓' if self.is_good else '✗'} {counted}{warned}"


class Suite:
    """An installed suite."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.node = folder / "node_modules" / ".bin" / "node"
        self.program = folder / "node_modules" / SUITE / "dist" / "index.js"

    def is_installed(self) -> bool:
        return self.node.exists() and self.program.exists()

    def words(self, *arguments: str) -> list[str]:
        return [str(self.node), str(self.program), *arguments]

    def scenarios(self) -> Iterator[tuple[str, str]]:
        """Every client scenario with each of its revisions, or with `extension`."""
        done = subprocess.run(self.words("list", "--client"), capture_output=True, text=True, check=True)
        for name, tags in re.findall(r"^ +- (\S+) \[(.*)\]$", done.stdout, re.MULTILINE):
            for tag in tags.split(","):
                if tag in (*REVISIONS, EXTENSION):
                    yield name, tag

    def run(self, scenario: str, revision: str) -> Outcome:
        """Run a scenario with mcproof as the client."""
        client = shlex.join([sys.executable, str(CLIENT)])
        given = ["--command", client, "--scenario", scenario, "--timeout", str(1000 * TIMEOUT)]
        given += [] if revision == EXTENSION else ["--spec-version", revision]
        with tempfile.TemporaryDirectory(prefix="mcproof-conformance-") as folder:
            # The state folder keeps tokens; a scenario must not see those of another, nor those of the user.
            environment = {**os.environ, "XDG_STATE_HOME": f"{folder}/state", "PYTHONUTF8": "1"}
            words = self.words("client", *given, "--output-dir", f"{folder}/results")
            done = subprocess.run(
                words, capture_output=True, text=True, env=environment, check=False, timeout=4 * TIMEOUT
            )
            found = sorted(pathlib.Path(folder).rglob("checks.json"))
            checks = json.loads(found[-1].read_text(encoding="utf-8")) if found else []
        return outcome_of(scenario, revision, checks, done.stderr)


def outcome_of(scenario: str, revision: str, checks: list[dict[str, str]], printed: str) -> Outcome:
    def listed(status: str) -> tuple[str, ...]:
        described = (
            f"{each['name']}: {each.get('errorMessage') or each['description']}"
            for each in checks
            if each["status"] == status
        )
        return tuple(described)

    trouble = "" if checks else f"the suite failed: {printed[-500:].strip()}"
    for line in printed.splitlines():
        if "CLIENT TIMED OUT" in line or "CLIENT EXITED WITH ERROR" in line:
            trouble = line.strip(" ⚠️").lower()
    return Outcome(scenario, revision, len(listed("SUCCESS")), listed("FAILURE"), listed("WARNING"), trouble)


def installed(folder: pathlib.Path | None) -> Suite:
    """Return the suite in a folder, or in the cache folder, where it is installed first. Raises InstallError."""
    given = os.environ.get("MCPROOF_CONFORMANCE")
    if folder is None:
        folder = pathlib.Path(given) if given else cache_folder(f"conformance-{VERSION}")
    suite = Suite(folder)
    if not suite.is_installed():
        install_npm(folder, [f"{SUITE}@{VERSION}", NODE])
        if not suite.is_installed():
            raise InstallError(f"npm did not install the conformance suite in {folder}")
    return suite


def run_all(suite: Suite, patterns: Iterable[str], revisions: Iterable[str]) -> list[Outcome]:
    """Run the scenarios whose names match a pattern, several at a time, and print a line for each."""
    wanted = list(patterns) or ["*"]
    chosen = [
        (scenario, revision)
        for scenario, revision in suite.scenarios()
        if revision in revisions and any(fnmatchcase(scenario, pattern) for pattern in wanted)
    ]
    if not chosen:
        sys.exit(f"no such scenario: {', '.join(wanted)}")
    outcomes = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for outcome in pool.map(lambda each: suite.run(*each), chosen):
            print(f"{outcome.revision:10}  {outcome.cell:20}  {outcome.scenario}", flush=True)
            outcomes.append(outcome)
    return outcomes


def unsupported(scenario: str) -> str | None:
    """What a scenario is about that mcproof does not implement; None if it implements it."""
    return next((what for pattern, what in UNSUPPORTED.items() if fnmatchcase(scenario, pattern)), None)


def table(outcomes: list[Outcome]) -> Iterator[str]:
    """The results as Markdown."""
    cells = {(each.scenario, each.revision): each.cell for each in outcomes}
    names = list(dict.fromkeys(each.scenario for each in outcomes if each.revision != EXTENSION))
    yield f"Suite {VERSION}: {_summary(outcomes)}."
    yield "A number counts checks; – marks a scenario that a revision does not have.\n"
    yield f"| scenario | {' | '.join(REVISIONS)} |\n| --- | {' | '.join('---' for _ in REVISIONS)} |"
    for name in names:
        yield f"| `{name}` | {' | '.join(cells.get((name, revision), '–') for revision in REVISIONS)} |"
    yield "\n| extension scenario | |\n| --- | --- |"
    for each in outcomes:
        if each.revision == EXTENSION:
            about = unsupported(each.scenario)
            yield f"| `{each.scenario}` | {each.cell if about is None else f'not implemented: {about}'} |"
    warned = [(each, text) for each in outcomes for text in each.warnings]
    if warned:
        yield "\n| warning of | |\n| --- | --- |"
        yield from (f"| `{each.scenario}` ({each.revision}) | {_cell_text(text)} |" for each, text in warned)


def _cell_text(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def write_page(outcomes: list[Outcome]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}\n\n" + "\n".join(table(outcomes)) + f"\n\n{END}{after}", encoding="utf-8")


def _summary(outcomes: list[Outcome]) -> str:
    implemented = [each for each in outcomes if unsupported(each.scenario) is None]
    passed, others = sum(each.is_good for each in implemented), len(outcomes) - len(implemented)
    extensions = f"; {others} are of extensions that mcproof does not implement" if others else ""
    return f"{passed} of {len(implemented)} scenarios pass{extensions}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the MCP conformance suite with mcproof as the client.")
    parser.add_argument("--scenario", action="append", default=[], help="only these; wildcards allowed; repeatable")
    parser.add_argument("--revision", action="append", choices=(*REVISIONS, EXTENSION), help="only these; repeatable")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FOLDER", help="where the suite is, or gets installed")
    parser.add_argument("--write", action="store_true", help="write the table in docs/conformance.md")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the checks that failed")
    options = parser.parse_args()
    if options.write and (options.scenario or options.revision):
        parser.error("--write needs the results of all scenarios")
    try:
        suite = installed(options.cache)
    except InstallError as error:
        sys.exit(str(error))
    outcomes = run_all(suite, options.scenario, options.revision or (*REVISIONS, EXTENSION))
    bad = [each for each in outcomes if not each.is_good and unsupported(each.scenario) is None]
    for outcome in outcomes if options.verbose else bad:
        shown = [*outcome.failed, *outcome.warnings, *filter(None, [outcome.trouble])]
        if shown:
            print(f"\n{outcome.scenario} ({outcome.revision})", *(f"  {line}" for line in shown), sep="\n")
    if options.write:
        write_page(outcomes)
    print(f"\n{_summary(outcomes)}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
