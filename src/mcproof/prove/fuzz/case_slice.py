"""Cases of one tool on their way to a server: which were sent, and how their responses were judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcproof.client.session import Response
    from mcproof.generation.cases import GeneratedCase
    from mcproof.prove.fuzz.outcomes import Judgement
    from mcproof.prove.fuzz.tool_fuzzer import ToolFuzzer


class SentCase(NamedTuple):
    """A case that was sent, and the judgement of its response."""

    number: int
    """The position among the cases of the tool, from 1."""
    case: GeneratedCase
    judgement: Judgement
    is_refused: bool
    timed_out: bool = False
    response: str = ""
    """The response without secrets, cropped; empty if there is nothing to report."""
    asks: str = ""
    """A question before the response that got no answer, in words and without secrets."""


class PendingCase(NamedTuple):
    """A case without a response so far."""

    case: GeneratedCase
    since: float
    """When it was sent, by the monotonic clock."""


class CaseSlice:
    """Consecutive cases of one tool that are sent over one session, one after the other."""

    def __init__(self, fuzzer: ToolFuzzer, cases: list[tuple[int, GeneratedCase]]) -> None:
        self.fuzzer = fuzzer
        self.cases = cases
        """The cases with their numbers."""
        self.sent: dict[int, SentCase] = {}
        self.pending: PendingCase | None = None
        self.unexplained: list[Response] = []
        """Ends of the server meanwhile that no single request explains."""
        self.trouble = ""
        """Why not all cases were sent."""
        self.is_finished = False
        self.is_counted = False
