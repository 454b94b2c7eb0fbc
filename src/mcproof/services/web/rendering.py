"""Badges: a grade, a score, tokens or a verdict as a small picture, and as the document that badge services read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from mcproof.checks.scores.grade import LETTERS
from mcproof.report.phrases import TONES as VERDICT_TONES
from mcproof.store.server_list import find_server
from mcproof.web.grade_tones import tone_of
from mcproof.web.rendering import web_environment

if TYPE_CHECKING:
    from mcproof.store.server_list import ListedServer

router = APIRouter()
_COLOURS = {"good": "#1a6b3c", "fair": "#825000", "bad": "#b3261e", "none": "#5a5d61"}
_TONES = {letter: tone_of(letter) for letter in LETTERS} | VERDICT_TONES
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
