"""What a user can do about a server that requires authorization."""

from __future__ import annotations

from mcproof.client.secrets import redacted_url
from mcproof.core.console import shell_word

WITHOUT_BROWSER = (
    "`--client-id ID --client-secret-env NAME` or `--header 'Authorization: Bearer ${TOKEN}'`, or `auth` in a suite"
)


def login_advice(url: str, scope: str = "") -> str:
    """The command that logs in, and what to use where no user can."""
    scopes = f" --scope {shell_word(scope)}" if scope else ""
    return f"run `mcproof auth login {shell_word(redacted_url(url))}{scopes}`; in CI, use {WITHOUT_BROWSER}"
