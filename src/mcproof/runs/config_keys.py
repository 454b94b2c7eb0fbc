"""The keys of a configuration, each with the function that reads its value.

Reading is strict: an unknown key, rule or word is an error with its location and the nearest known word. A setting that
silently had no effect would be worse than none. What a value may be is in the published schema, `mcproof-toml`; the
functions here get values that fit it, and see to what a schema cannot say.

A configuration may come from a stranger: lengths are limited, and regular expressions are matched in linear time.
Why readers follow the schemas: docs/decisions/0068-readers-follow-schemas.md.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.profiles import (
    Constraint,
    LinearPattern,
    ParameterType,
    Profile,
    constraint_from,
    known_profiles,
    parameters_of,
    problem_of,
)
from mcproof.checks.ignores import KINDS, IgnoreFor
from mcproof.checks.rule import RULESETS, Thresholds, find_rule, rules_of
from mcproof.core.errors import ConfigError, SettingLocation, UsageError, nearest
from mcproof.core.schema.shipped import schema_in
from mcproof.core.text.json_document import kind_of
from mcproof.runs.config import (
    SHARED_FILE,
    TABLE,
    ConfigFile,
    Settings,
    StoreSettings,
    WatchEntry,
    Webhook,
    dotted,
    short,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.core.schema.shipped import Breach, Schema
    from mcproof.runs.config import Path
    from mcproof.targets.client_config import ConfiguredServer

SCHEMA = os.path.join(os.path.dirname(__file__), "schemas", "mcproof-toml.schema.json")


def parse_settings(source: ConfigFile, table: Any) -> Settings:
    """Read the settings from a table of a configuration file."""
    if not isinstance(table, dict):
        stated = f"`{'.'.join(TABLE)}` is {_kind(table)}"
        raise source.error(f"{stated}; it must be a table: `[tool.mcproof]`", ())
    schema = schema_in(SCHEMA)
    fields: dict[str, Any] = {}
    locations: dict[str, SettingLocation] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise _unknown_key(source, key, value)
        # The first mistake ends it, as what follows from it would only hide it.
        for breach in schema.breaches(value, schema.at(key), (key,), (key,)):
            raise _error(source, breach)
        field, read = KEYS[key]
        fields[field] = read(source, key, value)
        locations[key] = source.location(key)
    if "severity" in fields:
        deciding, fields["severity"] = fields["severity"], {}
        for rule, (name, word) in deciding.items():
            fields["severity"][rule] = word
            locations[f"severity.{rule}"] = source.location("severity", name)
    # After all keys: a profile may stand below the list that names it.
    if "clients" in fields:
        _refuse_unknown_clients(source, fields["clients"], fields.get("client_profiles", ()))
    if "watches" in fields:
        fields["watches"] = _with_targets(source, "watch", fields["watches"], fields.get("targets", {}))
    locations.update((f"targets.{name}", source.location("targets", name)) for name in fields.get("targets", ()))
    return Settings(**fields, file=source.file, locations=locations)


def _unknown_key(source: ConfigFile, key: str, value: Any) -> ConfigError:
    if key == TABLE[0] and not source.above and isinstance(value, dict) and TABLE[1] in value:
        message = f"`[tool.mcproof]` is for `{SHARED_FILE}`; here settings are top-level, without that header"
        return source.error(message, TABLE)
    return _unknown(source, "key", key, KEYS, (key,))


_EXPECTED = {
    **dict.fromkeys(("select", "ignore", "ignore-for[].rules"), "a list of rules and rulesets"),
    **dict.fromkeys((f"ignore-for[].{kind}" for kind in KINDS), "a name, or a pattern with `*`"),
    **dict.fromkeys(("scan.allow", "scan.review"), "a score from 0 to 100"),
    "rulesets": 'a list of rulesets, or "all"',
    "baseline": "the path of a file",
    "ignore-for[].reason": "a sentence",
    "targets.*": "a path, a URL, a list of words (a command) or a table",
    "watch[].target": "a name from [targets], a path, a URL, a command or a table",
    "limits.timeout": "a number of seconds above 0",
    "clients": "a list of clients",
    "store.database": "a file, or postgresql://…",
    "watch[].name": "a name",
    "watch[].every": 'a duration such as "15m", "6h" or "1d"',
    "watch[].checks": "a list of lint and scan",
    "watch[].webhook.secret": "the name of a variable",
    "command": "a command: a list of words",
    "cwd": "a folder",
    "url": "a URL",
}
"""What a value must be, by its place in the schema or by its key; others are named by their type."""
_TYPES = {"string": "a string", "integer": "a whole number", "boolean": "true or false"}
_MISMATCHES = {
    "database": "must be a file, or postgresql://…",
    "secret": "must be an environment variable, such as ${WEBHOOK_SECRET}",
    "url": "is not an http:// or https:// URL",
    "checked": "is not a date such as 2026-11-16",
    "date": "is not a date such as 2026-11-16",
}
"""What is wrong with a text that does not match the pattern of its key; others are paths."""
_NO_PATH = "is not a path: it contains a null character"
_WRONG_NAMES = {
    "targets": "is not a target name: it is blank or starts with `-`",
    "client-profiles": "is not a name of a client: use letters, digits, `.`, `_` and `-`",
}
_TARGETS = ("targets.*", "watch[].target")


def _place(breach: Breach) -> str:
    """Return the place of a breach as the tables above have it."""
    return ".".join(breach.place).replace(".[]", "[]")


def _error(source: ConfigFile, breach: Breach) -> ConfigError:
    """Return what is wrong with a value that does not fit the schema."""
    keyword, path, _, value, schema, key = breach
    name, limit, place, last = dotted(path), schema.get(keyword), _place(breach), breach.place[-1]
    if place in _TARGETS and isinstance(value, dict):
        return _target_error(source, breach)
    match keyword:
        case "propertyNames":
            return source.error(f"`{short(key)}` {_WRONG_NAMES[place]}", path)
        case "additionalProperties":
            return _unknown(source, "key of `scan`" if place == "scan" else "key", key, schema["properties"], path)
        case "required" if place == "ignore-for[]":
            return source.error(f"`{name}` names no rules; it needs `rules = [...]`", path)
        case "required":
            return source.error(f"`{name}` needs `{key}`", path)
        case "enum" if value.strip() or not place.endswith("]"):
            return _unknown_word(source, breach)
        case "pattern" if last == "rule":
            return _unknown_rule(source, path, value)
    expected = _EXPECTED.get(place) or _EXPECTED.get(last) or _type_in_words(source, breach)
    entries = "characters" if isinstance(value, str) else "entries"
    match keyword, value:
        case "type", _:
            reason = f"is {_kind(value)}; it must be {expected}"
        case _, int() | float() if place in _EXPECTED:
            reason = f"is {value:,}; it must be {expected}"
        case "minimum", _:
            reason = f"must be {limit} or more"
        case "maximum", _:
            reason = f"must be at most {limit}"
        case "minLength" | "maxLength", _ if "minLength" in schema and "maxLength" in schema:
            reason = f"must have {schema['minLength']} to {schema['maxLength']} characters"
        case "minItems" | "maxItems", _ if "minItems" in schema and "maxItems" in schema:
            reason = f"must have {schema['minItems']} to {schema['maxItems']} entries"
        case "minItems", _:
            reason = "is empty; name at least one, or leave it out"
        case "maxLength" | "maxItems" | "maxProperties", _:
            reason = f"{'is longer than' if entries == 'characters' else 'has more than'} {limit} {entries}"
        case _ if not value.strip():
            reason = f"is blank; it must be {expected}"
        case _ if last == "every":
            reason = f"is `{short(value)}`; it must be {expected}"
        case _:
            reason = _MISMATCHES.get(last, _NO_PATH)
    return source.error(f"`{name}` {reason}", path)


def _kind(value: Any) -> str:
    return kind_of(value, mapping="a table", other="a date or time")


def _type_in_words(source: ConfigFile, breach: Breach) -> str:
    """Return what a value must be by the type in its schema; of a table, with its header."""
    path, place, schema = breach.path, _place(breach), breach.schema
    if "enum" in schema:
        is_any_text = place.startswith("client-profiles") or place.endswith("]")
        return "a string" if is_any_text else f"one of {', '.join(_words_of(schema))}"
    header = ".".join(str(step) for step in (*source.above, *path) if isinstance(step, str))
    if schema["type"] == "object":
        return f"a table, under `[[{header}]]`" if place.endswith("]") else f"a table: `[{header}]`"
    if schema["type"] == "array":
        has_tables = "properties" in schema["items"] or "$ref" in schema["items"]
        return f"a list of tables, each under `[[{header}]]` with two brackets" if has_tables else "a list"
    return _TYPES[schema["type"]]


def _unknown(source: ConfigFile, what: str, word: str, words: Iterable[str], path: Path) -> ConfigError:
    listed = list(words)
    word = short(word)
    return source.error(f"unknown {what} `{word}`{nearest(word, listed)}; there are {', '.join(listed)}", path)


def _words_of(schema: Schema) -> list[str]:
    """Return the words that a value can be; those that differ only in case are one."""
    return list({word.lower(): word for word in reversed(schema["enum"])}.values())[::-1]


def _unknown_word(source: ConfigFile, breach: Breach) -> ConfigError:
    path, place, value, schema = breach.path, _place(breach), breach.value, breach.schema
    words = _words_of(schema)
    if place == "rulesets[]":
        return _unknown(source, "ruleset", value, words, path)
    if place.startswith("client-profiles"):
        return _unknown(source, str(path[-1]) if isinstance(path[-1], str) else "word", value, words, path)
    word = short(value)
    listed = ", ".join(words)
    return source.error(f"`{dotted(path)}` cannot be `{word}`{nearest(word, words)}; it must be one of {listed}", path)


_SERVER_KEYS = ("command", "env", "cwd", "url", "headers")
"""The keys of a live server in `[targets]`: of a command, then of a URL."""


def _target_error(source: ConfigFile, breach: Breach) -> ConfigError:
    """Return what is wrong with the keys of a live server: it is a command or a URL, which have keys of their own."""
    table, key = breach.value, breach.key
    at = breach.path[:-1] if breach.keyword == "additionalProperties" else breach.path
    if not table.keys() & {*_SERVER_KEYS}:
        expected = f'a path, a URL or a command; in [{at[0]}], quote a name that has dots: "a.b" = "..."'
        return source.error(f"`{dotted(at)}` is {_kind(table)}; it must be {expected}", at)
    if unknown := [name for name in table if name not in _SERVER_KEYS]:
        return _unknown(source, "key", unknown[0], _SERVER_KEYS, (*at, unknown[0]))
    if ("command" in table) == ("url" in table):
        return source.error(f"`{dotted(at)}` needs either `command` or `url`", at)
    given = "command" if "command" in table else "url"
    return source.error(f"`{dotted((*at, key))}` has no meaning beside `{given}`", (*at, key))


def _rules(source: ConfigFile, path: Path, words: list[str]) -> tuple[str, ...]:
    """Refuse unknown rules and rulesets in a list."""
    for index, word in enumerate(words):
        if word not in words[:index] and not _rulesets_named(word):
            _rule_id(source, (*path, index), word)
    return tuple(words)


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


def _severity(source: ConfigFile, key: str, table: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The deciding entry and severity for each rule: its own, then its ruleset's, then that of `all`."""
    # The narrower entry decides, wherever it stands: order in a table means nothing to users.
    families: list[dict[str, tuple[str, str]]] = [{}, {}]
    own: dict[str, tuple[str, str]] = {}
    for name, severity in table.items():
        at = (key, name)
        named = _rulesets_named(name)
        rules = [rule.id for rule in rules_of(*named)] or [_rule_id(source, at, name)]
        entry = (name, severity)
        if named:
            families[len(named) == 1].update(dict.fromkeys(rules, entry))
        elif rules[0] in own:
            raise source.error(f"`{own[rules[0]][0]}` and `{name}` are the same rule; keep one of them", at)
        else:
            own[rules[0]] = entry
    return {**families[0], **families[1], **own}


