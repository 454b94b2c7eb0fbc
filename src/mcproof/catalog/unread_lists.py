"""Which lists of a server were not read as a whole: nothing can be concluded about the items they leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcproof.catalog.model import Catalog

METHODS = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}
"""The method that lists each kind of item, by the key of the list."""
_CUT_OFF = ("bad-cursor", "cursor-loop", "endless-pages")
"""The anomalies that end a list before its last page."""


def unread_lists(catalog: Catalog) -> dict[str, str]:
    """The lists that were not read as a whole, by their key, each with the reason."""
    unread = {}
    facts = catalog.connection
    if facts is not None:
        failed = {method for method, _ in facts.unserved}
        cut_off = {each.method for each in facts.anomalies if each.kind in _CUT_OFF}
        for key, method in METHODS.items():
            if method in failed:
                unread[key] = f"`{method}` was not served, or only in part"
            elif method in cut_off:
                unread[key] = f"the pages of `{method}` do not end"
    else:
        listed = catalog.server.fields
        declared = catalog.capabilities or {} if catalog.describes_server else {}
        for key in METHODS:
            if key in declared and key not in listed:
                unread[key] = f"the server offers {key}, but the input has no list of them"
            elif not isinstance(listed.get(key, []), list):
                unread[key] = f"`{key}` is not a list"
    if catalog.has_more:
        unread.setdefault("tools", "the list of tools continues on a page that was not read")
    return unread
