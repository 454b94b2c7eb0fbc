"""Servers that check their arguments only in part, and the contract matrix that each must give.

They have the tools of `library.py`. A cell is written as its verdict, the promises kept of those tried, and the
arguments that the verdict rests on; `~` precedes the number of values that are converted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from servers.contract_faults import Broken
from servers.library import SCHEMAS, text_result, violations

if TYPE_CHECKING:
    from servers.library import Violation

COLUMNS = ("missing", "type", "extra", "size", "values")
Matrix = dict[str, tuple[str, str, str, str, str]]
CHECKERS: dict[str, type[Checker]] = {}
NOTHING = "not applicable"


class Checker(Broken):
    """A server with a name; by default it checks everything."""

    matrix: ClassVar[Matrix]

    def __init_subclass__(cls, checks: str, matrix: Matrix) -> None:
        super().__init_subclass__()
        cls.matrix = matrix
        CHECKERS[checks] = cls


class ChecksEverything(
    Checker,
    checks="checks-everything",
    matrix={
        "find_book": (
            "proven 1/1 query",
            "proven 2/2 query limit",
            "proven 1/1 (root)",
            "proven 1/1 query",
            "proven 3/3 query limit",
        ),
        "count_books": (NOTHING, NOTHING, "proven 1/1 (root)", NOTHING, NOTHING),
        "list_shelves": (
            "proven 2/2 genre near.floor",
            "proven 6/6 genre tags near tags[] near.floor near.wing",
            "proven 2/2 (root) near",
            "proven 3/3 tags tags[] near.wing",
            "proven 3/3 genre near.floor",
        ),
    },
):
    """Refuses every call that breaks a promise."""


class ChecksFirst(
    Checker,
    checks="checks-first",
    matrix={
        "find_book": (
            "proven 1/1 query",
            "broken promise 1/2 ~5 limit",
            "broken promise 0/1 (root)",
            "proven 1/1 query",
            "broken promise 1/3 limit",
        ),
        "count_books": (NOTHING, NOTHING, "broken promise 0/1 (root)", NOTHING, NOTHING),
        "list_shelves": (
            "broken promise 1/2 near.floor",
            "broken promise 1/6 ~19 tags near tags[] near.floor near.wing",
            "broken promise 0/2 (root) near",
            "broken promise 0/3 tags tags[] near.wing",
            "broken promise 1/3 near.floor",
        ),
    },
):
    """Checks only its first argument."""

    def found(self, name: str, arguments: dict[str, Any]) -> list[Violation]:
        first = next(iter(SCHEMAS[name]["properties"]), None)
        return [each for each in super().found(name, arguments) if each.pointer.split("/")[1] == first]


class ChecksTopLevel(
    Checker,
    checks="checks-top-level",
    matrix={
        "find_book": ChecksEverything.matrix["find_book"],
        "count_books": ChecksEverything.matrix["count_books"],
        "list_shelves": (
            "broken promise 1/2 near.floor",
            "broken promise 3/6 ~13 tags[] near.floor near.wing",
            "broken promise 1/2 near",
            "broken promise 1/3 tags[] near.wing",
            "broken promise 1/3 near.floor",
        ),
    },
):
    """Checks its arguments, but nothing inside them."""

    def found(self, name: str, arguments: dict[str, Any]) -> list[Violation]:
        return [each for each in super().found(name, arguments) if each.pointer.count("/") == 1]


class ChecksTypes(
    Checker,
    checks="checks-types",
    matrix={
        "find_book": (
            "proven 1/1 query",
            "proven 2/2 query limit",
            "proven 1/1 (root)",
            "broken promise 0/1 query",
            "broken promise 0/3 query limit",
        ),
        "count_books": ChecksEverything.matrix["count_books"],
        "list_shelves": (
            *ChecksEverything.matrix["list_shelves"][:3],
            "broken promise 0/3 tags tags[] near.wing",
            "broken promise 0/3 ~2 genre near.floor",
        ),
    },
):
    """Checks names and types, but no bounds and no lists of values."""

    def found(self, name: str, arguments: dict[str, Any]) -> list[Violation]:
        kept = ("required", "type", "additionalProperties")
        return [each for each in super().found(name, arguments) if each.keyword in kept]


class Coerces(
    Checker,
    checks="coerces",
    matrix={
        "find_book": (
            "proven 1/1 query",
            "proven 2/2 ~8 query limit",
            *ChecksEverything.matrix["find_book"][2:],
        ),
        "count_books": ChecksEverything.matrix["count_books"],
        "list_shelves": (
            "proven 2/2 genre near.floor",
            "proven 6/6 ~17 genre tags near tags[] near.floor near.wing",
            "proven 2/2 (root) near",
            "proven 3/3 tags tags[] near.wing",
            "proven 3/3 ~2 genre near.floor",
        ),
    },
):
    """Converts what it can to the declared type, and checks the result."""

    def found(self, name: str, arguments: dict[str, Any]) -> list[Violation]:
        return list(violations(SCHEMAS[name], coerced(SCHEMAS[name], arguments)))


class AlwaysFails(
    Checker,
    checks="always-fails",
    matrix={
        "find_book": (
            "not shown 0/1 query",
            "not shown 0/2 query limit",
            "not shown 0/1 (root)",
            "not shown 0/1 query",
            "not shown 0/3 query limit",
        ),
        "count_books": (NOTHING, NOTHING, "not shown 0/1 (root)", NOTHING, NOTHING),
        "list_shelves": (
            "not shown 0/2 genre near.floor",
            "not shown 0/6 genre tags near tags[] near.floor near.wing",
            "not shown 0/2 (root) near",
            "not shown 0/3 tags tags[] near.wing",
            "not shown 0/3 genre near.floor",
        ),
    },
):
    """Answers every call with the same error, whatever its arguments are."""

    def called(self, params: dict[str, Any]) -> Any:
        if params.get("name") not in SCHEMAS:
            return super().called(params)
        return text_result(f"No catalogue at 2026-01-01T00:00:{id(params) % 60:02}Z", isError=True)


def coerced(schema: dict[str, Any], value: Any) -> Any:
    """A value as a lenient server reads it."""
    kind = schema["type"]
    if kind == "object" and isinstance(value, dict):
        properties = schema["properties"]
        members = {key: coerced(properties[key], each) if key in properties else each for key, each in value.items()}
        return {key: each for key, each in members.items() if each is not None}
    if kind == "array" and not isinstance(value, dict | None):
        return [coerced(schema["items"], each) for each in (value if isinstance(value, list) else [value])]
    if kind == "integer" and isinstance(value, bool | float):
        return max(1, int(value))
    if kind == "integer" and isinstance(value, str) and value.isdigit():
        return int(value)
    if kind == "string" and isinstance(value, int | float | str):
        text = str(value).strip().lower() if "enum" in schema else str(value)
        return text[:1] if schema.get("maxLength") == 1 and not isinstance(value, str) else text
    return value
