"""The configuration: `mcproof.toml`, or `[tool.mcproof]` in `pyproject.toml`, found upwards from a target.

Values are read with their positions, so that an error names the line and the nearest valid word. The keys are in
`config_keys`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import ConfigError, SettingLocation, reason_of
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.checks.clients.profiles import Profile
    from mcproof.checks.ignores import IgnoreFor
    from mcproof.targets.client_config import ConfiguredServer


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


def dotted(path: Path) -> str:
    """A path as users write it: `ignore-for[0].rules`."""
    dotted = "".join(f"[{part}]" if isinstance(part, int) else f".{short(part)}" for part in path)
    return dotted.removeprefix(".")


def short(word: str) -> str:
    return word if len(word) <= 60 else f"{word[:60]}…"


OWN_FILE, SHARED_FILE = "mcproof.toml", "pyproject.toml"
TABLE = ("tool", "mcproof")
"""The table of the settings in a `pyproject.toml`."""

MAX_BYTES = 1_000_000


class StoreSettings(NamedTuple):
    """Where runs are recorded, and how long they are kept."""

    database: str | None = None
    """A path relative to the working directory, or a URL with `${VARIABLES}`."""
    days: int | None = None
    keep: int | None = None
    """How many runs of a server are kept."""


class Webhook(NamedTuple):
    """Where events are posted."""

    url: str
    """With `${VARIABLES}`."""
    secret: str
    """The environment variable that holds the secret of the signatures."""


class WatchEntry(NamedTuple):
    """A `[[watch]]` entry: a server that `mcproof serve` checks at intervals."""

    name: str
    """The name of the server in the store."""
    target: str | ConfiguredServer
    every: int
    """Seconds between two runs."""
    location: SettingLocation
    checks: tuple[str, ...] = ("lint",)
    """The commands to run: `lint`, `scan` or both."""
    min_grade: str | None = None
    max_tokens: int | None = None
    fail_on_verdict: str | None = None
    webhook: Webhook | None = None


class Settings(NamedTuple):
    """The settings of a configuration. Absent ones are empty or None, since every command has its own defaults."""

    rulesets: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    min_grade: str | None = None
    max_tokens: int | None = None
    baseline: str | None = None
    """A path relative to the working directory."""
    severity: dict[str, str] = {}  # noqa: RUF012 (settings are never mutated)
    """The configured severity of rules, by id."""
    ignores: tuple[IgnoreFor, ...] = ()
    targets: dict[str, str | ConfiguredServer] = {}  # noqa: RUF012
    """Named targets: paths, relative to the working directory, and live servers."""
    timeout: float | None = None
    """The timeout for responses of live servers, in seconds."""
    clients: tuple[str, ...] = ()
    """The clients that matter to the user, perhaps with versions."""
    client_profiles: dict[str, Profile] = {}  # noqa: RUF012
    """Client profiles that the configuration adds or changes."""
    thresholds: dict[str, int] = {}  # noqa: RUF012
    """The least trust scores of the verdicts `allow` and `review`, where the configuration sets them."""
    store: StoreSettings = StoreSettings()
    watches: tuple[WatchEntry, ...] = ()
    file: str | None = None
    """The configuration file, as a user would name it; None if there is none."""
    locations: dict[str, SettingLocation] = {}  # noqa: RUF012
    """The location of each top-level key, of `severity.ID` for each rule and of `targets.NAME` for each target."""

    @property
    def all_profiles(self) -> Mapping[str, Profile] | None:
        """The client profiles with those of the configuration; None if it has none."""
        if not self.client_profiles:
            return None
        from mcproof.checks.clients.profiles import known_profiles

        return {**known_profiles(), **self.client_profiles}


DEFAULTS = Settings()


def directory_of(target: str) -> str:
    """The directory where the search for a target's configuration starts."""
    if target == "-" or target.startswith(("http://", "https://")):
        return os.curdir
    return target if os.path.isdir(target) else os.path.dirname(target) or os.curdir


def settings_for(directory: str) -> Settings:
    """The settings of the nearest configuration in a directory or above it, or DEFAULTS."""
    return SettingsFinder().settings_for(directory)


