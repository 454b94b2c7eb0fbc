"""Schemas of project classes that the differential test cannot cover: unknown parts, other frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .sources import found, tool

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.catalog.model import SourceMap

PRELUDE = """
import os
from dataclasses import dataclass, field
from typing import *
from annotated_types import Gt
from pydantic import *
T = TypeVar("T")
class Color(Enum):
    RED = "red"
class Box(BaseModel, Generic[T]):
    v: T
"""
SERVERS = {
    "mcp": "from mcp.server.mcpserver import MCPServer\nmcp = MCPServer('x')\n",
    "mcp1": "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('x')\n",
    "fastmcp": "from fastmcp import FastMCP\nmcp = FastMCP('x')\n",
}


def served(folder: Path, source: str, framework: str = "mcp") -> SourceMap:
    """Discover a server of this framework."""
    return found(folder, f"from enum import Enum\n{PRELUDE}{SERVERS[framework]}{source}")


def unknown_of(result: SourceMap) -> frozenset[str]:
    (only,) = result.tools
    return frozenset(only.unknown)


@pytest.mark.parametrize(
    "argument", ["Annotated[int, Field(ge=1)]", "Literal[Color.RED]", "Literal['a.b']", "conint(ge=1)", "os.PathLike"]
)
def test_a_generic_model_with_an_unknown_label_is_unknown(argument: str, tmp_path: Path) -> None:
    result = served(tmp_path, f"@mcp.tool()\ndef f(a: Box[{argument}]): ...\n")
    assert unknown_of(result) == {"/inputSchema/properties/a"}


def test_a_type_that_doubles_with_every_step_is_bounded(tmp_path: Path) -> None:
    steps = "\n".join(f"A{n + 1} = tuple[A{n}, A{n}]" for n in range(30))
    result = served(tmp_path, f"A0 = tuple[int, str]\n{steps}\n@mcp.tool()\ndef f(a: A30): ...\n")
    assert unknown_of(result)


@pytest.mark.parametrize("pair", ["[V{0}, V{0}]", "(V{0}, V{0})", "{{'a': V{0}, 'b': V{0}}}", "Two(a=V{0}, b=V{0})"])
def test_a_default_that_doubles_with_every_step_is_bounded(pair: str, tmp_path: Path) -> None:
    steps = "\n".join(f"V{n + 1} = {pair.format(n)}" for n in range(25))
    source = f"class Two(BaseModel):\n    a: Any\n    b: Any\nV0 = 1\n{steps}\n@mcp.tool()\ndef f(a: Any = V25): ...\n"
    assert unknown_of(served(tmp_path, source)) == {"/inputSchema/properties/a/default"}


@pytest.mark.parametrize("framework", SERVERS)
def test_unknown_parts_of_a_definition_move_with_it(framework: str, tmp_path: Path) -> None:
    source = """
class Inner(BaseModel):
    at: str = os.getcwd()
class Outer(BaseModel):
    inner: Inner
@mcp.tool()
def f(a: Outer, b: list[Inner]) -> Inner: ...
"""
    found_unknown = unknown_of(served(tmp_path, source, framework))
    inputs = {
        "/inputSchema/properties/a/properties/inner/properties/at/default",
        "/inputSchema/properties/b/items/properties/at/default",
    }
    expected = inputs if framework == "fastmcp" else {"/inputSchema/$defs/Inner/properties/at/default"}
    assert found_unknown == expected | {"/outputSchema/properties/at/default"}


def properties_of(result: SourceMap, side: str = "inputSchema") -> dict[str, Any]:
    properties: dict[str, Any] = tool(result)[side]["properties"]
    return properties


@pytest.mark.parametrize("generator", ["load()", "lambda name: name + os.getcwd()", "AliasGenerator(**load())"])
def test_names_by_an_unknown_alias_generator_are_unknown(generator: str, tmp_path: Path) -> None:
    source = f"""
from elsewhere import load
class Model(BaseModel):
    model_config = ConfigDict(alias_generator={generator})
    first_name: str
@mcp.tool()
def f(a: Model): ...
"""
    result = served(tmp_path, source)
    assert tool(result)["inputSchema"]["$defs"]["Model"]["properties"] == {}
    assert unknown_of(result) == {"/inputSchema/$defs/Model/properties", "/inputSchema/$defs/Model/required"}


def test_fastmcp_serializes_a_result_without_aliases(tmp_path: Path) -> None:
    source = """
