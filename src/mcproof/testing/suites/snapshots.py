"""Snapshots: store values beside the suite and compare them, with volatile parts masked.

Values of the environment are masked, too.
Why values of the environment do not leave a suite: docs/decisions/0012-no-environment-values.md.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.client.redaction import HIDDEN, hiding_whole
from mcproof.core.catalog.model import SERVER_INFO_META
from mcproof.core.errors import InputError, UsageError, nearest, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.testing.suites.matchers import MOST_DIFFERENCES, Mismatch, differences, shown
from mcproof.testing.suites.paths import EVERY, PathStep, ValuePath, ValuePathError, parse_value_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from mcproof.testing.suites.model import Suite

MASK = "<masked>"
MAX_BYTES = 64_000_000
_TIME = r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,12})?)?(?:Z|[-+][0-9]{2}:?[0-9]{2})?"
_MASKED_VALUES = {
    "timestamps": re.compile(rf"(?<![0-9])[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:{_TIME})?(?![0-9])"),
    "uuids": re.compile(r"(?i)(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])"),
}
KINDS = tuple(_MASKED_VALUES)
"""Kinds of values that can be masked anywhere."""


class Mask(NamedTuple):
    """The parts of a value that a snapshot ignores."""

    kinds: tuple[str, ...] = ()
    paths: tuple[ValuePath, ...] = ()

    def apply(self, value: Any, steps: tuple[PathStep, ...]) -> Any:
        """Return a masked copy of the value found at `steps`. The version of the server is always masked."""
        copy = mask_version(map_texts(value, self._mask_text))
        for path in self.paths:
            if path.steps[: len(steps)] == steps:
                copy = _mask_path(copy, path.steps[len(steps) :])
        return copy

    def _mask_text(self, text: str) -> str:
        for kind in self.kinds:
            text = _MASKED_VALUES[kind].sub(f"<{kind[:-1]}>", text)
        return text


def mask_version(value: Any) -> Any:
    """Mask the version of the server in metadata in place, and return the value: it changes with every release."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            info = part.get(SERVER_INFO_META)
            if isinstance(info, dict) and "version" in info:
                info["version"] = MASK
            waiting += part.values()
    return value


def mask_of(words: list[str]) -> Mask:
    """Parse a `mask` list. Raises ValuePathError."""
    kinds = tuple(word for word in words if word in KINDS)
    return Mask(kinds, tuple(_parse_mask_path(word) for word in words if word not in KINDS))


