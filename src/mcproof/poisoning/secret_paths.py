"""Paths of keys, credentials and settings in a text."""

from __future__ import annotations

import re

_dotted_path = re.compile(
    r"\.(?:ssh\b|aws(?![\w-])|env\b|netrc|npmrc|pypirc|gitconfig|kube|gnupg|docker/config|(?:bash|zsh)rc"
    r"|(?:bash_)?profile\b|cursor\b|claude\b|(?:pem|p12|pfx|kdbx)\b|git/config|config/(?:gcloud|gh))"
).search
_absolute_path = re.compile(
    r"/(?:etc/(?:passwd|shadow|sudoers|group|crontab|hosts)|credentials\b|environ\b|root/"
    r"|/(?<=://)(?:confidential|secrets?|admin|internal|private)\b)"
).search
_file_name = re.compile(
    r"id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys|known_hosts|git-credentials|sh_history|mcp\.json"
    r"|credentials?\.(?:json|txt|ya?ml|csv|db|xml)|claude_desktop_config|key(?:chain|ring|store)s?\b|wallet\.dat"
    r"|auth\.log|secrets?\.(?:json|ya?ml|txt|toml|env)|passwords?\.(?:txt|xlsx?|csv|json|kdbx|docx?)"
    r"|private[_-]keys?\.|cookies\.sqlite|system32|ntds\.dit|appdata"
).search
_FILE_NAME_PARTS = (
    *("id_", "_keys", "_hosts", "credential", "sh_history", "mcp.json", "claude_desktop_config", "key", "wallet.dat"),
    *("auth.log", "secret", "password", "private", "cookies.sqlite", "system32", "ntds.dit", "appdata"),
)
"""Parts of which every match of `_file_name` has one."""


def secret_path(lowered: str) -> bool:
    """Whether a text in lower case has a path of keys, credentials or settings."""
    return bool(
        ("." in lowered and _dotted_path(lowered))
        or ("/" in lowered and _absolute_path(lowered))
        or (any(part in lowered for part in _FILE_NAME_PARTS) and _file_name(lowered))
    )
