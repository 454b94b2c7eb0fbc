"""Markup in a text that a client may render: links that run code, elements that load something, HTTP addresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.poisoning.code_spans import without_code

if TYPE_CHECKING:
    from collections.abc import Iterator

LINK, ELEMENT, ADDRESS = "markdown_dangerous_link", "html_element", "non_https_url"
LONGEST_SNIPPET, MOST_FOUND = 120, 20

_link = re.compile(r"\]\(\s{0,9}<?\s{0,9}((?:javascript|vbscript|data)\s{0,3}:[^)\s]{0,200})", re.IGNORECASE)
_image_data = re.compile(r"data:image/(?:png|jpe?g|gif|webp)", re.IGNORECASE).match
_element = re.compile(r"<(script|img|iframe|svg|object|embed)\b([^<>]{0,1000})>", re.IGNORECASE)
_attribute = re.compile(r"\s[\w:-]{1,40}\s{0,9}=").search
_address = re.compile(
    r"\b(?:http|ftp|ws)://(?P<host>\[[0-9a-fA-F:.]{2,45}\]|[^\s/:?#\"'<>)\]}`,]{1,255})[^\s\"'<>)\]`]{0,200}",
    re.IGNORECASE,
)
_private = re.compile(
    r"(?:localhost|.*\.(?:localhost|local|internal|lan|intranet|example|test|invalid)|(?:.*\.)?example\.(?:com|org|net)"
    r"|127\.[\d.]+|10\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+|169\.254\.[\d.]+|0\.0\.0\.0|\[.*\]"
    r"|[^.]*|.*[{}<>$*|%].*|\.{2,}.*)",
    re.IGNORECASE,
).fullmatch
_NAMESPACES = frozenset(
    ("json-schema.org", "www.w3.org", "schema.org", "xmlns.com", "purl.org", "www.opengis.net", "schemas.xmlsoap.org")
)
"""Hosts of identifiers that look like addresses."""


class DangerousMarkup(NamedTuple):
    """A piece of markup that does something when rendered."""

    kind: str
    snippet: str


def may_have_markup(text: str) -> bool:
    """Whether a text may have dangerous markup; costs a few substring searches."""
    return "<" in text or "](" in text or "://" in text


def dangerous_markup(text: str) -> list[DangerousMarkup]:
    """The dangerous markup of a text outside its code spans, at most `MOST_FOUND` pieces of each kind."""
    if not may_have_markup(text):
        return []
    text = without_code(text)
    return [*_links(text), *_elements(text), *_addresses(text)]


def _links(text: str) -> Iterator[DangerousMarkup]:
    """Markdown links that run code; images as data are harmless."""
    count = 0
    for match in _link.finditer(text):
        start = text.rfind("[", max(0, match.start() - LONGEST_SNIPPET), match.start())
        is_image = start > 0 and text[start - 1] == "!" and _image_data(match[1]) is not None
        if not is_image and count < MOST_FOUND:
            count += 1
            yield DangerousMarkup(LINK, _snippet(text[max(start, 0) : match.end()]))


def _elements(text: str) -> Iterator[DangerousMarkup]:
    """Elements that load or run something; a bare `<img>` is a mention of the element or a placeholder."""
    count = 0
    for match in _element.finditer(text):
        has_script = match[1].lower() == "script" and "</script" in text[match.end() : match.end() + 2_000].lower()
        if (has_script or _attribute(match[2]) is not None) and count < MOST_FOUND:
            count += 1
            yield DangerousMarkup(ELEMENT, _snippet(match[0]))


def _addresses(text: str) -> Iterator[DangerousMarkup]:
    """Addresses without encryption; local hosts, placeholders, reserved names and namespaces are not links."""
    count = 0
    for match in _address.finditer(text):
        host = match["host"].rstrip(".").lower()
        if _private(host) is None and host not in _NAMESPACES and count < MOST_FOUND:
            count += 1
            yield DangerousMarkup(ADDRESS, _snippet(match[0]))


def _snippet(text: str) -> str:
    return text if len(text) <= LONGEST_SNIPPET else f"{text[:LONGEST_SNIPPET]} …"
