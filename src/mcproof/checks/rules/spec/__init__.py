"""`spec`: demands of the MCP specification on a catalog, each in the revisions that make it.

`demand` registers a rule with its revisions and its source; the other modules have the rules. A new revision of MCP
adds its demands here; the list of revisions is in `core.protocol`.
"""

from mcproof.checks.rules.spec import metadata, resources, schemas, tools

__all__ = ["metadata", "resources", "schemas", "tools"]
