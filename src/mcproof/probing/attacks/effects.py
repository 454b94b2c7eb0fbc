"""Send one hostile call, and decide whether it had an effect. Used by runs and by replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.probes import FAILURE_OF
from mcproof.core.observations.responses import OutputContract, flaws_of
from mcproof.prove.hostile.attacks import FAMILY_NAMES
from mcproof.prove.hostile.effects import effect_of, sql_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.client.session import Response
    from mcproof.core.observations.probes import CaseOutcome
    from mcproof.prove.hostile.attack_cases import HostileCase
    from mcproof.prove.hostile.traps import Traps

    Send = Callable[[dict[str, Any]], Awaitable[Response | None]]
    """Calls the tool with these arguments; None if the server had ended before."""

_LETTERS = "mcproof"
"""What is appended to a valid value, to compare with."""


class AttackResult(NamedTuple):
    """What one hostile call showed."""

    response: Response
    outcome: CaseOutcome
    """`injection`, `crash`, `hang`, `protocol_violation` or `clean`."""
    problem: str
    """What is wrong; empty if nothing is."""
    token: str


async def observe(case: HostileCase, traps: Traps, send: Send) -> AttackResult | None:
    """Send a hostile call; None if it did not reach the server."""
    token = traps.new_token()
    response = await send(traps.filled(case.arguments, token))
    if response is None:
        return None
    if (failure := FAILURE_OF.get(response.outcome)) is not None:
        return AttackResult(response, failure, response.why, token)
    effect = effect_of(case.family, case.text, response, traps, token)
    if case.family == "sql_injection":
        effect = await _sql_effect(case, response, send)
    elif effect is not None and "beside folder" in case.text and await _serves_parent(case, traps, send):
        effect = None
    if effect is None:
        return AttackResult(response, "clean", "", token)
    return AttackResult(response, "injection", injection(case, effect), token)


def injection(case: HostileCase, effect: str) -> str:
    """An effect as a sentence."""
    return f"{FAMILY_NAMES[case.family]} through `{case.argument.label}`: {effect}"


async def _serves_parent(case: HostileCase, traps: Traps, send: Send) -> bool:
    """Whether the tool also returns a file whose path only has the parent in common with a folder of the server."""
    try:
        arguments = traps.filled(case.with_text(case.text.replace("beside", "apart from")), "")
    except LookupError:
        return True
    response = await send(arguments)
    return response is None or effect_of(case.family, case.text, response, traps, "") is not None


async def _sql_effect(case: HostileCase, response: Response, send: Send) -> str | None:
    """The error of a database that only an open quote causes."""
    error = sql_error(response)
    if error is None:
        return None
    value = case.argument.value
    quote = case.text[len(value)]
    for harmless in (case.base, case.with_text(value + _LETTERS)):
        if await _is_sql_error(harmless, send):
            return None
    closed = case.with_text(value + quote + case.text[len(value) :])
    is_refusal = response.outcome == "rejected" or _reports_error(response)
    if not (is_refusal and error.names_database) and await _is_sql_error(closed, send):
        return None  # a result about such errors, or the parser of another language
    return f"an open quote reaches the statement: {error.words}"


async def _is_sql_error(arguments: dict[str, Any], send: Send) -> bool:
    response = await send(arguments)
    return response is None or sql_error(response) is not None


def _reports_error(response: Response) -> bool:
    flaws = flaws_of(response.result, None, OutputContract(None))
    return any(flaw.kind == "error-as-success" for flaw in flaws)
