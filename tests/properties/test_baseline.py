"""The baseline, on catalogs that nobody would write: order and layout change nothing, a new tool only itself."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import event, given
from hypothesis import strategies as st

from mcproof.checks.baseline import Baseline
from mcproof.checks.engine import check
from mcproof.checks.rule import choose_rules
from mcproof.checks.texts.model_texts import ModelTexts
from mcproof.targets.snapshots import read_snapshot

from .layouts import as_objects, scalars, write
from .schemas import input_schemas

if TYPE_CHECKING:
    from random import Random

    from mcproof.checks.findings import Finding

RULES = [rule for rule in choose_rules(["all"]) if rule.traits.in_lint and rule.subject is not ModelTexts]
"""Without the rules that sum up several tools in one finding, which a new tool changes."""
seeds = st.randoms(use_true_random=False)

names = st.sampled_from(("find_book", "find_book", "listBooks", "burn book", "", "tools[0]", "é/~0", "\ud800"))
texts = st.sampled_from(("", "find_book", "Find it.", "Find a book by the words of its title.", "x" * 3000))
odd = st.one_of(scalars, st.lists(scalars, max_size=2))


@st.composite
def tools(draw: st.DrawFn) -> Any:
    """A tool as servers send them, or nearly."""
    if draw(st.sampled_from((False,) * 9 + (True,))):
        return draw(odd)
    tool: dict[str, Any] = {}
    for key, values in (("name", names), ("description", texts)):
        if draw(st.sampled_from((True, True, True, True, False))):
            tool[key] = draw(st.one_of(values, values, values, odd))
    if draw(st.sampled_from((True, True, True, True, False))):
        tool["inputSchema"] = draw(st.one_of(input_schemas(), input_schemas(), odd))
    schema = tool.get("inputSchema")
    if isinstance(schema, dict) and draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(("a", "b", "c d", "x", "y", "z")), max_size=4))
    return tool


prompts = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "description": texts,
        "arguments": st.lists(st.fixed_dictionaries({"name": names}, optional={"description": texts}), max_size=3),
    },
)
resources = st.fixed_dictionaries({}, optional={"name": names, "uri": names, "description": texts, "mimeType": texts})


@st.composite
def catalogs(draw: st.DrawFn) -> dict[str, Any]:
    """A capture of everything that a server offers."""
    proper = {"name": "list_shelves", "inputSchema": {"type": "object"}}
    capture: dict[str, Any] = {"tools": [proper, *draw(st.lists(tools(), max_size=4))]}
    if draw(st.booleans()):
        capture["prompts"] = draw(st.lists(prompts, max_size=3))
        capture["resources"] = draw(st.lists(resources, max_size=3))
        capture["resourceTemplates"] = draw(st.lists(resources, max_size=2))
    return capture


def findings(text: str) -> list[Finding]:
    return check(read_snapshot(text.encode(), "tools.json"), RULES)


def shuffled(value: Any, random: Random, key: str = "") -> Any:
    """The same catalog in another order: of the items, of members, of what is required.

    Other lists have an order that means something.
    """
    if isinstance(value, dict):
        members = list(value.items())
        random.shuffle(members)
        return {name: shuffled(member, random, name) for name, member in members}
    if isinstance(value, list):
        entries = [shuffled(entry, random) for entry in value]
        if key in ("tools", "prompts", "resources", "resourceTemplates", "required"):
            random.shuffle(entries)
        return entries
    return value


def laid_out(value: Any, random: Random) -> str:
    style = random.choice(("compact", "indented", "wild"))
    if style == "wild":
        return write(as_objects(value), random).text
    return json.dumps(value, indent=random.choice((1, "\t"))) if style == "indented" else json.dumps(value)


def accepted(text: str, folder: str) -> Baseline:
    """A baseline that was written and read again, in which everything in a catalog is accepted."""
    file = str(Path(folder) / "base.json")
    baseline = Baseline(file, accepts_all=True)
    look(baseline, text)
    baseline.update()
    return Baseline.read(file)


def look(baseline: Baseline, text: str) -> list[Finding]:
    """Show a catalog to a baseline; what it does not accept comes back."""
    found = findings(text)
    answers = baseline.accept(read_snapshot(text.encode(), "tools.json"), found, [None] * len(found), RULES)
    return [finding for finding, answer in zip(found, answers, strict=True) if answer is None]


@given(catalogs(), seeds)
def test_order_and_layout_make_nothing_new_and_nothing_stale(catalog: dict[str, Any], random: Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        baseline = accepted(json.dumps(catalog), folder)
        assert look(baseline, laid_out(shuffled(catalog, random), random)) == []
        assert baseline.stale() == []


@given(catalogs(), input_schemas(), seeds)
def test_a_new_tool_brings_exactly_its_own_findings(catalog: dict[str, Any], schema: Any, random: Random) -> None:
    new = {"name": "brand new", "inputSchema": schema}
    before, after = findings(json.dumps(catalog)), findings(json.dumps({"tools": [new]}))
    own = [finding for finding in after if finding.item.kind == "tool"]
    event(f"{min(len(before), 50) // 10 * 10} or more accepted")
    with tempfile.TemporaryDirectory() as folder:
        baseline = accepted(json.dumps(catalog), folder)
        grown = {**catalog, "tools": [*catalog["tools"]]}
        grown["tools"].insert(random.randint(0, len(catalog["tools"])), new)
        found = look(baseline, laid_out(shuffled(grown, random), random))
        assert {finding.item.subject for finding in found} == {"tool:brand new"}
        assert sorted((each.rule.id, each.parameter or "") for each in found) == sorted(
            (each.rule.id, each.parameter or "") for each in own
        )
        assert baseline.stale() == []


@given(catalogs(), tools())
def test_a_tool_that_goes_leaves_exactly_its_own_findings_behind(catalog: dict[str, Any], tool: Any) -> None:
    text, left = (json.dumps({**catalog, "tools": [*more, *catalog["tools"]]}) for more in ([tool], []))
    with tempfile.TemporaryDirectory() as folder:
        baseline = accepted(text, folder)
        assert look(baseline, left) == []
        assert len(baseline.stale()) == len(findings(text)) - len(findings(left))
