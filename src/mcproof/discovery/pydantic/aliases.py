"""The name of a field in a schema: its own, its alias, or a generated alias."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.discovery.interp.values import UNKNOWN, Call, External, ExternalCall, Function, Unknown

if TYPE_CHECKING:
    from mcproof.discovery.interp.interpreter import Interpreter

LONGEST_NAME = 200


def alias_of(info: ExternalCall, *, for_serialization: bool = False) -> str | None:
    """The alias in a `Field(...)`, for validation or serialization; None if it has none."""
    for name in ("serialization_alias" if for_serialization else "validation_alias", "alias"):
        found = _first(info.kwargs.get(name))
        if found is not None:
            return found
        if name in info.kwargs and info.kwargs[name] is not None:
            return None  # a path into the value: the field keeps its name
    return None


def _first(given: Any) -> str | None:
    """The name of an alias in a schema: the first choice that is not a path."""
    if isinstance(given, str):
        return given
    if isinstance(given, ExternalCall) and given.func.last == "AliasChoices":
        return next((each for each in map(_first, given.args) if each is not None), None)
    if isinstance(given, ExternalCall) and given.func.last == "AliasPath" and len(given.args) == 1:
        return _first(given.args[0])
    return None


def generated(run: Interpreter, generator: Any, name: str, *, for_serialization: bool = False) -> str | Unknown | None:
    """The alias that a model's `alias_generator` returns for a name; None without a generator."""
    if generator is None:
        return None
    if isinstance(generator, ExternalCall) and generator.func.last == "AliasGenerator":
        position, keyword = (2, "serialization_alias") if for_serialization else (1, "validation_alias")
        own = generator.argument(position, keyword)
        inner = own if own is not None else generator.argument(0, "alias")
        return UNKNOWN if not generator.complete else generated_by(run, inner, name)
    return generated_by(run, generator, name)


def generated_by(run: Interpreter, function: Any, name: str) -> str | Unknown | None:
    """The alias that one function returns for a name."""
    if function is None:
        return None
    if len(name) > LONGEST_NAME:
        return UNKNOWN
    if isinstance(function, External) and function.package in ("pydantic", "builtins"):
        made_by = _GENERATORS.get(function.name.removeprefix("pydantic.alias_generators."))
        return UNKNOWN if made_by is None else made_by(name)
    if isinstance(function, (Function, External)):
        made = run.call(function, Call([name], {}))
        return str(made) if isinstance(made, str) else _first(made) or UNKNOWN
    return UNKNOWN


def _pascal(name: str) -> str:
    return re.sub(r"([0-9A-Za-z])_(?=[0-9A-Z])", r"\1", name.title())


def _camel(name: str) -> str:
    if re.fullmatch(r"[a-z]+[A-Za-z0-9]*", name) and not re.search(r"\d[a-z]", name):
        return name
    return re.sub(r"^_*[A-Z]", lambda match: match[0].lower(), _pascal(name))


def _snake(name: str) -> str:
    for before, after in (("[A-Z]+", "[A-Z][a-z]"), ("[a-z]", "[A-Z]"), ("[0-9]", "[A-Z]"), ("[a-z]", "[0-9]")):
        name = re.sub(f"({before})({after})", r"\1_\2", name)
    return name.replace("-", "_").lower()


_GENERATORS = {
    "to_pascal": _pascal,
    "to_camel": _camel,
    "to_snake": _snake,
    "builtins.str.upper": str.upper,
    "builtins.str.lower": str.lower,
    "builtins.str.title": str.title,
}
"""The generators of Pydantic, and string methods that are used as such."""
