"""The fix, on schemas that nobody would write: it only ever tightens, and touches nothing but what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import jsonschema_rs
from hypothesis import assume, event, given, note
from hypothesis import strategies as st

from mcproof.checks.engine import check
from mcproof.checks.fixes import fix_snapshot
from mcproof.checks.rule import rules_of
from mcproof.core.text.json_document import JsonText
from mcproof.targets.snapshots import read_snapshot

from .layouts import as_objects, write
from .schemas import DOCUMENT, EndlessError, Instances, escaped, input_schemas, locations

if TYPE_CHECKING:
    from random import Random

    from mcproof.checks.findings import Finding

COMBINING = {"allOf", "anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef"}
seeds = st.randoms(use_true_random=True)


class Fix(NamedTuple):
    """A catalog before and after its fix."""

    before: str
    after: str
    found: list[Finding]
    left: list[Finding]

    @property
    def schema(self) -> Any:
        """The first tool's schema after the fix."""
        return json.loads(self.after)[0]["inputSchema"]


def findings(text: str) -> list[Finding]:
    return check(read_snapshot(text.encode(), "catalog.json"), rules_of("strict"))


def fix(text: str, *, keep_optional: bool = False) -> Fix:
    catalog = read_snapshot(text.encode(), "catalog.json")
    found = check(catalog, rules_of("strict"))
    after = fix_snapshot(catalog, found, keep_optional=keep_optional).text
    return Fix(text, after, found, findings(after))


def fix_schema(schema: Any, *, keep_optional: bool = False) -> Fix:
    return fix(catalog_text(schema), keep_optional=keep_optional)


def catalog_text(schema: Any) -> str:
    return json.dumps([{"name": "tool", "inputSchema": schema}])


@st.composite
def layouts(draw: st.DrawFn, schema: Any) -> str:
    """The catalog of a schema as editors and programs write it, or as nobody does."""
    value = [{"name": "tool", "inputSchema": schema}, {"name": "no parameters"}]
    style = draw(st.sampled_from(("compact", "one line", "wild", "", " ", "  ", "   ", "    ", "\t")))
    if style == "wild":
        return write(as_objects(value), draw(st.randoms(use_true_random=True))).text
    if style == "compact":
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    elif style == "one line":
        text = json.dumps(value)
    else:
        text = json.dumps(value, indent=style)
    text += draw(st.sampled_from(("", "\n", "\n\n ")))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(st.one_of(input_schemas(friendly=True), input_schemas()), seeds)
def test_what_the_tightened_schema_accepts_the_original_accepted(schema: Any, random: Random) -> None:
    tightened = fix_schema(schema).schema
    assume(tightened != schema)
    before, after = jsonschema_rs.Draft202012Validator(schema), jsonschema_rs.Draft202012Validator(tightened)
    likely_before, likely_after = Instances(schema, random), Instances(tightened, random)
    for _ in range(40):
        for instance in (likely_before.likely(), likely_after.likely()):
            if after.is_valid(instance):
                event("accepted by the tightened schema")
                note(f"schema: {json.dumps(schema)}\ntightened: {json.dumps(tightened)}\n{json.dumps(instance)}")
                assert before.is_valid(instance)


@given(input_schemas(unions=False, friendly=True), seeds)
def test_an_instance_with_every_declared_property_and_nothing_else_keeps_its_verdict(
    schema: Any, random: Random
) -> None:
    tightened = fix_schema(schema).schema
    assume(tightened != schema)
    try:
        instance = Instances(schema, random).complete()
    except EndlessError:
        assume(False)
    note(f"schema: {json.dumps(schema)}\ntightened: {json.dumps(tightened)}\n{json.dumps(instance)}")
    verdict = jsonschema_rs.Draft202012Validator(schema).is_valid(instance)
    event(f"complete instance accepted: {verdict}")
    assert jsonschema_rs.Draft202012Validator(tightened).is_valid(instance) == verdict


@given(input_schemas())
def test_untyped_and_unbounded_properties_are_the_same_before_and_after(schema: Any) -> None:
    fixed = fix_schema(schema)

    assert _of(fixed.found, "SCH-003", "SCH-004") == _of(fixed.left, "SCH-003", "SCH-004")


@given(input_schemas())
def test_nothing_is_left_that_could_be_fixed_and_fixing_again_changes_nothing(schema: Any) -> None:
    fixed = fix_schema(schema)

    assert [finding for finding in fixed.left if finding.fix] == []
    assert fix(fixed.after).after == fixed.after
    unfixable = [finding for finding in fixed.found if not finding.fix]
    assert _of(unfixable, "SCH-001", "SCH-002") == _of(fixed.left, "SCH-001", "SCH-002")


