"""`execute`: one way from a request to a result, with events that nobody needs to hear."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.core.errors import FINDINGS, INTERRUPTED, InputError, UsageError
from mcproof.runs import execute
from mcproof.runs.events import (
    CallsPlanned,
    Event,
    MessageSent,
    NoticeRaised,
    ProgressMade,
    RunFinished,
    RunStarted,
    TargetFinished,
    TargetFixed,
    TargetStarted,
)
from mcproof.runs.requests import (
    CallOptions,
    CatalogDocument,
    Detail,
    DiffRequest,
    FixRequest,
    GradeRequest,
    LintRequest,
    Policy,
    ProveRequest,
    RuleSelection,
    SchemaLintRequest,
    SettingsSource,
    TargetSelection,
)
from mcproof.targets.arguments import LiveOptions

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.runs.requests import RunRequest

TOOL = {"name": "find_book", "inputSchema": {"type": "object", "properties": {"title": {}}}}
DATA = json.dumps([TOOL]).encode()
DEMO = (sys.executable, "-m", "mcproof.demo.server")
NO_CONFIGURATION = Policy(SettingsSource(is_disabled=True))


def documents(*names: str) -> TargetSelection:
    return TargetSelection(documents=tuple(CatalogDocument(name, DATA) for name in names))


def lint(*names: str, **changes: Any) -> LintRequest:
    return LintRequest(documents(*names), policy=NO_CONFIGURATION)._replace(**changes)


def events_of(request: RunRequest) -> list[Event]:
    events: list[Event] = []
    execute(request, events.append)
    return events


@pytest.mark.parametrize("kind", [LintRequest, SchemaLintRequest, GradeRequest])
def test_a_run_starts_checks_each_target_and_finishes(kind: type[Any]) -> None:
    events = events_of(kind(documents("a", "b"), policy=NO_CONFIGURATION))
    kinds = [type(event) for event in events]
    assert kinds == [RunStarted, TargetStarted, TargetFinished, TargetStarted, TargetFinished, RunFinished]


def test_the_result_is_complete_without_events() -> None:
    result = execute(lint("a", "b"))
    heard = [event.result for event in events_of(lint("a", "b")) if isinstance(event, TargetFinished)]
    assert [each.findings for each in result.targets] == [each.findings for each in heard]
    assert result.exit_code == FINDINGS
    assert result.command == "lint"


def test_the_kind_of_a_request_decides_the_rules_and_the_command() -> None:
    result = execute(SchemaLintRequest(documents("a"), policy=NO_CONFIGURATION))
    assert result.command == "schema-lint"
    assert {rule.ruleset for rule in result.rules} == {"strict", "catalog"}


def test_a_listener_that_raises_first_prevents_the_run() -> None:
    def refuse(event: Event) -> None:
        assert isinstance(event, RunStarted)
        raise UsageError("no")

    with pytest.raises(UsageError, match=r"^no$"):
        execute(lint("a"), refuse)


def test_a_listener_that_fails_at_the_end_keeps_the_baseline(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"

    def fail(event: Event) -> None:
        if isinstance(event, RunFinished):
            raise InputError("cannot be written")

    policy = NO_CONFIGURATION._replace(baseline=str(baseline), updates_baseline=True)
    with pytest.raises(InputError):
        execute(lint("a", policy=policy), fail)
    assert not baseline.exists()
    events = events_of(lint("a", policy=policy))
    assert baseline.exists()
    assert isinstance(events[-1], MessageSent)


def test_an_interrupt_keeps_what_was_found() -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, TargetStarted) and event.number == 2:
            raise KeyboardInterrupt

    result = execute(lint("a", "b", "c"), interrupt)
    assert result.exit_code == INTERRUPTED
    assert [each.target for each in result.targets] == ["a"]


def test_a_target_that_cannot_be_read_does_not_hide_the_others() -> None:
    targets = TargetSelection(names=("missing.json",), documents=documents("a").documents)
    result = execute(lint(targets=targets))
    assert [each.trouble is None for each in result.targets] == [False, True]


def test_detail_decides_what_is_computed() -> None:
    plain = execute(lint("a")).targets[0]
    full = execute(lint("a", detail=Detail(lines=True, identities=True, scores=True))).targets[0]
    assert {each.snippet for each in plain.findings} == {None}
    assert all(each.snippet is not None and each.fingerprint for each in full.findings)
    assert plain.scores.tokens is None
    assert full.scores.tokens is not None


def test_notices_are_raised_and_in_the_result(tmp_path: Path) -> None:
    (tmp_path / "mcproof.toml").write_text('[[ignore-for]]\nrules = ["SCH-004"]\n')
    policy = Policy(SettingsSource(str(tmp_path / "mcproof.toml")))
    request = lint("a", policy=policy, rules=RuleSelection(rulesets=("strict",)))
    raised = [event.notice for event in events_of(request) if isinstance(event, NoticeRaised)]
    assert [notice.kind for notice in raised] == ["unused-ignore"]
    assert execute(request).notices == raised


def test_a_fix_has_the_files_and_what_is_left() -> None:
    check = SchemaLintRequest(documents("a"), policy=NO_CONFIGURATION)
    (fixed,) = [event.fixed for event in events_of(FixRequest(check)) if isinstance(event, TargetFixed)]
    assert fixed.applied == 2
    assert [each.rule.id for each in fixed.left] == ["SCH-003"]
    assert json.loads(fixed.files[0].after)[0]["inputSchema"]["additionalProperties"] is False


def test_a_diff_starts_and_finishes() -> None:
    request = DiffRequest(documents("a"), documents("b"), settings=SettingsSource(is_disabled=True))
    assert [type(event) for event in events_of(request)] == [RunStarted, TargetFinished, RunFinished]


def test_calls_are_planned_before_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    targets = TargetSelection(live=LiveOptions(command=DEMO))
    request = ProveRequest(targets, CallOptions(tools=("get_forecast",)), policy=NO_CONFIGURATION)
    kinds = [type(event) for event in events_of(request)]
    assert kinds.index(CallsPlanned) < kinds.index(ProgressMade) < kinds.index(TargetFinished)
    assert (tmp_path / ".mcproof").exists()


def test_one_server_is_called_at_a_time() -> None:
    with pytest.raises(UsageError, match="only one server"):
        execute(ProveRequest(documents("a", "b")))
