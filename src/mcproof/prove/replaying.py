"""A stored failure sent again: fixed, still failing, or nobody can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mcproof.client.failures import ConnectError
from mcproof.client.interrupts import Interruptible
from mcproof.client.listing import list_everything
from mcproof.client.secrets import plain_secrets
from mcproof.client.session import Response, Session
from mcproof.exchange.responses import OutputContract
from mcproof.generation.oracle import Oracle
from mcproof.prove.blame import NumberedRequest, Sender
from mcproof.prove.fuzz.outcomes import judged, passed
from mcproof.prove.protocol_probes import PROBES

if TYPE_CHECKING:
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.endpoints import Endpoint
    from mcproof.prove.failure_store import StoredFailure
    from mcproof.prove.fuzz.outcomes import Judgement

Verdict = Literal["fixed", "still failing", "could not tell"]
_HARM = ("crash", "hang", "protocol_violation")


class ReplayResult(NamedTuple):
    """What came of sending a failure again."""

    verdict: Verdict
    reason: str
    answer: str = ""


def replay(failed: StoredFailure, server: Endpoint, options: ConnectOptions) -> ReplayResult:
    """Send a failure again, to a server that was started for it. Raises KeyboardInterrupt, and leaves nothing then."""
    work = Interruptible()
    found: list[ReplayResult] = []

    async def send_again() -> None:
        session = Session(server, options, failed.max_call_ms / 1000)
        try:
            found.append(await _sent_again(failed, session, plain_secrets(server.named_secrets)))
        except ConnectError as error:
            found.append(ReplayResult("could not tell", error.message))
        finally:
            await session.close(at_once=work.is_interrupted)

    if not work.run(send_again) and not found:
        raise KeyboardInterrupt
    return found[0]


async def _sent_again(failed: StoredFailure, session: Session, secrets: list[str]) -> ReplayResult:
    probe = next((each for each in PROBES if each.name == failed.probe and each.ask is not None), None)
    if probe is not None and probe.ask is not None:
        case, response = await probe.ask(session)
        answer = session.redacted(response.text)
        if passed(case, response):
            return ReplayResult("fixed", "it is answered as it should be", answer)
        return ReplayResult("still failing", f"{response.outcome}: {case.what}", answer)
    tool: dict[str, Any] = {}
    if failed.tool is not None:
        connection = await session.connection()
        listing = await list_everything(connection)
        listed = [each for each in listing.lists.get("tools", []) if isinstance(each, dict)]
        tool = next((each for each in listed if each.get("name") == failed.tool), {})
        if not tool:
            return ReplayResult("could not tell", f"there is no tool `{failed.tool}` any more")
    revision = (await session.connection()).agreed
    response = await Sender(session).alone(NumberedRequest(1, failed.method, failed.params))
    arguments = failed.params.get("arguments")
    is_valid = failed.is_valid
    if failed.outcome == "accepted" and failed.tool is not None:
        is_valid = not Oracle(tool.get("inputSchema")).rejects(arguments)
        if is_valid and response.outcome in ("accepted", "rejected"):
            return ReplayResult("fixed", "the schema allows this call now", session.redacted(response.text))
    judgement = judged(
        response,
        arguments,
        is_valid=is_valid,
        revision=revision,
        output=OutputContract(tool.get("outputSchema")),
        secrets=secrets,
    )
    return _told(failed, judgement, response, session)


def _told(failed: StoredFailure, judgement: Judgement, response: Response, session: Session) -> ReplayResult:
    """Whether what was wrong is wrong still; another harm is none the better."""
    answer = session.redacted(response.text)
    for outcome, what in judgement.failures:
        if outcome == failed.outcome:
            return ReplayResult("still failing", f"{_name(outcome)}: {what}", answer)
    for outcome, what in judgement.failures:
        if outcome in _HARM:
            return ReplayResult("still failing", f"{_name(outcome)} instead of {_name(failed.outcome)}: {what}", answer)
    if failed.outcome == "accepted" or not failed.is_valid:
        return ReplayResult(
            "fixed", "it is refused now" if response.outcome == "rejected" else "it is answered now", answer
        )
    return ReplayResult("fixed", "it is answered as it should be", answer)


def _name(outcome: str) -> str:
    return outcome.replace("_", " ")
