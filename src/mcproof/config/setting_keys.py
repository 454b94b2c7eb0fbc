"""The keys of a configuration, each with the function that reads its value.

Reading is strict: an unknown key, rule or word is an error with its location and the nearest known word. A setting that
silently had no effect would be worse than none.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.config.settings import SHARED_FILE, TABLE, IgnoreFor, SettingLocation, Settings
from mcproof.errors import ConfigError, UsageError, nearest
from mcproof.linting.finding import LEVELS
from mcproof.linting.registry import RULESETS, find_rule, rules_of
from mcproof.linting.trust_verdicts import Thresholds
from mcproof.text.jsontext import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.compat.client_profiles import Profile
    from mcproof.targets.client_config import ConfiguredServer

FAIL_ON = (*LEVELS, "never")
GRADES = ("A", "B", "C", "D", "F")
SEVERITIES = (*LEVELS, "critical", "high", "medium", "warn", "low", "info")
KINDS = ("tool", "prompt", "resource", "template")
"""The kinds of items that an `ignore-for` can name."""

MAX_NUMBER = 2**63 - 1
"""The largest integer that every TOML parser must support."""
MAX_GLOB = 500
"""The longest glob, in characters; longer ones are slow to match."""

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
        return self.error(f"`{dotted(path)}` is {_kind_of(value)}; it must be {expected}", path)

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


def _kind_of(value: Any) -> str:
    return kind_of(value, mapping="a table", other="a date or time")


# --- the keys, each with what reads its value ---------------------------------------------------------------------


def parse_settings(source: ConfigFile, table: Any) -> Settings:
    """Read the settings from a table of a configuration file."""
    if not isinstance(table, dict):
        found = f"`{'.'.join(TABLE)}` is {_kind_of(table)}"
        raise source.error(f"{found}; it must be a table: `[tool.mcproof]`", ())
    fields: dict[str, Any] = {}
    locations: dict[str, SettingLocation] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise _unknown_key(source, key, value)
        field, read = KEYS[key]
        fields[field] = read(source, key, value)
        locations[key] = source.location(key)
    if "severity" in fields:
        deciding, fields["severity"] = fields["severity"], {}
        for rule, (name, word) in deciding.items():
            fields["severity"][rule] = word
            locations[f"severity.{rule}"] = source.location("severity", name)
    if "clients" in fields:
        _refuse_unknown_clients(source, fields["clients"], fields.get("client_profiles", ()))
    locations.update((f"targets.{name}", source.location("targets", name)) for name in fields.get("targets", ()))
    return Settings(**fields, file=source.file, locations=locations)


def _unknown_key(source: ConfigFile, key: str, value: Any) -> ConfigError:
    if key == TABLE[0] and not source.above and isinstance(value, dict) and TABLE[1] in value:
        message = f"`[tool.mcproof]` is for `{SHARED_FILE}`; here settings are top-level, without that header"
        return source.error(message, TABLE)
    return source.unknown("key", key, KEYS, (key,))


def _words(source: ConfigFile, path: Path, value: Any, expected: str) -> list[str]:
    """A list of strings that are not blank."""
    if not isinstance(value, list):
        raise source.mistyped(path, value, expected)
    for index, word in enumerate(value):
        _text(source, (*path, index), word, "a string")
    return value


def _text(source: ConfigFile, path: Path, value: Any, expected: str) -> str:
    if not isinstance(value, str):
        raise source.mistyped(path, value, expected)
    if not value.strip():
        raise source.error(f"`{dotted(path)}` is blank; it must be {expected}", path)
    return value


def _rulesets(source: ConfigFile, key: str, value: Any) -> tuple[str, ...]:
    known = (*RULESETS, "all")
    words = ["all"] if value == "all" else _words(source, (key,), value, 'a list of rulesets, or "all"')
    for index, word in enumerate(words):
        if word not in known:
            raise source.unknown("ruleset", word, known, (key, index))
    return _not_empty(source, (key,), words)


def _select(source: ConfigFile, key: str, value: Any) -> tuple[str, ...]:
    return _not_empty(source, (key,), _rules(source, (key,), value))


def _ignore(source: ConfigFile, key: str, value: Any) -> tuple[str, ...]:
    return tuple(_rules(source, (key,), value))


def _not_empty(source: ConfigFile, path: Path, words: list[str]) -> tuple[str, ...]:
    if not words:
        raise source.error(f"`{dotted(path)}` is empty; name at least one, or leave it out", path)
    return tuple(words)


def _rules(source: ConfigFile, path: Path, value: Any) -> list[str]:
    """A list of known rules and rulesets."""
    words = _words(source, path, value, "a list of rules and rulesets")
    checked: set[str] = set()
    for index, word in enumerate(words):
        if word not in checked and not _rulesets_named(word):
            _rule_id(source, (*path, index), word)
        checked.add(word)
    return words


def _rulesets_named(word: str) -> list[str]:
    """The rulesets a word stands for; empty if it names a rule."""
    family = word.lower()
    if family == "all":
        return list(RULESETS)
    return [family] if family in RULESETS else []


def _rule_id(source: ConfigFile, path: Path, word: str) -> str:
    try:
        return find_rule(short(word)).id
    except UsageError as error:
        raise source.error(error.message, path) from None


def _choice(*known: str, fold: Callable[[str], str] = str) -> Callable[[ConfigFile, str, Any], str]:
    """A function that reads a value with a few known words."""

    def read(source: ConfigFile, key: str, value: Any) -> str:
        return _one_of(source, (key,), value, known, fold)

    return read


def _one_of(
    source: ConfigFile, path: Path, value: Any, known: tuple[str, ...], fold: Callable[[str], str] = str
) -> str:
    listed = ", ".join(known)
    if not isinstance(value, str):
        raise source.mistyped(path, value, f"one of {listed}")
    if fold(value) not in known:
        word = short(value)
        hint = nearest(word, list(known))
        raise source.error(f"`{dotted(path)}` cannot be `{word}`{hint}; it must be one of {listed}", path)
    return fold(value)


def _count(source: ConfigFile, key: str, value: Any) -> int:
    if type(value) is not int:
        raise source.mistyped((key,), value, "a whole number")
    if not 0 < value <= MAX_NUMBER:
        raise source.error(f"`{key}` must be {'1 or more' if value < 1 else f'at most {MAX_NUMBER}'}", (key,))
    return value


def _path(source: ConfigFile, path: Path, value: Any, expected: str) -> str:
    """A path in the configuration, made relative to the working directory."""
    text = _text(source, path, value, expected)
    if "\0" in text:
        raise source.error(f"`{dotted(path)}` is not a path: it contains a null character", path)
    # A file named `-` is not standard input.
    return os.path.join(source.directory or (os.curdir if text.startswith("-") else ""), text)


def _baseline(source: ConfigFile, key: str, value: Any) -> str:
    return _path(source, (key,), value, "the path of a file")


def _targets(source: ConfigFile, key: str, value: Any) -> dict[str, str | ConfiguredServer]:
    """Named targets: paths as text, live servers as the entries of a client configuration."""
    from mcproof.targets.client_config import ConfiguredServer

    targets: dict[str, str | ConfiguredServer] = {}
    for name, target in _table(source, key, value).items():
        at = (key, name)
        if not name.strip() or name.startswith("-"):
            raise source.error(f"`{short(name)}` is not a target name: it is blank or starts with `-`", at)
        if isinstance(target, dict):
            entry = _server_table(source, at, target)
        elif isinstance(target, list):
            entry = _command(source, at, target)
        elif isinstance(target, str) and _is_web_url(target):
            entry = {"url": target}
        else:
            targets[name] = _path(source, at, target, "a path, a URL, a list of words (a command) or a table")
            continue
        targets[name] = ConfiguredServer(name, entry, source.file, source.position(at)[0])
    return targets


def _server_table(source: ConfigFile, at: Path, table: dict[str, Any]) -> dict[str, Any]:
    """A live server as a table, checked; the variables in it are not filled in yet."""
    if not table.keys() & SERVER_KEYS:
        expected = f'a path, a URL or a command; in [{at[0]}], quote a name that has dots: "a.b" = "..."'
        raise source.mistyped(at, table, expected)
    for key in table:
        if key not in SERVER_KEYS:
            raise source.unknown("key", key, SERVER_KEYS, (*at, key))
    given = [key for key in ("command", "url") if key in table]
    if len(given) != 1:
        raise source.error(f"`{dotted(at)}` needs either `command` or `url`", at)
    for key in table:
        if SERVER_KEYS[key] != given[0]:
            raise source.error(f"`{dotted((*at, key))}` has no meaning beside `{given[0]}`", (*at, key))
    for key in table.keys() & {"env", "headers"}:
        for name, text in _table(source, (*at, key), table[key]).items():
            if not isinstance(text, str):
                raise source.mistyped((*at, key, name), text, "a string")
    if given == ["command"]:
        folder = _text(source, (*at, "cwd"), table["cwd"], "a folder") if "cwd" in table else os.curdir
        return {**table, **_command(source, (*at, "command"), table["command"]), "cwd": folder}
    url = _text(source, (*at, "url"), table["url"], "a URL")
    if not _is_web_url(url):
        raise source.error(f"`{dotted((*at, 'url'))}` is not an http:// or https:// URL", (*at, "url"))
    return table


def _command(source: ConfigFile, at: Path, value: Any) -> dict[str, Any]:
    """A command that starts in the folder of the configuration."""
    expected = "a command: a list of words"
    first, *rest = _not_empty(source, at, _words(source, at, value, expected))
    return {"command": first, "args": rest, "cwd": os.curdir}


def _is_web_url(text: str) -> bool:
    return text.partition("://")[0].lower() in ("http", "https") and "://" in text


def _limits(source: ConfigFile, key: str, value: Any) -> float | None:
    """The timeout for responses of live servers, in seconds."""
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


def _table(source: ConfigFile, at: str | Path, value: Any) -> dict[str, Any]:
    path = (at,) if isinstance(at, str) else at
    if not isinstance(value, dict):
        raise source.mistyped(path, value, f"a table: `[{'.'.join(map(str, (*source.above, *path)))}]`")
    return value


def _severity(source: ConfigFile, key: str, value: Any) -> dict[str, tuple[str, str]]:
    """The deciding entry and severity for each rule: its own, then its ruleset's, then that of `all`."""
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
            raise source.error(f"`{own[rules[0]][0]}` and `{name}` are the same rule; keep one of them", at)
        else:
            own[rules[0]] = entry
    return {**families[0], **families[1], **own}


