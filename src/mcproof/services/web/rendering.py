"""Rendered pages and pictures: templates, style sheet, charts and badges as SVG.

Pages share the style sheet and the parts of the HTML report.
Why markup lives in templates: docs/decisions/0028-html-markup.md.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from mcproof import __version__
from mcproof.checks.scores.grade import LETTERS
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.phrases import GRADE_TONES, TONES
from mcproof.services.store.servers import ListedServer, Totals, find_server
from mcproof.services.web.reading import templates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment


def tone_of(letter: str) -> str:
    """Return `good`, `fair` or `bad`."""
    return GRADE_TONES.get(letter, "bad")


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
    pages = templates()
    pages.filters["path"] = lambda text: quote(text, safe="")
    icon = pages.get_template("icon.svg").render(colour="#1f4fa3", letter="m")
    pages.globals.update(
        version=__version__, tone_of=tone_of, verdict_tones=TONES, icon=f"data:image/svg+xml,{quote(icon)}"
    )
    return pages


def render(template: str, request: Request, **values: Any) -> str:
    """Render a page."""
    return web_environment().get_template(template).render(request=request, **values)


class Asset(NamedTuple):
    """A file of the pages, with the tag by which browsers know it."""

    text: str
    media_type: str
    tag: str


def asset(name: str) -> Asset | None:
    """Return a style sheet or script by name; None if there is none."""
    # Looked up first: names that do not exist must not fill the cache.
    return _asset(name) if name in _KINDS else None


@cache
def _asset(name: str) -> Asset:
    text = web_environment().get_template(name).render()
    return Asset(text, _KINDS[name], f'"{sha256(text.encode()).hexdigest()[:16]}"')


router = APIRouter()
_COLOURS = {"good": "#1a6b3c", "fair": "#825000", "bad": "#b3261e", "none": "#5a5d61"}
_TONES = {letter: tone_of(letter) for letter in LETTERS} | TONES
_CHARACTER, _PADDING = 7, 10
"""The width of a character and of the space around a text, in pixels: an estimate for a font that is not known."""
_SECONDS = 300

Shown = Literal["grade", "score", "tokens", "verdict"]


class Badge(NamedTuple):
    """What a badge says."""

    label: str
    message: str
    colour: str

    @property
    def widths(self) -> tuple[int, int]:
        """The widths of both halves."""
        label, message = (len(text) * _CHARACTER + 2 * _PADDING for text in (self.label, self.message))
        return label, message


@router.get("/badge/{name:path}.svg")
def picture(request: Request, name: str, show: Annotated[Shown, Query()] = "grade") -> Response:
    """Draw a badge; one of an unknown server says so, so that a page that embeds it stays whole."""
    badge = badge_of(find_server(request.app.state.database, name), show)
    svg = web_environment().get_template("badge.svg").render(badge=badge)
    return Response(svg, media_type="image/svg+xml", headers={"cache-control": f"public, max-age={_SECONDS}"})


@router.get("/badge/{name:path}.json")
def endpoint(request: Request, name: str, show: Annotated[Shown, Query()] = "grade") -> Response:
    """Return a badge in the shape that badge services read from an endpoint."""
    badge = badge_of(find_server(request.app.state.database, name), show)
    document = {
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": badge.colour.removeprefix("#"),
        "cacheSeconds": _SECONDS,
    }
    return JSONResponse(document, headers={"cache-control": f"public, max-age={_SECONDS}"})


def badge_of(server: ListedServer | None, show: Shown) -> Badge:
    """Return what a badge says about a server."""
    if server is None:
        return Badge("mcproof", "unknown", _COLOURS["none"])
    word = server.verdict if show == "verdict" else server.grade
    value = {
        "grade": server.grade,
        "score": None if server.score is None else f"{server.score} of 100",
        "tokens": None if server.tokens is None else f"{server.tokens:,} tokens",
        "verdict": server.verdict,
    }[show]
    if value is None:
        return Badge("mcproof", "not checked", _COLOURS["none"])
    tone = "none" if show == "tokens" else _TONES.get(word or "", "none")
    return Badge(f"mcproof {show}" if show != "score" else "mcproof", value, _COLOURS[tone])


WIDTH, HEIGHT = 320, 80
"""The size of the drawing of a line, in its own units."""


class GradeBar(NamedTuple):
    """One bar of the distribution."""

    letter: str
    servers: int
    width: float
    """In percent of the longest."""
    tone: str


class Line(NamedTuple):
    """A line over time, in the units of its drawing."""

    points: str
    """Its corners, as SVG's `points` has them; empty if there are fewer than two."""
    last: tuple[float, float] | None
    last_score: str
    first_label: str
    last_label: str
    spoken: str


def grade_bars(totals: Totals) -> list[GradeBar]:
    """Return a bar for each grade, also for those that no server has."""
    longest = max(totals.grades.values(), default=0) or 1
    return [
        GradeBar(letter, count, 100 * count / longest, tone_of(letter))
        for letter, count in ((letter, totals.grades.get(letter, 0)) for letter in LETTERS)
    ]


def score_line(values: Sequence[tuple[str, float]]) -> Line:
    """Return the line of scores from 0 to 100, each with its moment."""
    if not values:
        return Line("", None, "", "", "", "no scores")
    step = WIDTH / max(1, len(values) - 1)
    corners = [
        (round(number * step, 1), round(HEIGHT - score * HEIGHT / 100, 1)) for number, (_, score) in enumerate(values)
    ]
    points = " ".join(f"{x},{y}" for x, y in corners) if len(corners) > 1 else ""
    first, last = values[0][0], values[-1][0]
    is_one_day = first[:10] == last[:10]
    # Only scores of one day need the time to be told apart.
    start, end = (moment[:16].replace("T", " ") if is_one_day else moment[:10] for moment in (first, last))
    spoken = f"scores from {values[0][1]:.0f} to {values[-1][1]:.0f}, {start} to {end}"
    return Line(points, corners[-1], f"{values[-1][1]:.0f}", start, end.removeprefix(start), spoken)
