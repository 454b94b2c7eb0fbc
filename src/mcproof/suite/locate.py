"""Find the suites to run."""

from __future__ import annotations

import os
import re

from mcproof.core.errors import InputError
from mcproof.core.text.files import files_below, start_of_file

DEFAULT_NAMES = ("mcproof.yaml", "mcproof.yml", "mcptest.yaml", "mcptest.yml")
"""Default suite files; the first that exists is used."""
_SUITE = re.compile(rb"^(?:servers|imports)\s*:", re.MULTILINE)
"""A key that every suite has; other tools use YAML files too."""
_TESTS = re.compile(rb"^(?:tools|resources|prompts|tool_quality)\s*:", re.MULTILINE)
_MOST_BYTES = 1_000_000


def split_test(name: str) -> tuple[str, str | None]:
    """A suite or folder, and the name of the test in `SUITE::TEST`; None for all tests."""
    if os.path.exists(name):
        return name, None
    file, mark, test = name.partition("::")
    return (file, test) if mark and test and not os.path.isdir(file) else (name, None)


def suite_files(named: list[str]) -> list[str]:
    """The named suites and those below named folders, without duplicates, or the default suite.

    Raises an InputError if there is none.
    """
    if named:
        return list(dict.fromkeys(file for name in named for file in _files_of(split_test(name)[0])))
    for name in DEFAULT_NAMES:
        if os.path.isfile(name):
            return [name]
    tried = f"no suite found (tried {', '.join(DEFAULT_NAMES)})"
    raise InputError(f"{tried}; name one, or write a first one: `mcproof init -- COMMAND ARG...`")


def _files_of(name: str) -> list[str]:
    """A suite, or every suite below a folder."""
    if not os.path.isdir(name):
        return [name]
    found = [file for file in files_below(name) if file.endswith((".yaml", ".yml")) and is_suite(file)]
    imported = {os.path.realpath(part) for file in found for part in _imported_by(file)}
    suites = [file for file in found if os.path.realpath(file) not in imported]
    if not suites:
        raise InputError("no suite below this folder: no YAML file with `servers` and tests", file=name)
    return suites


def is_suite(file: str) -> bool:
    """Whether a file found in a folder is a suite: by its name, or by its keys."""
    return os.path.basename(file) in DEFAULT_NAMES or has_suite_keys(start_of_file(file, _MOST_BYTES))


def has_suite_keys(data: bytes) -> bool:
    """Whether YAML has the keys of a suite."""
    return _SUITE.search(data) is not None and _TESTS.search(data) is not None


def looks_like_a_suite(file: str) -> bool:
    """Whether a YAML file named by the user is likely a suite."""
    return os.path.basename(file) in DEFAULT_NAMES or _SUITE.search(start_of_file(file, _MOST_BYTES)) is not None


def _imported_by(file: str) -> list[str]:
    """The files that a suite imports, directly or indirectly; they are parts of it, not suites of their own."""
    if b"imports" not in start_of_file(file, _MOST_BYTES):
        return []
    from mcproof.suite.parse.loading import load

    return [document.file for document in load(file, []) if os.path.realpath(document.file) != os.path.realpath(file)]
