"""The configuration: `mcproof.toml`, or `[tool.mcproof]` in `pyproject.toml`, found upwards from a target.

Reading it is strict: a key, rule or word that mcproof does not know is refused with its place and the nearest one
that it does. A setting that is silently not in force would be worse than none.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.errors import ConfigError, UsageError, nearest
from mcproof.linting.finding import LEVELS
from mcproof.linting.registry import RULESETS, find_rule, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.catalog.model import Item

OWN_FILE, SHARED_FILE = "mcproof.toml", "pyproject.toml"
TABLE = ("tool", "mcproof")
"""Where the settings stand in a `pyproject.toml`."""

FAIL_ON = (*LEVELS, "never")
GRADES = ("A", "B", "C", "D", "F")
SEVERITIES = (*LEVELS, "critical", "high", "medium", "warn", "low", "info")
KINDS = ("tool", "prompt", "resource", "template")
"""What an `ignore-for` can be about."""

MAX_BYTES = 1_000_000
MAX_NUMBER = 2**63 - 1
"""The largest number that every reader of TOML must know."""
MAX_GLOB = 500
"""The length of a glob, in characters; longer ones take long to match and no name is that long."""


class Place(NamedTuple):
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
    place: Place

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
    places: dict[str, Place] = {}  # noqa: RUF012
    """Where each top-level key stands; also `severity.ID` for each rule and `targets.NAME` for each target."""


DEFAULTS = Settings()

_FOUND: dict[str, Settings] = {}
"""The settings of the directories that were asked for, and of those above them."""


def directory_of(target: str) -> str:
    """Where the search for a target's configuration starts."""
    if target == "-" or target.startswith(("http://", "https://")):
        return os.curdir
    return target if os.path.isdir(target) else os.path.dirname(target) or os.curdir


def settings_for(directory: str) -> Settings:
    """The settings of the nearest configuration in a directory or above it, or DEFAULTS. Each is read once a run."""
    try:
        here = os.path.abspath(directory)
    except OSError:  # the working directory was deleted; there is nothing above it
        return DEFAULTS
    passed = []
    settings: Settings | None = None
    while settings is None:
        passed.append(here)
        settings = _FOUND.get(here) or _settings_in(here)
        above = os.path.dirname(here)
        if above == here:
            break
        here = above
    settings = settings or DEFAULTS
    _FOUND.update(dict.fromkeys(passed, settings))
    return settings


def _settings_in(directory: str) -> Settings | None:
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
    from mcproof.text import tomltext

    text = tomltext.decode(data, file)
    table: Any = tomltext.parse(text, file)
    if is_shared:
        table = table.get(TABLE[0])
        if not isinstance(table, dict) or TABLE[1] not in table:
            return None
        table = table[TABLE[1]]
    source = _Source(file, TABLE if is_shared else (), tomltext.positions(text))
    return _settings(source, table)


def _bytes_of(path: str, file: str) -> bytes:
    try:
        with open(path, "rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {(error.strerror or str(error)).lower()}", file=file) from None
    except ValueError:  # a name that no file can have
        raise ConfigError("cannot be read: no such file", file=file) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"larger than {MAX_BYTES // 1_000_000} MB; no configuration is", file=file)
    return data


Path = tuple[str | int, ...]
"""The keys and indices that lead to a value from the top of the settings."""


