"""The names under which a server at a URL presents itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMON_WORDS = frozenset({"mcp", "server", "service", "api", "the", "official"})
SHORTEST_WORD = 3
_WORD = re.compile(r"[^\W_]+")


class ServerIdentity(NamedTuple):
    """The name that a server reports, beside those of its host and certificate."""

    name: str
    """`serverInfo.name`."""
    hostname: str
    is_internal: bool = False
    """Whether the host is this machine or a private network, where names show nothing."""
    common_name: str = ""
    """Of the certificate; empty without one."""
    alternative_names: tuple[str, ...] = ()
    """Of the certificate."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the name that distinguish it."""
        found = dict.fromkeys(each for each in _WORD.findall(self.name.lower()) if len(each) >= SHORTEST_WORD)
        return tuple(each for each in found if each not in COMMON_WORDS)

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """The rules that do not concern the server, with the reason."""
        reason = ""
        if not self.words:
            reason = "the name has no distinctive word"
        elif self.is_internal and not (self.common_name or self.alternative_names):
            reason = "the host is not public and has no certificate"
        return {"server_identity_consistency": reason} if reason else {}
