"""Operators: conversions, arithmetic and comparison as JavaScript defines them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp.interpreter import LONGEST_TEXT, over_options
from mcproof.source.javascript.values import (
    ABSENT,
    UNDEFINED,
    BigInt,
    JsArray,
    JsDate,
    JsObject,
    JsPromise,
    JsRegExp,
    Library,
    Symbol,
    Undefined,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.source.javascript.values import Value


def truth(value: Value) -> bool | None:
    """Whether a value counts as true; None if unknown."""
    if value is True or value is False:
        return bool(value)
    if value is None or isinstance(value, Undefined):
        return False
    if isinstance(value, (str, int, float)):
        return bool(value) and not math.isnan(value) if isinstance(value, float) else bool(value)
    if isinstance(value, BigInt):
        return bool(value.value)
    if isinstance(value, Unknown):
        if value.options and not value.is_default:
            truths = {None if option is ABSENT else truth(option) for option in value.options}
            return truths.pop() if len(truths) == 1 else None
        return None
    return None if isinstance(value, Library) and value.package == "?" else True


def unsettled(value: Value) -> Unknown:
    """A condition that is not settled."""
    return value if isinstance(value, Unknown) else Unknown("a condition is not settled")


def is_nullish(value: Value) -> bool | None:
    """Whether a value is null or undefined; None if unknown."""
    if isinstance(value, Unknown):
        if value.options and not value.is_default:
            answers = {option is ABSENT or is_nullish(option) for option in value.options}
            return answers.pop() if len(answers) == 1 else None
        return None
    return value is None or value is UNDEFINED


def side_by_default(condition: Unknown, test: Callable[[Value], bool | None] = truth) -> int | None:
    """The side that a branch takes by default: 0 if its condition holds; None if that is unknown."""
    if not condition.is_default:
        return None
    holds = test(condition.options[0])
    return None if holds is None else (0 if holds else 1)


def number_text(value: float) -> str:
    """A number as JavaScript writes it."""
    if isinstance(value, int):
        return str(value) if abs(value) < 10**21 else _exponent(float(value))
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        if -7 <= int(exponent) < 0:
            return f"{value:.20f}".rstrip("0")
        return f"{mantissa}e{'+' if int(exponent) > 0 else '-'}{abs(int(exponent))}"
    return text


def _exponent(value: float) -> str:
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa}e{exponent}" if exponent else mantissa


DEEPEST_TEXT = 20


def text_of(value: Value, depth: int = 0) -> str | Unknown:
    """A value as a string."""
    if isinstance(value, str):
        return value
    if value is True or value is False:
        return "true" if value else "false"
    if value is None:
        return "null"
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, BigInt):
        return str(value.value)
    if isinstance(value, JsRegExp):
        return f"/{value.source}/{value.flags}"
    if isinstance(value, Unknown):
        text = over_options(value, lambda option: text_of(option, depth))
        return text if isinstance(text, (str, Unknown)) else Unknown(value.reason)
    if isinstance(value, JsArray) and not value.is_open and depth < DEEPEST_TEXT:
        return joined(value, ",", depth + 1)
    if isinstance(value, JsObject) and not value.is_open:
        if value.native == "error":
            return text_of(value.members.get("message", ""), depth + 1)
        return value.native.text if hasattr(value.native, "text") else "[object Object]"
    return Unknown("the text of this value is not known")


def joined(array: JsArray, separator: str, depth: int = 0) -> str | Unknown:
    """The items of an array as one text."""
    if array.is_open:
        return Unknown("the items of an array are not known")
    parts: list[str] = []
    for item in array.items:
        text = "" if item is None or item is UNDEFINED else text_of(item, depth)
        if isinstance(text, Unknown):
            if not text.is_default or text.options[0] is ABSENT:
                return Unknown(text.reason)
            # With the default of this item, the text is what most users of the server get.
            rest = joined(JsArray(array.items[len(parts) + 1 :]), separator, depth)
            if isinstance(rest, Unknown) and not rest.is_default:
                return rest
            pieces = [*parts, str(text.options[0])]
            if len(array.items) > len(pieces):
                pieces.append(rest.options[0] if isinstance(rest, Unknown) else rest)
            return Unknown(text.reason, (separator.join(pieces),), is_default=True)
        parts.append(text)
    whole = separator.join(parts)
    return whole if len(whole) <= LONGEST_TEXT else Unknown("a text is too long")


def number_of_value(value: Value) -> int | float | Unknown:
    """A value as a number."""
    if value is True or value is False:
        return int(value)
    if isinstance(value, (int, float)):
        return value
    if value is None:
        return 0
    if value is UNDEFINED:
        return math.nan
    if isinstance(value, str):
        return parsed_number(value)
    if isinstance(value, Unknown):
        number = over_options(value, number_of_value)
        return number if isinstance(number, (int, float, Unknown)) else Unknown(value.reason)
    return math.nan if isinstance(value, JsObject) else Unknown("this number is not known")


def parsed_number(text: str) -> int | float:
    """What `Number` makes of a string."""
    text = text.strip()
    if not text:
        return 0
    # Python reads `1_000` as a number, JavaScript does not.
    if len(text) > 400 or "_" in text:
        return math.nan
    try:
        return int(text, 0) if text[:2].lower() in ("0x", "0o", "0b") else integral(float(text))
    except ValueError:
        return {"Infinity": math.inf, "-Infinity": -math.inf}.get(text, math.nan)


def integral(value: float) -> int | float:
    """A number as an int if it is one."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value


