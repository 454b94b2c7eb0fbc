"""Paths of keys, credentials and settings in a text."""

from __future__ import annotations

import re

_DOTTED_PATH = (
    r"\.(?:ssh\b|aws(?![\w-])|env\b|netrc|npmrc|pypirc|gitconfig|kube|gnupg|docker/config|(?:bash|zsh)rc"
    r"|(?:bash_)?profile\b|cursor\b|claude\b|(?:pem|p12|pfx|kdbx)\b|git/config|config/(?:gcloud|gh))"
)
_ABSOLUTE_PATH = (
    r"/(?:etc/(?:passwd|shadow|sudoers|group|crontab|hosts)|credentials\b|environ\b|root/"
    r"|/(?<=://)(?:confidential|secrets?|admin|internal|private)\b)"
)
_FILE_NAME = (
    r"id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys|known_hosts|git-credentials|sh_history|mcp\.json"
    r"|credentials?\.(?:json|txt|ya?ml|csv|db|xml)|claude_desktop_config|key(?:chain|ring|store)s?\b|wallet\.dat"
    r"|auth\.log|secrets?\.(?:json|ya?ml|txt|toml|env)|passwords?\.(?:txt|xlsx?|csv|json|kdbx|docx?)"
    r"|private[_-]keys?\.|cookies\.sqlite|system32|ntds\.dit|appdata"
)
_FILE_NAME_PARTS = (
    *("id_", "_keys", "_hosts", "credential", "sh_history", "mcp.json", "claude_desktop_config", "key", "wallet.dat"),
    *("auth.log", "secret", "password", "private", "cookies.sqlite", "system32", "ntds.dit", "appdata"),
)
"""Parts of which every match of `_FILE_NAME` has one."""


def secret_path(lowered: str) -> bool:
    """Whether a text in lower case has a path of keys, credentials or settings."""
    return bool(
        ("." in lowered and re.search(_DOTTED_PATH, lowered))
        or ("/" in lowered and re.search(_ABSOLUTE_PATH, lowered))
        or (any(part in lowered for part in _FILE_NAME_PARTS) and re.search(_FILE_NAME, lowered))
    )
