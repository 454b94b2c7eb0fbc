"""Dangerous calls in source, and the checks that make their arguments safe.

`note_uses` notes which arguments of a call are marked; the other functions say what a condition proves about a
value. Which calls and checks are known is in `tables`.
Why a function that looks like a check is assumed to be one: docs/decisions/0046-flows-assume-checks.md.
"""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.core.observations.source import (
    ADDRESS,
    ARGUMENT,
    COMMAND,
    DELETE,
    EVAL,
    PATH,
    PREFIX,
    PROGRAM,
    SHELL,
    SQL,
    TOKEN,
    URL,
    WRITE,
)
from mcproof.source.flow_marks import (
    ALL_KINDS,
    ANY_USE,
    BELOW,
    DIFFERS,
    DOTS,
    EQUALS,
    HOLE,
    NOT_ABSOLUTE,
    QUERY,
    guards_on,
    is_guarded,
    is_strict_pattern,
)
from mcproof.source.python.flows import tables
from mcproof.source.python.flows.values import CodePlace, FlowValue, dotted_name
from mcproof.source.python.interp.values import EnumMember, ExternalCall

if TYPE_CHECKING:
    from mcproof.source.flow_marks import Guard
    from mcproof.source.python.flows.calls import FlowCall
    from mcproof.source.python.flows.walk import FunctionWalk


_CLIENT = re.compile(r"(?i)(?:client|session|http|requests)$")
_ADDRESS = re.compile(r"(?i)ur[li]|link|endpoint|address|webhook")


def note_uses(walk: FunctionWalk, dotted: str, name: str, receiver: FlowValue | None, given: FlowCall) -> None:
    """Note the dangerous uses of a call of something outside the project."""
    shown = dotted.replace("()", "") if dotted else name
    if act := _act(dotted, name, receiver, given):
        for value in (*given.everything(), *([] if receiver is None else [receiver])):
            walk.use(act, value, given.node, shown)
    headers = given.keywords.get("headers")
    if headers is not None and headers.fields and name in tables.SENDERS and not _asks_issuer(given):
        for header, value in headers.fields.items():
            if header.lower() == "authorization":
                walk.use(TOKEN, value, given.node, shown)
    if dotted in tables.RUNNERS:
        _note_command(walk, dotted, given)
        return
    if dotted.startswith(tables.GIT_COMMANDS):
        _note_arguments(walk, [FlowValue("git"), *given.args], given.node, shown)
        return
    if dotted in ("yaml.load", "yaml.load_all"):
        loader = given.argument(1, ("Loader",))
        if loader is None or "Safe" not in dotted_name(loader.base):
            _note(walk, tables.Sink(EVAL, 0, ("stream",)), receiver, given, shown)
        return
    for sink in _sinks(dotted, name, receiver, given):
        _note(walk, sink, receiver, given, shown)


def _act(dotted: str, name: str, receiver: FlowValue | None, given: FlowCall) -> str:
    """Whether a call writes or deletes files; empty if it does neither."""
    is_path = receiver is not None and dotted_name(receiver.base) in tables.PATH_TYPES
    if dotted in tables.OPENERS or (is_path and name == "open"):
        mode = given.argument(1 if dotted in tables.OPENERS else 0, ("mode",))
        return WRITE if mode is not None and not {*"wax+"}.isdisjoint(mode.text or "") else ""
    if dotted in tables.DELETERS or (receiver is not None and name in ("unlink", "rmdir")):
        return DELETE
    writes = receiver is not None and name in tables.WRITING_METHODS
    return WRITE if writes or dotted in tables.WRITERS or (is_path and name in tables.PATH_WRITERS) else ""


def _asks_issuer(given: FlowCall) -> bool:
    """Whether a request is about the token itself, such as one for user info: that is not another service."""
    return any(argument.text is not None and tables.ISSUER.search(argument.text) for argument in given.args[:2])


