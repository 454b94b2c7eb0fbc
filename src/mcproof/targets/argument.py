"""What is TARGET? From the words on the command line to the inputs behind them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from mcproof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.catalog import Catalog


class Input(NamedTuple):
    """One thing to read: a file, or standard input."""

    name: str
    from_folder: bool = False
    """Whether a folder brought it in: then it is passed over where it holds no catalog."""
    obstacle: InputError | None = None
    """Why it cannot be read, where that is known beforehand; the other inputs still are."""

    @property
    def is_stdin(self) -> bool:
        return self.name == "-"

    @property
    def title(self) -> str:
        """What to call it in messages."""
        return "<stdin>" if self.is_stdin else self.name


def find_inputs(targets: Iterable[str]) -> list[Input]:
    """The inputs that the targets stand for, folders opened, in order and without repetition."""
    found: dict[str, Input] = {}
    for target in targets:
        try:
            for each in _inputs(target):
                found.setdefault(each.name, each)
        except InputError as error:
            found.setdefault(target, Input(target, obstacle=error))
    return list(found.values())


def is_single(targets: list[str]) -> bool:
    """Whether the user speaks of one input, as opposed to several or a folder of them."""
    return len(targets) == 1 and not os.path.isdir(targets[0])


def _inputs(target: str) -> list[Input]:
    instead = "save the answer to `tools/list` and name that file"
    if target.startswith(("http://", "https://")):
        raise InputError(f"live servers cannot be read yet; {instead}", file=target)
    if target.endswith(".py"):
        raise InputError(f"Python source cannot be read yet; {instead}", file=target)
    if ".json#" in target and not os.path.exists(target):
        raise InputError(f"servers of a client configuration cannot be read yet; {instead}", file=target)
    if target == "-" or not os.path.isdir(target):
        return [Input(target)]
    try:
        with os.scandir(target) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".json") and entry.is_file())
    except OSError as error:
        raise _unreadable(target, error) from None
    if not names:
        raise InputError("nothing to check: no `.json` snapshot in this folder", file=target)
    return [Input(os.path.join(target, name), from_folder=True) for name in names]


def read_bytes(source: Input) -> bytes:
    """Everything in an input. Raises an InputError that says why it cannot be read."""
    if source.obstacle is not None:
        raise source.obstacle
    try:
        if source.is_stdin:
            if sys.stdin is None:
                raise InputError("cannot be read: standard input is closed", file=source.title)
            return sys.stdin.buffer.read()
        with open(source.name, "rb") as file:
            return file.read()
    except OSError as error:
        raise _unreadable(source.title, error) from None


def _unreadable(name: str, error: OSError) -> InputError:
    return InputError(f"cannot be read: {(error.strerror or str(error)).lower()}", file=name)


def read_single(target: str) -> Catalog:
    """The catalog of a target that must stand for exactly one."""
    if target != "-" and os.path.isdir(target):
        raise InputError("is a folder; name one snapshot", file=target)
    (source,) = find_inputs([target])
    return read_catalog(source)


def read_catalog(source: Input) -> Catalog:
    """The catalog in an input."""
    from mcproof.targets.snapshot import read_snapshot

    return read_snapshot(read_bytes(source), source.title)
