"""The pages for people: the dashboard, a server, a run, a comparison, the rules.

The lists they show come from `services.store.servers`; the page of a run is the one that `--format html` writes.
"""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from mcproof.checks.clients.profiles import known_profiles
from mcproof.checks.rule import VERDICTS, Rule, all_rules, find_rule
from mcproof.checks.rulebook import cases_of, facts_of, sentence
from mcproof.checks.scores.grade import LETTERS
from mcproof.core.console import safe
from mcproof.core.errors import UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.html.page import content_policy
from mcproof.services.store.queries import (
    History,
    PastRun,
    has_run,
    history_of,
    newest_catalog,
    run_report,
    server_names,
    stored_catalog,
)
from mcproof.services.store.servers import (
    ListedServer,
    ServerFilter,
    every_server,
    find_server,
    firing_rules,
    list_servers,
    recent_changes,
    recent_days,
    totals,
)
from mcproof.services.web.access import BusyError
from mcproof.services.web.clients import client_of
from mcproof.services.web.reading import pieces
from mcproof.services.web.rendering import asset, grade_bars, render, score_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcproof.services.store.database import Database
    from mcproof.services.web.reading import StoreReader


_Text = Annotated[str, Query(max_length=500)]
_LEVELS = ("error", "warning", "note")
_HISTORY = 100
"""How many runs of a server its page shows."""
_MOST_NAMES = 200
"""How many servers are offered as a list; of more, names are completed."""


def pages_router() -> APIRouter:
    """Return the routes of the pages."""
    router = APIRouter(default_response_class=HTMLResponse)
    router.add_api_route("/", dashboard)
    router.add_api_route("/servers.csv", csv_export)
    router.add_api_route("/servers.json", json_export)
    router.add_api_route("/servers/{name:path}", server_page)
    router.add_api_route("/runs/{uid}", run_page)
    router.add_api_route("/compare", compare_page)
    router.add_api_route("/rules", rules_page)
    router.add_api_route("/rules/{id}", rule_page)
    router.add_api_route("/assets/{name}", asset_file)
    return router


def _filter(request: Request) -> ServerFilter:
    """The filter of a list, from the query."""
    asked = request.query_params
    return ServerFilter(
        # Cropped and not refused: an address that somebody has edited still shows a list.
        search=asked.get("q", "")[:500],
        grade=asked.get("grade", "").upper()[:1],
        verdict=asked.get("verdict", "")[:10],
        client=asked.get("client", "")[:80],
        rule=asked.get("rule", "")[:80],
        sort=asked.get("sort", "") or "-score",
        cursor=asked.get("cursor", "")[:500],
    )


def _link(request: Request, **changes: str) -> str:
    """The address of the list with other values; empty values are left out."""
    current = {key: value for key, value in request.query_params.items() if key != "cursor"}
    values = {key: value for key, value in {**current, **changes}.items() if value}
    return f"?{urlencode(values)}" if values else "?"


def dashboard(request: Request) -> str:
    """Show every server, with charts of all of them and what changed since yesterday."""
    database: Database = request.app.state.database
    wanted = _filter(request)
    page = list_servers(database, wanted)
    counted = totals(database)
    days = [(day.day, day.mean) for day in recent_days(database) if day.mean is not None]
    yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return render(
        "dashboard.html",
        request,
        page=page,
        wanted=wanted,
        totals=counted,
        bars=grade_bars(counted),
        trend=score_line(days),
        changes=recent_changes(database, yesterday),
        link=lambda **changes: _link(request, **changes),
        letters=LETTERS,
        verdicts=VERDICTS,
        clients=sorted(known_profiles()),
        is_filtered=any((wanted.search, wanted.grade, wanted.verdict, wanted.client, wanted.rule)),
    )


_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")
"""How a formula starts, also in full-width characters."""
_EXPORTED = ("name", "grade", "score", "change", "tokens", "tools", "verdict", "trust", "last_seen", "runs")


