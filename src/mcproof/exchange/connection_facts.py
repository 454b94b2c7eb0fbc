"""Connection facts: what a live connection showed besides the catalog, for the rules to judge."""

from __future__ import annotations

from typing import NamedTuple

CROP = 200
"""How many characters of evidence are kept."""

SLOW_START = 10.0
"""Seconds after which common clients give up on a server."""
LINGERING = ("terminated", "killed")
"""How a process ends that does not exit by itself."""


class Anomaly(NamedTuple):
    """A violation of the protocol in what the server sent."""

    kind: str
    """Such as `not-json`; each kind belongs to one rule."""
    detail: str
    """The evidence, cropped."""
    method: str | None = None
    """The method of the request that it responds to, if known."""


class ProcessEnd(NamedTuple):
    """How the process of a server ended."""

    how: str
    """`by-itself` after its stdin was closed, `terminated`, `killed`, or `died` before that."""
    exit_code: int | None


class ConnectionFacts(NamedTuple):
    """What a connection showed from start to end."""

    transport: str
    """`stdio`, `http` or `sse`."""
    era: str
    """`handshake` or `stateless`."""
    requested: str
    """The requested protocol revision."""
    agreed: str | None
    """The revision in the server's response."""
    seconds_to_response: float
    """From the start to the first response; of the faster of two starts if the first was slow."""
    anomalies: tuple[Anomaly, ...]
    unserved: tuple[tuple[str, str], ...]
    """Methods that the capabilities declare but that failed, each with the reason."""
    ending: ProcessEnd | None
    """None if there is no process, or if it has not ended."""
    tool_pages: int = 1
    """The number of pages of `tools/list`."""
    expired_sessions: int = 0
    """How often the server has ended a session that was in use, so that another was started."""

    @property
    def has_parameter_headers(self) -> bool:
        """Whether clients repeat annotated arguments in headers, and must drop tools with invalid annotations."""
        return self.transport == "http" and self.era == "stateless"


def expired_text(sessions: int) -> str:
    """How often a server has ended a session in use, in words; empty if it has not."""
    if sessions == 0:
        return ""
    what = (
        "a session in use (HTTP 404), so another was"
        if sessions == 1
        else f"{sessions:,} sessions in use (HTTP 404), so others were"
    )
    return f"the server has ended {what} started"


def cropped(text: str) -> str:
    """A text cropped to the length of evidence."""
    return text if len(text) <= CROP else f"{text[:CROP]}…"
