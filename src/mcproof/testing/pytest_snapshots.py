"""Snapshots in pytest tests, stored in one file beside the test module."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import InputError
from mcproof.suite.snapshots import map_texts, mask_of
from mcproof.suite.value_paths import ValuePathError
from mcproof.testing.call_results import CallResult, PromptResult, ReadResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.suite.matchers import Mismatch
    from mcproof.suite.snapshots import SnapshotStore


class McpSnapshot:
    """The snapshots of one test."""

    def __init__(self, test: str, store: SnapshotStore, hide: Callable[[str], str]) -> None:
        self._test = test
        self._store = store
        self._hide = hide
        self._unnamed = 0

    def __call__(self, value: Any, name: str = "", *, mask: Iterable[str] = ()) -> None:
        """Assert that a result, or any JSON value, equals its stored snapshot.

        `mask` lists parts to ignore: paths from `result` (the value), with `[*]` for every item; `timestamps` and
        `uuids` mask these anywhere. Several snapshots in a test can be told apart by name.
        """
        __tracebackhide__ = True
        key = self._key(name)
        try:
            mismatch = self._mismatch(key, value, mask)
        except (InputError, ValuePathError, TypeError) as error:
            raise AssertionError(f"snapshot `{key}`: {error}") from None
        if mismatch is not None:
            raise AssertionError(f"snapshot `{key}`: {_described(mismatch)}")

    def _key(self, name: str) -> str:
        if name:
            return f"{self._test}: {name}"
        self._unnamed += 1
        return self._test if self._unnamed == 1 else f"{self._test} {self._unnamed}"

    def _mismatch(self, key: str, value: Any, mask: Iterable[str]) -> Mismatch | None:
        if isinstance(value, CallResult | PromptResult | ReadResult):
            value = map_texts(value.raw, value.hide)
        masked = mask_of(list(mask)).apply(map_texts(_json(value), self._hide), ("result",))
        return self._store.compare(key, masked)


def _json(value: Any) -> Any:
    """Return a value as parsed JSON: tuples become lists. Raises TypeError."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (ValueError, RecursionError) as error:
        raise TypeError(f"not a JSON value: {error}") from None


def _described(mismatch: Mismatch) -> str:
    from mcproof.core.console import Style

    style = Style()
    return "\n".join(
        (
            style.text(mismatch.message, 1000),
            f"  expected {style.text(mismatch.expected, 400)}",
            f"  got      {style.text(mismatch.got, 400)}",
        )
    )


for _public_snapshot in (McpSnapshot,):
    _public_snapshot.__module__ = "mcproof.testing"  # the module that users import from, in tracebacks and reprs