def _ignores(source: ConfigFile, key: str, entries: list[dict[str, Any]]) -> tuple[IgnoreFor, ...]:
    return tuple(_ignore_for(source, (key, index), entry) for index, entry in enumerate(entries))


def _ignore_for(source: ConfigFile, at: Path, entry: dict[str, Any]) -> IgnoreFor:
    named = _rules(source, (*at, "rules"), entry["rules"])
    kinds = [key for key in entry if key in KINDS]
    if len(kinds) > 1:
        message = f"`{kinds[0]}` and `{kinds[1]}` exclude each other; write two entries"
        raise source.error(message, (*at, kinds[1]))
    kind = kinds[0] if kinds else None
    if kind is None and any(word.lower() == "all" for word in named):
        raise source.error(f"`{dotted(at)}` ignores everything; name rules, or a {', '.join(KINDS)}", at)
    # Ids, not names: a rule may be ignored by one and reported by the other.
    ids: set[str] = set()
    for word in dict.fromkeys(named):
        families = _rulesets_named(word)
        ids.update([rule.id for rule in rules_of(*families)] if families else [find_rule(word).id])
    glob = "*" if kind is None else entry[kind]
    return IgnoreFor(kind, glob, frozenset(ids), named, entry.get("reason"), source.location(*at))


