"""Observe the TLS of a server: whether a usual client accepts it, and what an untrusted certificate says.

The standard library decodes only certificates that it has verified, so an expired or self-signed one is read here.
Only the fields that rules judge are read; the input is hostile.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import warnings
from datetime import UTC, datetime, timedelta

from mcproof.client.errors import ConnectError
from mcproof.client.http.fetch import default_tls
from mcproof.client.http.policy import current_guard
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.perimeter import PeerCertificate, TlsHandshake

LARGEST = 65_536
"""Bytes of a certificate; larger ones are not read."""
MOST_NAMES = 100
_SEQUENCE, _SET, _OCTETS, _OID = 0x30, 0x31, 0x04, 0x06
_UTC_TIME, _GENERALIZED_TIME, _BMP_STRING = 0x17, 0x18, 0x1E
_VERSION, _EXTENSIONS, _DNS_NAME, _IP_ADDRESS = 0xA0, 0xA3, 0x82, 0x87
_COMMON_NAME, _ORGANIZATION, _ALTERNATIVE_NAMES = b"\x55\x04\x03", b"\x55\x04\x0a", b"\x55\x1d\x11"


class UnobservedError(Exception):
    """A probe without a response; its text is the reason."""


class _Element(NamedTuple):
    """One element of DER."""

    tag: int
    content: bytes

    def children(self) -> list[_Element]:
        """The elements inside. Raises ValueError."""
        elements, at = [], 0
        while at < len(self.content):
            element, at = _read(self.content, at)
            elements.append(element)
        return elements


def read_certificate(der: bytes, now: datetime) -> PeerCertificate | None:
    """The names and the expiry of a certificate in DER; None if it cannot be read."""
    try:
        return _parsed(der[:LARGEST], now)
    except (ValueError, IndexError, OverflowError):
        # Certificates come from strangers: one that cannot be read has no facts.
        return None


def _parsed(der: bytes, now: datetime) -> PeerCertificate:
    certificate, _ = _read(der, 0)
    fields = certificate.children()[0].children()
    if fields[0].tag == _VERSION:
        fields = fields[1:]
    issuer, validity, subject = fields[2], fields[3], fields[4]
    expiry = _time(validity.children()[1])
    return PeerCertificate(
        common_name=_name(subject, _COMMON_NAME),
        alternative_names=tuple(_alternative_names(fields)),
        issuer=_name(issuer, _COMMON_NAME) or _name(issuer, _ORGANIZATION),
        not_after=expiry.strftime("%Y-%m-%dT%H:%M:%SZ"),
        days_until_expiry=(expiry - now) // timedelta(days=1),
    )


def _read(data: bytes, at: int) -> tuple[_Element, int]:
    """The element at a position, and the position after it. Raises ValueError or IndexError."""
    tag, length = data[at], data[at + 1]
    start = at + 2
    if length & 0x80:  # the long form: how many bytes the length has
        count = length & 0x7F
        if not 1 <= count <= 4:
            raise ValueError
        length = int.from_bytes(data[start : start + count])
        start += count
    end = start + length
    if end > len(data):
        raise ValueError
    return _Element(tag, data[start:end]), end


def _name(name: _Element, kind: bytes) -> str:
    """The last part of a distinguished name of this kind, which is the most specific; empty without one."""
    values = [
        _text(value)
        for parts in name.children()
        for part in parts.children()
        for oid, value in [part.children()[:2]]
        if oid == (_OID, kind)
    ]
    return cropped(values[-1]) if values else ""


def _text(value: _Element) -> str:
    encoding = "utf-16-be" if value.tag == _BMP_STRING else "utf-8"
    return value.content.decode(encoding, errors="replace")


def _time(value: _Element) -> datetime:
    digits = value.content.decode("ascii").removesuffix("Z")
    if value.tag == _UTC_TIME:
        # A year of two digits is from 1950 to 2049 (RFC 5280).
        digits = ("19" if digits >= "50" else "20") + digits
    elif value.tag != _GENERALIZED_TIME:
        raise ValueError
    return datetime.strptime(digits[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def _alternative_names(fields: list[_Element]) -> list[str]:
    """The DNS names and the IP addresses of the subject."""
    from ipaddress import ip_address

    names: list[str] = []
    for holder in fields:
        for extension in holder.children()[0].children() if holder.tag == _EXTENSIONS else ():
            parts = extension.children()
            if parts[0] == (_OID, _ALTERNATIVE_NAMES):
                listed, _ = _read(parts[-1].content, 0)
                for element in listed.children()[:MOST_NAMES]:
                    if element.tag == _DNS_NAME:
                        names.append(cropped(element.content.decode("ascii", errors="replace")))
                    elif element.tag == _IP_ADDRESS:
                        names.append(str(ip_address(element.content)))
    return names


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
            # The first error says more than that of an attempt without verification.
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
        # A second more, so that the limit of the handshake is met first.
        async with asyncio.timeout(seconds + 1):
            address, *_ = await current_guard().addresses(host)
            _, writer = await asyncio.open_connection(
                address, port, ssl=context, server_hostname=host, ssl_handshake_timeout=seconds
            )
    except TimeoutError:
        raise UnobservedError(f"no connection within {seconds:g} seconds") from None
    except ConnectError as error:
        raise UnobservedError(error.message) from None
    except (ssl.SSLError, ConnectionAbortedError):  # OSErrors as well, but told apart by the caller
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
        # Nothing is sent after the handshake: docs/decisions/0047-server-supplied-urls.md.
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
    reason: str | None = getattr(error, "reason", None)  # only OpenSSL sets it, such as WRONG_VERSION_NUMBER
    return cropped(reason.replace("_", " ").lower() if reason else error.strerror or "the handshake failed")
