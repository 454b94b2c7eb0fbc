"""The files of a suite: itself and what it imports, with every variable filled in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.errors import reason_of
from mcproof.suite.definition import KEYS
from mcproof.suite.parse.fields import SHOWN, Fields
from mcproof.suite.parse.problems import Problem
from mcproof.suite.parse.variables import FOLDER, NAME, Filler, Filling
from mcproof.text.yamltext import MAX_BYTES, Node, YamlError, decode, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_IMPORTS = 100
ENDINGS = (".yaml", ".yml")
"""What the name of an imported suite ends in; anything else is no suite, and its lines are nobody's business."""


class Document(NamedTuple):
    """One file of a suite."""

    file: str
    root: Node
    has_variables: bool


def load(file: str, problems: list[Problem]) -> list[Document]:
    """The files of a suite as they are, those first that are imported."""
    loading = _Loading(problems)
    loading.load(file, ())
    return loading.documents


class _Loading:
    def __init__(self, problems: list[Problem]) -> None:
        self.documents: list[Document] = []
        self._problems = problems
        self._done: dict[str, None] = {}

    def load(self, file: str, chain: tuple[str, ...]) -> None:
        try:
            text = decode(_read(file))
            root = parse(text)
        except OSError as error:
            message = f"cannot be read: {reason_of(error)}"
            self._problems.append(Problem(file, None, None, message))
            return
        except YamlError as error:
            self._problems.append(Problem(file, error.line, error.column, error.message))
            return
        fields = Fields(file, self._problems, None, [])
        if not isinstance(root.value, dict):
            fields.complain(root, f"a suite is a mapping with {', '.join(KEYS)}, and this is {root.kind}")
            return
        real = os.path.realpath(file)
        self._done[real] = None
        imports = root.value.get("imports")
        for node in fields.items(imports, "`imports`") if imports is not None else ():
            if not isinstance(node.value, str) or not node.value:
                fields.complain(node, f"an import is the path of a file, and this is {node.kind}")
                continue
            name = os.path.normpath(os.path.join(os.path.dirname(file), node.value))
            if os.path.realpath(name) in (*chain, real):
                fields.complain(node, f"`{node.value[:SHOWN]}` imports itself, or is imported by what it imports")
            elif (why := self._refusal(name)) is not None:
                fields.complain(node, why)
            elif os.path.realpath(name) not in self._done:
                self.load(name, (*chain, real))
        self.documents.append(Document(file, root, "${" in text))

    def _refusal(self, name: str) -> str | None:
        """Why a file cannot be imported."""
        if os.path.isdir(name):
            return f"`{name}` is a folder; an import is a file"
        if not os.path.isfile(name):
            return f"there is no file `{name}` to import"
        if not name.endswith(ENDINGS):
            return f"`{name}` is no suite: its name ends in neither .yaml nor .yml"
        return f"more than {MOST_IMPORTS} files are imported" if len(self._done) >= MOST_IMPORTS else None


def _read(file: str) -> bytes:
    with open(file, "rb") as stream:
        return stream.read(MAX_BYTES + 1)


def filled(
    documents: list[Document], environment: Mapping[str, str] | None, problems: list[Problem], secrets: list[str]
) -> list[tuple[Fields, Node]]:
    """Each file with its variables filled in, and what reads its values."""
    filling = Filling(environment, secrets)
    merged: dict[str, Any] = {}
    every = [(document, Fields(document.file, problems, environment, secrets)) for document in documents]
    for document, fields in every:
        for name, node in _variables(document, fields).items():
            # Those of the file that imports another win, and each may be made of those before it.
            filler = Filler(_known(document, merged), filling, fields.complain)
            merged[name] = filler.filled(node).value
    return [
        (fields, Filler(_known(document, merged), filling, fields.complain).filled(document.root))
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
            fields.complain(value, f"`{name[:SHOWN]}` is no name for a variable; it takes letters, digits and `_`")
        elif isinstance(value.value, dict | list):
            fields.complain(
                value, f"the variable `{name[:SHOWN]}` is a text, a number, true or false, not {value.kind}"
            )
        else:
            found[name] = value
    return found
