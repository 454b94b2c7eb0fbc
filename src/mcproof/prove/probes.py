"""The probes_of_tool that a server is asked about one tool: each a call that breaks one promise of its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.oracle import Oracle
from mcproof.generation.valid_values import valid_arguments
from mcproof.linting.registry import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD, UNKNOWN_METHOD
from mcproof.schema.acceptance import KINDS, acceptance, accepts_anything, kinds_of, unbounded_kinds
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.catalog.model import Tool
    from mcproof.exchange.probe_facts import Expectation
    from mcproof.schema.tree import SchemaTree

MEGABYTE = 1024 * 1024
NO_SUCH_FIELD = "mcproof_unexpected"
SCHEMA_CHECKS = ("missing_required", "wrong_type", "extra_field", "oversized")
"""The probes of one tool: each breaks one promise of its schema."""
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
"""Values that no server coerces to a text or a number, and what to call them."""


class ProbeCase(NamedTuple):
    """One call, what it is for, and what the contract asks for."""

    probe: str
    what: str
    expects: Expectation
    arguments: Any
    declared: bool = False
    """Whether the schema promises that it is refused."""
    keyword: str = ""
    pointer: str = ""
    place: str = ""
    any_answer_passes: bool = False
    """Whether it is enough that an answer comes, whatever the schema or the protocol would like it to be."""

    @property
    def fault(self) -> str | None:
        """The fault that an acceptance would prove."""
        return FAULT_OF.get(self.probe)

    @property
    def is_exploratory(self) -> bool:
        return self.expects == "nothing"


class SkippedProbe(NamedTuple):
    """A probe that is not sent, and why."""

    probe: str
    reason: str
    is_applicable: bool
    """Whether there would be something to test, if only one could."""
    declared: bool | None = None


class ToolProbes(NamedTuple):
    """Everything that one tool is asked."""

    tool: Tool
    baseline: ProbeCase | None
    cases: list[ProbeCase | SkippedProbe]
    problem: str = ""
    """Why there is no valid call."""


def probes_of_tool(
    tool: Tool, checks: list[str], *, given: dict[str, Any] | None, size: int, explores: bool
) -> ToolProbes:
    """The cases of one tool; with those that break no promise, out of curiosity, where `explores` is set."""
    schema = tool.schema if tool.schema is not None else {}
    made = valid_arguments(schema) if given is None else None
    base = given if made is None else made.value
    asked = _ProbeBuilder(tool, schema, base, size, explores)
    cases = [getattr(asked, check)() for check in SCHEMA_CHECKS if check in checks]
    tool.release_tree()
    if base is None:
        return ToolProbes(tool, None, cases, made.problem if made is not None else "")
    what = "a valid call" if given is None else "a call with the arguments that were given"
    return ToolProbes(tool, ProbeCase("baseline", what, "success", base), cases)


class _ProbeBuilder:
    """The probes of one tool, around one valid call."""

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
        self._is_judge = base is not None and self._oracle.problem is None and self._oracle.accepts(base)
        """Whether the validator can tell what breaks the schema: not where the base does already."""
        listed = schema.get("required")
        self._required = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []

    def missing_required(self) -> ProbeCase | SkippedProbe:
        """The valid call less one required argument; out of curiosity, the call without any."""
        probe = "missing_required"
        if not self._has_parameters:
            return SkippedProbe(probe, "the tool has no parameters", False)
        if self._base is None:
            return self._untestable(probe, bool(self._required))
        for name in self._required or list(self._base):
            if name in self._base:
                arguments = {key: value for key, value in self._base.items() if key != name}
                if self._breaks(arguments, by_name=name in self._required):
                    what = f"without the required `{name}`"
                    return self._case(probe, what, arguments, "required", f"/{escape(name)}", "/inputSchema")
        if not self._explores:
            return SkippedProbe(probe, "no argument is required", False, False)
        return ProbeCase(probe, "without any argument", "nothing", {}, place="/inputSchema")

    def wrong_type(self) -> ProbeCase | SkippedProbe:
        """A value that no server coerces to the type of an argument; out of curiosity, an object for an untyped one."""
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
                    what = f"`{name}` is {words} instead of {self._type_words(name)}"
                    return self._case(probe, what, arguments, "type", f"/{escape(name)}", _place(name))
        untyped = next((name for name in self._in_order() if self._is_untyped(name)), None)
        if untyped is not None and self._explores:
            _, value, words = _WRONG[0]
            return ProbeCase(
                probe, f"`{untyped}` is {words}", "nothing", {**self._base, untyped: value}, place=_place(untyped)
            )
        if untyped is not None:
            return SkippedProbe(probe, "no argument has a type", False, False)
        return SkippedProbe(probe, "every type is accepted by some argument, or could be coerced", False)

    def extra_field(self) -> ProbeCase | SkippedProbe:
        """The valid call plus an argument that the schema does not have."""
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
        what = f"an undeclared `{name}`"
        if self._breaks(arguments, by_name=is_closed):
            return self._case(probe, what, arguments, "additionalProperties", f"/{name}", "/inputSchema")
        if not self._explores:
            return SkippedProbe(probe, "the schema does not forbid other arguments", False, False)
        return ProbeCase(probe, what, "nothing", arguments, place="/inputSchema")

    def oversized(self) -> ProbeCase | SkippedProbe:
        """A text of a megabyte; it is enough that an answer comes, unless the schema has promised a bound."""
        probe = "oversized"
        if not self._has_parameters:
            return SkippedProbe(probe, "the tool has no parameters", False)
        texts = {name: text for name in self._in_order() if (text := self._text_schema(name)) is not None}
        unbounded = [name for name in texts if self._is_unbounded(texts[name])]
        promised = [name for name in texts if name not in unbounded and self._is_free(texts[name])]
        ordered = list(dict.fromkeys([*promised, *unbounded, *texts]))
        if not ordered:
            return self._oversized_inside() or SkippedProbe(probe, "no argument is a text", False)
        name = ordered[0]
        is_bounded = name not in unbounded
        if self._base is None:
            return self._untestable(probe, is_bounded)
        text = "a" * self._size
        value: Any = text if texts[name] is self._parameters[name] else [text]
        arguments = {**self._base, name: value}
        return self._large([name], arguments, is_bounded=is_bounded)

    def _oversized_inside(self) -> ProbeCase | None:
        """The same for a text inside an argument, where the valid call has one."""
        path = _path_to_text(self._base) if self._is_judge else None
        if path is None:
            return None
        arguments = _with_text(self._base, path, "a" * self._size)
        return self._large(path, arguments, is_bounded=self._oracle.rejects(arguments))

    def _large(self, path: Sequence[str | int], arguments: dict[str, Any], *, is_bounded: bool) -> ProbeCase:
        """A text of a megabyte at the end of a path; where everything is to be proven, a bound counts as a promise."""
        is_promise = is_bounded and self._explores and self._breaks(arguments, by_name=True)
        return ProbeCase(
            "oversized",
            f"a text of {self._size:,} characters for `{'.'.join(map(str, path))}`",
            "rejection" if is_promise else "answer",
            arguments,
            is_bounded,
            "maxLength" if is_promise else "",
            "".join(f"/{escape(str(step))}" for step in path),
            _place(str(path[0])),
            any_answer_passes=True,
        )

    @property
    def _has_parameters(self) -> bool:
        return bool(self._parameters) or bool(self._base) or bool(self._required)

    def _case(
        self, probe: str, what: str, arguments: dict[str, Any], keyword: str, pointer: str, place: str
    ) -> ProbeCase:
        return ProbeCase(probe, what, "rejection", arguments, True, keyword, pointer, place)

    def _untestable(self, probe: str, declared: bool) -> SkippedProbe:
        return SkippedProbe(probe, "no valid call could be made", True, declared)

    def _breaks(self, arguments: dict[str, Any], *, by_name: bool) -> bool:
        """Whether arguments break the schema: as the validator sees it, or else by what the schema says literally."""
        return self._oracle.rejects(arguments) if self._is_judge else by_name

    def _in_order(self) -> list[str]:
        """The declared arguments, the required ones first."""
        first = [name for name in self._required if name in self._parameters]
        return [*first, *(name for name in self._parameters if name not in first)]

    def _is_untyped(self, name: str) -> bool:
        return self._tree is not None and accepts_anything(self._parameters[name], self._tree)

    def _is_unbounded(self, schema: Any) -> bool:
        return self._tree is not None and "string" in unbounded_kinds(schema, self._tree)

    def _is_free(self, schema: Any) -> bool:
        """Whether a text is any text, as opposed to one of a list."""
        return self._tree is not None and "string" in acceptance(schema, self._tree).growing

    def _text_schema(self, name: str) -> Any:
        """The schema of the text that an argument is, or is a list of; None where it is neither."""
        schema = self._parameters[name]
        if _is_text(schema, self._tree):
            return schema
        items = schema.get("items") if isinstance(schema, dict) and schema.get("type") == "array" else None
        return items if _is_text(items, self._tree) else None

    def _wrong_values(self, name: str) -> Iterator[tuple[Any, str]]:
        """Values of a kind that an argument excludes, for a number the list first."""
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


def _is_text(schema: Any, tree: SchemaTree | None) -> bool:
    """Whether a schema takes texts: by its type, itself or in a branch, or by the values that it lists."""
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


def _place(name: str) -> str:
    return f"/inputSchema/properties/{escape(name)}"


def _path_to_text(value: Any, depth: int = 4) -> list[str | int] | None:
    """The way to the first text inside a value."""
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
    """A value with another text at the end of a path."""
    if not path:
        return text
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with_text(value[path[0]], path[1:], text)
    return copy
