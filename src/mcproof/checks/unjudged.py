"""Which rules could not be judged on a target, and why.

Why unobserved rules lower the coverage of a scan: docs/decisions/0052-what-coverage-counts.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.engine import OF_CATALOG
from mcproof.checks.rule import TrustTraits
from mcproof.checks.subjects import NOTHING, ONLY_SCANNED, Observed, RuleCrash, Unjudged
from mcproof.checks.texts.model_texts import ModelTexts
from mcproof.core.catalog.model import METHODS, unread_lists
from mcproof.core.observations.connection import ConnectionFacts
from mcproof.core.observations.probes import ItemProbes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcproof.checks.rule import Rule
    from mcproof.core.catalog.model import Catalog

_SAID_ELSEWHERE = (RuleCrash, ConnectionFacts, ItemProbes)
"""What a report says of the whole input: that there was no live connection, and that no tool was called."""


def _is_observation(rule: Rule) -> bool:
    """Whether a rule is about something that is observed besides the catalog."""
    return rule.subject not in OF_CATALOG and rule.subject not in _SAID_ELSEWHERE


def needs_observation(rule: Rule) -> bool:
    """Whether there are inputs on which a rule cannot be judged."""
    return _is_observation(rule) or _reads_lists(rule) or rule.traits.needs == "server"


def _reads_lists(rule: Rule) -> bool:
    own = rule.traits.own
    return isinstance(own, TrustTraits) and own.phase == "post-handshake"


def unjudged_rules(rules: Iterable[Rule], catalog: Catalog, observed: Observed = NOTHING) -> dict[str, Unjudged]:
    """The rules that could not be judged, by id."""
    unread = unread_lists(catalog)
    reasons = ((rule, _why(rule, catalog, observed, unread)) for rule in rules)
    return {rule.id: why for rule, why in reasons if why is not None}


def _why(rule: Rule, catalog: Catalog, observed: Observed, unread: Mapping[str, str]) -> Unjudged | None:
    if _is_observation(rule):
        return _why_unobserved(rule, observed)
    if _reads_lists(rule):
        if not catalog.lists_tools:
            return Unjudged(observed.unlisted)
        for key in _lists_read(rule):
            if key in unread:
                return Unjudged(unread[key])
    if rule.traits.needs == "neighbours" and not catalog.neighbours:
        return Unjudged("no other server of a client configuration was read before", concerns=False)
    if rule.traits.needs == "resources" and not (catalog.resources or catalog.templates):
        return Unjudged("no resources are listed", concerns=False)
    if rule.traits.needs == "server" and not catalog.describes_server:
        of_source = catalog.source is not None or catalog.server_info
        return Unjudged("source code leaves it to the framework" if of_source else "a list of tools has no server info")
    return None


def _why_unobserved(rule: Rule, observed: Observed) -> Unjudged | None:
    for value in observed.of(rule.subject):
        if (why := getattr(value, "not_applicable", {}).get(rule.id)) is not None:
            return Unjudged(why, concerns=False)
        if (why := getattr(value, "unobserved", {}).get(rule.id)) is not None:
            return Unjudged(why)
        return None
    return observed.missing.get(rule.subject, Unjudged(ONLY_SCANNED))


def _lists_read(rule: Rule) -> Iterable[str]:
    """The keys of the lists that a rule about a catalog reads."""
    if rule.subject is ModelTexts:
        return METHODS
    if rule.traits.needs == "server":
        return ()
    return rule.traits.reads
