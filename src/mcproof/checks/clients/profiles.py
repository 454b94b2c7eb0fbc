"""Client profiles: what each MCP client and model API accepts, as data, and which of them a run checks.

The facts are in `profiles.json`, with effect, sources and dates; a configuration can add profiles and replace
constraints, whose patterns are matched in linear time. A user may name a client at a version or a date. Nothing here
looks at a catalog.
Why constraints are data: docs/decisions/0042-constraints-are-data.md.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Container, Iterable, Mapping
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

from mcproof.core.errors import UsageError, nearest
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mcproof.checks.findings import Level


Status = Literal["current", "dated", "unconfirmed", "fixed"]

EFFECTS: dict[str, tuple[Level, str]] = {
    "list_rejected": ("error", "all tools of the server are lost in"),
    "request_rejected": ("error", "every request with the tool fails in"),
    "tool_dropped": ("error", "the tool is missing in"),
    "call_rejected": ("error", "every call fails in"),
    "unreliable": ("warning", "calls sometimes go wrong in"),
    "truncated": ("warning", "the text is cut in"),
    "schema_rewritten": ("note", "part of the schema is ignored in"),
    "tool_renamed": ("note", "the tool is renamed in"),
    "degraded": ("note", "a feature is off in"),
    "warned": ("note", "users are warned in"),
    "prompts": ("note", "users are asked before every call in"),
}
"""What happens to a server that breaks a constraint, the worst first: its level, and the effect in words."""

RANK = {effect: rank for rank, effect in enumerate(EFFECTS)}


def effect_level(effect: str, status: str, *, conditional: bool) -> Level:
    """Return the level of an effect; a dated or conditional constraint is a warning at most."""
    level = EFFECTS[effect][0]
    # Only what is certain fails a build: docs/decisions/0045-lint-reports-certain-breaks.md.
    return "warning" if level == "error" and (status == "dated" or conditional) else level


class Source(NamedTuple):
    """Where a fact comes from."""

    url: str
    kind: str
    """`documented`, `source` (read in the client's code), `run` (tried), `issue` or `secondary`."""
    date: str
    """When it was written or read; a year or a month if the day is unknown."""


class Constraint(NamedTuple):
    """One thing that a client requires of a catalog, and the effect of not meeting it."""

    id: str
    rule: str
    """The `compat` rule that reports it."""
    kind: str
    params: Mapping[str, Any]
    effect: str
    status: Status
    sources: tuple[Source, ...]
    error: str = ""
    """A fragment of the client's error message, to search for."""
    when: str = ""
    """The models, builds or settings it applies to, if not to all."""
    doubt: str = ""
    opt_in: bool = False
    """Whether it only applies in a mode that the user turns on, such as strict tool use."""
    conditional: bool = False
    """Whether it only applies if the client passes schemas on unchanged."""
    disputed: bool = False
    """Whether its source doubts it, or users report the opposite of what is documented."""
    fixed_version: str = ""
    fixed_date: str = ""

    @property
    def level(self) -> Level:
        return effect_level(self.effect, self.status, conditional=self.conditional)

    @property
    def newest(self) -> str:
        """The date of its newest source."""
        return max((source.date for source in self.sources), default="")

    @property
    def last_report(self) -> str:
        """The date when a user last reported it; of its newest source if no user did."""
        return max((source.date for source in self.sources if source.kind == "issue"), default=self.newest)


class Repair(NamedTuple):
    """What a client mends in a schema before it passes a tool on to a model API."""

    rule: str
    """The `compat` rule whose violations are gone then."""
    source: Source


class Profile(NamedTuple):
    """A client, model API, engine, SDK or directory, and its constraints."""

    id: str
    name: str
    kind: str
    checked: str
    """The date when the facts were last checked."""
    constraints: tuple[Constraint, ...]
    sends_to: tuple[str, ...] = ()
    """The model APIs it passes tools on to, whose constraints apply too."""
    repairs: tuple[Repair, ...] = ()
    """The violations that those APIs never see."""
    about: str = ""
    """What the name covers, if that is not obvious."""
    is_shipped: bool = False
    """Whether it ships with mcproof; else it is from a configuration."""


@cache
def _shipped_document() -> dict[str, Any]:
    # `lint` starts faster without `importlib.resources`, which loads tempfile and shutil.
    with open(os.path.join(os.path.dirname(__file__), "profiles.json"), encoding="utf-8") as opened:
        document: dict[str, Any] = json.load(opened)
    return document


@cache
def known_profiles() -> dict[str, Profile]:
    """The profiles that ship with mcproof, by id."""
    return {entry["id"]: profile_from(entry)._replace(is_shipped=True) for entry in _shipped_document()["profiles"]}


def _is_old(constraint: Constraint) -> bool:
    """Whether the newest source of a fact is more than a year older than the profiles: clients change faster."""
    year, rest = _shipped_document()["compiled"].split("-", 1)
    # A date without month or day may be the last one of its year or month.
    newest = constraint.newest and f"{constraint.newest}-12-31"[:10]
    return "" < newest < f"{int(year) - 1}-{rest}"


def profile_from(entry: Mapping[str, Any]) -> Profile:
    """Return a profile from its JSON form, whose members have the names of the fields."""
    repairs = (Repair(repair["rule"], Source(**repair["source"])) for repair in entry.get("repairs", ()))
    nested = {
        "constraints": tuple(map(constraint_from, entry["constraints"])),
        "sends_to": tuple(entry.get("sends_to", ())),
        "repairs": tuple(repairs),
    }
    return Profile(**{**entry, **nested})


def constraint_from(entry: Mapping[str, Any]) -> Constraint:
    """Return a constraint from its JSON form."""
    fields = {**entry, "sources": tuple(Source(**source) for source in entry["sources"])}
    fixed = fields.pop("fixed_in", {})
    return Constraint(**fields, fixed_version=fixed.get("version", ""), fixed_date=fixed.get("date", ""))


_ASKED_FOR = frozenset(
    {"CMP-007", "CMP-025", "CMP-027", "CMP-032", "CMP-034", "CMP-041", "CMP-061", "CMP-063", "CMP-066"}
)
"""Rules that most servers break without harm in most clients; they run for clients that the user names."""
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")
_NUMBER = re.compile(r"\d+")


class NamedClient(NamedTuple):
    """A client that the user names, with a version or a date if given: `claude-code@2.1.40`."""

    profile: str
    version: str = ""


class ActiveConstraint(NamedTuple):
    """A constraint of a client that a run checks, with its level in this run."""

    profile: Profile
    constraint: Constraint
    level: Level
    holds: bool
    """Whether it counts as current: in force, and neither opt-in nor conditional."""
    depends_on_key: bool = False
    """Whether a tool only breaks it because of the server's name in a user's configuration."""

    @property
    def key(self) -> tuple[str, str]:
        return self.profile.id, self.constraint.id

    @property
    def lowered(self) -> ActiveConstraint:
        """The same for a client that the user does not name: a warning at most."""
        return self._replace(level="warning") if self.level == "error" else self


class ClientChoice(NamedTuple):
    """The clients of a run: all profiles, and those that the user names."""

    profiles: Mapping[str, Profile]
    named: tuple[NamedClient, ...] = ()

    @property
    def pins(self) -> dict[str, str]:
        return {client.profile: client.version for client in self.named}

    def for_lint(self) -> list[ActiveConstraint]:
        """The constraints behind findings of `lint`: errors become warnings unless the client is named.

        Of clients that are not named, only what breaks them for certain is reported: facts that count for the verdict
        and are not disputed.
        """
        pins = self.pins
        active = []
        # Why not all of them: docs/decisions/0045-lint-reports-certain-breaks.md.
        for holder in self.all_active():
            if holder.profile.id in pins:
                active.append(holder)
            elif holder.holds and holder.level != "note":
                active.append(holder.lowered)
        return active

    def for_compat(self, important: Container[str] = ()) -> list[ActiveConstraint]:
        """The constraints behind findings of `compat`: those of the named clients, or what counts in any.

        As in `lint`, errors become warnings unless the client is named, or is one of the `important` ones.
        """
        pins = self.pins
        return [
            holder if holder.profile.id in pins or holder.profile.id in important else holder.lowered
            for holder in self.all_active()
            if (holder.profile.id in pins if pins else holder.holds and holder.level != "note")
        ]

    def all_active(self) -> list[ActiveConstraint]:
        """Every constraint of every client, with whether it counts."""
        pins = self.pins
        return [
            _activated(profile, constraint, pins.get(profile.id), is_named=profile.id in pins)
            for profile in self.profiles.values()
            for constraint in profile.constraints
        ]

    def version_messages(self) -> list[str]:
        """What to report about clients named at a version that makes no difference."""
        return [
            f"{client.profile}: no fact depends on a {'date' if _DATE.fullmatch(client.version) else 'version'}; "
            "judged as current"
            for client in self.named
            if client.version
            and not any(_can_compare(client.version, fact) for fact in self.profiles[client.profile].constraints)
        ]


def choose_clients(words: Iterable[str], profiles: Mapping[str, Profile] | None = None) -> ClientChoice:
    """Return the choice of named clients. Raises a UsageError for an unknown one."""
    by_id = known_profiles() if profiles is None else profiles
    named = []
    for word in words:
        name, _, version = word.partition("@")
        if name not in by_id:
            raise UsageError(
                f"unknown client `{name}`{nearest(name, list(by_id))}; `mcproof explain clients` lists them all"
            )
        named.append(NamedClient(name, version))
    return ClientChoice(by_id, tuple(named))


def _activated(profile: Profile, constraint: Constraint, version: str | None, *, is_named: bool) -> ActiveConstraint:
    """A constraint as it applies to a version of its client; None is no particular version.

    What counts for the verdict of a client that is not named is what is reported of it, so that both agree.
    """
    if version and _can_compare(version, constraint):
        if _DATE.fullmatch(version):
            is_before_fix = version < constraint.fixed_date
        else:
            # As numbers: as text, `2.10` is before `2.9`.
            is_before_fix = _numbers(version) < _numbers(constraint.fixed_version)
        constraint = constraint._replace(status="current" if is_before_fix else "fixed")
    holds = constraint.status == "current" and not constraint.opt_in and not constraint.conditional
    is_asked_for = constraint.disputed or constraint.rule in _ASKED_FOR or _is_old(constraint)
    return ActiveConstraint(profile, constraint, constraint.level, holds and (is_named or not is_asked_for))


def _can_compare(version: str, constraint: Constraint) -> bool:
    return bool(constraint.fixed_date if _DATE.fullmatch(version) else constraint.fixed_version)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(version)]