def _sinks(dotted: str, name: str, receiver: FlowValue | None, given: FlowCall) -> tuple[tables.Sink, ...]:
    sinks = tables.SINKS.get(dotted)
    if sinks is not None or receiver is None:
        return sinks or ()
    if dotted_name(receiver.base) in tables.PATH_TYPES and name in tables.PATH_METHODS:
        return tables.PATH_METHODS[name]
    if name in tables.ANY_OBJECT:
        return tables.ANY_OBJECT[name]
    first = given.args[0] if given.args else next(iter(given.keywords.values()), None)
    if name in tables.QUERY_METHODS and first is not None and first.text is not None and QUERY.search(first.text):
        return (tables.Sink(SQL, 0, tuple(given.keywords)[:1]),)
    if name in tables.REQUEST_METHODS and not dotted and first is not None and _is_request(given.node, first):
        return (tables.Sink(URL, 0, ("url",)),)
    return ()


def _is_request(node: ast.Call, first: FlowValue) -> bool:
    """Whether a call on an unknown object sends a request, by the names that the source uses."""
    if not isinstance(node.func, ast.Attribute) or not first.marks:
        return False
    holder = node.func.value
    named = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
    argument = ast.unparse(node.args[0])[:80] if node.args else "url"
    return _CLIENT.search(named) is not None and _ADDRESS.search(argument) is not None


def _note(walk: FunctionWalk, sink: tables.Sink, receiver: FlowValue | None, given: FlowCall, shown: str) -> None:
    if sink.position == tables.RECEIVER:
        if receiver is not None:
            walk.use(sink.kind, receiver, given.node, shown)
        return
    if sink.position == tables.EVERY:
        for argument in given.args:
            walk.use(sink.kind, argument, given.node, shown)
        return
    value = given.argument(sink.position, sink.names)
    if value is None:
        return
    if sink.kind == SQL and value.text is not None and not QUERY.search(value.text):
        return
    if sink.kind == ADDRESS:
        if any(is_guarded(walk.state.guards, label, ADDRESS) for label in value.all_marks()):
            walk.use(URL, value, given.node, shown)
        return
    if sink.kind == SHELL and value.elements is not None:
        _note_arguments(walk, value.elements, given.node, shown)
        return
    walk.use(sink.kind, value, given.node, shown)


def _note_command(walk: FunctionWalk, dotted: str, given: FlowCall) -> None:
    """A call that runs a program: with a shell, or with a list of arguments."""
    shown = dotted
    if dotted in tables.SPREAD_RUNNERS:
        _note_arguments(walk, given.args, given.node, shown)
        return
    position = 1 if dotted.startswith(("os.exec", "os.spawn")) else 0
    command = given.argument(position, tables.RUNNER_KEYWORDS)
    if dotted == "kubernetes.stream.stream":
        command = given.keywords.get("command")
    if command is None:
        return
    shell = given.keywords.get("shell")
    if shell is not None and shell.base not in (False, None):
        walk.use(SHELL, command, given.node, shown)
    elif command.elements is not None:
        _note_arguments(walk, command.elements, given.node, shown)
    else:
        walk.use(COMMAND, command, given.node, shown)


def _note_arguments(walk: FunctionWalk, elements: list[FlowValue], node: ast.AST, shown: str) -> None:
    """The arguments of a program: its name, the script of a shell, or arguments that may be options."""
    words = [os.path.basename(value.base) if isinstance(value.base, str) else "" for value in elements]
    ends_options = False
    for index, value in enumerate(elements):
        before = [element.text for element in elements[max(0, index - 2) : index]]
        if index and (value.base == "--" or words[index].endswith(tables.SCRIPTS)):
            ends_options = True
        if not value.all_marks():
            continue
        program = words[0]
        installer = next((word for word in words[:index] if word in tables.INSTALLERS), "")
        verbs = tables.INSTALLERS.get(installer, "").split()
        if index == 0:
            walk.use(PROGRAM, value, node, shown)
        elif _runs(before, tables.SHELLS, tables.SHELL_FLAGS, may_be_chosen=index == 2) or (
            program == "ssh" and index >= 2
        ):
            walk.use(SHELL, value, node, shown)
        elif _runs(before, tables.INTERPRETERS, tables.CODE_FLAGS):
            walk.use(EVAL, value, node, shown)
        elif any(verb in words[:index] for verb in verbs) or program in tables.PACKAGE_RUNNERS:
            walk.use(EVAL, value, node, f"{installer or program} {next(filter(words.__contains__, verbs), '')}".strip())
        elif not ends_options and not _is_value_of_option(before[-1] if before else None):
            walk.use(ARGUMENT, value, node, shown)


