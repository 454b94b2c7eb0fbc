"""Where a file would be written: links and paths that lead out of a folder.

A checkout may come from a stranger, who decides its links and the paths in its configuration.
"""

from __future__ import annotations

import os


def leaves_folder(path: str, folder: str) -> str | None:
    """Why a file must not be written because something in `folder` names it; None if it may."""
    here = os.path.realpath(folder or os.curdir)
    there = os.path.join(os.path.realpath(os.path.dirname(path) or os.curdir), os.path.basename(path))
    if os.path.islink(path):
        return f"is a symbolic link to {os.path.realpath(path)}"
    if not is_inside(there, here):
        return f"is outside the folder {here}"
    if ".git" in os.path.relpath(there, here).lower().split(os.sep):
        return "is inside `.git`"
    return None


def leads_out(path: str) -> str | None:
    """The file behind a path in the working directory, if a link leads out of that directory; else None."""
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        return None
    there = os.path.realpath(path)
    return there if is_inside(os.path.abspath(path), here) and not is_inside(there, os.path.realpath(here)) else None


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is below a folder; both are absolute."""
    return path.startswith(folder.rstrip(os.sep) + os.sep)
