"""The generated pages and schemas are what the rules, the commands and the types give today."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.running import run
from mcproof.checks.rule import RULESETS, all_rules
from mcproof.cli.main import COMMANDS
from mcproof.report.formats import FORMATS
from script_modules import script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def write_docs() -> ModuleType:
    return script("write_docs")


def test_no_generated_page_is_stale(write_docs: ModuleType) -> None:
    wanted: dict[str, str] = write_docs.pages()
    stale = [name for name, text in wanted.items() if (ROOT / "docs" / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run `make docs`"


def test_no_generated_part_of_a_published_schema_is_stale(write_docs: ModuleType) -> None:
    wanted: dict[str, str] = write_docs.schemas()
    folder: Path = write_docs.SCHEMAS
    stale = [name for name, text in wanted.items() if (folder / f"{name}.schema.json").read_text("utf-8") != text]
    assert stale == [], "run `make docs`"


def test_there_is_a_page_for_each_rule_and_none_for_what_is_gone(write_docs: ModuleType) -> None:
    written = {f"rules/{page.name}" for page in (ROOT / "docs" / "rules").iterdir()}
    assert written == {"rules/index.md", *(f"rules/{rule.id}.md" for rule in all_rules())}
    assert written < set(write_docs.pages())


def test_the_reference_has_every_command_and_every_format(write_docs: ModuleType) -> None:
    pages: dict[str, str] = write_docs.pages()
    assert [name for name in COMMANDS if f"reference/{name}.md" not in pages] == []
    page = pages["reference/index.md"]
    assert [name for name in COMMANDS if f"[{name}]({name}.md)" not in page] == []
    assert [name for name in FORMATS if f"| `{name}` |" not in page] == []


def test_the_page_about_lint_lists_every_ruleset_and_whether_it_is_a_default() -> None:
    readme = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    table = readme.partition("| ruleset | checks | default |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.splitlines()[2:]]
    listed = {name.strip("`"): default.startswith("on") for name, _, default in rows}
    assert listed == {ruleset.name: ruleset.is_default for ruleset in RULESETS.values()}


GENERATED = ("rules/", "reference/", "decisions/", "clients.md", "grade.md", "kinds-of-change.md")


def test_no_written_page_is_long() -> None:
    """A page is about one thing that a reader wants to do; decisions are records, and stay as they are."""
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix(): len(page.read_text("utf-8").split()) for page in docs.rglob("*.md")}
    assert {name: words for name, words in pages.items() if words > 1_500 and not name.startswith(GENERATED)} == {}


_OF_PAGES = r"^```.*?^```$|<!--.*?-->"
_SENTENCE_END = re.compile(r"""(?<=[.!?])(?:["”)]|\*\*)?\s+(?=[A-Z0-9“"(*[]|mcproof|scripts/|zod)""")


def sentences(page: str) -> Iterator[str]:
    """The sentences of a page, its cells and its headings; code and runs of names count as one word."""
    text = re.sub(_OF_PAGES, "", page.partition("<!-- results:")[0], flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<[^>]+>", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"CODE(?:(?:,| and| or| to|:)\s+CODE)+", "CODE", text)
    for block in re.split(r"\n\s*\n|\|\n?|\n\s*(?:[-*]|\d+\.)\s|\n(?=#)", text):
        yield from _SENTENCE_END.split(" ".join(block.split()))


def test_no_sentence_of_a_written_page_is_long() -> None:
    pages = [
        page
        for page in (ROOT / "docs").rglob("*.md")
        if not page.relative_to(ROOT / "docs").as_posix().startswith(GENERATED)
    ]
    long = [
        f"{page.name}: {sentence}"
        for page in (*pages, ROOT / "README.md")
        for sentence in sentences(page.read_text(encoding="utf-8"))
        if len(re.findall(r"\S*\w\S*", sentence)) > 25
    ]
    assert long == []


def test_the_readme_is_short() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 150
    assert len(readme.split()) <= 900


def test_the_readme_shows_the_screen_that_check_prints() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```console\n\$ mcproof (.*?)\n(.*?)```", readme, re.DOTALL)
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # where `python` is this one
    command, *words = shown[0].split()
    # A busy machine needs more than the usual limit, which the screen would show.
    printed = run(command, "--max-time", "600", *words, env={"COLUMNS": "100", "PATH": path}).stdout
    assert printed == shown[1]
    assert len(printed.splitlines()) <= 40
