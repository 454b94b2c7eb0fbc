"""Parse answers to the questions of servers: `answers` in a suite, or a file for `--answer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.client.questions import Answer
from mcproof.core.text.yaml_document import json_value
from mcproof.suite.parse.loading import parse_file
from mcproof.suite.parse.problems import SuiteError
from mcproof.suite.parse.suite_fields import Fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.core.observations.connection import QuestionKind
    from mcproof.core.text.yaml_document import Node
    from mcproof.suite.parse.problems import SuiteProblem

ANSWER_KEYS = ("kind", "asked", "reply")
ACTIONS = ("accept", "decline", "cancel")
_ACTIONS = "accept, decline or cancel"
_SIMPLE = (str, int, float, type(None))
"""The types of fields of a form, besides lists of texts; null leaves a field out."""


def read_answer_file(file: str) -> tuple[Answer, ...]:
    """Parse a file of answers: a list, or a mapping with `answers`. Raises SuiteError."""
    problems: list[SuiteProblem] = []
    root = parse_file(file, problems)
    answers: tuple[Answer, ...] = ()
    if root is not None:
        fields = Fields(file, problems, {}, [])
        listed: Node | None = root
        if isinstance(root.value, dict):
            listed = fields.mapping(root, "a file of answers", ("answers",), ("answers",)).get("answers")
        answers = read_answers(fields, listed, "a file of answers")
    if problems:
        raise SuiteError(problems)
    return answers


def read_answers(fields: Fields, node: Node | None, what: str) -> tuple[Answer, ...]:
    """Parse a list of answers."""
    found = (_answer(fields, each) for each in fields.items(node, what)) if node is not None else ()
    return tuple(each for each in found if each is not None)


def _answer(fields: Fields, node: Node) -> Answer | None:
    members = fields.mapping(node, "an answer", ANSWER_KEYS, ("reply",))
    given = fields.one_of(members.get("kind"), "`kind` of an answer", "kind", _REPLIES) or "form"
    kind: QuestionKind = next(each for each in _REPLIES if each == given)
    asked = fields.text(members.get("asked"), "`asked`")
    if kind == "roots" and "asked" in members:
        fields.complain(members["asked"], "`asked` cannot be combined with `kind: roots`, which has no text")
    reply = members.get("reply")
    if reply is None:
        return None
    problem = _REPLIES[kind](reply)
    if problem:
        fields.complain(reply, f"`reply` must be {problem}, not {_shown(reply)}")
        return None
    return Answer(kind, asked, json_value(reply), f"{fields.file}:{node.line}")


def _shown(node: Node) -> str:
    return f"`{node.value[:60]}`" if isinstance(node.value, str) and node.value else node.kind


def _form_problem(node: Node) -> str:
    """What a reply to a form must be, if it is something else; else empty."""
    if isinstance(node.value, dict):
        return (
            "" if all(map(_is_field, node.value.values())) else "fields with texts, numbers, booleans or lists of texts"
        )
    return "" if node.value in ACTIONS else f"{_ACTIONS}, or a mapping with fields"


def _is_field(node: Node) -> bool:
    if isinstance(node.value, list):
        return all(isinstance(each.value, str) for each in node.value)
    return isinstance(node.value, _SIMPLE)


def _url_problem(node: Node) -> str:
    return "" if node.value in ACTIONS else _ACTIONS


def _sampling_problem(node: Node) -> str:
    return "" if isinstance(node.value, str) and node.value else "the text of the model, or decline"


def _roots_problem(node: Node) -> str:
    is_list = isinstance(node.value, list) and all(map(_is_root, node.value))
    return "" if is_list else "a list of `file://` URIs, or of mappings with `uri` and `name`"


def _is_root(node: Node) -> bool:
    if isinstance(node.value, dict):
        members: dict[str, Any] = json_value(node)
        is_known = "uri" in members and members.keys() <= {"uri", "name"}
        return is_known and all(isinstance(each, str) for each in members.values())
    return isinstance(node.value, str) and bool(node.value)


_REPLIES: dict[QuestionKind, Callable[[Node], str]] = {
    "form": _form_problem,
    "url": _url_problem,
    "sampling": _sampling_problem,
    "roots": _roots_problem,
}
