"""The fix as text and as a file: written like its surroundings, and all or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.checks.engine import check
from mcproof.checks.fixes import FixedSnapshot, fix_snapshot
from mcproof.checks.rule import rules_of
from mcproof.core.text.json_document import Edit, unified_diff
from mcproof.targets.snapshots import read_snapshot


def fix(text: str, *, keep_optional: bool = False) -> FixedSnapshot:
    catalog = read_snapshot(text.encode(), "catalog.json")
    return fix_snapshot(catalog, check(catalog, rules_of("strict")), keep_optional=keep_optional)


def fixed_schema(schema: Any, *, keep_optional: bool = False) -> Any:
    text = json.dumps([{"name": "t", "inputSchema": schema}])
    return json.loads(fix(text, keep_optional=keep_optional).text)[0]["inputSchema"]


COMPACT = '[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}}]'
ONE_LINE = (
    '[{"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, '
    '"b": {"type": "integer"}}}}]'
)
EXPANDED = """\
{
  "tools": [
    {
      "name": "t",
      "tags": [
        "one",
        "two"
      ],
      "inputSchema": {
        "type": "object",
        "properties": {
          "a": {
            "type": "integer"
          },
          "b": {
            "type": "integer"
          }
        }
      }
    }
  ]
}
"""
EXPANDED_FIXED = EXPANDED.replace(
    """
          }
        }
      }
""",
    """
          }
        },
        "required": [
          "a",
          "b"
        ],
        "additionalProperties": false
      }
