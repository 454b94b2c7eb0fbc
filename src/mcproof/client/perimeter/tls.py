"""Observe the TLS of a server: whether a usual client accepts it, and what one that checks nothing sees."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import warnings
from datetime import UTC, datetime
from typing import NamedTuple

from mcproof.client.egress.network_guard import connection_host
from mcproof.client.egress.plain_urls import RefusedAddressError
from mcproof.client.perimeter.der_certificates import read_certificate
from mcproof.client.perimeter.probe_http import UnobservedError
from mcproof.client.transports.http_exchange import default_tls
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.perimeter import TlsHandshake


class _Seen(NamedTuple):
    """The outcome of a handshake."""

    version: str
    der: bytes


async def observe_tls(host: str, port: int, seconds: float) -> TlsHandshake:
    """The TLS handshake with a server. Raises UnobservedError if there is no connection to begin one.

    A handshake that a usual client refuses is repeated by one that accepts any version and any certificate; nothing but
    the handshake is sent to it.
    """
    error = ""
    try:
        seen = await _handshake(host, port, default_tls(), seconds)
    except ConnectionAbortedError:
        return _failed(f"not completed within {seconds:g} seconds")
    except ssl.SSLError as refusal:
        error = _reason(refusal)
        try:
            seen = await _handshake(host, port, _lax_tls(), seconds)
        except (ssl.SSLError, ConnectionAbortedError, UnobservedError):
            return _failed(error)
    return TlsHandshake(
        is_completed=True,
        is_authorized=not error,
        error=error,
        version=seen.version,
        certificate=read_certificate(seen.der, datetime.now(UTC)),
    )


def _failed(error: str) -> TlsHandshake:
    return TlsHandshake(is_completed=False, is_authorized=False, error=error)


async def _handshake(host: str, port: int, context: ssl.SSLContext, seconds: float) -> _Seen:
    """Connect, and disconnect after the handshake.

    Raises ssl.SSLError, ConnectionAbortedError if the handshake takes too long, and UnobservedError if there is no
    connection.
    """
    try:
        async with asyncio.timeout(seconds + 1):
            address = await connection_host(host)
            _, writer = await asyncio.open_connection(
                address, port, ssl=context, server_hostname=host, ssl_handshake_timeout=seconds
            )
    except TimeoutError:
        raise UnobservedError(f"no connection within {seconds:g} seconds") from None
    except RefusedAddressError as error:
        raise UnobservedError(error.message) from None
    except (ssl.SSLError, ConnectionAbortedError):
        raise
    except ConnectionResetError:
        raise ssl.SSLError(0, "the server closed the connection during the handshake") from None
    except (OSError, OverflowError, UnicodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise UnobservedError(f"the server cannot be reached: {reason}") from None
    try:
        tls: ssl.SSLObject = writer.get_extra_info("ssl_object")
        return _Seen(tls.version() or "", tls.getpeercert(binary_form=True) or b"")
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def _lax_tls() -> ssl.SSLContext:
    """The settings of a client that accepts anything: used to look at a server, never to send it something."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # old versions are what it looks for
        context.minimum_version = ssl.TLSVersion.TLSv1
    with contextlib.suppress(ssl.SSLError):  # other libraries than OpenSSL have no such levels
        context.set_ciphers("ALL:@SECLEVEL=0")
    return context


def _reason(error: ssl.SSLError) -> str:
    """Why a handshake failed, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return cropped(error.verify_message.rstrip(".") or "the certificate is not trusted")
    reason: str | None = getattr(error, "reason", None)  # of OpenSSL, such as WRONG_VERSION_NUMBER
    return cropped(reason.replace("_", " ").lower() if reason else error.strerror or "the handshake failed")