def _thresholds(source: ConfigFile, key: str, table: dict[str, int]) -> dict[str, int]:
    """The thresholds of the verdicts of `scan`."""
    allow, review = Thresholds()._replace(**table)
    if allow < review:
        raise source.error(f"`scan.allow` ({allow}) is below `scan.review` ({review})", (key,))
    return table


def _refuse_unknown_clients(source: ConfigFile, words: tuple[str, ...], profiles: Iterable[str]) -> None:
    """Refuse unknown clients, perhaps with versions, once all profiles are known."""
    clients = {*known_profiles(), *profiles}
    for index, word in enumerate(words):
        name = short(word.partition("@")[0])
        if name not in clients:
            message = (
                f"unknown client `{name}`{nearest(name, sorted(clients))}; `mcproof explain clients` lists them all"
            )
            raise source.error(message, ("clients", index))


def _profiles(source: ConfigFile, key: str, table: dict[str, Any]) -> dict[str, Profile]:
    """Return the profiles of a configuration by id, those that change a shipped one merged with it."""
    profiles = {name: _profile(source, (key, name), name, entry) for name, entry in table.items()}
    all_profiles = {**known_profiles(), **profiles}
    for name, entry in table.items():
        for index, api in enumerate(entry.get("sends_to", ())):
            if api not in all_profiles or api == name:
                raise _unknown(source, "client", api, all_profiles, (key, name, "sends_to", index))
    return profiles


