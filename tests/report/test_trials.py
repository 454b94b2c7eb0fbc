"""What a server that was tried came to, in every format."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import jsonschema_rs
import junitparser
import pytest

from mcproof.checks.ignores import Suppression
from mcproof.cli.main import main
from mcproof.core.console import Style, display_width
from mcproof.core.errors import InputError, Untested
from mcproof.probing.outcomes import Cell, Fuzzing, ProbeResult, Promises, negative_path, predictions, promises
from mcproof.report.formats import FORMATS, harmless
from mcproof.report.grids import matrix_grid
from mcproof.report.sections.outcomes import promise_sentence
from mcproof.runs.results import BROKEN, FuzzPayload, LintPayload, ProbePayload, ProvePayload, RunResult, TargetResult
from mcproof.runs.stored import read_run, run_document

from .readers import acts, parse_commands, parse_tap, refuse_markup
from .runs import FORMATS as GOLDEN_FORMATS
from .test_formats import EXTENSIONS
from .test_golden import compare
from .test_html import page_of
from .trials import (
    HOSTILE,
    LONG,
    TRIALS,
    finding,
    fuzz_report,
    probe,
    probe_report,
    prove_report,
    run_of,
)

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = (2, 3, 5, 6, 7)
"""How many columns the tables of such a page have."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rendered(run: RunResult, format: str, **style: Any) -> str:
    return "".join(harmless(run, format, Style(**style)))


def test_the_text_names_untested_tools_once_by_reason_and_how_to_allow_them() -> None:
    allow = "; --allow TOOL allows it"
    untested = [
        *(Untested(f"tool get_{name}, in part", "the valid call is rejected") for name in "ab"),
        Untested("tool burn", f"`destructiveHint` is true{allow}"),
        Untested("tool add_book", f"it may change something: `add` in its name{allow}"),
        Untested("tool sort_books", f"it may change something: `sort` in its name{allow}"),
        Untested("hostile arguments of tool get_a", "stopped"),
    ]
    report = prove_report()
    assert isinstance(report.payload, ProvePayload)
    report = report._replace(untested=untested, payload=report.payload._replace(matrix=[], probes=[]))
    text = rendered(run_of("prove", report), "text", width=120)
    lines = text.partition("Not tested\n\n")[2].partition("\n\n")[0].splitlines()
    assert lines == [
        "  get_a, get_b, in part: the valid call is rejected",
        "  burn: `destructiveHint` is true",
        "  hostile arguments of tool get_a: stopped",
        "  may change something: add_book (`add` in its name), sort_books (`sort` in its name)",
        "  --allow TOOL allows a tool, --allow-writes all of them",
    ]


def validate(document: Any, schema: str) -> None:
    """Raise where a document does not keep to a schema that ships with the package."""
    text = (files("mcproof.runs") / "schemas" / f"{schema}.schema.json").read_text(encoding="utf-8")
    jsonschema_rs.Draft202012Validator(json.loads(text)).validate(document)


def stored(run: RunResult) -> Any:
    return json.loads("".join(run_document(run)))


def read(document: Any) -> RunResult:
    return read_run(json.dumps(document).encode(), "run.json")


# --- every format -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", GOLDEN_FORMATS)
@pytest.mark.parametrize("name", ["probe", "prove", "fuzz"])
def test_a_trial_is_printed_as_in_the_golden_file(name: str, format: str) -> None:
    compare(rendered(TRIALS[name], format), f"trials/{name}.{EXTENSIONS.get(format, format)}")


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_in_colour_in_ascii_and_narrow_is_as_in_the_golden_file(name: str) -> None:
    compare(rendered(TRIALS[name], "text", colour=True), f"trials/{name}.colour.txt")
    narrow = rendered(TRIALS[name], "text", unicode=False, width=60)
    compare(narrow, f"trials/{name}.ascii.txt")
    assert max(display_width(line) for line in narrow.splitlines() if "library.py" not in line) <= 60


@pytest.mark.parametrize("name", TRIALS)
def test_a_stored_trial_renders_as_the_run_did(name: str) -> None:
    run = TRIALS[name]
    again = read_run("".join(run_document(run)).encode(), "run.json")
    for kind in FORMATS:
        assert rendered(again, kind) == rendered(run, kind), kind
    assert "".join(run_document(again)) == "".join(run_document(run))


