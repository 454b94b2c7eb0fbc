"""The JSON document of the commands that send one request: `call`, `read`, `prompt`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.runs.records import SCHEMA_VERSION, encode, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.runs.call import OneResponse


def response_document(response: OneResponse) -> Iterator[str]:
    """Write what was sent and the response as received, one member a line."""
    members = {"schema_version": SCHEMA_VERSION, **response._asdict(), "seconds": round(response.seconds, 6)}
    del members["unanswered"]  # also in `asked`
    lines = ",\n".join(f"{encode(key)}: {printable(encode(value))}" for key, value in members.items())
    yield f"{{{lines}}}\n"