""",
)


def test_in_compact_text_the_new_members_are_compact() -> None:
    assert fix(COMPACT).text == COMPACT.replace("}}}}]", '}},"required":["a","b"],"additionalProperties":false}}]')


def test_on_one_line_with_spaces_the_new_members_have_spaces() -> None:
    expected = ONE_LINE.replace("}}}}]", '}}, "required": ["a", "b"], "additionalProperties": false}}]')
    assert fix(ONE_LINE).text == expected


def test_between_expanded_lists_the_new_list_is_expanded() -> None:
    assert fix(EXPANDED).text == EXPANDED_FIXED


def test_between_lists_on_one_line_the_new_list_stays_on_one_line() -> None:
    text = EXPANDED.replace('[\n        "one",\n        "two"\n      ]', '["one", "two"]')
    expected = text.replace(
        "          }\n        }\n      }\n",
        '          }\n        },\n        "required": ["a", "b"],\n        "additionalProperties": false\n      }\n',
    )
    assert fix(text).text == expected


def test_tabs_stay_tabs() -> None:
    assert fix(EXPANDED.replace("  ", "\t")).text == EXPANDED_FIXED.replace("  ", "\t")


def test_lines_that_end_in_carriage_return_and_line_feed_are_joined_by_such_lines() -> None:
    assert fix(EXPANDED.replace("\n", "\r\n")).text == EXPANDED_FIXED.replace("\n", "\r\n")


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n", " \t"])
def test_the_end_of_the_file_is_kept(end: str) -> None:
    assert fix(COMPACT + end).text.endswith("}}]" + end)


@pytest.mark.parametrize("is_open", ["true", "{}", "{ }", "{\n}"])
def test_an_open_switch_is_replaced_where_it_stands(is_open: str) -> None:
    text = f'[{{"name": "t", "inputSchema": {{"additionalProperties" :  {is_open} , "type": "object"}}}}]'
    assert fix(text).text == text.replace(is_open, "false")


@pytest.mark.parametrize("value", ["true", "null", '"a"', "{}"])
def test_a_required_that_is_no_list_is_replaced_where_it_stands(value: str) -> None:
    text = (
        f'[{{"name": "t", "inputSchema": {{"required": {value}, "properties": {{"a": {{"type": "null"}}}}, '
        '"additionalProperties": false}}]'
    )
    assert fix(text).text == text.replace(f'"required": {value}', '"required": ["a"]')


@pytest.mark.parametrize("value", [None, "yes", 0, [], ["a"]])
def test_a_switch_that_is_neither_open_nor_absent_is_left_to_the_author(value: Any) -> None:
    schema = {"type": "object", "additionalProperties": value}
    assert json.dumps(fixed_schema(schema)) == json.dumps(schema)


def test_the_new_list_names_the_properties_in_the_order_of_their_declaration() -> None:
    names = ["zeta", "a b", "", 'quote"', "é", "~/", "alpha"]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    assert fixed_schema(schema)["required"] == names


def test_new_members_follow_the_last_one_and_the_order_of_keys_is_kept() -> None:
    schema = {"title": "T", "properties": {"b": {"type": "null"}}, "type": "object", "description": "D"}
    assert list(fixed_schema(schema)) == [*schema, "required", "additionalProperties"]


def test_letters_outside_ascii_are_written_as_letters_and_escapes_that_were_there_stay() -> None:
    text = '[{"name": "\\u00e9", "inputSchema": {"type": "object", "properties": {"\\u00e9": {"type": "null"}}}}]'
    assert fix(text).text == text.replace("}}}}]", '}}, "required": ["é"], "additionalProperties": false}}]')


def test_a_property_whose_name_is_half_a_character_can_be_required_and_written_to_a_file() -> None:
    text = '[{"name": "t", "inputSchema": {"type": "object", "properties": {"\\ud800": {"type": "null"}}}}]'
    written = fix(text).text.encode()
    assert json.loads(written)[0]["inputSchema"]["required"] == ["\ud800"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "null"}}, "required": [], "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "null"}}, "required": [], "unevaluatedProperties": False},
        {"type": "object", "required": ["x"], "additionalProperties": {"type": "integer"}},
        {"type": "object", "properties": {}, "additionalProperties": False},
        {"type": "string"},
        {},
    ],
)
def test_what_needs_no_fix_or_is_the_authors_is_left_as_it_is(schema: Any) -> None:
    text = json.dumps([{"name": "t", "inputSchema": schema}])
    assert fix(text) == FixedSnapshot(text, [], 0, 0)


def test_no_type_and_no_size_is_invented() -> None:
    schema = {"properties": {"a": {}, "b": {"type": "string"}, "c": {"type": "array"}}}
    fixed = fixed_schema(schema)
    assert fixed["properties"] == schema["properties"]
    assert "type" not in fixed


def test_every_tool_and_every_shape_of_snapshot_is_fixed_where_it_stands() -> None:
    tool = '{"name": "t", "inputSchema": {"type": "object", "properties": {}}}'
    fixed = tool.replace("{}}}", '{}, "additionalProperties": false}}')
    for around in ("[%s, 1, %s]", '{"tools": [%s, {"name": "n"}, %s]}', '{"id": 1, "result": {"tools": [%s, %s]}}'):
        done = fix(around % (tool, tool))
        assert (done.text, done.applied, done.made_required) == (around % (fixed, fixed), 2, 0)


def test_of_a_repeated_key_the_one_that_counts_is_fixed() -> None:
    text = '[{"name": "t", "inputSchema": {}, "inputSchema": {"type": "object", "properties": {}, "type": "object"}}]'
    assert fix(text).text == text.replace('"}}]', '", "additionalProperties": false}}]')


def test_it_counts_what_was_mended_and_what_became_required() -> None:
    fixed = fix(EXPANDED)
    assert (fixed.applied, fixed.made_required) == (2, 2)
    again = fix(fixed.text)
    assert again == FixedSnapshot(fixed.text, [], 0, 0)


def test_keep_optional_leaves_out_what_has_a_default_or_admits_null() -> None:
    schema = {
        "properties": {
            "plain": {"type": "integer"},
            "default": {"type": "integer", "default": None},
            "nullable": {"type": ["integer", "null"]},
            "null": {"type": "null"},
            "enum": {"enum": ["x", None]},
            "const": {"const": None},
            "union": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "one": {"oneOf": [{"$ref": "#/$defs/n"}, {"type": "integer"}]},
            "reference": {"$ref": "#/$defs/n"},
            "narrowed": {"type": ["integer", "null"], "enum": [1, 2]},
            "word": {"enum": ["null"]},
            "reference to plain": {"$ref": "#/properties/plain"},
        },
        "$defs": {"n": {"type": ["null", "integer"]}},
    }
    fixed = fixed_schema(schema, keep_optional=True)
    assert fixed["required"] == ["plain", "narrowed", "word", "reference to plain"]
    assert fixed["additionalProperties"] is False
    text = json.dumps([{"name": "t", "inputSchema": schema}])
    assert fix(text, keep_optional=True).made_required == 4


@pytest.mark.parametrize(
    "property_schema",
    [
        {"type": "integer", "anyOf": [{"type": ["integer", "null"]}]},
        {"allOf": [{"type": ["integer", "null"]}, {"type": "integer"}]},
        {"type": "integer", "$ref": "#/$defs/n"},
    ],
)
def test_null_that_one_part_names_and_another_excludes_is_not_admitted(property_schema: Any) -> None:
    schema = {"properties": {"a": property_schema}, "$defs": {"n": {"type": ["integer", "null"]}}}
    assert fixed_schema(schema, keep_optional=True)["required"] == ["a"]


def test_where_nothing_is_left_to_require_the_list_says_so() -> None:
    schema = {"properties": {"a": {"type": "integer", "default": 1}}}
    assert fixed_schema(schema, keep_optional=True)["required"] == []


def test_the_diff_shows_the_changed_lines_and_a_missing_last_line_end() -> None:
    assert "".join(unified_diff('{\n  "a": 1\n}', [Edit(9, 10, "2")], "f.json")) == (
        '--- f.json\n+++ f.json (fixed)\n@@ -1,3 +1,3 @@\n {\n-  "a": 1\n+  "a": 2\n }\n\\ No newline at end of file\n'
    )
    assert "".join(unified_diff("same\n", [], "f.json")) == ""


def applied(before: str, diff: list[str]) -> str:
    """The text that a diff makes of another, as `patch` would."""
    lines = before.split("\n")
    after: list[str] = []
    at = 0
    for line in "".join(diff).split("\n")[2:-1]:
        if line.startswith("@@"):
            first = int(line.split("-")[1].split(",")[0]) - 1
            after += lines[at:first]
            at = first
        elif line.startswith("+"):
            after.append(line[1:])
        elif not line.startswith("\\"):
            assert lines[at] == line[1:]
            after += [line[1:]] if line.startswith(" ") else []
            at += 1
    return "\n".join(after + lines[at:])


@pytest.mark.parametrize("indent", [None, 0, 1, 2, "\t"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("tools", [1, 2, 7])
def test_the_diff_makes_of_the_file_what_the_fix_makes_of_it(tools: int, end: str, indent: Any) -> None:
    inner = {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": True}
    schema = {"type": "object", "properties": {"x": inner, "y": {"type": "object", "required": [], "title": "t"}}}
    text = json.dumps([{"name": f"t{number}", "inputSchema": schema} for number in range(tools)], indent=indent) + end
    fixed = fix(text)
    assert fixed.text != text
    assert applied(text, list(unified_diff(text, fixed.edits, "f.json"))) == fixed.text
