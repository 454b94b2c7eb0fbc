"""Names of modules in tests of what is not imported."""

from __future__ import annotations

from importlib.util import find_spec


def existing(*names: str) -> tuple[str, ...]:
    """These names of modules, each of which exists: nothing imports one that has been renamed or removed."""
    assert [name for name in names if find_spec(name) is None] == []
    return names