LONGEST_PATTERN = 500
_SLOW = re.compile(r"\(\?<?[=!]|\(\?P=|\\[1-9k]")


class LinearPattern(str):
    """A pattern that is matched in linear time."""

    __slots__ = ()


@lru_cache(maxsize=256, typed=True)  # typed, as a `LinearPattern` equals its text
def matcher(pattern: str) -> Callable[[str], object]:
    """What tells whether a pattern matches all of a text."""
    if isinstance(pattern, LinearPattern):
        return partial(_is_valid, _validator(f"^(?:{pattern})$"))
    # A pattern of a shipped profile, which is known to be harmless.
    return re.compile(pattern).fullmatch


def occurs_in(pattern: str, text: str) -> bool:
    """Whether a pattern matches a part of a text."""
    if isinstance(pattern, LinearPattern):
        return _is_valid(_validator(str(pattern)), text)
    return re.search(pattern, text) is not None


def problem_of(pattern: str) -> str:
    """Return why a pattern of a configuration cannot be used; empty if it can."""
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters"
    try:
        _validator(f"^(?:{pattern})$")
        _validator(pattern)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in the Rust library is a BaseException
        if _SLOW.search(pattern):
            return "uses look-around or a back-reference, which is not supported"
        return "is not a valid regular expression, or too large"
    return ""


@cache
def _validator(pattern: str) -> Any:
    import jsonschema_rs

    # The library matches in linear time, whatever the pattern: docs/decisions/0010-hostile-input.md.
    schema = {"pattern": pattern}
    return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True)


def _is_valid(validator: Any, text: str) -> bool:
    try:
        return bool(validator.is_valid(text))
    except UnicodeEncodeError:  # a lone surrogate
        return bool(validator.is_valid(text.encode("utf-8", "replace").decode()))
