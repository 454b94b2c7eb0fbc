"""One request to a live server: call a tool, read a resource, get a prompt.

Arguments come as JSON or as `key=value` words, typed by the schema of the tool. Mistakes are worded with the
nearest parameter before anything is sent.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from mcproof.client.capture import OpenServer, clean
from mcproof.client.errors import ConnectError
from mcproof.client.redaction import hiding, hiding_in_catalogs
from mcproof.core.catalog.model import Tool
from mcproof.core.console import listed_names, nearest_or_all
from mcproof.core.errors import InputError, UsageError, nearest
from mcproof.core.observations.connection import expired_text
from mcproof.core.schema.validation import Oracle
from mcproof.probing.generation.values import ArgumentParser
from mcproof.probing.permission import header_fault
from mcproof.runs.events import Listener, MessageSent
from mcproof.runs.loop import connect_options, one_input
from mcproof.runs.results import SingleResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcproof.client.session import Session
    from mcproof.runs.requests import Method, RunSession, SingleRequest


def declared_parameters(schema: dict[str, Any]) -> list[str]:
    """The parameters that a schema names."""
    properties, required = schema.get("properties"), schema.get("required")
    names = [*(properties if isinstance(properties, dict) else ()), *(required if isinstance(required, list) else ())]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


_LISTS: dict[Method, dict[str, str]] = {
    "tools/call": {"tools": "name"},
    "resources/read": {"resources": "uri", "resourceTemplates": "uriTemplate"},
    "prompts/get": {"prompts": "name"},
}
"""The lists that hold the items of a method, with the member that a request names."""
_NOUNS: dict[Method, str] = {"tools/call": "tool", "resources/read": "resource", "prompts/get": "prompt"}
_HOW_TO_SEND = "not sent; --unchecked sends it anyway"
_PROGRESS = "mcproof"
"""The token for progress."""
_MOST_SHOWN = 5
"""How many mistakes in arguments an error names."""


def send(request: SingleRequest, listen: Listener, _: RunSession) -> SingleResponse:
    """Send a request and return its response. Raises McproofError if nothing was sent, or if nothing came back."""
    settings = request.settings.here()
    source = one_input(request.targets, settings, listen)
    if source.server is None:
        how = "name a URL, FILE.json#NAME of a client configuration, or `-- COMMAND ARG...`"
        raise InputError(f"not a live server; {how}", file=source.title)
    options = connect_options(request.targets, settings.timeout)
    # The user is asked only for what the file of answers does not have, so that file stays in use.
    if request.user is not None:
        options = options._replace(answers=request.user(options.answers, hiding(source.server.secrets)))
    responses: list[SingleResponse] = []
    faults: list[str] = []
    with OpenServer(source.server, options, options.limits.request) as server:

        async def exchange() -> None:
            params = await _Parameters(request, server.session, listen).build()
            notifications = (await server.session.connection()).transport.peer.notifications
            # Reported as they arrive: a slow tool shows its progress, and a hanging one where it hangs.
            notifications.listener = lambda words: listen(MessageSent(_hiding(server.session)(words)))
            start = perf_counter()
            response = await server.session.send(request.method, {**params, "_meta": {"progressToken": _PROGRESS}})
            seconds = perf_counter() - start
            expired = expired_text(server.session.memory.expired_sessions)
            if expired:
                listen(MessageSent(expired))
            if response.message is None:
                how = "; `--timeout SECONDS` waits longer" if response.timed_out else ""
                raise ConnectError(f"{response.why}{how}", file=source.title)
            if response.why:
                listen(MessageSent(f"the response is malformed: {response.why}"))
            shown: dict[str, Any] = {
                "params": params,
                "result": response.message.result if response.message.error is None else None,
                "error": response.message.error,
                "asked": [question.as_document() for question in response.questions],
                "notifications": [{"method": method, "params": values} for method, values in notifications.kept],
                "unanswered": response.asks,
                "faults": [question.fault for question in response.questions if question.fault],
            }
            if shown["error"] is not None:
                await _hint(request, server.session, listen)
            # Whatever comes back may quote what was sent: headers, variables, tokens.
            clean(shown, _hiding(server.session))
            faults.extend(shown.pop("faults"))
            responses.append(SingleResponse(target=source.title, method=request.method, **shown, seconds=seconds))

        if not server.run(exchange):
            raise KeyboardInterrupt
        server.close()
    if faults:
        raise UsageError(faults[0])
    return responses[0]


def _items(lists: Mapping[str, list[Any]], method: Method) -> dict[str, dict[str, Any]]:
    """The items of lists by name or URI; the first of several with the same."""
    items: dict[str, dict[str, Any]] = {}
    for key, member in _LISTS[method].items():
        for item in lists.get(key, ()):
            name = item.get(member) if isinstance(item, dict) else None
            if isinstance(name, str):
                # Of duplicates the first counts; that there are any is a finding of `lint`.
                items.setdefault(name, item)
    return items


def _hiding(session: Session) -> Callable[[str], str]:
    """Hides the secrets of a server in what it returns."""
    return hiding_in_catalogs(session.server.named_secrets)


async def _hint(request: SingleRequest, session: Session, listen: Listener) -> None:
    """Name a similar resource if the server refuses one that it does not list."""
    if request.method != "resources/read":
        return
    uris = list(_items((await session.listing(*_LISTS[request.method])).lists, request.method))
    if uris and request.item not in uris:
        message = f"the server lists no resource `{request.item}`{nearest(request.item, uris)}"
        listen(MessageSent(_hiding(session)(f"{message}; there are {listed_names(uris)}")))


class _Parameters:
    """The parameters of a request: the item must exist, and the arguments must match its schema."""

    def __init__(self, request: SingleRequest, session: Session, listen: Listener) -> None:
        self._request = request
        self._session = session
        self._listen = listen

    async def build(self) -> dict[str, Any]:
        """Raises a UsageError if the item or the arguments are wrong, unless the request is unchecked."""
        request = self._request
        if request.method == "resources/read":
            return {"uri": request.item}
        item = await self._item()
        if request.method == "prompts/get":
            arguments: dict[str, Any] = {**request.arguments, **dict(request.pairs)}
            mistakes = _prompt_mistakes(item, arguments)
        else:
            await self._refuse_dropped(item)
            schema = item.get("inputSchema")
            arguments = {**request.arguments, **ArgumentParser(schema).parse(request.pairs)}
            mistakes = list(self._tool_mistakes(schema, arguments))
        if mistakes and request.is_checked:
            more = f"; and {len(mistakes) - _MOST_SHOWN:,} more" if len(mistakes) > _MOST_SHOWN else ""
            listed = "; ".join(mistakes[:_MOST_SHOWN]) + more
            raise UsageError(f"invalid arguments for `{request.item}`: {listed}; {_HOW_TO_SEND}")
        return {"name": request.item, "arguments": arguments}

    async def _item(self) -> dict[str, Any]:
        """The item as the server lists it; empty if it is unknown and the request unchecked."""
        request, noun = self._request, _NOUNS[self._request.method]
        listing = await self._session.listing(*_LISTS[request.method])
        items = _items(listing.lists, request.method)
        # Looked up before it is said what is not served: one of two lists may be enough.
        if request.item in items:
            return items[request.item]
        if not request.is_checked:
            return {}
        if listing.unserved:
            method, why = listing.unserved[0]
            why = self._session.redacted(why)
            raise InputError(f"`{method}` is not served: {why}; {_HOW_TO_SEND}", file=self._session.server.label)
        if not items:
            raise InputError(f"the server lists no {noun}s; {_HOW_TO_SEND}", file=self._session.server.label)
        names = list(items)
        hint = _hiding(self._session)(f"{nearest(request.item, names)}; there are {listed_names(names)}")
        raise UsageError(f"unknown {noun} `{request.item}`{hint}; {_HOW_TO_SEND}")

    async def _refuse_dropped(self, item: dict[str, Any]) -> None:
        """Raise an InputError if clients must not offer a tool."""
        connection = await self._session.connection()
        # Only where headers repeat parameters: elsewhere clients offer the tool.
        if self._request.is_checked and connection.has_parameter_headers:
            fault = header_fault(Tool(item, ""))
            if fault is not None:
                message = f"clients must drop the tool `{self._request.item}`: {self._session.redacted(fault)}"
                raise InputError(f"{message}; {_HOW_TO_SEND}", file=self._session.server.label)

    def _tool_mistakes(self, schema: Any, arguments: dict[str, Any]) -> Iterator[str]:
        if not isinstance(schema, dict):
            return
        declared = declared_parameters(schema)
        # A schema that cannot be compiled is the fault of the server, and no reason to refuse the call.
        oracle = Oracle(schema)
        if oracle.problem is not None:
            self._listen(MessageSent(f"the arguments are not checked: {oracle.problem}"))
            return
        objections = oracle.objections(arguments)
        yield from (objection.worded(declared) for objection in objections)
        for name in arguments if declared and not objections else ():
            if name not in declared:
                self._listen(MessageSent(f"`{name}` is not a declared parameter{nearest(name, declared)}"))


def _prompt_mistakes(prompt: dict[str, Any], arguments: Iterable[str]) -> list[str]:
    given = prompt.get("arguments")
    listed = [argument for argument in given if isinstance(argument, dict)] if isinstance(given, list) else []
    declared = {
        argument["name"]: argument.get("required") is True
        for argument in listed
        if isinstance(argument.get("name"), str)
    }
    missing = [f"`{name}` is missing" for name, required in declared.items() if required and name not in arguments]
    unknown = [name for name in arguments if name not in declared]
    return [*missing, *(f"`{name}` is not an argument{nearest_or_all(name, list(declared))}" for name in unknown)]
