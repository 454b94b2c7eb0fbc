"""Load the files of a suite: the suite, its imports, and the values of its variables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.errors import reason_of
from mcproof.core.text.yaml_document import MAX_BYTES, Node, YamlError, decode, parse
from mcproof.suite.definition import KEYS
from mcproof.suite.parse.problems import SuiteProblem
from mcproof.suite.parse.suite_fields import SHOWN, Fields
from mcproof.suite.parse.variables import FOLDER, NAME, Substitution, SubstitutionContext

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_IMPORTS = 100
ENDINGS = (".yaml", ".yml")
"""Extensions of imported files. Others are refused, so that error messages cannot quote arbitrary files."""


class Document(NamedTuple):
    """One parsed file of a suite."""

    file: str
    root: Node
    has_variables: bool


def load(file: str, problems: list[SuiteProblem], instead: Mapping[str, bytes] | None = None) -> list[Document]:
    """Parse a suite and its imports; imported files come first. `instead` replaces content, by real path."""
    loader = _Loader(problems, instead or {})
    loader.load(file, ())
    return loader.documents


class _Loader:
    """Loads files recursively, each once."""

    def __init__(self, problems: list[SuiteProblem], instead: Mapping[str, bytes]) -> None:
        self._instead = instead
        self.documents: list[Document] = []
        self._problems = problems
        self._done: dict[str, None] = {}

    def load(self, file: str, chain: tuple[str, ...]) -> None:
        found = _parsed(file, self._problems, self._instead)
        if found is None:
            return
        text, root = found
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
    found = _parsed(file, problems, {})
    return None if found is None else found[1]


def _parsed(file: str, problems: list[SuiteProblem], instead: Mapping[str, bytes]) -> tuple[str, Node] | None:
    """The text of a file and its root."""
    try:
        data = instead.get(os.path.realpath(file)) if instead else None
        text = decode(_read(file) if data is None else data)
        return text, parse(text)
    except OSError as error:
        problems.append(SuiteProblem(file, None, None, f"cannot be read: {reason_of(error)}"))
    except YamlError as error:
        problems.append(SuiteProblem(file, error.line, error.column, error.message))
    return None


def _read(file: str) -> bytes:
    with open(file, "rb") as stream:
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
    found = {}
    for name, value in (fields.any_mapping(node, "`variables`") if node is not None else {}).items():
        if NAME.fullmatch(name) is None or name == FOLDER:
            fields.complain(value, f"invalid variable name `{name[:SHOWN]}`; use letters, digits and `_`")
        elif isinstance(value.value, dict | list):
            what = f"the variable `{name[:SHOWN]}`"
            fields.complain(value, f"{what} must be a string, a number or a boolean, not {value.kind}")
        else:
            found[name] = value
    return found
