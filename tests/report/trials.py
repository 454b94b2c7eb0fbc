"""Reports of servers that were tried, made by hand: every outcome, every verdict, and names that try to get out."""

from __future__ import annotations

from typing import Any

from mcproof.checks.findings import ReportedFinding, RuleSummary
from mcproof.checks.ignores import Suppression
from mcproof.core.errors import Untested
from mcproof.probing.outcomes import Cell, Column, Failure, Fuzzing, ProbeResult
from mcproof.runs.results import BROKEN, FuzzPayload, ProbePayload, ProvePayload, RunResult, TargetResult

FAULTS = {
    "missing_required": "FAULT-SCHEMA-MISSING-REQUIRED",
    "wrong_type": "FAULT-SCHEMA-TYPE-MISMATCH",
    "extra_field": "FAULT-SCHEMA-UNEXPECTED-FIELD",
    "oversized": "FAULT-INPUT-OVERSIZED",
}
UNKNOWN = "FAULT-PROTO-UNKNOWN-METHOD"
TARGET = "python3 library.py"
HOSTILE = "x|`y`<script>alert(1)</script>\x1b[31m\n::error::pwned ##[error]z @octocat https://example.com\u202e"
LONG = "find_every_book_in_every_library_of_the_whole_wide_world_by_anything_that_is_known_of_it"
TOOLS = ("find_book", "lend_book", "burn_book", LONG, HOSTILE)
CHANGES = "it may change the world: its name says `burn`; `--allow-writes` calls it"

_NAMES = {
    "WIR-011": ("unknown-tool-accepted", UNKNOWN),
    "WIR-012": ("missing-required-accepted", FAULTS["missing_required"]),
    "WIR-013": ("wrong-type-accepted", FAULTS["wrong_type"]),
    "WIR-014": ("extra-field-accepted", FAULTS["extra_field"]),
    "WIR-016": ("invalid-accepted", None),
    "WIR-017": ("crash", None),
    "WIR-018": ("hang", None),
    "WIR-020": ("structured-content-invalid", None),
    "WIR-023": ("error-as-success", None),
    "WIR-024": ("leak", None),
    "WIR-025": ("unknown-method-accepted", UNKNOWN),
    "WIR-028": ("bad-cursor-accepted", None),
    "WIR-032": ("injection", None),
    "SCH-002": ("open-object", FAULTS["extra_field"]),
    "SCH-004": ("unbounded-string", FAULTS["oversized"]),
}
_LEVELS: dict[str, Any] = {"WIR-023": "warning", "WIR-028": "note"}


def facts(id: str) -> RuleSummary:
    """A rule as it will be."""
    name, fault = _NAMES[id]
    ruleset = "strict" if id.startswith("SCH") else "wire"
    level = _LEVELS.get(id, "error")
    words = (f"What {name} is.", "Because.", "Mend it.")
    return RuleSummary(id, name, ruleset, "answers", level, level, fault, False, False, "0.3.0", *words)


def finding(rule: str, tool: str | None, message: str, **changes: Any) -> ReportedFinding:
    """A finding of a live server: in no file, on no line."""
    item, pointer = ("server", "") if tool is None else (f"tool:{tool}", f"/tools/{TOOLS.index(tool)}")
    made = ReportedFinding(facts(rule), item, pointer, item, "", message, None, TARGET, None, None, None)
    return made._replace(fingerprint=f"{rule}{pointer}".encode().hex()[:16].ljust(16, "0"), **changes)


def probe(tool: str | None, name: str, outcome: str, passed: bool | None, reason: str = "", **more: Any) -> ProbeResult:
    """A result with a request and an answer, where one was sent."""
    fault = UNKNOWN if name in ("unknown_tool", "unknown_method") else FAULTS.get(name)
    sent = {} if outcome.startswith("not_") else {"request": '{"name": "find_book"}', "answer": '{"result": {}}'}
    return ProbeResult(tool, name, fault, outcome, passed, reason, **{**sent, **more})


