"""Ask the user at a terminal what a server wants to know: field by field, with defaults and choices.

Prompts go to stderr, so that stdout has nothing but the response.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from mcproof.client.questions import Reply, declined, fields_of, form_problem, schema_problem
from mcproof.client.waiting import typed_line
from mcproof.core.console import safe
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.schema.validation import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.questions import AnswerSource
    from mcproof.core.observations.connection import QuestionKind

MOST_FIELDS, MOST_CHOICES = 50, 50
"""How many fields a form may have, and how many choices a field, to be shown."""
LONGEST_MESSAGE = 2_000
_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")
_BY_USER = Reply("decline", {"action": "decline"})
_LEFT_OUT = "-"


class _EndedError(Exception):
    """The user has ended the input, which declines the question."""


class Choice(NamedTuple):
    """One of the values that a field allows."""

    value: Any
    title: str


class TerminalUser:
    """Answers from a file, if it has one that matches, or else from the user."""

    def __init__(self, answers: AnswerSource | None, hide: Callable[[str], str]) -> None:
        self._answers = answers
        self._hide = hide
        self._lock = asyncio.Lock()

    @property
    def kinds(self) -> frozenset[QuestionKind]:
        return self._answers.kinds if self._answers is not None else frozenset()

    async def reply_to(self, kind: QuestionKind, message: str, params: dict[str, Any]) -> Reply | None:
        prepared = await self._answers.reply_to(kind, message, params) if self._answers is not None else None
        if prepared is not None or kind not in ("form", "url"):
            return prepared
        # Requests run side by side, but there is one terminal.
        async with self._lock:
            try:
                return await (self._url if kind == "url" else self._form)(message, params)
            except _EndedError:  # the end of the input is an answer, too
                self._show("\n")
                return _BY_USER
            except asyncio.CancelledError:
                self._show("\n")
                raise

    async def _url(self, message: str, params: dict[str, Any]) -> Reply:
        """Show a URL, which only the user opens."""
        self._show_question(message, "Ctrl-D declines")
        self._show(f"  open this URL yourself if you trust it: {safe(str(params.get('url'))[:LONGEST_MESSAGE])}\n")
        is_done = await self._confirmed("  done? [y/N] ", default=False)
        return Reply("accept", {"action": "accept"}) if is_done else _BY_USER

    async def _form(self, message: str, params: dict[str, Any]) -> Reply:
        schema = params.get("requestedSchema")
        fields = fields_of(schema)
        if len(fields) > MOST_FIELDS:
            return declined("form", f"declined: the form has more than {MOST_FIELDS} fields")
        # A schema that cannot be checked would make every answer of the user wrong or right by chance.
        if (problem := schema_problem(Oracle(schema))) is not None:
            return declined("form", f"declined: {problem}")
        required = schema.get("required") if isinstance(schema, dict) else None
        names = required if isinstance(required, list) else []
        self._show_question(message, "Enter takes the value in brackets, - leaves a field out, Ctrl-D declines")
        while True:
            content = {}
            for name, field in fields.items():
                value = await self._field(name, field, is_required=name in names)
                if value is not None:
                    content[name] = value
            problem = form_problem(content, schema)
            if problem is None:
                break
            self._show(f"  {safe(problem)}\n")
            if not await self._confirmed("  again? [Y/n] ", default=True):
                return _BY_USER
        is_sent = await self._confirmed(f"  send {safe(cropped(json.dumps(content, ensure_ascii=False)))}? [Y/n] ")
        return Reply("accept", {"action": "accept", "content": content}) if is_sent else _BY_USER

    async def _field(self, name: str, field: dict[str, Any], *, is_required: bool) -> Any:
        """The value of a field; None to leave it out."""
        choices = choices_of(field)
        about = [words for words in (field.get("title"), field.get("description")) if isinstance(words, str)]
        if about:
            self._show(f"  {safe(cropped(': '.join(about)))}\n")
        for number, choice in enumerate(choices[:MOST_CHOICES], 1):
            self._show(f"    {number} {safe(cropped(choice.title))}\n")
        # Shown as the server wrote it, escaped: a default may be an attack on the terminal, too.
        default = field.get("default")
        shown = f" [{safe(cropped(_written(default)))}]" if default is not None else ""
        prompt = f"  {safe(cropped(name))}{'' if is_required else ' (optional)'}{shown}> "
        while True:
            text = (await self._line(prompt)).strip()
            if text == _LEFT_OUT and not is_required:
                return None
            if not text and default is not None:
                return default
            if not text and not is_required:
                return None
            value = parsed(text, field, choices)
            problem = form_problem({name: value}, {"type": "object", "properties": {name: field}})
            if problem is None:
                return value
            self._show(f"  {safe(problem)}\n")

    def _show_question(self, message: str, hint: str) -> None:
        self._show("the server asks:\n")
        for line in message[:LONGEST_MESSAGE].splitlines():
            self._show(f"  {safe(line)}\n")
        self._show(f"  ({hint})\n")

    def _show(self, text: str) -> None:
        sys.stderr.write(self._hide(text))
        sys.stderr.flush()

    async def _confirmed(self, prompt: str, *, default: bool = True) -> bool:
        while True:
            word = (await self._line(prompt)).strip().lower()
            if not word:
                return default
            if word in (*_YES, *_NO):
                return word in _YES

    async def _line(self, prompt: str) -> str:
        self._show(prompt)
        line = await typed_line()
        if not line:
            raise _EndedError
        return line


def choices_of(field: dict[str, Any]) -> list[Choice]:
    """The values that a field, or each item of a list, allows: of `enum`, or of `oneOf` or `anyOf` with titles."""
    source = field.get("items") if field.get("type") == "array" else field
    if not isinstance(source, dict):
        return []
    if isinstance(values := source.get("enum"), list):
        titles = source.get("enumNames")
        names = titles if isinstance(titles, list) and len(titles) == len(values) else values
        return [Choice(value, _written(name)) for value, name in zip(values, names, strict=True)]
    branches = source.get("oneOf", source.get("anyOf"))
    listed = [branch for branch in branches if isinstance(branch, dict)] if isinstance(branches, list) else []
    return [
        Choice(branch["const"], _written(branch.get("title", branch["const"])))
        for branch in listed
        if "const" in branch
    ]


def parsed(text: str, field: dict[str, Any], choices: list[Choice]) -> Any:
    """What the user means by a text, by the type of the field; the text itself if it means nothing else."""
    kind = field.get("type")
    if kind == "array":
        return [_chosen(word.strip(), choices) for word in text.split(",") if word.strip()]
    if choices:
        return _chosen(text, choices)
    if kind == "boolean" and text.lower() in (*_YES, *_NO):
        return text.lower() in _YES
    if kind in ("number", "integer"):
        try:
            return json.loads(text)
        except ValueError:  # not JSON: the text itself is the answer
            return text
    return text


def _chosen(word: str, choices: list[Choice]) -> Any:
    """The value with this text or title, or else with this number; the word itself if there is none."""
    for choice in choices:
        if word in (_written(choice.value), choice.title):
            return choice.value
    # Texts come before numbers: a choice may itself be called `2`.
    at = int(word) if word.isascii() and word.isdigit() and len(word) < 4 else 0
    return choices[at - 1].value if 0 < at <= len(choices) else word


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
