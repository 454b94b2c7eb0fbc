"""The keys for recorded runs and watched servers: `[store]` and `[[watch]]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.checks.rule import VERDICTS
from mcproof.config.config_values import (
    GRADES,
    count_in,
    dotted,
    is_web_url,
    not_empty,
    one_of,
    path_in,
    short,
    table_of,
    text_in,
    words_in,
)
from mcproof.config.settings import StoreSettings, WatchEntry, Webhook
from mcproof.config.target_keys import read_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.config.config_values import ConfigFile, Path
    from mcproof.targets.client_config import ConfiguredServer

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