class _Source(NamedTuple):
    """The file that is read, and where things stand in it."""

    file: str
    above: Path
    """The table that holds the settings."""
    positions: dict[Path, tuple[int, int]]

    @property
    def directory(self) -> str:
        return os.path.dirname(self.file)

    def position(self, path: Path) -> tuple[int, int]:
        """Where a value stands, or the nearest thing around it that has a place."""
        full = (*self.above, *path)
        while full and full not in self.positions:
            full = full[:-1]
        return self.positions.get(full, (1, 1))

    def place(self, *path: str | int) -> Place:
        return Place(self.file, self.position(path)[0])

    def error(self, message: str, path: Path) -> ConfigError:
        line, column = self.position(path)
        return ConfigError(message, file=self.file, line=line, column=column)

    def mistyped(self, path: Path, value: Any, expected: str) -> ConfigError:
        return self.error(f"`{_spelt(path)}` is {_kind_of(value)}; it must be {expected}", path)

    def unknown(self, what: str, word: str, known: Iterable[str], path: Path) -> ConfigError:
        listed = list(known)
        word = _short(word)
        return self.error(f"unknown {what} `{word}`{nearest(word, listed)}; there are {', '.join(listed)}", path)


def _spelt(path: Path) -> str:
    """A path as a reader knows it: `ignore-for[0].rules`."""
    spelt = "".join(f"[{part}]" if isinstance(part, int) else f".{_short(part)}" for part in path)
    return spelt.removeprefix(".")


def _short(word: str) -> str:
    return word if len(word) <= 60 else f"{word[:60]}…"


def _kind_of(value: Any) -> str:
    """What a TOML value is, with its article."""
    kinds = {dict: "a table", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "a date or time")


# --- the keys, each with what reads its value ---------------------------------------------------------------------


def _settings(source: _Source, table: Any) -> Settings:
    if not isinstance(table, dict):
        found = f"`{'.'.join(TABLE)}` is {_kind_of(table)}"
        raise source.error(f"{found}; it must be a table: `[tool.mcproof]`", ())
    fields: dict[str, Any] = {}
    places: dict[str, Place] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise _unknown_key(source, key, value)
        field, read = KEYS[key]
        fields[field] = read(source, key, value)
        places[key] = source.place(key)
    if "severity" in fields:
        deciding, fields["severity"] = fields["severity"], {}
        for rule, (name, word) in deciding.items():
            fields["severity"][rule] = word
            places[f"severity.{rule}"] = source.place("severity", name)
    places.update((f"targets.{name}", source.place("targets", name)) for name in fields.get("targets", ()))
    return Settings(**fields, file=source.file, places=places)


def _unknown_key(source: _Source, key: str, value: Any) -> ConfigError:
    if key == TABLE[0] and not source.above and isinstance(value, dict) and TABLE[1] in value:
        message = f"`[tool.mcproof]` is for `{SHARED_FILE}`; here the settings stand at the top, without that header"
        return source.error(message, TABLE)
    return source.unknown("key", key, KEYS, (key,))


def _words(source: _Source, path: Path, value: Any, expected: str) -> list[str]:
    """A list of words that are not blank."""
    if not isinstance(value, list):
        raise source.mistyped(path, value, expected)
    for index, word in enumerate(value):
        _text(source, (*path, index), word, "a string")
    return value


def _text(source: _Source, path: Path, value: Any, expected: str) -> str:
    if not isinstance(value, str):
        raise source.mistyped(path, value, expected)
    if not value.strip():
        raise source.error(f"`{_spelt(path)}` is blank; it must be {expected}", path)
    return value


def _rulesets(source: _Source, key: str, value: Any) -> tuple[str, ...]:
    known = (*RULESETS, "all")
    words = ["all"] if value == "all" else _words(source, (key,), value, 'a list of rulesets, or "all"')
    for index, word in enumerate(words):
        if word not in known:
            raise source.unknown("ruleset", word, known, (key, index))
    return _not_empty(source, (key,), words)


def _select(source: _Source, key: str, value: Any) -> tuple[str, ...]:
    return _not_empty(source, (key,), _rules(source, (key,), value))


def _ignore(source: _Source, key: str, value: Any) -> tuple[str, ...]:
    return tuple(_rules(source, (key,), value))


def _not_empty(source: _Source, path: Path, words: list[str]) -> tuple[str, ...]:
    if not words:
        raise source.error(f"`{_spelt(path)}` is empty; name at least one, or leave it out", path)
    return tuple(words)


