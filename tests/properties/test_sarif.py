"""The fixes in a SARIF log, on schemas that nobody would write: an editor that applies them does what `--fix` does."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcproof.checks.fixes import fix_snapshot
from mcproof.checks.ignores import IgnoreTracker
from mcproof.checks.rule import rules_of
from mcproof.core.console import Style
from mcproof.report.formats import render
from mcproof.runs.judging import Plan, check_catalog, find_problems
from mcproof.runs.requests import Detail
from mcproof.runs.results import RunResult
from mcproof.targets.snapshots import read_snapshot
from report.readers import with_fixes

from .schemas import input_schemas
from .test_fix import layouts


@given(st.data())
def test_the_fixes_of_a_log_give_what_the_fix_command_gives(data: st.DataObject) -> None:
    text = data.draw(layouts(data.draw(input_schemas(friendly=True))))
    catalog = read_snapshot(text.encode(), "catalog.json")
    plan = Plan(rules_of("strict"), "note")
    detail = Detail(lines=True, identities=True, scores=False)
    report = check_catalog(catalog, plan, detail, IgnoreTracker()).result
    log = json.loads("".join(render(RunResult("schema-lint", "0.0.0", [report]), "sarif", Style())))
    fixed = fix_snapshot(catalog, find_problems(catalog, plan, IgnoreTracker()).scored)
    assert with_fixes(text, log) == fixed.text
