"""Validation by JSON Schema: of values against a schema, and of schemas against their dialect.

`Oracle` decides whether a value is valid, `objections` whether a schema is. Nothing is fetched, matching is
bounded, and schemas in unknown dialects are not judged. `is_coerced` knows the values that lenient validators
convert.
Why a schema has two validators: docs/decisions/0024-two-validators.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.tree import STRICT_LEVELS, SchemaNode, SchemaTree, nesting
from mcproof.core.text.json_positions import escape

_BOOLEAN_WORDS = frozenset({"", "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "1", "0"})
_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_NUMBERS = frozenset({"integer", "number"})


def is_coerced(value: Any, types: Collection[str]) -> bool:
    """Whether a lenient server may convert a value to one of these types.

    Null stands for an absent value; a scalar becomes text, a number, a boolean or a list of one; a text is parsed; a
    fraction is cut off. What remains (a list of lists, an object, an arbitrary word for a number) no server converts.
    """
    allowed = frozenset(types)
    if value is None:
        return True
    if type(value) is str:
        return "array" in allowed or _parses(value, allowed)
    if type(value) is bool:
        return bool(allowed & {"string", "array", *_NUMBERS})
    if type(value) is int or type(value) is float:
        return bool(allowed & {"string", "boolean", "array", *_NUMBERS}) or (value == 0 and "null" in allowed)
    if type(value) is list:
        is_unwrapped = len(value) == 1 and type(value[0]) not in (list, dict)
        return bool(allowed & _SCALARS) if is_unwrapped else not value and bool(allowed - {"array"})
    return False


def _parses(text: str, types: frozenset[str]) -> bool:
    """Whether a text is the written form of a value of one of these types."""
    if "boolean" in types and text.lower() in _BOOLEAN_WORDS:
        return True
    try:
        value = json.loads(text)
    except ValueError:
        return not text and bool(types & {"null", *_NUMBERS})
    names = {dict: {"object"}, list: {"array"}, bool: {"boolean"}, type(None): {"null"}}
    return bool(types & names.get(type(value), _NUMBERS))


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

    def worded(self, declared: list[str]) -> str:
        """It in words, about the arguments of a call; `declared` are the parameters."""
        from mcproof.core.console import nearest_or_all
        from mcproof.core.observations.connection import cropped

        where = f"{cropped(self.pointer)}: " if self.pointer else ""
        if self.missing is not None:
            return f"{where}`{self.missing}` is missing"
        if self.unexpected is not None:
            if self.pointer:
                return f"{where}`{self.unexpected}` is not allowed"
            return f"`{self.unexpected}` is not a parameter{nearest_or_all(self.unexpected, declared)}"
        return f"{where}{cropped(self.message)}"


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
        self._may_backtrack = any(syntax in text for text in _patterns(schema) for syntax in _BACKTRACKING_SYNTAX)
        return None

    def accepts(self, value: Any) -> bool:
        """Whether a value is valid with `format` as an assertion."""
        if self._strict is None:
            return False
        try:
            return bool(self._strict.is_valid(value))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # the library cannot represent the value, or panics
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
    from mcproof.core.schema.tree import SchemaTree

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
                # Capped, because the numbers grow exponentially in nested unions.
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


_FANOUT = 32
"""The properties of one level: the validator looks for each of them in the value."""
_DEFINITIONS = ("$defs", "definitions")
_BASE = "https://schema.invalid/"
"""The address of a schema without an absolute `$id`; never accessed."""


class SubschemaValidator:
    """Selects and applies the subschemas of one schema. Raises an exception of the validator if it does not compile."""

    def __init__(self, schema: dict[str, Any]) -> None:
        import jsonschema_rs

        base = _address(schema)
        pointers = [node.path for node in _reachable(SchemaTree(schema))]
        self._leaves = {pointer: number for number, pointer in enumerate(pointers)}
        level: list[dict[str, Any]] = [{"$ref": f"{base}#{_fragment(pointer)}"} for pointer in pointers]
        self._depth = 0
        # Compiling a validator for each subschema would take too long. In this tree of selectors, a value is wrapped in
        # the path to its subschema, so one validator serves all.
        while self._depth == 0 or len(level) > 1:
            level = [_selector(level[first : first + _FANOUT]) for first in range(0, len(level), _FANOUT)]
            self._depth += 1
        registry = jsonschema_rs.Registry([(base, schema)])
        self._validator = jsonschema_rs.validator_for(level[0], registry=registry, validate_formats=True, offline=True)

    def check_at(self, pointer: str) -> Callable[[Any], bool] | None:
        """Return a check against the subschema at a pointer; None if nothing refers to it."""
        leaf = self._leaves.get(pointer)
        if leaf is None:
            return None
        steps = []
        for _ in range(self._depth):
            leaf, step = divmod(leaf, _FANOUT)
            steps.append(str(step))

        def check(value: Any) -> bool:
            for step in steps:
                value = {step: value}
            return bool(self._validator.is_valid(value))

        return check


def _selector(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return {"properties": {str(number): schema for number, schema in enumerate(schemas)}}


def _reachable(tree: SchemaTree) -> list[SchemaNode]:
    """The subschemas that apply to some part of a value; unused definitions may be invalid."""
    references = tree.references
    below: dict[int, list[SchemaNode]] = {}
    for node in tree.nodes:
        if node.parent is not None and node.keyword not in _DEFINITIONS:
            below.setdefault(id(node.parent), []).append(node)
    reached = {id(tree.nodes[0]): tree.nodes[0]}
    waiting = [tree.nodes[0]]
    while waiting:
        node = waiting.pop()
        for child in (*below.get(id(node), ()), *references.targets_from(node)):
            if id(child) not in reached:
                reached[id(child)] = child
                waiting.append(child)
    return [node for node in reached.values() if type(node.schema) is dict]


def _address(schema: dict[str, Any]) -> str:
    """The address that the references of a schema are relative to."""
    from urllib.parse import urldefrag, urljoin

    identifier = schema.get("$id")
    return urldefrag(urljoin(_BASE, identifier)).url if type(identifier) is str else _BASE


def _fragment(pointer: str) -> str:
    from urllib.parse import quote

    return quote(pointer)


DEFAULT = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of a schema without `$schema`, as the protocol defines it."""
_KNOWN = {
    address.partition("://")[2]: address
    for address in (
        DEFAULT,
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    )
}
_SHORT_NAMES = {address.split("/")[-2]: address for address in _KNOWN.values()}
_MOST_ERRORS = 20


