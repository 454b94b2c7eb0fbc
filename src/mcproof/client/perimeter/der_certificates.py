"""Read the names and the expiry of a certificate without trusting it.

The standard library decodes only certificates that it has verified, so an expired or self-signed one is read here. Only
the fields that rules judge are read; the input is hostile.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from mcproof.core.observations.connection import cropped
from mcproof.core.observations.perimeter import PeerCertificate

LARGEST = 65_536
"""Bytes of a certificate; larger ones are not read."""
MOST_NAMES = 100
_SEQUENCE, _SET, _OCTETS, _OID = 0x30, 0x31, 0x04, 0x06
_UTC_TIME, _GENERALIZED_TIME, _BMP_STRING = 0x17, 0x18, 0x1E
_VERSION, _EXTENSIONS, _DNS_NAME, _IP_ADDRESS = 0xA0, 0xA3, 0x82, 0x87
_COMMON_NAME, _ORGANIZATION, _ALTERNATIVE_NAMES = b"\x55\x04\x03", b"\x55\x04\x0a", b"\x55\x1d\x11"


class _Element(NamedTuple):
    """One element of DER."""

    tag: int
    content: bytes

    def children(self) -> list[_Element]:
        """The elements inside. Raises ValueError."""
        found, at = [], 0
        while at < len(self.content):
            element, at = _read(self.content, at)
            found.append(element)
        return found


def read_certificate(der: bytes, now: datetime) -> PeerCertificate | None:
    """The names and the expiry of a certificate in DER; None if it cannot be read."""
    try:
        return _parsed(der[:LARGEST], now)
    except (ValueError, IndexError, OverflowError):
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
    if length & 0x80:
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
                for each in listed.children()[:MOST_NAMES]:
                    if each.tag == _DNS_NAME:
                        names.append(cropped(each.content.decode("ascii", errors="replace")))
                    elif each.tag == _IP_ADDRESS:
                        names.append(str(ip_address(each.content)))
    return names
