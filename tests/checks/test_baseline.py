"""The baseline in process: what it accepts, keeps, drops and writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.baseline import Baseline
from mcproof.checks.engine import check
from mcproof.checks.ignores import ACCEPTED, IGNORED, IgnoreTracker, Suppression
from mcproof.checks.rule import Rule, choose_rules, find_rule
from mcproof.core.errors import InputError, WriteError
from mcproof.runs.judging import Plan, find_problems
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import Catalog

RULES = choose_rules(["strict"])
LOOSE: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}}


def catalog_of(name: str, *tools: str) -> Catalog:
    return read_snapshot(json.dumps([{"name": tool, "inputSchema": LOOSE} for tool in tools]).encode(), name)


def show(baseline: Baseline, catalog: Catalog, rules: list[Rule] = RULES) -> list[Suppression | None]:
    findings = check(catalog, rules)
    return baseline.accept(catalog, findings, [None] * len(findings), rules)


def accepting(path: Path, *catalogs: Catalog) -> str:
    """A file in which everything in these catalogs is accepted."""
    baseline = Baseline(str(path), accepts_all=True)
    for catalog in catalogs:
        show(baseline, catalog)
    baseline.update()
    return str(path)


@pytest.fixture
def target(tmp_path: Path) -> str:
    (tmp_path / "tools.json").write_text("[]")
    return str(tmp_path / "tools.json")


def test_what_it_holds_is_accepted_at_its_line(tmp_path: Path, target: str) -> None:
    file = accepting(tmp_path / "base.json", catalog_of(target, "a"))
    answers = show(Baseline.read(file), catalog_of(target, "a"))
    assert answers
    assert {each and (each.by, each.reason, each.file) for each in answers} == {(ACCEPTED, None, file)}
    lines = [each.line for each in answers if each is not None and each.line is not None]
    assert sorted(lines) == list(range(3, 3 + len(answers)))


def test_what_it_does_not_hold_stands(tmp_path: Path, target: str) -> None:
    file = accepting(tmp_path / "base.json", catalog_of(target, "a"))
    answers = show(Baseline.read(file), catalog_of(target, "a", "b"))
    assert [each is None for each in answers].count(True) == len(answers) / 2


def test_what_something_else_suppresses_is_neither_accepted_nor_gone(tmp_path: Path, target: str) -> None:
    file = accepting(tmp_path / "base.json", catalog_of(target, "a"))
    baseline = Baseline.read(file, accepts_all=True)
    catalog = catalog_of(target, "a")
    findings = check(catalog, RULES)
    ignored = Suppression(IGNORED, None, "mcproof.toml", 1)
    assert baseline.accept(catalog, findings, [ignored] * len(findings), RULES) == [ignored] * len(findings)
    assert baseline.stale() == []
    assert baseline.update() == (0, 0, len(findings))


def test_what_is_gone_is_stale_where_it_was_looked_for(tmp_path: Path, target: str) -> None:
    file = accepting(tmp_path / "base.json", catalog_of(target, "a", "b"))
    baseline = Baseline.read(file)
    assert baseline.stale() == []
    show(baseline, catalog_of(target, "b"), choose_rules([], select=["SCH-001"]))
    assert [(stale.entry.rule, stale.entry.subject, stale.line) for stale in baseline.stale()] == [
        ("SCH-001", "tool:a", 3)
    ]


def test_the_findings_of_a_rule_that_failed_are_not_gone(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = accepting(tmp_path / "base.json", catalog_of(target, "a"))

    def fails(tree: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(find_rule("SCH-002"), "check", fails)
    baseline = Baseline.read(file, accepts_all=True)
    find_problems(catalog_of(target, "a"), Plan(RULES, "note", baseline=baseline), IgnoreTracker())
    assert baseline.stale() == []
    baseline.update()
    rules = {entry["rule"] for entry in json.loads((tmp_path / "base.json").read_text())["entries"]}
    assert {"SCH-002", "CAT-004"} <= rules


def test_an_update_of_nothing_keeps_everything_but_what_is_gone(tmp_path: Path, target: str) -> None:
    gone = tmp_path / "gone.json"
    gone.write_text("[]")
    file = accepting(tmp_path / "base.json", catalog_of(target, "a"), catalog_of(str(gone), "a"))
    count = len(check(catalog_of(target, "a"), RULES))
    assert Baseline.read(file).update() == (2 * count, 0, 0)
    gone.unlink()
    assert Baseline.read(file).update() == (count, 0, count)


def test_a_target_that_cannot_be_reached_is_kept(tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = accepting(tmp_path / "base.json", catalog_of(target, "a"))
    baseline = Baseline.read(file)

    def forbidden(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.lstat", forbidden)
    kept = baseline._is_gone("tools.json")
    monkeypatch.undo()
    assert not kept


def test_a_target_of_another_drive_is_named_in_full(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where no relative path leads from one drive to another."""

    def refuses(path: str, start: str) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr("os.path.relpath", refuses)
    file = accepting(tmp_path / "base.json", catalog_of(target, "a"))
    assert {entry["target"] for entry in json.loads((tmp_path / "base.json").read_text())["entries"]} == {target}
    assert None not in show(Baseline.read(file), catalog_of(target, "a"))


def test_entries_stand_one_a_line_in_an_order_of_their_own(tmp_path: Path, target: str) -> None:
    one = accepting(tmp_path / "one.json", catalog_of(target, "a", "b"))
    two = accepting(tmp_path / "two.json", catalog_of(target, "b", "a"))
    text = (tmp_path / "one.json").read_text()
    assert text == (tmp_path / "two.json").read_text()
    assert len(text.splitlines()) == 3 + len(json.loads(text)["entries"])
    assert one != two


def test_a_file_that_is_not_there_is_an_error_unless_it_is_to_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such baseline"):
        Baseline.read(str(tmp_path / "none.json"))


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be written"):
        Baseline(str(tmp_path / "none" / "base.json"), accepts_all=True).update()
