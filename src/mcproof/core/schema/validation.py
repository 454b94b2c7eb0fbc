"""The test oracle: whether a value is valid against a schema, by validators that never access the network."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.coercion import is_coerced
from mcproof.schema.tree import nesting
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.generation.subschema_validator import SubschemaValidator

MAX_DEPTH = 120
"""The nesting limit for schemas, a little below that of the validator."""
_MAX_APPLIED_SCHEMAS = 100_000
"""The limit on schemas applied to one value: nested unions can expand exponentially."""
_MAX_BROKEN_PROMISES = 1_000
_MAX_OBJECTIONS = 20
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE_SINGLES = ("not", "if", "then", "else")
_BACKTRACKING_SYNTAX = ("(?=", "(?!", "(?<", "\\1", "\\2", "\\k")
_BACKTRACKING_ERRORS = ("BacktrackLimitExceeded", "RegexEngineFailure")


class Objection(NamedTuple):
    """Why a value is invalid."""

    pointer: str
    """Where, in the value."""
    message: str
    missing: str | None = None
    """The required property that is absent."""
    unexpected: str | None = None
    """The property that is not allowed."""


class Oracle:
    """Two validators for one schema: `format` is an assertion in one, an annotation in the other.

    A value is accepted if it is valid for the first, and rejected if it is invalid for the second. In between, neither
    is certain.
    """

    def __init__(self, schema: Any) -> None:
        self.problem: str | None = None
        """Why the schema is unusable; None if it is usable."""
        self._strict: Any = None
        self._lenient: Any = None
        self._may_backtrack = False
        self._subschemas: SubschemaValidator | None = None
        self._is_split = False
        self._schema = schema
        self._applied_schemas = 0
        self.problem = self._unusable(schema)
        if self.problem is None:
            self.problem = self._compile(schema)

    def _unusable(self, schema: Any) -> str | None:
        """A reason not to compile the schema: the validator would fail or not terminate."""
        if schema is False:
            return "the schema is `false`"
        if schema is not True and type(schema) is not dict:
            return "the schema is not an object"
        if nesting(schema) > MAX_DEPTH:
            return f"the schema nests deeper than {MAX_DEPTH} levels"
        if schema is not True:
            worst, self._applied_schemas = _count_applied_schemas(schema)
            if worst > _MAX_APPLIED_SCHEMAS:
                return "the schema combines too many schemas to be validated"
        return None

    def _compile(self, schema: Any) -> str | None:
        import jsonschema_rs

        try:
            self._strict = jsonschema_rs.validator_for(schema, validate_formats=True, offline=True)
            self._lenient = jsonschema_rs.validator_for(schema, validate_formats=False, offline=True)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # includes panics in the library
            return _reason(error)
        self._may_backtrack = any(mark in text for text in _patterns(schema) for mark in _BACKTRACKING_SYNTAX)
        return None

    def accepts(self, value: Any) -> bool:
        """Whether a value is valid with `format` as an assertion."""
        if self._strict is None:
            return False
        try:
            return bool(self._strict.is_valid(value))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return False

    def rejects(self, value: Any) -> bool:
        """Whether a value is invalid even with `format` as an annotation."""
        if self._lenient is None:
            return False
        try:
            if self._lenient.is_valid(value):
                return False
            return not self._may_backtrack or not self._exceeded_backtracking(value)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # not rejected: the validator cannot represent the value
            return False

    def _exceeded_backtracking(self, value: Any) -> bool:
        """Whether a pattern exceeded the backtracking limit, so that the value may be valid."""
        return any(
            type(error.kind).__name__.endswith(_BACKTRACKING_ERRORS) for error in self._lenient.iter_errors(value)
        )

    def first_error(self, value: Any) -> tuple[str, str] | None:
        """The keyword and pointer of the first error; None for a valid value."""
        if self._strict is None:
            return None
        try:
            for validator in (self._lenient, self._strict):
                for error in validator.iter_errors(value):
                    return str(error.kind.name), _pointer(error)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None
        return None

    def broken_promises(self, value: Any) -> frozenset[tuple[str, ...]]:
        """All promises that a value breaks: keyword, pointer, and the name of a missing or undeclared property.

        A value of a wrong type that a server may convert is marked, because it breaks less than others.
        """
        if self._strict is None:
            return frozenset()
        try:
            return frozenset(islice(_broken_promises(self._strict.iter_errors(value)), _MAX_BROKEN_PROMISES))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return frozenset()

    def rejection(self, value: Any) -> tuple[str, str] | None:
        """The message and pointer of the first error of a rejected value; None if it is not rejected."""
        if not self.rejects(value):
            return None
        try:
            error = next(iter(self._lenient.iter_errors(value)))
            return error.message, _pointer(error)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None

    def objections(self, value: Any) -> list[Objection]:
        """The first errors of a rejected value; empty if it is not rejected."""
        if not self.rejects(value):
            return []
        try:
            return list(islice(_objections(self._lenient.iter_errors(value)), _MAX_OBJECTIONS))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return []

    def check_at(self, pointer: str) -> Callable[[Any], bool] | None:
        """Return a validator for the subschema at a pointer; None if there is none."""
        if not pointer:
            return self.accepts
        if self._applied_schemas > _MAX_APPLIED_SCHEMAS:  # compiling all subschemas would take too long
            return None
        if not self._is_split:
            self._is_split = True
            self._subschemas = _subschemas_of(self._schema)
        check = None if self._subschemas is None else self._subschemas.check_at(pointer)
        return None if check is None else _never_raising(check)


def _subschemas_of(schema: Any) -> SubschemaValidator | None:
    from mcproof.generation.subschema_validator import SubschemaValidator

    try:
        return SubschemaValidator(schema)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # includes panics in the library
        return None


def _broken_promises(errors: Iterable[Any], branch: str = "") -> Iterator[tuple[str, ...]]:
    """The promises that errors are about, those of the branches of a union, too."""
    for error in errors:
        kind, pointer = error.kind, _pointer(error)
        for name in getattr(kind, "unexpected", None) or [getattr(kind, "property", "")]:
            yield f"{branch}{kind.name}", pointer, str(name)
        if kind.name == "type" and is_coerced(error.instance, kind.types):
            yield f"{branch}{kind.name}", pointer, "coerced"
        for number, inner in enumerate(getattr(kind, "context", ())):
            yield from _broken_promises(inner, f"{branch}{kind.name}/{number}/")


def _objections(errors: Iterable[Any]) -> Iterator[Objection]:
    for error in errors:
        kind, pointer, message = error.kind, _pointer(error), error.message.partition("\n")[0]
        if kind.name == "required":
            yield Objection(pointer, message, missing=str(kind.property))
        elif unexpected := getattr(kind, "unexpected", None):
            yield from (Objection(pointer, message, unexpected=str(name)) for name in unexpected)
        else:
            yield Objection(pointer, message)


def _pointer(error: Any) -> str:
    return "".join(f"/{escape(str(token))}" for token in error.instance_path)


def _never_raising(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Wrap a validator: false instead of an exception."""

    def check(value: Any) -> bool:
        try:
            return is_valid(value)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return False

    return check


