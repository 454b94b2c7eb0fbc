"""Calls: of functions of the source, of packages, and of methods of values; dangerous ones are noted."""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import EVAL, PATH, PREFIX, PROGRAM, SHELL, SQL, URL
from mcproof.source.flow_marks import (
    ANY_USE,
    DOTS,
    NOT_ABSOLUTE,
    cleaned,
    extended,
    is_strict_pattern,
    merged,
    replaced,
)
from mcproof.source.javascript.flows import expressions, tables
from mcproof.source.javascript.flows.values import ADDRESS, NOTHING, Flow, either, passing, proven, proving
from mcproof.source.javascript.interp.modules import Module
from mcproof.source.javascript.syntax import callee_of, children_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from mcproof.source.javascript.flows.values import FunctionRef
    from mcproof.source.javascript.flows.walk import Walk


_MOST_OPTIONS = 60
"""How many functions of a table are called where the key is not known."""


_HOST = re.compile(r"\^https?\??:(?:\\?/){2}(.+?)\\?/")
"""The host in a regular expression that an address starts with."""


class JsCall(NamedTuple):
    """A call with its evaluated arguments."""

    node: Node
    name: str
    """What is called, by the name of its package, or the name of the method."""
    receiver: Flow | None
    given: list[Flow]

    def argument(self, position: int) -> Flow:
        return self.given[position] if position < len(self.given) else NOTHING


def call(walk: Walk, node: Node) -> Flow:
    """The value of a call."""
    callee, is_awaited = callee_of(node)
    callee = callee or node.child_by_field_name("constructor")
    if callee is None:
        return NOTHING
    while callee.type in ("parenthesized_expression", "sequence_expression"):
        callee = children_of(callee)[-1]  # `(0, child_process.exec)(…)`, as compilers write it
    receiver: Flow | None = None
    method = ""
    if callee.type == "member_expression":
        holder, key = callee.child_by_field_name("object"), callee.child_by_field_name("property")
        receiver = expressions.evaluate(walk, holder) if holder is not None else NOTHING
        method = walk.text(key) if key is not None else ""
        func = receiver.fields.get(method, NOTHING) if receiver.fields else NOTHING
        if func is NOTHING and not receiver.marks and receiver.name:
            func = Flow(name=f"{receiver.name}.{method}")
    else:
        func = Flow(name="import") if callee.type == "import" else expressions.evaluate(walk, callee)
    arguments = node.child_by_field_name("arguments")
    is_tag = arguments is not None and arguments.type == "template_string"
    nodes = [] if arguments is None or is_tag else children_of(arguments)[:32]
    given = [expressions.evaluate(walk, argument) for argument in nodes]
    if is_tag:  # sql`… ${value}`: the function of the tag gets the values apart from the text
        return Flow(expressions.evaluate(walk, arguments).marks and {}) if arguments is not None else NOTHING
    if tables.NETWORK_CHECK.search(walk.text(callee)[-60:]):
        walk.guards |= frozenset().union(*(proven(value, URL) for value in given))
    options = [func, *(func.elements or [])]
    if functions := [option.function for option in options if option.function is not None]:
        before = walk.guards
        result = reduce(either, [walk.call(function, given, node) for function in functions[:_MOST_OPTIONS]])
        if not is_awaited and _is_never_awaited(node) and any(map(_is_async, functions)):
            walk.guards = before  # a promise is true, and nobody sees it fail
            result = Flow(result.marks)
        return result
    name = func.name or method
    js_call = JsCall(node, name, receiver, given)
    if name in ("require", "import") and given and given[0].text is not None and not given[0].marks:
        loaded = walk.module.run.modules.load_for(walk.module, given[0].text)
        return walk.exports(loaded) if isinstance(loaded, Module) else walk.library(loaded)
    if receiver is not None and (value := _tested_by_method(walk, method, js_call)) is not None:
        return value
    _note_uses(walk, method, js_call)
    if method in tables.EACH_METHODS and receiver is not None and given and given[0].function is not None:
        return _for_each(walk, method, given[0].function, js_call)
    for value in given:  # a callback of a library: `Promise`, `setTimeout`, `server.run(async () => …)`
        if value.function is not None:
            walk.call(value.function, [], node)
    if receiver is not None and (receiver.all_marks() or not receiver.name):
        flow = _method_of_value(walk, method, js_call)
        if flow is not None:
            return flow
    return _external(walk, method, js_call)


def _is_async(function: FunctionRef) -> bool:
    return any(child.type == "async" for child in function.node.children)


_NEVER_AWAITED = frozenset(
    ("expression_statement", "if_statement", "unary_expression", "binary_expression", "ternary_expression")
)


def _is_never_awaited(node: Node) -> bool:
    """Whether a promise that a call returns is dropped, or tested as it is."""
    above = node.parent
    while above is not None and above.type in ("parenthesized_expression", "non_null_expression"):
        above = above.parent
    return above is not None and above.type in _NEVER_AWAITED


