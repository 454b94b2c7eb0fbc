"""`spec` rules about how a live server serves its lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.linting.finding import Problem
from mcproof.rules.spec.demands import STATELESS, demand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.observations.connection import Anomaly, ConnectionFacts

_SHOWN = 5
_CURSORS = ("cursor-loop", "endless-pages", "bad-cursor")
_VARIATIONS = ("list-varies", "list-order-varies")


@demand(
    "SPEC-204",
    name="caching-hints",
    severity="warning",
    category="protocol",
    source="caching#cacheable-results",
    since=STATELESS,
)
def caching_hints(facts: ConnectionFacts) -> Iterator[Problem]:
    """A list has no valid `resultType`, `ttlMs` or `cacheScope`, or pages with different scopes.

    Why: they are required; clients that validate reject the list, others cache it wrongly or not at all.
    Fix: send `"resultType": "complete"`, a non-negative `ttlMs`, and a `cacheScope` of `public` or `private` on every
    page.
    """
    yield from _noted(facts, ("caching-hint",))


@demand(
    "SPEC-205",
    name="varying-list",
    severity="warning",
    category="protocol",
    source="tools#capabilities",
    since=STATELESS,
    compares_lists=True,
)
def varying_list(facts: ConnectionFacts) -> Iterator[Problem]:
    """A second connection lists other tools, or lists them in another order.

    Why: lists must not depend on the connection; clients cache them, and models lose their prompt cache.
    Fix: derive the list from the configuration alone, and sort it.
    """
    yield from _noted(facts, _VARIATIONS)


@demand(
    "SPEC-206",
    name="cursor-advances",
    severity="warning",
    category="protocol",
    source="pagination#response-format",
    same_as="WIR-006",
)
def cursor_advances(facts: ConnectionFacts) -> Iterator[Problem]:
    """A `nextCursor` does not lead to a next page.

    Why: clients that follow the cursors read the same tools again, or never stop.
    Fix: omit `nextCursor` on the last page, and never return a cursor twice.
    """
    yield from _noted(facts, _CURSORS)


@demand(
    "SPEC-207",
    name="several-pages",
    severity="note",
    category="protocol",
    source="pagination",
    same_as="CMP-064",
)
def several_pages(facts: ConnectionFacts) -> Iterator[Problem]:
    """The list of tools has more than one page.

    Why: this is allowed, but several clients read only the first page.
    Fix: serve all tools on one page.
    """
    if facts.tool_pages > 1:
        pages = facts.tool_pages
        yield Problem(
            f"the list of tools has {pages} pages; several clients read only the first", evidence={"pages": pages}
        )


@demand(
    "SPEC-208",
    name="discovery",
    severity="warning",
    category="protocol",
    source="discover",
    since=STATELESS,
)
def discovery(facts: ConnectionFacts) -> Iterator[Problem]:
    """A server of revision 2026-07-28 does not implement `server/discover`.

    Why: it must; clients of this revision do not send `initialize`.
    Fix: respond to `server/discover` with `supportedVersions` and `capabilities`.
    """
    if facts.era == "handshake":
        yield Problem("does not respond to `server/discover`, only to `initialize`")


def _noted(facts: ConnectionFacts, kinds: tuple[str, ...]) -> Iterator[Problem]:
    """One problem for each kind of anomaly and method."""
    found: dict[tuple[str, str | None], list[Anomaly]] = {}
    for each in facts.anomalies:
        if each.kind in kinds:
            found.setdefault((each.kind, each.method), []).append(each)
    for (kind, method), anomalies in found.items():
        details = list(dict.fromkeys(each.detail for each in anomalies))
        where = f"`{method}`: " if method is not None else ""
        evidence = {"kind": kind, "count": len(anomalies), "seen": details[:_SHOWN]}
        yield Problem(f"{where}{'; '.join(details[:_SHOWN])}", evidence=evidence)
