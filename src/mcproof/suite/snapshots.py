"""Values that were right once: stored beside the suite, compared with what comes now, volatile parts masked."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.secrets import HIDDEN, hiding_whole
from mcproof.errors import InputError, UsageError, nearest, reason_of
from mcproof.suite.matchers import MOST_DIFFERENCES, Mismatch, differences, shown
from mcproof.suite.value_paths import EVERY, TargetError, parse_target

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from mcproof.suite.definition import Suite
    from mcproof.suite.value_paths import Step, Target

MASK = "<masked>"
MAX_BYTES = 64_000_000
_TIME = r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,12})?)?(?:Z|[-+][0-9]{2}:?[0-9]{2})?"
_MASKED_VALUES = {
    "timestamps": re.compile(rf"(?<![0-9])[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:{_TIME})?(?![0-9])"),
    "uuids": re.compile(r"(?i)(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])"),
}
KINDS = tuple(_MASKED_VALUES)
"""What can be masked wherever it stands."""


class Mask(NamedTuple):
    """What a snapshot does not compare."""

    kinds: tuple[str, ...] = ()
    paths: tuple[Target, ...] = ()

    def of(self, value: Any, steps: tuple[Step, ...]) -> Any:
        """A copy of the value at these steps with everything masked that is volatile."""
        copy = _rewritten(value, self._text)
        for path in self.paths:
            if path.steps[: len(steps)] == steps:
                copy = _masked(copy, path.steps[len(steps) :])
        return copy

    def _text(self, text: str) -> str:
        for kind in self.kinds:
            text = _MASKED_VALUES[kind].sub(f"<{kind[:-1]}>", text)
        return text


def mask_of(words: list[str]) -> Mask:
    """What a suite's `mask` lists. Raises TargetError for what is none."""
    kinds = tuple(word for word in words if word in KINDS)
    return Mask(kinds, tuple(_masked_path(word) for word in words if word not in KINDS))


def _masked_path(word: str) -> Target:
    try:
        path = parse_target(word, allows_every=True)
    except TargetError as error:
        raise TargetError(f"`{word[:60]}` {error}") from None
    if path.root not in ("result", "error"):
        what = f"`{word[:60]}` leads nowhere{nearest(word, list(KINDS))}"
        known = " or ".join(f"`{kind}`" for kind in KINDS)
        raise TargetError(f"{what}; a mask is a path from `result` or `error`, or {known}")
    return path


