"""Signatures for the comparison with the SDK: every form of annotation, one line each."""

from __future__ import annotations

PRELUDE = '''
import collections.abc
import datetime
import ipaddress
import os
import re
import uuid
import zoneinfo
from dataclasses import KW_ONLY, InitVar, dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import *
from uuid import UUID

import annotated_types as at
from annotated_types import Gt, Len, MinLen
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, HttpUrl, PositiveInt, RootModel, SecretStr
from pydantic import Base64Bytes, Base64Str, ByteSize, Discriminator, IPvAnyAddress, JsonValue, PostgresDsn, Tag
from pydantic import Json, UrlConstraints, WithJsonSchema
from pydantic import PrivateAttr, computed_field, create_model
from pydantic import AliasChoices, AliasGenerator, AliasPath, StringConstraints, alias_generators
from pydantic import condecimal, confloat, conint, conlist, constr
from pydantic.alias_generators import to_camel, to_pascal
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import NotRequired, Required, TypedDict

mcp = MCPServer("table")


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(str, Enum):
    """Sizes."""
    S = "s"
    M = "m"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class One(Enum):
    ONLY = 1


class Mixed(Enum):
    A = 1
    B = "b"


class Address(BaseModel):
    street: str
    zip: str = Field("0", description="Zip", max_length=5)


class Person(BaseModel):
    """A person.

    With more.
    """
    name: str = Field(..., min_length=1)
    age: Optional[int] = None
    address: Address
    tags: list[str] = []
    meta: dict[str, Any] = Field(default_factory=dict)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int = 1


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow", title="Looser", json_schema_extra={"examples": [{"a": 1}]})
    a: int


class Child(Person):
    school: str


class Aliased(BaseModel):
    in_: str = Field(alias="in")


class Node(BaseModel):
    value: int
    children: list["Node"] = []


class Item(BaseModel):
    """The start of another definition's name, and nothing refers to it."""
    other: "Other"


class Other(BaseModel):
    """Mentions "$ref": '#/$defs/Item' in its text only."""
    items: "ItemList"


class ItemList(BaseModel):
    count: int


class Empty(BaseModel):
    pass


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


class Movie(TypedDict):
    """A movie."""
    title: str
    year: NotRequired[int]


class Partial(TypedDict, total=False):
    a: Required[int]
    b: str


class Whole(Partial):
    c: str
    d: NotRequired[int]


@dataclass
class Point:
    x: int
    y: int = 0
    label: str = field(default="p")
    tags: list[str] = field(default_factory=list)


@dataclass
class Doc:
    """Documented."""
    p: Point


class Names(RootModel[list[str]]):
    pass


T = TypeVar("T")
U = TypeVar("U")


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: int


class Both(BaseModel, Generic[T, U]):
    one: T
    other: U


class Holder(BaseModel, Generic[T]):
    page: Page[T]
    pages: Page[list[T]]


class Pair(BaseModel, Generic[T, U]):
    """A pair."""
    one: T
    other: U | None = None
    more: Optional[list[U]] = None


class Numbers(Page[int]):
    """Inherits what is filled in."""
    unit: str


class Swapped(Pair[U, T], Generic[T, U]):
    extra: T


class Titled(BaseModel, Generic[T]):
    model_config = ConfigDict(title="The title", extra="forbid")
    value: T


class Root(RootModel[list[T]], Generic[T]):
    """A root."""


class Wire(TypedDict, Generic[T]):
    """A wire."""
    value: T


@dataclass
class Slot(Generic[T]):
    """A slot."""
    value: T


Bound = TypeVar("Bound", bound=Address)
Either = TypeVar("Either", int, str)


class Limited(BaseModel, Generic[Bound, Either]):
    bound: Bound
    either: Either


def kebab(name: str) -> str:
    return name.replace("_", "-")


class Pascal(BaseModel):
    model_config = ConfigDict(alias_generator=to_pascal)
    first_name: str
    x1_y: int = 1
    named: Annotated[str, Field(alias="given")] = ""


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)
    first_name: str
    a_1b: int
    some_2_thing: int
    trailing_: int = 1
    xMLThing: int = 2
    read: str = Field(validation_alias="reads")
    written_as: str = Field(serialization_alias="writes")


class CamelChild(Camel):
    more_of_it: int


class Snake(BaseModel, alias_generator=alias_generators.to_snake):
    firstName: str
    HTTPServer: str
    fooBar2Baz: int = 1


class Upper(BaseModel):
    model_config = ConfigDict(alias_generator=lambda name: name.upper())
    first_name: str


class Shouted(BaseModel):
    model_config = ConfigDict(alias_generator=str.upper)
    first_name: str


class Kebab(BaseModel):
    model_config = ConfigDict(alias_generator=kebab, populate_by_name=True)
    first_name: str


class TwoWays(BaseModel):
    model_config = ConfigDict(alias_generator=AliasGenerator(validation_alias=to_camel, serialization_alias=to_pascal))
    first_name: str


class Choices(BaseModel):
    one: str = Field(validation_alias=AliasChoices("first", "uno"))
    two: str = Field(validation_alias=AliasPath("deep", 0))
    three: str = Field(alias="third", title="Third")


class Told(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)
    a: int
    """The a of it."""
    b: str = "x"

    """
    The b
      of it.
    """
    c: int = Field(1, description="given")
    """Not this."""
    d: int


class ToldAgain(Told):
    a: int
    e: Address
    """The e of it."""


class Untold(BaseModel):
    a: int
    """Nobody asked for this."""


class Bounded(BaseModel):
    model_config = ConfigDict(str_max_length=10, str_min_length=2)
    a: str
    b: Optional[str] = None
    c: dict[str, list[str]] = {}
    d: str = Field("abc", max_length=3)
    e: Literal["a"] = "a"
    f: Address


@dataclass
class Said:
    a: int
    b: int = field(default=4, metadata={"description": "bee", "ge": 1, "unheard": 2})
    c: list[int] = field(default_factory=list, metadata={"title": "Sea"})
    d: int = field(default=3, kw_only=True)
    e: int = field(default=3, init=False)
    f: int = field(init=False)
    h: Any = ...


@dataclass
class Given:
    a: InitVar[int]


@dataclass
class NamedOnly:
    a: int
    _: KW_ONLY
    b: int = 4


@dataclass
class NamedOnlyChild(NamedOnly):
    """Comes before what is named only."""
    c: str = "c"


@dataclass(slots=True)
class Slotted:
    a: int
    b: int = 1


@pydantic_dataclass(config=ConfigDict(extra="forbid", title="Configured"))
class Checked:
    a: int = Field(ge=1)
    b: Annotated[str, Field(max_length=2)] = "x"
    first_name: str = Field(default="", alias="firstName")


class Private(BaseModel):
    a: int = 1
    _b: int = 2
    _c: int = PrivateAttr(default=3)
    D: ClassVar[int] = 4


class Written(Private):
    name: str = Field("n", alias="Name", serialization_alias="nAme")
    color: Color = Color.RED
    ratio: float = 2
    day: date = date(2020, 1, 2)
    ratios: list[float] = [1, 2.5]
    inner: Optional[Private] = None


class Holding(BaseModel):
    one: Private = Private()
    two: Written = Written(Name="m", inner=Private(a=2))
    three: list[Private] = [Private()]
    four: Private = Field(default=Private(a=4))
    five: Point = Point(1, tags=["a"])


class Computed(BaseModel):
    a: int
    hidden: str = Field("x", exclude=True)

    @computed_field
    @property
    def twice(self) -> int: ...


class Spot(NamedTuple):
    """Not kept."""
    x: int
    label: Annotated[str, Field(description="What it is.")] = "here"


class Ids(RootModel[list[int]]):
    """Ids."""
    root: list[int] = Field(min_length=1, description="Not this.")


class Filled(RootModel):
    root: dict[str, int] = {}


class Tuples(Enum):
    A = (1, "x")
    B = (2, "y")


class Twins(Enum):
    A = "a"
    B = "a"
    C: str = "c"


Numbered = Enum("Numbered", ["X", "Y"])
Paired = Enum("Paired", {name.upper(): name for name in ("x", "y")}, type=str)
Lettered = StrEnum("Lettered", ["X", "Y"])
Made = create_model("Made", __doc__="Made.", x=(int, 3), y=(Color, ...), z=(list[str], Field(max_length=2)))


def told(value: Any) -> str: ...


Owned = Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(told)]
Kept = Annotated[Union[Cat, Dog], Discriminator("kind")]
Prices = Page[Decimal]
UserId = NewType("UserId", int)
Short = Annotated[str, Field(max_length=3, description="short")]
DEFAULT = "dflt"


class Plain:
    """Plain."""
    x: Annotated[int, Field(ge=3)]
    y: str = "a"


class Bare: pass


@mcp.tool(title="A title", description="Given.", annotations=ToolAnnotations(title="Another", read_only_hint=True))
def annotated():
    """Not this."""
'''

