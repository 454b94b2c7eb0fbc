"""Arguments of a call from `key=value` words, typed by the input schema of the tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from mcproof.core.errors import UsageError
from mcproof.core.schema.validation import Oracle
from mcproof.probing.generation.resolver import ConstraintResolver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.probing.generation.constraints import ArrayConstraints, ValueConstraints

_NO_VALUE: Any = object()


class PairParser:
    """Parses the arguments of one tool."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema if isinstance(schema, dict) else True
        self._resolver = ConstraintResolver(self._schema, Oracle(self._schema))

    def parse(self, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """The arguments; a repeated key gives a list. Raises a UsageError if the schema expects no list there."""
        texts: dict[str, list[str]] = {}
        for key, text in pairs:
            texts.setdefault(key, []).append(text)
        return {key: self._argument(key, values) for key, values in texts.items()}

    def _argument(self, key: str, texts: list[str]) -> Any:
        schemas = self._property(key)
        if len(texts) == 1:
            return self._value(texts[0], schemas)
        array = self._array(schemas)
        if array is None:
            raise UsageError(f"`{key}` is given {len(texts)} times, but it is not a list")
        return [self._value(text, array.item_schemas(number)) for number, text in enumerate(texts)]

    def _property(self, key: str) -> tuple[Any, ...]:
        """The schemas of a parameter: where it is declared, else those for undeclared ones."""
        roots = list(self._resolver.alternatives((self._schema,)))
        declaring = [root for root in roots if root.object.declares(key)]
        return next((root.object.property_schemas(key) for root in (*declaring, *roots)), ())

    def _array(self, schemas: tuple[Any, ...]) -> ArrayConstraints | None:
        """The constraints on a value as a list; None if it cannot be one."""
        ways = self._resolver.alternatives(schemas)
        return next((way.array for way in ways if way.values is None and way.allows_type_of([])), None)

    def _value(self, text: str, schemas: tuple[Any, ...]) -> Any:
        """The value of a text: JSON if the schema accepts its type, else a string, else a list of one item."""
        value = _json(text)
        ways = list(self._resolver.alternatives(schemas))
        if value is not _NO_VALUE and any(_allows(way, value) for way in ways):
            return value
        if any(_allows(way, text) for way in ways):
            return text
        if not isinstance(value, list) and (array := self._array(schemas)) is not None:
            return [self._value(text, array.item_schemas(0))]
        return text if value is _NO_VALUE else value


def _allows(constraints: ValueConstraints, value: Any) -> bool:
    """Whether a value has a type that constraints allow; a string need not be one of the allowed values."""
    if constraints.values is None:
        return constraints.allows_type_of(value)
    return any(type(each) is type(value) and (each == value or type(value) is str) for each in constraints.values)


def _json(text: str) -> Any:
    """The value of JSON text that is not a string, or a marker."""

    def refuse(_: str) -> NoReturn:
        raise ValueError

    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return _NO_VALUE
    return _NO_VALUE if isinstance(value, str) else value