def csv_export(request: Request) -> Response:
    """Export the list as CSV."""
    servers = every_server(request.app.state.database, _filter(request)._replace(cursor=""))

    def lines() -> Iterator[str]:
        yield _csv([_EXPORTED])
        for batch in servers:
            yield _csv([_cell(getattr(server, key)) for key in _EXPORTED] for server in batch)

    headers = {"content-disposition": 'attachment; filename="servers.csv"'}
    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8", headers=headers)


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerows(rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula, whatever separates its cells."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def json_export(request: Request) -> Response:
    """Export the list as JSON."""
    servers = every_server(request.app.state.database, _filter(request)._replace(cursor=""))

    def parts() -> Iterator[str]:
        separator = '{"schema_version": 1, "servers": [\n'
        for batch in servers:
            yield separator + ",\n".join(
                json.dumps({key: getattr(server, key) for key in _EXPORTED}) for server in batch
            )
            separator = ",\n"
        yield "\n]}\n"

    headers = {"content-disposition": 'attachment; filename="servers.json"'}
    return StreamingResponse(parts(), media_type="application/json", headers=headers)


class _ServerFacts(NamedTuple):
    """What the store has of a server, besides its reports and catalogs."""

    server: ListedServer
    history: History
    firing: list[_Firing]


def _server_facts(database: Database, name: str) -> _ServerFacts | None:
    server = find_server(database, name)
    return (
        None if server is None else _ServerFacts(server, history_of(database, name, _HISTORY), _firing(database, name))
    )


async def server_page(request: Request, name: str, a: _Text = "", b: _Text = "") -> str:
    """Show a server: its newest state, what is wrong, its history, what changed between two runs, its badge."""
    facts = await run_in_threadpool(_server_facts, request.app.state.database, name)
    if facts is None:
        raise HTTPException(404, "there is no such server")
    runs = facts.history.runs[::-1]
    versions = _versions(runs)
    older, newer = _chosen(versions, a, b)
    changes = None if older is None or newer is None else await _changes(request, older.catalog, newer.catalog)
    promises = None
    proof = next((run for run in runs if run.command == "prove" and not run.error), None)
    if proof is not None:
        promises = await _part(request, "contract", (proof.uid,), _report_of(request, proof.uid))
    scores = [(run.started, float(run.score)) for run in facts.history.runs if run.score is not None]
    return render(
        "server.html",
        request,
        server=facts.server,
        history=facts.history,
        runs=runs,
        versions=versions,
        trend=score_line(scores),
        older=older,
        newer=newer,
        changes=changes,
        firing=facts.firing,
        reports=list({run.command: run for run in facts.history.runs}.values())[::-1],
        proof=proof,
        promises=promises,
        base=str(request.base_url).rstrip("/"),
    )


async def _changes(request: Request, old: str | None, new: str | None) -> Markup | None:
    """The table of the changes between two catalogs; None if one of them is missing."""
    if not old or not new:
        return None
    database: Database = request.app.state.database
    # Loaded only if a worker has to compare them: what it found before is kept.
    catalogs = lambda: (stored_catalog(database, old), stored_catalog(database, new))  # noqa: E731
    return await _part(request, "changes", (old, new), catalogs)


def _report_of(request: Request, uid: str) -> Callable[[], tuple[bytes, ...]]:
    return lambda: (run_report(request.app.state.database, uid),)


async def _part(request: Request, kind: str, key: tuple[str, ...], load: Callable[[], tuple[bytes, ...]]) -> Markup:
    """A part of a page that a worker draws, or why it cannot be shown; the rest of the page is shown in any case."""
    reader: StoreReader = request.app.state.reader
    try:
        outcome = await reader.read(client_of(request.scope), kind, key, load)
    except BusyError:
        return Markup('<p class="aside">Too much is asked for at once: load the page again in a minute.</p>')
    if outcome.problem:
        return Markup('<p class="aside">This cannot be shown: {}.</p>').format(safe(outcome.problem[:1000]))
    return Markup(outcome.text)  # noqa: S704 (a template has made it, with escaping)


class _Firing(NamedTuple):
    """A rule that fires at a server."""

    rule: str
    findings: int
    known: Rule | None
    """None if this version has no such rule."""
    level: str
    """The level that the run gave it; empty if that is not known."""


def _firing(database: Database, name: str) -> list[_Firing]:
    """Return the rules that fire at a server, the most severe first."""
    rules = {rule.id: rule for rule in all_rules()}
    firing = [
        _Firing(rule, findings, known := rules.get(rule), level or ("" if known is None else known.level))
        for rule, findings, level in firing_rules(database, name)
    ]
    return sorted(firing, key=lambda rule: (_LEVELS.index(rule.level) if rule.level else 3, -rule.findings))


def _versions(runs: list[PastRun]) -> list[PastRun]:
    """The first run of each catalog in a row, the newest first; other runs saw the same."""
    listed = [run for run in runs if run.catalog is not None]
    later = [*listed[1:], None]
    return [run for run, before in zip(listed, later, strict=False) if before is None or before.catalog != run.catalog]


def _chosen(versions: list[PastRun], a: str, b: str) -> tuple[PastRun | None, PastRun | None]:
    """The versions that are compared: those that the user names, or the newest two."""
    by_uid = {run.uid: run for run in versions}
    if a in by_uid and b in by_uid:
        return by_uid[a], by_uid[b]
    newer, older, *_ = [*versions, None, None]
    return (older, newer) if older is not None else (None, None)


async def run_page(request: Request, uid: str) -> Response:
    """Show the whole report of a run: the page that `--format html` writes, with its own policy."""
    if not await run_in_threadpool(has_run, request.app.state.database, uid):
        raise HTTPException(404, "there is no such run")
    reader: StoreReader = request.app.state.reader
    outcome = await reader.read(client_of(request.scope), "page", (uid,), _report_of(request, uid))
    if outcome.problem:
        raise HTTPException(outcome.status, f"the report cannot be shown: {outcome.problem}")
    headers = {"content-security-policy": f"{content_policy('report.css', 'report.js')}; frame-ancestors 'none'"}
    # A page of one piece is sent whole, which a cache can keep; larger ones go in pieces.
    first, *others = islice(pieces(outcome.data), 2)
    if not others or not others[0]:
        return HTMLResponse(first, headers=headers)
    return StreamingResponse(pieces(outcome.data), media_type="text/html; charset=utf-8", headers=headers)


async def compare_page(request: Request, a: _Text = "", b: _Text = "") -> str:
    """Compare two servers: their numbers, and how their catalogs differ."""

    def facts() -> tuple[list[ListedServer | None], list[str | None], list[str]]:
        database: Database = request.app.state.database
        servers = [find_server(database, name) if name else None for name in (a, b)]
        newest = [None if server is None else newest_catalog(database, server.name) for server in servers]
        return servers, newest, server_names(database, _MOST_NAMES * 5)

    servers, newest, names = await run_in_threadpool(facts)
    changes = await _changes(request, *newest)
    values = {"a": a, "b": b, "servers": servers, "names": names, "most_names": _MOST_NAMES}
    return render("compare.html", request, **values, changes=changes)


def rules_page(request: Request) -> str:
    """List all rules by ruleset."""
    by_ruleset: dict[str, list[Any]] = {}
    for rule in all_rules():
        by_ruleset.setdefault(rule.ruleset, []).append(rule)
    return render("rules_list.html", request, rulesets=by_ruleset)


def rule_page(request: Request, id: str) -> str:
    """Show one rule with its cases."""
    try:
        rule = find_rule(id)
    except UsageError as error:
        raise HTTPException(404, error.message) from None
    cases = cases_of(rule)
    return render("rule.html", request, rule=rule, facts=facts_of(rule), cases=cases, sentence=sentence)


def asset_file(request: Request, name: str) -> Response:
    """Return a style sheet or a script."""
    file = asset(name)
    if file is None:
        raise HTTPException(404)
    headers = {"etag": file.tag, "cache-control": "public, max-age=3600"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.text, media_type=file.media_type, headers=headers)