def _rewritten(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of a JSON value with every text changed, keys as well; depth costs no recursion."""
    root: list[Any] = [value]
    waiting: list[tuple[Any, Any]] = [(root, 0)]
    while waiting:
        holder, at = waiting.pop()
        found = holder[at]
        if isinstance(found, str):
            holder[at] = change(found)
        elif isinstance(found, list):
            holder[at] = list(found)
            waiting += [(holder[at], number) for number in range(len(found))]
        elif isinstance(found, dict):
            members: dict[str, Any] = {}
            holder[at] = members
            for key, member in found.items():
                members[_free(change(key), members)] = member
            waiting += [(members, key) for key in members]
    return root[0]


def _free(key: str, members: dict[str, Any]) -> str:
    """A key that is not taken: two that look alike now stay two."""
    while key in members:
        key += "*"
    return key


def hidden(value: Any, hide: Callable[[str], str]) -> Any:
    """A copy of a JSON value without secrets in its texts."""
    return _rewritten(value, hide)


def _masked(copy: Any, steps: tuple[Step, ...]) -> Any:
    """The value, of which nobody else knows yet, with what the steps lead to masked."""
    if not steps:
        return MASK
    places: list[Any] = [copy]
    for step in steps[:-1]:
        places = [found for place in places for found in _children(place, step)]
    last = steps[-1]
    for place in places:
        if isinstance(place, list) and last == EVERY:
            place[:] = [MASK] * len(place)
        elif isinstance(place, dict) and last == EVERY:
            place.update(dict.fromkeys(place, MASK))
        elif _children(place, last):
            place[last] = MASK
    return copy


def _children(place: Any, step: Step) -> list[Any]:
    if step == EVERY:
        return list(place) if isinstance(place, list) else list(place.values()) if isinstance(place, dict) else []
    if isinstance(place, dict):
        return [place[step]] if step in place else []
    if isinstance(place, list) and isinstance(step, int):
        return [place[step]] if step < len(place) else []
    return []


def _as_stored(stored: Any, value: Any) -> Any:
    """A copy of the value in which texts are the stored ones that differ only in what is hidden in either.

    A snapshot is made where a variable is set, and compared where it may not be, or is something else.
    """
    root: list[Any] = [value]
    waiting: list[tuple[Any, Any, Any]] = [(root, 0, stored)]
    while waiting:
        holder, at, kept = waiting.pop()
        found = holder[at]
        if isinstance(kept, str) and isinstance(found, str):
            if (HIDDEN in kept and _fits(kept, found)) or (HIDDEN in found and _fits(found, kept)):
                holder[at] = kept
        elif isinstance(kept, list) and isinstance(found, list):
            holder[at] = list(found)
            waiting += [(holder[at], number, kept[number]) for number in range(min(len(kept), len(found)))]
        elif isinstance(kept, dict) and isinstance(found, dict):
            holder[at] = dict(found)
            waiting += [(holder[at], key, kept[key]) for key in found if key in kept]
    return root[0]


def _fits(kept: str, found: str) -> bool:
    """Whether a text is the kept one with anything in place of what is hidden in that."""
    first, *between, last = kept.split(HIDDEN)
    if not found.startswith(first) or not found.endswith(last) or len(found) < len(first) + len(last):
        return False
    at, end = len(first), len(found) - len(last)
    for part in between:
        at = found.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def refuse_update(environment: Mapping[str, str], *, is_allowed: bool, prefix: str = "--") -> None:
    """Raise a UsageError where snapshots would be renewed by a machine that nobody watches."""
    if environment.get("CI", "").lower() not in ("", "0", "false") and not is_allowed:
        raise UsageError(
            f"{prefix}update-snapshots: this is a CI job, where whatever comes would be taken for right; "
            f"{prefix}allow-update-in-ci does it all the same"
        )


def snapshot_file(suite: str) -> str:
    """Where the snapshots of a suite are stored."""
    return f"{suite.removesuffix('.yaml').removesuffix('.yml')}.snapshots.json"


def snapshot_names(suite: Suite) -> set[str]:
    """The names of all snapshots that a suite compares with."""
    expects = [
        each
        for test in suite.tests
        for each in (test.expect, test.negative_path and test.negative_path.expect, test.fuzz and test.fuzz.expect)
        if each is not None
    ]
    hide = hiding_whole(suite.secrets)
    return {hide(each.snapshot) for expect in expects for each in expect.assertions if each.snapshot}


class SnapshotStore:
    """The snapshots of one suite, in one file beside it; a prefix says how the option that renews them begins."""

    def __init__(self, suite: str, *, updates: bool, prefix: str = "--") -> None:
        self.file = snapshot_file(suite)
        self._updates = updates
        self._option = f"{prefix}update-snapshots"
        self._stored: dict[str, Any] | None = None
        self.changed: dict[str, Any] = {}
        """Those that are new or different."""
        self._forgotten: list[str] = []

    @property
    def written(self) -> int:
        """How many are new or different."""
        return len(self.changed)

    def strays(self, names: Collection[str]) -> list[str]:
        """The stored ones that have none of these names; where snapshots are renewed, they will be gone."""
        found = [name for name in self._stored or {} if name not in names]
        if self._updates:
            self._forgotten = found
        return found

    def read(self) -> None:
        """Read the stored ones. Raises InputError where the file is damaged."""
        self._stored = self._read()

    def _read(self) -> dict[str, Any]:
        try:
            if os.path.getsize(self.file) > MAX_BYTES:
                raise InputError(f"larger than {MAX_BYTES:,} bytes", file=self.file)
            with open(self.file, "rb") as file:
                document = json.loads(file.read())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InputError(f"cannot be read: {reason_of(error)}", file=self.file) from None
        except (ValueError, RecursionError):
            raise InputError(
                f"these are no snapshots: not JSON; `{self._option}` after deleting it", file=self.file
            ) from None
        stored = document.get("snapshots") if isinstance(document, dict) else None
        if not isinstance(stored, dict):
            raise InputError("these are no snapshots: there is no `snapshots` in it", file=self.file)
        return stored

    def judge(self, name: str, value: Any) -> Mismatch | None:
        """Compare a masked value with the stored one, or store it."""
        if self._stored is None:
            self.read()
        stored = self._stored if self._stored is not None else {}
        if name in stored:
            value = _as_stored(stored[name], value)
            if next(differences(stored[name], value), None) is None:
                return None
        if self._updates:
            stored[name] = self.changed[name] = value
            return None
        if name not in stored:
            return Mismatch(f"no snapshot is stored yet; {self._option} stores it", "a snapshot", shown(value))
        told = "; ".join(list(differences(stored[name], value))[:MOST_DIFFERENCES])
        return Mismatch(
            f"is not as stored: {told}; {self._option} takes it as right", shown(stored[name]), shown(value)
        )

    def save(self) -> None:
        """Write the file, where something changed."""
        if not self.changed and not self._forgotten:
            return
        from mcproof.text.atomic import write_file

        if self._stored is None:
            self.read()
        snapshots = {**(self._stored or {}), **self.changed}
        for name in self._forgotten:
            snapshots.pop(name, None)
        document = {"schema_version": 1, "snapshots": dict(sorted(snapshots.items()))}
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        write_file(self.file, text.encode("utf-8", "backslashreplace"))
