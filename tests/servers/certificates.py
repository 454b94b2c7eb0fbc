"""Certificates made for a test: of a certificate authority of its own, or with one fault."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

TLS_1_1 = ssl.TLSVersion.TLSv1_1
_USAGES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)


class Authority:
    """A certificate authority."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("mcproof test authority")
        expiry = datetime.now(UTC) + timedelta(days=400)
        usage = {name: name == "key_cert_sign" for name in _USAGES}
        issued = (
            _certificate(self._name, self._name, self._key, self._key, expiry)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
        )
        self.file = folder / "authority.pem"
        self.file.write_bytes(issued.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def certificate(self, *names: str, days: float = 90, is_self_signed: bool = False) -> tuple[bytes, bytes]:
        """A certificate for host names and addresses, in DER, and its key and certificate in PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(names[0])
        expiry = datetime.now(UTC) + timedelta(days=days)
        issuer, issuer_key = (subject, key) if is_self_signed else (self._name, self._key)
        builder = _certificate(subject, issuer, key, issuer_key, expiry)
        if names:
            listed = x509.SubjectAlternativeName([_general_name(each) for each in names])
            builder = builder.add_extension(listed, critical=False)
        issued = builder.sign(issuer_key, hashes.SHA256())
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return issued.public_bytes(serialization.Encoding.DER), secret + issued.public_bytes(serialization.Encoding.PEM)

    def server_tls(self, *names: str, version: ssl.TLSVersion | None = None, **options: float) -> ssl.SSLContext:
        """The settings of a server with such a certificate; `version` is the only one that it supports."""
        file = self._folder / "server.pem"
        file.write_bytes(self.certificate(*names, **options)[1])  # type: ignore[arg-type]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        if version is not None:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = version
        return context


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    expiry: datetime,
) -> x509.CertificateBuilder:
    """A certificate with the identifiers that Python 3.13 and later demand."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1000))
        .not_valid_after(expiry)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
