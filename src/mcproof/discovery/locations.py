"""Locations in source files, and problems at such locations."""

from __future__ import annotations

from typing import NamedTuple


class SourceLocation(NamedTuple):
    """A range in one line of a source file; lines and columns start at one, columns count characters."""

    file: str
    line: int
    column: int
    end_column: int | None
    """The column after the last character; None if the range continues on another line."""


class HiddenLine(NamedTuple):
    """A line of a source file that is named and not shown, because it has a secret."""

    file: str
    line: int
    column: None = None
    end_column: None = None


class SourceProblem(NamedTuple):
    """Something in a source file that could not be read or followed."""

    file: str
    line: int | None
    column: int | None
    what: str


class FlowStep(NamedTuple):
    """One place on the way of a value from a parameter to a call."""

    file: str
    line: int
    what: str