def _runs(
    before: list[str | None], programs: frozenset[str], flags: frozenset[str], *, may_be_chosen: bool = False
) -> bool:
    """Whether an argument is the script of an interpreter."""
    if len(before) < 2 or before[1] not in flags:
        return False
    if before[0] is None:  # the first word may be a shell that is only known when the server runs
        return may_be_chosen
    return os.path.basename(before[0]) in programs or before[0].rpartition("\\")[2] in programs


def _is_value_of_option(before: str | None) -> bool:
    """Whether the argument after this one is its value rather than an argument of its own."""
    if before is None or HOLE in before or not before.startswith("-") or before in ("-", "--"):
        return False
    return "=" not in before and before not in tables.SWITCHES


_NO_GUARDS: frozenset[Guard] = frozenset()
_SAFE_METHODS = frozenset(("isalnum", "isidentifier", "isdigit", "isalpha", "isdecimal", "isnumeric"))
_PRIVATE_ADDRESS = frozenset(("is_private", "is_loopback", "is_link_local", "is_reserved", "is_global"))


def with_tests(value: FlowValue, when_true: frozenset[Guard], when_false: frozenset[Guard]) -> FlowValue:
    """A truth value that proves something."""
    tested = value.with_marks(value.marks)
    tested.when_true, tested.when_false = when_true, when_false
    return tested


def tests_of(value: FlowValue) -> tuple[frozenset[Guard], frozenset[Guard]]:
    """What the truth and the falsehood of a value prove; an empty value is harmless."""
    if value.marks and not (value.when_true or value.when_false):
        whole = [label for label, mark in value.marks.items() if mark.whole]
        return _NO_GUARDS, guards_on(whole, ANY_USE)
    return value.when_true, value.when_false


def proven(value: FlowValue, *kinds: str) -> frozenset[Guard]:
    """The checks of everything that a value depends on; of a word of a command, only the program is known."""
    guards = _NO_GUARDS
    for label, mark in value.all_marks().items():
        if ADDRESS in mark.clean:  # a known scheme makes a value an address, which leads to no file, but to any host
            kinds = (PATH, ARGUMENT, ADDRESS)
        elif mark.joined and (PATH in kinds or mark.resolved):
            kinds = (BELOW, *(kind for kind in kinds if kind not in (PATH, ANY_USE)))
        guards |= guards_on((label,), *((PROGRAM, COMMAND, ARGUMENT) if mark.part and ANY_USE in kinds else kinds))
    return guards


