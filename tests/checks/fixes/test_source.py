"""Fixes of schemas that are literals in Python source: byte for byte, and only where they are certain."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from cli.running import document_of, fails, run, run_bytes
from mcproof.checks.engine import check
from mcproof.checks.fixes.source import FixedSource, fix_source
from mcproof.checks.rule import rules_of
from mcproof.targets.folders import read_source
from properties.schemas import input_schemas

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from mcproof.checks.findings import Finding

HEAD = """\
from mcp.server import Server
from mcp.types import Tool

server = Server("shop")

"""
LISTED = """\
@server.list_tools()
async def list_tools():
    return [{tools}]
"""


def server(schema: str, *, before: str = "", name: str = '"buy"') -> str:
    """A server with one tool that has this schema."""
    return HEAD + before + LISTED.format(tools=f"Tool(name={name}, inputSchema={schema})")


def fixed(folder: Path, text: str | bytes, *, keep_optional: bool = False) -> FixedSource:
    file = folder / "server.py"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return fixed_again(str(file), keep_optional=keep_optional)


def fixed_again(target: str, *, keep_optional: bool = False) -> FixedSource:
    catalog = read_source(target)
    return fix_source(catalog, check(catalog, rules_of("strict")), keep_optional=keep_optional)


def after(folder: Path, text: str | bytes) -> str:
    """The text after the fix; the same text where nothing was fixed."""
    found = fixed(folder, text)
    data = text if isinstance(text, bytes) else text.encode()
    return (found.files[0].after if found.files else data).decode()


# --- byte for byte ------------------------------------------------------------------------------------------------

LITERAL = '{"properties": {"n": {}}}'
TIGHT = '"required": ["n"], "additionalProperties": False'


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ('{"properties": {"n": {}}}', f'{{"properties": {{"n": {{}}}}, {TIGHT}}}'),
        ('{"properties": {"n": {}},}', f'{{"properties": {{"n": {{}}}}, {TIGHT},}}'),
        ('{ "properties" : {"n": {}} , }',
         '{ "properties" : {"n": {}} , "required" : ["n"], "additionalProperties" : False, }'),
        ('{"type":"object","properties":{"n":{}}}',
         '{"type":"object","properties":{"n":{}},"required":["n"],"additionalProperties":False}'),
        ("{'properties': {'n': {}}}", "{'properties': {'n': {}}, 'required': ['n'], 'additionalProperties': False}"),
        ('{"properties": ({"n": {}})}', f'{{"properties": ({{"n": {{}}}}), {TIGHT}}}'),
        ('{"properties": ({"n": {}} ) , }', '{"properties": ({"n": {}} ) , ' + TIGHT + ", }"),
        ('{"é": "ü", "properties": {"n": {}}}', f'{{"é": "ü", "properties": {{"n": {{}}}}, {TIGHT}}}'),
        ('{"properties": {"n": {}}, "additionalProperties": True}',
         '{"properties": {"n": {}}, "additionalProperties": False, "required": ["n"]}'),
        ('{"additionalProperties": {}, "properties": {"n": {}}}',
         '{"additionalProperties": False, "properties": {"n": {}}, "required": ["n"]}'),
        ('{"description": f"{1}", "properties": {"n": {}}}',
         f'{{"description": f"{{1}}", "properties": {{"n": {{}}}}, {TIGHT}}}'),
        ("{'properties': {\"it's\": {}}}",
         "{'properties': {\"it's\": {}}, 'required': ['it\\'s'], 'additionalProperties': False}"),
        ('{"properties": {"a\\tb": {}}}',
         '{"properties": {"a\\tb": {}}, "required": ["a\\tb"], "additionalProperties": False}'),
    ],
)  # fmt: skip
def test_a_new_item_is_written_as_its_neighbours_are(tmp_path: Path, before: str, expected: str) -> None:
    assert after(tmp_path, server(before)) == server(expected)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (
            '{\n        "type": "object",\n        "properties": {"n": {}},\n    }',
            '{\n        "type": "object",\n        "properties": {"n": {}},\n'
            '        "required": ["n"],\n        "additionalProperties": False,\n    }',
        ),
        (
            '{\n        "type": "object",\n        "properties": {"n": {}}\n    }',
            '{\n        "type": "object",\n        "properties": {"n": {}},\n'
            '        "required": ["n"],\n        "additionalProperties": False\n    }',
        ),
        (
            '{\n        "properties": {"n": {}}  # no comma, }\n        # the end\n    }',
            '{\n        "properties": {"n": {}},  # no comma, }\n'
            '        "required": ["n"],\n        "additionalProperties": False\n        # the end\n    }',
        ),
        (
            '{\n        "properties": {"n": {}},  # a comma\n    }',
            '{\n        "properties": {"n": {}},  # a comma\n'
            '        "required": ["n"],\n        "additionalProperties": False,\n    }',
        ),
        (
            '{"type": "object",\n     "properties": {"n": {}}}',
            '{"type": "object",\n     "properties": {"n": {}},\n'
            '     "required": ["n"],\n     "additionalProperties": False}',
        ),
        (
            '{\n        "type": "object", "properties": {"n": {}},  # both\n    }',
            f'{{\n        "type": "object", "properties": {{"n": {{}}}}, {TIGHT},  # both\n    }}',
        ),
        (
            '{\n        "properties": (  # kept\n            {"n": {}}  # kept\n        )  # kept\n    }',
            '{\n        "properties": (  # kept\n            {"n": {}}  # kept\n        ),  # kept\n'
            '        "required": ["n"],\n        "additionalProperties": False\n    }',
        ),
    ],
)
def test_items_on_lines_of_their_own_get_lines_of_their_own_and_comments_stay(
    tmp_path: Path, before: str, expected: str
) -> None:
    assert after(tmp_path, server(before)) == server(expected)


def test_tabs_and_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    text = server('{\n\t\t"properties": {"n": {}},\n\t}').replace("\n", "\r\n").encode()
    new = '\t\t"required": ["n"],\n\t\t"additionalProperties": False,\n'
    expected = server('{\n\t\t"properties": {"n": {}},\n' + new + "\t}")
    assert after(tmp_path, text) == expected.replace("\n", "\r\n")


def test_only_the_line_ends_around_a_literal_count_where_a_file_mixes_them(tmp_path: Path) -> None:
    text = HEAD.replace("\n", "\r\n") + server('{\n\t"properties": {"n": {}},\n}').removeprefix(HEAD)
    assert '"n": {}},\n\t"required": ["n"],\n\t"additionalProperties": False,\n}' in after(tmp_path, text)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "utf-8", "cp1252"])
def test_the_encoding_of_a_file_stays(tmp_path: Path, encoding: str) -> None:
    coding = "" if encoding.startswith("utf") else f"# -*- coding: {encoding} -*-\n"
    text = coding + server('{"title": "Größe", "properties": {"ß": {}}}')
    expected = text.replace('{"ß": {}}', '{"ß": {}}, "required": ["ß"], "additionalProperties": False')
    [file] = fixed(tmp_path, text.encode(encoding)).files
    assert file.after == expected.encode(encoding)


def test_a_name_that_the_encoding_does_not_have_is_not_written(tmp_path: Path) -> None:
    text = "# -*- coding: latin-1 -*-\n" + server('{"properties": {"\\u20ac": {}}}')
    assert fixed(tmp_path, text.encode("latin-1")).files == []


def test_text_beyond_ascii_before_the_edit_on_the_same_line_moves_nothing(tmp_path: Path) -> None:
    text = server('{"title": "日本語 𝄞", "properties": {"n": {"title": "ö"}}}', name='"buy", title="ñ"')
    assert after(tmp_path, text) == text.replace('"ö"}}}', f'"ö"}}}}, {TIGHT}}}')


def test_nested_literals_are_fixed_each_in_its_place(tmp_path: Path) -> None:
    before = '{"properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}'
    expected = (
        '{"properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"],'
        ' "additionalProperties": False}}, "required": ["a"], "additionalProperties": False}'
    )
    assert after(tmp_path, server(before)) == server(expected)


def test_a_list_too_long_for_a_line_gets_lines(tmp_path: Path) -> None:
    names = [f"parameter_{number}" for number in range(9)]
    properties = "".join(f'            "{name}": {{}},\n' for name in names)
    text = server(f'{{\n        "properties": {{\n{properties}        }},\n    }}')
    expanded = '        "required": [\n' + "".join(f'            "{name}",\n' for name in names) + "        ],\n"
    assert expanded in after(tmp_path, text)


def test_keep_optional_leaves_out_what_says_that_it_is(tmp_path: Path) -> None:
    text = server('{"properties": {"n": {"type": "string"}, "m": {"default": 1}}}')
    found = fixed(tmp_path, text, keep_optional=True)
    assert b'"required": ["n"]' in found.files[0].after
    assert found.made_required == 1


# --- whose literal it is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "schema"),
    [
        ('SCHEMA = {"properties": {"n": {}}}\n', "SCHEMA"),
        ('SCHEMA: dict = {"properties": {"n": {}}}\n', "SCHEMA"),
        ('PROPERTIES = {"n": {}}\nSCHEMA = {"properties": PROPERTIES, "type": "object"}\n', "SCHEMA"),
        ('N = {"type": "object", "properties": {"k": {}}}\n', '{"properties": {"n": N}, "required": []}'),
    ],
)
def test_a_constant_that_one_tool_uses_is_fixed_where_it_is_written(tmp_path: Path, before: str, schema: str) -> None:
    found = fixed(tmp_path, server(schema, before=before))
    assert [each.edits[-1].replacement.endswith('"additionalProperties": False') for each in found.files] == [True]
    assert fixed_left(found) == []


def fixed_left(found: FixedSource) -> list[Finding]:
    """What is still fixable once the files are written."""
    for each in found.files:
        with open(each.file, "wb") as file:
            file.write(each.after)
    return fixed_again(found.files[0].file).fixed


def test_a_constant_of_another_file_of_the_target_is_fixed_there(tmp_path: Path) -> None:
    (tmp_path / "schemas.py").write_text('SCHEMA = {"properties": {"n": {}}}\n', encoding="utf-8")
    (tmp_path / "server.py").write_text(server("SCHEMA", before="from schemas import SCHEMA\n"), encoding="utf-8")
    [file] = fixed_again(str(tmp_path)).files
    assert file.after.decode() == f'SCHEMA = {{"properties": {{"n": {{}}}}, {TIGHT}}}\n'
    assert fixed_again(str(tmp_path / "server.py")).files == []  # that file is not of the target


@pytest.mark.parametrize("name", ["Names.BUY", "NAME", "names.BUY"])
def test_a_tool_may_be_named_by_a_constant(tmp_path: Path, name: str) -> None:
    (tmp_path / "names.py").write_text('BUY = "buy"\n', encoding="utf-8")
    before = 'import names\nfrom enum import Enum\n\nNAME = "buy"\n\n\nclass Names(str, Enum):\n    BUY = "buy"\n\n\n'
    (tmp_path / "server.py").write_text(server('{"properties": {"n": {}}}', before=before, name=name), encoding="utf-8")
    assert len(fixed_again(str(tmp_path)).fixed) == 2


HANDLER = f"""\
class Handler:
    name = "buy"

    def tool(self):
        return Tool(name=self.name, inputSchema={LITERAL})