def _profile(source: ConfigFile, at: Path, name: str, table: dict[str, Any]) -> Profile:
    base = known_profiles().get(name) or Profile(id=name, name=name, kind="client", checked="", constraints=())
    checked = table.get("checked", base.checked)
    own = [
        _constraint(source, (*at, "constraints", index), entry, checked)
        for index, entry in enumerate(table.get("constraints", ()))
    ]
    return base._replace(
        name=table.get("name", base.name),
        kind=table.get("kind", base.kind),
        checked=checked,
        constraints=tuple({constraint.id: constraint for constraint in (*base.constraints, *own)}.values()),
        sends_to=tuple(table.get("sends_to", base.sends_to)),
        about=table.get("about", base.about),
        is_shipped=False,
    )


def _constraint(source: ConfigFile, at: Path, table: dict[str, Any], checked: str) -> Constraint:
    kind = table["kind"]
    # A new fact is reported by the rule of the other facts of its kind.
    shipped = (constraint for profile in known_profiles().values() for constraint in profile.constraints)
    rule = table.get("rule") or next((constraint.rule for constraint in shipped if constraint.kind == kind), "CMP-031")
    if rule not in _compat_rules():
        raise _unknown_rule(source, (*at, "rule"), rule)
    sources = [{"kind": "documented", **entry} for entry in table.get("sources", ())]
    here = {"url": str(source.location(*at)), "kind": "configuration", "date": checked}
    params = _params(source, (*at, "params"), kind, table.get("params", {}))
    return constraint_from({"status": "current", **table, "rule": rule, "params": params, "sources": sources or [here]})


def _compat_rules() -> list[str]:
    return [rule.id for rule in rules_of("compat")]


def _unknown_rule(source: ConfigFile, path: Path, word: str) -> ConfigError:
    return _unknown(source, "rule", word, _compat_rules(), path)