def _probes() -> list[ProbeResult]:
    nothing = "no argument is required"
    return [
        probe(None, "unknown_tool", "rejected", True, "`no_such_tool` is refused: -32602"),
        probe("find_book", "baseline", "accepted", None, "the valid call is answered"),
        probe("find_book", "missing_required", "rejected", True, "without `title`: refused"),
        probe("find_book", "wrong_type", "accepted", False, "an object for `title`: answered as if it were right"),
        probe("find_book", "extra_field", "accepted", None, "an unknown field: accepted", is_exploratory=True),
        probe("find_book", "oversized", "hang", False, "a text of 1 MiB: no answer in 10 s", answer="no answer"),
        probe("lend_book", "baseline", "rejected", None, "the valid call is refused: no such book"),
        probe("lend_book", "missing_required", "rejected", True, "without `id`: refused"),
        probe("lend_book", "wrong_type", "crash", False, "a list for `id`: the process ended with 1"),
        probe("lend_book", "extra_field", "rejected", None, "an unknown field: refused", is_exploratory=True),
        probe("lend_book", "oversized", "not_applicable", None, "no string to make longer"),
        probe("burn_book", "baseline", "not_tested", None, CHANGES),
        probe("burn_book", "missing_required", "not_tested", None, CHANGES),
        probe("burn_book", "wrong_type", "not_tested", None, CHANGES),
        probe("burn_book", "extra_field", "not_tested", None, CHANGES),
        probe("burn_book", "oversized", "not_tested", None, CHANGES),
        probe(LONG, "baseline", "accepted", None, "the valid call is answered"),
        probe(LONG, "missing_required", "not_applicable", None, nothing),
        probe(LONG, "extra_field", "rejected", True, "an unknown field: refused"),
        probe(HOSTILE, "baseline", "accepted", None, HOSTILE, request=HOSTILE, answer=HOSTILE),
        probe(HOSTILE, "missing_required", "accepted", False, HOSTILE, request=HOSTILE, answer=HOSTILE),
    ]


def _server_probes() -> list[ProbeResult]:
    return [
        probe(None, "unknown_method", "accepted", False, "`no/such/method` is answered with a result"),
        probe(None, "not_json", "rejected", True, "not JSON: an error, and the next request is answered"),
        probe(None, "bad_cursor", "accepted", False, "a cursor that the server never gave is taken"),
        probe(None, "unknown_prompt", "not_applicable", None, "the server has no prompts"),
    ]


def _lenient_probes() -> list[ProbeResult]:
    more: dict[str, Any] = {"argument": "title", "is_exploratory": True, "is_lenient": True}
    return [
        probe("find_book", "wrong_type", "accepted", None, "a number for `title`", **more),
        probe("find_book", "wrong_type", "rejected", None, "null for `title`", **more),
    ]


def _findings() -> list[ReportedFinding]:
    return [
        finding("WIR-013", "find_book", "an object for `title`: answered as if it were right"),
        finding("WIR-018", "find_book", "a text of 1 MiB: no answer in 10 s"),
        finding("WIR-017", "lend_book", "a list for `id`: the process ended with 1"),
        finding("WIR-012", HOSTILE, HOSTILE),
        finding("WIR-023", "find_book", "a text that begins with `Error:` and is no error"),
    ]


def probe_report() -> TargetResult:
    """Five tools and the server as a whole under the probes of the negative path."""
    return TargetResult(
        TARGET,
        server={"name": "library", "version": "1.2.3"},
        protocol="2025-06-18",
        connection={"transport": "stdio", "era": "handshake", "requested": "2025-06-18", "agreed": "2025-06-18"},
        counts={"tools": 5, "resources": 0, "templates": 0, "prompts": 0},
        findings=_findings(),
        fail_on="error",
        untested=[Untested("tool burn_book", CHANGES)],
        payload=ProbePayload(_probes()),
    )


