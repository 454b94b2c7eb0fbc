"""Certificates are read without being trusted, whatever they contain."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from mcproof.client.perimeter.tls import read_certificate
from servers.certificates import Authority

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime.now(UTC)
_AUTHORITIES = ssl.create_default_context().get_ca_certs(binary_form=True)


def test_the_names_and_the_expiry_are_those_of_the_certificate(authority: Authority) -> None:
    der, _ = authority.certificate("wetter.beispiel", "*.weather.test", "::1", "10.0.0.7", days=30.5)
    read = read_certificate(der, NOW)
    expected = x509.load_der_x509_certificate(der)
    assert read is not None
    assert read.common_name == "wetter.beispiel"
    assert read.alternative_names == ("wetter.beispiel", "*.weather.test", "::1", "10.0.0.7")
    assert read.issuer == "mcproof test authority"
    assert read.not_after == expected.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert read.days_until_expiry == 30


def test_an_expiry_after_2050_is_read(authority: Authority) -> None:
    der, _ = authority.certificate("a.test", days=40_000)
    read = read_certificate(der, NOW)
    assert read is not None
    assert read.days_until_expiry in (39_999, 40_000)
    assert read.not_after.startswith("21")


@pytest.mark.skipif(not _AUTHORITIES, reason="no certificate authorities in one file")
def test_certificates_of_public_authorities_are_read_as_the_standard_library_reads_them() -> None:
    decoded = ssl.create_default_context().get_ca_certs()
    for der, expected in zip(_AUTHORITIES, decoded, strict=True):
        read = read_certificate(der, NOW)
        assert read is not None
        expiry = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(expected["notAfter"])), UTC)
        assert read.not_after == expiry.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_days_are_counted_whole(authority: Authority) -> None:
    der, _ = authority.certificate("a.test", days=1.5)
    for later, days in [(0, 1), (25, 0), (49, -1), (73, -2)]:
        read = read_certificate(der, NOW + timedelta(hours=later))
        assert read is not None
        assert read.days_until_expiry == days


@given(st.binary(max_size=300))
def test_other_bytes_are_no_certificate_and_no_crash(data: bytes) -> None:
    read_certificate(data, NOW)
    assert read_certificate(b"\x30\x82" + data, NOW) is None or data


_valid: list[bytes] = []


@given(st.integers(0, 2_000), st.integers(0, 255))
def test_a_changed_byte_is_no_crash(tmp_path_factory: pytest.TempPathFactory, at: int, value: int) -> None:
    if not _valid:
        folder: Path = tmp_path_factory.mktemp("authority")
        _valid.append(Authority(folder).certificate("a.test", "::1")[0])
    changed = bytearray(_valid[0])
    changed[at % len(changed)] = value
    read_certificate(bytes(changed), NOW)
    read_certificate(bytes(changed[: at % len(changed)]), NOW)