PARAMETERS = [
    "a: int",
    "a: str = 'x'",
    "a: float = 1.5",
    "a: bool = False",
    "a: bytes",
    "a",
    "a = 1",
    "a=None",
    "a: None = None",
    "a: Any",
    "a: Any = None",
    "a: object",
    "a: list",
    "a: list[int]",
    "a: List[str] = []",
    "a: dict",
    "a: dict[str, int]",
    "a: Dict[str, Any] = {}",
    "a: dict[int, str]",
    "a: tuple",
    "a: tuple[int, str]",
    "a: tuple[int, ...]",
    "a: Tuple[()]",
    "a: set[int]",
    "a: frozenset[str]",
    "a: Sequence[int]",
    "a: Iterable[str]",
    "a: Mapping[str, int]",
    "a: collections.abc.Sequence[str]",
    "a: list[list[int]]",
    "a: list[dict[str, Any]]",
    "a: dict[str, list[int]]",
    "a: Optional[int] = None",
    "a: int | None = None",
    "a: Optional[int]",
    "a: Union[int, str]",
    "a: int | str | None = None",
    "a: Union[None, int]",
    "a: Optional[list[str]] = None",
    "a: Optional[Union[int, str]] = 3",
    "a: list[int | None]",
    "a: 'int'",
    "a: Literal['x']",
    "a: Literal['x', 'y'] = 'x'",
    "a: Literal[1, 2]",
    "a: Literal['x', 1, None]",
    "a: Optional[Literal['a', 'b']] = None",
    "a: list[Literal['a','b']]",
    "a: Literal[True]",
    "a: Literal[Color.RED]",
    "a: Literal['a', 'b'] | Literal['c']",
    "a: Color",
    "a: Color = Color.RED",
    "a: Optional[Size] = None",
    "a: Size = Size.S",
    "a: Level = Level.LOW",
    "a: One",
    "a: Mixed",
    "a: list[Color]",
    "a: dict[Size, int]",
    "a: dict[Literal['a','b'], int]",
    "a: datetime.datetime",
    "a: date = date(2024, 1, 2)",
    "a: datetime.datetime = datetime.datetime(2024, 1, 2, 3, 4)",
    "a: time = time(3, 4)",
    "a: date",
    "a: time",
    "a: timedelta",
    "a: UUID",
    "a: uuid.UUID",
    "a: Decimal",
    "a: Path",
    "a: Path = Path('x')",
    "a: AnyUrl",
    "a: HttpUrl",
    "a: SecretStr",
    "a: re.Pattern",
    "a: PositiveInt",
    "a: conint(ge=1, le=5)",
    "a: constr(min_length=2, pattern='^a')",
    "a: UserId",
    "a: Annotated[int, Field(ge=1, le=10)]",
    "a: Annotated[int, Field(gt=1, lt=10, multiple_of=2)] = 4",
    "a: Annotated[str, Field(min_length=1, max_length=5, pattern='^x')]",
    "a: Annotated[str, Field(description='d')]",
    "a: Annotated[str, Field(description='d', title='T', examples=['e'])]",
    "a: Annotated[str, Field(default='z')]",
    "a: Annotated[list[int], Field(min_length=1, max_length=3)]",
    "a: Annotated[Optional[int], Field(ge=1)] = None",
    "a: Optional[Annotated[int, Field(ge=1)]] = None",
    "a: Annotated[int | str, Field(ge=1)]",
    "a: Annotated[str, 'just words']",
    "a: Annotated[int, Gt(3)]",
    "a: Annotated[str, Len(1, 4)]",
    "a: Annotated[list[str], MinLen(2)]",
    "a: Annotated[str, StringConstraints(min_length=2)]",
    "a: Annotated[str, Field(json_schema_extra={'x-y': 1})]",
    "a: Annotated[str, Field(deprecated=True)]",
    "a: Annotated[dict[str, int], Field(min_length=1)]",
    "a: Short",
    "a: Short = 'a'",
    "a: list[Short]",
    "a: Annotated[Short, Field(min_length=1)]",
    "a: Annotated[int, at.Interval(ge=1, le=3)]",
    "a: int = Field(5, ge=1, description='n')",
    "a: int = Field(...)",
    "a: int = Field(description='n')",
    "a: Optional[str] = Field(None, description='n', max_length=4)",
    "a: list[str] = Field(default_factory=list, description='l')",
    "a: str = Field(default=DEFAULT)",
    "a: Annotated[int, Field(ge=1)] = Field(default=5, description='both')",
    "a: str = Field('x', alias='b')",
    "a: Optional[float] = Field(default=None, ge=0, le=1)",
    "a: Union[int, float] = Field(1, gt=0)",
    "a: Person",
    "a: Optional[Person] = None",
    "a: list[Person]",
    "a: dict[str, Address]",
    "a: Person, b: Address",
    "a: Union[Address, Strict]",
    "a: Strict = Strict()",
    "a: Loose",
    "a: Child",
    "a: Aliased",
    "a: Node",
    "a: Empty",
    "a: Annotated[Union[Cat, Dog], Field(discriminator='kind')]",
    "a: Annotated[Person, Field(description='p')]",
    "a: Page[int]",
    "a: Page[Person]",
    "a: Page[list[int]], b: Page[dict[str, str]], c: Page[int | None], d: Page[list[int]]",
    "a: Page[Optional[int]], b: Page[Union[int, str]]",
    "a: Page[Page[int]], b: Page[list[list[Person]]]",
    "a: Both[int, list[str]]",
    "a: Holder[int], b: Holder[str]",
    "a: Page[Literal['a', 'b']], b: Page[Literal[1, True, None]]",
    "a: Page[tuple[int, str]], b: Page[tuple[int, ...]], c: Page[Tuple[int, str]]",
    "a: Page[Annotated[int, Gt(1)]], b: Pair[PositiveInt, int], c: Page[Annotated[Person, 'words']]",
    "a: Page['Person'], b: Page[Any], c: Page[None], d: Page[HttpUrl], e: Page[datetime.datetime]",
    "a: Page[Iterable[str]], b: Page[List], c: Page[dict]",
    "a: Pair[int, str], b: Pair[int, Pair[str, Person]], c: list[Pair[Color, int]]",
    "a: Page, b: Pair, c: Limited",
    "a: Numbers, b: Swapped[int, str], c: Titled[int], d: Prices",
    "a: Root[int], b: Root",
    "a: Wire[int], b: Slot[Person], c: Slot",
    "a: UserId | None = None, b: conint(ge=1) | None = None",
    "a: Pascal",
    "a: Camel, b: CamelChild",
    "a: Snake",
    "a: Upper, b: Shouted, c: Kebab",
    "a: TwoWays, b: Choices",
    "a: Told, b: ToldAgain, c: Untold",
    "a: Bounded",
    "a: Said, b: Given",
    "a: NamedOnly, b: NamedOnlyChild",
    "a: Slotted, b: Checked",
    "a: int = ..., b: str = 'x'",
    "a: Private = Private(), b: list[Private] = [Private(a=5)], c: Private = Field(default=Private())",
    "a: Written = Written()",
    "a: Holding",
    "a: Computed",
    "a: Spot, b: Spot = Spot(1), c: list[Spot] = [Spot(2, label='z')], d: Optional[Spot] = None",
    "a: Decimal = Decimal(2), b: Path = Path('./x//y'), c: UUID = UUID('AAAAAAAA-0000-4000-8000-000000000000')",
    "a: SecretStr = SecretStr('x'), b: set[str] = {'b', 'a', 'c'}, c: bytes = b'abc', d: Path = Path('a', 'b')",
    "a: Base64Bytes, b: Base64Str, c: ByteSize, d: IPvAnyAddress, e: PostgresDsn, f: JsonValue, g: list[JsonValue]",
    "a: ipaddress.IPv4Interface, b: zoneinfo.ZoneInfo, c: os.PathLike, d: complex, e: Text, f: Counter[str]",
    "a: Ids, b: Filled, c: Tuples",
    "a: Owned, b: Kept",
    "a: Twins, b: Numbered, c: Paired, d: Lettered",
    "a: Made, b: Optional[Made] = None",
    "a: Type[int], b: re.Pattern[str]",
    "a: Annotated[Decimal, Field(ge=0, le=10)], b: Optional[Decimal] = Field(None, gt=0)",
    "a: Annotated[Union[int, float, None], Field(ge=0)] = None",
    "a: Annotated[str | list[str], Field(min_length=1)]",
    "a: Annotated[date, Field(gt=date(2020, 1, 1))], b: Annotated[object, Field(ge=3)] = None",
    "a: Annotated[HttpUrl, UrlConstraints(max_length=100)]",
    "a: Annotated[int, WithJsonSchema({'x': 1}), Field(title='B')]",
    "a: dict[Union[str, int], int], b: dict[UUID, int], c: dict[Annotated[str, Field(pattern='^x')], int]",
    "a: Json[list[int]], b: Json[Any]",
    "a: conlist(int, max_length=3), b: confloat(ge=0.5) = 1.0, *, c: condecimal(max_digits=3)",
    "a: float = float('inf')",
    "a: Names",
    "a: Optional[Names] = None",
    "a: Movie",
    "a: Partial",
    "a: Whole",
    "a: list[Movie]",
    "a: Point",
    "a: Doc",
    "a: Point | None = None",
    "a: Annotated[Movie, Field(description='m')]",
    "a: int, *, b: str",
    "a: int, *, b: str = 'x', c: float",
    "self_: int, schema: str",
    "json: str, copy: bool = True",
    "model_config_: int",
    "a_b_c: int, fooBar: str, URL: str, x1: int",
    "ctx: Context, a: int",
    "a: int, ctx: Context = None",
    "a: int, ctx: Optional[Context] = None",
    "a: int, ctx: Context | None = None",
    "",
    "a: int = -1",
    "a: float = 1e3",
    "a: list[str] = ['a', 'b']",
    "a: dict[str, int] = {'a': 1}",
    "a: tuple[int, int] = (1, 2)",
    "a: str = f'{DEFAULT}x'",
    "a: str = 'a' 'b'",
    "a: int = 2 * 3",
    "a: str = DEFAULT.upper()",
    "a: 'Optional[Person]' = None",
]
"""The parameters of one function each."""

