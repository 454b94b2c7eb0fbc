"""TLS as clients see it: accepted, refused and why, and what a refused certificate shows."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from client.running import captured, refused, tool_names
from mcproof.client.endpoints import UrlEndpoint
from mcproof.client.perimeter.endpoint import observe_perimeter
from mcproof.core.observations.perimeter import TlsHandshake
from servers.certificates import TLS_1_1
from servers.perimeters import Careful

from .observing import BRIEF, findings, perimeter, web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.core.observations.perimeter import Perimeter
    from servers.certificates import Authority

TLS_RULES = {"tls_handshake_succeeded", "tls_uses_modern_version", "tls_certificate_not_expiring_soon"}


def seen_of(tls: ssl.SSLContext, host: str = "mcp.weather.test") -> Perimeter:
    with web(Careful, tls=tls) as server:
        return perimeter(f"https://{host}:{server.port}/mcp").perimeter


def handshake(perimeter: Perimeter) -> TlsHandshake:
    assert perimeter.tls is not None
    return perimeter.tls


def tls_findings(perimeter: Perimeter) -> dict[str, Any]:
    return {rule: each.evidence for rule, each in findings(perimeter).items() if rule in TLS_RULES}


def test_a_trusted_certificate_is_accepted_and_read(trusted: Authority) -> None:
    facts = seen_of(trusted.server_tls("mcp.weather.test", "127.0.0.1"))
    tls = handshake(facts)
    assert (tls.is_completed, tls.is_authorized, tls.error) == (True, True, "")
    assert tls.version == "TLSv1.3"
    assert tls.certificate is not None
    assert tls.certificate.common_name == "mcp.weather.test"
    assert tls.certificate.alternative_names == ("mcp.weather.test", "127.0.0.1")
    assert tls.certificate.issuer == "mcproof test authority"
    assert tls.certificate.days_until_expiry == 89
    assert tls_findings(facts) == {}
    assert not TLS_RULES & set(facts.unobserved)
    assert facts.response is not None
    assert facts.response.status == 405


def test_every_connection_trusts_the_named_authorities(trusted: Authority) -> None:
    with web(Careful, tls=trusted.server_tls("127.0.0.1")) as server:
        assert tool_names(captured(UrlEndpoint(server.url, {}))) == ["find_book", "lend_book"]


def test_other_authorities_are_not_trusted(authority: Authority) -> None:
    with web(Careful, tls=authority.server_tls("127.0.0.1")) as server:
        assert "certificate" in refused(UrlEndpoint(server.url, {}))


def test_an_expired_certificate_is_refused_and_read_anyway(trusted: Authority) -> None:
    facts = seen_of(trusted.server_tls("mcp.weather.test", days=-2.5))
    assert handshake(facts).error == "certificate has expired"
    found = tls_findings(facts)
    assert set(found) == {"tls_handshake_succeeded", "tls_certificate_not_expiring_soon"}
    assert found["tls_handshake_succeeded"]["authorizationError"] == "certificate has expired"
    assert found["tls_handshake_succeeded"]["authorized"] is False
    assert found["tls_certificate_not_expiring_soon"] == {"daysUntilExpiry": -3}


def test_nothing_is_sent_over_tls_that_clients_refuse(trusted: Authority) -> None:
    tls = trusted.server_tls("mcp.weather.test", days=-2)
    with web(Careful, tls=tls) as server:
        facts = perimeter(f"https://mcp.weather.test:{server.port}/mcp?token=4711").perimeter
        assert server.requests == []
    assert facts.unobserved["transport_validates_origin"] == "the TLS handshake fails: certificate has expired"


def test_a_certificate_for_another_host_is_refused(trusted: Authority) -> None:
    facts = seen_of(trusted.server_tls("mcp.traffic.test"))
    assert "mcp.weather.test" in handshake(facts).error
    assert set(tls_findings(facts)) == {"tls_handshake_succeeded"}


def test_a_self_signed_certificate_is_refused(trusted: Authority) -> None:
    facts = seen_of(trusted.server_tls("mcp.weather.test", is_self_signed=True))
    assert "self-signed" in handshake(facts).error.replace("self signed", "self-signed")
    assert set(tls_findings(facts)) == {"tls_handshake_succeeded"}
    certificate = handshake(facts).certificate
    assert certificate is not None
    assert certificate.issuer == "mcp.weather.test"


def test_a_certificate_of_an_unknown_authority_is_refused(authority: Authority) -> None:
    facts = seen_of(authority.server_tls("mcp.weather.test"))
    assert handshake(facts).is_completed
    assert set(tls_findings(facts)) == {"tls_handshake_succeeded"}


def test_a_certificate_that_expires_soon_is_reported(trusted: Authority) -> None:
    facts = seen_of(trusted.server_tls("mcp.weather.test", days=13.5))
    assert tls_findings(facts) == {"tls_certificate_not_expiring_soon": {"daysUntilExpiry": 13}}


@pytest.mark.skipif(not ssl.HAS_TLSv1_1, reason="this OpenSSL has no TLS 1.1")
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_an_old_version_of_tls_is_seen_though_clients_refuse_it(trusted: Authority) -> None:
    facts = seen_of(trusted.server_tls("mcp.weather.test", version=TLS_1_1))
    found = tls_findings(facts)
    assert found["tls_uses_modern_version"] == {"protocol": "TLSv1.1"}
    assert "tls_handshake_succeeded" in found


def test_the_certificate_of_a_server_on_this_machine_is_judged_over_https(trusted: Authority) -> None:
    facts = seen_of(trusted.server_tls("localhost", days=-2), "localhost")
    assert "tls_handshake_succeeded" in tls_findings(facts)
    assert {"transport_uses_https", "transport_advertises_hsts"} <= set(facts.not_applicable)


@pytest.mark.parametrize("reply", [b"\x16\x03\x01\x00\x05hello", b"\x00" * 9, b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
def test_garbage_instead_of_tls_is_a_failed_handshake(reply: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(reply)
        writer.close()

    facts = _against(serve)
    assert not handshake(facts).is_completed
    evidence = {"ok": False, "error": handshake(facts).error}
    assert tls_findings(facts) == {"tls_handshake_succeeded": evidence}


def test_a_handshake_that_never_ends_is_ended() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    facts = _against(serve)
    assert handshake(facts) == TlsHandshake(
        is_completed=False, is_authorized=False, error="not completed within 0.5 seconds"
    )


def _against(serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> Perimeter:
    """What is observed of something that does not speak TLS."""
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(ConnectionError):
            await serve(reader, writer)

    async def observe() -> Perimeter:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            observed = await observe_perimeter(UrlEndpoint(f"https://127.0.0.1:{port}/mcp", {}), BRIEF)
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)  # a transport closes in the next turn of its loop
        return observed.perimeter

    return asyncio.run(observe())


def test_a_server_that_cannot_be_reached_is_not_judged() -> None:
    facts = perimeter("https://127.0.0.1:1/mcp").perimeter
    assert facts.tls is None
    assert set(findings(facts)) == set()
    assert facts.unobserved["tls_handshake_succeeded"].startswith("the server cannot be reached: ")
    assert facts.unobserved["transport_validates_origin"] == facts.unobserved["tls_handshake_succeeded"]
