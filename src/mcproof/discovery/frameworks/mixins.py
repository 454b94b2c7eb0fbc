"""fastmcp's `MCPMixin`: methods are marked by `@mcp_tool()` and registered by `object.register_all(server)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.frameworks.registration_tables import MIXIN_DECORATORS, MIXIN_METHODS, MIXIN_SEPARATORS
from mcproof.discovery.interp.values import UNKNOWN, Call, ExternalCall, Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.discovery.interp.values import Instance


class MarkedMethod(NamedTuple):
    """A method to register, with the arguments of its decorator."""

    kind: str
    method: Function
    given: dict[str, Any]


def is_mark(value: Any) -> bool:
    """Whether a value is one of the mixin's decorators."""
    return isinstance(value, ExternalCall) and value.func.package == "fastmcp" and value.func.last in MIXIN_DECORATORS


def mark(decorator: ExternalCall, function: Function) -> None:
    """Store the decorator in the function that it marks."""
    function.attributes[f"<{MIXIN_DECORATORS[decorator.func.last]}>"] = decorator


def marked(holder: Instance, registering: str, call: Call) -> Iterator[MarkedMethod]:
    """What a registering method of the mixin registers, in order."""
    prefix = call.args[1] if len(call.args) > 1 else call.kwargs.get("prefix")
    for kind in MIXIN_METHODS[registering]:
        word = "separator" if registering != "register_all" else f"{kind[:-1]}_separator"
        separator = call.kwargs.get(word, MIXIN_SEPARATORS[kind])
        names = {name for each in holder.cls.ancestry() for name in each.body.names}
        for name in sorted(names):
            method = holder.cls.attribute(name)
            decorator = method.attributes.get(f"<{kind}>") if isinstance(method, Function) else None
            if isinstance(decorator, ExternalCall):
                yield MarkedMethod(kind, method.bound(holder), _given(decorator, method, kind, prefix, separator))


def _given(decorator: ExternalCall, method: Function, kind: str, prefix: Any, separator: Any) -> dict[str, Any]:
    """The arguments of the decorator, with the prefix in name and address."""
    first = "uri" if kind == "resources" else "name"
    given = {**dict(zip((first,), decorator.args, strict=False)), **decorator.kwargs}
    given["name"] = given.get("name") or method.exposed().name
    if prefix is None or prefix == "":
        return given
    is_known = isinstance(prefix, str) and isinstance(separator, str) and decorator.complete
    for key in ("name", "uri") if kind == "resources" else ("name",):
        given[key] = f"{prefix}{separator}{given.get(key)}" if is_known and isinstance(given.get(key), str) else UNKNOWN
    return given
