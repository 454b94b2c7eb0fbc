"""The keys of a configuration, each with the function that reads its value.

Reading is strict: an unknown key, rule or word is an error with its location and the nearest known word. A setting that
silently had no effect would be worse than none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import LEVELS
from mcproof.checks.ignores import IgnoreFor
from mcproof.checks.rule import RULESETS, Thresholds, find_rule, rules_of
from mcproof.core.errors import ConfigError, SettingLocation, UsageError, nearest
from mcproof.runs.config import (
    GRADES,
    SHARED_FILE,
    TABLE,
    Settings,
    choice_of,
    count_in,
    dotted,
    kind_in,
    not_empty,
    one_of,
    path_in,
    short,
    table_in,
    text_in,
    words_in,
)
from mcproof.runs.config_sections import read_store, read_targets, read_watches, with_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.checks.clients.profiles import Profile
    from mcproof.runs.config import ConfigFile, Path

FAIL_ON = (*LEVELS, "never")
SEVERITIES = (*LEVELS, "critical", "high", "medium", "warn", "low", "info")
MAX_GLOB = 500
"""The longest glob, in characters; longer ones are slow to match."""
KINDS = ("tool", "prompt", "resource", "template")
"""The kinds of items that an `ignore-for` can name."""


# --- the keys, each with what reads its value ---------------------------------------------------------------------


def parse_settings(source: ConfigFile, table: Any) -> Settings:
    """Read the settings from a table of a configuration file."""
    if not isinstance(table, dict):
        found = f"`{'.'.join(TABLE)}` is {kind_in(table)}"
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
    if "watches" in fields:
        fields["watches"] = with_targets(source, "watch", fields["watches"], fields.get("targets", {}))
    locations.update((f"targets.{name}", source.location("targets", name)) for name in fields.get("targets", ()))
    return Settings(**fields, file=source.file, locations=locations)


def _unknown_key(source: ConfigFile, key: str, value: Any) -> ConfigError:
    if key == TABLE[0] and not source.above and isinstance(value, dict) and TABLE[1] in value:
        message = f"`[tool.mcproof]` is for `{SHARED_FILE}`; here settings are top-level, without that header"
        return source.error(message, TABLE)
    return source.unknown("key", key, KEYS, (key,))


def _rulesets(source: ConfigFile, key: str, value: Any) -> tuple[str, ...]:
    known = (*RULESETS, "all")
    words = ["all"] if value == "all" else words_in(source, (key,), value, 'a list of rulesets, or "all"')
    for index, word in enumerate(words):
        if word not in known:
            raise source.unknown("ruleset", word, known, (key, index))
    return not_empty(source, (key,), words)


def _select(source: ConfigFile, key: str, value: Any) -> tuple[str, ...]:
    return not_empty(source, (key,), _rules(source, (key,), value))


def _ignore(source: ConfigFile, key: str, value: Any) -> tuple[str, ...]:
    return tuple(_rules(source, (key,), value))


def _rules(source: ConfigFile, path: Path, value: Any) -> list[str]:
    """A list of known rules and rulesets."""
    words = words_in(source, path, value, "a list of rules and rulesets")
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


def _baseline(source: ConfigFile, key: str, value: Any) -> str:
    return path_in(source, (key,), value, "the path of a file")


def _limits(source: ConfigFile, key: str, value: Any) -> float | None:
    """The timeout for responses of live servers, in seconds."""
    timeout = None
    for name, limit in table_in(source, key, value).items():
        if name not in LIMITS_KEYS:
            raise source.unknown("key", name, LIMITS_KEYS, (key, name))
        if isinstance(limit, bool) or not isinstance(limit, (int, float)):
            raise source.mistyped((key, name), limit, "a number of seconds")
        if not 0 < limit < 1_000_000:
            raise source.error(f"`{key}.{name}` is {limit}; it must be a number of seconds above 0", (key, name))
        timeout = float(limit)
    return timeout


def _severity(source: ConfigFile, key: str, value: Any) -> dict[str, tuple[str, str]]:
    """The deciding entry and severity for each rule: its own, then its ruleset's, then that of `all`."""
    families: list[dict[str, tuple[str, str]]] = [{}, {}]
    own: dict[str, tuple[str, str]] = {}
    for name, value_of_name in table_in(source, key, value).items():
        at = (key, name)
        named = _rulesets_named(name)
        rules = [rule.id for rule in rules_of(*named)] or [_rule_id(source, at, name)]
        entry = (name, one_of(source, at, value_of_name, SEVERITIES))
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
            named = not_empty(source, (*at, key), _rules(source, (*at, key), value))
        elif key == "reason":
            reason = text_in(source, (*at, key), value, "a sentence")
        elif kind is not None:
            raise source.error(f"`{kind}` and `{key}` exclude each other; write two entries", (*at, key))
        else:
            kind, glob = key, text_in(source, (*at, key), value, "a name, or a pattern with `*`")
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
    return not_empty(source, (key,), words_in(source, (key,), value, "a list of clients"))


def _refuse_unknown_clients(source: ConfigFile, words: tuple[str, ...], profiles: Iterable[str]) -> None:
    from mcproof.checks.clients.profiles import known_profiles

    known = {*known_profiles(), *profiles}
    for index, word in enumerate(words):
        name = short(word.partition("@")[0])
        if name not in known:
            message = f"unknown client `{name}`{nearest(name, sorted(known))}; `mcproof clients` lists them all"
            raise source.error(message, ("clients", index))


def _client_profiles(source: ConfigFile, key: str, value: Any) -> dict[str, Profile]:
    from mcproof.runs.config_sections import read_profiles

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


KEYS: dict[str, tuple[str, Callable[[ConfigFile, str, Any], Any]]] = {
    "rulesets": ("rulesets", _rulesets),
    "select": ("select", _select),
    "ignore": ("ignore", _ignore),
    "fail-on": ("fail_on", choice_of(*FAIL_ON)),
    "min-grade": ("min_grade", choice_of(*GRADES, fold=str.upper)),
    "max-tokens": ("max_tokens", count_in),
    "baseline": ("baseline", _baseline),
    "severity": ("severity", _severity),
    "ignore-for": ("ignores", _ignores),
    "targets": ("targets", read_targets),
    "limits": ("timeout", _limits),
    "clients": ("clients", _clients),
    "client-profiles": ("client_profiles", _client_profiles),
    "scan": ("thresholds", _scan),
    "store": ("store", read_store),
    "watch": ("watches", read_watches),
}
"""Every key, with the field of Settings it fills and the function that reads it."""