"""


def test_a_tool_may_be_named_by_an_attribute_of_its_class(tmp_path: Path) -> None:
    text = HEAD + HANDLER + LISTED.format(tools="Handler().tool()")
    assert after(tmp_path, text) == text.replace(LITERAL, f"{LITERAL[:-1]}, {TIGHT}}}")


@pytest.mark.parametrize(
    "more",
    ["class Other(Handler):\n    name = os.name\n\n\n", "def rename(handler):\n    handler.name = os.name\n\n\n"],
    ids=["a subclass", "an assignment"],
)
def test_an_attribute_that_may_be_another_name_elsewhere_settles_nothing(tmp_path: Path, more: str) -> None:
    found = fixed(tmp_path, f"import os\n{HEAD}{HANDLER}{more}" + LISTED.format(tools="Handler().tool()"))
    assert len(read_source(str(tmp_path / "server.py")).tools) == 1
    assert found.files == []


def test_tools_in_a_list_of_dicts_are_fixed(tmp_path: Path) -> None:
    tools = 'TOOLS = [{"name": "buy", "inputSchema": {"properties": {"n": {}}}}]\n\n\n'
    text = HEAD + tools + LISTED.format(tools="Tool(**each) for each in TOOLS")
    assert after(tmp_path, text) == text.replace('{"n": {}}}', f'{{"n": {{}}}}, {TIGHT}}}')


TWO = LISTED.format(tools='Tool(name="buy", inputSchema={0}), Tool(name="sell", inputSchema={1})')


@pytest.mark.parametrize(
    "text",
    [
        f"SCHEMA = {LITERAL}\n" + TWO.format("SCHEMA", "SCHEMA"),
        f"PROPERTIES = {LITERAL}\n" + TWO.format("PROPERTIES", "{'type': 'object', **PROPERTIES}"),
        f'SCHEMA = {LITERAL}\nOTHER = {{**SCHEMA, "title": "x"}}\n' + TWO.format("SCHEMA", "{'type': 'string'}"),
        f"SCHEMA = {LITERAL}\nSCHEMA['title'] = 'x'\n" + server("SCHEMA").removeprefix(HEAD),
        f"SCHEMA = {LITERAL}\nprint(SCHEMA)\n" + server("SCHEMA").removeprefix(HEAD),
        f"SCHEMA = OTHER = {LITERAL}\n" + server("SCHEMA").removeprefix(HEAD),
        f"def schema():\n    return {LITERAL}\n\n\n" + server("schema()").removeprefix(HEAD),
        f"def make(name):\n    return Tool(name=name, inputSchema={LITERAL})\n\n\n" + LISTED.format(tools='make("a")'),
        LISTED.format(tools=f'Tool(name=each, inputSchema={LITERAL}) for each in ("a", "b")'),
        LISTED.format(tools=f'Tool(name=each, inputSchema={LITERAL}) for each in ("a",)'),
        server('{**{"type": "object"}, "properties": {"n": {}}}').removeprefix(HEAD),
        server('{f"{"prop"}erties": {"n": {}}}'.replace('{"prop"}', "{'prop'}")).removeprefix(HEAD),
        server('{"prop" + "erties": {"n": {}}}').removeprefix(HEAD),
        server('dict(properties={"n": {}})').removeprefix(HEAD),
        server('{key: {"n": {}} for key in ["properties"]}').removeprefix(HEAD),
        server(f"{LITERAL} | {{'title': 'x'}}").removeprefix(HEAD),
        server('{"properties": {"n": {}}, "properties": {"n": {}}}').removeprefix(HEAD),
        server(f"__import__('copy').deepcopy({LITERAL}) if server else {LITERAL}").removeprefix(HEAD),
        "OPEN = True\n"
        + server('{"properties": {"n": {}}, "required": [], "additionalProperties": OPEN}').removeprefix(HEAD),
        server('{"properties": {"n": {}}, "required": [], "additionalProperties": {  # any\n}}').removeprefix(HEAD),
    ],
)
def test_nothing_is_changed_where_it_is_not_certain(tmp_path: Path, text: str) -> None:
    found = fixed(tmp_path, HEAD + text)
    catalog = read_source(str(tmp_path / "server.py"))
    assert catalog.tools  # it is discovered, and left alone anyway
    assert (found.files, found.fixed, found.made_required) == ([], [], 0)


MAYBE = '**({"debug": {}} if __import__("os").environ.get("DEBUG") else {})'


@pytest.mark.parametrize(
    "schema",
    [
        f'{{"properties": {{"n": {{}}, {MAYBE}}}}}',
        '{"properties": {"n": {}} if __import__("os").environ.get("DEBUG") else {}}',
        '{"properties": {"n": {}, **__import__("os").environ}}',
    ],
)
def test_a_property_that_is_only_sometimes_there_is_never_made_required(tmp_path: Path, schema: str) -> None:
    found = fixed(tmp_path, server(schema))
    assert (found.files, found.fixed, found.made_required) == ([], [], 0)


def test_a_property_in_doubt_keeps_no_other_object_from_being_fixed(tmp_path: Path) -> None:
    text = server(f'{{"properties": {{"inner": {LITERAL}, {MAYBE}}}}}')
    assert after(tmp_path, text) == text.replace(LITERAL, f"{LITERAL[:-1]}, {TIGHT}}}")


def test_a_signature_is_left_alone(tmp_path: Path) -> None:
    made = 'from mcp.server.fastmcp import FastMCP\nmcp = FastMCP("x")\n\n\n'
    text = made + '@mcp.tool()\ndef buy(n: dict) -> str:\n    return ""\n'
    assert fixed(tmp_path, text).files == []


def test_what_is_uncertain_does_not_keep_the_rest_from_being_fixed(tmp_path: Path) -> None:
    schemas = {"a": "SCHEMA", "b": LITERAL, "c": "SCHEMA"}
    tools = ", ".join(f'Tool(name="{name}", inputSchema={schema})' for name, schema in schemas.items())
    found = fixed(tmp_path, HEAD + f"SCHEMA = {LITERAL}\n" + LISTED.format(tools=tools))
    assert {finding.item.name for finding in found.fixed} == {"b"}


def test_a_change_that_shows_elsewhere_is_dropped_by_proof_and_the_others_are_made(tmp_path: Path) -> None:
    first = f'    first = Tool(name="a", inputSchema={LITERAL})\n'
    second = f'Tool(name="b", description=", ".join(first.inputSchema), inputSchema={LITERAL})'
    text = HEAD + LISTED.format(tools=f"first, {second}").replace("    return", f"{first}    return")
    found = fixed(tmp_path, text)
    assert {finding.item.name for finding in found.fixed} == {"b"}


def test_discovery_reads_the_files_again_once_a_proof_is_done(tmp_path: Path) -> None:
    fixed(tmp_path, server(LITERAL))
    assert read_source(str(tmp_path / "server.py")).tools[0].schema == {"properties": {"n": {}}}


# --- the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "server.py").write_bytes(server(LITERAL).encode())
    return tmp_path


def test_fix_prints_the_new_text_of_one_file(shop: Path) -> None:
    done = run_bytes("schema-lint", "src/server.py", "--fix", cwd=shop)
    assert done.stdout.decode() == server(f'{{"properties": {{"n": {{}}}}, {TIGHT}}}')
    assert (shop / "src" / "server.py").read_text(encoding="utf-8") == server(LITERAL)
    assert b"src/server.py: 1 optional parameter becomes required" in done.stderr


def test_fix_prints_a_file_as_it_is_where_nothing_is_certain(shop: Path) -> None:
    text = server("{**{}, 'properties': {'n': {'type': 'null'}}}").encode()
    (shop / "src" / "server.py").write_bytes(text)
    done = run_bytes("schema-lint", "src/server.py", "--fix", cwd=shop)
    assert (done.returncode, done.stdout) == (1, text)
    told = done.stderr.decode()
    assert "fixed 0 findings; left for the author: SCH-001 1, SCH-002 1 (2 in schemas that are not one literal" in told


def test_fix_of_a_folder_needs_write_or_diff(shop: Path) -> None:
    assert "--fix prints one file; for a folder of source use --write or --diff" in fails(
        "schema-lint", "src", "--fix", cwd=shop
    )


def test_diff_shows_what_would_change_and_changes_nothing(shop: Path) -> None:
    done = run("schema-lint", "src", "--diff", cwd=shop)
    assert done.returncode == 1
    assert done.stdout.startswith("--- src/server.py\n+++ src/server.py (fixed)\n@@ ")
    changed = [line for line in done.stdout.splitlines()[3:] if line[0] in "+-"]
    old = server(LITERAL).splitlines()[-1]
    assert changed == [f"-{old}", f"+{old.replace(LITERAL, LITERAL[:-1] + f', {TIGHT}}}')}"]
    assert (shop / "src" / "server.py").read_text(encoding="utf-8") == server(LITERAL)


def test_write_replaces_the_files_and_a_second_time_nothing(shop: Path) -> None:
    assert run("schema-lint", "src", "--fix", "--write", cwd=shop).returncode == 1  # `n` has no type
    once = (shop / "src" / "server.py").read_bytes()
    assert once.decode() == server(f'{{"properties": {{"n": {{}}}}, {TIGHT}}}')
    assert "fixed 0 findings" in run("schema-lint", "src", "--fix", "--write", cwd=shop).stderr
    assert (shop / "src" / "server.py").read_bytes() == once


def test_lint_mends_what_it_finds_as_schema_lint_does(shop: Path) -> None:
    literal = '{"type": "object", "properties": {"n": {"type": "string"}}}'
    (shop / "src" / "server.py").write_text(server(literal), encoding="utf-8")
    (shop / "mcproof.toml").write_text('rulesets = ["polish"]\n', encoding="utf-8")
    assert "1 can be fixed automatically: mcproof lint src --diff" in run("lint", "src", cwd=shop).stdout
    diff = run("lint", "src", "--diff", cwd=shop).stdout
    assert diff == run("schema-lint", "src", "--select", "SCH-001", "--diff", cwd=shop).stdout
    assert run("lint", "src", "--fix", "--write", cwd=shop).returncode in (0, 1)
    mended = f'{literal[:-1]}, "required": ["n"]}}'
    assert (shop / "src" / "server.py").read_text(encoding="utf-8") == server(mended)
    assert "MP004" not in run("lint", "src", cwd=shop).stdout


def test_lint_leaves_a_schema_alone_that_is_not_the_tools_own_literal(shop: Path) -> None:
    text = server("{**{}, 'type': 'object', 'properties': {'n': {'type': 'string'}}}")
    (shop / "src" / "server.py").write_text(text, encoding="utf-8")
    done = run("lint", "src", "--fix", "--write", cwd=shop)
    assert "fixed 0 findings" in done.stderr
    assert (shop / "src" / "server.py").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("words", [("--write",), ("--keep-optional",), ("--diff", "--report", "x.json")])
def test_lint_refuses_what_makes_no_sense_as_schema_lint_does(shop: Path, words: tuple[str, ...]) -> None:
    assert fails("lint", "src", *words, cwd=shop) == fails("schema-lint", "src", *words, cwd=shop)


def test_a_read_only_file_keeps_all_files_as_they_are(shop: Path) -> None:
    other = shop / "src" / "another.py"
    text = f"from mcp.types import Tool\nSELL = Tool(name='sell', inputSchema={LITERAL})\n"
    other.write_text(text, encoding="utf-8")
    tools = f"Tool(name='buy', inputSchema={LITERAL}), SELL"
    listed = f"from another import SELL\n{HEAD}{LISTED.format(tools=tools)}"
    (shop / "src" / "server.py").write_text(listed, encoding="utf-8")
    os.chmod(shop / "src" / "server.py", 0o444)
    done = run("schema-lint", "src", "--fix", "--write", cwd=shop)
    assert done.returncode == 2
    assert "server.py: is read-only; nothing was written" in done.stderr
    assert other.read_text(encoding="utf-8") == text


def test_a_literal_that_two_servers_of_a_folder_share_is_left_alone(shop: Path) -> None:
    (shop / "src" / "shared.py").write_text(f"SCHEMA = {LITERAL}\n", encoding="utf-8")
    for name in ("another", "server"):
        text = server("SCHEMA", before="from shared import SCHEMA\n", name=f'"{name}"')
        (shop / "src" / f"{name}.py").write_text(text, encoding="utf-8")
    run("schema-lint", "src", "--fix", "--write", cwd=shop)
    assert (shop / "src" / "shared.py").read_text(encoding="utf-8") == f"SCHEMA = {LITERAL}\n"


def test_two_servers_in_one_file_are_both_fixed(shop: Path) -> None:
    long = '{\n    "properties": {"n": {}},\n}'
    text = server(long) + server(long, name='"sell"').replace("server = ", "other = ").replace("@server", "@other")
    (shop / "src" / "server.py").write_text(text, encoding="utf-8")
    run("schema-lint", "src", "--fix", "--write", cwd=shop)
    assert (shop / "src" / "server.py").read_text(encoding="utf-8").count('"additionalProperties": False') == 2


def test_each_of_two_servers_in_a_folder_is_fixed(shop: Path) -> None:
    (shop / "src" / "another.py").write_text(server(LITERAL, name='"sell"'), encoding="utf-8")
    done = run("schema-lint", "src", "--fix", "--write", cwd=shop)
    assert "src/another.py: fixed 2 findings" in done.stderr
    assert "src/server.py: fixed 2 findings" in done.stderr
    for name in ("another", "server"):
        assert TIGHT in (shop / "src" / f"{name}.py").read_text(encoding="utf-8")


def test_the_report_offers_a_fix_only_for_literals(shop: Path) -> None:
    (shop / "src" / "server.py").write_text(HEAD + TWO.format(LITERAL, "dict(type='object')"), encoding="utf-8")
    document = document_of(run("schema-lint", "src", "--format", "json", cwd=shop), "lint")
    offered = {(each["tool"], each["rule"]): each["fix"] is not None for each in document["findings"]}
    assert offered["buy", "SCH-002"]
    assert not offered["sell", "SCH-002"]
    assert "mcproof schema-lint src --diff" in run("schema-lint", "src", cwd=shop).stdout


# --- any schema in any layout -------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Writes values as Python in a random layout."""

    random: Random

    def space(self) -> str:
        return self.random.choice(["", "", " ", "\n", "\r\n", "\t", "\n    ", "  # note, }\n", "  # é\r\n\t", " \\\n "])

    def write(self, value: Any) -> str:
        space = self.space
        if isinstance(value, dict) and value:
            items = [f"{self.string(key)}{space()}:{space()}{self.write(each)}" for key, each in value.items()]
            return self.wrapped("{" + space() + self.joined(items) + "}")
        if isinstance(value, list):
            return self.wrapped("[" + space() + self.joined([self.write(each) for each in value]) + "]")
        return self.wrapped(self.string(value) if isinstance(value, str) else repr(value))

    def joined(self, items: list[str]) -> str:
        last = self.random.choice([",", ""]) if items else ""
        return f"{self.space()},{self.space()}".join(items) + self.space() + last + self.space()

    def wrapped(self, text: str) -> str:
        return f"({self.space()}{text}{self.space()})" if self.random.random() < 0.1 else text

    def string(self, text: str) -> str:
        spelt = repr(text)
        if spelt[0] == "'" and '"' not in spelt and self.random.random() < 0.5:
            return f'"{spelt[1:-1]}"'
        return spelt


