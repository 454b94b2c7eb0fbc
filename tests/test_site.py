"""The documentation: its links, the site that is built from it, and the pictures of real output."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from script_modules import script

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+?)$", re.MULTILINE)
_FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and the site name them."""
    texts = _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    words = (re.sub(r"[`*]|\[|\]\([^)]*\)", "", text).strip().lower() for text in texts)
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in words}


def broken_links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page.read_text(encoding="utf-8")))
    broken = []
    for link in _LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


def test_every_link_between_pages_leads_somewhere() -> None:
    found = {str(page.relative_to(ROOT)): broken_links(page) for page in PAGES}
    assert {page: links for page, links in found.items() if links} == {}


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.is_relative_to(ROOT / "docs")}
    unlisted = {page for page in pages if page.startswith(("rules/", "reference/", "decisions/"))}
    listed = set(re.findall(r": (\S+\.md)$", navigation, re.MULTILINE))
    assert listed - unlisted == pages - unlisted


@pytest.mark.parametrize("link", ["missing.md", "scan.md#no-such-heading", "#nowhere", "../nothing/"])
def test_a_broken_link_is_noticed(link: str, tmp_path: Path) -> None:
    (tmp_path / "scan.md").write_text("# Scan\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\nSee [this]({link}), [scan](scan.md#scan) and `[no](link)`.\n")
    assert broken_links(page) == [link]


def test_links_that_leave_the_docs_lead_to_the_repository() -> None:
    outside_links = script("site_hooks").outside_links
    text = "[a](../README.md#install) [b](../examples/pytest) [c](../scan.md) [d](https://host)"
    assert outside_links(text, "guides/adopt.md", "https://repo/") == text.replace("(../scan.md)", "(../scan.md)")
    assert outside_links(text, "index.md", "https://repo/") == (
        "[a](https://repo/blob/main/README.md#install) [b](https://repo/tree/main/examples/pytest) "
        "[c](https://repo/blob/main/scan.md) [d](https://host)"
    )


def test_no_picture_of_output_is_stale() -> None:
    stills = script("write_stills")
    wanted: dict[str, str] = stills.pictures()
    stale = [name for name, text in wanted.items() if (stills.IMAGES / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run `make docs`"


@pytest.mark.slow
def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    if importlib.util.find_spec("mkdocs") is None:
        assert "MCPROOF_REQUIRE_SITE" not in os.environ
        pytest.skip("MkDocs is not installed: make .venv/.ci-ready")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout) == (0, "")
    assert "WARNING" not in done.stderr
    page = (tmp_path / "rules" / "SCH-001" / "index.html").read_text(encoding="utf-8")
    assert "An object declares properties" in page
    assert not re.search(r"""<(?:script|link|img)[^>]*(?:src|href)="https?://(?!mcproof\.github\.io)""", page)
