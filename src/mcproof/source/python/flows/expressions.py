"""Evaluate expressions: which labels their values depend on, and what their truth proves."""

from __future__ import annotations

import ast
import re
from functools import reduce
from typing import TYPE_CHECKING, Any

from mcproof.core.observations.source import ADDRESS, ARGUMENT, ATTRIBUTE, EVAL, PATH
from mcproof.source.flow_marks import (
    ALL_KINDS,
    ANY_USE,
    BELOW,
    EQUALS,
    HOLE,
    LabelMark,
    Marks,
    changed,
    cleaned,
    common_guards,
    extended,
    guards_on,
    merged,
    switched,
)
from mcproof.source.python.flows import calls
from mcproof.source.python.flows.sinks import compared, tested_by_attribute, tests_of, with_tests
from mcproof.source.python.flows.tables import (
    HARMLESS_PARTS,
    PATH_TYPES,
    REQUEST_NAME,
    REQUEST_PARTS,
    SAFE_PATH_PARTS,
)
from mcproof.source.python.flows.values import (
    LONGEST_TEXT,
    MOST_ELEMENTS,
    NOTHING,
    SENT,
    Alternatives,
    CodePlace,
    FlowValue,
    constant,
    described,
    dotted_name,
    either,
)
from mcproof.source.python.interp.containers import default_of, truth
from mcproof.source.python.interp.values import (
    PLAIN,
    UNKNOWN,
    Class,
    External,
    ExternalCall,
    Function,
    Instance,
    last_name,
)

if TYPE_CHECKING:
    from mcproof.source.flow_marks import Guard, Label
    from mcproof.source.python.flows.walk import FunctionWalk

_BEFORE_STATEMENT = re.compile(
    r"(?i)\s*(?:explain[\w\s(),]*|select\s+(?:\*|count\(\*\))\s+from\s*\(\s*|with\s+\w+\s+as\s*\(\s*)"
)
"""Text before a placeholder for a whole SQL statement."""
_NAMESPACES = frozenset(("globals", "locals", "vars"))
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://$")


def evaluate(walk: FunctionWalk, node: ast.expr) -> FlowValue:
    """The value of an expression."""
    walk.engine.count()
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        value: FlowValue = handler(walk, node)
        return value
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            evaluate(walk, child)
    return NOTHING


def _attribute(walk: FunctionWalk, node: ast.Attribute) -> FlowValue:
    value = evaluate(walk, node.value)
    what = REQUEST_PARTS.get(node.attr)
    if what is not None and REQUEST_NAME.search(last_name(node.value)) and not value.all_marks():
        return sent(walk, what, node)
    return attribute_of(walk, value, node.attr)


def sent(walk: FunctionWalk, what: str, node: ast.AST) -> FlowValue:
    """A value that the client sends apart from arguments."""
    return FlowValue(marks={(SENT + what,): LabelMark(trail=(walk.step(node, what),))})


def attribute_of(walk: FunctionWalk, value: FlowValue, name: str) -> FlowValue:
    """`value.name`."""
    if value.fields is not None and name in value.fields:
        return value.fields[name]
    tested = tested_by_attribute(value, name)
    if tested is not None:
        return tested
    if isinstance(value.base, Alternatives):
        parts = [walk.engine.attribute(option, name) for option in value.base.options]
        part = choice_of(FlowValue(parts))
        if part is not None and len(part.options) == len(parts):
            part = part._replace(cases=value.base.cases)
        return constant(part) if part is not None else NOTHING
    base = walk.engine.attribute(value.base, name) if value.base is not UNKNOWN and value.base is not None else UNKNOWN
    if not value.marks and base is UNKNOWN and isinstance(value.base, Instance):  # an attribute that is only declared
        return walk.engine.value_of_type(_field_type(walk, value.base.cls, name))
    if not value.marks:
        return constant(base) if base is not UNKNOWN else NOTHING
    if isinstance(base, Function) or name in HARMLESS_PARTS:
        return constant(base)
    if name == "scheme":
        return FlowValue(UNKNOWN, cleaned(value.marks, *ALL_KINDS, ADDRESS))
    if dotted_name(value.base) in PATH_TYPES:
        marks = cleaned(value.marks, PATH) if name in SAFE_PATH_PARTS else value.marks
        return FlowValue(value.base if name in ("parent", "parents") else UNKNOWN, marks)
    if dotted_name(value.base):  # what a library made from the label, such as a parsed address
        return FlowValue(UNKNOWN, value.marks)
    if isinstance(value.base, Instance):
        kind = _field_type(walk, value.base.cls, name)
        if walk.engine.is_plain(kind):
            return NOTHING
        return FlowValue(walk.engine.value_of_type(kind).base, extended(value.marks, name))
    return FlowValue(UNKNOWN, extended(value.marks, name))