KEYWORDS = {
    *("allOf", "anyOf", "const", "dependencies", "dependentRequired", "dependentSchemas", "else", "enum", "if"),
    *("maxProperties", "minProperties", "not", "oneOf", "propertyNames", "then"),
}


def says_which_go_together(value: Any) -> bool:
    """Whether an object anywhere in a schema says more of its properties, which a fix of source leaves alone."""
    if isinstance(value, list):
        return any(map(says_which_go_together, value))
    if not isinstance(value, dict):
        return False
    has_false = isinstance(value.get("properties"), dict) and False in list(value["properties"].values())
    return has_false or not KEYWORDS.isdisjoint(value) or any(map(says_which_go_together, value.values()))


INTERPLAY = {
    "too many": '"maxProperties": 1',
    "not both": '"not": {"required": ["a", "b"]}',
    "one without the other": '"if": {"required": ["a"]}, "then": {"not": {"required": ["b"]}}',
    "one of two": '"oneOf": [{"required": ["a"]}, {"required": ["b"]}]',
    "an impossible name": '"propertyNames": {"enum": ["a"]}',
    "one needs another": '"dependentRequired": {"a": ["c"]}',
    "more than there are": '"minProperties": 3',
    "a whole value": '"enum": [{}, {"c": 1}]',
}


