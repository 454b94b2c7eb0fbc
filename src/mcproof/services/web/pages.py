"""The pages for people: the dashboard, a server, a run, a comparison, the rules.

The lists they show come from `services.store.servers`; the page of a run is the one that `--format html` writes.
"""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from mcproof.checks.clients.profiles import known_profiles
from mcproof.checks.rule import VERDICTS, Rule, all_rules, find_rule
from mcproof.checks.rulebook import cases_of, facts_of, sentence
from mcproof.checks.scores.grade import LETTERS
from mcproof.core.errors import InputError, McproofError, UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.html.page import contract_matrix, document
from mcproof.report.phrases import CHANGE_WORDS
from mcproof.runs import execute
from mcproof.runs.requests import CatalogDocument, DiffRequest, SettingsSource, TargetSelection
from mcproof.runs.stored import read_run
from mcproof.services.store.queries import PastRun, history_of, newest_catalog, run_report, stored_catalog
from mcproof.services.store.servers import (
    ServerFilter,
    every_server,
    find_server,
    firing_rules,
    list_servers,
    recent_changes,
    recent_days,
    totals,
)
from mcproof.services.web.rendering import asset, grade_bars, render, score_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcproof.checks.findings import ReportedFinding
    from mcproof.services.store.database import Database


MOST = 200
"""How many changes a page shows."""


class CatalogChanges(NamedTuple):
    """The changes between two catalogs, what breaks callers first."""

    changes: list[ReportedFinding]
    total: int
    problem: str = ""
    """Why they cannot be compared."""

    @staticmethod
    def word(change: ReportedFinding) -> str:
        return CHANGE_WORDS[change.level]


def catalog_changes(old: str, new: str) -> CatalogChanges:
    """Compare two catalogs."""
    try:
        run = execute(DiffRequest(_selection(old), _selection(new), settings=SettingsSource(is_disabled=True)))
    except McproofError as error:
        return CatalogChanges([], 0, error.message)
    order = {"error": 0, "warning": 1, "note": 2}
    found = sorted(run.targets[0].findings, key=lambda each: order[each.level])
    return CatalogChanges(found[:MOST], len(found))


def _selection(text: str) -> TargetSelection:
    return TargetSelection(documents=(CatalogDocument("catalog", text.encode("utf-8", "surrogatepass")),))


_Text = Annotated[str, Query(max_length=500)]
_LEVELS = ("error", "warning", "note")
_HISTORY = 100
"""How many runs of a server its page shows."""


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
    kept = {key: value for key, value in request.query_params.items() if key != "cursor"}
    values = {key: value for key, value in {**kept, **changes}.items() if value}
    return f"?{urlencode(values)}" if values else "?"


def dashboard(request: Request) -> str:
    """Show every server, with charts of all of them and what changed since yesterday."""
    database: Database = request.app.state.database
    wanted = _filter(request)
    page = list_servers(database, wanted)
    counted = totals(database)
    days = [(each.day, each.mean) for each in recent_days(database) if each.mean is not None]
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
        for some in servers:
            yield _csv([_cell(getattr(server, key)) for key in _EXPORTED] for server in some)

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
        for some in servers:
            yield separator + ",\n".join(json.dumps({key: getattr(each, key) for key in _EXPORTED}) for each in some)
            separator = ",\n"
        yield "\n]}\n"

    headers = {"content-disposition": 'attachment; filename="servers.json"'}
    return StreamingResponse(parts(), media_type="application/json", headers=headers)


def server_page(request: Request, name: str, a: _Text = "", b: _Text = "") -> str:
    """Show a server: its newest state, what is wrong, its history, what changed between two runs, its badge."""
    database: Database = request.app.state.database
    server = find_server(database, name)
    if server is None:
        raise HTTPException(404, "there is no such server")
    history = history_of(database, name, _HISTORY)
    runs = list(reversed(history.runs))
    older, newer = _chosen(runs, a, b)
    changes = None
    if older is not None and newer is not None and older.catalog and newer.catalog:
        old, new = (stored_catalog(database, str(each.catalog)) for each in (older, newer))
        changes = catalog_changes(old, new)
    proof = next((each for each in runs if each.command == "prove" and not each.error), None)
    scores = [(each.started[:10], float(each.score)) for each in history.runs if each.score is not None]
    return render(
        "server.html",
        request,
        server=server,
        history=history,
        runs=runs,
        trend=score_line(scores),
        older=older,
        newer=newer,
        changes=changes,
        firing=_firing(database, name),
        reports=list({run.command: run for run in history.runs}.values())[::-1],
        proof=proof,
        promises=None if proof is None else contract_matrix(read_run(run_report(database, proof.uid), "the run")),
        base=str(request.base_url).rstrip("/"),
    )


class _Firing(NamedTuple):
    """A rule that fires at a server."""

    rule: str
    findings: int
    known: Rule | None
    """None if this version has no such rule."""


def _firing(database: Database, name: str) -> list[_Firing]:
    """Return the rules that fire at a server, the most severe first."""
    rules = {rule.id: rule for rule in all_rules()}
    firing = [_Firing(stored.rule, stored.findings, rules.get(stored.rule)) for stored in firing_rules(database, name)]
    return sorted(firing, key=lambda rule: (_LEVELS.index(rule.known.level) if rule.known else 3, -rule.findings))


def _chosen(runs: list[PastRun], a: str, b: str) -> tuple[PastRun | None, PastRun | None]:
    """The runs to compare: those that the user names, or the newest and the one before its catalog changed."""
    known = {run.uid: run for run in runs}
    if a in known and b in known:
        return known[a], known[b]
    listed = [each for each in runs if each.catalog is not None]
    older = next((each for each in listed if each.catalog != listed[0].catalog), None) or next(iter(listed[1:]), None)
    return (older, listed[0]) if older is not None else (None, None)


def run_page(request: Request, uid: str) -> Response:
    """Show the whole report of a run: the page that `--format html` writes, with its own policy."""
    try:
        data = run_report(request.app.state.database, uid)
    except InputError:
        raise HTTPException(404, "there is no such run") from None
    text = "".join(document(read_run(data, "the run")))
    policy = text.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    from html import unescape

    return HTMLResponse(text, headers={"content-security-policy": f"{unescape(policy)}; frame-ancestors 'none'"})


def compare_page(request: Request, a: _Text = "", b: _Text = "") -> str:
    """Compare two servers: their numbers, and how their catalogs differ."""
    database: Database = request.app.state.database
    servers = [find_server(database, name) if name else None for name in (a, b)]
    newest = [None if each is None else newest_catalog(database, each.name) for each in servers]
    changes = catalog_changes(newest[0], newest[1]) if newest[0] is not None and newest[1] is not None else None
    return render("compare.html", request, a=a, b=b, servers=servers, changes=changes)


def rules_page(request: Request) -> str:
    """List all rules by ruleset."""
    by_ruleset: dict[str, list[Any]] = {}
    for each in all_rules():
        by_ruleset.setdefault(each.ruleset, []).append(each)
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
    found = asset(name)
    if found is None:
        raise HTTPException(404)
    headers = {"etag": found.tag, "cache-control": "public, max-age=3600"}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.text, media_type=found.media_type, headers=headers)