def _for_each(walk: Walk, method: str, function: FunctionRef, call: JsCall) -> Flow:
    """`many.map(function)`, and other methods that call a function with each element."""
    receiver = call.receiver or NOTHING
    element = reduce(either, receiver.elements) if receiver.elements else Flow(receiver.marks)
    result = walk.call(function, [element] * (2 if method == "reduce" else 1), call.node)
    if method in ("some", "every", "find"):
        return proving(result.when_true, result.when_false)
    if method == "filter":
        passed = Flow(passing(element.all_marks(), result.when_true), fields=element.fields)
        passed.when_true = result.when_true
        return Flow(passed.marks, elements=[passed])
    return Flow(result.all_marks()) if method in ("map", "flatMap", "reduce") else Flow(receiver.all_marks())


def _note_uses(walk: Walk, method: str, call: JsCall) -> None:
    """Note the dangerous uses of a call of something outside the source."""
    name, node = call.name, call.node
    if name in tables.RUNNERS:
        _note_command(walk, call)
        return
    for sink in tables.SINKS.get(name, ()):
        value = call.argument(sink.position)
        if sink.kind == URL and value.fields and "url" in value.fields:
            value = value.fields["url"]
        if name == "Function" and call.given:
            value = call.given[-1]
        walk.use(sink.kind, value, node, name)
    for value in call.given if not name.startswith("console.") else ():
        _note_script(walk, value.elements or [], call)
    if name in tables.SINKS or call.receiver is None or not call.given:
        return
    first = call.given[0]
    text = first.text if first.text is not None else (first.fields or {}).get("text", NOTHING).text
    if method in tables.QUERY_METHODS and text is not None and tables.QUERY.search(text):
        walk.use(SQL, first, node, method)
    elif method in tables.PAGE_METHODS:
        walk.use(URL, first, node, method)


def _note_command(walk: Walk, call: JsCall) -> None:
    """A call that runs a program: with a shell, or with a list of arguments."""
    program, arguments, node = call.argument(0), call.argument(1), call.node
    options = next((value for value in call.given[1:] if value.fields and "shell" in value.fields), NOTHING)
    shell = (options.fields or {}).get("shell", NOTHING)
    elements = arguments.elements or []
    if shell.name == "true" or (shell.text and shell is not NOTHING):
        walk.use(SHELL, Flow(merged([program.all_marks(), arguments.all_marks()])), node, call.name)
        return
    walk.use(PROGRAM, program, node, call.name)
    _note_script(walk, [program, *elements], call)


def _note_script(walk: Walk, words: list[Flow], call: JsCall) -> None:
    """The words of a command, whoever runs it: one of them may be the script of a shell or an interpreter."""
    for index, (runner, flag, script) in enumerate(zip(words, words[1:], words[2:], strict=False)):
        base = (runner.text or "").rpartition("/")[2]
        is_chosen = index == 0 and runner.text is None  # a shell that is only known when the server runs
        if flag.text in tables.SHELL_FLAGS and (base in tables.SHELLS or is_chosen):
            walk.use(SHELL, script, call.node, call.name)
        elif flag.text in tables.CODE_FLAGS and base in tables.INTERPRETERS:
            walk.use(EVAL, script, call.node, call.name)


def _tested_by_method(walk: Walk, method: str, call: JsCall) -> Flow | None:
    """The result of a method that tests something, with what it proves; None for other methods."""
    receiver, first = call.receiver or NOTHING, call.argument(0)
    if method == "startsWith":
        return expressions.starts_with(walk, receiver, first, call.node)
    if method in ("includes", "has", "indexOf", "hasOwnProperty", "contains"):
        if first.all_marks() and not receiver.all_marks():
            return proving(proven(first, ANY_USE), name=method)
        if receiver.all_marks() and first.text is not None:
            kinds = {"..": (DOTS,), "/": (DOTS, NOT_ABSOLUTE), "\\": ()}.get(first.text, ())
            return proving((), proven(receiver, *kinds), name=method)
        return NOTHING
    if method in ("test", "match", "exec") and (receiver.name == "RegExp" or first.name == "RegExp"):
        pattern, value = (receiver, first) if receiver.name == "RegExp" else (first, receiver)
        body, _, flags = (pattern.text or "")[1:].rpartition("/")
        if "m" in flags:
            return NOTHING
        if is_strict_pattern(body):
            return proving(proven(value, ANY_USE))
        host = _HOST.match(body)
        return proving(proven(value, URL)) if host and is_strict_pattern(f"^{host[1]}$") else NOTHING
    if call.name in ("path.isAbsolute", "isAbsolute"):
        return proving((), proven(first, NOT_ABSOLUTE))
    if call.name in ("Number.isInteger", "Number.isFinite", "Number.isSafeInteger"):
        return proving(proven(first, ANY_USE))
    return None