def _field_type(walk: FunctionWalk, cls: Class, name: str) -> Any:
    """The declared type of an attribute of a class: in its body, or where a method sets it."""
    for ancestor in cls.ancestry():
        if name in ancestor.annotations:
            return walk.engine.type_of(ancestor.annotations[name].annotation, ancestor.body)
    return UNKNOWN


def _subscript(walk: FunctionWalk, node: ast.Subscript) -> FlowValue:
    value, key = evaluate(walk, node.value), node.slice
    if isinstance(key, ast.Slice):
        for part in (key.lower, key.upper, key.step):
            if part is not None:
                evaluate(walk, part)
        elements = value.elements
        start = key.lower.value if isinstance(key.lower, ast.Constant) and isinstance(key.lower.value, int) else None
        if elements is not None and start is not None and key.upper is None and start >= 0:
            rest = elements[start:] or [element for element in elements[-1:] if element.is_open]
            return FlowValue(UNKNOWN, value.marks, elements=rest)
        return value.with_marks(changed(value.marks, lambda mark: mark._replace(head=start in (None, 0) and mark.head)))
    return item_of(walk, value, evaluate(walk, key), node)


def item_of(walk: FunctionWalk, value: FlowValue, key: FlowValue, node: ast.AST) -> FlowValue:
    """`value[key]`."""
    if not isinstance(key.base, (str, int)) and (chosen := choice_of(value)) is not None:
        members = value.base if isinstance(value.base, dict) else {}
        named = [*members.items(), *((name, part.base) for name, part in (value.fields or {}).items())]
        equal = [(option, EQUALS + name) for name, option in named if isinstance(name, str)]
        cases = (guards_on(key.marks, *(case for its, case in equal if its is option)) for option in chosen.options)
        return constant(chosen._replace(cases=tuple(cases)))
    if key.marks and not value.all_marks():
        holder = node.value if isinstance(node, ast.Subscript) else None
        if isinstance(holder, ast.Call) and isinstance(holder.func, ast.Name) and holder.func.id in _NAMESPACES:
            walk.use(ATTRIBUTE, key, node, holder.func.id)
        return NOTHING
    if isinstance(key.base, str):
        if value.fields is not None and key.base in value.fields:
            return value.fields[key.base]
        if value.marks:
            return FlowValue(UNKNOWN, extended(value.marks, key.base))
        if isinstance(value.base, dict):
            return constant(value.base.get(key.base, UNKNOWN))
    if value.elements is not None and isinstance(key.base, int) and not isinstance(key.base, bool):
        index = key.base
        if -len(value.elements) <= index < len(value.elements):
            return value.elements[index]
    return FlowValue(UNKNOWN, value.all_marks())


def choice_of(value: FlowValue) -> Alternatives | None:
    """Any of the functions or objects in a container; None if there are none."""
    base = value.base
    items: list[Any] = list(base.values()) if isinstance(base, dict) else []
    if isinstance(base, (list, tuple)) and not isinstance(base, Alternatives):
        items = list(base)
    items += [part.base for part in (*(value.fields or {}).values(), *(value.elements or ()))]
    options = [option for option in items if isinstance(option, (Function, Class, Instance))]
    return Alternatives(tuple({id(option): option for option in options}.values())[:MOST_ELEMENTS]) if options else None


def element_of(many: FlowValue) -> FlowValue:
    """Any element of a value."""
    if many.elements:
        element = reduce(either, many.elements)
        return element.with_marks(merged((element.marks, many.marks))) if many.marks else element
    chosen = choice_of(many)
    return FlowValue(UNKNOWN if chosen is None else chosen, many.marks)


