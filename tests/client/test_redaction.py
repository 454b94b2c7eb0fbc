"""Redaction of secrets in commands, URLs and texts."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.client.redaction import (
    hiding,
    hiding_in_catalogs,
    redacted_command,
    redacted_text,
    redacted_url,
    secrets_of_command,
    secrets_of_url,
)

KEY = "sk-abcdefghijklmnop1234"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["npx", "-y", "server"], ["npx", "-y", "server"]),
        (["s", "--api-key", "hunter2"], ["s", "--api-key", "***"]),
        (["s", "--api-key=hunter2"], ["s", "--api-key=***"]),
        (["s", "--apiKey=hunter2"], ["s", "--apiKey=***"]),
        (["s", "--authToken", "hunter2"], ["s", "--authToken", "***"]),
        (["docker", "-e", "API_TOKEN=hunter2"], ["docker", "-e", "API_TOKEN=***"]),
        (["s", "--header", "Authorization: Bearer hunter2"], ["s", "--header", "Authorization: ***"]),
        (["s", "--header=Authorization: Bearer hunter2"], ["s", "--header=Authorization: ***"]),
        (["s", "--header=X-Api-Key: hunter2"], ["s", "--header=X-Api-Key: ***"]),
        (["s", "postgres://me:hunter2@db/x"], ["s", "postgres://db/x"]),
        (["s", "--db=postgres://me:hunter2@db/x"], ["s", "--db=postgres://db/x"]),
        (["s", "DATABASE_URL=postgres://me:hunter2@db/x?a=1"], ["s", "DATABASE_URL=postgres://db/x?a=***"]),
        (["s", KEY], ["s", "***"]),
        (["s", f"--x={KEY}"], ["s", "--x=***"]),
        (["s", "--keyboard", "qwerty"], ["s", "--keyboard", "qwerty"]),
        (["s", "--monkey", "banana"], ["s", "--monkey", "banana"]),
        (["s", "--token", "--verbose"], ["s", "--token", "--verbose"]),
        (["s", "--token="], ["s", "--token="]),
        (["/a/long/path/to/the/server/that/has/more/than/forty/characters.js"],) * 2,
        (["node_modules/.bin/desktop-commander"],) * 2,
        (["risk-assessment-server", "skeleton-of-a-server"],) * 2,
    ],
)
def test_a_command_is_shown_without_its_secrets(command: list[str], shown: list[str]) -> None:
    assert redacted_command(command) == shown


def test_what_is_hidden_in_a_command_is_known() -> None:
    command = ["s", "--token", "hunter2", "--header=Authorization: Bearer hunter3", KEY, "postgres://me:hunter4@db"]
    assert {"hunter2", "hunter3", KEY, "hunter4"} <= set(secrets_of_command(command))
    assert secrets_of_command(["npx", "-y", "server"]) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/mcp", "https://host/mcp"),
        ("https://me:hunter2@host:8080/mcp", "https://host:8080/mcp"),
        ("https://host/mcp?key=hunter2&x=1&flag", "https://host/mcp?key=***&x=***&***"),
        ("https://host/mcp#hunter2", "https://host/mcp"),
        (f"https://host/{KEY}/mcp", "https://host/***/mcp"),
        ("https://me:hunter2@[::1]:80/mcp", "https://[::1]:80/mcp"),
        ("https://me:hunter2@[::1/mcp", "***"),
        ("/relative?session=hunter2", "/relative?session=***"),
        ("", ""),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert redacted_url(url) == shown


def test_what_is_hidden_in_a_url_is_known_however_it_is_repeated() -> None:
    found = secrets_of_url("https://me:hunt%65r2@host/mcp?key=a+b%2Fc&flag")
    assert {"hunt%65r2", "hunter2", "a+b%2Fc", "a b/c", "a+b/c", "flag", "bWU6aHVudGVyMg=="} <= set(found)


def test_a_broken_url_is_a_secret_as_a_whole() -> None:
    assert "http://[broken" in secrets_of_url("http://[broken")


def test_a_text_is_shown_without_what_looks_like_a_secret() -> None:
    assert redacted_text(f"see https://me:pw@host/x?y=1 and {KEY}.") == "see https://host/x?y=*** and ***"


@pytest.mark.parametrize(
    ("secret", "text", "shown"),
    [
        ("hunter2", "the key hunter2 is wrong, hunter2!", "the key *** is wrong, ***!"),
        ("hunter2", "nothing here", "nothing here"),
        ("abc", "abc is too short to hide", "abc is too short to hide"),
        ("", "empty", "empty"),
        ("hunter2", "cropped: hunte…", "cropped: ***…"),
        ("hunter2", "cropped (hunte…) and more", "cropped (***…) and more"),
        ("hunter2", "cut off: hunter", "cut off: ***"),
        ("hunter2", "hunted and gone", "hunted and gone"),
        ("hunter2\n", "the key hunter2.", "the key ***."),
        ("-----BEGIN KEY-----\nabcdefghij\n-----END KEY-----\n", "bad line abcdefghij", "bad line ***"),
        ("Basic bWU6aHVudGVyMi1odW50ZXIy", "no user me with hunter2-hunter2", "no user me with ***"),
    ],
)
def test_a_known_secret_is_hidden_in_a_text(secret: str, text: str, shown: str) -> None:
    assert hiding([secret])(text) == shown


CODINGS: dict[str, Callable[[str], str]] = {
    "half": lambda text: text[:9],
    "the end": lambda text: text[-9:],
    "upper case": str.upper,
    "percent": lambda text: quote(text, safe=""),
    "percent for every byte": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "percent, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON": json.dumps,
    "JSON for every character": lambda text: "".join(f"\\u{ord(character):04X}" for character in text),
    "HTML": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "HTML in hexadecimal": lambda text: "".join(f"&#x{ord(character):x};" for character in text),
    "HTML without semicolons": lambda text: "".join(f"&#{ord(character)}" for character in text),
    "HTML with zeros": lambda text: "".join(f"&#{ord(character):09d};" for character in text),
    "Python in eight digits": lambda text: "".join(f"\\U{ord(character):08x}" for character in text),
    "Python in octal": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()),
    "hexadecimal": lambda text: text.encode().hex().upper(),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64 in a longer text": lambda text: b64encode(f"x{text}y".encode()).decode(),
    "base64 of a part": lambda text: b64encode(text[:12].encode()).decode(),
    "base64 in percent": lambda text: quote(b64encode(text.encode()).decode(), safe=""),
}


@pytest.mark.parametrize("hide", [hiding, lambda secrets: hiding_in_catalogs(("token", each) for each in secrets)])
@pytest.mark.parametrize("coding", CODINGS)
def test_a_secret_is_hidden_in_part_and_however_it_is_coded(coding: str, hide: Any) -> None:
    secret = 'Xy7"/hunter2+Hunter2/zß='  # noqa: S105
    coded = CODINGS[coding](secret)
    shown = hide([secret])(f"before {coded} after")
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert coded not in shown
    # What remains of it is too short to be used.
    assert all(shown.find(coded[at : at + 8]) < 0 for at in range(len(coded) - 7))


@pytest.mark.parametrize(
    "coding",
    [
        html.escape,
        json.dumps,
        repr,
        ascii,
        lambda text: html.escape(json.dumps(text)),
        lambda text: json.dumps(html.escape(text)),
        lambda text: quote(html.escape(text)),
        lambda text: text.replace("ü", "&uuml;"),
    ],
)
@pytest.mark.parametrize(
    "secret", ['p&w<Q7>"z\'&K9<m>&"v4&', "ab\tcd7\tef9\tgh2\tij", "😀k7😀p9😀q2😀", "üa7üb8üc9üd1"]
)
def test_no_character_of_a_secret_keeps_it_from_being_found(coding: Callable[[str], str], secret: str) -> None:
    """Error pages and logs write some characters with a name or a letter: `&lt;`, `\\t`, or as two surrogates."""
    shown = hiding([secret])(f"before {coding(secret)} after")
    assert re.fullmatch(r"before [\"'\\&;a-z]*\*\*\*[\"'\\&;a-z]* after", shown)


PIECES = [
    "\\t",
    "&lt;",
    "&#0065",
    "\\U00000041",
    "\\U00110000",
    "\\101",
    "😀",
    "%41",
    "\\u0041",
    "&#65;",
    "&#x110000;",
    '\\"',
    "hunter2-",
    "Hunter2/",
    "%25",
    "41",
    "İ",
    "…",
]


@given(st.lists(st.sampled_from(PIECES)))
def test_no_text_breaks_the_search_for_escapes(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert "hunter2-hunter2/" not in hiding(["hunter2-Hunter2/"])(text).lower()


def test_ordinary_words_are_no_parts_of_a_secret() -> None:
    hide = hiding(["production-settings", "/home/someone/projects"])
    assert hide("no /home/someone/other in production here") == "no /home/someone/other in production here"


def test_the_longer_of_two_secrets_is_hidden_first() -> None:
    assert hiding(["hunter", "hunter2-and-more"])("x hunter2-and-more y hunter z") == "x *** y *** z"