@pytest.mark.parametrize("more", INTERPLAY.values(), ids=INTERPLAY)
@pytest.mark.parametrize("command", ["lint", "schema-lint"])
def test_an_object_that_says_which_properties_go_together_is_left_alone(command: str, more: str, shop: Path) -> None:
    properties = '"properties": {"a": {"type": "string"}, "b": {"type": "string"}}'
    text = server(f'{{"type": "object", {properties}, {more}}}')
    (shop / "src" / "server.py").write_text(text, encoding="utf-8")
    run(command, "src", "--fix", "--write", cwd=shop)
    assert (shop / "src" / "server.py").read_text(encoding="utf-8") == text


def test_an_object_with_a_property_that_is_never_there_is_left_alone(shop: Path) -> None:
    text = server('{"type": "object", "properties": {"a": {"type": "string"}, "old": False}}')
    (shop / "src" / "server.py").write_text(text, encoding="utf-8")
    run("schema-lint", "src", "--fix", "--write", cwd=shop)
    assert (shop / "src" / "server.py").read_text(encoding="utf-8") == text


@given(schema=input_schemas(), random=st.randoms(use_true_random=True))
def test_whatever_the_layout_a_fix_does_what_the_rules_ask_and_a_second_one_nothing(
    tmp_path_factory: pytest.TempPathFactory, schema: Any, random: Random
) -> None:
    folder = tmp_path_factory.mktemp("any")
    text = server(Layout(random).write(schema))
    note(text)
    file = folder / "server.py"
    file.write_bytes(text.encode())
    catalog = read_source(str(file))
    found = check(catalog, rules_of("strict"))
    result = fix_source(catalog, found)
    wanted = [each for each in found if each.fix is not None]
    assert len(result.fixed) == len(wanted) or says_which_go_together(schema)
    for each in result.files:
        assert kept(each.text, each.edits)
        ast.parse(each.after)
        file.write_bytes(each.after)
    again = read_source(str(file))
    left = check(again, rules_of("strict"))
    assert told(left) == told([each for each in found if each not in result.fixed])
    assert fix_source(again, left).files == []


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    return sorted((each.rule.id, each.pointer) for each in findings)


def kept(text: str, edits: Any) -> bool:
    """Whether nothing but a value that allowed everything is taken away."""
    taken = [text[edit.start : edit.end] for edit in edits]
    return all(each in ("", "True") or each.strip("{} \t\r\n\\") == "" for each in taken)
