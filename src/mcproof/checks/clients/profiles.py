"""Which constraints a run checks: of all clients by default, or of named clients, perhaps at a version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.compat.client_profiles import known_profiles
from mcproof.core.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcproof.compat.client_profiles import Constraint, Profile
    from mcproof.linting.finding import Level

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


class ClientChoice(NamedTuple):
    """The clients of a run: all profiles, and those that the user names."""

    profiles: Mapping[str, Profile]
    named: tuple[NamedClient, ...] = ()

    @property
    def pins(self) -> dict[str, str]:
        return {each.profile: each.version for each in self.named}

    def for_lint(self) -> list[ActiveConstraint]:
        """The constraints behind findings of `lint`: errors become warnings unless the client is named.

        Of clients that are not named, only what breaks them for certain is reported: facts that count for the verdict
        and are not disputed.
        """
        pins = self.pins
        return [
            each if each.profile.id in pins else each._replace(level=_at_most_warning(each.level))
            for each in self.all_active()
            if each.profile.id in pins or (each.holds and not each.constraint.disputed and _is_common(each))
        ]

    def for_compat(self) -> list[ActiveConstraint]:
        """The constraints behind findings of `compat`: those of the named clients, or the common ones of all."""
        pins = self.pins
        active = self.all_active()
        if pins:
            return [each for each in active if each.profile.id in pins]
        return [each for each in active if _is_common(each)]

    def all_active(self) -> list[ActiveConstraint]:
        """Every constraint of every client, with whether it counts."""
        pins = self.pins
        return [
            _activated(profile, constraint, pins.get(profile.id))
            for profile in self.profiles.values()
            for constraint in profile.constraints
        ]

    def version_messages(self) -> list[str]:
        """What to report about clients named at a version that makes no difference."""
        return [
            f"{each.profile}: no fact depends on a {'date' if _DATE.fullmatch(each.version) else 'version'}; "
            "judged as current"
            for each in self.without_versions()
        ]

    def without_versions(self) -> list[NamedClient]:
        """The clients named at a version about which no fact depends on a version."""
        return [
            each
            for each in self.named
            if each.version
            and not any(_can_compare(each.version, fact) for fact in self.profiles[each.profile].constraints)
        ]


def choose_clients(words: Iterable[str], profiles: Mapping[str, Profile] | None = None) -> ClientChoice:
    """Return the choice of named clients. Raises a UsageError for an unknown one."""
    known = known_profiles() if profiles is None else profiles
    named = []
    for word in words:
        name, _, version = word.partition("@")
        if name not in known:
            raise UsageError(f"unknown client `{name}`{nearest(name, list(known))}; `mcproof clients` lists them all")
        named.append(NamedClient(name, version))
    return ClientChoice(known, tuple(named))


def _activated(profile: Profile, constraint: Constraint, version: str | None) -> ActiveConstraint:
    """A constraint as it applies to a version of its client; None is no particular version."""
    status = constraint.status
    if version and _can_compare(version, constraint):
        status = "current" if _is_before_fix(version, constraint) else "fixed"
    changed = constraint if status == constraint.status else constraint._replace(status=status)
    holds = status == "current" and not constraint.opt_in and not constraint.conditional
    return ActiveConstraint(profile, changed, changed.level, holds)


def _is_common(each: ActiveConstraint) -> bool:
    fact = each.constraint
    if fact.opt_in or fact.status in ("unconfirmed", "fixed") or fact.rule in _ASKED_FOR:
        return False
    if fact.conditional and fact.rule == "CMP-031":
        return False
    return each.level != "note"


def _at_most_warning(level: Level) -> Level:
    return "warning" if level == "error" else level


def _can_compare(version: str, constraint: Constraint) -> bool:
    return bool(constraint.fixed_date if _DATE.fullmatch(version) else constraint.fixed_version)


def _is_before_fix(version: str, constraint: Constraint) -> bool:
    if _DATE.fullmatch(version):
        return version < constraint.fixed_date
    return _numbers(version) < _numbers(constraint.fixed_version)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(version)]