def add(left: Value, right: Value) -> Value:
    """The operator `+`."""
    if isinstance(left, Unknown):
        return over_options(left, lambda option: add(option, right))
    if isinstance(right, Unknown):
        return over_options(right, lambda option: add(left, option))
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _arithmetic("+", left, right)
    if isinstance(left, BigInt) and isinstance(right, BigInt):
        return BigInt(left.value + right.value)
    parts = [left, right]
    if any(isinstance(part, (str, JsArray, JsObject, JsRegExp)) for part in parts):
        texts = [text_of(part) for part in parts]
        for text in texts:
            if isinstance(text, Unknown):
                return text
        whole = f"{texts[0]}{texts[1]}"
        return whole if len(whole) <= LONGEST_TEXT else Unknown("a text is too long")
    numbers = [number_of_value(part) for part in parts]
    if isinstance(numbers[0], Unknown) or isinstance(numbers[1], Unknown):
        return Unknown("this number is not known")
    return _arithmetic("+", numbers[0], numbers[1])


def _arithmetic(operator: str, left: float, right: float) -> Value:
    try:
        match operator:
            case "+":
                result: float = left + right
            case "-":
                result = left - right
            case "*":
                result = left * right
            case "/":
                if right == 0:
                    return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
                result = left / right
            case "%":
                result = math.fmod(left, right) if right else math.nan
            case "**":
                if abs(right) > 1_000:
                    return Unknown("a number is too large")
                result = float(left) ** right
            case _:
                return Unknown("this number is not known")
    except (OverflowError, ValueError):
        return math.inf
    # Python has a complex root of a negative number, JavaScript NaN.
    if isinstance(result, complex):
        return math.nan
    # Numbers of JavaScript are floats, which lose digits from here on.
    if isinstance(result, int) and abs(result) > 2**53:
        result = float(result)
    return integral(result)


def _to_int32(value: float) -> int:
    if not math.isfinite(value):
        return 0
    whole = int(value) & 0xFFFFFFFF
    return whole - (1 << 32) if whole >= 1 << 31 else whole


# Shifts are of 32 bits, by the lower five bits of the number on the right.
_BITS: dict[str, Callable[[int, int], int]] = {
    "&": lambda left, right: left & right,
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "<<": lambda left, right: _to_int32(left << (right & 31)),
    ">>": lambda left, right: left >> (right & 31),
    ">>>": lambda left, right: (left & 0xFFFFFFFF) >> (right & 31),
}


