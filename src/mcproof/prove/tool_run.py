"""The probes of one tool during a run: which were sent, and which are still to be sent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.probes import SERVER_LOST
from mcproof.core.observations.responses import OutputContract
from mcproof.prove.probe_cases import ProbeCase, SkippedProbe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcproof.core.catalog.model import Item
    from mcproof.core.observations.probes import Outcome
    from mcproof.generation.promises import Promise
    from mcproof.prove.permission import Permission
    from mcproof.prove.probe_cases import ToolProbes
    from mcproof.prove.seen_responses import SeenResponse

SPAN = 8
"""How many cases of a tool a worker takes at once."""
MOST_CRASHES, MOST_HANGS = 5, 3
"""After how many crashes or hangs a tool is not called any more."""


class SentProbe(NamedTuple):
    """A case that was sent and what was seen of the response, or a skipped one. Large values are not kept."""

    item: Item
    case: ProbeCase | SkippedProbe
    params: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """The parameters of a request that calls no tool."""
    number: tuple[int, int] = (0, 0)
    """The sender, and its number of the request."""
    seen: SeenResponse | None = None
    method: str = "tools/call"


class ToolRun:
    """The probes of one tool, and what was sent of them."""

    def __init__(self, permission: Permission, probes: ToolProbes) -> None:
        self.permission = permission
        self.tool = permission.tool
        self.probes = probes
        self.output = OutputContract(self.tool.fields.get("outputSchema"))
        self.valid: list[SentProbe] = []
        self.sent: dict[int, SentProbe] = {}
        """The cases that were sent, by their position."""
        self.slices_left = 0
        self.is_done = False

    def slices(self) -> list[CaseSpan]:
        """The cases to send, in parts; skipped ones are recorded."""
        cases = self.probes.cases
        for at, case in enumerate(cases):
            if isinstance(case, SkippedProbe):
                self.sent[at] = SentProbe(self.tool, case)
        positions = [at for at, case in enumerate(cases) if isinstance(case, ProbeCase)]
        found = [CaseSpan(self, positions[at : at + SPAN]) for at in range(0, len(positions), SPAN)]
        self.slices_left = len(found)
        return found

    def is_superfluous(self, position: int) -> bool:
        """Whether a case is not to be sent: its promise is known to end the server, or too many cases have."""
        case = self.probes.cases[position]
        lost, broken = _losses(each for at, each in self.sent.items() if at < position)
        return _is_lost(lost) or (isinstance(case, ProbeCase) and bool(case.keyword) and case.promise in broken)

    def in_order(self, corrected: Callable[[SentProbe], SentProbe]) -> tuple[list[SentProbe], bool]:
        """What was sent, without cases that would not have been sent one after the other; whether that is all."""
        found = list(map(corrected, self.valid))
        kept: list[SentProbe] = []
        for _, sent in sorted(self.sent.items()):
            each = corrected(sent)
            lost, broken = _losses(kept)
            if isinstance(each.case, SkippedProbe) or not (
                _is_lost(lost) or (each.case.keyword and each.case.promise in broken)
            ):
                kept.append(each)
        lost, _ = _losses(kept)
        is_stopped = _is_lost(lost) and len(kept) < len(self.probes.cases)
        return [*found, *kept], is_stopped


class CaseSpan(NamedTuple):
    """Some cases of a tool, by their positions."""

    run: ToolRun
    positions: list[int]


def _losses(sent: Iterable[SentProbe]) -> tuple[Counter[Outcome], set[Promise]]:
    """How often the server was lost, and the promises whose violation caused it."""
    lost: Counter[Outcome] = Counter()
    broken: set[Promise] = set()
    for each in sent:
        if isinstance(each.case, ProbeCase) and each.seen is not None and each.seen.outcome in SERVER_LOST:
            lost[each.seen.outcome] += 1
            broken.add(each.case.promise)
    return lost, broken


def _is_lost(lost: Counter[Outcome]) -> bool:
    return lost["crash"] >= MOST_CRASHES or lost["hang"] >= MOST_HANGS
