"""The attacks: texts that a tool must treat as data, and that show an effect if it does not.

Texts contain placeholders, so that reports and stored failures have no random values: `<value>` is the valid value of
the argument, `<factor>` a number for each case; `traps` fills in the others when a call is sent.

No attack changes anything. SQL attacks only leave a quote open, so that no statement is executed. Commands only print
a product, at most to a file in the temporary folder of mcproof.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

AttackFamily = Literal[
    "path_traversal", "command_injection", "sql_injection", "template_injection", "request_forgery", "hostile_text"
]
FAMILIES: tuple[AttackFamily, ...] = get_args(AttackFamily)
"""The families, in the order in which they are sent; each is the `probe` of its records."""

FAMILY_NAMES: dict[str, str] = {
    "path_traversal": "path traversal",
    "command_injection": "command injection",
    "sql_injection": "SQL injection",
    "template_injection": "template injection",
    "request_forgery": "server-side request forgery",
    "hostile_text": "hostile text",
}


class Attack(NamedTuple):
    """One text for an argument."""

    family: AttackFamily
    description: str
    """What the text is, after the name of the argument: "with an open quote"."""
    text: str
    is_thorough: bool = False
    """Whether it is sent only to arguments that suggest its family."""


def _table(family: AttackFamily, *rows: tuple[str, str]) -> tuple[Attack, ...]:
    return tuple(Attack(family, description, text) for description, text in rows)


CHAIN_LENGTHS = (24, 12, 8, 6, 4)
"""How many `..` a path has; the longest that the schema allows is sent. Too many do no harm: `/..` is `/`."""
MOST_FOLDERS = 5
"""How many folders of the server are used in paths."""

_ECHO = "echo mcp$((41*<factor>))proof"
"""The shell computes the product, so that an echo of the text itself proves nothing."""
_PRODUCT = "41*<factor>"

COMMANDS = _table(
    "command_injection",
    ("with a command after `;`", f"<value>; {_ECHO}"),
    ("with `$(…)`", f"<value>$({_ECHO})"),
    ("with a command after `|`", f"<value> | {_ECHO}"),
    ("with a command after `&&`", f"<value> && {_ECHO}"),
    ("with a command after `||`", f"<value> || {_ECHO}"),
    ("with a command after a line break", f"<value>\n{_ECHO}\n"),
    ("with backticks", f"<value>`{_ECHO}`"),
    ("with a closed `'` and a command", f"<value>'; {_ECHO}; '"),
    ('with a closed `"` and a command', f'<value>"; {_ECHO}; "'),
    ("with a command that prints to a file", f"<value>; {_ECHO} | tee <proof file>"),
    ("as a Python expression that starts a shell", f"__import__('os').popen('{_ECHO}').read()"),
    ("as a JavaScript expression that starts a shell", f"require('child_process').execSync('{_ECHO}').toString()"),
)
QUOTES = _table(
    "sql_injection",
    ("with an open `'`", "<value>'"),
    ('with an open `"`', '<value>"'),
    ("with an open `'` and a closed parenthesis", "<value>')"),
    ("with an open backtick", "<value>`"),
    ("with a backslash before the closing quote", "<value>\\"),
)
"""Texts that break the syntax of a statement and are never executed."""
TEMPLATES = tuple(
    Attack("template_injection", f"with `{shown}`", f"mcp{text}proof")
    for shown, text in (
        ("{{…}}", f"{{{{{_PRODUCT}}}}}"),
        ("${…}", f"${{{_PRODUCT}}}"),
        ("<%= … %>", f"<%= {_PRODUCT} %>"),
        ("#{…}", f"#{{{_PRODUCT}}}"),
        ("{…}", f"{{{_PRODUCT}}}"),
        ("@(…)", f"@({_PRODUCT})"),
    )
)
URLS = _table(
    "request_forgery",
    ("as a URL of 127.0.0.1", "http://<listener>/<token>"),
    ("as a URL of localhost", "http://localhost:<listener port>/<token>"),
    ("as a URL of 127.1", "http://127.1:<listener port>/<token>"),
    ("as a URL of 2130706433, which is 127.0.0.1", "http://2130706433:<listener port>/<token>"),
    ("as a URL of an IPv6 address for 127.0.0.1", "http://[::ffff:127.0.0.1]:<listener port>/<token>"),
    ("as a URL of 127.0.0.1 after a user name", "http://example.com@<listener>/<token>"),
    ("as a host and a path", "<listener>/<token>"),
)
HOSTILE_TEXTS = _table(
    "hostile_text",
    ("with a NUL", "<value>\x00"),
    ("with control characters", "<value>\x01\x07\x08\x0b\x0c\x1b[2J\x7f\x85\u2028\u202e"),
    ("with format directives", "%s%n%x{0}{}%(a)s$1"),
    ("with 10,000 characters on a line", "a" * 10_000),
)


TABLES: dict[AttackFamily, tuple[Attack, ...]] = {
    "command_injection": COMMANDS,
    "sql_injection": QUOTES,
    "template_injection": TEMPLATES,
    "request_forgery": URLS,
    "hostile_text": HOSTILE_TEXTS,
}
"""The attacks that are the same for every argument."""


def path_attacks(extension: str, valid_folder: str, folders: int, depth: int) -> list[Attack]:
    """The paths out of any folder, with chains of `depth` times `..`.

    They name a file with an extension. Some start at the folder of the valid value, or at one of the server's folders.
    """

    def up(step: str, last: str) -> str:
        return step * (depth - 1) + last

    chain = up("../", "..")
    file = f"<marker>{extension}"
    rows = [
        ("as an absolute path", file, False),
        ("with a chain of `../`", f"{chain}{file}", False),
        ("with a chain of `../` after a valid value", f"<value>/{chain}{file}", False),
        ("with a URL-encoded chain of `../`", up("%2e%2e%2f", f"%2e%2e<encoded marker>{extension}"), False),
        ("as a `file:` URI", f"file://{file}", True),
        ("with a chain of `/../`", f"/{chain}{file}", True),
        ("with a chain of `....//`", up("....//", f"..../{file}"), True),
        ("with a chain of `..\\`", up("..\\", f"..<marker with backslashes>{extension}"), True),
        (
            "with a chain of `../` encoded twice",
            up("%252e%252e%252f", f"%252e%252e<marker encoded twice>{extension}"),
            True,
        ),
        ("as an absolute path of a folder", "<marker folder>", True),
        ("with a chain of `../` to a folder", f"{chain}<marker folder>", True),
    ]
    if valid_folder:
        rows.append(("with a chain of `../` after the folder of a valid value", f"{valid_folder}/{chain}{file}", False))
    if not extension:
        rows += [(f"with a chain of `../` to a `{end}` file", f"{chain}{file}{end}", True) for end in (".txt", ".md")]
    for number in range(1, folders + 1):
        rows += [
            ("with a chain of `../` after a folder of the server", f"<folder {number}>/{chain}{file}", True),
            ("as a path that begins like a folder of the server", f"<beside folder {number}>{extension}", True),
            (
                "as a relative path that begins like a folder of the server",
                f"../<name beside folder {number}>{extension}",
                True,
            ),
        ]
    return [Attack("path_traversal", *row) for row in rows]
