"""Evaluate expressions: which inputs their values depend on, and what their truth proves."""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING, Any

from mcproof.core.observations.source import PATH, PREFIX, URL
from mcproof.core.text.english import word_set
from mcproof.source.flow_marks import ANY_USE, EQUALS, HOLE, common_guards, merged
from mcproof.source.javascript.flows import calls
from mcproof.source.javascript.flows.values import NOTHING, Flow, FunctionRef, either, member, proven, proving
from mcproof.source.javascript.syntax import children_of, string_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from mcproof.source.javascript.flows.walk import Walk

_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://$")
_BEFORE_STATEMENT = re.compile(r"(?i)\s*(?:explain[\w\s(),]*|with\s+\w+\s+as\s*\(\s*|select\s+\*\s+from\s*\(\s*)")
_LONGEST_TEXT = 4000
_CLOSED = re.compile(r"(?:\bsep|[/\\][\"'`])\)*$")
"""The end of a call whose last argument ends with a separator."""


def evaluate(walk: Walk, node: Node) -> Flow:
    """The value of an expression."""
    walk.count()
    handler = _HANDLERS.get(node.type)
    if handler is not None:
        flow: Flow = handler(walk, node)
        return flow
    for child in children_of(node):
        evaluate(walk, child)
    return NOTHING


def _inner(walk: Walk, node: Node) -> Flow:
    children = children_of(node)
    values = [evaluate(walk, child) for child in children if not child.type.startswith(("type_", "predefined_"))]
    return values[-1] if node.type == "sequence_expression" and values else values[0] if values else NOTHING


def _template(walk: Walk, node: Node) -> Flow:
    parts = []
    for child in node.children:
        if child.type == "template_substitution":
            parts.append(_inner(walk, child))
        elif child.type in ("string_fragment", "escape_sequence"):
            parts.append(Flow(text=walk.text(child)))
    return concatenated(parts)


def concatenated(parts: list[Flow]) -> Flow:
    """The concatenation of texts."""
    shown = [part for part in parts if part.text != ""]
    text = ""
    parts_marks = []
    for index, part in enumerate(shown):
        marks = part.all_marks()
        after = (shown[index + 1].text or "") if index + 1 < len(shown) else "/"
        is_host = _SCHEME.fullmatch(text) is not None and after[:1] != "."
        leads = not text or is_host or _BEFORE_STATEMENT.fullmatch(text) is not None
        for label, mark in marks.items():
            parts_marks.append({label: mark._replace(head=mark.head and leads, whole=mark.whole and len(shown) == 1)})
        text = (text + (part.text if part.text is not None else HOLE))[:_LONGEST_TEXT]
    return Flow(merged(parts_marks), text=text)


def _binary(walk: Walk, node: Node) -> Flow:
    left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    operator = sign.type if sign is not None else ""
    if left_node is None or right_node is None:
        return NOTHING
    if operator in ("&&", "||", "??"):
        return _short_circuit(walk, left_node, right_node, operator)
    left, right = evaluate(walk, left_node), evaluate(walk, right_node)
    if operator == "+":
        return concatenated([left, right])
    if operator in ("===", "==", "!==", "!=", "<", ">", ">="):
        return compared(left, right, operator[:2])
    if operator == "in" and left.marks and not right.all_marks():
        return proving(proven(left, ANY_USE))
    return NOTHING


def compared(left: Flow, right: Flow, operator: str) -> Flow:
    """`left === right`, with what it proves; `==` and `!=` stand for the longer operators, too."""
    one, other = (right, left) if right.all_marks() else (left, right)
    if other.all_marks():
        return NOTHING
    means = _MEANS.get(operator + (other.name or other.text or ""))
    if means is not None and (one.when_true or one.when_false):  # `isInside(path) === false`
        is_index = one.name == "indexOf" and other.text == "0" and operator in ("==", "!=")
        tests = one.when_true, one.when_false
        return NOTHING if is_index else proving(*(tests if means else tests[::-1]))
    if not one.all_marks() or operator not in ("==", "!="):
        return NOTHING
    if one.name == "typeof":
        proves = proven(one, ANY_USE) if other.text in ("number", "boolean", "bigint") else frozenset()
    else:
        proves = proven(one, ANY_USE, *([EQUALS + other.text] if other.text is not None else []))
    return proving(proves) if operator == "==" else proving((), proves)