def _rules(source: _Source, path: Path, value: Any) -> list[str]:
    """Words that name rules or rulesets, all of them known."""
    words = _words(source, path, value, "a list of rules and rulesets")
    checked: set[str] = set()
    for index, word in enumerate(words):
        if word not in checked and not _rulesets_named(word):
            _rule_id(source, (*path, index), word)
        checked.add(word)
    return words


def _rulesets_named(word: str) -> list[str]:
    """The rulesets that a word stands for; none where it names a rule."""
    family = word.lower()
    if family == "all":
        return list(RULESETS)
    return [family] if family in RULESETS else []


def _rule_id(source: _Source, path: Path, word: str) -> str:
    try:
        return find_rule(_short(word)).id
    except UsageError as error:
        raise source.error(error.message, path) from None


def _choice(*known: str, fold: Callable[[str], str] = str) -> Callable[[_Source, str, Any], str]:
    """A reader of a value that is one of a few words."""

    def read(source: _Source, key: str, value: Any) -> str:
        return _one_of(source, (key,), value, known, fold)

    return read


def _one_of(source: _Source, path: Path, value: Any, known: tuple[str, ...], fold: Callable[[str], str] = str) -> str:
    listed = ", ".join(known)
    if not isinstance(value, str):
        raise source.mistyped(path, value, f"one of {listed}")
    if fold(value) not in known:
        word = _short(value)
        hint = nearest(word, list(known))
        raise source.error(f"`{_spelt(path)}` cannot be `{word}`{hint}; it must be one of {listed}", path)
    return fold(value)


def _count(source: _Source, key: str, value: Any) -> int:
    if type(value) is not int:
        raise source.mistyped((key,), value, "a whole number")
    if not 0 < value <= MAX_NUMBER:
        raise source.error(f"`{key}` must be {'1 or more' if value < 1 else f'at most {MAX_NUMBER}'}", (key,))
    return value


def _path(source: _Source, path: Path, value: Any, expected: str) -> str:
    """A path from the configuration's directory, as one from the working directory."""
    text = _text(source, path, value, expected)
    if "\0" in text:
        raise source.error(f"`{_spelt(path)}` is no path: it holds a null character", path)
    # A file called `-` is not standard input.
    return os.path.join(source.directory or (os.curdir if text.startswith("-") else ""), text)


def _baseline(source: _Source, key: str, value: Any) -> str:
    return _path(source, (key,), value, "the path of a file")


def _targets(source: _Source, key: str, value: Any) -> dict[str, str]:
    targets = {}
    for name, target in _table(source, key, value).items():
        at = (key, name)
        if not name.strip() or name.startswith("-"):
            raise source.error(f"`{_short(name)}` is no name for a target: it is blank or starts with `-`", at)
        if isinstance(target, dict):
            expected = f'the path or address of a target; in [{key}], quote a name that has dots: "a.b" = "..."'
            raise source.mistyped(at, target, expected)
        if isinstance(target, str) and target.startswith(("http://", "https://")):
            targets[name] = target
        else:
            targets[name] = _path(source, at, target, "the path or address of a target")
    return targets


def _limits(source: _Source, key: str, value: Any) -> float | None:
    """How long an answer of a live server may take, in seconds."""
    timeout = None
    for name, limit in _table(source, key, value).items():
        if name not in LIMITS_KEYS:
            raise source.unknown("key", name, LIMITS_KEYS, (key, name))
        if isinstance(limit, bool) or not isinstance(limit, (int, float)):
            raise source.mistyped((key, name), limit, "a number of seconds")
        if not 0 < limit < 1_000_000:
            raise source.error(f"`{key}.{name}` is {limit}; it must be a number of seconds above 0", (key, name))
        timeout = float(limit)
    return timeout


