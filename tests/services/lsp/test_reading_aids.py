"""Hover, completion and code lenses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types

from cli.running import CLEAN_TOOL, FAULTY_TOOL
from mcproof.services.lsp.documents import TextPositions
from services.lsp.sources import SERVER, SUITE

if TYPE_CHECKING:
    from pathlib import Path

    from services.lsp.editor import Editor

HERE = "‸"
"""The cursor, in the texts of these tests."""


def at_cursor(editor: Editor, file: Path, text: str) -> types.TextDocumentPositionParams:
    """Open a text, and the position of the cursor in it."""
    offset = text.index(HERE)
    text = text.replace(HERE, "")
    uri = editor.open(file, text)
    where = TextPositions(text, editor.encoding).position_at(offset)
    return types.TextDocumentPositionParams(types.TextDocumentIdentifier(uri), where)


def hovered(editor: Editor, file: Path, text: str) -> str | None:
    place = at_cursor(editor, file, text)
    found = editor.request("text_document_hover", types.HoverParams(place.text_document, place.position))
    return None if found is None else str(found.contents.value)


def offered(editor: Editor, file: Path, text: str) -> dict[str, types.CompletionItem]:
    place = at_cursor(editor, file, text)
    params = types.CompletionParams(place.text_document, place.position)
    return {each.label: each for each in editor.request("text_document_completion", params).items}


def test_hover_over_a_finding_shows_the_rule(editor: Editor, tmp_path: Path) -> None:
    text = SERVER.replace("find_book(title", f"find_book({HERE}title")
    shown = hovered(editor, tmp_path / "server.py", text) or ""
    assert shown.startswith("**prop-no-description** · grade · warning")
    assert "**Why**" in shown
    assert "**Fix**" in shown
    assert "/rules/prop-no-description/" in shown


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("server.py", f"x = 1  # mcproof: ignore[SCH-001, SCH{HERE}-002] why\n"),
        ("mcproof.toml", f'select = ["SCH-001", "SCH{HERE}-002"]\n'),
        ("mcproof.toml", f'[severity]\nSC{HERE}H-002 = "error"\n'),
    ],
)
def test_hover_over_the_name_of_a_rule_shows_it(editor: Editor, tmp_path: Path, name: str, text: str) -> None:
    assert (hovered(editor, tmp_path / name, text) or "").startswith("**SCH-002**")


def test_hover_elsewhere_shows_nothing(editor: Editor, tmp_path: Path) -> None:
    assert hovered(editor, tmp_path / "server.py", SERVER.replace("return title", f"return {HERE}title")) is None


COMPLETED = {
    "a comment": ("a.py", f"x = 1  # mcproof: ig{HERE}\n", {"ignore", "ignore-file"}, None),
    "rules of a comment": ("a.py", f"x = 1  # mcproof: ignore[SCH-001, prop-{HERE}\n", {"SCH-002", "strict"}, "tools"),
    "the keys of a configuration": ("mcproof.toml", f"{HERE}\n", {"select", "ignore-for", "baseline"}, "rules"),
    "the keys of an entry": ("mcproof.toml", f"[[ignore-for]]\nru{HERE}", {"rules", "reason", "tool"}, "select"),
    "a choice": ("mcproof.toml", f'fail-on = "{HERE}', {"error", "never"}, "SCH-001"),
    "a choice without quotes": ("mcproof.toml", f"min-grade = {HERE}", {'"A"'}, "A"),
    "rules of a configuration": ("mcproof.toml", f'ignore = ["SCH-001", "{HERE}"]', {"SCH-002", "polish"}, "error"),
    "rules on several lines": ("mcproof.toml", f'ignore = [\n  "SCH-001",\n  "{HERE}', {"SCH-002", "polish"}, None),
    "rulesets": ("mcproof.toml", f'rulesets = ["gr{HERE}"]', {"grade", "all"}, "SCH-001"),
    "severities": ("mcproof.toml", f'[severity]\nSCH-001 = "{HERE}"', {"error", "note"}, "SCH-002"),
    "rules with a severity": ("mcproof.toml", f"[severity]\nSC{HERE}", {"SCH-001", "strict"}, "select"),
    "clients": ("mcproof.toml", f'clients = ["{HERE}"]', {"cursor", "claude-code"}, None),
    "tables": ("mcproof.toml", f"[[{HERE}", {"ignore-for", "severity"}, "select"),
    "settings in pyproject": ("pyproject.toml", f"[project]\n[tool.mcproof]\n{HERE}", {"select"}, "name"),
    "the keys of a suite": ("mcproof.yaml", f"{HERE}\n", {"servers", "tools", "imports"}, "name"),
    "the keys of a server": ("mcproof.yaml", f"servers:\n  a:\n    {HERE}", {"command", "url"}, "tools"),
    "the keys of a test": ("mcproof.yaml", f"{SUITE}    {HERE}", {"args", "expect", "negative_path"}, "target"),
    "the first key of a test": ("mcproof.yaml", f"tools:\n- {HERE}", {"name", "tool"}, "servers"),
    "a server": ("mcproof.yaml", f"{SUITE}  - name: x\n    server: {HERE}", {"library"}, "contains"),
    "a method": ("mcproof.yaml", f"{SUITE}  - name: x\n    tool: {HERE}", {"tools/list"}, "library"),
    "matchers": (
        "mcproof.yaml",
        SUITE.replace("{contains: Emma}", f"{{{HERE}}}"),
        {"exact", "contains", "contains-all", "regex", "schema", "snapshot", "icontains", "not"},
        "target",
    ),
    "matchers on their own line": (
        "mcproof.yaml",
        SUITE.replace("{contains: Emma}", f"\n          con{HERE}"),
        {"contains", "contains-all"},
        "target",
    ),
    "targets": ("mcproof.yaml", SUITE.replace("result.content[0].text", HERE), {"result", "error", "duration_ms"}, "a"),
    "checks": ("mcproof.yaml", f"{SUITE}    negative_path:\n      checks: [{HERE}", {"missing_required"}, "expect"),
    "checks in a list": (
        "mcproof.yaml",
        f"{SUITE}    negative_path:\n      checks:\n        - {HERE}",
        {"missing_required"},
        "expect",
    ),
}


@pytest.mark.parametrize("name", COMPLETED)
def test_completion_offers_the_words_that_fit(editor: Editor, tmp_path: Path, name: str) -> None:
    file, text, wanted, unwanted = COMPLETED[name]
    words = offered(editor, tmp_path / file, text)
    assert wanted <= set(words), sorted(words)
    assert unwanted not in words


def test_completion_replaces_what_is_typed(editor: Editor, tmp_path: Path) -> None:
    text = f"x = '\N{FIRE}'  # mcproof: ignore[prop-no-{HERE}]\n"
    item = offered(editor, tmp_path / "a.py", text)["prop-no-description"]
    assert isinstance(item.text_edit, types.TextEdit)
    uri = (tmp_path / "a.py").as_uri()
    positions = TextPositions(editor.texts[uri], editor.encoding)
    start, end = positions.offset_at(item.text_edit.range.start), positions.offset_at(item.text_edit.range.end)
    assert editor.texts[uri][start:end] == "prop-no-"
    assert item.text_edit.new_text == "prop-no-description"


def test_completion_elsewhere_offers_nothing(editor: Editor, tmp_path: Path) -> None:
    assert offered(editor, tmp_path / "a.py", f"x = [{HERE}]\n") == {}
    assert offered(editor, tmp_path / "a.json", f"[{HERE}]\n") == {}
    assert offered(editor, tmp_path / "pyproject.toml", f"[project]\n{HERE}") == {}


def test_a_lens_over_each_tool_has_tokens_and_score(editor: Editor, tmp_path: Path) -> None:
    def lenses(uri: str) -> list[tuple[int, str]]:
        params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
        found = editor.request("text_document_code_lens", params)
        return [(each.range.start.line, each.command.title) for each in found]

    uri = editor.open(tmp_path / "tools.json", json.dumps([CLEAN_TOOL, FAULTY_TOOL], indent=1))
    first, second = lenses(uri)
    lines = editor.texts[uri].splitlines()
    assert "find_book" in lines[first[0]]
    assert "burn_book" in lines[second[0]]
    assert second[1].endswith(" tokens · description 0.00")
    assert first[1].split()[0].isdigit()
    source = editor.open(tmp_path / "server.py", SERVER)
    assert [SERVER.splitlines()[line].split("(")[0] for line, _ in lenses(source)] == ["def find_book", "def burn"]
    editor.replace(source, "Find a book by words of its title.", "")
    assert [title.endswith("0.00") for _, title in lenses(source)] == [True, True]