def _ignores(source: ConfigFile, key: str, value: Any) -> tuple[IgnoreFor, ...]:
    header = f"[[{'.'.join((*map(str, source.above), key))}]]"
    if not isinstance(value, list):
        raise source.mistyped((key,), value, f"a list of tables, each under `{header}` with two brackets")
    return tuple(_ignore_for(source, (key, index), entry, header) for index, entry in enumerate(value))


def _ignore_for(source: ConfigFile, at: Path, entry: Any, header: str) -> IgnoreFor:
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
                raise source.error(f"`{dotted((*at, key))}` is longer than {MAX_GLOB} characters", (*at, key))
    if named is None:
        raise source.error(f"`{dotted(at)}` names no rules; it needs `rules = [...]`", at)
    if kind is None and any(word.lower() == "all" for word in named):
        raise source.error(f"`{dotted(at)}` ignores everything; name rules, or a {', '.join(KINDS)}", at)
    return IgnoreFor(kind, glob, _rule_ids(named), named, reason, source.location(*at))


def _rule_ids(named: Iterable[str]) -> frozenset[str]:
    """The ids of the rules that these known words stand for."""
    ids: set[str] = set()
    for word in dict.fromkeys(named):
        families = _rulesets_named(word)
        ids.update([rule.id for rule in rules_of(*families)] if families else [find_rule(word).id])
    return frozenset(ids)


