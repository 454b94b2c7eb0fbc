"""Differences between fastmcp and the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from packaging.version import Version

from mcproof.source.framework_tables import traits_of
from mcproof.source.python.frameworks.fastmcp import parsed_docstring

from .sources import found, tool

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
from typing import *
from fastmcp import Context, FastMCP
from fastmcp.dependencies import CurrentContext, Depends
from pydantic import BaseModel, Field
mcp = FastMCP("x")
class Inner(BaseModel):
    a: int = Field(title="Not A")
class Said(BaseModel):
    "Said by the model."
    a: int
"""


def served(tmp_path: Path, definition: str) -> dict[str, Any]:
    return tool(found(tmp_path, f"{SERVER}@mcp.tool\n{definition}\n"))


def test_the_input_schema_is_closed_and_has_no_titles(tmp_path: Path) -> None:
    assert served(tmp_path, "def f(a: int, b: str = 'x'): ...")["inputSchema"] == {
        "additionalProperties": False,
        "properties": {"a": {"type": "integer"}, "b": {"default": "x", "type": "string"}},
        "required": ["a"],
        "type": "object",
    }


def test_references_are_inlined(tmp_path: Path) -> None:
    schema = served(tmp_path, "def f(inner: Annotated[Inner, Field(description='In.')]): ...")["inputSchema"]
    assert "$defs" not in schema
    assert schema["properties"]["inner"] == {
        "description": "In.",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "type": "object",
    }


def test_references_in_an_explicit_output_schema_are_inlined(tmp_path: Path) -> None:
    text = "class Outer(BaseModel):\n    inner: Inner\n    more: str = os.getcwd()\n"
    text += "@mcp.tool(output_schema=Outer.model_json_schema())\ndef f() -> Outer: ...\n"
    result = found(tmp_path, f"import os\n{SERVER}{text}")
    schema = tool(result)["outputSchema"]
    assert "$defs" not in schema
    assert schema["properties"]["inner"]["properties"]["a"]["type"] == "integer"


@pytest.mark.parametrize("definitions", ["True", "{'A': True}", "{'A': {'$ref': '#/$defs/A'}}", "[1]"])
def test_recursive_references_stay(definitions: str, tmp_path: Path) -> None:
    schema = f"{{'type': 'object', '$defs': {definitions}, 'properties': {{'a': {{'$ref': '#/$defs/A'}}}}}}"
    result = found(tmp_path, f"{SERVER}@mcp.tool(output_schema={schema})\ndef f() -> dict: ...\n")
    assert tool(result)["outputSchema"]["properties"]["a"] == {"$ref": "#/$defs/A"}


def test_the_discriminator_of_a_union_is_required(tmp_path: Path) -> None:
    source = """
class One(BaseModel):
    kind: Literal["one"] = "one"
    discriminator: int
class Two(BaseModel):
    kind: Literal["two"] = "two"
@mcp.tool
def f(a: Annotated[One | Two, Field(discriminator="kind")], discriminator: One): ...
"""
    properties = tool(found(tmp_path, SERVER + source))["inputSchema"]["properties"]
    assert list(properties) == ["a", "discriminator"]
    assert [branch["required"] for branch in properties["a"]["oneOf"]] == [["discriminator", "kind"], ["kind"]]
    assert "discriminator" not in properties["a"]
    assert list(properties["discriminator"]["properties"]) == ["kind", "discriminator"]


@pytest.mark.parametrize(
    "parameter", ["ctx: Context", "c=CurrentContext()", "d: str = Depends(print)", "c: Context = None"]
)
def test_injected_parameters_are_hidden(parameter: str, tmp_path: Path) -> None:
    schema = served(tmp_path, f"def f(a: int, {parameter}): ...")["inputSchema"]
    assert list(schema["properties"]) == ["a"]


def test_the_title_is_derived_from_the_name(tmp_path: Path) -> None:
    assert served(tmp_path, "def list_all_files(): ...")["title"] == "List All Files"


def test_a_string_in_annotated_is_the_description(tmp_path: Path) -> None:
    schema = served(tmp_path, "def f(a: Annotated[str, 'What it is.']): ...")["inputSchema"]
    assert schema["properties"]["a"] == {"description": "What it is.", "type": "string"}


@pytest.mark.parametrize("kind", ["Annotated[str, 'words', Field(max_length=4)]", "list[Annotated[str, 'words']]"])
def test_a_string_beside_other_metadata_is_not_a_description(kind: str, tmp_path: Path) -> None:
    schema = served(tmp_path, f"def f(a: {kind}): ...")["inputSchema"]
    assert "words" not in str(schema)


