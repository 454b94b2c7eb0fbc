"""Which rules run: `--ruleset`, `--select`, `--ignore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .running import CLEAN_TOOL, FAULTY_TOOL, fails, rules_in, run, write

if TYPE_CHECKING:
    from pathlib import Path

GRADE = ["prop-no-description", "prop-no-type", "tool-no-description", "tool-no-required"]
BROAD = ["no_broad_schema_risk"]
"""The schema-quality rule of `trust` that finds something, which `lint` runs by default."""
TRUST = [*BROAD, "all_tools_have_descriptions"]
STRICT = ["SCH-001", "SCH-002", "SCH-003"]
POLISH = ["MP001", "MP002", "MP004"]
COMPAT = ["CMP-005", "CMP-024"]


@pytest.fixture
def faulty(tmp_path: Path) -> str:
    return write(tmp_path / "faulty.json", {"tools": [FAULTY_TOOL, "no tool"]})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["CAT-001", *BROAD, *GRADE, *COMPAT]),
        (("--ruleset", "all"), ["CAT-001", *STRICT, *GRADE, *TRUST, *POLISH, *COMPAT]),
        (("--ruleset", "strict"), STRICT),
        (("--ruleset", "polish"), POLISH),
        (("--ruleset", "strict,grade"), [*STRICT, *GRADE]),
        (("--ruleset", "strict", "--ruleset", " grade "), [*STRICT, *GRADE]),
        (("--ruleset", "trust"), TRUST),
        (("--select", "SCH-001"), ["SCH-001"]),
        (("--select", "sch-001,prop-no-type"), ["SCH-001", "prop-no-type"]),
        (("--select", "no-required-list"), ["SCH-001"]),
        (("--select", "strict", "--ignore", "SCH-002"), ["SCH-001", "SCH-003"]),
        (("--ignore", "grade"), ["CAT-001", *BROAD, *COMPAT]),
        (("--ignore", "tool-no-required", "--ignore", "CAT-001"), [*BROAD, *GRADE[:-1], *COMPAT]),
        (("--ruleset", "all", "--ignore", "strict,catalog"), [*GRADE, *TRUST, *POLISH, *COMPAT]),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else None,
)
def test_the_rules_that_run_are_those_that_were_asked_for(
    faulty: str, options: tuple[str, ...], expected: list[str]
) -> None:
    assert rules_in(run("lint", faulty, "--format", "json", *options)) == sorted(expected)


def test_the_exit_code_is_about_the_rules_that_ran(faulty: str) -> None:
    assert run("lint", faulty, "--select", "prop-no-type").returncode == 0
    assert run("lint", faulty, "--select", "tool-no-description").returncode == 1


def test_schema_lint_runs_strict_and_what_is_wrong_with_the_input(faulty: str) -> None:
    assert rules_in(run("schema-lint", faulty, "--format", "json")) == ["CAT-001", *STRICT]
    assert rules_in(run("schema-lint", faulty, "--format", "json", "--select", "SCH-003")) == ["SCH-003"]
    ignored = run("schema-lint", faulty, "--format", "json", "--ignore", "SCH-003,catalog")
    assert rules_in(ignored) == ["SCH-001", "SCH-002"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--select", "SCH-01"), "unknown rule `SCH-01` (did you mean `SCH-001`?)"),
        (("--ignore", "prop-no-typ"), "unknown rule `prop-no-typ` (did you mean `prop-no-type`?)"),
        (("--select", "zzzz"), "unknown rule `zzzz`; `mcproof explain rules` lists them all"),
        (("--ruleset", "strickt"), "unknown ruleset `strickt` (did you mean `strict`?)"),
        (("--ruleset", "zzzz"), "there are catalog, strict, grade, trust, spec, polish, compat, wire"),
        (("--select", "SCH-001", "--ignore", "SCH-001"), "no rules left to run"),
        (("--ruleset", "strict", "--ignore", "strict"), "no rules left to run"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else None,
)
def test_a_selection_that_makes_no_sense_is_refused(faulty: str, options: tuple[str, ...], told: str) -> None:
    assert told in fails("lint", faulty, *options)


def test_a_selection_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    assert "unknown rule" in fails("lint", str(tmp_path / "missing.json"), "--select", "nonsense")


def test_a_clean_catalog_passes_every_ruleset(tmp_path: Path) -> None:
    described = {
        **CLEAN_TOOL,
        "description": "Find books. Use this when the user names a title. Returns their shelves.",
    }
    name = write(tmp_path / "clean.json", {"tools": [described]})
    assert rules_in(run("lint", name, "--format", "json", "--ruleset", "all")) == []