def _clients(source: ConfigFile, key: str, value: Any) -> tuple[str, ...]:
    """Named clients, perhaps with versions; `parse_settings` checks the names once all profiles are known."""
    return _not_empty(source, (key,), _words(source, (key,), value, "a list of clients"))


def _refuse_unknown_clients(source: ConfigFile, words: tuple[str, ...], profiles: Iterable[str]) -> None:
    from mcproof.compat.client_profiles import known_profiles

    known = {*known_profiles(), *profiles}
    for index, word in enumerate(words):
        name = short(word.partition("@")[0])
        if name not in known:
            message = f"unknown client `{name}`{nearest(name, sorted(known))}; `mcproof clients` lists them all"
            raise source.error(message, ("clients", index))


def _client_profiles(source: ConfigFile, key: str, value: Any) -> dict[str, Profile]:
    from mcproof.config.profile_keys import read_profiles

    return read_profiles(source, key, value)


def _scan(source: ConfigFile, key: str, value: Any) -> dict[str, int]:
    """The thresholds of the verdicts of `scan`."""
    if not isinstance(value, dict):
        raise source.mistyped((key,), value, "a table: `[scan]`")
    for name, score in value.items():
        if name not in SCAN_KEYS:
            raise source.unknown(f"key of `{key}`", name, SCAN_KEYS, (key, name))
        if not isinstance(score, int) or isinstance(score, bool):
            raise source.mistyped((key, name), score, "a score from 0 to 100")
        if not 0 <= score <= 100:
            raise source.error(f"`{dotted((key, name))}` is {score:,}; it must be a score from 0 to 100", (key, name))
    allow, review = Thresholds()._replace(**value)
    if allow < review:
        raise source.error(f"`scan.allow` ({allow}) is below `scan.review` ({review})", (key,))
    return value


SCAN_KEYS = ("allow", "review")
IGNORE_FOR_KEYS = (*KINDS, "rules", "reason")
LIMITS_KEYS = ("timeout",)
SERVER_KEYS = {"command": "command", "env": "command", "cwd": "command", "url": "url", "headers": "url"}
"""The keys of a live server in `[targets]`, each with the key that it belongs to."""

KEYS: dict[str, tuple[str, Callable[[ConfigFile, str, Any], Any]]] = {
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
    "clients": ("clients", _clients),
    "client-profiles": ("client_profiles", _client_profiles),
    "scan": ("thresholds", _scan),
}
"""Every key, with the field of Settings it fills and the function that reads it."""