def _params(source: ConfigFile, at: Path, kind: str, table: dict[str, Any]) -> dict[str, Any]:
    """Read the parameters of a constraint: each kind has its own."""
    required, optional = parameters_of(kind)
    parameters = {**required, **optional}
    if not parameters and table:
        key = next(iter(table))
        raise source.error(f"`{dotted(at)}` must be empty; `{short(key)}` has no meaning there", (*at, key))
    properties = {name: _PARAMETERS[parameter.kind](parameter) for name, parameter in parameters.items()}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    for breach in schema_in(SCHEMA).breaches(table, schema, at, ("client-profiles", "params")):
        raise _error(source, breach)
    for name in required:
        if name not in table:
            raise source.error(f"`{dotted(at)}` needs `{name}` for the kind `{kind}`", at)
    return {name: _param(source, (*at, name), parameters[name], value) for name, value in table.items()}


def _param(source: ConfigFile, at: Path, parameter: ParameterType, value: Any) -> Any:
    if parameter.kind == "template":
        braces = re.sub(r"\{(server|tool)\}", "", value)
        if "{" in braces or "}" in braces:
            raise source.error(f"`{dotted(at)}` may only have `{{server}}` and `{{tool}}` in braces", at)
    elif parameter.kind == "pattern":
        if problem := problem_of(value):
            raise source.error(f"`{dotted(at)}` {problem}", at)
        return LinearPattern(value)
    return value


_TEXT = {"type": "string", "minLength": 1, "maxLength": 500}


def _word(parameter: ParameterType) -> Schema:
    return {**_TEXT, "enum": list(parameter.words)} if parameter.words else _TEXT


