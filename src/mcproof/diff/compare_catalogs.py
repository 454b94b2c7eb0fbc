"""Compare two catalogs of a server.

Items are matched by the identifiers that callers use: tools and prompts by name, resources by URI. A renamed item is
therefore removed and added. Of several items with the same name, equal ones are matched first, then the others in
order; items without a name are matched in the same way.

Changes are in the order of the new catalog: server, tools, resources, templates, prompts. Removed items follow those
that remain, in the old order. Within a tool: texts, annotations, execution, input schema, output schema, other members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.diff.resource_prompt_changes import prompt_changes, resource_changes, template_changes
from mcproof.diff.server_changes import server_changes
from mcproof.diff.tool_changes import tool_changes

if TYPE_CHECKING:
    from mcproof.core.catalog.model import Catalog
    from mcproof.diff.changes import CatalogChange


def compare_catalogs(old: Catalog, new: Catalog) -> list[CatalogChange]:
    """Return the changes between two catalogs.

    Every member of an item is compared, unless it is malformed in both catalogs. Of the server, its name and version,
    instructions, protocol revision and capabilities are compared. If a catalog is a bare list of tools, only tools are
    compared.
    """
    return [
        *server_changes(old, new),
        *tool_changes(old, new),
        *resource_changes(old, new),
        *template_changes(old, new),
        *prompt_changes(old, new),
    ]
