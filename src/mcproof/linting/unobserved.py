"""Which rules a run could not judge, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.catalog.model import METHODS, unread_lists
from mcproof.linting.registry import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcproof.core.catalog.model import Catalog
    from mcproof.linting.registry import Rule

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

    facts: tuple[Any, ...] = ()
    """Values of the classes in `FACTS`."""
    absent: Mapping[str, Unjudged] = {}
    """Why a fact was not collected, by the name of its class."""
    unlisted: str = NO_TOOLS
    """Why there is no list of tools, if there is none."""


NOTHING = Observed()


def needs_observation(rule: Rule) -> bool:
    """Whether there are inputs on which a rule cannot be judged."""
    return rule.scope in FACTS or rule.traits.get("phase") == "post-handshake" or rule.traits.get("needs") == "server"


def unjudged_rules(rules: Iterable[Rule], catalog: Catalog, observed: Observed = NOTHING) -> dict[str, Unjudged]:
    """The rules that could not be judged, by id."""
    facts = {type(fact).__name__: fact for fact in observed.facts}
    unread = unread_lists(catalog)
    found = {}
    for rule in rules:
        why = _why(rule, catalog, observed, facts, unread)
        if why is not None:
            found[rule.id] = why
    return found


def _why(
    rule: Rule, catalog: Catalog, observed: Observed, facts: Mapping[str, Any], unread: Mapping[str, str]
) -> Unjudged | None:
    if rule.scope in FACTS:
        fact = facts.get(rule.scope)
        if fact is None:
            return observed.absent.get(rule.scope, Unjudged(ONLY_SCANNED))
        if (why := getattr(fact, "not_applicable", {}).get(rule.id)) is not None:
            return Unjudged(why, concerns=False)
        if (why := getattr(fact, "unobserved", {}).get(rule.id)) is not None:
            return Unjudged(why)
        return None
    if rule.traits.get("phase") == "post-handshake":
        if not catalog.lists_tools:
            return Unjudged(observed.unlisted)
        for key in _lists_read(rule):
            if key in unread:
                return Unjudged(unread[key])
    if rule.traits.get("needs") == "neighbours" and not catalog.neighbours:
        return Unjudged("no other server of a client configuration was read before", concerns=False)
    if rule.traits.get("needs") == "resources" and not (catalog.resources or catalog.templates):
        return Unjudged("no resources are listed", concerns=False)
    if rule.traits.get("needs") == "server" and not catalog.describes_server:
        of_source = catalog.source is not None or catalog.server_info
        return Unjudged("source code leaves it to the framework" if of_source else "a list of tools has no server info")
    return None


def _lists_read(rule: Rule) -> Iterable[str]:
    """The keys of the lists that a rule about a catalog reads."""
    if rule.scope == "ModelTexts":
        return METHODS
    if rule.traits.get("needs") == "server":
        return ()
    reads: tuple[str, ...] = rule.traits.get("reads", ("tools",))
    return reads
