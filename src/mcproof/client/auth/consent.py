"""Consent: the credential of a client goes only to an authorization server that the user names or has confirmed.

A server names its authorization server itself, so a hostile one could name its own and receive the secret.
Why the server's own origin is no exception: docs/decisions/0071-credentials-need-consent.md.
"""

from __future__ import annotations

import os
import sys

from mcproof.client.auth.tokens import consented_issuer, save_consent
from mcproof.client.errors import AuthorizationError
from mcproof.client.http.policy import is_same_issuer
from mcproof.client.redaction import redacted_url
from mcproof.client.waiting import typed_line
from mcproof.core.console import safe, shell_word, tell
from mcproof.core.errors import WriteError

_YES = ("y", "yes")


async def require_consent(url: str, issuer: str) -> None:
    """Return if the credential may be sent to this issuer for the server at a URL; raise AuthorizationError if not.

    At a terminal the user is asked, once for each server and issuer.
    """
    consented = consented_issuer(url)
    if consented is not None and is_same_issuer(issuer, consented):
        return
    shown = safe(redacted_url(issuer))
    if not (_is_terminal() and await _confirms(safe(redacted_url(url)), shown)):
        raise AuthorizationError(
            f"the server names {shown} as its authorization server; the secret or key of a client is sent only to one "
            f"that you name: add `--issuer {shell_word(shown)}` if it is yours"
        )
    try:
        save_consent(url, issuer)
    except WriteError as error:
        raise AuthorizationError(f"the confirmed authorization server cannot be stored: {error}") from None


def _is_terminal() -> bool:
    try:
        return os.isatty(sys.stdin.fileno()) and os.isatty(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):  # a stream that is closed or is no file
        return False


async def _confirms(server: str, issuer: str) -> bool:
    tell(f"{server} names {issuer} as its authorization server")
    sys.stderr.write("  send the secret or key of your client there? [y/N] ")
    sys.stderr.flush()
    line = await typed_line()
    if not line.endswith("\n"):  # the end of the input
        sys.stderr.write("\n")
    return line.strip().lower() in _YES
