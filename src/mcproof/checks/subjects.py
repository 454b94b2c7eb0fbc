"""What rules check besides the items of a catalog: values that the engine derives, and what was observed.

Each item is judged by the revision of its server.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from mcproof.checks.rule import Rule, S, SpecTraits
from mcproof.core.console import plural
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.protocol import FIRST_STATELESS, HANDSHAKE, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcproof.checks.clients.hits import BrokenPlace
    from mcproof.core.catalog.model import Catalog, Item, Kind, Neighbour


ASSUMED = HANDSHAKE[0]
"""The revision that judges a catalog without a handshake."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class EffectiveRevision(NamedTuple):
    """The revision that judges a catalog."""

    revision: str
    is_assumed: bool = False
    """Whether the catalog does not name its revision: demands that only the newest one makes are then notes."""


class DatedItem(NamedTuple):
    """An item with the revision that judges it."""

    item: Item
    revision: str


class DatedCatalog(NamedTuple):
    """A catalog with the revision that judges it."""

    catalog: Catalog
    revision: EffectiveRevision


class Neighbourhood(NamedTuple):
    """A catalog with the servers of the same client configuration that were read before."""

    catalog: Catalog
    neighbours: tuple[Neighbour, ...]


def effective_revision(catalog: Catalog, chosen: str | None = None) -> EffectiveRevision:
    """The revision that judges a catalog: the one that the user chose, the negotiated one, or an assumed one."""
    if chosen is not None:
        return known_revision(chosen)
    revision = catalog.protocol
    if revision is None and isinstance(catalog.server.fields.get("discover"), dict):
        revision = FIRST_STATELESS
    return known_revision(revision)


@lru_cache(maxsize=64)
def known_revision(revision: str | None) -> EffectiveRevision:
    """A revision, or the last one before it that exists."""
    # What is no date cannot be placed between revisions, so the newest one with a handshake is assumed.
    if revision is None or _DATE.fullmatch(revision) is None:
        return EffectiveRevision(ASSUMED, is_assumed=True)
    return EffectiveRevision(max((earlier for earlier in REVISIONS if earlier <= revision), default=min(REVISIONS)))


def rules_about(item: Item, rules: tuple[Rule, ...], judged_by: EffectiveRevision) -> tuple[Rule, ...]:
    """The rules that can concern an item: those of a revision.

    If it is only assumed, also those that only the newest one has.
    """
    keywords = item.marks
    if keywords is None:
        return _rules_about(item.kind, None, rules, judged_by)
    return _rules_about(item.kind, keywords & _needed(rules), rules, judged_by)


@lru_cache(maxsize=64)  # a run with many files has a few plans
def _needed(rules: tuple[Rule, ...]) -> frozenset[str]:
    return frozenset().union(*(rule.own(SpecTraits).needs or () for rule in rules))


@lru_cache(maxsize=1024)  # few combinations of marks occur
def _rules_about(
    kind: Kind, marks: frozenset[str] | None, rules: tuple[Rule, ...], judged_by: EffectiveRevision
) -> tuple[Rule, ...]:
    revision, is_assumed = judged_by
    return tuple(
        rule
        for rule, demand in ((rule, rule.own(SpecTraits)) for rule in rules)
        if kind in demand.kinds
        and (revision in demand.revisions or (is_assumed and min(demand.revisions) == FIRST_STATELESS))
        and (marks is None or demand.needs is None or not marks.isdisjoint(demand.needs))
    )


class ClientHits(NamedTuple):
    """The places of one item, a tool or the server as a whole, that break constraints: by rule."""

    by_rule: dict[str, list[BrokenPlace]]
    server_key: str = ""
    """The server's name in client configurations."""


class WholeCatalog:
    """A subject that is made from all that a server offers.

    The engine makes it without importing its class: only the rules about it do, and few runs have any.
    """

    def __init__(self, catalog: Catalog, bodies: Iterable[tuple[str, str]] = ()) -> None:
        """Make it from a catalog, and from the contents of resources that were read: URI and text."""