def joined_text(parts: list[FlowValue]) -> FlowValue:
    """The concatenation of texts."""
    all_marks: list[Marks] = []
    text = ""
    shown = [part for part in parts if part.text != ""]
    for index, part in enumerate(shown):
        marks = part.all_marks()
        if marks:
            after = shown[index + 1].text if index + 1 < len(shown) else ""
            is_host = _SCHEME.fullmatch(text) is not None and (after or "/")[:1] != "."
            leads = not text or is_host or _BEFORE_STATEMENT.fullmatch(text) is not None
            single = len(shown) == 1
            is_option = text.startswith("-")
            all_marks.append(
                changed(
                    marks,
                    lambda mark, leads=leads, single=single, option=is_option: mark._replace(  # type: ignore[misc]
                        head=mark.head and leads,
                        whole=mark.whole and single,
                        clean=mark.clean | {ARGUMENT} if option else mark.clean,
                    ),
                )
            )
        text = (text + (part.text if part.text is not None else HOLE))[:LONGEST_TEXT]
    if all(isinstance(part.base, str) for part in shown):
        return constant(text)
    return FlowValue(UNKNOWN, merged(all_marks), text=text or None)


def composed(walk: FunctionWalk, value: FlowValue, node: ast.AST) -> FlowValue:
    """A text with the place where labels were embedded in it."""
    if not value.marks:
        return value
    place = CodePlace(walk.module, node, walk.function.name)
    return value.with_marks(
        changed(value.marks, lambda mark: mark._replace(composed=mark.composed or (None if mark.whole else place)))
    )


def _formatted(walk: FunctionWalk, node: ast.FormattedValue) -> FlowValue:
    value = evaluate(walk, node.value)
    if node.format_spec is not None:
        evaluate(walk, node.format_spec)
    marks = value.all_marks()
    if node.conversion == ord("r"):
        marks = cleaned(marks, EVAL)
    return FlowValue(value.base if isinstance(value.base, str) and not marks else UNKNOWN, marks, text=value.text)


def _binary(walk: FunctionWalk, node: ast.BinOp) -> FlowValue:
    left, right = evaluate(walk, node.left), evaluate(walk, node.right)
    if isinstance(node.op, ast.Add):
        if left.elements is not None or right.elements is not None:
            return FlowValue(UNKNOWN, elements=[*spread(left), *spread(right)][:MOST_ELEMENTS])
        return composed(walk, joined_text([left, right]), node)
    if isinstance(node.op, ast.Mod) and (isinstance(left.base, str) or left.marks):
        return composed(walk, formatted_text(left, right), node)
    if isinstance(node.op, ast.Div):
        is_same = dotted_name(left.base) == "pathlib.Path.cwd()"  # relative paths start there anyway
        below = changed(right.all_marks(), lambda mark: mark._replace(whole=mark.whole and is_same, joined=not is_same))
        marks = merged((left.marks, below))
        paths = [side.base for side in (left, right) if dotted_name(side.base) in PATH_TYPES]
        return FlowValue(paths[0] if paths else left.base, marks)
    if isinstance(node.op, ast.BitOr):
        return either(left, right)
    return NOTHING


def formatted_text(template: FlowValue, value: FlowValue) -> FlowValue:
    """`"… %s" % value` and `"… {}".format(value)`."""
    text = template.text or ""
    leads = text.startswith(("%", "{"))
    marks = changed(value.all_marks(), lambda mark: mark._replace(whole=False, head=mark.head and leads))
    pattern = re.sub(r"%\(?\w*\)?[sdr]|\{[^{}]*\}", HOLE, text[:LONGEST_TEXT])
    return FlowValue(UNKNOWN, merged((template.marks, marks)), text=pattern)


def spread(value: FlowValue) -> list[FlowValue]:
    """The elements of a list for another list."""
    if value.elements is not None:
        return value.elements
    return [value.opened()] if value.marks else [FlowValue(is_open=True)]


