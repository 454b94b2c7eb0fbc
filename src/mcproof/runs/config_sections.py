"""Client profiles in a configuration: new ones, and changes of those that ship with mcproof.

The shape is that of `compat/profiles.json`. A configuration may come from a stranger: lengths are limited, and regular
expressions are matched in linear time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.constraints import KINDS, parameters_of
from mcproof.checks.clients.profiles import EFFECTS, Constraint, Profile, Source, known_profiles
from mcproof.checks.clients.surface import LinearPattern, problem_of
from mcproof.checks.rule import rules_of
from mcproof.config.config_values import dotted, short, table_in, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.checks.clients.constraints import ParameterType
    from mcproof.config.config_values import ConfigFile, Path

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
