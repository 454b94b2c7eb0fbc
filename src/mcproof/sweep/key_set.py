"""A set of 64-bit keys in 16 to 32 bytes each, for sweeps with millions of targets."""

from __future__ import annotations

from array import array


class KeySet:
    """Keys other than 0, in an array with open addressing. They are hashes, so they are spread evenly."""

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * 1024))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: int) -> bool:
        return self._slots[self._slot(key)] == key

    def add(self, key: int) -> bool:
        """Add a key; return whether it is new."""
        slot = self._slot(key)
        if self._slots[slot] == key:
            return False
        self._slots[slot] = key
        self._count += 1
        if 2 * self._count > len(self._slots):
            self._grow()
        return True

    def _slot(self, key: int) -> int:
        slots, last = self._slots, len(self._slots) - 1
        slot = key & last
        while slots[slot] not in (0, key):
            slot = (slot + 1) & last
        return slot

    def _grow(self) -> None:
        old, self._slots = self._slots, array("Q", bytes(16 * len(self._slots)))
        for key in old:
            if key:
                self._slots[self._slot(key)] = key