def _sequence(walk: FunctionWalk, node: ast.List | ast.Tuple | ast.Set) -> FlowValue:
    elements: list[FlowValue] = []
    for element in node.elts[:MOST_ELEMENTS]:
        if isinstance(element, ast.Starred):
            elements += spread(evaluate(walk, element.value))
        else:
            elements.append(evaluate(walk, element))
    return FlowValue(UNKNOWN, elements=elements[:MOST_ELEMENTS])


def _dictionary(walk: FunctionWalk, node: ast.Dict) -> FlowValue:
    fields: dict[str, FlowValue] = {}
    marks: list[Marks] = []
    for key, value_node in zip(node.keys[:MOST_ELEMENTS], node.values[:MOST_ELEMENTS], strict=True):
        value = evaluate(walk, value_node)
        if key is None:
            fields.update(value.fields or {})
            marks.append(value.marks)
            continue
        named = evaluate(walk, key)
        if isinstance(named.base, str):
            fields[named.base] = value
        elif value.all_marks():
            marks.append(value.all_marks())
    return FlowValue(UNKNOWN, merged(marks), fields=fields)


def _boolean(walk: FunctionWalk, node: ast.BoolOp) -> FlowValue:
    before = walk.state
    is_and = isinstance(node.op, ast.And)
    values = []
    tests = []
    for operand in node.values:
        value = evaluate(walk, operand)
        values.append(value)
        tests.append(tests_of(value))
        walk.state = walk.state.passed(tests[-1][0 if is_and else 1])
    walk.state = before
    result = reduce(either, values)
    all_hold = frozenset[Any]().union(*(test[0 if is_and else 1] for test in tests))
    some = []
    switch = ""
    for test, part in zip(tests, node.values, strict=True):
        if any(test) or walk.has_marks(part):
            some.append(test[1 if is_and else 0])
        else:  # `not confined or is_inside(path)`: a setting decides whether the path is looked at
            switch = switch or switch_of(walk, part, happens=is_and)
    any_holds = switched(reduce(common_guards, some), switch) if some else frozenset()
    return with_tests(result, *((all_hold, any_holds) if is_and else (any_holds, all_hold)))


def switch_of(walk: FunctionWalk, test: ast.expr, *, happens: bool) -> str:
    """What switches off a check that happens if a condition is as given; empty if that is so by default."""
    if _default_truth(walk, test) is happens:
        return ""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, happens = test.operand, not happens
    is_of_none = isinstance(test, ast.Compare) and ast.unparse(test.comparators[0]) == "None"
    if is_of_none and isinstance(test, ast.Compare):  # `root is not None`
        happens, test = happens is isinstance(test.ops[0], (ast.IsNot, ast.NotEq)), test.left
    is_setting = isinstance(test, (ast.Name, ast.Attribute))
    what = f"`{last_name(test)}` is set" if is_setting else f"`{described(test)}` holds"
    return f"{'unless' if happens else 'if'} {what}"