def compared(left: FlowValue, operator: ast.cmpop, right: FlowValue) -> FlowValue:
    """The result of a comparison, with what it proves."""
    when_true = when_false = _NO_GUARDS
    if any(ALL_KINDS - mark.clean == {URL} for mark in left.all_marks().values()):
        decided = proven(left, URL)  # a numeric address: a list of networks may allow or forbid
        return with_tests(FlowValue(), decided, decided)
    if isinstance(operator, (ast.In, ast.NotIn)):
        if left.all_marks() and not right.all_marks():
            texts = map(text_of, right.elements or ())
            when_true = proven(left, ANY_USE, *(EQUALS + text for text in texts if text is not None))
        elif right.marks and isinstance(left.base, str):
            when_false = _without_text(right, left.base)
        elif right.marks and not left.all_marks() and all(mark.resolved for mark in right.marks.values()):
            when_true = proven(right, PATH)  # `root in path.parents`
        if isinstance(operator, ast.NotIn):
            when_true, when_false = when_false, when_true
    elif isinstance(operator, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
        one, other = (left, right) if left.all_marks() else (right, left)
        if one.marks and one.marks.keys() == other.marks.keys():  # `path == path.resolve()`: it had no `..`
            resolved = [all(mark.resolved for mark in side.marks.values()) for side in (one, other)]
            if any(resolved) and not all(resolved):
                when_true = guards_on(one.marks, DOTS)
        if right.base is None:  # `path, reason = checked(name)`: None stands for a failure, or for none
            when_true, when_false = tests_of(left)[1], left.when_true
        elif one.marks and not other.all_marks():
            text = text_of(other)
            when_true = proven(one, ANY_USE, *([EQUALS + text] if text is not None else []))
            when_false = proven(one, DIFFERS + text) if text is not None else when_false
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
    texts = [text for text in map(text_of, prefix.elements or [prefix]) if text is not None]
    if any(text.startswith("..") for text in texts) and any(mark.relative for mark in receiver.marks.values()):
        return with_tests(FlowValue(), _NO_GUARDS, guards_on(receiver.marks, PATH))
    if texts:
        if any(text.startswith("-") for text in texts):
            return with_tests(FlowValue(), _NO_GUARDS, proven(receiver, ARGUMENT))
        if all(re.match(r"https?:", text) for text in texts) and not all("/" in text[8:] for text in texts):
            return with_tests(FlowValue(), proven(receiver, PATH, ARGUMENT, ADDRESS), _NO_GUARDS)
        if all(re.match(r"\w+://[^/]+/", text) for text in texts):
            return with_tests(FlowValue(), proven(receiver, URL, ARGUMENT), _NO_GUARDS)
        if any(text[:1] in ("/", "~", "\\") for text in texts) and not any(len(text) > 2 for text in texts):
            return with_tests(FlowValue(), proven(receiver, ARGUMENT), proven(receiver, NOT_ABSOLUTE))
        if not any(text.startswith("/") for text in texts):
            return with_tests(FlowValue(), proven(receiver, ARGUMENT), _NO_GUARDS)
    is_resolved = any(mark.resolved for mark in receiver.marks.values())
    ends = [part.text for part in (prefix.elements or [prefix])]
    closed = all(end is not None and end.endswith(("/", "\\")) for end in ends)
    if closed:
        return with_tests(FlowValue(), proven(receiver, *([PATH] if is_resolved else []), ARGUMENT), _NO_GUARDS)
    if is_resolved or _names_a_folder(node):
        # a fault only where a path is used because of it: a list of forbidden folders is compared in the same way
        guards = proven(receiver, ARGUMENT)
        for label, mark in receiver.all_marks().items():
            kind = f"{PREFIX} {BELOW if mark.joined else ''} {id(node)}"
            walk.engine.prefix_checks[kind] = CodePlace(walk.module, node, walk.function.name)
            guards |= guards_on((label,), kind)
        return with_tests(FlowValue(), guards, _NO_GUARDS)
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
    if not args or (
        isinstance(pattern, str)
        and not is_strict_pattern(pattern, starts=method != "search", ends=method == "fullmatch")
    ):
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


def tested_by_attribute(value: FlowValue, name: str) -> FlowValue | None:
    """`address.is_private`, with what it proves."""
    if name in _PRIVATE_ADDRESS and value.marks:
        safe = proven(value, URL)
        return with_tests(FlowValue(), safe, safe)
    return None


def assumed_check(values: list[FlowValue]) -> frozenset[Guard]:
    """What a function proves that the source does not show, but whose name suggests a check: it is assumed to work."""
    guards: frozenset[Guard] = _NO_GUARDS
    for value in values:
        guards |= proven(value, *ALL_KINDS)
    return guards
