"""Strings that are secrets by their shape: keys, tokens, passwords in URLs.

Only unmistakable shapes count; placeholders and examples do not. How secrets are masked is in `client.redaction`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcproof.core.named_tuple import NamedTuple

_START = r"(?<![\w-])"
# All repetitions are bounded, because texts come from strangers: docs/decisions/0010-hostile-input.md.
_SHAPES = {
    "private_key": r"-----BEGIN (?:[A-Z]{1,20} ){0,3}PRIVATE KEY-----",
    "stripe_key": _START + r"(?:sk|rk)[-_](?:live|test)[-_][A-Za-z0-9_-]{16,200}",
    "anthropic_key": _START + r"(?:sk|rk)[-_]ant[-_][A-Za-z0-9_-]{16,200}",
    "openai_key": _START + r"(?:(?:sk|rk)[-_](?:proj|svcacct|or)[-_][A-Za-z0-9_-]{16,200}|sk-[A-Za-z0-9]{32,200})",
    "github_token": _START + r"(?:gh[opusr]_[A-Za-z0-9]{36,200}|github_pat_[A-Za-z0-9_]{40,200})",
    "gitlab_token": _START + r"glpat-[A-Za-z0-9_-]{20,200}",
    "slack_token": _START + r"xox[abprs]-[A-Za-z0-9-]{20,200}",
    "aws_access_key": _START + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)",
    "google_api_key": _START + r"AIza[A-Za-z0-9_-]{35}(?![\w-])",
    "jwt": _START + r"eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,2000}",
    "url_password": (
        r"(?<![\w+.-])[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'?#]{0,100}:(?P<password>[^\s:/@\"']{3,100})@(?P<host>[\w.-]{1,200})"
    ),
    "url_parameter": (
        r"[?&](?i:api[-_]?key|appid|access[-_]token|auth[-_]token|client[-_]secret|subscription-key)="
        r"(?P<parameter>[A-Za-z0-9_.~%+-]{12,200})"
    ),
    "bearer_token": r"(?<!\w)Bearer (?P<bearer>[A-Za-z0-9_.~+/-]{20,400})",
}
"""What secrets look like, by the name of the shape."""
_ANY_SHAPE = re.compile("|".join(f"(?P<{name}>{shape})" for name, shape in _SHAPES.items()))
_INNER = ("password", "parameter", "bearer")
"""Groups for the secret part of a shape; other shapes are secret as a whole."""
_INVENTED_WORD = re.compile(
    r"(?i)example|your|placeholder|redacted|hidden|x{4}|\.{3}|\*{3}|[<>{}]|^[\[$]|%[sd]|^my[-_]"
)
"""What no real secret contains."""
_INVENTED_LOGIN = frozenset({"pass", "passwd", "password", "pwd", "secret", "host", "hostname"})
_FEWEST = 6
"""The minimum of different characters in a secret."""


class SecretShape(NamedTuple):
    """A string shaped like a secret."""

    pattern: str
    """The name of the shape, such as `github_token`."""
    value: str
    """The secret itself, which must not be shown; of a private key only its header."""
    shown: str
    """What may be shown of it."""


_MARKS = (
    *("-----BEGIN", "sk-", "sk_", "rk-", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("xox", "AKIA", "ASIA", "AIza", "eyJ", "://", "?", "&", "Bearer "),
)
"""Of which every shape has one; most texts have none, and are not searched."""


def secrets_in(text: str) -> Iterator[SecretShape]:
    """Yield the secrets of a text, without placeholders."""
    if not any(fragment in text for fragment in _MARKS):
        return
    for match in _ANY_SHAPE.finditer(text):
        pattern = next(name for name in _SHAPES if match[name] is not None)
        inner = next((match[group] for group in _INNER if match[group] is not None), None)
        value = inner or match[0]
        if not _is_invented(pattern, value, match["host"] or ""):
            yield SecretShape(pattern, value, _shown(pattern, match[0], inner))


def _shown(pattern: str, whole: str, inner: str | None) -> str:
    if pattern == "private_key":
        return whole
    return f"{whole.partition(inner)[0] if inner else whole[:4]}***"


def _is_invented(pattern: str, value: str, host: str) -> bool:
    """Whether a secret is a placeholder or already redacted."""
    if pattern == "private_key":
        return False
    if pattern == "url_password":
        names = {value.lower(), host.lower()}
        return len(set(value)) < 3 or bool(names & _INVENTED_LOGIN) or _INVENTED_WORD.search(value) is not None
    is_varied = len(set(value)) >= _FEWEST and any(character.isdigit() for character in value)
    return not is_varied or _INVENTED_WORD.search(value) is not None
