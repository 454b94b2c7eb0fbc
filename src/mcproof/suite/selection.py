"""Select tests: by an expression over their names and tags, as in pytest's `-k`, or by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.core.errors import InputError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.suite.definition import SuiteTest

    Condition = Callable[[str], bool]

_TOKEN = re.compile(r"""\s*(?:([()])|"([^"]*)"|'([^']*)'|([^\s()]+))""")
_OPERATORS = ("and", "or", "not")
_DEEPEST = 50
"""How deep parentheses and `not` may be nested."""


def parse_expression(text: str) -> Condition:
    """Parse an expression such as `search and not (slow or flaky)`; the result tests a text.

    A word matches if it occurs in the text, in any case; adjacent words are a phrase. Raises a UsageError.
    """
    return _Expression(text).parse()


class _Expression:
    """A recursive-descent parser: `or` of `and` of `not` of words and parentheses."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, bool]] = []
        """Words, and whether each is an operator or a parenthesis."""
        for parenthesis, double, single, word in _TOKEN.findall(text):
            plain = double or single or word
            is_operator = bool(parenthesis) or (bool(word) and word.lower() in _OPERATORS)
            self._tokens.append((parenthesis or (plain.lower() if is_operator else plain), is_operator))
        self._at = 0
        self._depth = 0

    def parse(self) -> Condition:
        condition = self._either()
        if self._at < len(self._tokens):
            raise self._error()
        return condition

    def _either(self) -> Condition:
        conditions = [self._both()]
        while self._took("or"):
            conditions.append(self._both())
        return lambda text: any(condition(text) for condition in conditions)

    def _both(self) -> Condition:
        conditions = [self._negated()]
        while self._took("and"):
            conditions.append(self._negated())
        return lambda text: all(condition(text) for condition in conditions)

    def _negated(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UsageError(f"-k: nested more than {_DEEPEST} levels deep")
        try:
            if self._took("not"):
                condition = self._negated()
                return lambda text: not condition(text)
            if self._took("("):
                condition = self._either()
                if not self._took(")"):
                    raise self._error()
                return condition
            return self._phrase()
        finally:
            self._depth -= 1

    def _phrase(self) -> Condition:
        words = []
        while self._at < len(self._tokens) and not self._tokens[self._at][1]:
            words.append(self._tokens[self._at][0])
            self._at += 1
        if not words:
            raise self._error()
        phrase = " ".join(words).casefold()
        return lambda text: phrase in text

    def _took(self, operator: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == (operator, True):
            self._at += 1
            return True
        return False

    def _error(self) -> UsageError:
        where = f"at `{self._tokens[self._at][0]}`" if self._at < len(self._tokens) else "at its end"
        return UsageError(f"-k: `{self._text}` is not an expression: a name or `not` was expected {where}")


def matches(condition: Condition, test: SuiteTest) -> bool:
    """Whether the name and the tags of a test meet a condition."""
    return condition("\n".join((test.name, *test.tags)).casefold())


def named_tests(tests: Iterable[SuiteTest], names: Iterable[str], file: str) -> list[SuiteTest]:
    """The tests with these names. Raises an InputError with the nearest name if there is none."""
    tests = list(tests)
    known = [test.name for test in tests]
    for name in names:
        if name not in known:
            raise InputError(f"no test `{name}`{nearest(name, known)}", file=file)
    return [test for test in tests if test.name in set(names)]
