"""Signed assertions (RFC 7523): how a client with a private key authenticates."""

from __future__ import annotations

from typing import Any

from mcproof.client.failures import AuthorizationError

LIFETIME = 300
"""How long an assertion is valid, in seconds."""
_ALGORITHMS = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",)}
_CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


def signed_assertion(client_id: str, audience: str, key: str, variable: str, accepted: tuple[str, ...]) -> str:
    """A JWT with which a client authenticates at the authorization server `audience`.

    `key` is a private key in PEM from the environment variable `variable`; `accepted` are the algorithms that the
    authorization server accepts, empty if unknown.
    """
    try:
        import jwt
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise AuthorizationError("signed assertions need PyJWT: `pip install 'mcproof[auth]'`") from None
    try:
        private = load_pem_private_key(key.replace("\\n", "\n").encode(), password=None)
    except (ValueError, TypeError):
        raise AuthorizationError(f"the variable {variable} is not an unencrypted private key in PEM") from None
    usable = _algorithms(private)
    algorithm = next((each for each in usable if not accepted or each in accepted), None)
    if algorithm is None:
        accepts = f"; the authorization server accepts {', '.join(accepted)}" if usable else ""
        raise AuthorizationError(f"the key in {variable} cannot sign an assertion{accepts}")
    claims = _claims(client_id, audience)
    return jwt.encode(claims, private, algorithm=algorithm)  # type: ignore[arg-type]


def _claims(client_id: str, audience: str) -> dict[str, Any]:
    from secrets import token_urlsafe
    from time import time

    now = int(time())
    return {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "jti": token_urlsafe(16),
        "iat": now,
        "exp": now + LIFETIME,
    }


def _algorithms(key: Any) -> tuple[str, ...]:
    """The algorithms that a private key can sign with, the most common first."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    if isinstance(key, EllipticCurvePrivateKey):
        return _ALGORITHMS.get(_CURVES.get(key.curve.name, ""), ())
    if isinstance(key, Ed25519PrivateKey):
        return ("EdDSA",)
    return ("RS256", "PS256", "RS384", "PS384", "RS512", "PS512") if isinstance(key, RSAPrivateKey) else ()
