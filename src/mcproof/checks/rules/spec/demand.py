"""Register rules of the specification, each with the revisions that make the demand and the page that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import islice
from typing import Any

from mcproof.checks.findings import Problem, SharedEvidence
from mcproof.checks.rule import Check, RuleTraits, S, SpecTraits, rule
from mcproof.checks.subjects import DatedCatalog, DatedItem, known_revision
from mcproof.core.catalog.model import Catalog, Kind
from mcproof.core.observations.connection import ObservedConnection
from mcproof.core.protocol import FIRST_STATELESS, REVISIONS

FIRST, ANNOTATED, STRUCTURED, DIALECTS, STATELESS = sorted(REVISIONS)
"""The revisions: the first, those that added annotations, output schemas, and a default dialect, and the stateless."""

_MOST = 100
"""How many problems of one kind are reported for an item."""
_SHOWN = 60
_SITE = "https://modelcontextprotocol.io/specification"
_SCHEMAS = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema"
_PAGES = {
    "tools": "server/tools",
    "resources": "server/resources",
    "prompts": "server/prompts",
    "discover": "server/discover",
    "pagination": "server/utilities/pagination",
    "caching": "server/utilities/caching",
    "lifecycle": "basic/lifecycle",
    "basic": "basic",
    "deprecated": "deprecated",
}
_LAST_REVISIONS = {"lifecycle": DIALECTS}
"""The last revision of pages that later ones do not have."""


def demand(
    subject: type[S],
    id: str,
    name: str,
    severity: str,
    source: str,
    *,
    category: str = "protocol",
    since: str = FIRST,
    until: str = STATELESS,
    kinds: tuple[Kind, ...] = ("tool",),
    needs: Iterable[str] | None = None,
    same_as: str | None = None,
    compares_lists: bool = False,
) -> Callable[[Check[S]], Check[S]]:
    """Register a generator of problems as a rule about a `DatedItem`, a `Catalog` or an `ObservedConnection`.

    `source` is a page with an anchor, `schema` with a definition, or an address; `page@REVISION` is cited for every
    revision. `kinds` are those of the items that can have a problem, `needs` the marks of which a tool then has one
    (see `Tool.marks`).
    """
    revisions = tuple(revision for revision in sorted(REVISIONS) if since <= revision <= until)

    def register(find: Check[S]) -> Check[S]:
        problems_of: Check[Any] = find

        def of_item(dated: DatedItem) -> Iterator[Problem]:
            # A hostile item could have as many problems as members: docs/decisions/0010-hostile-input.md.
            for problem in islice(problems_of(dated), _MOST):
                yield _judged(problem, dated.revision)

        def of_catalog(dated: DatedCatalog) -> Iterator[Problem]:
            revision, is_assumed = dated.revision
            if revision in revisions or (is_assumed and since == FIRST_STATELESS):
                for problem in problems_of(dated if subject is DatedCatalog else dated.catalog):
                    yield _judged(problem, revision)

        def of_connection(connection: ObservedConnection) -> Iterator[Problem]:
            revision = known_revision(connection.agreed).revision
            if revision in revisions:
                for problem in problems_of(connection):
                    yield _judged(problem, revision)

        def _judged(problem: Problem, revision: str) -> Problem:
            is_early = revision < since  # only if the revision is assumed
            cited = since if is_early else revision
            citation: dict[str, Any] = _citation(source, cited)
            evidence = {**problem.evidence, **citation} if problem.evidence else citation
            return problem._replace(evidence=evidence, severity="note" if is_early else problem.severity)

        kinds_of_check: dict[type, tuple[type, Check[Any]]] = {
            DatedItem: (DatedItem, of_item),
            Catalog: (DatedCatalog, of_catalog),
            DatedCatalog: (DatedCatalog, of_catalog),
            ObservedConnection: (ObservedConnection, of_connection),
        }
        judged, check = kinds_of_check[subject]
        check.__doc__ = find.__doc__
        rule(
            judged,
            id,
            ruleset="spec",
            name=name,
            severity=severity,
            category=category,
            same_as=same_as,
            traits=RuleTraits(
                compares_lists=compares_lists,
                own=SpecTraits(
                    revisions,
                    address_of(source, revisions[-1]),
                    kinds,
                    None if needs is None else frozenset(needs),
                ),
            ),
        )(check)
        return find

    return register


item_demand = partial(demand, DatedItem)
"""Registers a rule about single items, by default about tools."""


@cache
def address_of(source: str, revision: str) -> str:
    """The address of a source in a revision."""
    if source.startswith("https:"):
        return source
    page, _, anchor = source.partition("#")
    page, _, fixed = page.partition("@")
    revision = fixed or min(revision, _LAST_REVISIONS.get(page, revision))
    if page == "schema":
        return f"{_SCHEMAS}/{revision}/schema.json ({anchor})"
    return f"{_SITE}/{revision}/{_PAGES[page]}" + (f"#{anchor}" if anchor else "")


@cache
def _citation(source: str, revision: str) -> SharedEvidence:
    """The evidence that all findings of a rule in one revision have."""
    return SharedEvidence(revision=revision, source=address_of(source, revision))


def shown(text: str) -> str:
    """A text of the server as a message quotes it."""
    return f"`{text}`" if len(text) <= _SHOWN else f"`{text[:_SHOWN]}…`"
