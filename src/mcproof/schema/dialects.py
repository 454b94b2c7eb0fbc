"""Whether a schema is JSON Schema at all, by the meta-schema of the dialect that it is written in.

Nothing is fetched: a dialect that is not known is not judged.
"""

from __future__ import annotations

import marshal
from functools import cache
from typing import TYPE_CHECKING, Any

from mcproof.schema.tree import STRICT_LEVELS, nesting
from mcproof.text.pointers import escape

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
_SMALLEST_LEVEL = 4
"""How many bytes `marshal` spends on one object inside another, at least."""
_CONTAINERS = (b"{", b"[", b"\xfb", b"\xdb")
"""How `marshal` begins an object or a list, the latter two where it notes that it may meet the same again."""


def objections(schema: dict[str, Any], written: bytes = b"") -> list[tuple[str, str]]:
    """Why a schema is no JSON Schema: a pointer from it and what is wrong there; nothing where nobody can tell.

    `written` is the schema, or what it is a part of, as `marshal` writes it, where somebody has that already.
    """
    named = schema.get("$schema", DEFAULT)
    address = _KNOWN.get(named.partition("://")[2].removesuffix("#")) if isinstance(named, str) else DEFAULT
    if address is None or _is_too_deep(schema, written):
        return []
    try:
        validator = _meta_validator(address)
        if validator.is_valid(schema):
            return []
        return list(_worded(validator.iter_errors(schema), schema))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # what the library cannot read, even a panic in it
        return []


def _is_too_deep(schema: dict[str, Any], written: bytes) -> bool:
    """Whether a schema nests so deep that the validator could run out of stack, which would end the process."""
    try:
        written = written or marshal.dumps(schema, 4)
    except ValueError:  # deeper than marshal goes
        return True
    may_be_deep = (
        len(written) > STRICT_LEVELS * _SMALLEST_LEVEL and sum(map(written.count, _CONTAINERS)) > STRICT_LEVELS
    )
    return may_be_deep and nesting(schema) > STRICT_LEVELS


@cache
def _meta_validator(address: str) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for({"$schema": address, "$ref": address}, validate_formats=False, offline=True)


def _worded(errors: Iterator[Any], schema: Any) -> Iterator[tuple[str, str]]:
    for _, each in zip(range(_MOST_ERRORS), errors, strict=False):
        error = _innermost(each)
        if error.instance is None and _value_at(error.instance_path, schema) is not None:
            continue  # a number beyond what the library can hold
        pointer = "".join(f"/{escape(str(token))}" for token in error.instance_path)
        yield pointer, _complaint(error)


def _value_at(path: list[str | int], value: Any) -> Any:
    for token in path:
        value = value[token]
    return value


def _innermost(error: Any) -> Any:
    """What is wrong inside of a value that fits none of several shapes: of the shape that it fits best."""
    while error.kind.name in ("anyOf", "oneOf") and error.instance_path[-1:] != ["type"]:
        inside = [each for branch in error.kind.context for each in branch]
        nearest = max(inside, key=lambda each: len(each.instance_path), default=error)
        if len(nearest.instance_path) <= len(error.instance_path):
            break
        error = nearest
    return error


def _complaint(error: Any) -> str:
    message: str = error.message.partition("\n")[0]
    if error.instance_path[-1:] == ["type"] and error.kind.name == "anyOf":
        return f"{_cropped(message.partition(' is not valid under')[0], 80)} is no type of JSON Schema"
    return _cropped(message, 120)


def _cropped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
