"""`spec`: demands of the MCP specification on a catalog, each in the revisions that make it.

`demands` registers a rule with its revisions and its source; the other modules have the rules.
"""

# In the order of their ids, in which they are listed.
from mcproof.rules.spec import (  # isort: skip
    tool_demands,
    schema_demands,
    member_demands,
    extension_demands,
    resource_demands,
    server_demands,
    live_demands,
)

__all__ = [
    "extension_demands",
    "live_demands",
    "member_demands",
    "resource_demands",
    "schema_demands",
    "server_demands",
    "tool_demands",
]
