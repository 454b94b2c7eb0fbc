"""The effects that prove an attack: they cannot come from a server that treats its arguments as data.

An echo of the request proves nothing: the content of the marker, the product that a shell or a template computes and
the name of the file beside the marker are in no request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.core.observations.connection import cropped

if TYPE_CHECKING:
    from mcproof.client.session import Response
    from mcproof.prove.hostile.attacks import AttackFamily
    from mcproof.prove.hostile.traps import Traps

_PRODUCT = re.compile(r"41\*(\d{5})")
_LOOKED_AT = 200_000
"""How much of a response is searched for an error about SQL."""
_SQL_NAMED = re.compile(
    r"You have an error in your SQL syntax|\bORA-\d{5}\b|\bSQLSTATE\b|\bSQL\d{4}N\b|SQLITE_ERROR"
    r"|DB::Exception: Syntax error|(?:sqlite3|psycopg\w{0,3}|asyncpg|pymysql|aiomysql|pyodbc|oracledb)\.[\w.]{1,60}"
    r"|(?:Postgres|MySQL|MariaDB|SqlServer|Sqlite|SQLite)\w{0,20}(?:Error|Exception)"
)
"""Errors that name SQL, a database or its driver."""
_SQL_SYNTAX = re.compile(
    r'(?<!fts5: syntax error )near \\{0,3}".{0,80}?": syntax error|unrecognized token: \\{0,3}"'
    r"|unterminated quoted (?:string|identifier)|syntax error at (?:or near|end of input)"
    r"|Unclosed quotation mark|Incorrect syntax near|quoted string not properly terminated"
)
"""The words of SQLite, PostgreSQL, DuckDB, SQL Server and Oracle for a statement that cannot be parsed."""
_SEARCH_SYNTAX = re.compile(r"fts5: syntax error|in tsquery")
"""Errors about a search expression, which is passed as a parameter."""


def text_of(response: Response) -> str:
    """All texts of a response, one a line; empty if there is none."""
    texts: list[str] = []
    waiting: list[Any] = [] if response.message is None else [response.message.envelope]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            waiting += [*value.values(), *value]
        elif isinstance(value, list):
            waiting += value
    return "\n".join(texts)


def effect_of(family: AttackFamily, sent: str, response: Response, traps: Traps, token: str) -> str | None:
    """The effect of an attack in words; None if none was seen. SQL errors need a comparison: see `sql_error`."""
    text = text_of(response)
    if family == "path_traversal":
        if traps.content_in(text):
            return "returns a file outside its folders"
        return "lists a folder outside its folders" if traps.listing_in(text) else None
    if family == "request_forgery":
        return "sends a request to a loopback address" if traps.was_requested(token) else None
    product = _PRODUCT.search(sent)
    if product is None:
        return None
    canary = f"mcp{41 * int(product[1])}proof"
    if family == "template_injection":
        return f"evaluates `{sent}`" if canary in text else None
    if family == "command_injection" and (canary in text or canary in traps.printed(token)):
        return "executes a command in a shell"
    return None


class SqlError(NamedTuple):
    """An error of a database about a statement."""

    words: str
    names_database: bool
    """Whether it names SQL, a database or its driver, which other parsers do not."""


def sql_error(response: Response) -> SqlError | None:
    """The error of a database in a response; None if there is none."""
    text = text_of(response)[:_LOOKED_AT]
    named, syntax = _SQL_NAMED.search(text), _SQL_SYNTAX.search(text)
    found = syntax or named
    if found is None or _SEARCH_SYNTAX.search(text):
        return None
    return SqlError(cropped(found[0]), named is not None)
