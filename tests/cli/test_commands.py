"""What each command prints where, and how it ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import mcproof
from mcproof.checks.rule import all_rules
from mcproof.checks.rules.trust.schemas import MAX_BYTES, MAX_LEVELS
from mcproof.cli.main import COMMANDS as SUMMARIES
from mcproof.cli.main import RENAMED, command_named

from .running import CLEAN_TOOL, FAULTY_TOOL, LOOSE_TOOL, document_of, fails, run, write

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = ("check", "lint", "schema-lint", "grade", "explain", "demo")


@pytest.fixture
def clean(tmp_path: Path) -> str:
    return write(tmp_path / "clean.json", {"tools": [CLEAN_TOOL]})


@pytest.fixture
def faulty(tmp_path: Path) -> str:
    return write(tmp_path / "faulty.json", {"tools": [CLEAN_TOOL, FAULTY_TOOL]})


@pytest.fixture
def loose(tmp_path: Path) -> str:
    return write(tmp_path / "loose.json", {"tools": [LOOSE_TOOL]})


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_a_clean_catalog_ends_with_exit_code_0(clean: str, command: str) -> None:
    done = run(command, clean)
    assert done.returncode == 0
    assert done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_an_error_in_a_catalog_ends_with_exit_code_1(faulty: str, command: str) -> None:
    done = run(command, faulty)
    assert done.returncode == 1
    assert done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["lint", "schema-lint", "grade"])
def test_a_missing_file_ends_with_exit_code_2_and_one_line(tmp_path: Path, command: str) -> None:
    missing = str(tmp_path / "missing.json")
    assert f"{missing}: cannot be read: no such file" in fails(command, missing)


def test_schema_lint_fails_on_any_finding_and_lint_on_errors_only(loose: str) -> None:
    assert run("schema-lint", loose).returncode == 1
    assert run("lint", loose, "--ruleset", "strict").returncode == 0
    assert run("lint", loose).returncode == 0


@pytest.mark.parametrize(("level", "code"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)], ids=str)
def test_fail_on_moves_the_level_that_lint_fails_on(loose: str, level: str, code: int) -> None:
    assert run("lint", loose, "--ruleset", "strict", "--fail-on", level).returncode == code
    assert run("schema-lint", loose, "--fail-on", level).returncode == code


@pytest.mark.parametrize(("level", "code"), [("error", 0), ("warning", 0), ("note", 1)], ids=str)
def test_fail_on_counts_a_note_as_a_note(loose: str, level: str, code: int) -> None:
    assert run("lint", loose, "--fail-on", level).returncode == code
    assert run("grade", loose, "--fail-on", level).returncode == code


def test_fail_on_never_passes_an_error(faulty: str) -> None:
    assert run("lint", faulty, "--fail-on", "never").returncode == 0


def test_text_shows_the_line_a_caret_and_what_to_do(faulty: str) -> None:
    lines = run("lint", faulty).stdout.splitlines()
    head = lines.index("error[tool-no-description] burn_book: has no description")
    place, bar, excerpt, carets, advice = lines[head + 1 : head + 6]
    assert place.strip().startswith(f"--> {faulty}:")
    assert bar.strip() == "|"
    assert excerpt.index('"name": "burn_book"') == carets.index("^")
    assert carets.count("^") == len('"name": "burn_book"')
    assert advice.strip().startswith("= help: ")


def test_concise_prints_one_line_for_each_finding_and_nothing_else(faulty: str, clean: str) -> None:
    done = run("lint", faulty, "--format", "concise")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 4
    for line in done.stdout.splitlines():
        place, level = line.split(": ", 1)[0], line.split()[1]
        file, row, column = place.rsplit(":", 2)
        assert file == faulty
        assert row.isdigit()
        assert column.isdigit()
        assert level in ("error", "warning", "note")
    assert run("lint", clean, "--format", "concise").stdout == ""


def test_a_fault_that_two_rules_report_is_shown_once_with_the_other_id(faulty: str) -> None:
    text = run("lint", faulty, "--ruleset", "all").stdout
    assert text.count("[SCH-003]") == 1
    assert "[prop-no-type]" not in text
    assert "= also: no_broad_schema_risk, prop-no-type, CMP-024 (every request" in text
    also = "[also no_broad_schema_risk, prop-no-type, CMP-024]"
    concise = run("lint", faulty, "--ruleset", "all", "--format", "concise").stdout
    assert [line for line in concise.splitlines() if "prop-no-type" in line] == [
        line for line in concise.splitlines() if "SCH-003" in line and line.endswith(also)
    ]


def test_what_a_fault_does_in_clients_is_shown_below_it(faulty: str) -> None:
    text = run("lint", faulty).stdout
    assert "= also: CMP-005 (the tool is missing in Amazon Q CLI)" in text
    assert "= also: no_broad_schema_risk, CMP-024 (every request with the tool fails in Kimi API)" in text
    assert "[CMP-" not in text


def test_the_summary_names_the_command_that_fixes(loose: str) -> None:
    assert f"mcproof schema-lint {loose} --fix" in run("schema-lint", loose).stdout


def test_nothing_is_coloured_in_a_pipe_unless_it_is_asked_for(faulty: str) -> None:
    assert "\x1b" not in run("lint", faulty).stdout
    assert "\x1b[31" in run("lint", faulty, env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b" not in run("lint", faulty, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout


def test_grade_shows_letter_score_costs_gains_and_tokens(faulty: str) -> None:
    text = run("grade", faulty).stdout
    for part in ("grade ", "score ", "of 100", "tool-no-description", "describe 1 tool", "tokens", "burn_book"):
        assert part in text
    assert "of 1.00 on average" in text
    assert "burn_book  0.00  no description: −1.00" in text


@pytest.mark.parametrize(("letter", "code"), [("A", 1), ("C", 0), ("f", 0), ("c", 0)])
def test_min_grade_gates(faulty: str, letter: str, code: int) -> None:
    done = run("grade", faulty, "--min-grade", letter, "--fail-on", "never")
    assert done.returncode == code
    assert ("failed" if code else "passed") in done.stdout


def test_max_tokens_gates(faulty: str) -> None:
    assert run("grade", faulty, "--max-tokens", "0", "--fail-on", "never").returncode == 1
    assert run("grade", faulty, "--max-tokens", "1000", "--fail-on", "never").returncode == 0


def test_one_failed_gate_of_two_fails(faulty: str) -> None:
    done = run("grade", faulty, "--max-tokens", "1", "--min-grade", "F", "--fail-on", "never")
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last == "✗ failed: 74 tokens, at most 1 allowed; met: grade C, at least F required"


@pytest.mark.parametrize(
    "option", [("--min-grade", "E"), ("--max-tokens", "few"), ("--max-tokens", "1.5"), ("--max-tokens", "²")]
)
def test_a_gate_that_makes_no_sense_is_refused(faulty: str, option: tuple[str, str]) -> None:
    assert option[0] in fails("grade", faulty, *option)


def test_rules_lists_every_rule_under_its_ruleset() -> None:
    done = run("rules")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for word in ("CAT-001", "SCH-001", "SCH-004", "tool-no-required", "tool_input_schemas_well_formed"):
        assert any(line.split()[:1] == [word] for line in lines), word
    for ruleset in ("catalog", "strict", "grade", "trust"):
        assert any(line.startswith(ruleset) for line in lines)


@pytest.mark.parametrize("word", ["SCH-001", "sch-001", "no-required-list", "No-Required-List"])
def test_explain_finds_a_rule_by_id_or_name_in_any_case(word: str) -> None:
    done = run("explain", word)
    assert done.returncode == 0
    assert done.stdout.startswith("SCH-001")
    for part in (
        "Why",
        "Fix",
        "FAULT-SCHEMA-MISSING-REQUIRED",
        "Reported",
        "Not reported",
        "after --fix",
    ):
        assert part in done.stdout


def test_explain_tells_which_rules_find_a_fault() -> None:
    done = run("explain", "fault-schema-missing-required")
    assert done.returncode == 0
    assert "SCH-001, tool-no-required" in done.stdout


def test_explain_names_the_nearest_rule() -> None:
    assert "did you mean `SCH-001`?" in fails("explain", "SCH-01")


@pytest.mark.parametrize("argument", ["--help", "-h", "help"])
def test_help_lists_every_command(argument: str) -> None:
    done = run(argument)
    assert done.returncode == 0
    assert done.stderr == ""
    for command in COMMANDS:
        assert f"\n  {command} " in done.stdout


def test_no_arguments_show_the_help() -> None:
    assert run().stdout == run("--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_of_its_own(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert f"mcproof {command}" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("name", SUMMARIES)
def test_options_fill_fields_of_the_request_once(name: str) -> None:
    command = command_named(name)
    filled = [field for option in command.options for field in option.fills]
    assert len(filled) == len(set(filled))
    assert set(filled) <= set(getattr(command.request, "_fields", filled))
    assert command.run is not None or "targets" in filled


@pytest.mark.parametrize("argument", ["--version", "-V"])
def test_version_is_one_line(argument: str) -> None:
    done = run(argument)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"mcproof {mcproof.__version__}\n", "")


@pytest.mark.parametrize(
    ("written", "meant"), [("lnt", "lint"), ("schemalint", "schema-lint"), ("GRADE", "grade"), ("rule", "rules")]
)
def test_an_unknown_command_names_the_nearest(written: str, meant: str) -> None:
    assert f"unknown command `{written}` (did you mean `{meant}`?)" in fails(written)


def test_an_unknown_command_that_resembles_nothing_lists_all() -> None:
    line = fails("zzzzzz")
    assert "did you mean" not in line
    assert all(command in line for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["prove"], "name a live server"),
        (["lint", "x.json", "--frmat", "json"], "--frmat"),
        (["lint", "x.json", "--format", "xml"], "--format"),
        (["lint", "x.json", "--form", "json"], "--form"),
        (["lint", "x.json", "--fail-on", "sometimes"], "--fail-on"),
        (["lint", "x.json", "--ruleset"], "--ruleset"),
        (["explain", "SCH-001", "SCH-002"], "one at a time: `mcproof explain SCH-001`"),
        (["rules", "strict"], "strict"),
        (["grade", "x.json", "--min-grade"], "--min-grade"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else None,
)
def test_a_command_line_that_makes_no_sense_is_answered_in_one_line(arguments: list[str], told: str) -> None:
    assert told in fails(*arguments)


def test_demo_runs_without_any_file_of_the_user(tmp_path: Path) -> None:
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0
    assert "mcproof replay" not in done.stdout  # nothing is stored
    assert not list(tmp_path.iterdir())
    assert "$ mcproof check -- python -m mcproof.demo.server" in done.stdout
    assert "Fix first: " in done.stdout


def test_a_ruleset_is_explained_by_its_rules() -> None:
    assert "SCH-004" in run("explain", "STRICT").stdout
    assert document_of(run("explain", "strict", "--format", "json"), "explain")["rules"][0] == "SCH-001"


def test_a_misspelt_option_is_told_with_the_nearest() -> None:
    assert "did you mean `--format`" in fails("lint", "--fromat", "json", "x.json")


def test_a_diff_exits_1_as_it_leaves_every_finding_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "open.json"
    path.write_text('[{"name": "a", "inputSchema": {"type": "object", "properties": {}}}]')
    assert run("schema-lint", str(path), "--diff").returncode == 1
    assert run("schema-lint", str(path), "--fix").returncode == 0


def test_old_names_go_on_working_and_are_not_listed() -> None:
    assert run("rules").stdout == run("explain", "rules").stdout
    assert run("clients", "cursor").stdout == run("explain", "clients", "cursor").stdout
    assert run("advisories", "mcp-remote").stdout == run("explain", "advisories", "mcp-remote").stdout
    assert run("schema").stdout == run("validate", "--schema").stdout
    assert json.loads(run("explain", "rules", "--format", "json").stdout) == json.loads(
        run("rules", "--format", "json").stdout
    )
    for name in RENAMED:
        assert f"\n  {name} " not in run("--help").stdout


def test_explain_alone_lists_what_it_explains() -> None:
    shown = run("explain").stdout
    assert all(f"mcproof explain {name}" in shown for name in ("rules", "clients", "advisories", "strict"))


def test_a_probe_is_explained_as_the_fault_that_it_shows() -> None:
    assert run("explain", "wrong_type").stdout.startswith("FAULT-SCHEMA-TYPE-MISMATCH  (arXiv:2603.05637)")


@pytest.mark.parametrize(
    ("word", "topic"),
    [
        *((letter, "grade") for letter in ("A", "b", "C", "D", "F", "letter")),
        *((verdict, "trust") for verdict in ("allow", "review", "block", "verdict")),
        *((name, "clients lm-studio") for name in ("lm-studio", "LM Studio")),
    ],
)
def test_a_letter_a_verdict_and_a_client_are_explained_by_their_names(word: str, topic: str) -> None:
    for written in ("text", "json"):
        explained = run("explain", word, "--format", written)
        assert (explained.returncode, explained.stderr) == (0, "")
        assert explained.stdout == run("explain", *topic.split(), "--format", written).stdout


def test_the_grade_and_the_verdict_are_explained_with_all_their_rules() -> None:
    graded, judged = run("explain", "grade").stdout, run("explain", "verdict").stdout
    for rule in all_rules():
        assert rule.ruleset != "grade" or rule.id in graded
        assert rule.ruleset != "trust" or rule.id in judged
    assert "  -15  tool-no-description" in graded
    assert "100 - 36 = 64, a C" in graded


def test_a_rule_as_json_has_its_weight_limits_and_an_example_of_its_evidence() -> None:
    rule = document_of(run("explain", "tool_input_schemas_well_formed", "--format", "json"), "explain")
    assert (rule["weight"], rule["dimension"], rule["phase"]) == (4, "Schema quality", "post-handshake")
    assert rule["limits"] == {"bytes": MAX_BYTES, "levels": MAX_LEVELS}
    assert rule["evidence"]["hits"][0]["kind"] == "ref_non_local"
    assert document_of(run("explain", "tool-no-description", "--format", "json"), "explain")["points"] == 15


def test_a_word_of_a_thing_finds_the_rules_about_it() -> None:
    done = run("explain", "stdout")
    assert done.returncode == 0
    assert "WIR-001 " in done.stdout
    assert "MP041 " in run("explain", "mp04").stdout
