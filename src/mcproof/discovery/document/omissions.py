"""Omissions: what discovery could not follow, with the location and the reason."""

from __future__ import annotations

from typing import NamedTuple

from mcproof.core.observations.source import SourceProblem

MOST_REPORTED = 3
"""How many locations are reported for one reason; if there are more, only the first and their number."""


class OmissionReason(NamedTuple):
    """Why something is not checked."""

    of_one: str
    of_many: str
    """The message for several locations, reported at the first; `{}` is their number."""


NO_NAME = {
    kind: OmissionReason(
        f"the {what} of a {one} is not known statically, so it is not checked",
        f"the {what}s of {{}} {one}s are not known statically, so they are not checked; this is the first",
    )
    for kind, one, what in (
        ("tools", "tool", "name"),
        ("resources", "resource", "URI"),
        ("templates", "resource template", "URI"),
        ("prompts", "prompt", "name"),
    )
}
OPEN_LIST = OmissionReason(
    "the contents of this list are not known statically, so some of it may not be checked",
    "the contents of {} lists are not known statically, so some of it may not be checked; this is the first",
)
NO_PREFIX = OmissionReason(
    "the prefix of a mounted server is not known statically, so nothing that it serves is checked",
    "the prefixes of {} mounted servers are not known statically, so nothing that they serve is checked; "
    "this is the first",
)
LIST_CHANGED = OmissionReason(
    "this code may change the list of tools, so clients may see other tools than the checked ones",
    "{} places may change the list of tools, so clients may see other tools than the checked ones; this is the first",
)
NO_END = OmissionReason(
    "this code takes too long to follow, so not all that it serves may be checked",
    "{} places take too long to follow, so not all that they serve may be checked; this is the first",
)
TOO_MANY = OmissionReason(
    "this code does too much to follow, so not all that it serves is checked",
    "{} places do too much to follow, so not all that they serve is checked; this is the first",
)


class Omissions:
    """The omissions so far, by reason; each location counts once."""

    def __init__(self) -> None:
        self._lines: dict[OmissionReason, dict[tuple[str, int | None], None]] = {}

    def note(self, reason: OmissionReason, file: str, line: int | None) -> None:
        """Record an omission at a line."""
        self._lines.setdefault(reason, {})[file, line] = None

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def reported(self) -> list[SourceProblem]:
        """The omissions to report."""
        found = []
        for reason, lines in self._lines.items():
            if len(lines) <= MOST_REPORTED:
                found += [SourceProblem(file, line, None, reason.of_one) for file, line in lines]
            else:
                file, line = next(iter(lines))
                found.append(SourceProblem(file, line, None, reason.of_many.format(f"{len(lines):,}")))
        return found
