"""Names for targets that give nothing away: what a report may say about a command or a URL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HIDDEN = "***"
_SECRET_WORD = re.compile(
    r"(?i)(^|[-_.])(api[-_.]?key|key|token|secret|password|passwd|pwd|auth|authorization|credentials?|bearer)s?$"
)
_SECRET_SHAPE = re.compile(
    r"(sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abps]|AKIA|AIza|ey[JK])[-_A-Za-z0-9.]{12,}|[A-Fa-f0-9]{32,}|[-_A-Za-z0-9+/]{40,}={0,2}"
)


def redacted_command(command: Sequence[str]) -> list[str]:
    """A command without the values that look like secrets."""
    shown: list[str] = []
    hide_next = False
    for word in command:
        if hide_next and not word.startswith("-"):
            shown.append(HIDDEN)
            hide_next = False
            continue
        name, equals, value = word.partition("=")
        if equals and _SECRET_WORD.search(name):
            shown.append(f"{name}={HIDDEN}")
        elif "://" in word:
            shown.append(redacted_url(word))
        else:
            shown.append(f"{name}={redacted_text(value)}" if equals else redacted_text(word))
        hide_next = word.startswith("-") and not equals and _SECRET_WORD.search(word) is not None
    return shown


def redacted_text(text: str) -> str:
    """A text without what has the shape of a secret; paths and plain words stay."""
    return _SECRET_SHAPE.sub(lambda found: found[0] if "/" in found[0] else HIDDEN, text)


def redacted_url(url: str) -> str:
    """A URL without its user, password, fragment and the values of its query."""
    from urllib.parse import urlsplit, urlunsplit

    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return HIDDEN
    query = "&".join(
        f"{pair.partition('=')[0]}={HIDDEN}" if "=" in pair else HIDDEN for pair in parts.query.split("&") if pair
    )
    path = "/".join(redacted_text(segment) for segment in parts.path.split("/"))
    return urlunsplit((parts.scheme, host, path, query, ""))


def without(text: str, secrets: Iterable[str]) -> str:
    """A text in which known secrets are hidden, wherever a server may repeat them."""
    for secret in sorted({each for each in secrets if len(each) >= 4}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text
