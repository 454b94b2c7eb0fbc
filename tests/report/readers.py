"""How others read the formats: strict readers, so that what gets past them is what the format asks for."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, NamedTuple

import cmarkgfm  # type: ignore[import-untyped]
import yaml
from cmarkgfm.cmark import Options  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_ACTING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def acts(text: str) -> list[str]:
    """What in a text acts on a terminal or on a CI runner that sees it go by."""
    lines = [line for line in text.splitlines() if line.lstrip().startswith("::") or re.search(r"##\w*\[", line)]
    return _ACTING.findall(text) + lines


# --- SARIF --------------------------------------------------------------------------------------------------------


def with_fixes(text: str, document: Any) -> str:
    """A text with every fix of a SARIF log in it; lines end at line feeds, columns count characters."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    edits = []
    for result in document["runs"][0]["results"]:
        for fix in result.get("fixes", ()):
            for change in fix["artifactChanges"]:
                for each in change["replacements"]:
                    region = each["deletedRegion"]
                    start = starts[region["startLine"] - 1] + region["startColumn"] - 1
                    end = starts[region["endLine"] - 1] + region["endColumn"] - 1
                    edits.append((start, end, each["insertedContent"]["text"]))
    edits.sort(key=lambda edit: edit[:2])  # insertions at one place keep their order: the sort is stable
    for start, end, replacement in reversed(edits):
        text = text[:start] + replacement + text[end:]
    return text


# --- TAP ----------------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    """A test point: its verdict, what it says, its directive and its diagnostics."""

    passed: bool
    description: str
    skipped: str | None
    facts: dict[str, Any] | None


_POINT = re.compile(r"(ok|not ok) (\d+) - ((?:[^\\#]|\\[\\#])*?)(?: # SKIP ((?:[^\\#]|\\[\\#])*))?")


def parse_tap(text: str) -> list[Point]:
    """The points of a document of TAP 14; fails on whatever is out of order. A run that bailed out has none."""
    version, plan, *lines = text.removesuffix("\n").split("\n")
    assert version == "TAP version 14"
    assert re.fullmatch(r"1\.\.\d+", plan)
    points: list[Point] = []
    rest = iter(lines)
    for line in rest:
        if line.startswith("Bail out! "):
            assert plan == "1..0"
            assert next(rest, None) is None
        elif line == "  ---":
            block = []
            while (line := next(rest)) != "  ...":
                assert line.startswith("  ")
                block.append(line[2:])
            facts = yaml.safe_load("\n".join(block))
            assert isinstance(facts, dict)
            assert points[-1].facts is None
            points[-1] = points[-1]._replace(facts=facts)
        else:
            found = _POINT.fullmatch(line)
            assert found is not None, line
            verdict, number, description, reason = found.groups()
            assert int(number) == len(points) + 1
            points.append(Point(verdict == "ok", _unescaped(description), reason and _unescaped(reason), None))
    assert plan == f"1..{len(points)}"
    return points


def _unescaped(text: str) -> str:
    return re.sub(r"\\([\\#])", r"\1", text)


# --- workflow commands --------------------------------------------------------------------------------------------


class Command(NamedTuple):
    """A workflow command as the runner of GitHub Actions takes it."""

    name: str
    properties: dict[str, str]
    message: str


def parse_commands(text: str) -> list[Command]:
    """The workflow commands of a text that is nothing else."""
    commands = []
    for line in text.splitlines():
        found = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert found is not None, line
        name, listed, message = found.groups()
        pairs = [pair.partition("=") for pair in listed.split(",")]
        assert len({key for key, _, _ in pairs}) == len(pairs)
        commands.append(Command(name, {key: _decoded(value, ":,") for key, _, value in pairs}, _decoded(message, "")))
    return commands


def _decoded(text: str, more: str) -> str:
    codes = {f"%{ord(each):02X}": each for each in "\r\n" + more}
    for code, each in codes.items():
        text = text.replace(code, each)
    return text.replace("%25", "%")


# --- Markdown -----------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What GitHub's renderer makes of a text: the tags, the rows of its tables, and the text that is not code."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.prose = ""
        self.text = ""
        self._open: list[str] = []
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))
        self.close()
        self.left_open = list(self._open)

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        assert not list(attrs), (tag, attrs)
        self.tags.append(tag)
        if tag != "br":  # which has no end
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "code" not in self._open:
            self.prose += data
        if "td" in self._open or "th" in self._open:
            self.rows[-1][-1] += data


OURS = {
    "h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary", "strong",
    "ul", "ol", "li", "br",
}  # fmt: skip
"""The tags that a report is made of."""


def refuse_markup(markdown: str, columns: Collection[int] = (3,)) -> Page:
    """The page, which must be made of nothing but what mcproof puts there, in tables of so many columns."""
    page = Page(markdown)
    assert set(page.tags) <= OURS, set(page.tags) - OURS
    assert page.left_open == []
    assert {len(row) for row in page.rows} <= set(columns)
    assert not re.search(r"@\w|#\d|GH-\d|https?://\w|www\.\w", page.prose)
    return page
