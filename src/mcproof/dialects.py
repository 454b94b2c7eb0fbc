"""Whether a schema is JSON Schema at all, by the meta-schema of the dialect that it is written in.

Nothing is fetched: a dialect that is not known is not judged.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from mcproof.jsontext import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT = "https://json-schema.org/draft/2020-12/schema"
"""What a schema is written in that does not say, by the protocol."""
_KNOWN = {
    address.partition("://")[2]: address
    for address in (
        DEFAULT,
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    )
}
_MOST_ERRORS = 20


def objections(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Why a schema is no JSON Schema: a pointer from it and what is wrong there; nothing where nobody can tell."""
    named = schema.get("$schema", DEFAULT)
    address = _KNOWN.get(named.partition("://")[2].removesuffix("#")) if isinstance(named, str) else DEFAULT
    if address is None:
        return []
    try:
        validator = _meta_validator(address)
        if validator.is_valid(schema):
            return []
        return list(_worded(validator.iter_errors(schema)))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # too deep, or not representable: even a panic in the library
        return []


@cache
def _meta_validator(address: str) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for({"$schema": address, "$ref": address}, validate_formats=False, offline=True)


def _worded(errors: Iterator[Any]) -> Iterator[tuple[str, str]]:
    for _, error in zip(range(_MOST_ERRORS), errors, strict=False):
        path = [str(token) for token in error.instance_path]
        pointer = "".join(f"/{escape(token)}" for token in path)
        yield pointer, _complaint(path, error)


def _complaint(path: list[str], error: Any) -> str:
    message = error.message.partition("\n")[0]
    if path and path[-1] == "type" and error.kind.name == "anyOf":
        value = message.partition(" is not valid under")[0]
        message = f"{_cropped(value)} is no type of JSON Schema"
    return _cropped(message)


def _cropped(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}…"
