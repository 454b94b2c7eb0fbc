"""Read values of a configuration: their types, and errors with positions and the nearest valid word."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.checks.ignores import SettingLocation
from mcproof.core.errors import ConfigError, nearest
from mcproof.core.text.json_document import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GRADES = ("A", "B", "C", "D", "F")
MAX_NUMBER = 2**63 - 1
"""The largest integer that every TOML parser must support."""
Path = tuple[str | int, ...]
"""The keys and indices from the top of the settings to a value."""


class ConfigFile(NamedTuple):
    """The file that is being read, with the positions of its keys."""

    file: str
    above: Path
    """The path of the table that contains the settings."""
    positions: dict[Path, tuple[int, int]]

    @property
    def directory(self) -> str:
        return os.path.dirname(self.file)

    def position(self, path: Path) -> tuple[int, int]:
        """The position of a value, or of the nearest value around it that has one."""
        full = (*self.above, *path)
        while full and full not in self.positions:
            full = full[:-1]
        return self.positions.get(full, (1, 1))

    def location(self, *path: str | int) -> SettingLocation:
        return SettingLocation(self.file, self.position(path)[0])

    def error(self, message: str, path: Path) -> ConfigError:
        line, column = self.position(path)
        return ConfigError(message, file=self.file, line=line, column=column)

    def mistyped(self, path: Path, value: Any, expected: str) -> ConfigError:
        return self.error(f"`{dotted(path)}` is {kind_in(value)}; it must be {expected}", path)

    def unknown(self, what: str, word: str, known: Iterable[str], path: Path) -> ConfigError:
        listed = list(known)
        word = short(word)
        return self.error(f"unknown {what} `{word}`{nearest(word, listed)}; there are {', '.join(listed)}", path)


def dotted(path: Path) -> str:
    """A path as users write it: `ignore-for[0].rules`."""
    dotted = "".join(f"[{part}]" if isinstance(part, int) else f".{short(part)}" for part in path)
    return dotted.removeprefix(".")


def short(word: str) -> str:
    return word if len(word) <= 60 else f"{word[:60]}…"


def kind_in(value: Any) -> str:
    return kind_of(value, mapping="a table", other="a date or time")


def words_in(source: ConfigFile, path: Path, value: Any, expected: str) -> list[str]:
    """A list of strings that are not blank."""
    if not isinstance(value, list):
        raise source.mistyped(path, value, expected)
    for index, word in enumerate(value):
        text_in(source, (*path, index), word, "a string")
    return value


def text_in(source: ConfigFile, path: Path, value: Any, expected: str) -> str:
    if not isinstance(value, str):
        raise source.mistyped(path, value, expected)
    if not value.strip():
        raise source.error(f"`{dotted(path)}` is blank; it must be {expected}", path)
    return value


def not_empty(source: ConfigFile, path: Path, words: list[str]) -> tuple[str, ...]:
    if not words:
        raise source.error(f"`{dotted(path)}` is empty; name at least one, or leave it out", path)
    return tuple(words)


def choice_of(*known: str, fold: Callable[[str], str] = str) -> Callable[[ConfigFile, str, Any], str]:
    """A function that reads a value with a few known words."""

    def read(source: ConfigFile, key: str, value: Any) -> str:
        return one_of(source, (key,), value, known, fold)

    return read


def one_of(source: ConfigFile, path: Path, value: Any, known: tuple[str, ...], fold: Callable[[str], str] = str) -> str:
    listed = ", ".join(known)
    if not isinstance(value, str):
        raise source.mistyped(path, value, f"one of {listed}")
    if fold(value) not in known:
        word = short(value)
        hint = nearest(word, list(known))
        raise source.error(f"`{dotted(path)}` cannot be `{word}`{hint}; it must be one of {listed}", path)
    return fold(value)


def count_in(source: ConfigFile, at: str | Path, value: Any, most: int = MAX_NUMBER) -> int:
    """A whole number from 1."""
    path = (at,) if isinstance(at, str) else at
    if type(value) is not int:
        raise source.mistyped(path, value, "a whole number")
    if not 0 < value <= most:
        raise source.error(f"`{dotted(path)}` must be {'1 or more' if value < 1 else f'at most {most}'}", path)
    return value


def path_in(source: ConfigFile, path: Path, value: Any, expected: str) -> str:
    """A path in the configuration, made relative to the working directory."""
    text = text_in(source, path, value, expected)
    if "\0" in text:
        raise source.error(f"`{dotted(path)}` is not a path: it contains a null character", path)
    # A file named `-` is not standard input.
    return os.path.join(source.directory or (os.curdir if text.startswith("-") else ""), text)


def is_web_url(text: str) -> bool:
    return text.partition("://")[0].lower() in ("http", "https") and "://" in text


def table_in(source: ConfigFile, at: str | Path, value: Any) -> dict[str, Any]:
    path = (at,) if isinstance(at, str) else at
    if not isinstance(value, dict):
        raise source.mistyped(path, value, f"a table: `[{'.'.join(map(str, (*source.above, *path)))}]`")
    return value


def table_of(source: ConfigFile, at: Path, value: Any, known: Iterable[str]) -> dict[str, Any]:
    """A table with no other keys than these."""
    table, keys = table_in(source, at, value), list(known)
    for key in table:
        if key not in keys:
            if not keys:
                raise source.error(f"`{dotted(at)}` must be empty; `{short(key)}` has no meaning there", (*at, key))
            raise source.unknown("key", key, keys, (*at, key))
    return table