_MEANS = {
    **dict.fromkeys(("==true", "!=false", "!=null", "!=undefined", "!=-1", ">-1", ">=0", "!=0", ">0", ">=1"), True),
    **dict.fromkeys(("!=true", "==false", "==null", "==undefined", "==-1", "<0", "==0", "<1"), False),
}
"""Whether a comparison with a constant says that something was found, or the contrary."""


def _short_circuit(walk: Walk, left_node: Node, right_node: Node, operator: str) -> Flow:
    left = evaluate(walk, left_node)
    true, false = left.tests()
    before = walk.guards
    walk.guards = passed = before | (true if operator == "&&" else false)
    right = evaluate(walk, right_node)
    walk.guards = before | (walk.guards - passed)
    right_true, right_false = right.tests()
    joined = either(left, right)
    joined = joined.with_marks(joined.marks)
    if operator == "&&":
        joined.when_true, joined.when_false = true | right_true, common_guards(false, right_false)
    else:
        joined.when_true, joined.when_false = common_guards(true, right_true), false | right_false
        if not _depends(left) and not left.fields:  # `!root || isInside(path)`: the operator turned the check off
            joined.when_true = right_true
    return joined


def _depends(value: Flow) -> bool:
    return bool(value.all_marks() or value.when_true or value.when_false)


def _unary(walk: Walk, node: Node) -> Flow:
    argument, sign = node.child_by_field_name("argument"), node.child_by_field_name("operator")
    value = evaluate(walk, argument) if argument is not None else NOTHING
    if sign is not None and sign.type == "!":
        when_true, when_false = value.tests()
        return proving(when_false, when_true)
    if sign is not None and sign.type == "-" and value.text:
        return Flow(text=f"-{value.text}")
    if sign is not None and sign.type == "typeof":
        return Flow(value.marks, name="typeof")
    return NOTHING


def _ternary(walk: Walk, node: Node) -> Flow:
    condition = node.child_by_field_name("condition")
    when_true, when_false = evaluate(walk, condition).tests() if condition is not None else (frozenset(), frozenset())
    before = walk.guards
    values = []
    for guards, part in ((when_true, "consequence"), (when_false, "alternative")):
        branch = node.child_by_field_name(part)
        walk.guards = before | guards
        value = evaluate(walk, branch) if branch is not None else NOTHING
        safe = {label for label, kind in guards if kind == ANY_USE}
        values.append(value.with_marks({label: mark for label, mark in value.marks.items() if label not in safe}))
    walk.guards = before
    return reduce(either, values)


def _member(walk: Walk, node: Node) -> Flow:
    holder, key = node.child_by_field_name("object"), node.child_by_field_name("property")
    if holder is None or key is None:
        return NOTHING
    value = evaluate(walk, holder)
    name = walk.text(key)
    if name in ("headers", "query") and holder.type == "identifier" and walk.text(holder) in ("req", "request"):
        return value if value.marks else NOTHING
    return member(value, name)


def _subscript(walk: Walk, node: Node) -> Flow:
    holder, index = node.child_by_field_name("object"), node.child_by_field_name("index")
    value = evaluate(walk, holder) if holder is not None else NOTHING
    key = evaluate(walk, index) if index is not None else NOTHING
    if key.text is not None and not key.marks:
        if value.elements is not None and key.text.isdigit():
            return walk.item_at(value, int(key.text))
        return member(value, key.text) if not key.text.isdigit() else Flow(value.all_marks())
    functions = [part for part in (value.fields or {}).values() if part.function is not None]
    return Flow(value.all_marks(), elements=functions or None)  # which function of a table is called is unknown


