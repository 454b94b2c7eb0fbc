"""Facts of `scan` from the fields that a case gives."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from mcproof.checks.rule import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator


def built_facts(fields: dict[str, Any]) -> Iterator[Any]:
    """The facts that a case describes: fields by class name. Fields that it leaves out have their default."""
    subjects = {rule.subject.__name__: rule.subject for rule in all_rules()}
    for name, values in fields.items():
        yield _built(subjects[name], values)


def _built(kind: Any, value: Any) -> Any:
    """A value of JSON as the type that a field declares."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None:
            return None
        return _built(next(each for each in arguments if each is not type(None)), value)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_built(arguments[0], each) for each in value)
        return tuple(_built(each, part) for each, part in zip(arguments, value, strict=True))
    if origin is list:
        return [_built(arguments[0], each) for each in value]
    if origin in (dict, Mapping):
        return {key: _built(arguments[1], each) for key, each in value.items()}
    if hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        return kind(**{name: _built(hints[name], each) for name, each in value.items()})
    return value
