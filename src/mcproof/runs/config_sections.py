"""The sections of a configuration: client profiles, `[store]` and `[[watch]]`, and `[targets]`.

A configuration may come from a stranger: lengths are limited, and regular expressions are matched in linear time.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.constraints import KINDS, ParameterType, parameters_of
from mcproof.checks.clients.profiles import EFFECTS, Constraint, Profile, Source, known_profiles
from mcproof.checks.clients.view import LinearPattern, problem_of
from mcproof.checks.rule import VERDICTS, rules_of
from mcproof.runs.config import (
    GRADES,
    ConfigFile,
    Path,
    StoreSettings,
    WatchEntry,
    Webhook,
    count_in,
    dotted,
    is_web_url,
    not_empty,
    one_of,
    path_in,
    short,
    table_in,
    table_of,
    text_in,
    words_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.targets.client_config import ConfiguredServer


PROFILE_KINDS = ("client", "api", "api-mode", "engine", "sdk", "directory")
STATUSES = ("current", "dated", "unconfirmed", "fixed")
SOURCE_KINDS = ("documented", "source", "run", "issue", "secondary")
MAX_TEXT, MAX_WORDS, MAX_CONSTRAINTS, MAX_PROFILES = 500, 200, 100, 50
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_DATE = re.compile(r"\d{4}(-\d{2}){0,2}")
_PROFILE_KEYS = ("name", "kind", "checked", "about", "sends_to", "constraints")
_CONSTRAINT_KEYS = (
    *("id", "rule", "kind", "params", "effect", "status", "error", "when", "doubt"),
    *("opt_in", "conditional", "disputed", "fixed_in", "sources"),
)


def read_profiles(source: ConfigFile, key: str, value: Any) -> dict[str, Profile]:
    """Return the profiles of a configuration by id, those that change a shipped one merged with it."""
    table = table_in(source, (key,), value)
    if len(table) > MAX_PROFILES:
        raise source.error(f"`{key}` has more than {MAX_PROFILES} profiles", (key,))
    profiles = {name: _profile(source, (key, name), name, entry) for name, entry in table.items()}
    known = {**known_profiles(), **profiles}
    for name, profile in profiles.items():
        for index, api in enumerate(table[name].get("sends_to", ())):
            if api not in known or api == profile.id:
                raise source.unknown("client", api, known, (key, name, "sends_to", index))
    return profiles


def _profile(source: ConfigFile, at: Path, name: str, entry: Any) -> Profile:
    if not _ID.fullmatch(name):
        raise source.error(f"`{short(name)}` is not a name of a client: use letters, digits, `.`, `_` and `-`", at)
    table = table_of(source, at, entry, _PROFILE_KEYS)
    shipped = known_profiles().get(name)
    base = shipped or Profile(id=name, name=name, kind="client", checked="", constraints=())
    text = _texts(source, at, table)
    checked = text("checked", base.checked)
    if checked and not _DATE.fullmatch(checked):
        raise source.error(f"`{dotted((*at, 'checked'))}` is not a date such as 2026-11-16", (*at, "checked"))
    listed = _list(source, (*at, "constraints"), table.get("constraints", []))
    if len(listed) > MAX_CONSTRAINTS:
        raise source.error(f"`{dotted(at)}` has more than {MAX_CONSTRAINTS} constraints", at)
    own = [_constraint(source, (*at, "constraints", index), each, checked) for index, each in enumerate(listed)]
    by_id = {each.id: each for each in base.constraints}
    by_id.update({each.id: each for each in own})
    return Profile(
        id=name,
        name=text("name", base.name),
        kind=_one_of(source, (*at, "kind"), table.get("kind", base.kind), PROFILE_KINDS),
        checked=checked,
        constraints=tuple(by_id.values()),
        sends_to=tuple(_words(source, (*at, "sends_to"), table["sends_to"])) if "sends_to" in table else base.sends_to,
        about=text("about", base.about),
    )


def _constraint(source: ConfigFile, at: Path, entry: Any, checked: str) -> Constraint:
    table = table_of(source, at, entry, _CONSTRAINT_KEYS)
    for key in ("id", "kind", "effect"):
        if key not in table:
            raise source.error(f"`{dotted(at)}` needs `{key}`", at)
    text = _texts(source, at, table)
    kind = _one_of(source, (*at, "kind"), table["kind"], KINDS)
    fixed = table_of(source, (*at, "fixed_in"), table.get("fixed_in", {}), ("version", "date"))
    fixed_text = _texts(source, (*at, "fixed_in"), fixed)
    listed = _list(source, (*at, "sources"), table.get("sources", []))
    sources = [_source(source, (*at, "sources", index), each) for index, each in enumerate(listed[:MAX_WORDS])]
    return Constraint(
        id=text("id"),
        rule=_one_of(source, (*at, "rule"), table.get("rule", _usual_rule(kind)), _rules()),
        kind=kind,
        params=_params(source, (*at, "params"), kind, table.get("params", {})),
        effect=_one_of(source, (*at, "effect"), table["effect"], EFFECTS),
        status=_one_of(source, (*at, "status"), table.get("status", "current"), STATUSES),  # type: ignore[arg-type]
        sources=tuple(sources) or (Source(str(source.location(*at)), "configuration", checked),),
        error=text("error"),
        when=text("when"),
        doubt=text("doubt"),
        opt_in=_flag(source, (*at, "opt_in"), table.get("opt_in", False)),
        conditional=_flag(source, (*at, "conditional"), table.get("conditional", False)),
        disputed=_flag(source, (*at, "disputed"), table.get("disputed", False)),
        fixed_version=fixed_text("version"),
        fixed_date=fixed_text("date"),
    )


def _rules() -> list[str]:
    return [rule.id for rule in rules_of("compat")]


def _usual_rule(kind: str) -> str:
    """The rule that shipped profiles report a kind of constraint with."""
    facts = (fact for profile in known_profiles().values() for fact in profile.constraints)
    return next((fact.rule for fact in facts if fact.kind == kind), "CMP-031")


def _params(source: ConfigFile, at: Path, kind: str, value: Any) -> dict[str, Any]:
    required, optional = parameters_of(kind)
    table = table_of(source, at, value, (*required, *optional))
    for name in required:
        if name not in table:
            raise source.error(f"`{dotted(at)}` needs `{name}` for the kind `{kind}`", at)
    known = {**required, **optional}
    return {name: _param(source, (*at, name), known[name], given) for name, given in table.items()}


def _param(source: ConfigFile, at: Path, wanted: ParameterType, value: Any) -> Any:
    if wanted.kind == "count":
        if type(value) is not int or not 0 <= value < 2**53:
            raise source.mistyped(at, value, wanted.expected)
        return value
    if wanted.kind == "flag":
        return _flag(source, at, value)
    if wanted.kind == "words":
        words = _words(source, at, value)
        return [_one_of(source, (*at, index), word, wanted.words or (word,)) for index, word in enumerate(words)]
    text = _text(source, at, value)
    if wanted.kind == "word":
        return _one_of(source, at, text, wanted.words)
    if wanted.kind == "template":
        return _template(source, at, text)
    if problem := problem_of(text):
        raise source.error(f"`{dotted(at)}` {problem}", at)
    return LinearPattern(text)


def _template(source: ConfigFile, at: Path, text: str) -> str:
    if re.sub(r"\{(server|tool)\}", "", text).count("{") or "}" in re.sub(r"\{(server|tool)\}", "", text):
        raise source.error(f"`{dotted(at)}` may only have `{{server}}` and `{{tool}}` in braces", at)
    return text


def _source(source: ConfigFile, at: Path, entry: Any) -> Source:
    table = table_of(source, at, entry, ("url", "kind", "date"))
    text = _texts(source, at, table)
    date = text("date")
    if not text("url") or not _DATE.fullmatch(date):
        raise source.error(f"`{dotted(at)}` needs `url` and `date`, such as 2026-11-16", at)
    return Source(text("url"), _one_of(source, (*at, "kind"), table.get("kind", "documented"), SOURCE_KINDS), date)


def _list(source: ConfigFile, at: Path, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise source.mistyped(at, value, "a list")
    return value


def _words(source: ConfigFile, at: Path, value: Any) -> list[str]:
    words = _list(source, at, value)
    if not words or len(words) > MAX_WORDS:
        raise source.error(f"`{dotted(at)}` must have 1 to {MAX_WORDS} entries", at)
    return [_text(source, (*at, index), word) for index, word in enumerate(words)]


def _texts(source: ConfigFile, at: Path, table: dict[str, Any]) -> Callable[..., str]:
    """Return a function that reads the text of a key, or its default."""

    def read(key: str, default: str = "") -> str:
        return _text(source, (*at, key), table[key]) if key in table else default

    return read


def _text(source: ConfigFile, at: Path, value: Any) -> str:
    if not isinstance(value, str):
        raise source.mistyped(at, value, "a string")
    if not value.strip() or len(value) > MAX_TEXT:
        raise source.error(f"`{dotted(at)}` must have 1 to {MAX_TEXT} characters", at)
    return value


def _flag(source: ConfigFile, at: Path, value: Any) -> bool:
    if not isinstance(value, bool):
        raise source.mistyped(at, value, "true or false")
    return value


def _one_of(source: ConfigFile, at: Path, value: Any, known: Iterable[str]) -> str:
    if not isinstance(value, str):
        raise source.mistyped(at, value, "a string")
    if value not in known:
        raise source.unknown(str(at[-1]) if isinstance(at[-1], str) else "word", value, known, at)
    return value


SERVER_KEYS = {"command": "command", "env": "command", "cwd": "command", "url": "url", "headers": "url"}
"""The keys of a live server in `[targets]`, each with the key that it belongs to."""


def read_targets(source: ConfigFile, key: str, value: Any) -> dict[str, str | ConfiguredServer]:
    """Read `[targets]`: paths as text, live servers as the entries of a client configuration."""
    targets: dict[str, str | ConfiguredServer] = {}
    for name, target in table_in(source, key, value).items():
        at = (key, name)
        if not name.strip() or name.startswith("-"):
            raise source.error(f"`{short(name)}` is not a target name: it is blank or starts with `-`", at)
        targets[name] = read_target(source, at, name, target)
    return targets


def read_target(source: ConfigFile, at: Path, name: str, value: Any) -> str | ConfiguredServer:
    """Read a target: a path as text, a live server as an entry of a client configuration."""
    from mcproof.targets.client_config import ConfiguredServer

    if isinstance(value, dict):
        entry = _server_table(source, at, value)
    elif isinstance(value, list):
        entry = _command(source, at, value)
    elif isinstance(value, str) and is_web_url(value):
        entry = {"url": value}
    else:
        return path_in(source, at, value, "a path, a URL, a list of words (a command) or a table")
    return ConfiguredServer(name, entry, source.file, source.position(at)[0])


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
        for name, text in table_in(source, (*at, key), table[key]).items():
            if not isinstance(text, str):
                raise source.mistyped((*at, key, name), text, "a string")
    if given == ["command"]:
        folder = text_in(source, (*at, "cwd"), table["cwd"], "a folder") if "cwd" in table else os.curdir
        return {**table, **_command(source, (*at, "command"), table["command"]), "cwd": folder}
    url = text_in(source, (*at, "url"), table["url"], "a URL")
    if not is_web_url(url):
        raise source.error(f"`{dotted((*at, 'url'))}` is not an http:// or https:// URL", (*at, "url"))
    return table


def _command(source: ConfigFile, at: Path, value: Any) -> dict[str, Any]:
    """A command that starts in the folder of the configuration."""
    expected = "a command: a list of words"
    first, *rest = not_empty(source, at, words_in(source, at, value, expected))
    return {"command": first, "args": rest, "cwd": os.curdir}


STORE_KEYS = ("database", "days", "keep")
WATCH_KEYS = ("name", "target", "every", "checks", "min-grade", "max-tokens", "fail-on-verdict", "webhook")
WEBHOOK_KEYS = ("url", "secret")
CHECKS = ("lint", "scan")
MIN_EVERY, MAX_EVERY = 10, 30 * 86_400
MAX_KEPT = 1_000_000
MAX_NAME = 500
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([1-9]\d{0,8})([smhd])")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PASSWORD = re.compile(r"://[^/@]*:(?P<password>[^/@]+)@")


def read_store(source: ConfigFile, key: str, value: Any) -> StoreSettings:
    """Read `[store]`."""
    table = table_of(source, (key,), value, STORE_KEYS)
    database = _database(source, (key, "database"), table["database"]) if "database" in table else None
    days, keep = (
        count_in(source, (key, name), table[name], MAX_KEPT) if name in table else None for name in ("days", "keep")
    )
    return StoreSettings(database, days, keep)


def _database(source: ConfigFile, at: Path, value: Any) -> str:
    text = text_in(source, at, value, "a file, or postgresql://…")
    if "://" not in text:
        return path_in(source, at, text, "a file, or postgresql://…")
    if not text.startswith(("postgresql://", "postgres://")):
        raise source.error(f"`{dotted(at)}` must be a file, or postgresql://…", at)
    found = _PASSWORD.search(text)
    if found is not None and _VARIABLE.fullmatch(found["password"]) is None:
        message = f"`{dotted(at)}` has a password; name an environment variable in its place, such as ${{DB_PASSWORD}}"
        raise source.error(message, at)
    return text


def read_watches(source: ConfigFile, key: str, value: Any) -> tuple[WatchEntry, ...]:
    """Read all `[[watch]]` entries. Raises a ConfigError if two have the same name."""
    header = f"[[{'.'.join((*map(str, source.above), key))}]]"
    if not isinstance(value, list):
        raise source.mistyped((key,), value, f"a list of tables, each under `{header}` with two brackets")
    entries: dict[str, WatchEntry] = {}
    for index, each in enumerate(value):
        entry = _watch(source, (key, index), each)
        if entry.name in entries:
            first = entries[entry.name].location
            raise source.error(f"two entries are named `{short(entry.name)}`; the other is at {first}", (key, index))
        entries[entry.name] = entry
    return tuple(entries.values())


def with_targets(
    source: ConfigFile, key: str, entries: tuple[WatchEntry, ...], targets: Mapping[str, str | ConfiguredServer]
) -> tuple[WatchEntry, ...]:
    """Return the entries with names from `[targets]` replaced by these targets, and other words by paths."""

    def target(index: int, written: str | ConfiguredServer) -> str | ConfiguredServer:
        if not isinstance(written, str):
            return written
        return targets[written] if written in targets else path_in(source, (key, index, "target"), written, "a path")

    return tuple(each._replace(target=target(index, each.target)) for index, each in enumerate(entries))


def _watch(source: ConfigFile, at: Path, value: Any) -> WatchEntry:
    table = table_of(source, at, value, WATCH_KEYS)
    for key in ("target", "every"):
        if key not in table:
            raise source.error(f"`{dotted(at)}` needs `{key}`", at)

    def read(key: str, reader: Callable[..., Any], *words: Any) -> Any:
        return reader(source, (*at, key), table[key], *words) if key in table else None

    target = _target(source, (*at, "target"), table["target"])
    checks = tuple(read("checks", _checks) or ("lint",))
    entry = WatchEntry(
        name=read("name", _name) or _usual_name(source, at, target),
        target=target,
        every=read("every", _duration),
        location=source.location(*at),
        checks=checks,
        min_grade=read("min-grade", one_of, GRADES, str.upper),
        max_tokens=read("max-tokens", count_in),
        fail_on_verdict=read("fail-on-verdict", one_of, VERDICTS[1:]),
        webhook=read("webhook", _webhook),
    )
    for key, check in (("min-grade", "lint"), ("max-tokens", "lint"), ("fail-on-verdict", "scan")):
        if key in table and check not in checks:
            raise source.error(f"`{dotted((*at, key))}` is a gate of `{check}`, which `checks` leaves out", (*at, key))
    return entry


def _target(source: ConfigFile, at: Path, value: Any) -> str | ConfiguredServer:
    """Read a target; a word may be a name from `[targets]`, which is known later."""
    if isinstance(value, str) and not is_web_url(value):
        return text_in(source, at, value, "a name from [targets], a path, a URL, a command or a table")
    return read_target(source, at, value if isinstance(value, str) else "", value)


def _usual_name(source: ConfigFile, at: Path, target: str | ConfiguredServer) -> str:
    """Return the name of an entry without one: that of its target, or its URL."""
    name = target if isinstance(target, str) else target.name
    if not name:
        raise source.error(f"`{dotted(at)}` needs `name`, the name of the server", at)
    return _name(source, (*at, "target"), name)


def _name(source: ConfigFile, at: Path, value: Any) -> str:
    text = text_in(source, at, value, "a name")
    if len(text) > MAX_NAME:
        raise source.error(f"`{dotted(at)}` is longer than {MAX_NAME} characters", at)
    return text


def _checks(source: ConfigFile, at: Path, value: Any) -> tuple[str, ...]:
    words = not_empty(source, at, words_in(source, at, value, "a list of lint and scan"))
    for index, word in enumerate(words):
        one_of(source, (*at, index), word, CHECKS)
    return tuple(dict.fromkeys(words))


def _duration(source: ConfigFile, at: Path, value: Any) -> int:
    """Read a duration such as `15m`, in seconds."""
    expected = 'a duration such as "15m", "6h" or "1d"'
    text = text_in(source, at, value, expected)
    found = _DURATION.fullmatch(text)
    if found is None:
        raise source.error(f"`{dotted(at)}` is `{short(text)}`; it must be {expected}", at)
    seconds = int(found[1]) * _SECONDS[found[2]]
    if not MIN_EVERY <= seconds <= MAX_EVERY:
        raise source.error(f"`{dotted(at)}` is `{text}`; it must be from {MIN_EVERY}s to 30d", at)
    return seconds


def _webhook(source: ConfigFile, at: Path, value: Any) -> Webhook:
    table = table_of(source, at, value, WEBHOOK_KEYS)
    for key in WEBHOOK_KEYS:
        if key not in table:
            raise source.error(f"`{dotted(at)}` needs `{key}`", at)
    url = text_in(source, (*at, "url"), table["url"], "a URL")
    if not is_web_url(url) and _VARIABLE.fullmatch(url) is None:
        raise source.error(f"`{dotted((*at, 'url'))}` is not an http:// or https:// URL", (*at, "url"))
    secret = _VARIABLE.fullmatch(text_in(source, (*at, "secret"), table["secret"], "the name of a variable"))
    if secret is None:
        message = f"`{dotted((*at, 'secret'))}` must be an environment variable, such as ${{WEBHOOK_SECRET}}"
        raise source.error(message, (*at, "secret"))
    return Webhook(url, secret[1])
