"""Markup in a text that does something or poses as a speaker, and other signs: paths of secrets, commands.

Links that run code, elements that load something, chat templates, HTTP addresses. Markup inside code spans and
fences is shown to people as it is, and does not count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.texts.model_texts import ModelTexts


QUOTATION = (
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|「[^」\n]{1,300}」|『[^』\n]{1,300}』"
    r"|`[^`\n]{1,300}`|(?<![\w'])'[^'\n]{3,300}'(?!\w)"
)
"""What a text quotes, on one line, in several languages."""
_CODE = r"(?s)```.*?(?:```|\Z)|`[^`\n]{1,500}`"


def code_ranges(text: str) -> list[tuple[int, int]]:
    """Where code starts and ends in a text."""
    return [match.span() for match in re.finditer(_CODE, text)] if "`" in text else []


def without_code(text: str) -> str:
    """A text with a space in place of its code."""
    return re.sub(_CODE, " ", text) if "`" in text else text


_SIGNS = (
    (b"<", rb"<(?i:\||<|/?im_|/?start_of|/?end_of|system|assistant|user>|instruction|important)"),
    (b"]", rb"\](?<=INST\])"),
    (b":", rb":(?:(?<=Human:)|(?<=HUMAN:)|(?<=ssistant:)|(?<=ASSISTANT:)|(?<=ystem:)|(?<=SYSTEM:)) "),
    (b"#", rb"#(?=## {1,3}(?:System|Instruction|Response|Human|Assistant):|#(?:System|Instr))"),
)
"""What a text with markup of a chat template has, each with its rarest character."""

_MARKUP = (
    r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end_of_text|begin_of_text|eot_id|end|start|channel"
    r"|message|return|(?:start|end)_header_id)\|>"
    r"|\[/?INST\]|<</?SYS>>|</?im_(?:start|end)>|<(?:start|end)_of_turn>"
    r"|(?:^|\n\n)(?:Human|Assistant|System|SYSTEM|ASSISTANT|HUMAN): (?=\w)"
    r"|(?:^|\n)###{0,3} {0,3}(?:System|Instruction|Response|Human|Assistant):"
)
_ELEMENT = (
    r"(?i)<(system|assistant|user|instructions?|important|system[-_ ]?(?:prompt|message|reminder|note|instructions?))>"
    r"(?=[^<]{12})"
)
_PLACEHOLDERS = ("user", "system", "assistant", "instructions", "instruction")
"""Names of elements that are also names of placeholders, such as `/home/<user>/notes`."""


_TAG = r"(?i)<\s{0,3}(?:important|system|instructions?|hidden)\s{0,3}>[^<]{0,60}"


def instruction_tag(text: str) -> str:
    """The first tag such as `<IMPORTANT>` outside quotation marks, and how it goes on; empty if there is none."""
    tag = re.search(_TAG, re.sub(QUOTATION, "", text))
    return " ".join(tag[0].split()) if tag is not None else ""


class ChatMarkup(NamedTuple):
    """Markup of a chat template in a text."""

    text: str
    marker: str


def chat_markup(texts: ModelTexts) -> list[ChatMarkup]:
    """The texts of a server with markup of chat templates, each with its first marker."""
    suspects = dict.fromkeys(text for sign in _SIGNS for text in texts.with_match(*sign))
    markers = ((text, chat_marker(text)) for text in suspects)
    return [ChatMarkup(text, marker) for text, marker in markers if marker]


_ABOUT_TEMPLATES = (
    r"(?i)\b(?:chat|prompt|conversation)[ _-]?(?:template|format|markup)|\bspecial tokens?\b|tokeni[sz]|\bdelimiters?\b"
    r"|\binjections?\b"
)


def chat_marker(text: str) -> str:
    """The first marker of a chat template outside code and quotations, in a text that is not about such markers."""
    if re.search(_ABOUT_TEMPLATES, text):
        return ""
    text = re.sub(QUOTATION, " ", without_code(text))
    match = re.search(_MARKUP, text)
    if match is not None:
        return match[0].strip()
    for element in re.finditer(_ELEMENT, text):
        name = element[1].lower()
        if name not in _PLACEHOLDERS or f"</{name}>" in text[element.end() : element.end() + 20_000].lower():
            return element[0]
    return ""


LINK, ELEMENT, ADDRESS = "markdown_dangerous_link", "html_element", "non_https_url"
LONGEST_SNIPPET, MOST_FOUND = 120, 20

# Patterns, which `re` compiles on first use: most servers have no text that gets so far.
_LINK = r"(?i)\]\(\s{0,9}<?\s{0,9}((?:javascript|vbscript|data)\s{0,3}:[^)\s]{0,200})"
_IMAGE_DATA = r"(?i)data:image/(?:png|jpe?g|gif|webp)"
_EMBEDDED = r"(?i)<(script|img|iframe|svg|object|embed)\b([^<>]{0,1000})>"
_ATTRIBUTE = r"\s[\w:-]{1,40}\s{0,9}="
_ADDRESS = r"(?i)\b(?:http|ftp|ws)://(?P<host>\[[0-9a-fA-F:.]{2,45}\]|[^\s/:?#\"'<>)\]}`,]{1,255})[^\s\"'<>)\]`]{0,200}"
_PRIVATE = (
    r"(?i)(?:localhost|.*\.(?:localhost|local|internal|lan|intranet|example|test|invalid)|(?:.*\.)?example\.(?:com|org|net)"
    r"|127\.[\d.]+|10\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+|169\.254\.[\d.]+|0\.0\.0\.0|\[.*\]"
    r"|[^.]*|.*[{}<>$*|%].*|\.{2,}.*)"
)
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
    for match in re.finditer(_LINK, text):
        start = text.rfind("[", max(0, match.start() - LONGEST_SNIPPET), match.start())
        is_image = start > 0 and text[start - 1] == "!" and re.match(_IMAGE_DATA, match[1]) is not None
        if not is_image and count < MOST_FOUND:
            count += 1
            yield DangerousMarkup(LINK, _snippet(text[max(start, 0) : match.end()]))


def _elements(text: str) -> Iterator[DangerousMarkup]:
    """Elements that load or run something; a bare `<img>` is a mention of the element or a placeholder."""
    count = 0
    for match in re.finditer(_EMBEDDED, text):
        has_script = match[1].lower() == "script" and "</script" in text[match.end() : match.end() + 2_000].lower()
        if (has_script or re.search(_ATTRIBUTE, match[2]) is not None) and count < MOST_FOUND:
            count += 1
            yield DangerousMarkup(ELEMENT, _snippet(match[0]))


def _addresses(text: str) -> Iterator[DangerousMarkup]:
    """Addresses without encryption; local hosts, placeholders, reserved names and namespaces are not links."""
    count = 0
    for match in re.finditer(_ADDRESS, text):
        host = match["host"].rstrip(".").lower()
        if re.fullmatch(_PRIVATE, host) is None and host not in _NAMESPACES and count < MOST_FOUND:
            count += 1
            yield DangerousMarkup(ADDRESS, _snippet(match[0]))


def _snippet(text: str) -> str:
    return text if len(text) <= LONGEST_SNIPPET else f"{text[:LONGEST_SNIPPET]} …"


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
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "authorized_keys", "known_hosts", "git-credentials", "sh_history"),
    *("mcp.json", "credential.", "credentials.", "claude_desktop_config", "keychain", "keyring", "keystore"),
    *("wallet.dat", "auth.log", "secret.", "secrets.", "password.", "passwords.", "private_key", "private-key"),
    *("cookies.sqlite", "system32", "ntds.dit", "appdata"),
)
"""Parts of which every match of `_FILE_NAME` has one."""


def secret_path(lowered: str) -> bool:
    """Whether a text in lower case has a path of keys, credentials or settings."""
    return next(secret_paths(lowered), None) is not None


def secret_paths(lowered: str) -> Iterator[int]:
    """Where such paths are in a text in lower case."""
    # Searches for fixed strings are fast, and most texts have none: docs/decisions/0050-texts-in-one-pass.md.
    if "." in lowered:
        yield from (match.start() for match in re.finditer(_DOTTED_PATH, lowered))
    if "/" in lowered:
        yield from (match.start() for match in re.finditer(_ABSOLUTE_PATH, lowered))
    if any(part in lowered for part in _FILE_NAME_PARTS):
        yield from (match.start() for match in re.finditer(_FILE_NAME, lowered))