def _default_truth(walk: FunctionWalk, test: ast.expr) -> bool | None:
    """Whether a condition that depends on settings holds by default; None if unknown."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _default_truth(walk, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        truths = [_default_truth(walk, operand) for operand in test.values]
        decisive = isinstance(test.op, ast.Or)
        return decisive if decisive in truths else None if None in truths else not decisive
    if isinstance(test, ast.Compare):
        left, right = (default_of(evaluate(walk, side).base) for side in (test.left, test.comparators[0]))
        is_known = len(test.ops) == 1 and isinstance(left, PLAIN) and isinstance(right, PLAIN)
        if is_known and isinstance(test.ops[0], (ast.Is, ast.Eq)):
            return bool(left == right)
        return bool(left != right) if is_known and isinstance(test.ops[0], (ast.IsNot, ast.NotEq)) else None
    value = default_of(evaluate(walk, test).base)
    if isinstance(value, External):  # of an annotation or a call only the type is known
        return None
    return True if isinstance(value, ExternalCall) else truth(value)


def _unary(walk: FunctionWalk, node: ast.UnaryOp) -> FlowValue:
    value = evaluate(walk, node.operand)
    if isinstance(node.op, ast.Not):
        when_true, when_false = tests_of(value)
        return with_tests(NOTHING, when_false, when_true)
    return NOTHING


def _compare(walk: FunctionWalk, node: ast.Compare) -> FlowValue:
    left = evaluate(walk, node.left)
    right = evaluate(walk, node.comparators[0])
    for comparator in node.comparators[1:]:
        evaluate(walk, comparator)
    return compared(left, node.ops[0], right) if len(node.ops) == 1 else NOTHING


def _conditional(walk: FunctionWalk, node: ast.IfExp) -> FlowValue:
    when_true, when_false = tests_of(evaluate(walk, node.test))
    before = walk.state
    values = []
    for guards, branch in ((when_true, node.body), (when_false, node.orelse)):
        walk.state = before.passed(guards)
        value = evaluate(walk, branch)
        values.append(guarded(value, guards))
    walk.state = before
    return either(values[0], values[1])


def _walrus(walk: FunctionWalk, node: ast.NamedExpr) -> FlowValue:
    value = evaluate(walk, node.value)
    walk.bind(node.target, value)
    return value


def _comprehension(walk: FunctionWalk, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> FlowValue:
    outer = walk.state
    walk.state = outer.copy()
    conditions = [condition for part in node.generators for condition in part.ifs]
    for part in node.generators:
        walk.bind(part.target, element_of(evaluate(walk, part.iter)))
        for condition in part.ifs:
            walk.state = walk.state.passed(evaluate(walk, condition).when_true)
    if isinstance(node, ast.DictComp):
        evaluate(walk, node.key)
        value = evaluate(walk, node.value)
    else:
        value = evaluate(walk, node.elt)
    guards = walk.state.guards - outer.guards
    # a check of each element is one of all, unless a condition leaves elements out
    walk.state = outer if conditions else outer.passed(guards)
    element = guarded(value, guards)
    if isinstance(node, ast.DictComp) or element.elements is None:
        marks = element.all_marks()
        base = value.base if isinstance(value.base, (Alternatives, Function, Instance)) else UNKNOWN
        result = FlowValue(base, marks, is_open=bool(marks))
    else:
        result = FlowValue(UNKNOWN, elements=[element.opened()])
    return with_tests(result, value.when_true, value.when_false)


def guarded(value: FlowValue, guards: frozenset[Guard]) -> FlowValue:
    """A value, and its parts, without the marks that checks have made safe."""
    kinds: dict[Label, set[str]] = {}
    for label, kind in guards:
        kinds.setdefault(label, set()).add(kind)
    marks = {
        label: mark._replace(
            clean=mark.clean.union(kinds.get(label, ()), [PATH] * (BELOW in kinds.get(label, ()) and not mark.whole))
        )
        for label, mark in value.marks.items()
        if ANY_USE not in kinds.get(label, ())
    }
    result = value.with_marks(marks)
    result.elements = None if value.elements is None else [guarded(part, guards) for part in value.elements]
    return result


def _lambda(walk: FunctionWalk, node: ast.Lambda) -> FlowValue:
    walk.engine.closures[id(node)] = {**walk.outer_names(), **walk.state.names}
    return constant(Function(node, walk.function.scope, [], []))


def _call(walk: FunctionWalk, node: ast.Call) -> FlowValue:
    return calls.call(walk, node)  # `calls` imports this module, and may not be complete when the table is made


def _yielded(walk: FunctionWalk, node: ast.Yield | ast.YieldFrom) -> FlowValue:
    if node.value is not None:
        walk.leave(evaluate(walk, node.value))
    return NOTHING


_HANDLERS: dict[Any, Any] = {
    ast.Constant: lambda _, node: constant(node.value),
    ast.Name: lambda walk, node: walk.lookup(node.id),
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.JoinedStr: lambda walk, node: composed(walk, joined_text([evaluate(walk, part) for part in node.values]), node),
    ast.FormattedValue: _formatted,
    ast.BinOp: _binary,
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set), _sequence),
    ast.Dict: _dictionary,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    **dict.fromkeys((ast.Await, ast.Starred), lambda walk, node: evaluate(walk, node.value)),
    ast.NamedExpr: _walrus,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), _comprehension),
    ast.Lambda: _lambda,
    ast.Call: _call,
    **dict.fromkeys((ast.Yield, ast.YieldFrom), _yielded),
}
