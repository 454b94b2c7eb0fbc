"""Requests that only read: the texts of a few resources and, in a deep scan, calls of tools that declare it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.client.failures import ConnectError, LostError
from mcproof.client.secrets import hiding, hiding_in_catalogs
from mcproof.client.session import reports_error
from mcproof.core.catalog.model import unread_lists
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.probes import ReadCall, ReadCalls
from mcproof.core.observations.responses import ResourceBodies

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.connection import Connection
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.catalog.model import Catalog, Tool

    ArgumentsFor = Callable[[Tool], dict[str, Any] | None]
    """Returns arguments that a tool's input schema accepts; None if there are none."""

MOST_RESOURCES = 3
LONGEST_BODY = 8_192
"""Bytes of a resource that are kept."""
MOST_CALLS = 3


async def read_resources(connection: Connection, catalog: Catalog, server: Endpoint) -> ResourceBodies:
    """The texts of the first few https resources, cut off at a limit; what cannot be read is left out."""
    hide = hiding_in_catalogs(server.named_secrets)
    bodies: list[tuple[str, str]] = []
    for uri in _https_resources(catalog)[:MOST_RESOURCES]:
        try:
            response = await connection.request("resources/read", {"uri": uri})
        except (ConnectError, LostError, TimeoutError):
            continue
        text = _text(response.result)
        if text:
            bodies.append((hide(uri), hide(text)))
    return offered_resources(catalog)._replace(bodies=tuple(bodies))


def offered_resources(catalog: Catalog) -> ResourceBodies:
    """What is known of the resources before any was read."""
    return ResourceBodies((), len(_https_resources(catalog)), unread_lists(catalog).get("resources", ""))


def _https_resources(catalog: Catalog) -> list[str]:
    """The URIs of the resources that are read."""
    uris = [each.fields.get("uri") for each in catalog.resources]
    return [each for each in uris if isinstance(each, str) and each.lower().startswith("https://")]


def _text(result: Any) -> str:
    """The beginning of the text of a resource."""
    contents = result.get("contents") if isinstance(result, dict) else None
    texts = [each.get("text") for each in contents if isinstance(each, dict)] if isinstance(contents, list) else []
    whole = "\n".join(each for each in texts if isinstance(each, str))
    return whole.encode("utf-8", "surrogatepass")[:LONGEST_BODY].decode("utf-8", "ignore")


async def call_readers(
    connection: Connection, catalog: Catalog, server: Endpoint, arguments_for: ArgumentsFor
) -> ReadCalls:
    """Call up to three tools that declare themselves read-only, with arguments that their schemas accept."""
    hide = hiding(server.secrets)
    calls: list[ReadCall] = []
    for tool in filter(_is_reader, catalog.tools):
        arguments = arguments_for(tool)
        if arguments is not None:
            call = await _called(connection, tool, arguments)
            calls.append(call._replace(detail=hide(cropped(call.detail))))
        if len(calls) == MOST_CALLS:
            break
    return ReadCalls(tuple(calls), "" if calls else "no tool declares itself read-only and has a usable schema")


def _is_reader(tool: Tool) -> bool:
    """Whether a tool is read-only by its own declaration."""
    hints = tool.fields.get("annotations")
    if not tool.name or not isinstance(hints, dict):
        return False
    return hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True


async def _called(connection: Connection, tool: Tool, arguments: dict[str, Any]) -> ReadCall:
    try:
        response = await connection.request("tools/call", {"name": tool.name, "arguments": arguments})
    except (ConnectError, LostError) as error:
        return ReadCall(tool.name, "no_response", error.message)
    except TimeoutError:
        return ReadCall(tool.name, "no_response", "no response in time")
    if response.error is not None:
        return ReadCall(tool.name, "rejected", response.description)
    is_error = isinstance(response.result, dict) and reports_error(response.result)
    return ReadCall(tool.name, "tool_error" if is_error else "accepted")