class SettingsFinder:
    """Finds the configurations of many targets, and reads each file once; `top` is the highest folder searched."""

    def __init__(self, overrides: Mapping[str, bytes] | None = None, top: str | None = None) -> None:
        """Prepare to find configurations; `overrides` replaces the content of files, by their absolute paths."""
        self._overrides = overrides or {}
        self._top = None if top is None else os.path.realpath(top)
        # By folder, as thousands of files of a sweep share one.
        self._known: dict[str, Settings | None] = {}
        self._nearest: dict[str, Settings] = {}

    def settings_for(self, directory: str) -> Settings:
        """The settings of the nearest configuration in a directory or above it, or DEFAULTS."""
        if directory not in self._nearest:
            self._nearest[directory] = self._find(directory)
        return self._nearest[directory]

    def _find(self, directory: str) -> Settings:
        try:
            here = os.path.abspath(directory)
        except OSError:  # the working directory was deleted
            return DEFAULTS
        if self._top is not None:
            from mcproof.core.text.files import is_inside

            here = os.path.realpath(here)
            if here != self._top and not is_inside(here, self._top):
                return DEFAULTS
        while (settings := self._settings_in(here)) is None:
            parent = os.path.dirname(here)
            if here in (self._top, parent):
                return DEFAULTS
            here = parent
        return settings

    def _settings_in(self, directory: str) -> Settings | None:
        if directory not in self._known:
            self._known[directory] = _settings_in(directory, self._overrides)
        return self._known[directory]


def _settings_in(directory: str, overrides: Mapping[str, bytes]) -> Settings | None:
    """The settings in a directory itself; None if it has no configuration."""
    # `mcproof.toml` wins over a `pyproject.toml` beside it, as the more specific of the two.
    own, shared = os.path.join(directory, OWN_FILE), os.path.join(directory, SHARED_FILE)
    if own in overrides:
        return settings_of(overrides[own], own)
    if os.path.lexists(own):
        if not os.path.isfile(own):
            raise ConfigError("cannot be read: it is not a file", file=_as_named(own))
        return _read(own)
    if shared in overrides:
        return settings_of(overrides[shared], shared)
    return _read(shared) if os.path.isfile(shared) else None


def read_settings(file: str) -> Settings:
    """The settings in a file named by the user. A `pyproject.toml` must have the table `[tool.mcproof]`."""
    try:
        path = os.path.abspath(file)
    except OSError:  # the working directory was deleted
        path = file
    settings = settings_of(_bytes_of(path, _as_named(path)), path, is_named=True)
    if settings is None:
        raise ConfigError("no table `[tool.mcproof]`", file=_as_named(path))
    return settings


def _as_named(path: str) -> str:
    """A path as a user would write it: relative if it is below the working directory."""
    try:
        below = os.getcwd().rstrip(os.sep) + os.sep
    except OSError:  # the working directory was deleted
        return path
    return path.removeprefix(below)


def _read(path: str) -> Settings | None:
    """The settings in a file; None for a `pyproject.toml` without any."""
    from mcproof.core.text.files import open_in_checkout

    return settings_of(_bytes_of(path, _as_named(path), open_in_checkout), path)


_MAY_CONFIGURE = (
    rb"(?m)tool[\"' \t]*\.[\"' \t]*mcproof|^[ \t]*(?:\[[\"' \t]*tool[\"' \t]*\]|[\"']?tool[\"']?[ \t]*=)|\\[uU]"
)
"""What a file with the table `[tool.mcproof]` has, however it is written."""


def settings_of(data: bytes, path: str, *, is_named: bool = False) -> Settings | None:
    """The settings in the content of a file; None for a `pyproject.toml` without any.

    One that the user did not name may be any project's: if it has no such table, it is not even parsed.
    """
    file = _as_named(path)
    is_shared = os.path.basename(path) == SHARED_FILE
    # Every run looks at the project's file, and to load a parser of TOML takes longer than all rules of a snapshot.
    if is_shared and not is_named and re.search(_MAY_CONFIGURE, data) is None:
        return None
    from mcproof.runs import toml_document
    from mcproof.runs.config_keys import parse_settings

    text = toml_document.decode(data, file)
    table: Any = toml_document.parse(text, file)
    if is_shared:
        table = table.get(TABLE[0])
        if not isinstance(table, dict) or TABLE[1] not in table:
            return None
        table = table[TABLE[1]]
    return parse_settings(ConfigFile(file, TABLE if is_shared else (), toml_document.positions(text)), table)


def _bytes_of(path: str, file: str, opener: Callable[[str, int], int] | None = None) -> bytes:
    try:
        with open(path, "rb", opener=opener) as opened:
            # One byte more than allowed tells a file that is too large, whatever its size claims to be.
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {reason_of(error)}", file=file) from None
    except ValueError:  # a name that no file can have
        raise ConfigError("cannot be read: no such file", file=file) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"larger than {MAX_BYTES // 1_000_000} MB", file=file)
    return data
