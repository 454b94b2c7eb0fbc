"""Capabilities: the risky things that a tool can do, with the word that shows each.

A capability needs a verb and its object, not a word anywhere: `get_subscription_grant` grants nothing and `upload_file`
to a bucket writes no file. A reading verb in the name outweighs what a description adds, and `readOnlyHint` outweighs
what only a parameter suggests. Words are English.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.catalog.account_capabilities import (
    access_credentials,
    admin_control,
    delete_data,
    financial_action,
    send_message,
)
from mcproof.catalog.machine_capabilities import execute_code, network_access, write_files
from mcproof.catalog.tool_acts import text_of

if TYPE_CHECKING:
    from mcproof.catalog.capability_matches import CapabilityMatch
    from mcproof.core.catalog.model import Tool

_FINDERS = (
    execute_code,
    access_credentials,
    write_files,
    admin_control,
    delete_data,
    send_message,
    financial_action,
    network_access,
)


def capabilities_of(tool: Tool) -> list[CapabilityMatch]:
    """Return the capabilities of a tool, at most one match for each."""
    text = text_of(tool)
    matches = (next(find(text), None) for find in _FINDERS)
    return [match for match in matches if match is not None]