RETURNS = [
    "",
    "None",
    "str",
    "int",
    "Any",
    "dict",
    "list",
    "dict[str, Any]",
    "dict[str, int]",
    "Dict[str, Any]",
    "Dict",
    "List[str]",
    "list[str]",
    "list[Person]",
    "Person",
    "Optional[Person]",
    "Optional[str]",
    "int | str",
    "Movie",
    "Partial",
    "Point",
    "Doc",
    "Plain",
    "Made",
    "list[Made]",
    "Numbered",
    "Ids",
    "Annotated[dict[str, int], Field(description='r')]",
    "Annotated[Person, Field(description='r')]",
    "Holding",
    "Computed",
    "Spot",
    "list[Spot]",
    "Said",
    "NamedOnlyChild",
    "Slotted",
    "Checked",
    "ToldAgain",
    "Bounded",
    "Bare",
    "Color",
    "Node",
    "list[Node]",
    "Item",
    "ItemList",
    "tuple[int, str]",
    "bytes",
    "datetime.datetime",
    "Path",
    "Annotated[str, Field(description='r')]",
    "Literal['a', 'b']",
    "float",
    "bool",
    "dict[int, str]",
    "Page[int]",
    "Page",
    "Numbers",
    "Pair[int, Person]",
    "list[Page[Person]]",
    "Page[int] | None",
    "Sequence[int]",
    "list[Any]",
    "Aliased",
    "TwoWays",
    "CamelChild",
    "Names",
    "UUID",
    "Decimal",
    "list[dict[str, Any]]",
    "set[str]",
]
"""The return annotation of one function each; empty for none."""


def source() -> str:
    """A server with one tool for each line of the tables."""
    parts = [PRELUDE]
    for number, parameters in enumerate(PARAMETERS):
        parts.append(f'@mcp.tool()\ndef takes_{number}({parameters}):\n    """Takes.\n\n    Indented.\n    """\n')
    for number, annotation in enumerate(RETURNS):
        arrow = f" -> {annotation}" if annotation else ""
        parts.append(f"@mcp.tool()\ndef returns_{number}(){arrow}: ...\n")
    return "\n".join(parts)
