"""Checks that make a value safe: which conditions prove what about it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.observations.source import ARGUMENT, COMMAND, PATH, PREFIX, PROGRAM, URL
from mcproof.discovery.flows.flow_state import DOTS, EQUALS, NOT_ABSOLUTE, guards_on
from mcproof.discovery.flows.flow_tables import ALL_KINDS
from mcproof.discovery.flows.flow_values import ANY_USE, FlowValue, dotted_name
from mcproof.discovery.interp.values import EnumMember, ExternalCall

if TYPE_CHECKING:
    from mcproof.discovery.flows.flow_values import Guard
    from mcproof.discovery.flows.function_walk import FunctionWalk

_NO_GUARDS: frozenset[Guard] = frozenset()
_LOOSE = re.compile(r"(?<!\\)\.(?:[*+{]|$)|\\S|\[\^")
"""Parts of a pattern that match nearly anything."""
_SAFE_METHODS = frozenset(("isalnum", "isidentifier", "isdigit", "isalpha", "isdecimal", "isnumeric"))
_PRIVATE_ADDRESS = frozenset(("is_private", "is_loopback", "is_link_local", "is_reserved", "is_global"))


def with_tests(value: FlowValue, when_true: frozenset[Guard], when_false: frozenset[Guard]) -> FlowValue:
    """A truth value that proves something."""
    made = value.with_marks(value.marks)
    made.when_true, made.when_false = when_true, when_false
    return made


def tests_of(value: FlowValue) -> tuple[frozenset[Guard], frozenset[Guard]]:
    """What the truth and the falsehood of a value prove; an empty value is harmless."""
    if value.marks and not (value.when_true or value.when_false):
        whole = [label for label, mark in value.marks.items() if mark.whole]
        return _NO_GUARDS, guards_on(whole, ANY_USE)
    return value.when_true, value.when_false


def proven(value: FlowValue, *kinds: str) -> frozenset[Guard]:
    """The checks of everything that a value depends on; of a word of a command, only the program is known."""
    found: frozenset[Guard] = _NO_GUARDS
    for label, mark in value.all_marks().items():
        found |= guards_on((label,), *((PROGRAM, COMMAND, ARGUMENT) if mark.part and ANY_USE in kinds else kinds))
    return found


def compared(left: FlowValue, operator: ast.cmpop, right: FlowValue) -> FlowValue:
    """The result of a comparison, with what it proves."""
    when_true = when_false = _NO_GUARDS
    if isinstance(operator, (ast.In, ast.NotIn)):
        if left.marks and not right.all_marks():
            when_true = proven(left, ANY_USE)
        elif right.marks and isinstance(left.base, str):
            when_false = _without_text(right, left.base)
        elif right.marks and not left.all_marks() and all(mark.resolved for mark in right.marks.values()):
            when_true = proven(right, PATH)  # `root in path.parents`
        if isinstance(operator, ast.NotIn):
            when_true, when_false = when_false, when_true
    elif isinstance(operator, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
        one, other = (left, right) if left.all_marks() else (right, left)
        if one.marks and not other.all_marks():
            text = text_of(other)
            when_true = proven(one, ANY_USE, *([EQUALS + text] if text is not None else []))
        if isinstance(operator, (ast.NotEq, ast.IsNot)):
            when_true, when_false = when_false, when_true
    return with_tests(FlowValue(), when_true, when_false)


def _without_text(value: FlowValue, text: str) -> frozenset[Guard]:
    """What the absence of a text proves."""
    if text == "..":
        return proven(value, DOTS)
    if text in ("/", "\\"):
        return proven(value, DOTS, NOT_ABSOLUTE)
    return _NO_GUARDS


def text_of(value: FlowValue) -> str | None:
    """The text of a constant or of a member of an enumeration."""
    base = value.base.value if isinstance(value.base, EnumMember) else value.base
    return base if isinstance(base, str) else None


def tested_by_method(
    walk: FunctionWalk, receiver: FlowValue, name: str, args: list[FlowValue], node: ast.Call
) -> FlowValue | None:
    """The result of a method that tests its object, with what it proves; None for other methods."""
    if name in _SAFE_METHODS:
        return with_tests(FlowValue(), proven(receiver, ANY_USE), _NO_GUARDS)
    if name == "is_relative_to" and args:
        return with_tests(FlowValue(), proven(receiver, PATH), _NO_GUARDS)
    if name == "is_absolute":
        return with_tests(FlowValue(), _NO_GUARDS, proven(receiver, NOT_ABSOLUTE))
    if name == "startswith" and args:
        return _starts_with(walk, receiver, args[0], node)
    return None


def _starts_with(walk: FunctionWalk, receiver: FlowValue, prefix: FlowValue, node: ast.Call) -> FlowValue:
    """`text.startswith(prefix)`: a check for options, of an address, or of the folder of a path."""
    texts = [each for each in map(text_of, prefix.elements or [prefix]) if each is not None]
    if texts:
        if any(each.startswith("-") for each in texts):
            return with_tests(FlowValue(), _NO_GUARDS, proven(receiver, ARGUMENT))
        if all(re.match(r"\w+://[^/]+/", each) for each in texts):
            return with_tests(FlowValue(), proven(receiver, URL, ARGUMENT), _NO_GUARDS)
        if any(each[:1] in ("/", "~", "\\") for each in texts) and not any(len(each) > 2 for each in texts):
            return with_tests(FlowValue(), proven(receiver, ARGUMENT), proven(receiver, NOT_ABSOLUTE))
        if not any(each.startswith("/") for each in texts):
            return with_tests(FlowValue(), proven(receiver, ARGUMENT), _NO_GUARDS)
    is_resolved = any(mark.resolved for mark in receiver.marks.values())
    ends = [each.text for each in (prefix.elements or [prefix])]
    closed = all(each is not None and each.endswith(("/", "\\")) for each in ends)
    if closed:
        return with_tests(FlowValue(), proven(receiver, *([PATH] if is_resolved else []), ARGUMENT), _NO_GUARDS)
    if is_resolved or _names_a_folder(node):
        walk.use(PREFIX, receiver, node, "startswith")
        return with_tests(FlowValue(), proven(receiver, PATH, ARGUMENT), _NO_GUARDS)
    return with_tests(FlowValue(), proven(receiver, URL, ARGUMENT), _NO_GUARDS)


def _names_a_folder(node: ast.Call) -> bool:
    """Whether the words of a prefix, or of what it is compared with, say that it is a folder."""
    func = node.func
    words = ast.unparse(node.args[0]) + " " + (ast.unparse(func.value) if isinstance(func, ast.Attribute) else "")
    return (
        re.search(r"(?i)(?:^|[_.\s])(?:\w*path|dir|\w*_dir|directory|\w*folder|root|workspace)s?\b", words[:400])
        is not None
    )


def tested_by_pattern(name: str, receiver: FlowValue | None, args: list[FlowValue]) -> FlowValue | None:
    """The result of `re.match(pattern, text)` or `pattern.match(text)`; None for other functions."""
    owner, _, method = name.rpartition(".")
    if method not in ("match", "fullmatch", "search") or owner not in ("re", "re.compile()"):
        return None
    pattern: Any = None
    if owner == "re":
        pattern, args = args[0].base if args else None, args[1:]
    elif receiver is not None and isinstance(receiver.base, ExternalCall):
        pattern = receiver.base.argument(0, "pattern")
    if not args or (isinstance(pattern, str) and not is_strict_pattern(pattern, method)):
        return FlowValue()
    return with_tests(FlowValue(), proven(args[0], ANY_USE), _NO_GUARDS)


def tested_by_function(name: str, args: list[FlowValue]) -> FlowValue | None:
    """The result of an external function that tests an argument, with what it proves; None for other functions."""
    if name == "os.path.isabs" and args:
        return with_tests(FlowValue(), _NO_GUARDS, proven(args[0], NOT_ABSOLUTE))
    if name in ("builtins.any", "builtins.all", "builtins.bool") and args:
        return with_tests(FlowValue(), args[0].when_true, args[0].when_false)
    if (
        name == "builtins.isinstance"
        and len(args) > 1
        and dotted_name(args[1].base) in ("builtins.int", "builtins.bool", "builtins.float")
    ):
        return with_tests(FlowValue(), proven(args[0], ANY_USE), _NO_GUARDS)
    return None


def is_strict_pattern(pattern: str, method: str) -> bool:
    """Whether a text that matches a regular expression has only the characters that it lists."""
    is_whole = method == "fullmatch" or pattern.rstrip(")").endswith(("$", r"\Z", r"\z"))
    starts = method != "search" or pattern.lstrip("(").startswith(("^", r"\A"))
    return is_whole and starts and _LOOSE.search(pattern.rstrip("$")) is None


def tested_by_attribute(value: FlowValue, name: str) -> FlowValue | None:
    """`address.is_private`, with what it proves."""
    if name in _PRIVATE_ADDRESS and value.marks:
        safe = proven(value, URL)
        return with_tests(FlowValue(), safe, safe)
    return None


def assumed_check(values: list[FlowValue]) -> frozenset[Guard]:
    """What a function proves that the source does not show, but whose name suggests a check: it is assumed to work."""
    found: frozenset[Guard] = _NO_GUARDS
    for each in values:
        found |= proven(each, *ALL_KINDS)
    return found