def _table(source: _Source, key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise source.mistyped((key,), value, f"a table: `[{'.'.join((*map(str, source.above), key))}]`")
    return value


def _severity(source: _Source, key: str, value: Any) -> dict[str, tuple[str, str]]:
    """For each rule the entry that decides, and its word: a rule's own before its ruleset's before that of all."""
    families: list[dict[str, tuple[str, str]]] = [{}, {}]
    own: dict[str, tuple[str, str]] = {}
    for name, value_of_name in _table(source, key, value).items():
        at = (key, name)
        named = _rulesets_named(name)
        rules = [rule.id for rule in rules_of(*named)] or [_rule_id(source, at, name)]
        entry = (name, _one_of(source, at, value_of_name, SEVERITIES))
        if named:
            families[len(named) == 1].update(dict.fromkeys(rules, entry))
        elif rules[0] in own:
            raise source.error(f"`{own[rules[0]][0]}` and `{name}` are one rule; keep one of them", at)
        else:
            own[rules[0]] = entry
    return {**families[0], **families[1], **own}


def _ignores(source: _Source, key: str, value: Any) -> tuple[IgnoreFor, ...]:
    header = f"[[{'.'.join((*map(str, source.above), key))}]]"
    if not isinstance(value, list):
        raise source.mistyped((key,), value, f"a list of tables, each under `{header}` with two brackets")
    return tuple(_ignore_for(source, (key, index), entry, header) for index, entry in enumerate(value))


def _ignore_for(source: _Source, at: Path, entry: Any, header: str) -> IgnoreFor:
    if not isinstance(entry, dict):
        raise source.mistyped(at, entry, f"a table, under `{header}`")
    kind, glob, reason, named = None, "*", None, None
    for key, value in entry.items():
        if key not in IGNORE_FOR_KEYS:
            raise source.unknown("key", key, IGNORE_FOR_KEYS, (*at, key))
        if key == "rules":
            named = _not_empty(source, (*at, key), _rules(source, (*at, key), value))
        elif key == "reason":
            reason = _text(source, (*at, key), value, "a sentence")
        elif kind is not None:
            raise source.error(f"`{kind}` and `{key}` exclude each other; write two entries", (*at, key))
        else:
            kind, glob = key, _text(source, (*at, key), value, "a name, or a pattern with `*`")
            if len(glob) > MAX_GLOB:
                raise source.error(f"`{_spelt((*at, key))}` is longer than {MAX_GLOB} characters", (*at, key))
    if named is None:
        raise source.error(f"`{_spelt(at)}` names no rules; it needs `rules = [...]`", at)
    if kind is None and any(word.lower() == "all" for word in named):
        raise source.error(f"`{_spelt(at)}` ignores everything; name rules, or a {', '.join(KINDS)}", at)
    return IgnoreFor(kind, glob, _rule_ids(named), named, reason, source.place(*at))


def _rule_ids(named: Iterable[str]) -> frozenset[str]:
    """The ids of the rules that these words, all known, stand for."""
    ids: set[str] = set()
    for word in dict.fromkeys(named):
        families = _rulesets_named(word)
        ids.update([rule.id for rule in rules_of(*families)] if families else [find_rule(word).id])
    return frozenset(ids)


IGNORE_FOR_KEYS = (*KINDS, "rules", "reason")
LIMITS_KEYS = ("timeout",)

KEYS: dict[str, tuple[str, Callable[[_Source, str, Any], Any]]] = {
    "rulesets": ("rulesets", _rulesets),
    "select": ("select", _select),
    "ignore": ("ignore", _ignore),
    "fail-on": ("fail_on", _choice(*FAIL_ON)),
    "min-grade": ("min_grade", _choice(*GRADES, fold=str.upper)),
    "max-tokens": ("max_tokens", _count),
    "baseline": ("baseline", _baseline),
    "severity": ("severity", _severity),
    "ignore-for": ("ignores", _ignores),
    "targets": ("targets", _targets),
    "limits": ("timeout", _limits),
}
"""Every key, with the field of Settings that it fills and what reads it."""