@given(input_schemas())
def test_only_closing_members_are_added_and_only_open_ones_replaced(schema: Any) -> None:
    fixed = fix_schema(schema)

    assert _without_additions(fixed.schema, schema) == schema
    assert list(json.loads(fixed.after)[0]) == ["name", "inputSchema"]
    for finding in fixed.found:
        if finding.fix:
            at_finding = _at(fixed.schema, finding.pointer.removeprefix("/inputSchema"))
            if finding.fix.key == "required":
                properties = at_finding["properties"]
                assert finding.fix.value == [name for name in properties if name in finding.fix.value]
                left_out = [properties[name] for name in properties if name not in finding.fix.value]
                assert all("$ref" in each for each in left_out), "only a reference can lead back to where it stands"
            else:
                assert tuple(finding.fix) == ("additionalProperties", False)
            assert at_finding[finding.fix.key] == finding.fix.value


@given(st.data())
def test_every_byte_outside_the_edits_stays_as_it_was(data: st.DataObject) -> None:
    text = data.draw(input_schemas().flatmap(layouts))
    fixed = fix(text)
    note(fixed.after)

    assert _without_edits(fixed) == text


@given(st.data())
def test_the_layout_makes_no_difference_to_what_is_fixed(data: st.DataObject) -> None:
    schema = data.draw(input_schemas())

    assert fix(data.draw(layouts(schema))).schema == fix_schema(schema).schema


@given(input_schemas())
def test_keep_optional_requires_only_what_has_no_default_and_does_not_admit_null(schema: Any) -> None:
    fixed = fix_schema(schema, keep_optional=True)
    for finding in fixed.found:
        if finding.rule.id != "SCH-001" or not finding.fix:
            continue
        pointer = finding.pointer.removeprefix("/inputSchema")
        properties = _at(schema, pointer)["properties"]
        required = _at(fixed.schema, pointer)["required"]
        assert required == [name for name in properties if name in required]
        for name, each in properties.items():
            place = f"{pointer}/properties/{escaped(name)}"
            accepts_null = _accepts(schema, place, None)
            if name in required:
                assert not (isinstance(each, dict) and "default" in each)
                assert not accepts_null
            elif isinstance(each, dict) and not COMBINING.intersection(each):
                assert accepts_null or "default" in each


@given(input_schemas())
def test_keep_optional_changes_nothing_but_the_new_lists(schema: Any) -> None:
    def without_lists(value: Any) -> Any:
        return _without_additions(value, schema, closing=("required",))

    assert without_lists(fix_schema(schema, keep_optional=True).schema) == without_lists(fix_schema(schema).schema)


def _of(found: list[Finding], *ids: str) -> list[tuple[str, str, str]]:
    return [(finding.rule.id, finding.pointer, finding.message) for finding in found if finding.rule.id in ids]


def _at(schema: Any, pointer: str) -> Any:
    return next(each for place, each in locations(schema) if place == pointer)


def _accepts(schema: Any, pointer: str, instance: Any) -> bool:
    """Whether the part of a schema at a pointer accepts an instance."""
    whole = {**schema, "$id": DOCUMENT}
    asking = {"$id": f"{DOCUMENT}.asking", "$defs": {"whole": whole}, "$ref": f"{DOCUMENT}#{quote(pointer)}"}
    return jsonschema_rs.Draft202012Validator(asking).is_valid(instance)


def _without_additions(after: Any, before: Any, closing: tuple[str, ...] = ("required", "additionalProperties")) -> Any:
    """The fixed value with what the fix put in taken out again; anything else that differs stays to be seen."""
    if isinstance(after, list) and isinstance(before, list) and len(after) == len(before):
        return [_without_additions(*pair, closing) for pair in zip(after, before, strict=True)]
    if not isinstance(after, dict) or not isinstance(before, dict):
        return after
    result = {}
    for key, value in after.items():
        if key not in before:
            if key not in closing:
                result[key] = value
        elif key == "additionalProperties" and value is False and before[key] in (True, {}) and key in closing:
            result[key] = before[key]
        else:
            result[key] = _without_additions(value, before[key], closing)
    return result


def _without_edits(fixed: Fix) -> str:
    """The fixed text with the inserted members cut out and the replaced values put back."""
    before, after = JsonText.parse(fixed.before, "before"), JsonText.parse(fixed.after, "after")
    edits = [f"{finding.item.pointer}{finding.pointer}/{finding.fix.key}" for finding in fixed.found if finding.fix]
    old, new = before.spans(edits), after.spans(edits)
    text = fixed.after
    for pointer in sorted(edits, key=lambda each: new[each].start, reverse=True):
        start, end = new[pointer].start, new[pointer].end
        if pointer in old:
            text = text[:start] + fixed.before[old[pointer].start : old[pointer].end] + text[end:]
        else:
            comma = text.rindex(",", 0, new[pointer].key)
            text = text[: len(text[:comma].rstrip(" \t\r\n"))] + text[end:]
    return text