def _count_applied_schemas(schema: dict[str, Any]) -> tuple[int, int]:
    """How many schemas apply to one value: the maximum over all subschemas, and the sum."""
    from mcproof.schema.tree import SchemaTree

    tree = SchemaTree(schema)
    targets = tree.references.target
    cost: dict[int, int] = {}
    for node in tree.nodes:
        opened: set[int] = set()
        waiting = [node.schema] if type(node.schema) is dict else []
        while waiting:
            current = waiting[-1]
            if id(current) in cost:
                waiting.pop()
                continue
            parts = list(_in_place_subschemas(current, targets))
            if id(current) not in opened:
                opened.add(id(current))
                waiting += [part for part in parts if id(part) not in cost and id(part) not in opened]
            else:
                cost[id(current)] = min(1 + sum(cost.get(id(part), 0) for part in parts), 2 * _MAX_APPLIED_SCHEMAS)
                waiting.pop()
    return max(cost.values(), default=0), sum(cost.values())


def _in_place_subschemas(schema: dict[str, Any], target: Callable[[dict[str, Any]], Any]) -> Iterator[dict[str, Any]]:
    parts: list[Any] = [target(schema)] if "$ref" in schema else []
    for keyword in _IN_PLACE_LISTS:
        branches = schema.get(keyword)
        if type(branches) is list:
            parts += branches
    parts += [schema[keyword] for keyword in _IN_PLACE_SINGLES if keyword in schema]
    for part in parts:
        if type(part) is dict:
            yield part


def _patterns(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        current = waiting.pop()
        if type(current) is dict:
            if type(current.get("pattern")) is str:
                yield current["pattern"]
            if type(current.get("patternProperties")) is dict:
                yield from current["patternProperties"]
            waiting += current.values()
        elif type(current) is list:
            waiting += current


def _reason(error: BaseException) -> str:
    """Summarise why a schema does not compile."""
    text = str(getattr(error, "message", "") or error).partition("\n")[0]
    if "meta-schema" in text:
        return "its `$schema` names an unknown dialect"
    if "Retrieval is disabled" in text or "not present in a registry" in text:
        return "it refers to an external schema"
    if "does not exist" in text or type(error).__name__ == "ReferencingError":
        return "it refers to a schema that does not exist"
    if not text:
        return "it cannot be compiled"
    return f"it is not a valid schema: {text if len(text) <= 120 else text[:119] + '…'}"
