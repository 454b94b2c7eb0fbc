"""The configuration of a class: `model_config` and its other forms."""

from __future__ import annotations

from typing import Any

from mcproof.discovery.interp.values import UNKNOWN, Class, ExternalCall

_CLASS_SETTINGS = frozenset(
    [
        "extra", "alias_generator", "title", "json_schema_extra", "use_attribute_docstrings", "str_max_length",
        "str_min_length",
    ]
)  # fmt: skip
"""Settings that may be keyword arguments of a class."""


def configuration(cls: Class) -> dict[str, Any]:
    """`model_config`, or the inner class `Config`, of a class and its ancestors; the nearest wins."""
    made: dict[str, Any] = {}
    for each in reversed(cls.ancestry()):
        given = [each.body.names.get("model_config", each.body.names.get("__pydantic_config__"))]
        given += [_decorated(decorator) for decorator in each.decorators]
        for config in given:
            if isinstance(config, ExternalCall):
                made.update(config.kwargs)
                if not config.complete:
                    made["json_schema_extra"] = UNKNOWN
            elif isinstance(config, dict):
                made.update(config)
            elif config is UNKNOWN:
                made["json_schema_extra"] = UNKNOWN
        inner = each.body.names.get("Config")
        if isinstance(inner, Class):
            made.update(inner.body.names)
        made.update({key: value for key, value in each.keywords.items() if key in _CLASS_SETTINGS})
    return made


def _decorated(decorator: Any) -> Any:
    """The configuration in `@dataclass(config=...)` or `@with_config(...)`."""
    if not isinstance(decorator, ExternalCall):
        return None
    if decorator.func.last == "with_config":
        return decorator.argument(0, "config") or decorator
    return decorator.kwargs.get("config") if decorator.func.last == "dataclass" else None


def string_lengths(config: dict[str, Any]) -> dict[str, Any]:
    """The configured bounds of all strings; a value may be UNKNOWN."""
    bounds = {"maxLength": config.get("str_max_length"), "minLength": config.get("str_min_length") or None}
    return {key: value for key, value in bounds.items() if value is not None}
