"""What of a program is not checked, and where it stands: nothing is left out without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.discovery.project.source_files import Problem

if TYPE_CHECKING:
    import ast

    from mcproof.discovery.interp.modules import Module

MOST_TOLD = 3
"""How many places are named for one reason; of more, only the first, with their number."""


class Reason(NamedTuple):
    """Why something is not checked."""

    of_one: str
    of_many: str
    """The same of several places, `{}` of them, told at the first."""


NO_NAME = {
    kind: Reason(
        f"the {what} of a {one} is not settled by the source, so it is not checked",
        f"the {what}s of {{}} {one}s are not settled by the source, so they are not checked; the first one is here",
    )
    for kind, one, what in (
        ("tools", "tool", "name"),
        ("resources", "resource", "URI"),
        ("templates", "resource template", "URI"),
        ("prompts", "prompt", "name"),
    )
}
OPEN_LIST = Reason(
    "the source does not settle all that is listed here, so some of it may not be checked",
    "the source does not settle all that is listed in {} places, so some of it may not be checked; "
    "the first one is here",
)
NO_PREFIX = Reason(
    "the prefix of a mounted server is not settled by the source, so nothing that it serves is checked",
    "the prefixes of {} mounted servers are not settled by the source, so nothing that they serve is checked; "
    "the first one is here",
)
RESHAPED = Reason(
    "this may change what is listed, so clients may see other tools than those that are checked",
    "{} parts may change what is listed, so clients may see other tools than those that are checked; "
    "the first one is here",
)
NO_END = Reason(
    "this takes too long to follow, so not all that it serves may be checked",
    "{} parts take too long to follow, so not all that they serve may be checked; the first one is here",
)
TOO_MANY = Reason(
    "this is too much to follow, so not all that it serves is checked",
    "{} parts are too much to follow, so not all that they serve is checked; the first one is here",
)


class Omissions:
    """What was left out so far, by the reason; each place counts once."""

    def __init__(self) -> None:
        self._places: dict[Reason, dict[tuple[str, int | None], None]] = {}

    def note(self, reason: Reason, module: Module | None, node: ast.AST | None) -> None:
        """Take note that something at this place is not checked; without a module there is no place to name."""
        if module is not None:
            self._places.setdefault(reason, {})[module.file, getattr(node, "lineno", None)] = None

    def told(self) -> list[Problem]:
        """What to tell, place by place."""
        found = []
        for reason, places in self._places.items():
            if len(places) <= MOST_TOLD:
                found += [Problem(file, line, None, reason.of_one) for file, line in places]
            else:
                file, line = next(iter(places))
                found.append(Problem(file, line, None, reason.of_many.format(f"{len(places):,}")))
        return found