class RuleCrash(NamedTuple):
    """A rule that crashed: its first subject, the error, and the number of crashes."""

    rule: str
    subject: str
    error: str
    times: int


DriftKind = Literal["new-tool", "description", "schema", "other", "removed-tool"]
"""What a difference is about: `other` is everything that is neither a description nor a schema of a tool."""


class Difference(NamedTuple):
    """One difference: a part of an item, or a whole item that was added or removed."""

    kind: DriftKind
    item: Item
    """The item of the new catalog; of the old one if it was removed."""
    part: str
    """The member that changed, such as `inputSchema`; `other` for several; empty for a whole item."""
    summary: str
    """The change as a predicate: `description changed`."""
    detail: str
    """What changed, in words; may be empty."""
    pointer: str
    """The pointer of the changed part, from the item."""
    prior_hash: str | None
    """None if it was added."""
    current_hash: str | None
    """None if it was removed."""
    lines: list[str]
    """The difference itself, as lines that start with `-` and `+`."""
    fires: tuple[str, ...] = ()
    """The ids of the rules about poisoned texts that report the new version, and did not report the old one."""

    @property
    def evidence(self) -> dict[str, Any]:
        """The difference as the evidence of a finding."""
        return {
            "item": self.item.label if self.item.kind != "server" else "server",
            "part": self.part or None,
            "priorHash": self.prior_hash,
            "currentHash": self.current_hash,
            "diff": self.lines,
            "firesNow": list(self.fires),
        }


class CatalogDrift(NamedTuple):
    """All differences between a catalog and an earlier version of it."""

    reference: str
    """The name of the lock or of the capture."""
    differences: list[Difference]
    prior_hash: str
    current_hash: str
    unobserved: Mapping[str, str] = {}
    """Rules that could not be observed, each with the reason."""

    def of_kind(self, *kinds: DriftKind) -> list[Difference]:
        """Return the differences of some kinds."""
        return [difference for difference in self.differences if difference.kind in kinds]

    @property
    def summary(self) -> str:
        """The differences in numbers, such as "1 new tool, 2 changes"; empty if there are none."""
        new, removed = len(self.of_kind("new-tool")), len(self.of_kind("removed-tool"))
        changed = len(self.differences) - new - removed
        counted = [(new, "new tool"), (removed, "removed tool"), (changed, "change")]
        return ", ".join(plural(count, noun) for count, noun in counted if count)


NO_TOOLS = "no list of tools"
ONLY_SCANNED = "only `mcproof scan` observes it"


class Unjudged(NamedTuple):
    """Why a rule neither passes nor fails."""

    why: str
    concerns: bool = True
    """Whether the rule concerns the target and could not be observed; false if it does not apply to it."""
    is_crash: bool = False
    """Whether the rule crashed: a hostile server may have caused it."""


class Observed(NamedTuple):
    """What was observed of a target besides its catalog."""

    values: tuple[Any, ...] = ()
    """The observations, as rules check them: the class of each says which rules."""
    missing: Mapping[type, Unjudged] = {}
    """Why something was not observed, by its class."""
    unlisted: str = NO_TOOLS
    """Why there is no list of tools, if there is none."""
    calls_tools: bool = False
    """Whether the run called tools, even if no record came of it."""
    revision: str | None = None
    """The protocol revision that the user wants the catalog judged by, whatever it names."""
    neighbours: tuple[Neighbour, ...] = ()
    """The servers of the same client configuration that were read before."""

    def of(self, kind: type[S]) -> list[S]:
        """The observations of a class."""
        return [value for value in self.values if isinstance(value, kind)]

    def with_values(self, *values: Any) -> Observed:
        """The same with more observations."""
        return self._replace(values=(*self.values, *values))


NOTHING = Observed()


def observed_by_reading(catalog: Catalog) -> Observed:
    """What was observed while a catalog was read: the connection, if it is that of a live server."""
    return NOTHING if catalog.connection is None else Observed((catalog.connection,))
