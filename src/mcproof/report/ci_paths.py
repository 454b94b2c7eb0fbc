"""Paths as CI systems name files: from the repository root, with forward slashes."""

from __future__ import annotations

import os

_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Environment variables that hold the repository root in CI; elsewhere it is the working directory."""


def repository_path(file: str) -> str:
    """Return the path of a file from the repository root, or an absolute path if it is outside."""
    if file.startswith("<"):
        return file.strip("<>")
    if "://" in file:
        return file
    absolute = os.path.abspath(file)
    for root in (*(os.environ.get(name) for name in _CHECKOUTS), os.getcwd()):
        if root and absolute.startswith(os.path.join(os.path.abspath(root), "")):
            return os.path.relpath(absolute, root).replace(os.sep, "/")
    return absolute.replace(os.sep, "/")


def relative_path(file: str, line: int | None) -> str:
    """Return a path that is never absolute for a live server, whose name is not a file and has no line.

    It is the file that the server's command runs, if there is one. Otherwise it is the name of the server: code
    scanning rejects a whole log if one result has no file.
    """
    if line is not None:
        return repository_path(file)
    if (own := _started_file(file)) is not None:
        return own
    return "/".join(step for step in file.split("/") if step not in ("", os.curdir, os.pardir))


def _started_file(command: str) -> str | None:
    """Return the path of the first file of the repository that a command names; the program itself comes last."""
    import shlex

    try:
        program, *words = shlex.split(command)
    except ValueError:
        return None
    for word in (*words, program):
        path = repository_path(word) if "://" not in word and os.path.isfile(word) else ""
        if path and not os.path.isabs(path):
            return path
    return None
