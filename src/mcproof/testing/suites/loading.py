"""Load the files of a suite: imports, variables, answers, and typed access with the location of each problem.

`${NAME}` is replaced from the suite's own variables first, then from the environment.
Why values of the environment do not leave a suite: docs/decisions/0012-no-environment-values.md.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, cast

from mcproof.client.connect import INHERITED
from mcproof.core.errors import nearest, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.schema.shipped import Breach, Path, Schema, ShippedSchema
from mcproof.core.text.files import open_in_checkout
from mcproof.core.text.yaml_document import MAX_BYTES, Node, YamlError, decode, json_value, parse
from mcproof.testing.suites.model import (
    BLOCKS,
    KEYS,
    WRITTEN,
    SuiteLocation,
    SuiteProblem,
    marked,
    references_in,
    suite_schema_text,
)

SHOWN = 60
"""Maximum length of a word in a message."""


class Fields(NamedTuple):
    """Reads the values of one file, and records what is wrong with them."""

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

    def location(self, node: Node) -> SuiteLocation:
        return SuiteLocation(self.file, node.line, node.column)

    def is_unresolved(self, value: Any) -> bool:
        """Whether a value depends on the environment, and there is none."""
        return self.environment is None and isinstance(value, str) and "${" in value

    def from_environment(self, node: Node) -> str:
        """Return the value of the environment variable named by a node."""
        name = node.value
        if not isinstance(name, str):
            return ""
        if self.environment is None:
            return f"${{{name}}}"
        value = self.environment.get(name)
        if value is None:
            self.complain(node, f"the environment variable {name[:SHOWN]} is not set")
        else:
            self.secrets.append(value)
        return value or ""

    def fitting(self, root: Node, what: str, schema: Schema, *place: str) -> Node:
        """Record what in a document breaks its schema, which is at a place in that of suites; return the rest.

        A value that does not fit becomes None, so that what is around it is read nevertheless; unknown keys are gone.
        """
        misfits: dict[Path, Any] = {}
        # The schema that editors get decides what fits, and only the words are ours:
        # docs/decisions/0068-readers-follow-schemas.md.
        for breach in suite_schema().breaches(json_value(root), schema, (), place):
            if _is_read_by_hand(breach):
                continue
            is_unknown = breach.keyword == "additionalProperties"
            path = breach.path[:-1] if is_unknown else breach.path
            node, name = _at(root, path), _name(root, path, breach.place, what)
            if is_unknown:
                message = unknown("key", breach.key, breach.schema["properties"], f" in {name}")
                self.complain_at(node.keys[breach.key], message)
                misfits[breach.path] = _GONE
            elif breach.keyword == "required":
                self.complain(node, f"{name} lacks `{breach.key}`")
            else:
                misfits[path] = value = self._as_meant(node, breach.schema)
                is_open = self.is_unresolved(node.value) and not {"enum", _VARIABLE_TOO}.isdisjoint(breach.schema)
                if value is None and not is_open:
                    self.complain(node, _problem(name, node, breach))
        return _without(root, misfits)

    def _as_meant(self, node: Node, schema: Schema) -> Any:
        """Return a number or boolean that a variable holds as text; None for everything else."""
        text = node.value
        if not (node.is_substituted and isinstance(text, str) and _VARIABLE_TOO in schema):
            return None
        if schema["type"] == "boolean":
            return {"true": True, "false": False}.get(text)
        # Python refuses to convert texts with thousands of digits, with an error of its own.
        number = int(text) if re.fullmatch("[0-9]{1,59}", text) else -1
        return number if schema["minimum"] <= number <= schema["maximum"] else None


def value_of(members: Mapping[str, Node], key: str, default: Any = None) -> Any:
    """Return the JSON value of a member; the default if it is absent or does not fit."""
    value = json_value(members[key]) if key in members else None
    return default if value is None else value


def nodes_of(node: Node | None) -> list[Node]:
    """Return the items of a list that fit; none if there is no list."""
    items = node.value if node is not None and isinstance(node.value, list) else []
    return [item for item in items if item.value is not None]


def members_of(node: Node | None) -> dict[str, Node]:
    """Return the members of a mapping; none if there is no mapping."""
    return node.value if node is not None and isinstance(node.value, dict) else {}


_STEPS_SAVE = " (only `steps` can save values: a test has none for other tests)"


def unknown(kind: str, word: str, words: Iterable[str], where: str = "") -> str:
    """Return the message for a word that is not in `words`."""
    listed = list(words)
    hint = _STEPS_SAVE if word == "save" and "steps" in listed else nearest(word, listed)
    return f"unknown {kind} `{word[:SHOWN]}`{where}{hint}; expected one of {', '.join(listed)}"


_VARIABLE_TOO = "x-variable"
"""Marks the schema of a value that may be a variable instead."""
_GONE = object()
"""Stands for a member that is left out."""
_ITEMS = {
    **dict.fromkeys(("setup", "teardown"), "a step"),
    **dict.fromkeys(("expect", "assertions"), "an assertion"),
    "answers": "an answer",
    "checks": "a check",
}
"""The names of the items of lists; those of others are items of the list."""
_ALONE = frozenset(
    {
        *("server", "args", "save", "expect", "assertions", "target", "message", "max_duration_ms", "asked"),
        *("negative_path", "checks", "fuzz", "seed", "cases", "max_call_ms", "security", "snapshot", "mask"),
    }
)
"""The keys that need no holder: there is one place for them."""
_EXPECTED = {
    "expect": "a list or a mapping with `assertions`",
    "snapshot": "true, a name, or a mapping with `name` and `mask`",
}
"""What a value must be, by its key; others are named by their type."""
_COMMANDS = ("command", "run")
_EMPTY = {
    "checks": "`checks` is empty; omit it to send every probe",
    **dict.fromkeys(("expect", "assertions"), "empty `expect`; omit it to use the default"),
}
_TYPES = {"object": "a mapping", "array": "a list", "string": "a string"}


@cache
def suite_schema() -> ShippedSchema:
    """Return the schema of suites as variables leave it."""
    return ShippedSchema(_after_substitution(json.loads(suite_schema_text())))


def _after_substitution(schema: Any) -> Any:
    """Return a schema with marks in place of alternatives for variables, and texts that refer to no value of a step."""
    if isinstance(schema, list):
        return [_after_substitution(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    first, *others = schema.get("anyOf", [schema])
    if others == [{"$ref": "#/$defs/variable"}]:
        return {**first, _VARIABLE_TOO: True}
    if schema.get("type") == "string":
        # A reference to a step is marked by a null character, which no YAML text can have.
        some = "+" if "minLength" in schema else "*"
        return {"type": "string", "pattern": rf"^(?![\s\S]*\0steps\.)[\s\S]{some}"}
    return {key: _after_substitution(part) for key, part in schema.items()}


def _at(root: Node, path: Path) -> Node:
    node: Any = root
    for step in path:
        node = node.value[step]
    return cast("Node", node)


def _without(root: Node, misfits: Mapping[Path, Any]) -> Node:
    """Return a tree with other values at some paths."""
    # Only what is above a misfit is copied; the rest of the tree is shared.
    touched = {path[:length] for path in misfits for length in range(len(path) + 1)}

    # Recursion is safe: the depth of trees is limited.
    def replaced(node: Node, path: Path) -> Node:
        if path in misfits:
            return node._replace(value=misfits[path])
        value: Any = node.value
        if path not in touched:
            return node
        if isinstance(value, list):
            return node._replace(value=[replaced(item, (*path, index)) for index, item in enumerate(value)])
        members = {key: replaced(member, (*path, key)) for key, member in value.items()}
        return node._replace(value={key: member for key, member in members.items() if member.value is not _GONE})

    return replaced(root, ())


def _is_read_by_hand(breach: Breach) -> bool:
    """Whether a reader of its own says more about a value, or it is read before variables are known."""
    in_matcher = "matcher" in breach.place and "snapshot" not in breach.place
    return in_matcher or breach.keyword == "propertyNames" or breach.place[:1] in (("variables",), ("imports",))


def _problem(name: str, node: Node, breach: Breach) -> str:
    """Return what is wrong with a value that has a name in messages."""
    schema, key = breach.schema, breach.place[-1] if breach.place else ""
    if breach.keyword == "pattern" and (saved := references_in(str(node.value))):
        return f"`${{steps.{saved[0]}}}` can only be used in `args` and in matchers, not in {name}"
    if breach.keyword == "enum" and node.value:
        return unknown("check" if key == "[]" else key, str(node.value), schema["enum"])
    if breach.keyword in ("enum", "pattern", "minItems"):
        return _EMPTY.get(key, f"{name} is empty")
    if schema.get("type") == "integer":
        return f"{name} must be an integer from {schema['minimum']:,} to {schema['maximum']:,}"
    if schema.get("type") == "boolean":
        return f"{name} must be true or false" + (f", not {node.kind}" if "annotations" in breach.place else "")
    if key in _COMMANDS and isinstance(node.value, str):
        return f"{name} must be a list, such as [python, server.py]; no shell is used"
    if breach.place[-2:-1] in (("env",), ("headers",)):
        return f"{name} must be a string or {{env: NAME}}, not {node.kind}"
    is_text = schema.get("type") == "string" or "enum" in schema
    hint = "; quote it" if is_text and isinstance(node.value, int | float) else ""
    expected = _EXPECTED.get(key) or ("a string" if is_text else _TYPES[schema.get("type", "object")])
    return f"{name} must be {expected}, not {node.kind}{hint}"


def _name(root: Node, path: Path, place: tuple[str, ...], what: str) -> str:
    """Return how messages name the value at a path."""
    if not path:
        return what
    key, holder = str(path[-1])[:SHOWN], place[-2] if len(place) > 1 else ""
    above = path[:-1], place[:-1]
    if place[-1] == "[]" and len(place) == 2 and holder in BLOCKS:
        name = value_of(members_of(_at(root, path)), "name")
        return f"the test `{name[:SHOWN]}`" if isinstance(name, str) and name else f"a test in `{holder}`"
    if place[-1] == "[]":
        step = f"a step of {_name(root, path[:-2], place[:-2], what)}" if holder == "steps" else ""
        return step or _ITEMS.get(holder) or f"an item of {_name(root, *above, what)}"
    if holder == "servers":
        return f"the server `{key}`"
    if holder == "annotations":
        return f"the annotations of `{key}`"
    if place[-1] == "*" or place[-3:-1] == ("annotations", "*"):
        return f"`{key}` in {_name(root, *above, what)}"
    if holder == "snapshot" and key == "name":
        return "`name` of a snapshot"
    if len(path) == 1 or key in _ALONE:
        return f"`{key}`"
    if holder in ("call", "auth"):
        return f"`{key}` of {_name(root, path[:-2], place[:-2], what)}"
    return f"`{key}` of {_name(root, *above, what)}"


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
        # A suite that the user names may be a link to anywhere, or a pipe; what it imports may not.
        parsed = _parsed(file, self._problems, self._overrides, open_in_checkout if chain else None)
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
        if imports is not None and not isinstance(imports.value, list):
            fields.complain(imports, f"`imports` must be a list, not {imports.kind}")
        for node in nodes_of(imports):
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


def _parsed(
    file: str,
    problems: list[SuiteProblem],
    overrides: Mapping[str, bytes],
    opener: Callable[[str, int], int] | None = None,
) -> tuple[str, Node] | None:
    """The text of a file and its root."""
    try:
        data = overrides.get(os.path.realpath(file)) if overrides else None
        text = decode(_read(file, opener) if data is None else data)
        return text, parse(text)
    except OSError as error:
        problems.append(SuiteProblem(file, None, None, f"cannot be read: {reason_of(error)}"))
    except YamlError as error:
        problems.append(SuiteProblem(file, error.line, error.column, error.message))
    return None


def _read(file: str, opener: Callable[[str, int], int] | None) -> bytes:
    with open(file, "rb", opener=opener) as stream:
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
            merged[name] = Substitution(_with_folder(document, merged), context, fields.complain).apply(node).value
    return [
        (fields, Substitution(_with_folder(document, merged), context, fields.complain).apply(document.root))
        if document.has_variables
        else (fields, document.root)
        for document, fields in every
    ]


def _with_folder(document: Document, merged: dict[str, Any]) -> dict[str, Any]:
    return {FOLDER: os.path.dirname(os.path.abspath(document.file)), **merged}


def _variables(document: Document, fields: Fields) -> dict[str, Node]:
    node = members_of(document.root).get("variables")
    if node is not None and not isinstance(node.value, dict):
        fields.complain(node, f"`variables` must be a mapping, not {node.kind}")
    variables = {}
    for name, value in members_of(node).items():
        if NAME.fullmatch(name) is None or name == FOLDER:
            fields.complain(value, f"invalid variable name `{name[:SHOWN]}`; use letters, digits and `_`")
        elif isinstance(value.value, dict | list):
            what = f"the variable `{name[:SHOWN]}`"
            fields.complain(value, f"{what} must be a string, a number or a boolean, not {value.kind}")
        else:
            variables[name] = value
    return variables
