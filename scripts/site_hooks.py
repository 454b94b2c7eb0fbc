"""Hooks of MkDocs: links from docs/ to other files of the repository become links to the repository."""

from __future__ import annotations

import pathlib
import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = pathlib.Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(\]\()((?:\.\./)+[^)#\s]+)")


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Return the page with links that leave docs/ pointing to the repository."""
    return outside_links(markdown, page.file.src_uri, str(config.repo_url))


def outside_links(markdown: str, source: str, repository: str) -> str:
    """Return Markdown with links that leave docs/ pointing to the repository."""

    def pointed(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(source), match[2]))
        if path.startswith("docs/"):
            return match[0]
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{match[1]}{repository.rstrip('/')}/{kind}/main/{path}"

    return _LINK.sub(pointed, markdown)
