"""Client profiles: what MCP clients and model APIs accept, with effect, sources and dates, as data.

The facts are in `profiles.json`; a configuration can add profiles and replace constraints. Nothing here looks at a
catalog.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.linting.finding import Level

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
    """Whether users report the opposite of what is documented."""
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
    about: str = ""
    """What the name covers, if that is not obvious."""
    is_shipped: bool = False
    """Whether it ships with mcproof; else it is from a configuration."""


@cache
def known_profiles() -> dict[str, Profile]:
    """The profiles that ship with mcproof, by id."""
    # `lint` starts faster without `importlib.resources`, which loads tempfile and shutil.
    with open(os.path.join(os.path.dirname(__file__), "profiles.json"), encoding="utf-8") as opened:
        text = opened.read()
    return {entry["id"]: profile_from(entry)._replace(is_shipped=True) for entry in json.loads(text)["profiles"]}


def profile_from(entry: Mapping[str, Any]) -> Profile:
    """Return a profile from its JSON form."""
    return Profile(
        id=entry["id"],
        name=entry["name"],
        kind=entry["kind"],
        checked=entry["checked"],
        constraints=tuple(map(_constraint, entry["constraints"])),
        sends_to=tuple(entry.get("sends_to", ())),
        about=entry.get("about", ""),
    )


def _constraint(entry: Mapping[str, Any]) -> Constraint:
    fixed = entry.get("fixed_in", {})
    return Constraint(
        id=entry["id"],
        rule=entry["rule"],
        kind=entry["kind"],
        params=entry["params"],
        effect=entry["effect"],
        status=entry["status"],
        sources=tuple(Source(each["url"], each["kind"], each["date"]) for each in entry["sources"]),
        error=entry.get("error", ""),
        when=entry.get("when", ""),
        doubt=entry.get("doubt", ""),
        opt_in=entry.get("opt_in", False),
        conditional=entry.get("conditional", False),
        disputed=entry.get("disputed", False),
        fixed_version=fixed.get("version", ""),
        fixed_date=fixed.get("date", ""),
    )
