"""Every rule does what its cases say: those that explain it to users."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.clients.fix import fix_for_clients
from mcproof.checks.clients.hits import ClientChecks
from mcproof.checks.clients.profiles import ClientChoice, choose_clients, known_profiles
from mcproof.checks.diff.lock import drift_against
from mcproof.checks.engine import check
from mcproof.checks.fixes import fix_snapshot
from mcproof.checks.rule import Rule, all_rules
from mcproof.checks.rulebook import METHODS, RuleCase, cases_of
from mcproof.checks.subjects import Observed, RuleCrash, observed_by_reading
from mcproof.client.peer import Peer
from mcproof.core.catalog.model import Neighbour
from mcproof.core.observations.connection import ObservedConnection, ProcessEnd
from mcproof.core.text.json_document import splice
from mcproof.probing.probes.promises import PROBES
from mcproof.source.python.pipeline import configuration_of, flows_of
from mcproof.targets.folders import read_source
from mcproof.targets.snapshots import read_snapshot

from .facts import built_facts
from .trials import tried

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.core.catalog.model import Catalog

ALL = [
    (rule, kind, case)
    for rule in all_rules()
    for kind, cases in zip(("bad", "good"), cases_of(rule), strict=True)
    for case in cases
]


EVERY_CLIENT = ClientChecks(ClientChoice(known_profiles()).all_active(), "weather")
"""Every constraint of every client, also those that only named clients have."""


def each(kind: str) -> pytest.MarkDecorator:
    chosen = [(rule, case) for rule, of_kind, case in ALL if of_kind == kind]
    return pytest.mark.parametrize(("rule", "case"), chosen, ids=[f"{rule.id}: {case.title}" for rule, case in chosen])


def each_fixed() -> pytest.MarkDecorator:
    chosen = [(rule, case) for rule, _, case in ALL if case.fixed is not None]
    return pytest.mark.parametrize(("rule", "case"), chosen, ids=[f"{rule.id}: {case.title}" for rule, case in chosen])


def rules_to_run(rule: Rule) -> list[Rule]:
    """The rule alone, or, where it speaks of how others fared, all of them."""
    return all_rules() if rule.subject is RuleCrash else [rule]


def findings(rule: Rule, text: str) -> list[Finding]:
    connection = asyncio.run(connection_of({})) if rule.ruleset == "wire" else None
    catalog = read_snapshot(text.encode(), "case.json", connection=connection)
    found = check(catalog, rules_to_run(rule), EVERY_CLIENT, observed_by_reading(catalog))
    return [finding for finding in found if finding.rule.id == rule.id]


def pointers(rule: Rule, case: RuleCase) -> list[str]:
    """Where a rule fires on a case."""
    if case.crash is not None:
        return [problem.at or "" for problem in rule.check(RuleCrash(**case.crash))]
    if case.wire is not None and rule.ruleset == "compat":
        connection = asyncio.run(connection_of(case.wire))
        catalog = read_snapshot(b'{"tools": [{"name": "one"}]}', "case.json", connection=connection)
        return [finding.pointer for finding in check(catalog, [rule], EVERY_CLIENT)]
    if case.wire is not None:
        return [problem.at for problem in rule.check(asyncio.run(connection_of(case.wire)))]
    if case.trial is not None:
        return [problem.at for problem in rule.check(tried(case.trial))]
    if case.facts is not None:
        return [problem.at for fact in built_facts(case.facts) for problem in rule.check(fact)]
    if case.before is not None:
        catalog, before = (
            read_snapshot(json.dumps(each).encode(), "case.json") for each in (case.catalog, case.before)
        )
        return [
            finding.pointer for finding in check(catalog, [rule], observed=Observed((drift_against(catalog, before),)))
        ]
    if case.neighbours is not None:
        catalog = read_snapshot(json.dumps(case.catalog).encode(), "case.json")
        neighbours = tuple(Neighbour(server, tuple(tools)) for server, tools in case.neighbours.items())
        return [finding.pointer for finding in check(catalog, [rule], observed=Observed(neighbours=neighbours))]
    if case.source is not None:
        with TemporaryDirectory() as folder:
            catalog = source_catalog(case.source, folder)
            assert catalog.source is not None
            observed = Observed((flows_of(catalog.source), configuration_of(catalog.source, folder)))
            return [finding.pointer for finding in check(catalog, [rule], observed=observed)]
    assert case.snapshot is not None
    return [finding.pointer for finding in findings(rule, case.snapshot)]


def source_catalog(text: str, folder: str) -> Catalog:
    """The catalog of a Python file beside one that registers a tool."""
    good = "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('x')\n@mcp.tool()\ndef one() -> str:\n    'One.'\n"
    Path(folder, "good.py").write_text(good, encoding="utf-8")
    Path(folder, "server.py").write_text(text, encoding="utf-8")
    return read_source(folder)


async def connection_of(shown: dict[str, Any]) -> ObservedConnection:
    """What a connection shows on which a server sends these lines, in answer to one request."""

    async def drop(_: bytes) -> None:
        pass

    peer = Peer(drop)
    if "sends" in shown:
        request = asyncio.create_task(peer.request("tools/list", None))
        await asyncio.sleep(0)
        for line in shown["sends"]:
            peer.receive(line.encode())
            await asyncio.sleep(0)
        await request
    for kind, detail in shown.get("anomalies", {}).items():
        peer.note(kind, detail)
    ending = shown.get("ending")
    return ObservedConnection(
        "stdio",
        shown.get("era", "handshake"),
        "2025-11-25",
        shown.get("agreed", "2025-11-25"),
        shown.get("seconds_to_response", 0.1),
        tuple(peer.anomalies),
        tuple(shown.get("unserved", {}).items()),
        None if ending is None else ProcessEnd(ending, 0),
        shown.get("tool_pages", 1),
    )


def fixed_text(rule: Rule, text: str) -> str:
    catalog = read_snapshot(text.encode(), "case.json")
    if rule.ruleset == "compat":
        edits = fix_for_clients(catalog, choose_clients(known_profiles()), {0: {rule.id}}).edits
        return splice(catalog.document.text, edits)
    return fix_snapshot(catalog, check(catalog, [rule])).text


@each("bad")
def test_a_bad_case_is_found_exactly_where_it_says(rule: Rule, case: RuleCase) -> None:
    assert case.at
    assert pointers(rule, case) == list(case.at)


@each("good")
def test_a_good_case_is_silent(rule: Rule, case: RuleCase) -> None:
    assert not case.at
    assert case.fixed is None
    assert pointers(rule, case) == []


@each("bad")
def test_a_case_offers_a_fix_exactly_where_it_shows_one(rule: Rule, case: RuleCase) -> None:
    if case.snapshot is not None:
        offered = {finding.fix is not None for finding in findings(rule, case.snapshot)}
        if rule.ruleset == "compat" and case.tool is not None:  # fixed as a whole, not finding by finding
            offered = {fixed_text(rule, case.snapshot) != case.snapshot}
        assert offered == {case.fixed is not None}


@each_fixed()
def test_a_fix_gives_exactly_the_tool_that_the_case_shows(rule: Rule, case: RuleCase) -> None:
    assert case.snapshot is not None
    [tool] = json.loads(fixed_text(rule, case.snapshot))["tools"]
    assert json.dumps(tool) == json.dumps(case.fixed), "the same members in the same order"


@each_fixed()
def test_what_was_fixed_is_found_no_more(rule: Rule, case: RuleCase) -> None:
    assert case.snapshot is not None
    assert findings(rule, fixed_text(rule, case.snapshot)) == []


@each_fixed()
def test_a_second_fix_changes_nothing(rule: Rule, case: RuleCase) -> None:
    assert case.snapshot is not None
    once = fixed_text(rule, case.snapshot)
    assert fixed_text(rule, once) == once


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_a_rule_shows_a_fix_if_and_only_if_it_has_one(rule: Rule) -> None:
    cases = cases_of(rule)
    assert any(case.fixed is not None for case in cases.bad) == rule.fixable


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if rule.fixable], ids=lambda rule: rule.id)
def test_a_rule_with_a_fix_also_shows_what_is_left_to_the_author(rule: Rule) -> None:
    assert any(case.fixed is None for case in cases_of(rule).bad)


@pytest.mark.parametrize(
    ("rule", "case"), [(rule, case) for rule, _, case in ALL], ids=[f"{r.id}: {case.title}" for r, _, case in ALL]
)
def test_a_case_has_a_title_and_exactly_one_subject(rule: Rule, case: RuleCase) -> None:
    subjects: list[Any] = [
        case.tool,
        case.catalog,
        case.text,
        case.crash,
        case.wire,
        case.trial,
        case.source,
        case.facts,
        case.tools,
        case.length,
        case.levels,
    ]
    assert sum(subject is not None for subject in subjects) == 1
    assert case.title[0] == case.title[0].lower()
    assert not case.title.endswith(".")
    assert case.shown


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_the_titles_of_a_rule_tell_its_cases_apart(rule: Rule) -> None:
    bad, good = cases_of(rule)
    titles = [case.title for case in [*bad, *good]]
    assert len(titles) == len(set(titles))


def test_a_page_names_the_methods_that_the_probes_ask_for() -> None:
    assert {each.name: each.method for each in PROBES if each.method} == METHODS


def test_a_trial_is_shown_as_what_was_sent_and_what_came_back() -> None:
    sent = {"name": "find_book", "arguments": {}}
    tool = {"name": "find_book", "outputSchema": {}}
    trial = {"probe": "baseline", "revision": "2025-06-18", "tool": tool, "sent": sent, "answer": {"result": {}}}
    assert RuleCase("", trial=trial).shown.splitlines() == [
        'tool: {"name": "find_book", "outputSchema": {}}',
        "revision: 2025-06-18",
        'sent: tools/call {"name": "find_book", "arguments": {}}',
        'answer: {"result": {}}',
    ]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [("crash", "(none: the server exited)"), ("hang", "(none before the timeout)"), ("oops", "oops")],
)
def test_a_trial_without_an_answer_says_what_came_instead(answer: str, shown: str) -> None:
    trial = {"probe": "not_json", "sent": "this is not JSON", "answer": answer}
    assert RuleCase("", trial=trial).shown == f"sent: this is not JSON\nanswer: {shown}"