@pytest.mark.parametrize("name", TRIALS)
def test_the_documents_of_a_trial_keep_to_their_schemas(name: str) -> None:
    run = TRIALS[name]
    validate(json.loads(rendered(run, "json")), run.command)
    document = stored(run)
    validate(document, "run")
    assert all({"probes", "matrix", "fuzzing"} <= target.keys() for target in document["targets"])


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_can_be_read_by_those_who_made_the_formats_and_nothing_in_it_acts(name: str) -> None:
    printed = {kind: rendered(TRIALS[name], kind) for kind in FORMATS}
    for kind in set(FORMATS) - {"github", "html"}:
        assert acts(printed[kind]) == [], kind
    suites = junitparser.JUnitXml.fromstring(printed["junit"].encode())
    assert len(parse_tap(printed["tap"])) == suites.tests
    ElementTree.fromstring(printed["junit"])  # noqa: S314 (ours)
    assert {command.name for command in parse_commands(printed["github"])} <= {"error", "warning", "notice"}
    refuse_markup(printed["markdown"], COLUMNS)
    for issue in json.loads(printed["gitlab"]):
        assert not issue["location"]["path"].startswith("/")
    json.loads(printed["sarif"])


# --- numbers ------------------------------------------------------------------------------------------------------


def test_the_negative_path_counts_what_was_judged_of_the_five_probes() -> None:
    assert negative_path(prove_report().probes) == (8, 4, 0)
    passing = [each for each in prove_report().probes if each.passed is not False]
    assert negative_path(passing) == (4, 0, 1)


def test_a_negative_path_of_which_nothing_was_tested_does_not_pass() -> None:
    idle = [each for each in prove_report().probes if each.passed is None]
    assert idle
    assert negative_path(idle) == negative_path([]) == (0, 0, 0)


def test_the_probes_of_the_protocol_and_exploratory_ones_are_no_checks_of_the_negative_path() -> None:
    others = [
        probe(None, "unknown_method", "accepted", False),
        probe("a", "extra_field", "accepted", None, is_exploratory=True),
        probe("a", "baseline", "accepted", None),
    ]
    assert negative_path(others) == (0, 0, 0)


def test_promises_are_what_is_declared_and_every_one_is_accounted_for() -> None:
    assert promises(prove_report().matrix) == Promises(32, 18, 3, 2, 9)
    assert promise_sentence(prove_report().matrix) == "32 promises: 18 kept, 3 broken, 2 not shown, 9 not tested"
    assert promise_sentence([]) == "no tools to test"
    assert (
        promise_sentence([Cell("a", "size", "FAULT-INPUT-OVERSIZED", False, False, "open")])
        == "the schemas make no promises"
    )


def test_what_was_predicted_is_told_once_for_all_tools() -> None:
    assert predictions(prove_report().matrix) == [
        (("SCH-002",), "extra", ["find_book", HOSTILE]),
        (("SCH-004",), "size", ["find_book"]),
    ]
    text = rendered(TRIALS["prove-many"], "text")
    assert text.count("SCH-002 warned about 15 tools") == 4
    assert "and 9 more" in text


def test_what_was_not_tested_is_told_once_for_each_reason() -> None:
    (reason,) = prove_report().untested_reasons()
    assert reason.whats == ["tool burn_book"]


def test_a_tool_that_was_tested_in_part_is_listed_once() -> None:
    report = prove_report()
    (reason,) = report.untested_reasons()
    untested = [Untested("tool burn_book, in part", reason.why)]
    assert [each.whats for each in report._replace(untested=untested).untested_reasons()] == [
        ["tool burn_book, in part"]
    ]


# --- the picture --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 60, 120])
@pytest.mark.parametrize("name", ["probe", "prove", "prove-many"])
def test_the_picture_fits_the_terminal_and_its_columns_stand_below_each_other(name: str, width: int) -> None:
    for unicode in (True, False):
        lines = rendered(TRIALS[name], "text", width=width, unicode=unicode).split("\n\n")[1].splitlines()
        assert max(map(display_width, lines)) <= width
        starts = {match.start() for match in re.finditer(r"\S+", lines[0])}
        for line in lines[1:]:
            marks = [match.start() for match in re.finditer(r"(?<= )(\S\??)(?= |$)", line) if match.start() > 3]
            assert marks
            assert set(marks) <= starts, line


def test_the_picture_is_understood_without_its_colours() -> None:
    coloured = rendered(TRIALS["prove"], "text", colour=True)
    plain = rendered(TRIALS["prove"], "text")
    assert coloured != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_tool_that_was_not_called_is_dimmed_and_no_other() -> None:
    rows = rendered(TRIALS["prove"], "text", colour=True).split("\n\n")[1].splitlines()[1:]
    assert [row.startswith("  \x1b[2m") for row in rows] == [False, False, True, False, False]


