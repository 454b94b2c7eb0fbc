"""What a response shows, compared with that of the valid call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.client.peer import RpcResponse
from mcproof.client.session import Response
from mcproof.core.observations.responses import OutputContract
from mcproof.probing.probes.cases import ProbeCase
from mcproof.probing.probes.responses import SeenResponse, seen_response, showing

if TYPE_CHECKING:
    from mcproof.core.observations.probes import Expectation, Outcome

VALID = {"symbol": "AAPL", "limit": 1}


def answered(text: str, arguments: Any, *, is_error: bool = True, error: dict[str, Any] | None = None) -> SeenResponse:
    """What is seen of a response with this text, or of a JSON-RPC error."""
    result = {"content": [{"type": "text", "text": text}], "isError": is_error}
    envelope = {"jsonrpc": "2.0", "id": 1, **({"error": error} if error is not None else {"result": result})}
    raw = json.dumps(envelope).encode()
    outcome: Outcome = "rejected" if is_error or error is not None else "accepted"
    response = Response(outcome, RpcResponse(raw, envelope))
    return seen_response(response, arguments, "2025-06-18", OutputContract(None))


def case_of(argument: str, arguments: Any, probe: str = "wrong_type", *, is_promise: bool = True) -> ProbeCase:
    expects: Expectation = "rejection" if is_promise else "nothing"
    return ProbeCase(probe, "…", expects, arguments, declared=is_promise, keyword="type", argument=argument)


@pytest.mark.parametrize(
    ("valid", "seen", "expected"),
    [
        ("No Lean project found", "No Lean project found", "nothing"),
        ("failed at 2026-01-01T10:00:00Z (id: 8f14e45f)", "failed at 2026-02-03T11:22:33Z (id: 45c48cce)", "nothing"),
        ("GET /AAPL timed out after 12 ms", "GET /AAPL timed out after 340 ms", "nothing"),
        ('no host for {"symbol": "AAPL", "limit": 1}', 'no host for {"symbol": "AAPL", "limit": []}', "nothing"),
        ("cannot reach host", "connection refused by 10.0.0.1", "nothing"),
        ("cannot reach host", "limit must be an integer", "refused"),
        ("cannot reach host", "1 validation error for get_bars", "refused"),
        ("the limit service is down", "the limit service is slow", "nothing"),
        ("the limit service is down", "limit should be a number", "refused"),
    ],
)  # fmt: skip
def test_a_refusal_is_proof_where_the_valid_call_fails_only_if_it_is_about_the_argument(
    valid: str, seen: str, expected: str
) -> None:
    arguments = {"symbol": "AAPL", "limit": []}
    assert showing(answered(seen, arguments), case_of("limit", arguments), answered(valid, VALID)) == expected


def test_any_refusal_is_proof_where_the_valid_call_succeeds() -> None:
    fine = answered("42", VALID, is_error=False)
    assert showing(answered("no", {}), case_of("limit", {}), fine) == "refused"
    assert showing(answered("42", {}, is_error=False), case_of("limit", {}), fine) == "accepted"


def test_a_network_error_is_no_hidden_rule() -> None:
    fine = answered("42", VALID, is_error=False)
    explored = case_of("symbol", {}, "oversized", is_promise=False)
    assert showing(answered("fetch failed: ECONNRESET", {}), explored, fine) == "nothing"
    assert showing(answered("symbol is too long", {}), explored, fine) == "refused"


def test_a_refused_value_is_a_hidden_bound_only_if_its_size_is_the_reason() -> None:
    fine, failed = answered("42", VALID, is_error=False), answered("no project", VALID)
    only_larger = case_of("symbol", {}, "oversized", is_promise=False)._replace(changes_only_size=True)
    another = only_larger._replace(changes_only_size=False)
    unknown = answered("Unknown symbol: #", {})
    assert showing(unknown, only_larger, fine) == "refused"
    assert showing(unknown, another, fine) == "nothing"
    assert showing(unknown, only_larger, failed) == "nothing"
    for text in ("symbol: string_too_long", "ENAMETOOLONG: open '#'", "at most 10 characters", "limit of 10 exceeded"):
        assert showing(answered(text, {}), another, fine) == "refused", text
    promise = case_of("symbol", {}, "oversized")
    assert showing(unknown, promise, fine) == "refused"


def test_an_error_without_is_error_is_a_refusal_and_no_successful_valid_call() -> None:
    failed = answered("Error: no API key", VALID, is_error=False)
    assert not failed.is_success
    assert showing(answered("Error: no API key", {}, is_error=False), case_of("limit", {}), failed) == "nothing"
    assert showing(answered("Error: limit is required", {}, is_error=False), case_of("limit", {}), failed) == "refused"


def test_invalid_params_is_about_the_arguments() -> None:
    seen = answered("", {}, error={"code": -32602, "message": "bad request"})
    assert showing(seen, case_of("limit", {}), answered("no project", VALID)) == "refused"


def test_a_megabyte_is_not_kept() -> None:
    large = {"symbol": "a" * 1_000_000}
    seen = answered("a" * 1_000_000, large)
    assert len(repr(seen)) < 2_000
