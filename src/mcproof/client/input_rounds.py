"""Rounds of input: repeat a request with the answers to the questions in its response, until it is complete.

From revision 2026-07-28 on, servers ask in the result of a request. Revision 2025-11-25 has an error with URLs that the
user must open first.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.client.peer import RpcResponse
    from mcproof.client.respondent import Respondent

    Send = Callable[[dict[str, Any]], Awaitable[RpcResponse]]
    """Sends the request with these parameters."""

INPUT_REQUIRED = "input_required"
"""The `resultType` of a result that asks the client for more input."""
ASKING_METHODS = ("tools/call", "prompts/get", "resources/read")
"""The methods whose results may ask for input."""
MOST_ROUNDS = 10
"""How often a request is repeated."""
_URL_REQUIRED = -32042
_PAUSE = 0.1
"""Seconds until a request is repeated that needs no answers."""


def asks_for_input(result: Any) -> bool:
    """Whether a result asks for more input instead of completing the request."""
    return isinstance(result, dict) and result.get("resultType") == INPUT_REQUIRED


async def completed(
    response: RpcResponse, params: dict[str, Any] | None, send: Send, respondent: Respondent
) -> RpcResponse:
    """The response once the server has all answers; the last one if an answer is missing, or after too many rounds.

    Raises EndlessQuestionsError.
    """
    for _ in range(MOST_ROUNDS):
        additions = await _additions(response, respondent)
        if additions is None:
            break
        response = await send({**(params or {}), **additions})
    return response


async def _additions(response: RpcResponse, respondent: Respondent) -> dict[str, Any] | None:
    """What to add to the parameters of the next round; None if there is no next round."""
    if asks_for_input(response.result) and response.error is None:
        return await _input(response, respondent)
    if response.error is not None and response.error.get("code") == _URL_REQUIRED:
        return await _opened_urls(response, respondent)
    return None


async def _input(response: RpcResponse, respondent: Respondent) -> dict[str, Any] | None:
    requests = response.result.get("inputRequests")
    state = {"requestState": response.result["requestState"]} if "requestState" in response.result else {}
    if requests is None:
        await asyncio.sleep(_PAUSE)  # the server asks to come back
        return state or None
    if not isinstance(requests, dict) or not all(isinstance(each, dict) for each in requests.values()):
        return None
    answers: dict[str, Any] = {}
    for name, request in requests.items():
        reply = await respondent.respond(str(request.get("method")), request.get("params"), len(response.raw))
        if reply.result is not None:
            answers[name] = reply.result
    if len(answers) < len(requests):  # an error cannot be sent as an answer
        return None
    return {"inputResponses": answers, **state}


async def _opened_urls(response: RpcResponse, respondent: Respondent) -> dict[str, Any] | None:
    """Nothing to add, if the user has opened every URL that the server names."""
    data = (response.error or {}).get("data")
    listed = data.get("elicitations") if isinstance(data, dict) else None
    if not isinstance(listed, list) or not listed:
        return None
    replies = [
        await respondent.respond("elicitation/create", {**each, "mode": "url"}, len(response.raw))
        for each in listed
        if isinstance(each, dict)
    ]
    return {} if replies and all(each.kind == "accept" for each in replies) else None