COLUMNS: dict[str, Column] = dict(
    zip((*FAULTS, "wrong_value"), ("missing", "type", "extra", "size", "values"), strict=True)
)


def _cell(tool: str, probe: str, declared: bool | None, kept: bool | None, verdict: Any, **more: Any) -> Cell:
    return Cell(tool, COLUMNS[probe], FAULTS.get(probe), declared, kept, verdict, **more)


def _matrix() -> list[Cell]:
    by = {"predicted_by": ("SCH-002",)}
    return [
        _cell(
            *("find_book", "missing_required", True, True, "proven"),
            tried=1,
            refused=1,
            arguments=("title",),
            reason="without `title`: refused",
        ),
        _cell(
            *("find_book", "wrong_type", True, False, "broken promise"),
            tried=4,
            refused=3,
            lenient=2,
            arguments=("title",),
            reason="an object for `title`: accepted",
        ),
        _cell("find_book", "extra_field", False, False, "open", reason="an unknown field: accepted", **by),
        _cell("find_book", "oversized", False, False, "open", predicted_by=("SCH-004",)),
        _cell(
            "find_book", "wrong_value", True, None, "partly tried", tried=2, refused=2, left_out=5, arguments=("year",)
        ),
        _cell("lend_book", "missing_required", True, None, "not shown", tried=2, arguments=("id", "reader.card")),
        _cell("lend_book", "wrong_type", True, False, "broken promise", tried=1, arguments=("id",)),
        _cell("lend_book", "extra_field", False, True, "hidden rule", reason="an unknown field: refused"),
        _cell("lend_book", "oversized", None, None, "not applicable", reason="no string to make longer"),
        *(
            _cell(
                "burn_book",
                name,
                name != "oversized",
                None,
                "not tested",
                left_out=int(name != "oversized"),
                reason=CHANGES,
            )
            for name in COLUMNS
        ),
        _cell(LONG, "missing_required", None, None, "not applicable", reason="no argument is required"),
        _cell(LONG, "wrong_type", None, None, "not applicable"),
        _cell(LONG, "extra_field", True, True, "proven", tried=12, refused=12, lenient=104),
        _cell(LONG, "oversized", False, False, "open"),
        _cell(
            HOSTILE, "missing_required", True, False, "broken promise", tried=1, arguments=(HOSTILE,), reason=HOSTILE
        ),
        _cell(HOSTILE, "extra_field", False, False, "open", reason=HOSTILE, **by),
    ]


def prove_report() -> TargetResult:
    """The same server with its matrix, the probes of the protocol, what static rules say, and a finding ignored."""
    strict = [
        finding("SCH-002", tool, "lets unknown fields through", pointer="/inputSchema")
        for tool in ("find_book", "lend_book", HOSTILE)
    ]
    ignored = Suppression("ignore-for", "known <for> years", "mcproof.toml", 3)
    method, cursor = (
        finding("WIR-025", None, "`no/such/method` is answered with a result", suppression=ignored),
        finding("WIR-028", None, "a cursor that the server never gave is taken"),
    )
    return probe_report()._replace(
        findings=[*_findings(), cursor, *strict],
        suppressed=[method],
        fail_on=BROKEN,
        payload=ProvePayload([*_server_probes(), *_probes(), *_lenient_probes()], _matrix()),
    )


