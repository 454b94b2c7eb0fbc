"""How CI systems name a file: by its path in the repository, with forward slashes."""

from __future__ import annotations

import os

_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Where CI systems say that the repository is; elsewhere it is the working directory."""


def repository_path(file: str) -> str:
    """A file as its path from the repository's root; as an absolute one where it lies outside."""
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
    """The same for what must not be absolute where it is no file: the name of a live server, which has no line."""
    if line is not None:
        return repository_path(file)
    return "/".join(step for step in file.split("/") if step not in ("", os.curdir, os.pardir))
