"""The cases of probes: what is sent, what it tests, and what the contract requires of the response.

`Explorer` adds calls that a schema allows, to find out whether the server refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mcproof.checks.rule import MISSING_REQUIRED, OVERSIZED, TYPE_MISMATCH, UNEXPECTED_FIELD, UNKNOWN_METHOD
from mcproof.core.catalog.model import Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import MAX_CALLS, ROOT, Expectation
from mcproof.core.schema.acceptance import KINDS, acceptance, accepts_anything, kinds_of, unbounded_kinds
from mcproof.core.schema.tree import SchemaTree
from mcproof.core.schema.validation import Oracle
from mcproof.core.text.json_positions import escape
from mcproof.probing.generation.constraints import TYPES, deep_copy
from mcproof.probing.generation.mutations import MutationPoint, value_at, with_value
from mcproof.probing.generation.values import valid_arguments
from mcproof.probing.generation.violations import UNEXPECTED, Promise, schema_pointer
from mcproof.probing.probes.responses import with_repeated, without_repeated

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mcproof.core.catalog.model import Tool
    from mcproof.probing.calls import CallPlan
    from mcproof.probing.outcomes import Column


FAULT_OF = {
    "unknown_tool": UNKNOWN_METHOD.id,
    "unknown_method": UNKNOWN_METHOD.id,
    "missing_required": MISSING_REQUIRED.id,
    "wrong_type": TYPE_MISMATCH.id,
    "extra_field": UNEXPECTED_FIELD.id,
    "oversized": OVERSIZED.id,
}
PROBE_OF: dict[Column, str] = {
    "missing": "missing_required",
    "type": "wrong_type",
    "extra": "extra_field",
    "size": "oversized",
    "values": "wrong_value",
}
"""The columns of the contract matrix, and the probes that decide them."""
COLUMN_OF: dict[str, Column] = {probe: column for column, probe in PROBE_OF.items()}
_COLUMN_OF_KEYWORD: dict[str, Column] = {
    "required": "missing",
    "dependentRequired": "missing",
    "type": "type",
    "additionalProperties": "extra",
    "unevaluatedProperties": "extra",
    "maxLength": "size",
    "maxItems": "size",
}
NO_SUCH_TOOL = "mcproof_no_such_tool"
_LARGEST = 64 * 1024 * 1024


def column_of(keyword: str) -> Column:
    """The column of the contract matrix that a promise belongs to."""
    return _COLUMN_OF_KEYWORD.get(keyword, "values")


class ProbePlan(NamedTuple):
    """Which probes to send to a server."""

    calls: CallPlan
    checks: list[str]
    explores: bool
    """Whether to test every promise, and what is not promised, for the contract matrix."""
    size: int
    max_calls: int = MAX_CALLS
    """How many probes `explores` sends to a tool."""


class ProbeCase(NamedTuple):
    """One call and what the contract requires of the response."""

    probe: str
    description: str
    expects: Expectation
    arguments: Any
    """What is sent, without the repeated texts."""
    declared: bool = False
    """Whether the schema promises the rejection."""
    keyword: str = ""
    schema_pointer: str = ""
    any_response_passes: bool = False
    """Whether any response will do, whether it accepts or rejects."""
    argument: str = ""
    """The path of the argument that it is about: `filter.limit`, `rows[].id`."""
    is_lenient: bool = False
    """Whether servers commonly convert the invalid value to a valid one."""
    changes_only_size: bool = False
    """Whether the value is that of the valid call, only larger."""
    repeated: tuple[dict[str, Any], ...] = ()
    """The texts that make the arguments large, as `without_repeated` returns them."""

    @property
    def fault(self) -> str | None:
        """The fault that an acceptance proves."""
        return FAULT_OF.get(self.probe)

    @property
    def is_exploratory(self) -> bool:
        return self.expects == "nothing"

    @property
    def is_promise(self) -> bool:
        """Whether the response shows if a promise is kept."""
        return self.declared and self.expects == "rejection"

    @property
    def promise(self) -> Promise:
        return Promise(self.argument, self.keyword)

    def sent_arguments(self) -> Any:
        """The arguments as they are sent. Equal repeated texts are one object, so that many cases can be kept."""
        if not self.repeated:
            return self.arguments
        return with_repeated(deep_copy(self.arguments), list(self.repeated), _LARGEST)

    @classmethod
    def compact(cls, arguments: Any, **fields: Any) -> ProbeCase:
        """A case whose arguments may be large."""
        small, repeated = without_repeated(arguments)
        return cls(arguments=small if repeated else arguments, repeated=tuple(repeated), **fields)


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
    promises: tuple[Promise, ...] = ()
    """All promises, in the order of the schema."""
    left_out: tuple[Promise, ...] = ()
    """The promises of which not every violation is sent."""
    calls_left_out: int = 0
    """How many cases are over the limit."""


_LARGE_LIST = 1_000


class Explorer:
    """Derives exploratory probes of one tool from its values."""

    def __init__(
        self,
        literal: NegativeChecks,
        base: dict[str, Any],
        schema: dict[str, Any],
        points: list[MutationPoint] | None,
        size: int,
    ) -> None:
        """Without `points`, because the schema cannot be validated, only its top level is explored."""
        self._literal = literal
        self._base = base
        self._schema = schema
        self._points = [] if points is None else [point for point in points if _is_free(point)]
        self._is_validating = points is not None
        self._size = size

    def cases(self, promised: Collection[str]) -> Iterator[ProbeCase]:
        """One case for each probe that no promise is tried with, and large values wherever there is no bound."""
        if "missing_required" not in promised and self._literal.has_parameters:
            pointer = "/inputSchema"
            yield ProbeCase("missing_required", "without any argument", "nothing", {}, schema_pointer=pointer)
        if "wrong_type" not in promised and (untyped := self._literal.with_untyped_object()) is not None:
            yield untyped
        if "extra_field" not in promised:
            yield self._literal.with_extra_field()
        if self._is_validating:
            yield from self.large_strings(is_bounded=False)
            yield from self._large_lists()
        else:
            yield from (case for case in self._literal.free_texts() if not case.is_promise)

    def large_strings(self, *, is_bounded: bool) -> Iterator[ProbeCase]:
        """A very long string for each text that has a bound, or for each that has none."""
        seen: set[str] = set()
        for point in self._points:
            if type(point.value) is not str or point.argument in seen:
                continue
            if (point.constraints.string.max_length is not None) is not is_bounded:
                continue
            description = f"a string of {self._size:,} characters for {point.label}"
            for letter in dict.fromkeys(("a", point.value[:1] or "a")):  # a pattern may exclude the first
                case = self._large(point, letter * self._size, description, "maxLength" if is_bounded else "")
                if case is not None:
                    seen.add(point.argument)
                    yield case
                    break

    def _large_lists(self) -> Iterator[ProbeCase]:
        """A very long list for each list that has no bound."""
        for point in self._points:
            value = point.value
            if type(value) is list and value and point.constraints.array.max_items is None:
                count = min(_LARGE_LIST, max(1, self._size // max(1, len(repr(value[0])))))
                longer = value + [value[-1]] * (count - len(value))
                case = self._large(point, longer, f"a list of {len(longer):,} items for {point.label}", "")
                if case is not None:
                    yield case

    def _large(self, point: MutationPoint, value: Any, description: str, keyword: str) -> ProbeCase | None:
        """The case with a large value; None if more than its size decides whether it is valid."""
        arguments = with_value(point.arguments, point.path, value)
        oracle = self._literal.oracle
        if not (oracle.rejects(arguments) if keyword else oracle.accepts(arguments)):
            return None
        return ProbeCase.compact(
            arguments,
            probe="oversized",
            description=description,
            expects="rejection" if keyword else "response",
            declared=bool(keyword),
            keyword=keyword,
            schema_pointer=f"/inputSchema{schema_pointer(self._schema, point.path)}",
            any_response_passes=not keyword,
            argument=point.argument,
            changes_only_size=self._changes_only_size(point, value),
        )

    def _changes_only_size(self, point: MutationPoint, value: Any) -> bool:
        """Whether the valid call has the same value, only smaller: "a", or a list of the same items."""
        try:
            valid = value_at(self._base, point.path)
        except (LookupError, TypeError):
            return False
        if type(valid) is str and type(value) is str:
            return set(valid) == {value[0]}
        # An empty list says nothing about the items of a long one.
        return type(valid) is list and bool(valid) and valid == point.value


def _is_free(point: MutationPoint) -> bool:
    """Whether the value at a point has a type, and is not one of a list of values."""
    return point.constraints.values is None and point.constraints.types != TYPES


_WRONG: tuple[tuple[str, Any, str], ...] = (
    ("object", {"mcproof": "wrong type"}, "an object"),
    ("array", [["wrong type"]], "a list"),
)
"""Values that no server converts to a string or a number, with their names."""
NO_PARAMETERS = "the tool has no parameters"


def checks_of_tool(tool: Tool, checks: list[str], *, given: dict[str, Any] | None, size: int) -> ToolProbes:
    """The checks of one tool; arguments from the user replace the generated ones."""
    schema = tool.schema if tool.schema is not None else {}
    generated = valid_arguments(schema) if given is None else None
    base = given if generated is None else generated.value
    literal = NegativeChecks(tool, base, size)
    cases = [literal.check(check) for check in SCHEMA_CHECKS if check in checks]
    tool.release_tree()
    if base is None:
        return ToolProbes(tool, None, cases, generated.problem if generated is not None else "")
    return ToolProbes(tool, baseline_of(base, is_given=given is not None), cases)


def baseline_of(arguments: dict[str, Any], *, is_given: bool) -> ProbeCase:
    """The valid call with which the responses to the others are compared."""
    return ProbeCase(
        "baseline", "a call with the given arguments" if is_given else "a valid call", "success", arguments
    )


class NegativeChecks:
    """Calls that break the top level of a tool's schema, derived from one valid call."""

    def __init__(self, tool: Tool, base: dict[str, Any] | None, size: int) -> None:
        self._schema = tool.schema if tool.schema is not None else {}
        self._tree: SchemaTree | None = tool.tree
        self._base = base
        self._size = size
        self._parameters = tool.parameters
        self.oracle = Oracle(self._schema)
        self.is_validating = base is not None and self.oracle.problem is None and self.oracle.accepts(base)
        """Whether the validator decides what violates the schema: not if the valid call already does."""
        listed = self._schema.get("required")
        self._required = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []

    def check(self, check: str) -> ProbeCase | SkippedProbe:
        """The first call that a check applies to, or why there is none."""
        if check != "extra_field" and not self.has_parameters:
            return SkippedProbe(check, NO_PARAMETERS, False)
        if self._base is None:
            return self.untestable(check)
        case = next(self.cases(check), None)
        if case is not None and check == "oversized":  # any response will do, also for a string with a bound
            return case._replace(expects="response", keyword="", any_response_passes=True)
        return case or self._inapplicable(check)

    def cases(self, check: str) -> Iterator[ProbeCase]:
        """All calls that a check applies to."""
        return _CASES[check](self)

    def untestable(self, check: str) -> SkippedProbe:
        """A check without a valid call to derive it from."""
        return SkippedProbe(check, "no valid call could be generated", True, self._is_declared(check))

    def missing_required(self) -> Iterator[ProbeCase]:
        """The valid call without one required argument."""
        base = self._base or {}
        for name in self._required or list(base):
            if name in base:
                arguments = {key: value for key, value in base.items() if key != name}
                if self._breaks(arguments, by_name=name in self._required):
                    description = f"without the required `{name}`"
                    yield _violation("missing_required", description, arguments, "required", "/inputSchema", name)

    def wrong_type(self) -> Iterator[ProbeCase]:
        """The valid call with a value that no server converts to the type of an argument."""
        for name in self._in_order():
            if self._is_untyped(name):
                continue
            for value, words in self._wrong_values(name):
                arguments = {**(self._base or {}), name: value}
                if self._breaks(arguments, by_name=True):
                    description = f"`{name}` is {words} instead of {self._type_words(name)}"
                    yield _violation("wrong_type", description, arguments, "type", _schema_pointer(name), name)

    def extra_field(self) -> Iterator[ProbeCase]:
        """The valid call with an argument that the closed schema does not declare."""
        case = self.with_extra_field()
        if self._breaks(case.arguments, by_name=self._is_closed):
            yield _violation(
                "extra_field", case.description, case.arguments, "additionalProperties", "/inputSchema", ROOT
            )

    def with_extra_field(self) -> ProbeCase:
        """The valid call with an undeclared argument, whether or not the schema allows it."""
        name = UNEXPECTED
        while name in self._parameters:
            name += "_"
        return ProbeCase(
            "extra_field",
            f"an undeclared `{name}`",
            "nothing",
            {**(self._base or {}), name: 1},
            schema_pointer="/inputSchema",
            argument=ROOT,
        )

    def with_untyped_object(self) -> ProbeCase | None:
        """The valid call with an object for an argument without a type; None if every argument has one."""
        name = next((name for name in self._in_order() if self._is_untyped(name)), None)
        if name is None:
            return None
        _, value, words = _WRONG[0]
        return ProbeCase(
            "wrong_type",
            f"`{name}` is {words}",
            "nothing",
            {**(self._base or {}), name: value},
            schema_pointer=_schema_pointer(name),
            argument=name,
        )

    def oversized(self) -> Iterator[ProbeCase]:
        """The valid call with a very long string, bounded strings first."""
        texts = self._texts()
        for name in texts:
            text = "a" * self._size
            value: Any = text if texts[name] is self._parameters[name] else [text]
            yield self._long_string(
                [name], {**(self._base or {}), name: value}, is_bounded=self._is_bounded(texts[name])
            )
        path = _path_to_text(self._base) if not texts and self.is_validating else None
        if path is not None:
            arguments = _with_text(self._base, path, "a" * self._size)
            yield self._long_string(path, arguments, is_bounded=self.oracle.rejects(arguments))

    def free_texts(self) -> Iterator[ProbeCase]:
        """The very long strings for arguments that allow arbitrary strings, as opposed to an enumeration."""
        texts = self._texts()
        for case in self.oversized():
            if case.argument not in texts or self._is_free(texts[case.argument]):
                yield case

    def _long_string(self, path: Sequence[str | int], arguments: dict[str, Any], *, is_bounded: bool) -> ProbeCase:
        """The probe with a very long string at a path."""
        is_promise = is_bounded and self._breaks(arguments, by_name=True)
        argument = ".".join(map(str, path))
        return ProbeCase.compact(
            arguments,
            probe="oversized",
            description=f"a string of {self._size:,} characters for `{argument}`",
            expects="rejection" if is_promise else "response",
            declared=is_bounded,
            keyword="maxLength" if is_promise else "",
            schema_pointer=_schema_pointer(str(path[0])),
            any_response_passes=not is_promise,
            argument=argument,
        )

    def _texts(self) -> dict[str, Any]:
        """The arguments that are strings or lists of strings, bounded ones first, and the schemas of the strings."""
        texts = {name: text for name in self._in_order() if (text := self._text_schema(name)) is not None}
        promised = [name for name in texts if self._is_bounded(texts[name]) and self._is_free(texts[name])]
        unbounded = [name for name in texts if not self._is_bounded(texts[name])]
        return {name: texts[name] for name in (*promised, *unbounded, *texts)}

    def _inapplicable(self, check: str) -> SkippedProbe:
        if check == "wrong_type":
            if any(map(self._is_untyped, self._parameters)):
                return SkippedProbe(check, "no argument has a type", False, False)
            return SkippedProbe(check, "no argument excludes objects or lists", False)
        if check == "oversized":
            return SkippedProbe(check, "no argument is a string", False)
        reasons = {
            "missing_required": "no argument is required",
            "extra_field": "the schema allows additional arguments",
        }
        return SkippedProbe(check, reasons[check], False, False)

    def _is_declared(self, check: str) -> bool:
        """Whether the schema, as it is written, makes the promise of a check."""
        if check == "missing_required":
            return bool(self._required)
        if check == "wrong_type":
            return any(not self._is_untyped(name) for name in self._parameters)
        if check == "extra_field":
            return self._is_closed
        return any(map(self._is_bounded, self._texts().values()))

    @property
    def _is_closed(self) -> bool:
        return self._schema.get("additionalProperties") is False or self._schema.get("unevaluatedProperties") is False

    @property
    def has_parameters(self) -> bool:
        return bool(self._parameters) or bool(self._base) or bool(self._required)

    def _breaks(self, arguments: dict[str, Any], *, by_name: bool) -> bool:
        """Whether arguments violate the schema, by the validator or else by the literal schema."""
        return self.oracle.rejects(arguments) if self.is_validating else by_name

    def _in_order(self) -> list[str]:
        """The declared arguments, required ones first."""
        first = [name for name in self._required if name in self._parameters]
        return [*first, *(name for name in self._parameters if name not in first)]

    def _is_untyped(self, name: str) -> bool:
        return self._tree is not None and accepts_anything(self._parameters[name], self._tree)

    def _is_bounded(self, schema: Any) -> bool:
        return self._tree is None or "string" not in unbounded_kinds(schema, self._tree)

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


_CASES: dict[str, Callable[[NegativeChecks], Iterator[ProbeCase]]] = {
    "missing_required": NegativeChecks.missing_required,
    "wrong_type": NegativeChecks.wrong_type,
    "extra_field": NegativeChecks.extra_field,
    "oversized": NegativeChecks.oversized,
}
SCHEMA_CHECKS = tuple(_CASES)
"""The checks that call a tool, in the order in which they are sent."""


def _violation(
    probe: str, description: str, arguments: dict[str, Any], keyword: str, schema_pointer: str, argument: str
) -> ProbeCase:
    return ProbeCase(
        probe=probe,
        description=description,
        expects="rejection",
        arguments=arguments,
        declared=True,
        keyword=keyword,
        schema_pointer=schema_pointer,
        argument=argument,
    )


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
    for step, child in steps if depth else ():
        if isinstance(child, str):
            return [step]
        if (path := _path_to_text(child, depth - 1)) is not None:
            return [step, *path]
    return None


def _with_text(value: Any, path: list[str | int], text: str) -> Any:
    """A copy of a value with a string replaced."""
    if not path:
        return text
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with_text(value[path[0]], path[1:], text)
    return copy
