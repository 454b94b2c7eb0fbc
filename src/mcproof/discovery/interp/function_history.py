"""What is known about functions that were followed before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mcproof.discovery.interp.values import Function


class MemoizedCall(NamedTuple):
    """The result of a call; valid as long as nothing changes that the function can see."""

    value: Any
    state: tuple[int, ...]
    """How often each thing that the function can see had changed."""
    function: Function
    """Kept alive, because calls are compared by its identity and that of its scope."""


class FunctionHistory:
    """Functions that were followed, by the identity of their nodes, and results to reuse."""

    __slots__ = ("endless", "followed", "marks", "results")

    def __init__(self) -> None:
        self.followed: set[int] = set()
        """Functions that were followed at least once."""
        self.endless: set[int] = set()
        """Functions that took too long, and are not followed again."""
        self.marks: set[str] = set()
        """The names of the attributes that the project sets on functions."""
        self.results: dict[Any, MemoizedCall] = {}
        """Results of calls with plain arguments."""