def test_a_square_has_the_number_of_promises_and_of_lenient_values() -> None:
    text = rendered(TRIALS["prove"], "text")
    assert re.search(r"^  find_book +✓ 1/1 +✗ 3/4 ~2 +○ +○ +◐ 2/2$", text, re.MULTILINE)
    assert re.search(r"^  lend_book +\? 0/2 +✗ 0/1 +◆ +–$", text, re.MULTILINE)
    assert "◐ partly tried" in text
    assert "~ lenient" in text
    assert "lenient" not in rendered(TRIALS["prove-clean"], "text")


@pytest.mark.parametrize(("width", "has_numbers"), [(120, True), (80, True), (60, False)])
def test_a_narrow_terminal_shows_the_symbols_alone(width: int, has_numbers: bool) -> None:
    lines = rendered(TRIALS["prove"], "text", width=width).split("\n\n")[1].splitlines()
    assert ("3/4" in "".join(lines)) is has_numbers
    assert max(map(len, lines)) <= width


def test_two_tools_of_one_name_have_a_row_each() -> None:
    cells = [Cell("twin", "size", "FAULT-INPUT-OVERSIZED", True, kept, "proven") for kept in (True, True)]
    assert [row.tool for row in matrix_grid(cells).rows] == ["twin", "twin"]


def test_a_long_name_is_cropped_in_the_picture() -> None:
    picture = rendered(TRIALS["prove"], "text").split("\n\n")[1]
    assert LONG not in picture
    assert f"{LONG[:24]}…{LONG[-23:]}" in picture


@pytest.mark.parametrize("width", [40, 61])
def test_wide_letters_do_not_push_the_marks_out_of_line(width: int) -> None:
    cells = [
        Cell(tool, "missing", "FAULT-SCHEMA-MISSING-REQUIRED", True, True, "proven")
        for tool in ("検索" * 40, "é" * 90, "a")
    ]
    run = run_of("prove", prove_report()._replace(payload=ProvePayload(prove_report().probes, cells)))
    head, *rows = rendered(run, "text", width=width).split("\n\n")[1].splitlines()
    places = {display_width(row[: row.index("✓")]) for row in rows}
    assert places == {head.index("missing")}
    assert display_width(head) <= width


def test_what_was_not_tested_is_never_called_passed() -> None:
    assert rendered(TRIALS["prove-empty"], "text").endswith("\ninconclusive: nothing was tested; no tools to call\n")
    assert page_of(TRIALS["prove-empty"]).one("p", name="tile").text == "inconclusive ?"
    assert page_of(TRIALS["prove-clean"]).one("p", name="tile").text == "passed ✓"


def test_static_findings_are_counted_for_people_and_listed_for_machines() -> None:
    for kind in ("text", "markdown"):
        text = rendered(TRIALS["prove"], kind)
        assert "3 findings of the strict rules not shown; see `mcproof schema-lint`" in text
        assert "lets unknown fields through" not in text
    assert "strict rules" not in rendered(TRIALS["probe"], "text")
    findings = json.loads(rendered(TRIALS["prove"], "json"))["findings"]
    assert sum(each["rule"] == "SCH-002" for each in findings) == 3


def test_two_faults_of_one_kind_are_two_findings_of_a_live_server() -> None:
    """An unknown tool and an unknown method are one fault of the taxonomy, and two things that the server did."""
    findings = [finding("WIR-011", None, "the tool is accepted"), finding("WIR-025", None, "the method is accepted")]
    text = rendered(run_of("probe", probe_report()._replace(findings=findings)), "concise")
    assert len(text.splitlines()) == 2


def test_a_failure_of_fuzzing_is_told_once_with_the_command_to_replay_it() -> None:
    for kind in ("text", "markdown"):
        text = rendered(TRIALS["fuzz"], kind)
        assert text.count("mcproof replay library.fuzz.json --case c1") == 1
        assert "WIR-017" not in text
        assert "WIR-023" in text


def test_a_finding_that_no_failure_tells_of_is_shown() -> None:
    alone = fuzz_report()._replace(payload=FuzzPayload(Fuzzing(1, 2, {"clean": 2}, [])))
    for kind in ("text", "markdown"):
        assert "WIR-017" in rendered(run_of("fuzz", alone), kind)


# --- JUnit and TAP ------------------------------------------------------------------------------------------------