class Model(BaseModel):
    model_config = ConfigDict(alias_generator=alias_generators.to_camel)
    first_name: str
@mcp.tool
def f(a: Model) -> Model: ...
"""
    result = served(tmp_path, source, "fastmcp")
    assert list(properties_of(result)["a"]["properties"]) == ["firstName"]
    assert list(properties_of(result, "outputSchema")) == ["first_name"]


TYPED = """
from typing_extensions import NotRequired, Required, TypedDict
class Part(TypedDict, total=False):
    a: Required[int]
    b: Annotated[str, Field(max_length=3)]
class Whole(Part):
    "Described."
    c: NotRequired[Annotated[int, Field(ge=1)]]
    d: Annotated[int, Field(ge=1)]
@mcp.tool()
def f() -> Whole: ...
"""


def test_the_first_sdk_creates_a_model_from_the_hints_of_a_typed_dictionary(tmp_path: Path) -> None:
    assert tool(served(tmp_path, TYPED, "mcp1"))["outputSchema"] == {
        "properties": {
            "a": {"title": "A", "type": "integer"},
            "b": {"default": None, "title": "B", "type": "string"},
            "c": {"default": None, "title": "C", "type": "integer"},
            "d": {"title": "D", "type": "integer"},
        },
        "required": ["a", "d"],
        "title": "Whole",
        "type": "object",
    }


def test_the_first_sdk_does_not_see_required_keys_in_late_annotations(tmp_path: Path) -> None:
    source = f"from __future__ import annotations\nfrom enum import Enum\n{PRELUDE}{SERVERS['mcp1']}{TYPED}"
    assert tool(found(tmp_path, source))["outputSchema"]["required"] == ["c", "d"]


def test_the_second_sdk_describes_a_typed_dictionary_as_it_is(tmp_path: Path) -> None:
    schema = tool(served(tmp_path, TYPED))["outputSchema"]
    assert schema["description"] == "Described."
    assert schema["required"] == ["a", "d"]
    assert schema["properties"]["b"] == {"maxLength": 3, "title": "B", "type": "string"}


def test_an_unknown_bound_of_all_strings_is_marked(tmp_path: Path) -> None:
    source = """
class Model(BaseModel):
    model_config = ConfigDict(str_max_length=len(os.getcwd()))
    a: str
@mcp.tool()
def f(a: Model): ...
"""
    assert unknown_of(served(tmp_path, source)) == {"/inputSchema/$defs/Model/properties/a/maxLength"}


WRITTEN = """
class Model(BaseModel):
    a: int
    hidden: str = Field("x", exclude=True)
    day: int = 1
    text: Annotated[int, PlainSerializer(lambda value: str(value), return_type=str)] = 1
    @field_serializer("day")
    def write_day(self, value) -> str: ...
    @computed_field
    @property
    def twice(self) -> int:
        "Twice it."
    @computed_field(description="Given.", alias="other")
    def times(self) -> Optional[float]: ...
class Child(Model):
    @computed_field(return_type=bool)
    @property
    def last(self): ...
@mcp.tool()
def f(a: Child) -> Child: ...
"""


def test_fastmcp_describes_the_serialized_result(tmp_path: Path) -> None:
    result = served(tmp_path, WRITTEN, "fastmcp")
    assert tool(result)["outputSchema"] == {
        "properties": {
            "a": {"type": "integer"},
            "day": {"type": "string"},
            "text": {"type": "string"},
            "twice": {"description": "Twice it.", "readOnly": True, "type": "integer"},
            "times": {
                "anyOf": [{"type": "number"}, {"type": "null"}],
                "description": "Given.",
                "readOnly": True,
            },
            "last": {"readOnly": True, "type": "boolean"},
        },
        "required": ["a", "twice", "times", "last"],
        "type": "object",
    }
    assert list(properties_of(result)["a"]["properties"]) == ["a", "hidden", "day", "text"]
    assert unknown_of(result) == {"/outputSchema/properties/day/default", "/outputSchema/properties/text/default"}


@pytest.mark.parametrize("framework", ["mcp", "mcp1"])
def test_the_sdk_describes_the_validated_result(framework: str, tmp_path: Path) -> None:
    properties = properties_of(served(tmp_path, WRITTEN, framework), "outputSchema")
    assert list(properties) == ["a", "hidden", "day", "text"]


@pytest.mark.parametrize(
    "body",
    [
        "a: int = '4'",
        "a: int = len(os.getcwd())",
        "a: int = 1\n    @field_validator('a')\n    def check(cls, value): ...",
        "a: int = 1\n    @computed_field\n    @property\n    def b(self) -> int: ...",
        "a: int = 1\n    model_config = ConfigDict(extra='allow')",
        "a: int = 1\n    model_config = ConfigDict(alias_generator=load())",
        "a: int = 1\n    def __init__(self): ...",
        "a: Union[int, float] = 1",
    ],
)
def test_an_instance_as_default_is_unknown_if_its_model_may_change_it(body: str, tmp_path: Path) -> None:
    source = f"""
