"""Arguments of a call as symbols, so that one walk over a function serves every call of the same shape."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.discovery.flows.flow_values import HOLE, LONGEST_LABEL, FlowValue, LabelMark, Marks, extended
from mcproof.discovery.interp.values import External, ExternalCall

if TYPE_CHECKING:
    from mcproof.discovery.flows.flow_values import Label

OUTER = "^"
"""The start of the label of a name of the enclosing function."""
LONGEST_CONSTANT = 80
QUERY = re.compile(
    r"(?i)\b(?:select|insert|update|delete|create|drop|alter|pragma|merge|match|truncate|describe|show|with)\b\s"
)
_QUERY_TEXT = f"SELECT {HOLE}"


def symbolic(value: FlowValue, label: Label) -> tuple[FlowValue, Any]:
    """The value as its receiver sees it, with labels of its own, and a key that identifies its shape."""
    if not value.all_marks():
        return value, _key_of(value, 0)
    if value.has_many_parts(len(label) - 1):
        return value.collapsed(label), ("many", _base_key(value.base))
    marks: Marks = {}
    resolved = False
    if value.marks:
        resolved = all(mark.resolved for mark in value.marks.values())
        marks = {label: LabelMark(resolved=resolved)}
    fields, elements = None, None
    keys: list[Any] = [_base_key(value.base), resolved, bool(marks), value.is_open]
    if value.fields is not None and len(label) < LONGEST_LABEL:
        fields = {}
        for key, part in value.fields.items():
            fields[key], its = symbolic(part, (*label, key))
            keys.append((key, its))
    if value.elements is not None and len(label) < LONGEST_LABEL:
        elements = []
        for index, part in enumerate(value.elements):
            made, its = symbolic(part, (*label, str(index)))
            elements.append(made)
            keys.append(its)
    if fields is None and elements is None and not marks:
        marks = {label: LabelMark()}
    text = _QUERY_TEXT if value.text is not None and QUERY.search(value.text) else None
    keys.append(text)
    made = FlowValue(value.base, marks, fields=fields, elements=elements, text=text, is_open=value.is_open)
    return made, tuple(keys)


def _base_key(base: Any) -> Any:
    if isinstance(base, str):
        return base[:LONGEST_CONSTANT]
    if isinstance(base, (bool, int, type(None))):
        return (type(base).__name__, base)
    if isinstance(base, External):
        return ("external", base.name)
    if isinstance(base, ExternalCall):
        return ("call", base.func.name)
    return id(base)


def _key_of(value: FlowValue, depth: int) -> Any:
    """The shape of a value without marks."""
    own = _base_key(value.base)
    if depth > 2 or value.has_many_parts(depth) or (value.fields is None and value.elements is None):
        return own
    fields = tuple((key, _key_of(part, depth + 1)) for key, part in (value.fields or {}).items())
    return own, fields, tuple(_key_of(part, depth + 1) for part in value.elements or ())


def marks_at(bound: dict[str, FlowValue], label: Label) -> Marks:
    """The caller's marks of what a label of the called function stands for."""
    value = bound.get(label[0])
    if value is None:
        return {}
    rest = label[1:]
    for count, key in enumerate(rest):
        if value.fields is not None and key in value.fields:
            value = value.fields[key]
        elif value.elements is not None and key.isdigit() and int(key) < len(value.elements):
            value = value.elements[int(key)]
        else:
            marks = value.marks or value.all_marks()
            for each in rest[count:]:
                marks = extended(marks, each)
            return marks
    return value.marks or value.all_marks()
