"""The property names in an object schema: declared, required, or mentioned by other keywords.

Many schemas require a name that they do not declare. Callers have to send it anyway.
"""

from __future__ import annotations

from typing import Any

_SELECTING_KEYWORDS = ("enum", "const", "propertyNames")
"""Keywords that can depend on undeclared properties."""


def declared_properties(schema: dict[str, Any]) -> dict[str, Any]:
    """The declared properties; empty if `properties` is absent or malformed."""
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def required_names(schema: dict[str, Any]) -> dict[str, None]:
    """The distinct required names, in order."""
    return dict.fromkeys(_strings(schema.get("required")))


def mentioned_names(schema: dict[str, Any]) -> dict[str, None]:
    """The names that `required` and the keywords for dependencies mention."""
    names = required_names(schema)
    for keyword in ("dependentRequired", "dependencies", "dependentSchemas"):
        dependencies = schema.get(keyword)
        for name, dependency in (dependencies if isinstance(dependencies, dict) else {}).items():
            names |= dict.fromkeys([name, *_strings(dependency)])
    return names


def constrains_unnamed(schema: dict[str, Any]) -> bool:
    """Whether a schema constrains properties that it does not name: by number, by name or by whole values."""
    minimum = schema.get("minProperties", 0)
    named = declared_properties(schema) | mentioned_names(schema)
    is_enough = isinstance(minimum, (int, float)) and minimum <= len(named)
    return not is_enough or any(keyword in schema for keyword in _SELECTING_KEYWORDS)


def _strings(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
