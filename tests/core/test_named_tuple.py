"""`NamedTuple` does what the one of `typing` does."""

from __future__ import annotations

import copy
import pickle
import typing
from typing import Any, Generic, TypeVar

import pytest

from mcproof.core.named_tuple import NamedTuple

T = TypeVar("T")


class Place(NamedTuple):
    """Where something is."""

    file: str
    """The file."""
    line: int | None = None

    @property
    def is_known(self) -> bool:
        return self.line is not None


class Nothing(NamedTuple):
    """No fields."""


class Pair(NamedTuple, Generic[T]):
    first: T
    second: T


class Renamed(NamedTuple):
    """Fields with names that code around it may use."""

    cls: str
    new: str
    tuple: int = 3


class Marked(Place):
    """A class that inherits the fields."""

    mark = "!"


class Usual(typing.NamedTuple):
    file: str
    line: int | None = None


def test_fields_have_names_positions_and_defaults() -> None:
    place = Place("a.py")
    assert (place.file, place.line, place.is_known) == ("a.py", None, False)
    assert place == ("a.py", None)
    assert Place(file="a.py", line=3) == Place("a.py", 3)
    file, _ = place
    assert file == "a.py"
    assert Nothing() == ()
    assert Pair(1, 2).second == 2
    assert Renamed("a", new="b") == ("a", "b", 3)


def test_classes_say_the_same_about_themselves() -> None:
    assert (Place._fields, Place._field_defaults) == (Usual._fields, Usual._field_defaults)
    assert typing.get_type_hints(Place) == typing.get_type_hints(Usual)
    assert repr(Place("a.py", 3)) == "Place(file='a.py', line=3)"
    match Place("a.py", 3):
        case Place(file, 3):
            assert file == "a.py"
        case _:
            pytest.fail("no match")


def test_values_are_changed_and_copied() -> None:
    place = Place("a.py", 3)
    assert place._replace(line=4) == Place("a.py", 4)
    assert type(place._replace(line=4)) is Place
    assert place._asdict() == {"file": "a.py", "line": 3}
    assert Place._make(["a.py", 3]) == place
    for same in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):  # noqa: S301 (our own)
        assert (same, type(same)) == (place, Place)


def test_a_class_that_inherits_has_the_same_fields() -> None:
    marked = Marked("a.py", line=3)
    assert (marked.line, marked.mark, type(marked)) == (3, "!", Marked)
    assert type(Place("a.py")) is Place


def test_wrong_arguments_are_errors() -> None:
    for _ in range(2):  # before and after the constructor is known
        with pytest.raises(TypeError):
            Place()  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            Place("a.py", 3, 4)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="column"):
        Place("a.py")._replace(column=3)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Place("a.py").other = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_value_of_a_class_is_made_alike(count: int) -> None:
    class Fresh(NamedTuple):
        first: int
        second: str = "b"

    for _ in range(count):
        made = Fresh(1), Fresh(1, "c"), Fresh(second="d", first=2)
    assert made == ((1, "b"), (1, "c"), (2, "d"))
    assert made[2].second == "d"


@pytest.mark.parametrize(
    ("items", "named"), [((), {}), ((1, "b", 3), {}), ((1,), {"first": 1}), ((1,), {"third": 1}), ((), {"second": "b"})]
)
def test_a_first_value_with_wrong_arguments_is_refused_as_any_other(items: Any, named: Any) -> None:
    class Fresh(NamedTuple):
        first: int
        second: str = "b"

    with pytest.raises(TypeError):
        Fresh(*items, **named)
    assert Fresh(1) == (1, "b")
    with pytest.raises(TypeError):
        Fresh(*items, **named)
