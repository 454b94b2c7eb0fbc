"""Methods of strings, regular expressions and numbers."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp.builtins import METHODS, argument, method
from mcproof.source.javascript.interp.interpreter import LONGEST_TEXT, MOST_ITEMS, over_options
from mcproof.source.javascript.interp.members import call_value
from mcproof.source.javascript.interp.operators import (
    joined,
    number_of_value,
    number_text,
    text_of,
)
from mcproof.source.javascript.values import (
    UNDEFINED,
    JsArray,
    JsRegExp,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.source.javascript.interp.builtins import Method
    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.values import Value


_LONGEST_SEARCHED = 20_000


def expression_of(pattern: JsRegExp) -> re.Pattern[str] | None:
    """A regular expression for Python; None if it may mean something else there, or take exponential time."""
    source = pattern.source
    quantified = len(re.findall(r"(?<!\\)[*+]|\{\d+,\d*\}", source))
    if len(source) > 200 or quantified > 3 or re.search(r"\)[*+{]|\(\?<|\\[pPkcu\d]|\[\^?\]", source):
        return None
    flags = (re.IGNORECASE if "i" in pattern.flags else 0) | (re.MULTILINE if "m" in pattern.flags else 0)
    try:
        # Without the flag m, `$` matches only at the very end; in Python also before a last line break. `\w` is ASCII.
        return re.compile(
            source.replace("\\/", "/").replace("$", r"\Z") if "m" not in pattern.flags else source,
            flags | (re.DOTALL if "s" in pattern.flags else 0) | re.ASCII,
        )
    except (re.error, OverflowError, RecursionError):
        return None


_UNKNOWN_TEXT = Unknown("what a regular expression matches is not known")


@method("String", "replace", "replaceAll")
def _replace(run: Interpreter, this: str, given: list[Value]) -> Value:
    pattern, new = argument(given, 0), argument(given, 1)
    run.charge(1 + len(this) // 100)
    if isinstance(pattern, JsRegExp):
        expression = expression_of(pattern)
        if expression is None or len(this) > _LONGEST_SEARCHED:
            return _UNKNOWN_TEXT
        is_all = "g" in pattern.flags
        failed: list[Unknown] = []

        def substitute(match: re.Match[str]) -> str:
            if getattr(new, "is_callable", False):
                groups = [UNDEFINED if group is None else group for group in match.groups()]
                replacement = text_of(call_value(run, new, UNDEFINED, [match[0], *groups, match.start()], None))
            else:
                replacement = text_of(new)
                if isinstance(replacement, str) and "$" in replacement:
                    replacement = _substituted(replacement, match)
            if isinstance(replacement, Unknown):
                failed.append(replacement)
                return ""
            return replacement

        result = expression.sub(substitute, this, count=0 if is_all else 1)
        return failed[0] if failed else result
    old = text_of(pattern)
    if isinstance(old, Unknown):
        return old
    text = text_of(call_value(run, new, UNDEFINED, [old], None)) if getattr(new, "is_callable", False) else text_of(new)
    return text if isinstance(text, Unknown) else this.replace(old, text.replace("$$", "$"), 1)


def _substituted(text: str, match: re.Match[str]) -> str:
    def part(reference: re.Match[str]) -> str:
        name = reference[1]
        if name == "&":
            return match[0]
        if name == "$":
            return "$"
        number = int(name)
        return (match[number] or "") if 0 < number <= len(match.groups()) else reference[0]

    return re.sub(r"\$(\$|&|\d)", part, text)


def _replace_all(run: Interpreter, this: str, given: list[Value]) -> Value:
    pattern, new = argument(given, 0), argument(given, 1)
    if isinstance(pattern, str) and isinstance(new, str) and len(this) * (len(new) + 1) < LONGEST_TEXT * 4:
        return this.replace(pattern, new)
    return _replace(run, this, given)


METHODS["String"]["replaceAll"] = _replace_all


@method("String", "split")
def _split(run: Interpreter, this: str, given: list[Value]) -> Value:
    separator = argument(given, 0)
    run.charge(1 + len(this) // 100)
    if separator is UNDEFINED:
        return JsArray([this])
    if isinstance(separator, JsRegExp):
        expression = expression_of(separator)
        if expression is None or len(this) > _LONGEST_SEARCHED:
            return JsArray([], is_open=True)
        return JsArray([UNDEFINED if part is None else part for part in expression.split(this)])
    text = text_of(separator)
    if isinstance(text, Unknown):
        return JsArray([], is_open=True)
    parts: list[Value] = [*this.split(text)] if text else [*this]
    return JsArray(parts[:MOST_ITEMS])


@method("String", "matchAll", "search")
def _searched(run: Interpreter, this: str, given: list[Value]) -> Value:
    return _UNKNOWN_TEXT


@method("String", "charCodeAt", "codePointAt")
def _code(run: Interpreter, this: str, given: list[Value]) -> Value:
    at = argument(given, 0)
    at = 0 if at is UNDEFINED else at
    return ord(this[at]) if isinstance(at, int) and 0 <= at < len(this) else math.nan


@method("String", "match")
def _match(run: Interpreter, this: str, given: list[Value]) -> Value:
    pattern = argument(given, 0)
    expression = expression_of(pattern) if isinstance(pattern, JsRegExp) else None
    if expression is None or len(this) > _LONGEST_SEARCHED:
        return _UNKNOWN_TEXT
    if "g" in pattern.flags:
        parts: list[Value] = [match[0] for match in expression.finditer(this)]
        return JsArray(parts) if parts else None
    match = expression.search(this)
    return (
        None
        if match is None
        else JsArray([match[0], *(UNDEFINED if group is None else group for group in match.groups())])
    )


@method("RegExp", "test")
def _test(run: Interpreter, this: JsRegExp, given: list[Value]) -> Value:
    text, expression = text_of(argument(given, 0)), expression_of(this)
    if isinstance(text, Unknown) or expression is None or len(text) > _LONGEST_SEARCHED:
        return Unknown("what a regular expression matches is not known")
    return expression.search(text) is not None


@method("RegExp", "exec")
def _exec(run: Interpreter, this: JsRegExp, given: list[Value]) -> Value:
    text = argument(given, 0)
    # With the flag g a call starts where the one before it ended, which is not followed.
    if "g" in this.flags or not isinstance(text, str):
        return _UNKNOWN_TEXT
    return _match(run, text, [this])


def _part(clamps: bool) -> Method:
    def method(run: Interpreter, this: str, given: list[Value]) -> Value:
        bounds = [number_of_value(bound) if bound is not UNDEFINED else None for bound in given[:2]]
        start, end = (*bounds, None, None)[:2]
        if isinstance(start, Unknown) or isinstance(end, Unknown):
            return Unknown("which part of a text is used is not known")
        if clamps:
            start, end = max(int(start or 0), 0), len(this) if end is None else max(int(end), 0)
            start, end = min(start, end), max(start, end)
        return this[int(start or 0) : None if end is None or end == math.inf else int(end)]

    return method


METHODS["String"]["slice"], METHODS["String"]["substring"] = _part(False), _part(True)


@method("String", "substr")
def _substr(run: Interpreter, this: str, given: list[Value]) -> Value:
    start, length = argument(given, 0), argument(given, 1)
    if not isinstance(start, int) or not (length is UNDEFINED or isinstance(length, int)):
        return Unknown("which part of a text is used is not known")
    rest = this[start:]
    return rest[: max(length, 0)] if isinstance(length, int) else rest


def _with_text(use: Callable[[str, str], Value]) -> Method:
    def method(run: Interpreter, this: str, given: list[Value]) -> Value:
        value = argument(given, 0)
        if isinstance(value, Unknown):
            return over_options(value, lambda option: method(run, this, [option]))
        text = text_of(value)
        return text if isinstance(text, Unknown) else use(this, text)

    return method


METHODS["String"].update(
    includes=_with_text(lambda this, text: text in this),
    startsWith=_with_text(lambda this, text: this.startswith(text)),
    endsWith=_with_text(lambda this, text: this.endswith(text)),
    indexOf=_with_text(lambda this, text: this.find(text)),
    lastIndexOf=_with_text(lambda this, text: this.rfind(text)),
    localeCompare=_with_text(lambda this, text: (this > text) - (this < text)),
    toUpperCase=lambda run, this, given: this.upper(),
    toLowerCase=lambda run, this, given: this.lower(),
    toLocaleLowerCase=lambda run, this, given: this.lower(),
    toLocaleUpperCase=lambda run, this, given: this.upper(),
    trim=lambda run, this, given: this.strip(),
    trimStart=lambda run, this, given: this.lstrip(),
    trimEnd=lambda run, this, given: this.rstrip(),
    toString=lambda run, this, given: this,
    valueOf=lambda run, this, given: this,
    normalize=lambda run, this, given: this,
    concat=lambda run, this, given: joined(JsArray([this, *given]), ""),
)


@method("String", "repeat")
def _repeat(run: Interpreter, this: str, given: list[Value]) -> Value:
    count = number_of_value(argument(given, 0))
    if isinstance(count, Unknown) or math.isnan(count) or count < 0 or len(this) * count > LONGEST_TEXT:
        return Unknown("a text is too long")
    run.charge(int(len(this) * count) // 1000)
    return this * int(count)


def _padded(is_start: bool) -> Method:
    def method(run: Interpreter, this: str, given: list[Value]) -> Value:
        length, filler = argument(given, 0), argument(given, 1)
        filler = " " if filler is UNDEFINED else filler
        if not isinstance(length, int) or not isinstance(filler, str) or not filler or length > 10_000:
            return Unknown("the length of a text is not known")
        padding = (filler * length)[: max(length - len(this), 0)]
        return padding + this if is_start else this + padding

    return method


METHODS["String"]["padStart"], METHODS["String"]["padEnd"] = _padded(True), _padded(False)


@method("Number", "toString")
def _number_text(run: Interpreter, this: Any, given: list[Value]) -> Value:
    base = argument(given, 0)
    if base in (UNDEFINED, 10):
        return text_of(this)
    return Unknown("the text of a number is not known")


@method("Number", "toLocaleString")
def _locale_text(run: Interpreter, this: Any, given: list[Value]) -> Value:
    return f"{this:,}" if isinstance(this, int) and not given else Unknown("the text of a number is not known")


@method("Number", "toFixed")
def _fixed(run: Interpreter, this: Any, given: list[Value]) -> Value:
    digits = argument(given, 0)
    digits = 0 if digits is UNDEFINED else digits
    return f"{this:.{digits}f}" if isinstance(digits, int) and 0 <= digits <= 100 else number_text(this)