def fuzz_report() -> TargetResult:
    """A server under fuzzing, with a failure of each kind."""
    replay = "mcproof replay library.fuzz.json --case"
    failures = [
        Failure("c1", "find_book", "crash", {"title": ""}, f"{replay} c1", "the process ended with 1", 3),
        Failure("c2", "lend_book", "hang", {"id": 10**30}, f"{replay} c2", "no answer in 10 s"),
        Failure("c3", "find_book", "protocol_violation", {"title": "x" * 400}, f"{replay} c3", "breaks its schema"),
        Failure("c4", HOSTILE, "leak", {HOSTILE: [HOSTILE, None, 1.5]}, f"{replay} 'c4'", HOSTILE),
        Failure("c6", "find_book", "injection", {"title": "a'"}, f"{replay} c6", "SQL injection through `title`"),
        Failure("c5", "lend_book", "accepted", {"id": -1}, f"{replay} c5", "`id` is below its minimum", 12),
    ]
    return probe_report()._replace(
        findings=[
            finding("WIR-017", "find_book", "the process ended with 1"),
            finding("WIR-018", "lend_book", "no answer in 10 s"),
            finding("WIR-020", "find_book", "breaks its schema"),
            finding("WIR-024", HOSTILE, HOSTILE),
            finding("WIR-032", "find_book", "SQL injection through `title`"),
            finding("WIR-016", "lend_book", "`id` is below its minimum"),
            finding("WIR-023", "find_book", "a text that begins with `Error:` and is no error"),
        ],
        fail_on=BROKEN,
        untested=[
            Untested("tool burn_book", CHANGES),
            Untested("lend_book", "every case was refused before the tool's own logic: no book has such an id"),
        ],
        payload=FuzzPayload(
            Fuzzing(
                42,
                1200,
                {
                    "clean": 1182,
                    "accepted": 12,
                    "crash": 3,
                    "hang": 1,
                    "protocol_violation": 1,
                    "leak": 1,
                    "injection": 1,
                },
                failures,
                {"find_book": 600, "lend_book": 500, HOSTILE: 100},
                ["find_book", HOSTILE],
            )
        ),
    )


def run_of(command: str, *reports: TargetResult, **changes: Any) -> RunResult:
    """A run that came upon these reports."""
    code = int(not all(report.passed for report in reports))
    rules = [facts(each) for each in _NAMES]
    run = RunResult(command, "VERSION", list(reports), rules, exit_code=code, is_single=len(reports) == 1)
    return run._replace(**changes)


def _clean_prove() -> TargetResult:
    cells = [_cell("find_book", name, True, True, "proven") for name in FAULTS]
    probes = [probe("find_book", name, "rejected", True, "refused") for name in FAULTS]
    return prove_report()._replace(
        findings=[],
        suppressed=[],
        payload=ProvePayload(probes, cells),
        untested=[],
        counts={**prove_report().counts, "tools": 1},
    )


def _empty() -> TargetResult:
    return prove_report()._replace(
        findings=[], suppressed=[], payload=ProvePayload(), untested=[], counts={**prove_report().counts, "tools": 0}
    )


def _many() -> TargetResult:
    verdicts: list[Any] = [
        (True, True, "proven"),
        (False, False, "open"),
        (False, True, "hidden rule"),
        (True, None, "not tested"),
    ]
    cells = [
        _cell(f"tool_{number}", name, *verdicts[(number + at) % 4], reason="it was so", predicted_by=("SCH-002",))
        for number in range(60)
        for at, name in enumerate(FAULTS)
    ]
    return prove_report()._replace(findings=[], suppressed=[], payload=ProvePayload([], cells))


TRIALS = {
    "probe": run_of("probe", probe_report()),
    "prove": run_of("prove", prove_report()),
    "fuzz": run_of("fuzz", fuzz_report()),
    "prove-clean": run_of("prove", _clean_prove()),
    "prove-empty": run_of("prove", _empty()),
    "prove-many": run_of("prove", _many()),
    "prove-several": run_of("prove", _clean_prove(), prove_report()),
    "fuzz-clean": run_of(
        "fuzz",
        fuzz_report()._replace(
            findings=[],
            untested=[],
            payload=FuzzPayload(Fuzzing(7, 50, {"clean": 50}, [], {"find_book": 50}, ["find_book"])),
        ),
    ),
}
"""Runs of every command that tries a server."""
