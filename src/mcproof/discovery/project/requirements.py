"""The newest version of a distribution that a requirement allows."""

from __future__ import annotations

import math
import re

Version = tuple[float, ...]
"""Release numbers; infinity stands for any number."""

_REQUIREMENT_CLAUSE = re.compile(r"(===|==|~=|<=|>=|!=|<|>|\^|~)?\s*v?(\d+(?:\.\d+)*)(\.\*)?")


def parsed(text: str) -> Version:
    """The release numbers of a version: `3.4.0rc1` is `(3, 4, 0)`."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text.strip())
    return tuple(int(each[:9]) for each in found[1].split(".")) if found else ()


def newest_allowed(specifier: str) -> Version | None:
    """The newest version that a specifier such as `>=2.3,<3` allows; None if it sets no upper limit."""
    limits = []
    for clause in specifier.partition(";")[0].split(","):
        found = _REQUIREMENT_CLAUSE.match(clause.strip(" ()[]\"'"))
        if found is not None:
            limit = _upper_limit(found[1] or "==", parsed(found[2]), is_prefix=found[3] is not None)
            limits += [limit] if limit is not None else []
    return min(limits, default=None)


def _upper_limit(operator: str, version: Version, *, is_prefix: bool) -> Version | None:
    """The newest version that one clause allows."""
    match operator:
        case "==" | "===":
            return (*version, math.inf) if is_prefix else version
        case "<=":
            return version
        case "<":
            return _below(version)
        case "~=":
            return (*version[:-1], math.inf)
        case "~":
            return (*version[:2], math.inf)
        case "^":
            return (version[0], math.inf) if version[0] else (*version[:2], math.inf)
    return None


def _below(version: Version) -> Version:
    """The newest version before another: `2.∞` before `3.0`."""
    numbers = list(version)
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return (*numbers[:-1], numbers[-1] - 1, math.inf)