from elsewhere import load
class Model(BaseModel):
    {body}
@mcp.tool()
def f(a: Model = Model()): ...
"""
    result = served(tmp_path, source)
    assert "default" not in properties_of(result)["a"]
    assert "/inputSchema/properties/a/default" in unknown_of(result)


def test_a_type_of_another_package_with_a_known_name_is_unknown(tmp_path: Path) -> None:
    source = "from elsewhere import Path, List\n@mcp.tool()\ndef f(a: Path, b: List[int]): ...\n"
    assert unknown_of(served(tmp_path, source)) == {"/inputSchema/properties/a", "/inputSchema/properties/b"}


UNHEARD = """
from elsewhere import Frame
class Model(BaseModel):
    frame: Frame
class Plain:
    frame: Frame
@mcp.tool()
def f() -> {}: ...
"""


@pytest.mark.parametrize("returned", ["Frame", "list[Frame]", "Plain"])
def test_an_unknown_type_may_have_no_output_schema(returned: str, tmp_path: Path) -> None:
    result = served(tmp_path, UNHEARD.format(returned))
    assert "outputSchema" not in tool(result)
    assert unknown_of(result) == {"/outputSchema"}


def test_a_model_with_an_unknown_type_has_an_output_schema(tmp_path: Path) -> None:
    result = served(tmp_path, UNHEARD.format("list[Model]"))
    assert list(tool(result)["outputSchema"]["$defs"]) == ["Model"]
    assert unknown_of(result) == {"/outputSchema/$defs/Model/properties/frame"}


@pytest.mark.parametrize(
    "made",
    [
        "Enum('Made', load())",
        "Enum('Made', {'A': load()})",
        "Enum('Made', ['A'], type=str)",
        "Enum('Made', ['A'], start=5)",
        "Enum('Made', [('A', 1, 2)])",
        "Enum(load(), ['A'])",
        "create_model(load(), x=(int, 1))",
        "create_model('Made', **load())",
    ],
)
def test_a_dynamic_type_of_unknown_parts_is_unknown(made: str, tmp_path: Path) -> None:
    source = f"from elsewhere import load\nMade = {made}\n@mcp.tool()\ndef f(a: Made): ...\n"
    assert unknown_of(served(tmp_path, source)) == {"/inputSchema/properties/a"}


def test_a_dynamic_model_with_a_base_is_unknown(tmp_path: Path) -> None:
    source = "Made = create_model('Made', __base__=Box, x=(int, 1))\n@mcp.tool()\ndef f(a: Made): ...\n"
    assert unknown_of(served(tmp_path, source)) == {"/inputSchema/$defs/Made"}


def test_an_unknown_bound_is_marked(tmp_path: Path) -> None:
    source = """
from decimal import Decimal
from elsewhere import most
@mcp.tool()
def f(a: int = Field(le=most), b: Optional[int] = Field(None, le=most), c: Decimal = Field(1, le=most)): ...
"""
    assert unknown_of(served(tmp_path, source)) == {
        "/inputSchema/properties/a/maximum",
        "/inputSchema/properties/b/anyOf/0/maximum",
        "/inputSchema/properties/c/anyOf/0/maximum",
    }


@pytest.mark.parametrize("kind", ["Union[str, *get_args(Things)]", "Annotated[Union[str, *get_args(Things)], Field()]"])
def test_a_union_of_types_that_are_unknown_is_unknown(kind: str, tmp_path: Path) -> None:
    source = f"from somewhere import Things\nKind = {kind}\n@mcp.tool()\ndef read(thing: Kind): ...\n"
    assert any("/properties/thing" in pointer for pointer in unknown_of(served(tmp_path, source, "fastmcp")))