def _points(report: TargetResult, command: str = "prove") -> dict[str, str]:
    """How each test of a report ended, by its name."""
    points = parse_tap(rendered(run_of(command, report), "tap"))
    return {
        point.description.partition(": ")[2]: "skipped" if point.skipped else "passed" if point.passed else "failed"
        for point in points
    }


def test_every_probe_is_a_test_and_no_finding_repeats_it() -> None:
    points = _points(prove_report())
    assert points["wrong_type find_book"] == points["oversized find_book"] == "failed"
    assert points["wrong_type lend_book"] == "failed"
    assert points["missing_required find_book"] == points["baseline find_book"] == "passed"
    assert points["extra_field find_book"] == points["wrong_type burn_book"] == points["unknown_prompt"] == "skipped"
    assert points["baseline lend_book"] == "skipped"
    assert not [name for name in points if name.startswith(("WIR-012", "WIR-013", "WIR-017", "WIR-018", "WIR-028"))]
    assert points["WIR-023 find_book"] == "passed"
    assert list(points.values()).count("failed") == prove_report().failing


def test_a_probe_is_as_bad_as_the_finding_that_says_so() -> None:
    points = _points(prove_report())
    assert points["bad_cursor"] == "passed", "a note does not fail"
    assert points["unknown_method"] == "skipped", "its finding is ignored by the configuration"
    assert _points(prove_report()._replace(fail_on="note"))["bad_cursor"] == "failed"


@pytest.mark.parametrize("fail_on", ["error", "warning", "note", "never", BROKEN])
@pytest.mark.parametrize("report", [probe_report(), prove_report(), fuzz_report()])
def test_junit_and_tap_agree_with_the_exit_code(report: TargetResult, fail_on: str) -> None:
    report = report._replace(fail_on=fail_on)
    for command in ("probe", "prove", "fuzz"):
        if command == report.payload.kind:
            assert ("failed" in _points(report, command).values()) is not report.passed


def test_a_probe_that_failed_without_a_finding_fails() -> None:
    report = probe_report()._replace(findings=[])
    assert _points(report)["wrong_type find_book"] == "failed"
    assert _points(report._replace(fail_on="never"))["wrong_type find_book"] == "passed"


def test_a_finding_that_no_probe_tells_of_is_a_test_of_its_own() -> None:
    report = probe_report()._replace(payload=ProbePayload([probe("lend_book", "oversized", "rejected", True)]))
    points = _points(report)
    assert points["WIR-013 find_book"] == "failed"


def test_a_test_that_failed_shows_what_was_sent_and_answered() -> None:
    suites = junitparser.JUnitXml.fromstring(rendered(TRIALS["prove"], "junit").encode())
    (case,) = [case for suite in suites for case in suite if case.name == "wrong_type find_book"]
    (failure,) = case.result
    assert failure.message == "an object for `title`: answered as if it were right"
    assert 'request {"name": "find_book"}, response {"result": {}}' in failure.text


def test_the_findings_of_fuzzing_are_tests_as_ever() -> None:
    points = _points(fuzz_report(), "fuzz")
    assert points["WIR-017 find_book"] == "failed"
    assert points["WIR-013"] == "passed"


# --- the page -----------------------------------------------------------------------------------------------------


def test_the_page_shows_a_square_for_each_cell_with_its_symbol_and_its_word() -> None:
    page = page_of(TRIALS["prove"])
    squares = [each for each in page.all("td", name="square") if "absent" not in each.classes]
    assert len(squares) == len(prove_report().matrix)
    assert [each.text for each in squares[:4]] == ["✓proven 1/1", "✗broken promise 3/4 ~2", "○open", "○open"]
    title = "type: broken promise 3/4; an object for `title`: accepted; 2 accepted though of another type, "
    assert squares[1].attributes["title"] == f'{title}such as "5" for 5'
    headline = "failed: 4 errors in behaviour; 4 of 5 tools called, 9 promises not tested (1 suppressed)"
    assert page.one("p", name="headline").text == headline
    assert page.one("p", name="also").text == "32 promises: 18 kept, 3 broken, 2 not shown, 9 not tested"
    assert (
        page.one("svg", name="proportions").attributes["aria-label"] == "18 kept, 3 broken, 2 not shown, 9 not tested"
    )


def test_the_bar_is_proportional() -> None:
    parts = page_of(TRIALS["prove"]).all("rect")
    widths = [each.attributes["width"] for each in parts if each.parents[-1].classes == ["proportions"]]
    assert widths == ["56.25%", "9.38%", "6.25%", "28.12%"]
    assert page_of(TRIALS["prove-empty"]).all("svg", name="proportions") == []


