"""Who says whether a value fits a schema: validators that are compiled once and never fetch anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.schema.tree import nesting
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_DEPTH = 120
"""How deep a schema may nest; the validator gives up a little further down."""
_MOST_STEPS = 100_000
"""How many schemas one value may be judged by: a union of unions can unfold without end."""
_SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_VALUE_SINGLES = ("not", "if", "then", "else")
_BACKTRACKING = ("(?=", "(?!", "(?<", "\\1", "\\2", "\\k")
_GAVE_UP = ("BacktrackLimitExceeded", "RegexEngineFailure")


class Oracle:
    """The validators of one schema: with formats asserted, and with formats as mere notes."""

    def __init__(self, schema: Any) -> None:
        self.problem: str | None = None
        """Why the schema cannot be used; None where it can."""
        self._strict: Any = None
        self._lenient: Any = None
        self._may_give_up = False
        self._maps: Any = None
        self._schema = schema
        self._steps = 0
        self.problem = self._unusable(schema)
        if self.problem is None:
            self.problem = self._compile(schema)

    def _unusable(self, schema: Any) -> str | None:
        """What would make the validator fail, or never end."""
        if schema is False:
            return "the schema is `false`"
        if schema is not True and type(schema) is not dict:
            return "the schema is not an object"
        if nesting(schema) > MOST_DEPTH:
            return f"the schema nests deeper than {MOST_DEPTH} levels"
        if schema is not True:
            worst, self._steps = _steps(schema)
            if worst > _MOST_STEPS:
                return "the schema combines too many schemas to be judged"
        return None

    def _compile(self, schema: Any) -> str | None:
        import jsonschema_rs

        try:
            self._strict = jsonschema_rs.validator_for(schema, validate_formats=True, offline=True)
            self._lenient = jsonschema_rs.validator_for(schema, validate_formats=False, offline=True)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # whatever is wrong with a stranger's schema, even a panic in the library
            return _reason(error)
        self._may_give_up = any(mark in text for text in _patterns(schema) for mark in _BACKTRACKING)
        return None

    def accepts(self, value: Any) -> bool:
        """Whether a value is valid, with `format` asserted."""
        if self._strict is None:
            return False
        try:
            return bool(self._strict.is_valid(value))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return False

    def refuses(self, value: Any) -> bool:
        """Whether a value is invalid even for a validator that takes `format` as a note."""
        if self._lenient is None:
            return False
        try:
            if self._lenient.is_valid(value):
                return False
            return not self._may_give_up or not self._gave_up(value)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a value that the validator cannot read is no value that it refused
            return False

    def _gave_up(self, value: Any) -> bool:
        """Whether a verdict is only that a pattern took too long."""
        return any(type(error.kind).__name__.endswith(_GAVE_UP) for error in self._lenient.iter_errors(value))

    def complaint(self, value: Any) -> tuple[str, str] | None:
        """The keyword and the place of the first error; None for a value that is accepted."""
        if self._strict is None:
            return None
        try:
            for validator in (self._lenient, self._strict):
                for error in validator.iter_errors(value):
                    path = "".join(f"/{escape(str(token))}" for token in error.instance_path)
                    return str(error.kind.name), path
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None
        return None

    def objection(self, value: Any) -> tuple[str, str] | None:
        """What is wrong with a value that is refused, in words, and where; None for one that is not."""
        if not self.refuses(value):
            return None
        try:
            error = next(iter(self._lenient.iter_errors(value)))
            return error.message, "".join(f"/{escape(str(token))}" for token in error.instance_path)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None

    def check_at(self, pointer: str) -> Callable[[Any], bool] | None:
        """What judges a value by the schema at a pointer of this schema; None where that cannot be had."""
        if not pointer:
            return self.accepts
        if self._steps > _MOST_STEPS:  # a validator for every place would take too long
            return None
        import jsonschema_rs

        try:
            if self._maps is None:
                self._maps = jsonschema_rs.validator_map_for(self._schema, validate_formats=True, offline=True)
            validator = self._maps.get("#" + pointer)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None
        return None if validator is None else _quiet(validator.is_valid)


def _quiet(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A validator that answers no where it would raise."""

    def check(value: Any) -> bool:
        try:
            return is_valid(value)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return False

    return check


def _steps(schema: dict[str, Any]) -> tuple[int, int]:
    """How many schemas a validator may go through for one value: at the worst place, and at all places together."""
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
            parts = list(_same_value(current, targets))
            if id(current) not in opened:
                opened.add(id(current))
                waiting += [part for part in parts if id(part) not in cost and id(part) not in opened]
            else:
                cost[id(current)] = min(1 + sum(cost.get(id(part), 0) for part in parts), 2 * _MOST_STEPS)
                waiting.pop()
    return max(cost.values(), default=0), sum(cost.values())


def _same_value(schema: dict[str, Any], target: Callable[[dict[str, Any]], Any]) -> Iterator[dict[str, Any]]:
    parts: list[Any] = [target(schema)] if "$ref" in schema else []
    for keyword in _SAME_VALUE_LISTS:
        branches = schema.get(keyword)
        if type(branches) is list:
            parts += branches
    parts += [schema[keyword] for keyword in _SAME_VALUE_SINGLES if keyword in schema]
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
    """What a validator says about a schema, as a short phrase."""
    text = str(getattr(error, "message", "") or error).partition("\n")[0]
    if "meta-schema" in text:
        return "its `$schema` names a dialect that is not known"
    if "Retrieval is disabled" in text or "not present in a registry" in text:
        return "it refers to a schema outside of itself"
    if "does not exist" in text or type(error).__name__ == "ReferencingError":
        return "it refers to a schema that is not there"
    if not text:
        return "it cannot be compiled"
    return f"it is no valid schema: {text if len(text) <= 120 else text[:119] + '…'}"
