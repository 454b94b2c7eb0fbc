"""Runs that have everything a report can have, for the tests of the formats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from mcproof.checks.rule import find_rule
from mcproof.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcproof.checks.findings import Problem

FORMATS = ("text", "concise", "json", "sarif", "junit", "tap", "github", "gitlab", "markdown")
"""Every format whose bytes are looked at here; the page for people has tests of its own."""

LIBRARY = """\
{
  "initialize": {"protocolVersion": "2025-06-18", "serverInfo": {"name": "library", "version": "1.2.3"}},
  "tools": [
    {"name": "burn_book", "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    {
      "name": "find_book",
      "description": "Find a book by words of its title.",
      "inputSchema": {
        "type": "object",
        "properties": {
          "title": {"type": "string", "description": "Words of the title.", "maxLength": 100},
          "anything": {"description": "Whatever else is known of it."}
        },
        "required": ["title"],
        "additionalProperties": false
      }
    },
    {
      "name": "lend book",
      "description": "Lend a book to a reader until the end of the month.",
      "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    }
  ],
  "prompts": [{"name": "recommend", "description": "Recommend a book.", "arguments": [{"name": "mood"}]}]
}
"""

OLD = """\
{"tools": [
  {"name": "find_book", "inputSchema": {"type": "object", "properties": {
    "title": {"type": "string"}, "year": {"type": "integer", "maximum": 3000}}}},
  {"name": "burn_book", "inputSchema": {"type": "object"}}
]}
"""
NEW = """\
{"tools": [
  {"name": "find_book", "inputSchema": {"type": "object", "properties": {
    "title": {"type": "string", "pattern": "^[A-Z]"}, "year": {"type": "integer", "maximum": 2000}},
    "required": ["title"]}},
  {"name": "lend_book", "inputSchema": {"type": "object"}}
]}
"""

CONFIGURATION = """\
[[ignore-for]]
tool = "burn_book"
rules = ["prop-no-description"]
reason = "nobody is meant to call it"

[[ignore-for]]
tool = "read_book"
rules = ["tool-no-description"]
"""

SELECTED = (
    "tool-no-description,prop-no-description,tool-no-required,tool-name-convention,SCH-002,SCH-003,prop-no-type,"
    "prompt-no-description"
)
STALE = {
    "target": "library.json",
    "rule": "tool-no-description",
    "subject": "tool:gone",
    "pointer": "",
    "fingerprint": "0" * 16,
}


class Run(NamedTuple):
    """A command line, and how it ends."""

    arguments: tuple[str, ...]
    code: int


RUNS = {
    "lint": Run(("lint", "library.json", "broken.json", "--select", SELECTED, "--baseline", "baseline.json"), 2),
    "grade": Run(
        ("grade", "library.json", "--min-grade", "A", "--max-tokens", "5000", "--baseline", "baseline.json"), 1
    ),
    "compat": Run(("compat", "library.json", "--require", "cursor,claude-code", "--min-clients", "25"), 1),
    "diff": Run(("diff", "old.json", "new.json"), 1),
    "missing": Run(("lint", "missing.json", "--select", "tool-no-description"), 2),
    "refused": Run(("grade", "library.json", "--min-grade", "Z"), 2),
}
"""A run for each kind of report, and two that cannot do the job: no such file, and a senseless command line."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a catalog, its configuration and its baseline; and a rule that crashes."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"library": LIBRARY, "old": OLD, "new": NEW, "broken": '{"tools": [,]}\n'}.items():
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    (tmp_path / "mcproof.toml").write_text(CONFIGURATION, encoding="utf-8")
    baseline = tmp_path / "baseline.json"
    accepting = ("--no-config", "--baseline", "baseline.json", "--update-baseline")
    assert main(["lint", "library.json", "--select", "tool-name-convention", *accepting]) == 0
    document = json.loads(baseline.read_text(encoding="utf-8"))
    document["entries"].append(STALE)
    baseline.write_text(json.dumps(document, indent=1), encoding="utf-8")

    def crash(_: Any) -> Iterator[Problem]:
        raise ZeroDivisionError("division by zero")
        yield

    rule = find_rule("prompt-no-description")
    crash.__doc__ = rule.check.__doc__
    monkeypatch.setattr(rule, "check", crash)
    return tmp_path
