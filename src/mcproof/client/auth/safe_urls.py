"""Checks of URLs from metadata, which is hostile input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.failures import AuthorizationError
from mcproof.client.secrets import redacted_url
from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    from urllib.parse import SplitResult

LONGEST_URL = 2_000
_DEFAULT_PORTS = {"https": 443, "http": 80}


class SiteOrigin(NamedTuple):
    """The scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int | None

    @property
    def is_secure(self) -> bool:
        """Whether requests to it cannot be read on the network: HTTPS, or this machine."""
        return self.scheme == "https" or (self.scheme == "http" and is_loopback(self.host))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_default = self.port == _DEFAULT_PORTS.get(self.scheme)
        return f"{self.scheme}://{host}" if is_default else f"{self.scheme}://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    from ipaddress import ip_address

    from mcproof.core.addresses import LOOPBACK, special_kind

    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return special_kind(ip_address(name)) == LOOPBACK
    except ValueError:
        return False


def origin_of(url: str) -> SiteOrigin:
    """The origin of a URL. Raises ValueError if it has none."""
    parts = _split(url)
    port = parts.port if parts.port is not None else _DEFAULT_PORTS.get(parts.scheme)
    return SiteOrigin(parts.scheme, (parts.hostname or "").lower(), port)


def _split(url: str) -> SplitResult:
    from urllib.parse import urlsplit

    if (
        not url.isascii()
        or not url.isprintable()
        or any(each in url for each in " \"<>\\^`{|}'")
        or len(url) > LONGEST_URL
    ):
        raise ValueError
    parts = urlsplit(url)
    if not parts.hostname or parts.scheme not in _DEFAULT_PORTS or parts.username is not None or parts.fragment:
        raise ValueError
    return parts


def checked_url(value: Any, what: str) -> str:
    """A URL from metadata that is safe to send to or to open. Raises an AuthorizationError that names it `what`."""
    try:
        if isinstance(value, str) and origin_of(value).is_secure:
            return value
    except ValueError:
        pass
    shown = cropped(redacted_url(value)) if isinstance(value, str) else type(value).__name__
    raise AuthorizationError(f"{what} is not an https URL: {shown}")


def is_same_issuer(one: str, other: str) -> bool:
    """Whether two issuers are the same.

    `https://host` and `https://host/` are the same URL, and many servers publish one for the other. Nothing else is
    normalized.
    """
    return _without_root(one) == _without_root(other)


def _without_root(url: str) -> str:
    return url[:-1] if url.endswith("/") and url.count("/") == 3 else url


def is_within(url: str, resource: str) -> bool:
    """Whether a URL is a resource or is below it: the same origin, and the path of the resource or one below."""
    try:
        if origin_of(url) != origin_of(resource):
            return False
        path, root = _split(url).path or "/", _split(resource).path or "/"
    except ValueError:
        return False
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def canonical_url(url: str) -> str:
    """A URL that the user names, with a lower-case origin, without login, default port and fragment."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port if parts.port is not None else _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return url
    origin = SiteOrigin(parts.scheme, (parts.hostname or "").lower(), port)
    query = f"?{parts.query}" if parts.query else ""
    return f"{origin}{parts.path}{query}"
