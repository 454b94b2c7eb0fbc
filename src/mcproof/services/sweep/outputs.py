"""The results of a sweep as a Parquet table, one row per target."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import UsageError, WriteError, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_ROW_GROUP = 10_000


def _of(*path: str) -> Callable[[dict[str, Any]], Any]:
    """Return a function that reads a member of a row; None if something around it is not there."""

    def read(row: dict[str, Any]) -> Any:
        value: Any = row
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return read


def _rules(row: dict[str, Any]) -> list[tuple[str, int]]:
    return list(row.get("summary", {}).get("by_rule", {}).items())


COLUMNS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "id": ("string", _of("id")),
    "target": ("string", _of("target")),
    "name": ("string", _of("name")),
    "outcome": ("string", _of("outcome")),
    "reason": ("string", _of("reason")),
    "message": ("string", _of("message")),
    "server_name": ("string", _of("server", "name")),
    "server_version": ("string", _of("server", "version")),
    "protocol": ("string", _of("protocol")),
    "transport": ("string", _of("transport")),
    "tools": ("int64", _of("counts", "tools")),
    "resources": ("int64", _of("counts", "resources")),
    "prompts": ("int64", _of("counts", "prompts")),
    "grade": ("string", _of("grade", "letter")),
    "score": ("int64", _of("grade", "score")),
    "tokens": ("int64", _of("tokens")),
    "descriptions": ("double", _of("descriptions")),
    "errors": ("int64", _of("summary", "errors")),
    "warnings": ("int64", _of("summary", "warnings")),
    "notes": ("int64", _of("summary", "notes")),
    "rules": ("map", _rules),
    "trust_score": ("int64", _of("trust", "score")),
    "verdict": ("string", _of("trust", "verdict")),
    "proof_passed": ("bool", _of("proof", "passed")),
    "attempts": ("int64", _of("attempts")),
    "started": ("string", _of("timings", "started")),
    "seconds": ("double", _of("timings", "seconds")),
}
"""The columns, each with its type and where its value is in a row."""


def require_pyarrow() -> Any:
    """Return pyarrow. Raises a UsageError if it is not installed."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow: `pip install 'mcproof[parquet]'`") from None
    return arrow


def write_parquet(rows: Iterable[dict[str, Any]], file: str) -> None:
    """Write a table, a part at a time; the file is replaced when it is complete."""
    arrow = require_pyarrow()
    types = {
        "string": arrow.string(),
        "int64": arrow.int64(),
        "double": arrow.float64(),
        "bool": arrow.bool_(),
        "map": arrow.map_(arrow.string(), arrow.int64()),
    }
    schema = arrow.schema([(name, types[kind]) for name, (kind, _) in COLUMNS.items()])
    partial = f"{file}.part"
    try:
        with arrow.parquet.ParquetWriter(partial, schema) as writer:
            for group in _groups(iter(rows)):
                columns = {name: [read(row) for row in group] for name, (_, read) in COLUMNS.items()}
                writer.write_table(arrow.table(columns, schema=schema))
        os.replace(partial, file)
    except OSError as error:
        raise WriteError(f"cannot be written: {reason_of(error)}", file=file) from None


def _groups(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while group := list(islice(rows, _ROW_GROUP)):
        yield group
