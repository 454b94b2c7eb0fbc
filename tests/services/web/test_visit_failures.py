"""How failures of a check become pages and problem documents."""

from __future__ import annotations

import base64
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from mcproof.client.errors import AuthorizationError, ConnectError, HttpStatusError, UnauthorizedError, UnreachableError
from mcproof.client.http.policy import RefusedAddressError
from mcproof.core.errors import InputError, UsageError
from mcproof.services.web.visit_jobs import GuestJob, failed, work


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


def test_a_refusal_that_repeats_a_header_is_shown_without_it() -> None:
    header = "Bearer hunter2-hunter2-hunter2"

    class Echo(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            coded = base64.b64encode(header.encode()).decode()
            self.send_response(401)
            self.send_header("WWW-Authenticate", f'Bearer realm="{header}", x="{header[9:25]}", y="{coded}"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        job = GuestJob("lint", url, headers=(("Authorization", header),), networks=("127.0.0.0/8",), is_whole=True)
        outcome = work(job, lambda _: None)
        server.shutdown()
    assert outcome.failure == "unauthorized"
    assert outcome.message.count("***") == 3
    assert "hunter2" not in outcome.message


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
