"""Recognise dangerous calls, and note which of their arguments are marked."""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from mcproof.core.observations.source import ARGUMENT, COMMAND, EVAL, PROGRAM, SHELL, SQL, URL
from mcproof.discovery.flows.flow_tables import PATH_TYPES
from mcproof.discovery.flows.flow_values import HOLE, FlowValue, dotted_name
from mcproof.discovery.flows.sink_tables import (
    ANY_OBJECT,
    CODE_FLAGS,
    EVERY,
    GIT_COMMANDS,
    INTERPRETERS,
    PATH_METHODS,
    QUERY_METHODS,
    RECEIVER,
    REQUEST_METHODS,
    RUNNER_KEYWORDS,
    RUNNERS,
    SHELL_FLAGS,
    SHELLS,
    SINKS,
    SPREAD_RUNNERS,
    SWITCHES,
    Sink,
)
from mcproof.discovery.flows.symbols import QUERY

if TYPE_CHECKING:
    from mcproof.discovery.flows.flow_calls import FlowCall
    from mcproof.discovery.flows.function_walk import FunctionWalk

_CLIENT = re.compile(r"(?i)(?:client|session|http|requests)$")
_ADDRESS = re.compile(r"(?i)ur[li]|link|endpoint|address|webhook")


def note_uses(walk: FunctionWalk, dotted: str, name: str, receiver: FlowValue | None, given: FlowCall) -> None:
    """Note the dangerous uses of a call of something outside the project."""
    shown = dotted.replace("()", "") if dotted else name
    if dotted in RUNNERS:
        _note_command(walk, dotted, given)
        return
    if dotted.startswith(GIT_COMMANDS):
        _note_arguments(walk, [FlowValue("git"), *given.args], given.node, shown)
        return
    if dotted in ("yaml.load", "yaml.load_all"):
        loader = given.argument(1, ("Loader",))
        if loader is None or "Safe" not in dotted_name(loader.base):
            _note(walk, Sink(EVAL, 0, ("stream",)), receiver, given, shown)
        return
    for sink in _sinks(dotted, name, receiver, given):
        _note(walk, sink, receiver, given, shown)


def _sinks(dotted: str, name: str, receiver: FlowValue | None, given: FlowCall) -> tuple[Sink, ...]:
    found = SINKS.get(dotted)
    if found is not None or receiver is None:
        return found or ()
    if dotted_name(receiver.base) in PATH_TYPES and name in PATH_METHODS:
        return PATH_METHODS[name]
    if name in ANY_OBJECT:
        return ANY_OBJECT[name]
    first = given.args[0] if given.args else next(iter(given.keywords.values()), None)
    if name in QUERY_METHODS and first is not None and first.text is not None and QUERY.search(first.text):
        return (Sink(SQL, 0, tuple(given.keywords)[:1]),)
    if name in REQUEST_METHODS and not dotted and first is not None and _is_request(given.node, first):
        return (Sink(URL, 0, ("url",)),)
    return ()


def _is_request(node: ast.Call, first: FlowValue) -> bool:
    """Whether a call on an unknown object sends a request, by the names that the source uses."""
    if not isinstance(node.func, ast.Attribute) or not first.marks:
        return False
    holder = node.func.value
    named = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
    argument = ast.unparse(node.args[0])[:80] if node.args else "url"
    return _CLIENT.search(named) is not None and _ADDRESS.search(argument) is not None


def _note(walk: FunctionWalk, sink: Sink, receiver: FlowValue | None, given: FlowCall, shown: str) -> None:
    if sink.position == RECEIVER:
        if receiver is not None:
            walk.use(sink.kind, receiver, given.node, shown)
        return
    if sink.position == EVERY:
        for each in given.args:
            walk.use(sink.kind, each, given.node, shown)
        return
    value = given.argument(sink.position, sink.names)
    if value is None:
        return
    if sink.kind == SQL and value.text is not None and not QUERY.search(value.text):
        return
    if sink.kind == SHELL and value.elements is not None:
        _note_arguments(walk, value.elements, given.node, shown)
        return
    walk.use(sink.kind, value, given.node, shown)


def _note_command(walk: FunctionWalk, dotted: str, given: FlowCall) -> None:
    """A call that runs a program: with a shell, or with a list of arguments."""
    shown = dotted
    if dotted in SPREAD_RUNNERS:
        _note_arguments(walk, given.args, given.node, shown)
        return
    position = 1 if dotted.startswith(("os.exec", "os.spawn")) else 0
    command = given.argument(position, RUNNER_KEYWORDS)
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
    ends_options = False
    for index, value in enumerate(elements):
        before = [each.text for each in elements[max(0, index - 2) : index]]
        if value.base == "--" and index:
            ends_options = True
        if not value.all_marks():
            continue
        if index == 0:
            walk.use(PROGRAM, value, node, shown)
        elif _runs(before, SHELLS, SHELL_FLAGS) or (_program(elements[0]) == "ssh" and index >= 2):
            walk.use(SHELL, value, node, shown)
        elif _runs(before, INTERPRETERS, CODE_FLAGS):
            walk.use(EVAL, value, node, shown)
        elif not ends_options and not _is_value_of_option(before[-1] if before else None):
            walk.use(ARGUMENT, value, node, shown)


def _runs(before: list[str | None], programs: frozenset[str], flags: frozenset[str]) -> bool:
    """Whether an argument is the script of an interpreter."""
    if len(before) < 2 or before[1] not in flags or before[0] is None:
        return False
    return os.path.basename(before[0]) in programs or before[0].rpartition("\\")[2] in programs


def _program(value: FlowValue) -> str:
    return os.path.basename(value.base) if isinstance(value.base, str) else ""


def _is_value_of_option(before: str | None) -> bool:
    """Whether the argument after this one is its value rather than an argument of its own."""
    if before is None or HOLE in before or not before.startswith("-") or before in ("-", "--"):
        return False
    return "=" not in before and before not in SWITCHES
