"""Render pages: the environment, the style sheet and the parts of the HTML report, and templates of their own."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, PackageLoader

from mcproof import __version__
from mcproof.report.html.page import page_environment
from mcproof.report.phrases import TONES
from mcproof.web.grade_tones import tone_of

if TYPE_CHECKING:
    from fastapi import Request
    from jinja2 import Environment

_SCRIPT = "text/javascript"
_KINDS = {
    "report.css": "text/css",
    "web.css": "text/css",
    "report.js": _SCRIPT,
    "visit.js": _SCRIPT,
    "web.js": _SCRIPT,
}


@cache
def web_environment() -> Environment:
    """Return the environment of the report with the templates of this package."""
    shared = page_environment()
    pages = shared.overlay(
        loader=ChoiceLoader([PackageLoader("mcproof.web"), shared.loader or PackageLoader("mcproof")])
    )
    pages.filters["path"] = lambda text: quote(text, safe="")
    icon = shared.get_template("icon.svg").render(colour="#1f4fa3", letter="m")
    pages.globals.update(
        version=__version__, tone_of=tone_of, verdict_tones=TONES, icon=f"data:image/svg+xml,{quote(icon)}"
    )
    return pages


def render(template: str, request: Request, **values: Any) -> str:
    """Render a page."""
    return web_environment().get_template(template).render(request=request, **values)


class Asset:
    """A file of the pages, with the tag by which browsers know it."""

    def __init__(self, template: str, media_type: str) -> None:
        self.text = web_environment().get_template(template).render()
        self.media_type = media_type
        self.tag = f'"{sha256(self.text.encode()).hexdigest()[:16]}"'


@cache
def asset(name: str) -> Asset | None:
    """Return a style sheet or script by name; None if there is none."""
    return Asset(name, _KINDS[name]) if name in _KINDS else None
