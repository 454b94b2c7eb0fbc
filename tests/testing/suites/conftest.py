"""The fixtures of the tests that probe servers, for suites that are made of what probes have found."""

from __future__ import annotations

from probing.conftest import here, hurried, impatient

__all__ = ["here", "hurried", "impatient"]
