"""Import all that visits and pages need, by running each kind once: forks start with it.

mcproof imports on demand, so that importing `visit_jobs` alone would leave the most of it to every process.
"""

from __future__ import annotations

from importlib.resources import files

import mcproof.client.capture
import mcproof.client.http.policy
import mcproof.client.perimeter.observe  # noqa: F401
from mcproof.client.http.fetch import default_tls
from mcproof.services.web.reading import read
from mcproof.services.web.visit_jobs import COMMANDS, GuestJob, outcome_of, work

__all__ = ["read", "work"]


_EXAMPLE = (files("mcproof.demo") / "weather.json").read_bytes()
for _command in COMMANDS:
    _catalog = b'{"old": %s, "new": %s}' % (_EXAMPLE, _EXAMPLE) if _command == "diff" else _EXAMPLE
    outcome_of(GuestJob(_command, catalog=_catalog, is_whole=_command == "lint"), lambda _: None)
default_tls()
