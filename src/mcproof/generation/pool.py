"""Values that are worth a try wherever they fit."""

from __future__ import annotations

from typing import Any

TEXTS: tuple[str, ...] = (
    "",
    "a",
    "mcproof",
    "Hello, world",
    " ",
    "  padded  ",
    "line\nbreak",
    "tab\there",
    "\r\n",
    "\x00",
    "\x1b[31mred\x1b[0m",
    "\"quoted\" and 'quoted'",
    "back\\slash",
    "`whoami`",
    "$(id)",
    "; echo mcproof #",
    "| cat",
    "&& true",
    "../../../../etc/passwd",
    "/etc/hosts",
    "C:\\Windows\\system32",
    "file:///etc/hosts",
    "http://localhost:1/",
    "https://example.com/?q=a&b=%00#c",
    "' OR '1'='1",
    "1; DROP TABLE users; --",
    '") OR 1=1 --',
    "%s%s%n%x",
    "{0.__class__}",
    "${jndi:x}",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "<!-- -->",
    "]]>",
    "null",
    "undefined",
    "NaN",
    "true",
    "0",
    "-1",
    "1e309",
    "9007199254740993",
    "[]",
    "{}",
    '{"a": 1}',
    "Grüße",
    "世界",
    "🌍👩‍👩‍👧‍👦",
    "e\u0301",
    "\u202eright to left",
    "\ufeffmarked",
    "\u200b",
    "İstanbul",
    "ß",
    "Ω≈ç√∫",
    "مرحبا",
    "*.*",
    "^(a+)+$",
    "--help",
    "-",
    "#",
    "?",
    "%",
    "%00",
    "2024-01-01",
    "123e4567-e89b-42d3-a456-426614174000",
    "user@example.com",
    "a" * 255,
    "a" * 256,
    "x" * 2_000,
    "é" * 1_000,
)
"""Texts that programs trip over: of other scripts, and such that a shell, a database or a template would read."""

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:/\\'\"\n\t<>&%$#@!äöüß世界🌍"
"""The characters of random texts."""

WHOLE: tuple[int, ...] = (
    *(0, 1, -1, 2, 7, 10, 42, 100, 255, 256, 1000, 65535, 10**18),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64),
)
REAL: tuple[float, ...] = (0.5, -0.5, 0.1, 1.5, 1e-9, 5e-324, 3.141592653589793, 1e21, -1e21, 1e308, 123456.789)
ANYTHING: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 0.5, 2**53, "", "a", "世界"),
    *([], [1], [[]], {}, {"a": 1}, {"a": {"b": [None]}}),
)
"""Values for what may be anything."""