def strictly_equal(left: Value, right: Value) -> bool | Unknown:
    """The operator `===`."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        unknown, other = (left, right) if isinstance(left, Unknown) else (right, left)
        if not unknown.options:
            return Unknown(unknown.reason)
        answer = over_options(unknown, lambda option: strictly_equal(option, other))
        return answer if isinstance(answer, (bool, Unknown)) else Unknown(unknown.reason)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    if isinstance(left, (str, BigInt, Symbol)):
        return type(left) is type(right) and left == right
    if isinstance(left, Library) or isinstance(right, Library):
        is_other = left is None or right is None or UNDEFINED in (left, right) or isinstance(left, (str, int))
        if left == right:
            return True
        return False if is_other else Unknown("what another package exports is not known")
    return left is right


def loosely_equal(left: Value, right: Value) -> bool | Unknown:
    """The operator `==`."""
    nullish = [is_nullish(left), is_nullish(right)]
    if nullish == [True, True]:
        return True
    if True in nullish and False in nullish:
        return False
    kinds = [isinstance(value, (int, float)) for value in (left, right)]
    if any(kinds) and isinstance(right if kinds[0] else left, (str, bool)):
        return strictly_equal(number_of_value(left), number_of_value(right))
    return strictly_equal(left, right)


def _compare(operator: str, left: Value, right: Value) -> Value:
    if not (isinstance(left, str) and isinstance(right, str)):
        left, right = number_of_value(left), number_of_value(right)
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return Unknown("this comparison is not settled")
    match operator:
        case "<":
            return bool(left < right)
        case ">":
            return bool(left > right)
        case "<=":
            return bool(left <= right)
        case _:
            return bool(left >= right)


def binary(operator: str, left: Value, right: Value) -> Value:
    """An operator with two operands that are both evaluated."""
    if operator == "+":
        return add(left, right)
    if operator in ("===", "!==", "==", "!="):
        equal = (strictly_equal if len(operator) == 3 else loosely_equal)(left, right)
        return inverted(equal) if operator[0] == "!" else equal
    if isinstance(left, Unknown):
        return over_options(left, lambda option: binary(operator, option, right))
    if isinstance(right, Unknown):
        return over_options(right, lambda option: binary(operator, left, option))
    if operator in ("<", ">", "<=", ">="):
        return _compare(operator, left, right)
    if isinstance(left, BigInt) or isinstance(right, BigInt):
        return Unknown("this number is not known")
    first, second = number_of_value(left), number_of_value(right)
    if isinstance(first, Unknown) or isinstance(second, Unknown):
        return Unknown("this number is not known")
    if operator in _BITS:
        return _BITS[operator](_to_int32(first), _to_int32(second))
    return _arithmetic(operator, first, second)


def inverted(value: Value) -> Value:
    """The operator `!`."""
    is_true = truth(value)
    if is_true is not None:
        return not is_true
    if isinstance(value, Unknown) and value.is_default:
        return over_options(value, inverted)
    return Unknown(value.reason if isinstance(value, Unknown) else "a condition is not settled")


def type_name(value: Value) -> str | Unknown:
    """The operator `typeof`."""
    if isinstance(value, Unknown):
        name = over_options(value, type_name)
        return name if isinstance(name, (str, Unknown)) else Unknown(value.reason)
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, BigInt):
        return "bigint"
    if isinstance(value, Symbol):
        return "symbol"
    # `typeof null` is an old mistake of the language, and stays.
    if value is None or isinstance(value, (JsArray, JsRegExp, JsPromise, JsDate)):
        return "object"
    if isinstance(value, Library):
        return Unknown("what another package exports is not known")
    if getattr(value, "is_callable", False):
        return "function"
    return "object"


def json_text(value: Any, indent: Any = None) -> Value:
    """What `JSON.stringify` makes of a value."""
    try:
        data = as_data(value, 0, [MOST_WRITTEN])
    except LookupError:
        return Unknown("what is written as JSON is not known")
    if data is UNDEFINED:
        return UNDEFINED
    if (isinstance(indent, int) and indent > 0) or (isinstance(indent, str) and indent):
        return json.dumps(data, indent=indent, ensure_ascii=False)
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


MOST_WRITTEN = 50_000
"""How many values one JSON text has at most; shared values count each time."""


def as_data(value: Any, depth: int, left: list[int]) -> Any:
    """A value as plain JSON data; UNDEFINED if it has none. Raises LookupError if it is not known, or too large."""
    left[0] -= 1
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > 100 or left[0] < 0 or isinstance(value, (Unknown, Library)):
        raise LookupError
    if isinstance(value, JsArray):
        if value.is_open:
            raise LookupError
        items = [as_data(item, depth + 1, left) for item in value.items]
        # In a list undefined is written as null; as a member it is left out.
        return [None if item is UNDEFINED else item for item in items]
    if isinstance(value, JsObject) and not getattr(value, "is_callable", False):
        if value.is_open:
            raise LookupError
        members = {name: as_data(member, depth + 1, left) for name, member in value.members.items() if name[:2] != "@@"}
        return {name: member for name, member in members.items() if member is not UNDEFINED}
    return UNDEFINED