def _parse_mask_path(word: str) -> ValuePath:
    try:
        path = parse_value_path(word, allows_every=True)
    except ValuePathError as error:
        raise ValuePathError(f"`{word[:60]}` {error}") from None
    if path.root not in ("result", "error"):
        hint = nearest(word, list(KINDS))
        choices = " or ".join(f"`{kind}`" for kind in KINDS)
        raise ValuePathError(
            f"unknown mask `{word[:60]}`{hint}; expected a path from `result` or `error`, or {choices}"
        )
    return path


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of a JSON value with every string and key changed. Not recursive."""
    root: list[Any] = [value]
    waiting: list[tuple[Any, Any]] = [(root, 0)]
    while waiting:
        holder, at = waiting.pop()
        current = holder[at]
        if isinstance(current, str):
            holder[at] = change(current)
        elif isinstance(current, list):
            holder[at] = list(current)
            waiting += [(holder[at], number) for number in range(len(current))]
        elif isinstance(current, dict):
            members: dict[str, Any] = {}
            holder[at] = members
            for key, member in current.items():
                changed = change(key)
                while changed in members:  # keys that became equal stay separate
                    changed += "*"
                members[changed] = member
            waiting += [(members, key) for key in members]
    return root[0]


def _mask_path(value: Any, steps: tuple[PathStep, ...]) -> Any:
    """Mask the values at `steps` in place and return the value."""
    if not steps:
        return MASK
    holders: list[Any] = [value]
    for step in steps[:-1]:
        holders = [child for holder in holders for child in _children(holder, step)]
    last = steps[-1]
    for holder in holders:
        if isinstance(holder, list) and last == EVERY:
            holder[:] = [MASK] * len(holder)
        elif isinstance(holder, dict) and last == EVERY:
            holder.update(dict.fromkeys(holder, MASK))
        elif _children(holder, last):
            holder[last] = MASK
    return value


def _children(holder: Any, step: PathStep) -> list[Any]:
    if step == EVERY:
        return list(holder) if isinstance(holder, list) else list(holder.values()) if isinstance(holder, dict) else []
    if isinstance(holder, dict):
        return [holder[step]] if step in holder else []
    if isinstance(holder, list) and isinstance(step, int):
        return [holder[step]] if step < len(holder) else []
    return []


def _with_stored_secrets(stored: Any, value: Any) -> Any:
    """Return a copy of the value in which strings that differ from the stored ones only in hidden parts are equal.

    A snapshot may be written with an environment variable set and compared without it, or with another value.
    """
    root: list[Any] = [value]
    waiting: list[tuple[Any, Any, Any]] = [(root, 0, stored)]
    while waiting:
        holder, at, expected = waiting.pop()
        current = holder[at]
        if isinstance(expected, str) and isinstance(current, str):
            if (HIDDEN in expected and _equals_redacted(expected, current)) or (
                HIDDEN in current and _equals_redacted(current, expected)
            ):
                holder[at] = expected
        elif isinstance(expected, list) and isinstance(current, list):
            holder[at] = list(current)
            waiting += [(holder[at], number, expected[number]) for number in range(min(len(expected), len(current)))]
        elif isinstance(expected, dict) and isinstance(current, dict):
            holder[at] = dict(current)
            waiting += [(holder[at], key, expected[key]) for key in current if key in expected]
    return root[0]


def _equals_redacted(redacted: str, text: str) -> bool:
    """Whether a text equals a redacted one; hidden parts match anything."""
    first, *between, last = redacted.split(HIDDEN)
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in between:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def refuse_update(environment: Mapping[str, str], *, is_allowed: bool, prefix: str = "--") -> None:
    """Raise a UsageError if snapshots would be updated in a CI job."""
    if environment.get("CI", "").lower() not in ("", "0", "false") and not is_allowed:
        raise UsageError(
            f"{prefix}update-snapshots is disabled in CI jobs, where it would accept any result; "
            f"use {prefix}allow-update-in-ci to update anyway"
        )


def snapshot_file(suite: str) -> str:
    """Return the file that stores the snapshots of a suite."""
    return f"{suite.removesuffix('.yaml').removesuffix('.yml')}.snapshots.json"


def snapshot_names(suite: Suite) -> set[str]:
    """Return the names of all snapshots that a suite uses."""
    expects = [
        expect
        for test in suite.tests
        for expect in (test.expect, test.negative_path and test.negative_path.expect, test.fuzz and test.fuzz.expect)
        if expect is not None
    ]
    hide = hiding_whole(suite.secrets)
    return {hide(assertion.snapshot) for expect in expects for assertion in expect.assertions if assertion.snapshot}


class SnapshotStore:
    """The snapshots of one suite, in one file beside it. `prefix` starts the update option named in messages."""

    def __init__(self, suite: str, *, updates: bool, prefix: str = "--") -> None:
        self.file = snapshot_file(suite)
        self._updates = updates
        self._option = f"{prefix}update-snapshots"
        self._stored: dict[str, Any] | None = None
        self.changed: dict[str, Any] = {}
        """New or changed snapshots."""
        self._removed: list[str] = []

    @property
    def written(self) -> int:
        """The number of new or changed snapshots."""
        return len(self.changed)

    def orphans(self, names: Collection[str]) -> list[str]:
        """Return the stored snapshots not in `names`; an update removes them."""
        orphaned = [name for name in self._stored or {} if name not in names]
        if self._updates:
            self._removed = orphaned
        return orphaned

    def read(self) -> None:
        """Read the stored snapshots. Raises InputError if the file is damaged."""
        self._stored = self._read()

    def _read(self) -> dict[str, Any]:
        try:
            if os.path.getsize(self.file) > MAX_BYTES:
                raise InputError(f"larger than {MAX_BYTES:,} bytes", file=self.file)
            with open(self.file, "rb") as file:
                document = json.loads(file.read())
        except FileNotFoundError:  # the first run writes it
            return {}
        except OSError as error:
            raise InputError(f"cannot be read: {reason_of(error)}", file=self.file) from None
        except (ValueError, RecursionError):
            raise InputError(
                f"not a snapshot file: not JSON; delete it and use {self._option}", file=self.file
            ) from None
        stored = document.get("snapshots") if isinstance(document, dict) else None
        if not isinstance(stored, dict):
            raise InputError("not a snapshot file: no `snapshots` object", file=self.file)
        mask_version(stored)  # files of older versions still contain it
        return stored

    def compare(self, name: str, value: Any) -> Mismatch | None:
        """Compare a masked value with the stored one; in an update, store it instead."""
        if self._stored is None:
            self.read()
        stored = self._stored if self._stored is not None else {}
        if name in stored:
            value = _with_stored_secrets(stored[name], value)
            if next(differences(stored[name], value), None) is None:
                return None
        if self._updates:
            stored[name] = self.changed[name] = value
            return None
        if name not in stored:
            return Mismatch(f"no stored snapshot; use {self._option} to store it", "a snapshot", shown(value))
        listed = "; ".join(list(differences(stored[name], value))[:MOST_DIFFERENCES])
        return Mismatch(
            f"differs from the snapshot: {listed}; use {self._option} to accept it", shown(stored[name]), shown(value)
        )

    def save(self) -> None:
        """Write the file if anything changed."""
        if not self.changed and not self._removed:
            return
        from mcproof.core.text.files import write_file

        if os.path.islink(self.file):  # in an untrusted checkout it may lead to any file of the user
            raise InputError("is a symbolic link; nothing was written", file=self.file)
        if self._stored is None:
            self.read()
        snapshots = {**(self._stored or {}), **self.changed}
        for name in self._removed:
            snapshots.pop(name, None)
        document = {"schema_version": 1, "snapshots": dict(sorted(snapshots.items()))}
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        write_file(self.file, text.encode("utf-8", "backslashreplace"))
