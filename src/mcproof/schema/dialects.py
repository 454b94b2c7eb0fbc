"""Validate schemas against the meta-schema of their JSON Schema dialect.

Nothing is fetched; schemas in unknown dialects are not judged.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from mcproof.schema.tree import STRICT_LEVELS, nesting
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of a schema without `$schema`, as the protocol defines it."""
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
_SHORT_NAMES = {address.split("/")[-2]: address for address in _KNOWN.values()}
_MOST_ERRORS = 20


def objections(schema: dict[str, Any], levels: int | None = None) -> list[tuple[str, str]]:
    """The errors of a schema as JSON Schema, each with its pointer and message; empty if valid or not judged.

    A schema that is nested so deep that the validator could exhaust the stack, and end the process, is not judged.
    `levels` is its nesting depth, if it is known.
    """
    named = schema.get("$schema", DEFAULT)
    address = _KNOWN.get(named.partition("://")[2].removesuffix("#")) if isinstance(named, str) else DEFAULT
    if address is None or (nesting(schema) if levels is None else levels) > STRICT_LEVELS:
        return []
    try:
        validator = _meta_validator(address)
        if validator.is_valid(schema):
            return []
        return list(_worded(validator.iter_errors(schema), schema))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # the library cannot read it, or panics
        return []


def is_valid_in(dialect: str, schema: dict[str, Any]) -> bool:
    """Whether a schema is valid in a dialect given by its short name, such as `draft-07`, whatever it declares.

    A schema that cannot be judged counts as valid.
    """
    if nesting(schema) > STRICT_LEVELS:
        return True
    try:
        return bool(_meta_validator(_SHORT_NAMES[dialect]).is_valid(schema))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # the library cannot read it, or panics
        return True


@cache
def _meta_validator(address: str) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for({"$schema": address, "$ref": address}, validate_formats=False, offline=True)


def _worded(errors: Iterator[Any], schema: Any) -> Iterator[tuple[str, str]]:
    for _, each in zip(range(_MOST_ERRORS), errors, strict=False):
        error = _innermost(each)
        if error.instance is None and _value_at(error.instance_path, schema) is not None:
            continue  # a number beyond the library's range
        pointer = "".join(f"/{escape(str(token))}" for token in error.instance_path)
        yield pointer, _complaint(error)


def _value_at(path: list[str | int], value: Any) -> Any:
    for token in path:
        value = value[token]
    return value


def _innermost(error: Any) -> Any:
    """The error inside a value that matches none of several shapes: that of the best-matching shape."""
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
        return f"{_cropped(message.partition(' is not valid under')[0], 80)} is not a JSON Schema type"
    return _cropped(message, 120)


def _cropped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
