"""Measure speed and memory, as ratios: the machine's speed cancels out.

    python benchmarks/bench.py [NAME ...] [--catalogs FOLDER] [--sources FOLDER]

Each figure compares the best of several rounds with the best of its reference. Names choose measurements by their
beginning; without names, all run but those of `serve`, which first fill stores with a million findings.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
from contextlib import ExitStack

import measure_load
import measure_serving
from measure_editing import keystroke
from measure_proving import proving, proving_many
from measure_servers import eight_servers, fuzz_memory, fuzzing, handshake, suite, suite_growth
from measure_snapshots import (
    ALL_RULES,
    added,
    cold,
    command,
    command_added,
    growth,
    many_files,
    rules,
    swept,
    text_rules,
    warm,
)
from measure_source import discovery
from measure_sweeps import against_loads, memory, ray_overhead, two_cores
from measurement import Comparison, Measurement, Workspace

NO_POLISH = ("--ignore", "polish")

MEASUREMENTS = (
    Measurement("cold-schema-lint", "cold schema-lint of 100 KB : python -c pass", 4.5, cold("schema-lint")),
    Measurement("cold-lint", "cold lint of 100 KB : python -c pass", 6.5, cold("lint")),
    Measurement("cold-grade", "cold grade of 100 KB : python -c pass", 6, cold("grade")),
    Measurement("cold-scan", "cold scan of 100 KB : python -c pass", 10, cold("scan")),
    Measurement("cold-compat", "cold compat of 100 KB : python -c pass", None, cold("compat")),
    Measurement("warm-lint", "warm lint, a catalog", 6, warm, "ms"),
    Measurement("warm-sweep", "a catalog of a sweep : warm lint of it", 1.2, swept),
    Measurement("rules", "rules but polish : json.loads", None, rules("polish")),
    Measurement("rules-polish", "all rules : json.loads", None, rules()),
    Measurement("rules-clients", "compat and spec : grade, added to rules", 1, added("compat", "spec", to="grade")),
    Measurement("rules-text", "rules about texts : polish rules", 1, text_rules),
    Measurement("command", "lint, rules but polish : json.loads", 16, command(*ALL_RULES, *NO_POLISH)),
    Measurement("command-polish", "lint, all rules : json.loads", 28, command(*ALL_RULES)),
    Measurement(
        "command-clients", "compat and spec : grade, added to lint", 1, command_added("compat", "spec", to="grade")
    ),
    Measurement("grade", "grade of a folder : json.loads", 24, command("grade")),
    Measurement("text", "lint, all rules, as text : json.loads", None, command("lint", "--ruleset", "all")),
    Measurement("sarif", "lint, all rules, as SARIF : json.loads", None, command(*ALL_RULES[:-1], "sarif")),
    Measurement("html", "lint, all rules, as HTML : json.loads", None, command(*ALL_RULES[:-1], "html")),
    Measurement("files-lint", "lint of 5,000 files, a file", 350, many_files("lint"), "µs"),
    Measurement("files-grade", "grade of 5,000 files, a file", None, many_files("grade"), "µs"),
    Measurement("growth", "a tool of 100,000 : of 1,000", 1.5, growth),
    Measurement("capture", "cold capture : minimal handshake", 1.5, handshake("capture")),
    Measurement("lint-live", "cold lint of a server : minimal handshake", 1.4, handshake("lint")),
    Measurement("eight-servers", "lint of eight servers : of one", 1.5, eight_servers),
    Measurement("fuzz", "a fuzz case : a bare call", 2, fuzzing),
    Measurement("fuzz-memory", "peak of 50,000 fuzz cases : of 1,000", 1.1, fuzz_memory),
    Measurement("prove", "prove of slow tools : by one process", 0.35, proving),
    Measurement("prove-many", "prove of 50 tools : bare calls", 2, proving_many),
    Measurement("suite", "suite of 1,000 tests : bare calls", 2, suite),
    Measurement("suite-growth", "a test of 10,000 : of 1,000", 1.5, suite_growth),
    Measurement("discovery", "discovery : ast.parse", 5, discovery),
    Measurement("edit", "a keystroke : lint of a project", 0.2, keystroke(10)),
    Measurement("edit-one", "a keystroke : lint of a module", 0.35, keystroke(1)),
    Measurement("sweep-cores", "sweep of 20,000 captures, two cores : one", 1 / 1.7, two_cores),
    Measurement("sweep-loads", "sweep of 20,000 captures : json.loads", None, against_loads),
    Measurement("sweep-memory", "peak of 200,000 captures : of 2,000", 1.5, memory),
    Measurement("sweep-ray", "sweep on Ray : local engine", None, ray_overhead),
)
ON_DEMAND = (*measure_serving.rows(), *measure_load.rows())


def line(row: Measurement, measured: Comparison) -> str:
    """Describe a row and its figure."""
    limit = "" if row.limit is None else f"at most {row.limit:g}"
    verdict = "" if row.limit is None else "OVER" if row.is_missed_by(measured) else "ok"
    other = {"cpu": "wall", "wall": "cpu", None: ""}[measured.clock]
    beside = "" if measured.other is None else f"{other} {measured.other:,.2f}"
    value = f"{measured.value:,.2f} {row.unit}"
    return f"{row.title:45} {measured.clock or '':4} {value:>12} {limit:12} {verdict:5} {beside:13} {measured.detail}"


def summary(missed: list[tuple[Measurement, Comparison]]) -> str:
    """The rows that miss their limits, the worst first."""
    if not missed:
        return "\nEvery limit is met."
    worst_first = sorted(missed, key=lambda miss: miss[1].value / (miss[0].limit or 1), reverse=True)
    lines = [
        f"  {row.name:18} {measured.value:,.2f} {row.unit}, at most {row.limit:g}" for row, measured in worst_first
    ]
    return "\n".join([f"\n{len(missed)} of the limits {'is' if len(missed) == 1 else 'are'} missed:", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure speed and memory, as ratios.")
    names = ", ".join((*(row.name for row in MEASUREMENTS), "serve"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"measurements, by their beginning: {names}")
    parser.add_argument("--catalogs", metavar="FOLDER", help="snapshots to measure with, instead of generated ones")
    parser.add_argument("--sources", metavar="FOLDER", help="a folder of packages, instead of a generated one")
    options = parser.parse_args()
    chosen = [row for row in (*MEASUREMENTS, *ON_DEMAND) if row.name.startswith(tuple(options.names))]
    chosen = chosen if options.names else list(MEASUREMENTS)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as closing:
        at = Workspace(pathlib.Path(folder), closing, options.catalogs, options.sources)
        missed = []
        for row in chosen:
            measured = row.measure(at)
            print(line(row, measured), flush=True)
            if row.is_missed_by(measured):
                missed.append((row, measured))
    if any(row.limit is not None for row in chosen):
        print(summary(missed))


if __name__ == "__main__":
    main()
