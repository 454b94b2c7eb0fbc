"""Send a stored hostile call again, with traps of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.errors import InputError
from mcproof.generation.mutation_points import label_of, value_at, with_value
from mcproof.prove.blame import NumberedRequest, Sender
from mcproof.prove.hostile.attack_cases import HostileCase, StringArgument
from mcproof.prove.hostile.attacks import FAMILIES
from mcproof.prove.hostile.observing import observe
from mcproof.prove.hostile.server_folders import folders_of
from mcproof.prove.hostile.traps import Traps

if TYPE_CHECKING:
    from mcproof.client.session import Response, Session
    from mcproof.prove.failure_store import StoredFailure
    from mcproof.prove.hostile.observing import AttackResult


async def attack_again(failed: StoredFailure, session: Session) -> tuple[AttackResult | None, str]:
    """Send a stored hostile call to a fresh server; return what it showed and the response without random values.

    None if its trap cannot be set on this machine. Raises ConnectError and InputError.
    """
    case = _case_of(failed)

    async def send(arguments: dict[str, Any]) -> Response:
        request = NumberedRequest(1, failed.method, {**failed.params, "arguments": arguments})
        return await Sender(session).send_alone(request)

    async with Traps(folders_of(session.server)) as traps:
        try:
            seen = await observe(case, traps, send)
        except LookupError:
            return None, ""
        return seen, "" if seen is None else traps.shown(seen.response)


def _case_of(failed: StoredFailure) -> HostileCase:
    """The case of a stored failure. Raises InputError if it is damaged."""
    family = next(each for each in FAMILIES if each == failed.probe)
    path, base, arguments = failed.recipe.get("path"), failed.recipe.get("base"), failed.params.get("arguments")
    try:
        if not isinstance(path, list) or not path or not isinstance(base, dict) or not isinstance(arguments, dict):
            raise TypeError
        steps = tuple(path)
        value = value_at(base, steps)
        with_value(base, steps, value_at(arguments, steps))
    except (LookupError, TypeError, AttributeError):
        raise InputError(f"damaged failure {failed.id}: `recipe` does not fit the arguments") from None
    argument = StringArgument(
        path=steps,
        value=value if isinstance(value, str) else "",
        label=label_of(steps),
        words=frozenset(),
        about="",
        formats=(),
    )
    return HostileCase(family, argument, arguments, base, failed.what)
