"""Which properties an object schema speaks of: those that it declares, and those that it asks for without doing so.

Many schemas require a name that they do not declare. Callers send it all the same, for they must.
"""

from __future__ import annotations

from typing import Any

_SELECTING = ("enum", "const", "propertyNames")
"""Keywords that choose among objects by names which need not be declared."""


def declared(schema: dict[str, Any]) -> dict[str, Any]:
    """The declared properties; none where the keyword is absent or malformed."""
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def required(schema: dict[str, Any]) -> dict[str, None]:
    """The required names, in order and each once."""
    return dict.fromkeys(_texts(schema.get("required")))


def demanded(schema: dict[str, Any]) -> dict[str, None]:
    """The names that it requires, always or beside others, and those that ask for others."""
    names = required(schema)
    for keyword in ("dependentRequired", "dependencies", "dependentSchemas"):
        others = schema.get(keyword)
        for name, needed in (others if isinstance(others, dict) else {}).items():
            names |= dict.fromkeys([name, *_texts(needed)])
    return names


def asks_for_more(schema: dict[str, Any]) -> bool:
    """Whether it speaks of properties that it does not name: by their number, their names, or by whole values."""
    least = schema.get("minProperties", 0)
    is_enough = isinstance(least, (int, float)) and least <= len(declared(schema) | demanded(schema))
    return not is_enough or any(keyword in schema for keyword in _SELECTING)


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
