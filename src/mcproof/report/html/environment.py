"""The Jinja2 environment of every HTML page.

Autoescape is always on and nothing builds markup in Python, so that untrusted text cannot inject any. Control and
invisible characters are escaped in every output, too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from mcproof.core.console import plural, safe

LONGEST = 1000
"""The length at which untrusted text is truncated by default."""


@cache
def environment() -> Environment:
    """Return the environment with the templates of this package."""
    pages = Environment(
        loader=PackageLoader("mcproof.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters.update(crop=crop, number=number, plural=plural, code_parts=code_parts, words=words)
    return pages


def _visible(value: Any) -> Any:
    """Escape control and invisible characters in a text that is about to be printed."""
    return safe(value) if type(value) is str else value


def crop(value: str, limit: int = LONGEST) -> str:
    """Truncate a text."""
    return value if len(value) <= limit else value[:limit] + "…"


def number(value: int) -> str:
    """Return a number with thousands separators."""
    return f"{value:,}"


def words(value: str) -> str:
    """Return an identifier such as `not_tested` in words."""
    return value.replace("_", " ")


def code_parts(value: str) -> list[str]:
    """Split a sentence at its backticks: every second part is code. An unpaired backtick stays in the text."""
    parts = value.split("`")
    if len(parts) % 2 == 0:
        last = parts.pop()
        parts[-1] += f"`{last}"
    return parts


def content_policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of a page: only this style sheet and this script."""
    return (
        f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hashed(template: str) -> str:
    from base64 import b64encode
    from hashlib import sha256

    content = environment().get_template(template).render()
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