def _object(walk: Walk, node: Node) -> Flow:
    fields: dict[str, Flow] = {}
    rest = []
    for child in children_of(node):
        if child.type == "pair":
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            if key is not None and value is not None:
                fields[walk.text(key).strip("\"'")] = evaluate(walk, value)
        elif child.type == "shorthand_property_identifier":
            fields[walk.text(child)] = walk.lookup(walk.text(child), child)
        elif child.type == "spread_element":
            value_of = _inner(walk, child)
            fields.update(value_of.fields or {})
            rest.append(value_of.marks)
        elif child.type == "method_definition" and (key := child.child_by_field_name("name")) is not None:
            fields[walk.text(key)] = _function(walk, child)
    return Flow(merged(rest), fields=fields)


def _array(walk: Walk, node: Node) -> Flow:
    elements: list[Flow] = []
    for child in children_of(node)[:64]:
        value = evaluate(walk, child)
        if child.type == "spread_element":
            elements += (
                value.elements if value.elements is not None else [Flow(value.all_marks())] * bool(value.all_marks())
            )
        else:
            elements.append(value)
    return Flow(elements=elements)


def _function(walk: Walk, node: Node) -> Flow:
    return Flow(function=FunctionRef(walk.module, node, {**walk.ref.names, **walk.names}, walk.ref.scope))


def _assignment(walk: Walk, node: Node) -> Flow:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return NOTHING
    value = evaluate(walk, right)
    if node.type == "augmented_assignment_expression":
        value = concatenated([evaluate(walk, left), value])
    walk.bind(left, value)
    return value


def _call(walk: Walk, node: Node) -> Flow:
    return calls.call(walk, node)  # `calls` imports this module, and may not be complete when the table is made


def _literal(walk: Walk, node: Node) -> Flow:
    return Flow(name=node.type) if node.type in ("true", "false", "null", "undefined") else Flow(text=walk.text(node))


_HANDLERS: dict[str, Any] = {
    "identifier": lambda walk, node: walk.lookup(walk.text(node), node),
    "string": lambda walk, node: Flow(text=string_of(walk.module.source, node)),
    **dict.fromkeys(("number", "true", "false", "null", "undefined"), _literal),
    "regex": lambda walk, node: Flow(text=walk.text(node), name="RegExp"),
    "template_string": _template,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "ternary_expression": _ternary,
    "member_expression": _member,
    "subscript_expression": _subscript,
    "object": _object,
    "array": _array,
    **dict.fromkeys(("arrow_function", "function_expression", "function", "generator_function"), _function),
    **dict.fromkeys(("assignment_expression", "augmented_assignment_expression"), _assignment),
    **dict.fromkeys(("call_expression", "new_expression"), _call),
    **dict.fromkeys(
        word_set(
            "parenthesized_expression await_expression as_expression satisfies_expression non_null_expression "
            "type_assertion sequence_expression spread_element yield_expression"
        ),
        _inner,
    ),
}


def starts_with(walk: Walk, receiver: Flow, prefix: Flow, node: Node) -> Flow:
    """`text.startsWith(prefix)`: a check of an address, of options, or of the folder of a path."""
    marks = receiver.all_marks()
    if not marks:
        return NOTHING
    text = prefix.text
    if text == ".." and any(mark.relative for mark in marks.values()):
        # `path.relative(root, path)` that does not lead up; that it is not absolute matters on Windows only
        return proving((), frozenset((label, PATH) for label in marks))
    if text is not None and HOLE not in text:
        if re.match(r"\w+://[^/]+/", text):
            return proving(proven(receiver, URL))
        if text in ("/", "\\", "~", "..") or "://" in text or not re.search(r"[/\\]", text):
            return NOTHING  # no folder
    is_resolved = any(mark.resolved for mark in marks.values())
    if not is_resolved:
        return NOTHING
    is_closed = text is not None and text.endswith(("/", "\\"))
    if not is_closed and _CLOSED.search(walk.text(node)[-200:]) is None:
        walk.use(PREFIX, receiver, node, "startsWith")
    return proving(proven(receiver, PATH))
