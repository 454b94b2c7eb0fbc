"""Facts: what a live connection showed, beside the catalog that came out of it."""

from __future__ import annotations

from typing import NamedTuple

CROP = 200
"""How much of what a server sent is kept as evidence, in characters."""


class Anomaly(NamedTuple):
    """Something on the wire that the protocol does not allow, and that a client may stumble over."""

    kind: str
    """Such as `not-json`; each is the business of one rule."""
    detail: str
    """What was seen, cropped."""
    method: str | None = None
    """The request that was being answered, where that is known."""


class ProcessEnd(NamedTuple):
    """How a server's process came to its end."""

    how: str
    """`by-itself` after its input was closed, `terminated`, `killed`, or `died` before it was asked to end."""
    exit_code: int | None


class ConnectionFacts(NamedTuple):
    """What a connection showed from its start to its end."""

    transport: str
    """`stdio`, `http` or `sse`."""
    era: str
    """`handshake` or `stateless`."""
    requested: str
    """The protocol revision that was asked for."""
    agreed: str | None
    """The one that the server answered with."""
    seconds_to_answer: float
    """From the start to the first answer."""
    anomalies: tuple[Anomaly, ...]
    unserved: tuple[tuple[str, str], ...]
    """Methods that the capabilities promise, each with what came instead."""
    ending: ProcessEnd | None
    """None where there is no process."""


def cropped(text: str) -> str:
    """What a server sent, as much of it as evidence needs."""
    return text if len(text) <= CROP else f"{text[:CROP]}…"
