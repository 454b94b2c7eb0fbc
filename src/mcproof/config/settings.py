"""Find and read the configuration: `mcproof.toml`, or `[tool.mcproof]` in `pyproject.toml`, upwards from a target."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.errors import ConfigError, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.catalog.model import Item

OWN_FILE, SHARED_FILE = "mcproof.toml", "pyproject.toml"
TABLE = ("tool", "mcproof")
"""Where the settings stand in a `pyproject.toml`."""

MAX_BYTES = 1_000_000


class SettingLocation(NamedTuple):
    """Where something stands: the file as a user would name it, and the line."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class IgnoreFor(NamedTuple):
    """Rules that say nothing about some items of a catalog."""

    kind: str | None
    """What sort of item; None for everything, the server included."""
    glob: str
    rules: frozenset[str]
    """The ids of the rules."""
    named: tuple[str, ...]
    """The rules and rulesets as they are written."""
    reason: str | None
    location: SettingLocation

    def matches(self, rule_id: str, item: Item) -> bool:
        """Whether a finding of this rule about this item is to be left out."""
        return rule_id in self.rules and self.concerns(item)

    def concerns(self, item: Item) -> bool:
        """Whether it is about this item. A name in full always matches itself."""
        if self.kind is None:
            return True
        return item.kind == self.kind and (item.label == self.glob or _pattern(self.glob)(item.label) is not None)


@cache
def _pattern(glob: str) -> Callable[[str], object]:
    """What matches the names that a glob stands for, compiled once."""
    import re
    from fnmatch import translate

    return re.compile(translate(glob)).match


class Settings(NamedTuple):
    """What a configuration says. What it does not say is empty or None, and every command has its own default."""

    rulesets: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    min_grade: str | None = None
    max_tokens: int | None = None
    baseline: str | None = None
    """A path that can be opened from the working directory."""
    severity: dict[str, str] = {}  # noqa: RUF012 (nobody writes into settings)
    """The severity word of each rule that is given one, by its id."""
    ignores: tuple[IgnoreFor, ...] = ()
    targets: dict[str, str] = {}  # noqa: RUF012
    """The paths and addresses that have a name, usable from the working directory."""
    timeout: float | None = None
    """How long an answer of a live server may take, in seconds."""
    file: str | None = None
    """The configuration, as a user would name it; None where there is none."""
    locations: dict[str, SettingLocation] = {}  # noqa: RUF012
    """Where each top-level key stands; also `severity.ID` for each rule and `targets.NAME` for each target."""


DEFAULTS = Settings()


def directory_of(target: str) -> str:
    """Where the search for a target's configuration starts."""
    if target == "-" or target.startswith(("http://", "https://")):
        return os.curdir
    return target if os.path.isdir(target) else os.path.dirname(target) or os.curdir


def settings_for(directory: str) -> Settings:
    """The settings of the nearest configuration in a directory or above it, or DEFAULTS."""
    return SettingsFinder().settings_for(directory)


class SettingsFinder:
    """Finds the configurations of many targets, and reads each file once."""

    def __init__(self) -> None:
        self._known: dict[str, Settings | None] = {}

    def settings_for(self, directory: str) -> Settings:
        """The settings of the nearest configuration in a directory or above it, or DEFAULTS."""
        try:
            here = os.path.abspath(directory)
        except OSError:  # the working directory was deleted
            return DEFAULTS
        while (settings := self._settings_in(here)) is None:
            parent = os.path.dirname(here)
            if parent == here:
                return DEFAULTS
            here = parent
        return settings

    def _settings_in(self, directory: str) -> Settings | None:
        if directory not in self._known:
            self._known[directory] = _settings_in(directory)
        return self._known[directory]


def _settings_in(directory: str) -> Settings | None:
    """The settings in a directory itself; None if it has no configuration."""
    own, shared = os.path.join(directory, OWN_FILE), os.path.join(directory, SHARED_FILE)
    if os.path.lexists(own):
        if not os.path.isfile(own):
            raise ConfigError("cannot be read: it is not a file", file=_as_named(own))
        return _read(own)
    return _read(shared) if os.path.isfile(shared) else None


def read_settings(file: str) -> Settings:
    """The settings in a file that the user names. A `pyproject.toml` must have the table `[tool.mcproof]`."""
    try:
        path = os.path.abspath(file)
    except OSError:
        path = file
    settings = _read(path)
    if settings is None:
        raise ConfigError("no configuration in it: there is no table `[tool.mcproof]`", file=_as_named(path))
    return settings


def _as_named(path: str) -> str:
    """A path as a user would write it: from the working directory, if it lies below that."""
    try:
        below = os.getcwd().rstrip(os.sep) + os.sep
    except OSError:
        return path
    return path.removeprefix(below)


def _read(path: str) -> Settings | None:
    """The settings in a file; None where it is a `pyproject.toml` that has none."""
    file = _as_named(path)
    data = _bytes_of(path, file)
    is_shared = os.path.basename(path) == SHARED_FILE
    if is_shared and TABLE[-1].encode() not in data:
        return None
    from mcproof.config.setting_keys import ConfigFile, parse_settings
    from mcproof.text import tomltext

    text = tomltext.decode(data, file)
    table: Any = tomltext.parse(text, file)
    if is_shared:
        table = table.get(TABLE[0])
        if not isinstance(table, dict) or TABLE[1] not in table:
            return None
        table = table[TABLE[1]]
    return parse_settings(ConfigFile(file, TABLE if is_shared else (), tomltext.positions(text)), table)


def _bytes_of(path: str, file: str) -> bytes:
    try:
        with open(path, "rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {reason_of(error)}", file=file) from None
    except ValueError:  # a name that no file can have
        raise ConfigError("cannot be read: no such file", file=file) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"larger than {MAX_BYTES // 1_000_000} MB; no configuration is", file=file)
    return data
