"""Load the files of a suite: imports, variables, answers, and typed access with the location of each problem.

`${NAME}` is replaced from the suite's own variables first, then from the environment.
Why values of the environment do not leave a suite: docs/decisions/0012-no-environment-values.md.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.connect import INHERITED
from mcproof.client.questions import Answer
from mcproof.core.errors import McproofError, nearest, reason_of
from mcproof.core.text.yaml_document import MAX_BYTES, Node, YamlError, decode, json_value, parse
from mcproof.testing.suites.model import KEYS, WRITTEN, SuiteLocation, marked, references_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcproof.core.observations.connection import QuestionKind


MOST_PROBLEMS = 50
"""Maximum number of problems reported."""


class SuiteProblem(NamedTuple):
    """A mistake in a suite, with its location."""

    file: str
    line: int | None
    column: int | None
    message: str

    def __str__(self) -> str:
        location = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{location}: {self.message}"


class SuiteError(McproofError):
    """An invalid suite; its message is the first problem."""

    def __init__(self, problems: list[SuiteProblem]) -> None:
        first = problems[0]
        more = len(problems) - 1
        hint = f" (and {more:,} more)" if more else ""
        super().__init__(f"{first.message}{hint}", file=first.file, line=first.line, column=first.column)
        self.problems = problems[:MOST_PROBLEMS]
        self.left_out = len(problems) - len(self.problems)
        """Number of problems beyond MOST."""

    @property
    def lines(self) -> list[str]:
        """The reported problems, and the number of those left out."""
        more = [f"{self.file}: and {self.left_out:,} more"] if self.left_out else []
        return [*map(str, self.problems), *more]


SHOWN = 60
"""Maximum length of a word in a message."""
LONGEST_WAIT = 3_600_000
"""Maximum time limit, in milliseconds."""


class Fields(NamedTuple):
    """Reads the values of one file; `what` names a value in messages."""

    file: str
    problems: list[SuiteProblem]
    environment: Mapping[str, str] | None
    """None if nothing will be started; then unset environment variables are not problems."""
    secrets: list[str]
    """Collects values from the environment."""

    def complain(self, node: Node, message: str) -> None:
        """Record a problem with a value."""
        self.complain_at((node.line, node.column), message)

    def complain_at(self, position: tuple[int, int], message: str) -> None:
        """Record a problem at a line and column, such as those of a key."""
        self.problems.append(SuiteProblem(self.file, *position, message))

    def complain_unknown(self, position: tuple[int, int], kind: str, word: str, words: Iterable[str]) -> None:
        """Record a word that is not in `words`."""
        self.complain_at(position, unknown(kind, word, words))

    def location(self, node: Node) -> SuiteLocation:
        return SuiteLocation(self.file, node.line, node.column)

    def is_unresolved(self, text: str) -> bool:
        """Whether a text depends on the environment, and there is none."""
        return self.environment is None and "${" in text

    def any_mapping(self, node: Node, what: str) -> dict[str, Node]:
        if isinstance(node.value, dict):
            return node.value
        self.complain(node, f"{what} must be a mapping, not {node.kind}")
        return {}

    def mapping(self, node: Node, what: str, keys: Iterable[str], needed: tuple[str, ...] = ()) -> dict[str, Node]:
        """Return the known members of a mapping; record unknown and missing ones."""
        members, listed = self.any_mapping(node, what), list(keys)
        for key in members:
            if key not in listed:
                self.complain_at(node.keys[key], unknown("key", key, listed, f" in {what}"))
        for key in needed:
            if isinstance(node.value, dict) and key not in members:
                self.complain(node, f"{what} lacks `{key}`")
        return {key: member for key, member in members.items() if key in listed}

    def items(self, node: Node, what: str) -> list[Node]:
        if isinstance(node.value, list):
            return node.value
        self.complain(node, f"{what} must be a list, not {node.kind}")
        return []

    def text(self, node: Node | None, what: str) -> str:
        """Return a non-empty string; "" if absent or invalid."""
        if node is None:
            return ""
        if isinstance(node.value, str) and (saved := references_in(node.value)):
            self.complain(node, f"`${{steps.{saved[0]}}}` can only be used in `args` and in matchers, not in {what}")
            return ""
        if isinstance(node.value, str) and node.value:
            return node.value
        if isinstance(node.value, str):
            self.complain(node, f"{what} is empty")
        else:
            hint = "; quote it" if isinstance(node.value, int | float) else ""
            self.complain(node, f"{what} must be a string, not {node.kind}{hint}")
        return ""

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        items = self.items(node, what) if node is not None else []
        return tuple(text for item in items if (text := self.text(item, f"an item of {what}")))

    def number(self, node: Node | None, what: str, least: int, most: int) -> int | None:
        """Return an integer in a range; None if absent or invalid. Substituted variables may hold it as text."""
        if node is None:
            return None
        value = node.value
        if isinstance(value, str) and node.is_substituted and re.fullmatch("[0-9]{1,59}", value):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        if not (isinstance(value, str) and self.is_unresolved(value)):
            self.complain(node, f"{what} must be an integer from {least:,} to {most:,}")
        return None

    def flag(self, node: Node | None, what: str) -> bool:
        """Return a boolean; False if absent or invalid. Substituted variables may hold it as text."""
        value = node.value if node is not None else False
        if node is not None and node.is_substituted and value in ("true", "false"):
            value = value == "true"
        if isinstance(value, bool):
            return value
        if node is not None and not (isinstance(value, str) and self.is_unresolved(value)):
            self.complain(node, f"{what} must be true or false")
        return False

    def one_of(self, node: Node | None, what: str, kind: str, words: Iterable[str]) -> str:
        """Return one of the known words; "" if absent or unknown."""
        word, listed = self.text(node, what), list(words)
        if node is None or not word or word in listed:
            return word
        if not self.is_unresolved(word):
            self.complain_unknown((node.line, node.column), kind, word, listed)
        return ""

    def from_environment(self, node: Node | None, what: str) -> str:
        """Return the value of the environment variable named by a node."""
        name = self.text(node, what)
        if node is None or not name:
            return ""
        if self.environment is None:
            return f"${{{name}}}"
        value = self.environment.get(name)
        if value is None:
            self.complain(node, f"the environment variable {name[:SHOWN]} is not set")
            return ""
        self.secrets.append(value)
        return value


_STEPS_SAVE = " (only `steps` can save values: a test has none for other tests)"


def unknown(kind: str, word: str, words: Iterable[str], where: str = "") -> str:
    """Return the message for a word that is not in `words`."""
    listed = list(words)
    hint = _STEPS_SAVE if word == "save" and "steps" in listed else nearest(word, listed)
    return f"unknown {kind} `{word[:SHOWN]}`{where}{hint}; expected one of {', '.join(listed)}"


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_VARIABLE = re.compile(r"\$(\$)?\{([^{}]*+)\}")
_PARTS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)(?::-(.*))?", re.DOTALL)
FOLDER = "CONFIG_DIR"
"""Predefined variable: the folder of the suite."""
MOST_CHARACTERS = 4_000_000
"""Maximum number of characters after substitution."""


class SubstitutionContext:
    """The environment, and how much text substitution has produced."""

    def __init__(self, environment: Mapping[str, str] | None, secrets: list[str]) -> None:
        self.environment = environment
        """None if nothing will be started; then references to the environment are left as they are."""
        self.secrets = secrets
        """Collects values from the environment."""
        self.size = 0


class Substitution(NamedTuple):
    """Substitutes the variables of one file."""

    variables: Mapping[str, Any]
    """The variables of the suite: strings, numbers, booleans or null."""
    context: SubstitutionContext
    complain: Callable[[Node, str], None]

    def apply(self, root: Node) -> Node:
        """Return the tree with all variables substituted. Recursion is safe: the depth of trees is limited."""
        return self._apply(root, {})

    def _apply(self, node: Node, done: dict[int, Node]) -> Node:
        value = node.value
        if isinstance(value, str):
            return node._replace(value=self._text(node, value), is_substituted=True) if "${" in value else node
        if not isinstance(value, dict | list):
            return node
        # An alias is one value at several places; it is substituted once.
        copied = done.get(id(value))
        if copied is None:
            children: Any
            if isinstance(value, dict):
                children = {key: self._apply(member, done) for key, member in value.items()}
            else:
                children = [self._apply(item, done) for item in value]
            copied = done[id(value)] = node._replace(value=children)
        return node._replace(value=copied.value)

    def _text(self, node: Node, text: str) -> Any:
        whole = _VARIABLE.fullmatch(text)
        parts = _PARTS.fullmatch(whole[2]) if whole is not None and not whole[1] else None
        if parts is not None and parts[1] in self.variables:
            return self.variables[parts[1]]  # a whole-value reference keeps its type
        if self.context.size > MOST_CHARACTERS:
            return ""
        substituted = _VARIABLE.sub(lambda match: self._value(node, match), text)
        self.context.size += len(substituted)
        if self.context.size > MOST_CHARACTERS:
            self.complain(node, f"more than {MOST_CHARACTERS:,} characters after variable substitution")
            return ""
        return substituted

    def _value(self, node: Node, match: re.Match[str]) -> str:
        if match[1]:  # `$${NAME}` is an escaped `${NAME}`
            return match[0][1:]
        if (saved := WRITTEN.fullmatch(match[2])) is not None:
            return marked(saved[1])
        parts = _PARTS.fullmatch(match[2])
        if parts is None:
            self.complain(node, f"invalid variable `{match[0][:60]}`; write `$${{` for a literal `${{`")
            return match[0]
        name, default = parts[1], parts[2]
        if name in self.variables:
            value = self.variables[name]
            return value if isinstance(value, str) else _as_text(value)
        if self.context.environment is None:
            return match[0]
        if name in self.context.environment:
            value = self.context.environment[name]
            if name not in INHERITED:
                self.context.secrets.append(value)
            return value
        if default is None:
            self.complain(node, f"`${{{name}}}` is not defined in `variables` or the environment")
            return match[0]
        return str(default)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


MOST_IMPORTS = 100
ENDINGS = (".yaml", ".yml")
"""Extensions of imported files. Others are refused, so that error messages cannot quote arbitrary files."""


class Document(NamedTuple):
    """One parsed file of a suite."""

    file: str
    root: Node
    has_variables: bool


def load(file: str, problems: list[SuiteProblem], overrides: Mapping[str, bytes] | None = None) -> list[Document]:
    """Parse a suite and its imports; imported files come first. `overrides` replaces content, by real path."""
    loader = _Loader(problems, overrides or {})
    loader.load(file, ())
    return loader.documents


class _Loader:
    """Loads files recursively, each once."""

    def __init__(self, problems: list[SuiteProblem], overrides: Mapping[str, bytes]) -> None:
        self._overrides = overrides
        self.documents: list[Document] = []
        self._problems = problems
        self._done: dict[str, None] = {}

    def load(self, file: str, chain: tuple[str, ...]) -> None:
        parsed = _parsed(file, self._problems, self._overrides)
        if parsed is None:
            return
        text, root = parsed
        fields = Fields(file, self._problems, None, [])
        if not isinstance(root.value, dict):
            fields.complain(root, f"a suite must be a mapping with {', '.join(KEYS)}, not {root.kind}")
            return
        real = os.path.realpath(file)
        self._done[real] = None
        imports = root.value.get("imports")
        for node in fields.items(imports, "`imports`") if imports is not None else ():
            if not isinstance(node.value, str) or not node.value:
                fields.complain(node, f"an import must be the path of a file, not {node.kind}")
                continue
            name = os.path.normpath(os.path.join(os.path.dirname(file), node.value))
            if os.path.realpath(name) in (*chain, real):
                fields.complain(node, f"circular import of `{node.value[:SHOWN]}`")
            elif (why := self._refusal(name)) is not None:
                fields.complain(node, why)
            elif os.path.realpath(name) not in self._done:
                self.load(name, (*chain, real))
        self.documents.append(Document(file, root, "${" in text))

    def _refusal(self, name: str) -> str | None:
        """Return why a file cannot be imported; None if it can."""
        if os.path.isdir(name):
            return f"cannot import `{name}`: it is a folder"
        if not os.path.isfile(name):
            return f"cannot import `{name}`: no such file"
        if not name.endswith(ENDINGS):
            return f"cannot import `{name}`: it must end in .yaml or .yml"
        return f"more than {MOST_IMPORTS} imported files" if len(self._done) >= MOST_IMPORTS else None


def parse_file(file: str, problems: list[SuiteProblem]) -> Node | None:
    """Parse one file; None if that is not possible, with the problem recorded."""
    parsed = _parsed(file, problems, {})
    return None if parsed is None else parsed[1]


def _parsed(file: str, problems: list[SuiteProblem], overrides: Mapping[str, bytes]) -> tuple[str, Node] | None:
    """The text of a file and its root."""
    try:
        data = overrides.get(os.path.realpath(file)) if overrides else None
        text = decode(_read(file) if data is None else data)
        return text, parse(text)
    except OSError as error:
        problems.append(SuiteProblem(file, None, None, f"cannot be read: {reason_of(error)}"))
    except YamlError as error:
        problems.append(SuiteProblem(file, error.line, error.column, error.message))
    return None


def _read(file: str) -> bytes:
    with open(file, "rb") as stream:
        # One more than allowed, so that a file that is too large is noticed.
        return stream.read(MAX_BYTES + 1)


def substituted(
    documents: list[Document], environment: Mapping[str, str] | None, problems: list[SuiteProblem], secrets: list[str]
) -> list[tuple[Fields, Node]]:
    """Return the fields and root of each file, with variables substituted."""
    context = SubstitutionContext(environment, secrets)
    merged: dict[str, Any] = {}
    every = [(document, Fields(document.file, problems, environment, secrets)) for document in documents]
    for document, fields in every:
        for name, node in _variables(document, fields).items():
            # Importing files override imported ones; a variable may refer to earlier ones.
            merged[name] = Substitution(_known(document, merged), context, fields.complain).apply(node).value
    return [
        (fields, Substitution(_known(document, merged), context, fields.complain).apply(document.root))
        if document.has_variables
        else (fields, document.root)
        for document, fields in every
    ]


def _known(document: Document, merged: dict[str, Any]) -> dict[str, Any]:
    return {FOLDER: os.path.dirname(os.path.abspath(document.file)), **merged}


def _variables(document: Document, fields: Fields) -> dict[str, Node]:
    root = document.root.value
    node = root.get("variables") if isinstance(root, dict) else None
    variables = {}
    for name, value in (fields.any_mapping(node, "`variables`") if node is not None else {}).items():
        if NAME.fullmatch(name) is None or name == FOLDER:
            fields.complain(value, f"invalid variable name `{name[:SHOWN]}`; use letters, digits and `_`")
        elif isinstance(value.value, dict | list):
            what = f"the variable `{name[:SHOWN]}`"
            fields.complain(value, f"{what} must be a string, a number or a boolean, not {value.kind}")
        else:
            variables[name] = value
    return variables


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
    answers = (_answer(fields, item) for item in fields.items(node, what)) if node is not None else ()
    return tuple(answer for answer in answers if answer is not None)


def _answer(fields: Fields, node: Node) -> Answer | None:
    members = fields.mapping(node, "an answer", ANSWER_KEYS, ("reply",))
    given = fields.one_of(members.get("kind"), "`kind` of an answer", "kind", _REPLIES) or "form"
    kind: QuestionKind = next(name for name in _REPLIES if name == given)
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
        return all(isinstance(item.value, str) for item in node.value)
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
        return is_known and all(isinstance(member, str) for member in members.values())
    return isinstance(node.value, str) and bool(node.value)


_REPLIES: dict[QuestionKind, Callable[[Node], str]] = {
    "form": _form_problem,
    "url": _url_problem,
    "sampling": _sampling_problem,
    "roots": _roots_problem,
}
