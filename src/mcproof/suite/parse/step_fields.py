"""Parse the `steps` of a test, and check references to the values that they save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.core.errors import nearest
from mcproof.core.text.yaml_document import json_value
from mcproof.suite.definition import CallStep
from mcproof.suite.parse.suite_fields import LONGEST_WAIT, SHOWN
from mcproof.suite.parse.variables import NAME
from mcproof.suite.saved_values import references_in
from mcproof.suite.value_paths import ValuePathError, parse_value_path

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcproof.core.text.yaml_document import Node
    from mcproof.suite.parse.suite_fields import Fields
    from mcproof.suite.value_paths import ValuePath

STEP_KEYS = ("tool", "args", "save", "timeout_ms")


def read_steps(fields: Fields, node: Node | None, what: str) -> tuple[CallStep, ...]:
    """Parse the steps of a test; each may use what earlier ones save."""
    steps: list[CallStep] = []
    saved: dict[str, None] = {}
    for each in fields.items(node, f"`steps` of {what}") if node is not None else ():
        members = fields.mapping(each, f"a step of {what}", STEP_KEYS, ("tool",))
        arguments = members.get("args")
        check_references(fields, arguments, saved)
        step = CallStep(
            location=fields.location(each),
            tool=fields.text(members.get("tool"), f"`tool` of a step of {what}"),
            arguments={name: json_value(value) for name, value in fields.any_mapping(arguments, "`args`").items()}
            if arguments is not None
            else {},
            save=tuple(_save(fields, members.get("save"))),
            timeout_ms=fields.number(members.get("timeout_ms"), f"`timeout_ms` of a step of {what}", 1, LONGEST_WAIT),
        )
        saved |= dict.fromkeys(name for name, _ in step.save)
        steps.append(step)
    return tuple(steps)


def _save(fields: Fields, node: Node | None) -> list[tuple[str, ValuePath]]:
    found = []
    for name, value in (fields.any_mapping(node, "`save`") if node is not None else {}).items():
        if NAME.fullmatch(name) is None:
            fields.complain(value, f"invalid name `{name[:SHOWN]}` in `save`; use letters, digits and `_`")
        text = fields.text(value, f"`{name[:SHOWN]}` in `save`")
        try:
            path = parse_value_path(text) if text else None
        except ValuePathError as error:
            fields.complain(value, f"the path `{text[:SHOWN]}` {error}")
            continue
        if path is not None and path.root != "result":
            fields.complain(value, f"the path `{text[:SHOWN]}` must start with `result`, as `result.content[0].text`")
        elif path is not None:
            found.append((name, path))
    return found


def check_references(fields: Fields, node: Node | None, saved: Collection[str]) -> None:
    """Record references to values that no earlier step saves. Recursion is safe: the depth of suites is limited."""
    if node is None:
        return
    if isinstance(node.value, dict | list):
        for each in node.value.values() if isinstance(node.value, dict) else node.value:
            check_references(fields, each, saved)
    elif isinstance(node.value, str):
        for name in references_in(node.value):
            if name not in saved:
                known = (
                    f"earlier steps save {', '.join(saved)}" if saved else "no earlier step of this test saves a value"
                )
                hint = nearest(name, list(saved))
                fields.complain(node, f"unknown value `${{steps.{name[:SHOWN]}}}`{hint}; {known}")
