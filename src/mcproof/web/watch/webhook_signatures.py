"""Sign webhooks as Standard Webhooks (standardwebhooks.com) describes, so that its libraries can verify them."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error as Base64Error

PREFIX = "whsec_"


def signing_key(secret: str) -> bytes:
    """Return the key of a secret: `whsec_` with base64, or any other text as it is."""
    if secret.startswith(PREFIX):
        try:
            return b64decode(secret.removeprefix(PREFIX), validate=True)
        except Base64Error:
            pass
    return secret.encode()


def signed_headers(secret: str, identity: str, timestamp: int, body: str) -> dict[str, str]:
    """Return the headers of a webhook: its id, the time of this attempt, and the signature of both and the body."""
    content = f"{identity}.{timestamp}.{body}".encode()
    signature = b64encode(hmac.digest(signing_key(secret), content, "sha256")).decode()
    return {
        "webhook-id": identity,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
        "content-type": "application/json",
    }
