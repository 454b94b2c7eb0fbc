"""The fields of forms that browsers send."""

from __future__ import annotations

from urllib.parse import parse_qsl

from fastapi import HTTPException

_MOST_FIELDS = 20


def form_fields(content_type: str, body: bytes) -> dict[str, bytes]:
    """Return the fields of a form, files among them; of fields with the same name the last one.

    Raises an HTTPException if the body is not a form.
    """
    kind = content_type.partition(";")[0].strip().lower()
    try:
        if kind == "application/x-www-form-urlencoded":
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
            return {name: value.encode() for name, value in pairs}
        if kind == "multipart/form-data":
            return dict(_parts(content_type, body))
    except ValueError:
        pass
    raise HTTPException(400, "the form cannot be read")


def _parts(content_type: str, body: bytes) -> list[tuple[str, bytes]]:
    """Return the names and contents of the parts of `multipart/form-data`. Raises ValueError."""
    from email.parser import BytesHeaderParser
    from email.policy import HTTP

    outer = BytesHeaderParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode())
    boundary = outer.get_param("boundary")
    if not isinstance(boundary, str) or not 0 < len(boundary) <= 70:
        raise ValueError
    delimiter = b"\r\n--" + boundary.encode()
    found: list[tuple[str, bytes]] = []
    for part in (b"\r\n" + body).split(delimiter)[1:]:
        if part.startswith(b"--"):
            return found
        head, separator, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = BytesHeaderParser(policy=HTTP).parsebytes(head).get_param("name", header="content-disposition")
        if not separator or not isinstance(name, str) or len(found) == _MOST_FIELDS:
            raise ValueError
        found.append((name, content))
    raise ValueError