_PARAMETERS: dict[str, Callable[[ParameterType], Schema]] = {
    "count": lambda _: {"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
    "flag": lambda _: {"type": "boolean"},
    "words": lambda parameter: {"type": "array", "minItems": 1, "maxItems": 200, "items": _word(parameter)},
    **dict.fromkeys(("word", "pattern", "template"), _word),
}
"""The schema of each type of a parameter."""


def _path(source: ConfigFile, path: Path, text: str) -> str:
    """A path in the configuration, made relative to the working directory."""
    if "\0" in text:
        raise source.error(f"`{dotted(path)}` {_NO_PATH}", path)
    # A file named `-` is not standard input.
    return os.path.join(source.directory or (os.curdir if text.startswith("-") else ""), text)


def _targets(source: ConfigFile, key: str, table: dict[str, Any]) -> dict[str, str | ConfiguredServer]:
    """Read `[targets]`: paths as text, live servers as the entries of a client configuration."""
    return {name: _target(source, (key, name), name, target) for name, target in table.items()}


def _target(source: ConfigFile, at: Path, name: str, value: Any) -> str | ConfiguredServer:
    """Read a target: a path as text, a live server as an entry of a client configuration."""
    from mcproof.targets.client_config import ConfiguredServer

    if isinstance(value, str) and not _is_web_url(value):
        return _path(source, at, value)
    if isinstance(value, dict):
        # Variables in it are not filled in yet.
        entry = {**value, **_command(value["command"], value.get("cwd"))} if "command" in value else value
    else:
        entry = {"url": value} if isinstance(value, str) else _command(value)
    return ConfiguredServer(name, entry, source.file, source.position(at)[0])


def _is_web_url(text: str) -> bool:
    return text.partition("://")[0].lower() in ("http", "https") and "://" in text


def _command(words: list[str], folder: str | None = None) -> dict[str, Any]:
    """A command that starts in a folder, else in that of the configuration."""
    return {"command": words[0], "args": words[1:], "cwd": folder or os.curdir}


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX_NAME = 500
_MIN_EVERY, _MAX_EVERY = 10, 30 * 86_400
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PASSWORD = re.compile(r"://[^/@]*:(?P<password>[^/@]+)@")


def _store(source: ConfigFile, key: str, table: dict[str, Any]) -> StoreSettings:
    """Read `[store]`; its database is a file or a URL of PostgreSQL."""
    database, at = table.get("database"), (key, "database")
    if database is not None and "://" not in database:
        database = _path(source, at, database)
    elif database is not None and (match := _PASSWORD.search(database)) and not _VARIABLE.fullmatch(match["password"]):
        message = f"`{dotted(at)}` has a password; name an environment variable in its place, such as ${{DB_PASSWORD}}"
        raise source.error(message, at)
    return StoreSettings(database, table.get("days"), table.get("keep"))


def _watches(source: ConfigFile, key: str, value: list[dict[str, Any]]) -> tuple[WatchEntry, ...]:
    """Read all `[[watch]]` entries. Raises a ConfigError if two have the same name."""
    entries: dict[str, WatchEntry] = {}
    for index, table in enumerate(value):
        entry = _watch(source, (key, index), table)
        if entry.name in entries:
            first = entries[entry.name].location
            raise source.error(f"two entries are named `{short(entry.name)}`; the other is at {first}", (key, index))
        entries[entry.name] = entry
    return tuple(entries.values())


def _with_targets(
    source: ConfigFile, key: str, entries: tuple[WatchEntry, ...], targets: Mapping[str, str | ConfiguredServer]
) -> tuple[WatchEntry, ...]:
    """Return the entries with names from `[targets]` replaced by these targets, and other words by paths."""

    def target(index: int, written: str | ConfiguredServer) -> str | ConfiguredServer:
        if not isinstance(written, str):
            return written
        return targets[written] if written in targets else _path(source, (key, index, "target"), written)

    return tuple(entry._replace(target=target(index, entry.target)) for index, entry in enumerate(entries))


def _watch(source: ConfigFile, at: Path, table: dict[str, Any]) -> WatchEntry:
    given = table["target"]
    # A word may be a name from `[targets]`, which is known later; a URL never is.
    is_word = isinstance(given, str) and not _is_web_url(given)
    target = given if is_word else _target(source, (*at, "target"), given if isinstance(given, str) else "", given)
    usual_name = target if isinstance(target, str) else target.name
    if "name" not in table and not usual_name:
        raise source.error(f"`{dotted(at)}` needs `name`, the name of the server", at)
    if "name" not in table and len(usual_name) > _MAX_NAME:
        where = (*at, "target")
        raise source.error(f"`{dotted(where)}` is longer than {_MAX_NAME} characters", where)
    checks = tuple(dict.fromkeys(table.get("checks", ("lint",))))
    for key, check in (("min-grade", "lint"), ("max-tokens", "lint"), ("fail-on-verdict", "scan")):
        if key in table and check not in checks:
            raise source.error(f"`{dotted((*at, key))}` is a gate of `{check}`, which `checks` leaves out", (*at, key))
    every = table["every"]
    seconds = int(every[:-1]) * _SECONDS[every[-1]]
    if not _MIN_EVERY <= seconds <= _MAX_EVERY:
        where = (*at, "every")
        raise source.error(f"`{dotted(where)}` is `{every}`; it must be from {_MIN_EVERY}s to 30d", where)
    webhook = table.get("webhook")
    return WatchEntry(
        name=table.get("name", usual_name),
        target=target,
        every=seconds,
        location=source.location(*at),
        checks=checks,
        min_grade=table["min-grade"].upper() if "min-grade" in table else None,
        max_tokens=table.get("max-tokens"),
        fail_on_verdict=table.get("fail-on-verdict"),
        webhook=Webhook(webhook["url"], webhook["secret"][2:-1]) if webhook is not None else None,
    )


KEYS: dict[str, tuple[str, Callable[[ConfigFile, str, Any], Any]]] = {
    "rulesets": ("rulesets", lambda *given: ("all",) if given[2] == "all" else tuple(given[2])),
    "select": ("select", lambda source, key, words: _rules(source, (key,), words)),
    "ignore": ("ignore", lambda source, key, words: _rules(source, (key,), words)),
    "fail-on": ("fail_on", lambda *given: given[2]),
    "min-grade": ("min_grade", lambda *given: given[2].upper()),
    "max-tokens": ("max_tokens", lambda *given: given[2]),
    "baseline": ("baseline", lambda source, key, path: _path(source, (key,), path)),
    "severity": ("severity", _severity),
    "ignore-for": ("ignores", _ignores),
    "targets": ("targets", _targets),
    "limits": ("timeout", lambda *given: float(given[2]["timeout"]) if given[2] else None),
    "clients": ("clients", lambda *given: tuple(given[2])),
    "client-profiles": ("client_profiles", _profiles),
    "scan": ("thresholds", _thresholds),
    "store": ("store", _store),
    "watch": ("watches", _watches),
}
"""Every key, with the field of Settings it fills and the function that reads a value that fits the schema."""