def objections(tree: SchemaTree) -> list[tuple[str, str]]:
    """The errors of a schema as JSON Schema, each with its pointer and message; empty if valid or not judged.

    A schema that is nested so deep that the validator could exhaust the stack, and end the process, is not judged.
    """
    schema = tree.root
    named = schema.get("$schema", DEFAULT)
    address = _KNOWN.get(named.partition("://")[2].removesuffix("#")) if isinstance(named, str) else DEFAULT
    if tree.is_plain or address is None or tree.deepest > STRICT_LEVELS:
        return []
    try:
        validator = _meta_validator(address)
        if validator.is_valid(schema):
            return []
        return list(_worded(validator.iter_errors(schema), schema))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # the library cannot read it, or panics
        return []


def is_valid_in(dialect: str, tree: SchemaTree) -> bool:
    """Whether a schema is valid in a dialect given by its short name, such as `draft-07`, whatever it declares.

    A schema that cannot be judged counts as valid.
    """
    if tree.is_plain or tree.deepest > STRICT_LEVELS:
        return True
    try:
        return bool(_meta_validator(_SHORT_NAMES[dialect]).is_valid(tree.root))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # the library cannot read it, or panics
        return True


@cache
def _meta_validator(address: str) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for({"$schema": address, "$ref": address}, validate_formats=False, offline=True)


def _worded(errors: Iterator[Any], schema: Any) -> Iterator[tuple[str, str]]:
    for _, outermost in zip(range(_MOST_ERRORS), errors, strict=False):
        error = _innermost(outermost)
        if error.instance is None and _value_at(error.instance_path, schema) is not None:
            continue  # a number beyond the library's range
        pointer = "".join(f"/{escape(str(token))}" for token in error.instance_path)
        yield pointer, _complaint(error)


def _value_at(path: list[str | int], value: Any) -> Any:
    for token in path:
        value = value[token]
    return value


def _innermost(error: Any) -> Any:
    """The error inside a value that matches none of several shapes: that of the best-matching shape."""
    while error.kind.name in ("anyOf", "oneOf") and error.instance_path[-1:] != ["type"]:
        inside = [inner for branch in error.kind.context for inner in branch]
        nearest = max(inside, key=lambda inner: len(inner.instance_path), default=error)
        if len(nearest.instance_path) <= len(error.instance_path):
            break
        error = nearest
    return error


def _complaint(error: Any) -> str:
    from mcproof.core.console import cut

    message: str = error.message.partition("\n")[0]
    if error.instance_path[-1:] == ["type"] and error.kind.name == "anyOf":
        return f"{cut(message.partition(' is not valid under')[0], 80)} is not a JSON Schema type"
    return cut(message, 120)