def test_the_page_has_the_request_and_the_answer_of_every_probe() -> None:
    evidence = [each.text for each in page_of(TRIALS["prove"]).all("ul", name="probes")]
    assert len(evidence) == 6
    assert all('{"name": "find_book"}' in each for each in (evidence[0], evidence[1]))
    assert "no answer in 10 s" in evidence[1]


def test_the_page_of_fuzzing_has_each_failure_with_its_command() -> None:
    page = page_of(TRIALS["fuzz"])
    for failure in fuzz_report().payload.fuzzing.failures:  # type: ignore[union-attr]
        assert failure.replay in page.text
    assert "seed 42" in page.text


def test_the_verdict_of_a_page_says_what_fails() -> None:
    verdict = page_of(TRIALS["prove"]).one("ul", name="reasons").text
    assert verdict.splitlines()[1:] == [
        "failed 4 findings at level error in the server's behaviour (--fail-on broken)",
        "not tested 1 tool: 4 of 5 tools called",
    ]
    clean = page_of(TRIALS["prove-clean"]).one("ul", name="reasons").text
    assert clean == "\nmet no findings at level error in the server's behaviour (--fail-on broken)\n"


def test_a_summary_of_a_job_shows_the_picture_and_the_sentence() -> None:
    page = refuse_markup(rendered(TRIALS["prove"], "markdown"), COLUMNS)
    assert ["find_book", "✓ 1/1", "✗ 3/4 ~2", "○", "○", "◐ 2/2"] in page.rows
    assert page.text.index("failed: 4 errors in behaviour") < page.text.index("32 promises")


# --- stored runs --------------------------------------------------------------------------------------------------


def test_a_run_that_was_stored_before_there_were_trials_is_still_read() -> None:
    document = stored(run_of("lint", probe_report()))
    for key in ("probes", "matrix", "fuzzing"):
        del document["targets"][0][key]
    (report,) = read(document).targets
    assert report.payload == LintPayload()


@pytest.mark.parametrize("name", ["probe", "prove", "fuzz"])
def test_the_command_line_renders_a_stored_trial(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text("".join(run_document(TRIALS[name])), encoding="utf-8")
    for kind in FORMATS:
        assert main(["report", "run.json", "--format", kind]) == 0
        printed = capsys.readouterr()
        assert printed.out == rendered(TRIALS[name], kind), kind
        assert printed.err == ""


def test_every_value_comes_back() -> None:
    for report in (probe_report(), prove_report(), fuzz_report()):
        (again,) = read(stored(run_of(report.payload.kind, report))).targets
        assert again == report


@pytest.mark.parametrize(
    "change",
    [
        {"probes": [{**stored(TRIALS["probe"])["targets"][0]["probes"][0], "outcome": "other"}]},
        {"matrix": [{**stored(TRIALS["prove"])["targets"][0]["matrix"][0], "fault": "FAULT-PROTO-UNKNOWN-METHOD"}]},
        {"matrix": [{**stored(TRIALS["prove"])["targets"][0]["matrix"][0], "predicted_by": ["\n::error::"]}]},
        {"probes": [{**stored(TRIALS["probe"])["targets"][0]["probes"][0], "probe": "\x1b[31m"}]},
        {"fuzzing": {**stored(TRIALS["fuzz"])["targets"][0]["fuzzing"], "outcomes": {}}},
    ],
)
def test_an_invalid_report_of_probes_is_rejected(change: Any) -> None:
    document = stored(run_of("prove", prove_report()))
    document["targets"][0].update(change)
    with pytest.raises(InputError, match="invalid run report"):
        read(document)


def test_a_report_of_fuzzing_without_its_result_is_rejected() -> None:
    document = stored(TRIALS["fuzz"])
    document["targets"][0]["fuzzing"] = None
    with pytest.raises(InputError, match="no `fuzzing`"):
        read(document)


def test_a_probe_is_skipped_with_the_reason_of_the_finding_that_was_suppressed() -> None:
    ignored = Suppression("ignore-for", "known", "mcproof.toml", 3)
    report = probe_report()._replace(
        findings=[],
        suppressed=[finding("WIR-013", "find_book", "accepted", suppression=ignored)],
        payload=ProbePayload([ProbeResult("find_book", "wrong_type", None, "accepted", False)]),
    )
    (point,) = [
        each for each in parse_tap(rendered(run_of("probe", report), "tap")) if "wrong_type" in each.description
    ]
    assert point.skipped == "ignored by mcproof.toml:3: known"
