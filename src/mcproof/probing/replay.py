"""Replay a stored failure, and decide whether it is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mcproof.client.errors import ConnectError
from mcproof.client.redaction import literal_secrets
from mcproof.client.session import Response, Session
from mcproof.client.waiting import Interruptible
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import FAILURE_OF
from mcproof.core.observations.responses import OutputContract
from mcproof.core.schema.validation import Oracle
from mcproof.probing.attacks.cases import FAMILIES
from mcproof.probing.attacks.effects import attack_again
from mcproof.probing.probes.blame import NumberedRequest, Sender
from mcproof.probing.probes.promises import PROBES
from mcproof.probing.probes.responses import Judgement, judge, passed

if TYPE_CHECKING:
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.probing.probes.failures import StoredFailure

ReplayVerdict = Literal["fixed", "still failing", "could not tell"]
_AS_EXPECTED = "the response is as expected"


class ReplayResult(NamedTuple):
    """The result of sending a failure again."""

    verdict: ReplayVerdict
    reason: str
    response: str = ""


def replay(failed: StoredFailure, server: Endpoint, options: ConnectOptions) -> ReplayResult:
    """Send a failure again, to a fresh server. Raises KeyboardInterrupt, with no process left running."""
    work = Interruptible()
    results: list[ReplayResult] = []

    async def send_again() -> None:
        session = Session(server, options, failed.max_call_ms / 1000)
        try:
            results.append(await _send_again(failed, session, literal_secrets(server.named_secrets)))
        except ConnectError as error:
            results.append(ReplayResult("could not tell", error.message))
        finally:
            await session.close(at_once=work.is_interrupted)

    if not work.run(send_again) and not results:
        raise KeyboardInterrupt
    return results[0]


async def _send_again(failed: StoredFailure, session: Session, secrets: list[str]) -> ReplayResult:
    probe = next(
        (candidate for candidate in PROBES if candidate.name == failed.probe and candidate.send is not None), None
    )
    if probe is not None and probe.send is not None:
        case, response = await probe.send(session)
        text = session.redacted(response.text)
        if passed(case, response):
            return ReplayResult("fixed", _AS_EXPECTED, text)
        return ReplayResult("still failing", f"{response.outcome}: {case.description}", text)
    tool: dict[str, Any] = {}
    if failed.tool is not None:
        listing = await session.listing()
        listed = [entry for entry in listing.lists.get("tools", []) if isinstance(entry, dict)]
        tool = next((entry for entry in listed if entry.get("name") == failed.tool), {})
        if not tool:
            return ReplayResult("could not tell", f"tool `{failed.tool}` no longer exists")
    if failed.probe in FAMILIES:
        return await _attack_again(failed, session)
    revision = (await session.connection()).agreed
    response = await Sender(session).send_alone(NumberedRequest(1, failed.method, failed.params))
    arguments = failed.params.get("arguments")
    is_valid = failed.is_valid
    if failed.outcome == "accepted" and failed.tool is not None:
        # By the schema of today, which may have changed since.
        is_valid = Oracle(tool.get("inputSchema")).accepts(arguments)
        if is_valid and response.outcome in ("accepted", "rejected"):
            return ReplayResult("fixed", "the schema now allows this call", session.redacted(response.text))
    judgement = judge(
        response,
        arguments,
        is_valid=is_valid,
        revision=revision,
        output=OutputContract(tool.get("outputSchema")),
        secrets=secrets,
    )
    return _compared(failed, judgement, response, session)


async def _attack_again(failed: StoredFailure, session: Session) -> ReplayResult:
    seen, text = await attack_again(failed, session)
    if seen is None:
        return ReplayResult("could not tell", "the call needs a file or a port of mcproof, which could not be created")
    text = session.redacted(text)
    if seen.outcome == "clean" and failed.outcome == "injection":
        return ReplayResult("fixed", "the call has no effect", text)
    judgement = Judgement(seen.outcome, seen.problem)
    return _compared(failed, judgement, seen.response, session)._replace(response=text)


def _compared(failed: StoredFailure, judgement: Judgement, response: Response, session: Session) -> ReplayResult:
    """Compare a judgement with the stored failure; a worse failure in its place is not a fix."""
    text = session.redacted(response.text)
    for outcome, problem in judgement.failures:
        if outcome == failed.outcome:
            return ReplayResult("still failing", f"{_name(outcome)}: {problem}", text)
    for outcome, problem in judgement.failures:
        if outcome in FAILURE_OF.values():
            reason = f"{_name(outcome)} instead of {_name(failed.outcome)}: {problem}"
            return ReplayResult("still failing", reason, text)
    if failed.outcome == "accepted" or not failed.is_valid:
        reason = "it is now rejected" if response.outcome == "rejected" else "it now gets a response"
        return ReplayResult("fixed", reason, text)
    return ReplayResult("fixed", _AS_EXPECTED, text)


def _name(outcome: str) -> str:
    return outcome.replace("_", " ")