def _method_of_value(walk: Walk, method: str, call: JsCall) -> Flow | None:
    """The result of a method of a text, a list or an object; None for other methods."""
    receiver, first = call.receiver or NOTHING, call.argument(0)
    if method in tables.SCHEMA_METHODS and first.all_marks() and not receiver.all_marks():
        parsed = Flow(first.marks, fields=first.fields)
        is_result = method.startswith("safe")
        return Flow(first.marks, fields={"data": parsed, "success": NOTHING}) if is_result else parsed
    if method in ("push", "unshift", "set", "append", "add") and call.node.child_by_field_name("function") is not None:
        _add_to(walk, call)
        return NOTHING
    if method == "join":
        return Flow(replaced(receiver.all_marks(), whole=False), text=None)
    if method == "get" and first.text is not None and receiver.marks:
        return Flow(extended(receiver.marks, first.text))
    if method not in tables.TEXT_METHODS or not (receiver.all_marks() or receiver.elements):
        return None
    if method in ("at", "pop", "shift") and receiver.elements:
        return reduce(either, receiver.elements)
    if method in ("replace", "replaceAll") and call.given:
        pattern = first.text or ""
        kinds: tuple[str, ...] = {"'": (SQL,), '"': (SQL, EVAL), "`": (SQL,)}.get(pattern.strip("/g"), ())
        if first.name == "RegExp" and pattern.startswith("/[^"):
            kinds = tables.EVERY_KIND
        return Flow(cleaned(receiver.marks, *kinds), text=receiver.text)
    if method in ("slice", "substring", "substr") and first.text not in (None, "0"):
        return Flow(replaced(receiver.all_marks(), head=False), text=receiver.text)
    return Flow(receiver.marks, text=receiver.text, fields=receiver.fields, elements=receiver.elements)


def _add_to(walk: Walk, call: JsCall) -> None:
    """`list.push(value)`, for a list with a name."""
    callee = call.node.child_by_field_name("function")
    holder = callee.child_by_field_name("object") if callee is not None else None
    if holder is None or holder.type != "identifier" or walk.text(holder) not in walk.names:
        return
    before = walk.names[walk.text(holder)]
    added = [*(before.elements or []), *call.given][:64]
    walk.names[walk.text(holder)] = Flow(before.marks, name=before.name, elements=added, text=before.text)


def _external(walk: Walk, method: str, call: JsCall) -> Flow:
    """The result of a function of a package, or of one that the source does not show."""
    name = call.name
    marks = merged([value.all_marks() for value in call.given])
    if name in ("util.promisify", "promisify") and call.given:
        return call.given[0]
    if not marks:
        return Flow(name=name) if call.node.type == "new_expression" or name == "axios.create" else NOTHING
    if name in tables.NUMBERS:
        return NOTHING
    if name == "path.relative":
        return Flow(replaced(call.argument(1).all_marks(), relative=True))
    if name in tables.JOINS:
        return _joined_path(call)
    if name in tables.RESOLVES:
        return Flow(replaced(marks, resolved=True))
    if name in tables.SAFE_RESULTS:
        return Flow(cleaned(marks, *tables.SAFE_RESULTS[name]))
    if name in tables.PASSES:
        first = call.argument(0)
        base = call.argument(1) if name in ("URL", "url.URL") and len(call.given) > 1 else NOTHING
        if base is not NOTHING and not base.all_marks():
            marks = replaced(marks, head=False) if first.text and first.text[:1] == "/" else marks
        named = ADDRESS if name in ("URL", "url.URL") else ""
        return Flow(marks, text=first.text, name=named, fields=first.fields, elements=first.elements)
    if call.receiver is not None and not call.receiver.marks and not call.receiver.name:
        ref = walk.declarations.method(method)
        if ref is not None:
            return walk.call(ref, call.given, call.node)
    if tables.CHECK_WORDS.search(method or name.rpartition(".")[2]):
        for value in call.given:
            walk.guards |= proven(value, *tables.EVERY_KIND, PREFIX)
    return NOTHING


def _joined_path(call: JsCall) -> Flow:
    """`path.join(a, b)` and `path.resolve(a, b)`: an absolute part replaces those before it in `resolve`."""
    is_resolved = call.name.endswith("resolve")
    single = len(call.given) == 1
    first, *others = [part.all_marks() for part in call.given] or [{}]
    # `path.join(path.dirname(x), path.basename(x))` is `x` again
    again = {label for label in first if all(label in marks and PATH in marks[label].clean for marks in others)}
    parts = []
    for index, part in enumerate(call.given):
        marks = part.all_marks()
        if not single:
            is_head = index == 0 or is_resolved
            marks = {
                label: mark._replace(whole=False, joined=mark.joined or label not in again, head=mark.head and is_head)
                for label, mark in marks.items()
            }
        parts.append(replaced(marks, resolved=True) if is_resolved else marks)
    return Flow(merged(parts))
