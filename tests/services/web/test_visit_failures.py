"""How failures of a check become pages and problem documents."""

from __future__ import annotations

import pytest

from mcproof.client.errors import AuthorizationError, ConnectError, HttpStatusError, UnauthorizedError, UnreachableError
from mcproof.client.http.policy import RefusedAddressError
from mcproof.core.errors import InputError, UsageError
from mcproof.services.web.visit_jobs import failed


def caused(cause: Exception) -> Exception:
    """The error of a capture, from its cause."""
    try:
        raise ConnectError(str(cause)) from cause
    except ConnectError as error:
        return error


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (caused(RefusedAddressError("no")), "refused", "no"),
        (RefusedAddressError("no"), "refused", "no"),
        (caused(UnauthorizedError(401, "x", "HTTP 401", "", "")), "unauthorized", "requires authorization (HTTP 401)"),
        (caused(AuthorizationError("log in")), "unauthorized", "requires authorization (HTTP 401)"),
        (caused(HttpStatusError(404, "HTTP 404")), "protocol", "HTTP 404"),
        (caused(UnreachableError("late (--start-timeout)")), "unreachable", "late"),
        (ConnectError("not JSON-RPC"), "protocol", "not JSON-RPC"),
        (InputError("not a catalog"), "invalid", "not a catalog"),
        (UsageError("two catalogs"), "invalid", "two catalogs"),
        (RecursionError(), "invalid", "nested too deeply"),
        (MemoryError(), "large", "more memory"),
        (SystemError("error return without exception set"), "large", "more memory"),
    ],
)
def test_a_failure_has_a_kind_and_a_message(error: Exception, kind: str, message: str) -> None:
    outcome = failed(error)
    assert outcome.failure == kind
    assert message in outcome.message
    assert "--" not in outcome.message


def test_a_defect_is_reported_without_its_text() -> None:
    outcome = failed(raised(RuntimeError("Bearer s3cr3t")))
    assert outcome.failure == "crashed"
    assert outcome.message.startswith("a defect of mcproof: RuntimeError in raised, ")
    assert "s3cr3t" not in outcome.message
