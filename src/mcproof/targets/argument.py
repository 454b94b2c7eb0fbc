"""What is TARGET? From the words on the command line to the inputs behind them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from mcproof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.catalog import Catalog


class Input(NamedTuple):
    """One thing to read: a file, or standard input."""

    name: str
    from_folder: bool = False
    """Whether a folder brought it in: then it is passed over where it holds no catalog."""

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
        for each in _inputs(target):
            found.setdefault(each.name, each)
    return list(found.values())


def is_single(targets: list[str]) -> bool:
    """Whether the user speaks of one input, as opposed to several or a folder of them."""
    return len(targets) == 1 and not os.path.isdir(targets[0])


def _inputs(target: str) -> Iterator[Input]:
    if target.startswith(("http://", "https://")):
        raise InputError(
            "live servers cannot be read yet; save the answer to `tools/list` and name that file", file=target
        )
    if target == "-" or not os.path.isdir(target):
        if target.endswith(".py"):
            raise InputError(
                "Python source cannot be read yet; save the answer to `tools/list` and name that file", file=target
            )
        yield Input(target)
        return
    names = sorted(entry.name for entry in os.scandir(target) if entry.name.endswith(".json") and entry.is_file())
    if not names:
        raise InputError("nothing to check: no `.json` snapshot in this folder", file=target)
    for name in names:
        yield Input(os.path.join(target, name), from_folder=True)


def read_bytes(source: Input) -> bytes:
    """Everything in an input. Raises an InputError that says why it cannot be read."""
    try:
        if source.is_stdin:
            return sys.stdin.buffer.read()
        with open(source.name, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot be read: {(error.strerror or str(error)).lower()}", file=source.name) from None


def read_catalog(source: Input) -> Catalog:
    """The catalog in an input."""
    from mcproof.targets.snapshot import read_snapshot

    return read_snapshot(read_bytes(source), source.title)
