"""The probes of one tool: calls that each break one promise of its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.oracle import Oracle
from mcproof.generation.valid_values import valid_arguments
from mcproof.linting.registry import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD, UNKNOWN_METHOD
from mcproof.schema.acceptance import KINDS, acceptance, accepts_anything, kinds_of, unbounded_kinds
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcproof.catalog.model import Tool
    from mcproof.exchange.probe_facts import Expectation
    from mcproof.schema.tree import SchemaTree

NO_SUCH_FIELD = "mcproof_unexpected"
FAULT_OF = {
    "unknown_tool": UNKNOWN_METHOD.id,
    "unknown_method": UNKNOWN_METHOD.id,
    "missing_required": MISSING_REQUIRED.id,
    "wrong_type": TYPE_MISMATCH.id,
    "extra_field": UNEXPECTED_FIELD.id,
    "oversized": OVERSIZED.id,
}
_WRONG: tuple[tuple[str, Any, str], ...] = (
    ("object", {"mcproof": "wrong type"}, "an object"),
    ("array", [["wrong type"]], "a list"),
)
"""Values that no server coerces to a string or a number, with their names."""


class ProbeCase(NamedTuple):
    """One call and what the contract requires of the response."""

    probe: str
    description: str
    expects: Expectation
    arguments: Any
    declared: bool = False
    """Whether the schema promises the rejection."""
    keyword: str = ""
    schema_pointer: str = ""
    any_response_passes: bool = False
    """Whether any response will do, whether it accepts or rejects."""

    @property
    def fault(self) -> str | None:
        """The fault that an acceptance proves."""
        return FAULT_OF.get(self.probe)

    @property
    def is_exploratory(self) -> bool:
        return self.expects == "nothing"


class SkippedProbe(NamedTuple):
    """A probe that is not sent, with the reason."""

    probe: str
    reason: str
    is_applicable: bool
    """Whether there is something to test, though it cannot be."""
    declared: bool | None = None


class ToolProbes(NamedTuple):
    """The probes of one tool."""

    tool: Tool
    baseline: ProbeCase | None
    cases: list[ProbeCase | SkippedProbe]
    problem: str = ""
    """Why no valid call could be generated."""


def probes_of_tool(
    tool: Tool, checks: list[str], *, given: dict[str, Any] | None, size: int, explores: bool
) -> ToolProbes:
    """The probes of one tool; `explores` adds those of undeclared promises."""
    schema = tool.schema if tool.schema is not None else {}
    made = valid_arguments(schema) if given is None else None
    base = given if made is None else made.value
    builder = _ProbeBuilder(tool, schema, base, size, explores)
    cases = [build(builder) for check, build in _BUILDERS.items() if check in checks]
    tool.release_tree()
    if base is None:
        return ToolProbes(tool, None, cases, made.problem if made is not None else "")
    description = "a valid call" if given is None else "a call with the given arguments"
    return ToolProbes(tool, ProbeCase("baseline", description, "success", base), cases)


class _ProbeBuilder:
    """Derives the probes of one tool from one valid call."""

    def __init__(
        self, tool: Tool, schema: dict[str, Any], base: dict[str, Any] | None, size: int, explores: bool
    ) -> None:
        self._tree: SchemaTree | None = tool.tree
        self._schema = schema
        self._base = base
        self._size = size
        self._explores = explores
        self._parameters = tool.parameters
        self._oracle = Oracle(schema)
        self._is_validating = base is not None and self._oracle.problem is None and self._oracle.accepts(base)
        """Whether the validator decides what violates the schema: not if the valid call already does."""
        listed = schema.get("required")
        self._required = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []

    def missing_required(self) -> ProbeCase | SkippedProbe:
        """The valid call without one required argument; exploratory: without any argument."""
        probe = "missing_required"
        if not self._has_parameters:
            return SkippedProbe(probe, "the tool has no parameters", False)
        if self._base is None:
            return self._untestable(probe, bool(self._required))
        for name in self._required or list(self._base):
            if name in self._base:
                arguments = {key: value for key, value in self._base.items() if key != name}
                if self._breaks(arguments, by_name=name in self._required):
                    return self._violation(
                        probe, f"without the required `{name}`", arguments, "required", "/inputSchema"
                    )
        if not self._explores:
            return SkippedProbe(probe, "no argument is required", False, False)
        return ProbeCase(probe, "without any argument", "nothing", {}, schema_pointer="/inputSchema")

    def wrong_type(self) -> ProbeCase | SkippedProbe:
        """A value that no server coerces to the type of an argument; exploratory: an object for an untyped one."""
        probe = "wrong_type"
        if not self._has_parameters:
            return SkippedProbe(probe, "the tool has no parameters", False)
        typed = [name for name in self._in_order() if not self._is_untyped(name)]
        if self._base is None:
            return self._untestable(probe, bool(typed))
        for name in typed:
            for value, words in self._wrong_values(name):
                arguments = {**self._base, name: value}
                if self._breaks(arguments, by_name=True):
                    description = f"`{name}` is {words} instead of {self._type_words(name)}"
                    return self._violation(probe, description, arguments, "type", _schema_pointer(name))
        untyped = next((name for name in self._in_order() if self._is_untyped(name)), None)
        if untyped is not None and self._explores:
            _, value, words = _WRONG[0]
            arguments = {**self._base, untyped: value}
            description, pointer = f"`{untyped}` is {words}", _schema_pointer(untyped)
            return ProbeCase(probe, description, "nothing", arguments, schema_pointer=pointer)
        if untyped is not None:
            return SkippedProbe(probe, "no argument has a type", False, False)
        return SkippedProbe(probe, "no argument excludes objects or lists", False)

    def extra_field(self) -> ProbeCase | SkippedProbe:
        """The valid call with an argument that the schema does not declare."""
        probe = "extra_field"
        is_closed = (
            self._schema.get("additionalProperties") is False or self._schema.get("unevaluatedProperties") is False
        )
        if self._base is None:
            return self._untestable(probe, is_closed)
        name = NO_SUCH_FIELD
        while name in self._parameters:
            name += "_"
        arguments = {**self._base, name: "mcproof"}
        description = f"an undeclared `{name}`"
        if self._breaks(arguments, by_name=is_closed):
            return self._violation(probe, description, arguments, "additionalProperties", "/inputSchema")
        if not self._explores:
            return SkippedProbe(probe, "the schema allows additional arguments", False, False)
        return ProbeCase(probe, description, "nothing", arguments, schema_pointer="/inputSchema")

    def oversized(self) -> ProbeCase | SkippedProbe:
        """A very long string; any response will do, unless the schema declares a bound."""
        probe = "oversized"
        if not self._has_parameters:
            return SkippedProbe(probe, "the tool has no parameters", False)
        texts = {name: text for name in self._in_order() if (text := self._text_schema(name)) is not None}
        unbounded = [name for name in texts if self._is_unbounded(texts[name])]
        promised = [name for name in texts if name not in unbounded and self._is_free(texts[name])]
        ordered = list(dict.fromkeys([*promised, *unbounded, *texts]))
        if not ordered:
            return self._oversized_inside() or SkippedProbe(probe, "no argument is a string", False)
        name = ordered[0]
        is_bounded = name not in unbounded
        if self._base is None:
            return self._untestable(probe, is_bounded)
        text = "a" * self._size
        value: Any = text if texts[name] is self._parameters[name] else [text]
        arguments = {**self._base, name: value}
        return self._long_string([name], arguments, is_bounded=is_bounded)

    def _oversized_inside(self) -> ProbeCase | None:
        """A very long string nested in an argument, if the valid call has a nested string."""
        path = _path_to_text(self._base) if self._is_validating else None
        if path is None:
            return None
        arguments = _with_text(self._base, path, "a" * self._size)
        return self._long_string(path, arguments, is_bounded=self._oracle.rejects(arguments))

    def _long_string(self, path: Sequence[str | int], arguments: dict[str, Any], *, is_bounded: bool) -> ProbeCase:
        """The probe with a very long string at a path; only `explores` takes a bound for a promise."""
        is_promise = is_bounded and self._explores and self._breaks(arguments, by_name=True)
        return ProbeCase(
            "oversized",
            f"a string of {self._size:,} characters for `{'.'.join(map(str, path))}`",
            "rejection" if is_promise else "response",
            arguments,
            declared=is_bounded,
            keyword="maxLength" if is_promise else "",
            schema_pointer=_schema_pointer(str(path[0])),
            any_response_passes=True,
        )

    @property
    def _has_parameters(self) -> bool:
        return bool(self._parameters) or bool(self._base) or bool(self._required)

    def _violation(
        self, probe: str, description: str, arguments: dict[str, Any], keyword: str, schema_pointer: str
    ) -> ProbeCase:
        return ProbeCase(
            probe,
            description,
            "rejection",
            arguments,
            declared=True,
            keyword=keyword,
            schema_pointer=schema_pointer,
        )

    def _untestable(self, probe: str, declared: bool) -> SkippedProbe:
        return SkippedProbe(probe, "no valid call could be generated", True, declared)

    def _breaks(self, arguments: dict[str, Any], *, by_name: bool) -> bool:
        """Whether arguments violate the schema, by the validator or else by the literal schema."""
        return self._oracle.rejects(arguments) if self._is_validating else by_name

    def _in_order(self) -> list[str]:
        """The declared arguments, required ones first."""
        first = [name for name in self._required if name in self._parameters]
        return [*first, *(name for name in self._parameters if name not in first)]

    def _is_untyped(self, name: str) -> bool:
        return self._tree is not None and accepts_anything(self._parameters[name], self._tree)

    def _is_unbounded(self, schema: Any) -> bool:
        return self._tree is not None and "string" in unbounded_kinds(schema, self._tree)

    def _is_free(self, schema: Any) -> bool:
        """Whether a schema allows arbitrary strings, as opposed to an enumeration."""
        return self._tree is not None and "string" in acceptance(schema, self._tree).growing

    def _text_schema(self, name: str) -> Any:
        """The schema of a string argument or of the strings in an array argument; None for other arguments."""
        schema = self._parameters[name]
        if _is_text(schema, self._tree):
            return schema
        items = schema.get("items") if isinstance(schema, dict) and schema.get("type") == "array" else None
        return items if _is_text(items, self._tree) else None

    def _wrong_values(self, name: str) -> Iterator[tuple[Any, str]]:
        """Values of the types that an argument excludes; for a number the array first."""
        kinds = self._kinds(name)
        is_number = not kinds & {"string", "array", "object"}
        for kind, value, words in reversed(_WRONG) if is_number else _WRONG:
            if kind not in kinds:
                yield value, words

    def _kinds(self, name: str) -> frozenset[str]:
        return kinds_of(self._parameters[name], self._tree) if self._tree is not None else KINDS

    def _type_words(self, name: str) -> str:
        schema = self._parameters[name]
        named = schema.get("type") if isinstance(schema, dict) else None
        kinds = [named] if isinstance(named, str) else sorted(self._kinds(name))
        return " or ".join(
            f"an {kind}" if kind[0] in "aio" else "null" if kind == "null" else f"a {kind}" for kind in kinds
        )


_BUILDERS: dict[str, Callable[[_ProbeBuilder], ProbeCase | SkippedProbe]] = {
    "missing_required": _ProbeBuilder.missing_required,
    "wrong_type": _ProbeBuilder.wrong_type,
    "extra_field": _ProbeBuilder.extra_field,
    "oversized": _ProbeBuilder.oversized,
}
SCHEMA_CHECKS = tuple(_BUILDERS)
"""The names of these probes, in the order in which they are sent."""


def _is_text(schema: Any, tree: SchemaTree | None) -> bool:
    """Whether a schema allows strings, by its type, a branch, or its listed values."""
    if not isinstance(schema, dict) or tree is None:
        return False
    if "string" in acceptance(schema, tree).growing:
        return True
    kind = schema.get("type")
    if kind is not None and kind != "string" and not (isinstance(kind, list) and "string" in kind):
        return False
    listed = schema.get("enum")
    values = listed if isinstance(listed, list) else [schema.get("const")]
    return any(isinstance(value, str) for value in values)


def _schema_pointer(name: str) -> str:
    return f"/inputSchema/properties/{escape(name)}"


def _path_to_text(value: Any, depth: int = 4) -> list[str | int] | None:
    """The path to the first string in a value."""
    steps: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        steps = list(value.items())
    elif isinstance(value, list):
        steps = list(enumerate(value))
    for step, each in steps if depth else ():
        if isinstance(each, str):
            return [step]
        if (path := _path_to_text(each, depth - 1)) is not None:
            return [step, *path]
    return None


def _with_text(value: Any, path: list[str | int], text: str) -> Any:
    """A copy of a value with a string replaced."""
    if not path:
        return text
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with_text(value[path[0]], path[1:], text)
    return copy