def test_metadata_of_a_result_overrides_its_model(tmp_path: Path) -> None:
    assert served(tmp_path, "def f() -> Annotated[Said, Field(description='Own.')]: ...")["outputSchema"] == {
        "description": "Own.",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "type": "object",
    }


def test_the_docstring_describes_the_parameters(tmp_path: Path) -> None:
    found_tool = served(
        tmp_path,
        '''def f(a: int, b: Annotated[int, Field(description="Given.")]):
    """Does it.

    At length.

    Args:
        a: The first,
            indeed.
        b: Not this.

    Returns:
        Something.
    """''',
    )
    assert found_tool["description"] == "Does it.\n\nAt length."
    properties = found_tool["inputSchema"]["properties"]
    assert properties["a"]["description"] == "The first,\nindeed."
    assert properties["b"]["description"] == "Given."


def test_the_docstring_describes_a_parameter_with_a_described_model(tmp_path: Path) -> None:
    found_tool = served(
        tmp_path,
        '''def f(a: Said, b: Said | None, c: Annotated[Said, "Own."]):
    """Does it.

    Args:
        a: The first.
        b: The second.
        c: The third.
    """''',
    )
    properties = found_tool["inputSchema"]["properties"]
    assert [properties[name]["description"] for name in "abc"] == ["The first.", "The second.", "Own."]
    assert properties["b"]["anyOf"][0]["description"] == "Said by the model."


def test_results_are_wrapped_unless_they_are_objects(tmp_path: Path) -> None:
    assert served(tmp_path, "def f() -> int: ...")["outputSchema"] == {
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
        "type": "object",
        "x-fastmcp-wrap-result": True,
    }
    assert served(tmp_path, "def f() -> dict: ...")["outputSchema"] == {"additionalProperties": True, "type": "object"}
    assert "outputSchema" not in served(tmp_path, "def f(): ...")


DOCSTRINGS = {
    "Just words.": ("Just words.", {}),
    "Words.\n\nArgs:\n    a: A.\n    b (int, optional): B.": ("Words.", {"a": "A.", "b": "B."}),
    "Words.\n\nReturns:\n    It.": ("Words.", {}),
    "Words.\nArgs:\n    a: No blank line above.": ("Words.\nArgs:\n    a: No blank line above.", {}),
    "Words.\n\nArgs: none": ("Words.\n\nArgs: none", {}),
    "Words.\n\nParameters\n----------\na : int\n    A.\nb, c : str\n    Both.": (
        "Words.",
        {"a": "A.", "b": "Both.", "c": "Both."},
    ),
    "Words.\n\n:param a: A,\n    and more.\n:param int b: B.\n:returns: It.": (
        "Words.",
        {"a": "A,\nand more.", "b": "B."},
    ),
    "Words.\n\n```\nArgs:\n    a: In code.\n```": ("Words.\n\n```\nArgs:\n    a: In code.\n```", {}),
    "Args:\n    a: Only this.": (None, {"a": "Only this."}),
}


@pytest.mark.parametrize("text", DOCSTRINGS)
def test_docstrings_are_split_by_convention(text: str) -> None:
    assert tuple(parsed_docstring(text, traits_of("fastmcp", Version("4.1")))) == DOCSTRINGS[text]


HEADED = """Tell the time.

:param city: Where

FORMATS:
    as text"""


@pytest.mark.parametrize(("version", "names"), [("3.4", ["city"]), ("4.1", []), ("4.2", ["city"])])
def test_a_heading_that_names_no_section_hides_parameters_in_one_version_only(version: str, names: list[str]) -> None:
    assert list(parsed_docstring(HEADED, traits_of("fastmcp", Version(version))).parameters) == names


def test_prompts_and_resources_carry_their_tags(tmp_path: Path) -> None:
    text = '@mcp.prompt(tags={"b", "a"})\ndef p(): ...\n@mcp.resource("a://{b}", meta={"k": 1})\ndef t(b: int): ...\n'
    document = found(tmp_path, SERVER + text).document
    assert document["prompts"][0]["_meta"] == {"fastmcp": {"tags": ["a", "b"]}}
    assert document["resourceTemplates"][0]["_meta"] == {"k": 1, "fastmcp": {"tags": []}}


def test_a_prompt_argument_that_is_not_a_string_has_an_encoding_note(tmp_path: Path) -> None:
    text = '@mcp.prompt\ndef p(a: str, b: int, c: Annotated[str, Field(description="Sea")], d=None): ...\n'
    (prompt,) = found(tmp_path, SERVER + text).document["prompts"]
    hint = "Provide a value matching the following JSON schema: {}. Encode non-string values as JSON."
    assert [each.get("description") for each in prompt["arguments"]] == [
        None,
        hint.format('{"type":"integer"}'),
        "Sea\n\n" + hint.format('{"description":"Sea","type":"string"}'),
        None,
    ]
