"""Bounds on the work of the interpreter, so that no program keeps it busy forever."""

from __future__ import annotations

from typing import Any

from mcproof.discovery.interp.containers import SourceDict, SourceList
from mcproof.discovery.interp.values import BudgetExceededError

MOST_STEPS = 400_000
STEPS_OF_ONE_ROOT = 40_000
"""How many steps a module, or a function that nothing calls, may take."""
STEPS_OF_MODULE_WITHOUT_EFFECTS = 10_000
"""How many steps a module may take of which only the names are of interest; the rest of its names stay unknown."""
ITEMS_PER_STEP = 200
CHARACTERS_PER_STEP = 4_000
"""How many items or characters count as one step, wherever all of them are processed at once."""
SIZED = frozenset((str, tuple, SourceList, SourceDict))


class Budget:
    """Counts steps, and items that are processed within steps; raises a `BudgetExceededError` beyond the limit."""

    __slots__ = ("items", "limit", "most_items", "root_limit", "steps")

    def __init__(self) -> None:
        self.steps = 0
        self.limit = self.root_limit = STEPS_OF_ONE_ROOT
        self.items = 0
        self.most_items = STEPS_OF_ONE_ROOT * ITEMS_PER_STEP

    def allow(self, steps: int) -> None:
        """Start a new root that may take this many steps, and the corresponding number of items."""
        self.limit = self.root_limit = self.steps + steps
        self.most_items = self.items + steps * ITEMS_PER_STEP

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.limit:
            raise BudgetExceededError

    def charge(self, items: int) -> None:
        """Count the work of processing this many items at once."""
        self.items += items
        if self.items > self.most_items:
            raise BudgetExceededError

    def charge_items(self, *values: Any) -> None:
        """Count the work of looking at every item or character of values, which is more than to copy them."""
        for each in values:
            if type(each) in SIZED:
                self.charge(len(each))

    def charge_copy(self, value: Any) -> None:
        """Count the work of copying a value."""
        if type(value) is str:
            self.charge(len(value) * ITEMS_PER_STEP // CHARACTERS_PER_STEP)
        elif type(value) in SIZED:
            self.charge(len(value))

    @property
    def work(self) -> int:
        """All work so far, in steps."""
        return self.steps + self.items // ITEMS_PER_STEP
