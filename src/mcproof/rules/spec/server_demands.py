"""`spec` rules about what a server reports about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.linting.finding import Problem
from mcproof.rules.spec.demands import STATELESS, demand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Catalog, Item


@demand(
    "SPEC-200",
    name="undeclared-capability",
    severity="error",
    category="protocol",
    source="tools#capabilities",
)
def undeclared_capability(catalog: Catalog) -> Iterator[Problem]:
    """A server offers tools, resources or prompts, but does not declare the capability.

    Why: clients request only the lists of declared capabilities, so nobody sees these items.
    Fix: declare `tools`, `resources` or `prompts` in the capabilities.
    """
    declared = catalog.capabilities
    if declared is None:
        return
    offers: dict[str, list[Item]] = {
        "tools": [*catalog.tools],
        "resources": [*catalog.resources, *catalog.templates],
        "prompts": [*catalog.prompts],
    }
    for capability, offered in offers.items():
        if offered and capability not in declared:
            message = f"offers {len(offered)} {capability}, but does not declare the capability `{capability}`"
            at = catalog.server.pointer + catalog.capabilities_at
            yield Problem(message, near=at, evidence={"capability": capability})


@demand(
    "SPEC-202",
    name="server-identity",
    severity="note",
    category="protocol",
    source="lifecycle#initialization",
)
def server_identity(catalog: Catalog) -> Iterator[Problem]:
    """A server does not report its name or its version.

    Why: both are required up to revision 2025-11-25, and recommended later; users and logs cannot tell servers apart.
    Fix: pass the name and the version of the package to the SDK when the server is created.
    """
    if not catalog.describes_server:
        return
    for key, same in (("name", "server-no-name"), ("version", "server-no-version")):
        value = catalog.server_info.get(key)
        if not isinstance(value, str) or not value:
            yield Problem(f"does not report its {key}", near=catalog.server_info_pointer, same_as=same)


@demand(
    "SPEC-203",
    name="deprecated-capability",
    severity="note",
    category="protocol",
    source="deprecated",
    since=STATELESS,
)
def deprecated_capability(catalog: Catalog) -> Iterator[Problem]:
    """A server declares the capability `logging`, which revision 2026-07-28 deprecates.

    Why: a later revision removes it.
    Fix: write logs to stderr, or use OpenTelemetry.
    """
    if "logging" in (catalog.capabilities or {}):
        at = f"{catalog.capabilities_at}/logging"
        yield Problem("declares the capability `logging`, which revision 2026-07-28 deprecates", at)
