"""Send one hostile call, also a stored one again, and decide whether it had an effect.

An echo of the request proves nothing: the content of the marker, the product that a shell or a template computes
and the name of the file beside the marker are in no request.
Why effects are seen and not inferred: docs/decisions/0030-injections-are-seen.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import InputError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.connection import cropped
from mcproof.core.observations.probes import FAILURE_OF, CaseOutcome
from mcproof.core.observations.responses import OutputContract, flaws_of
from mcproof.probing.attacks.cases import FAMILIES, FAMILY_NAMES, AttackFamily, HostileCase, StringArgument, folders_of
from mcproof.probing.attacks.traps import Traps
from mcproof.probing.generation.mutations import label_of, value_at, with_value
from mcproof.probing.probes.blame import NumberedRequest, Sender

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcproof.client.session import Response, Session
    from mcproof.probing.probes.failures import StoredFailure


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
    r'(?<!fts5: syntax error )near \\{0,3}".{0,80}?": syntax error|unrecognized token: \\{0,3}"(?:.{0,80}?")?'
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
    error = syntax or named
    if error is None or _SEARCH_SYNTAX.search(text):
        return None
    return SqlError(cropped(error[0]), named is not None)


if TYPE_CHECKING:
    Send = Callable[[dict[str, Any]], Awaitable[Response | None]]
    """Calls the tool with these arguments; None if the server had ended before."""

_LETTERS = "mcproof"
"""What is appended to a valid value, to compare with."""


class AttackResult(NamedTuple):
    """What one hostile call showed."""

    response: Response
    outcome: CaseOutcome
    """`injection`, `crash`, `hang`, `protocol_violation` or `clean`."""
    problem: str
    """What is wrong; empty if nothing is."""
    token: str


async def observe(case: HostileCase, traps: Traps, send: Send) -> AttackResult | None:
    """Send a hostile call; None if it did not reach the server."""
    token = traps.new_token()
    response = await send(traps.filled(case.arguments, token))
    if response is None:
        return None
    if (failure := FAILURE_OF.get(response.outcome)) is not None:
        return AttackResult(response, failure, response.why, token)
    effect = effect_of(case.family, case.text, response, traps, token)
    if case.family == "sql_injection":
        effect = await _sql_effect(case, response, send)
    elif effect is not None and "beside folder" in case.text and await _serves_parent(case, traps, send):
        effect = None
    if effect is None:
        return AttackResult(response, "clean", "", token)
    return AttackResult(response, "injection", injection(case, effect), token)


def injection(case: HostileCase, effect: str) -> str:
    """An effect as a sentence."""
    return f"{FAMILY_NAMES[case.family]} through `{case.argument.label}`: {effect}"


async def _serves_parent(case: HostileCase, traps: Traps, send: Send) -> bool:
    """Whether the tool also returns a file whose path only has the parent in common with a folder of the server."""
    try:
        arguments = traps.filled(case.with_text(case.text.replace("beside", "apart from")), "")
    except LookupError:
        # Without the neighbour, it stays possible that the server serves the parent on purpose.
        return True
    response = await send(arguments)
    return response is None or effect_of(case.family, case.text, response, traps, "") is not None


async def _sql_effect(case: HostileCase, response: Response, send: Send) -> str | None:
    """The error of a database that only an open quote causes."""
    error = sql_error(response)
    if error is None:
        return None
    value = case.argument.value
    # Every text of this family is the valid value, and then the quote.
    quote = case.text[len(value)]
    # An error that harmless texts cause as well is not due to the quote: docs/decisions/0030-injections-are-seen.md.
    for harmless in (case.base, case.with_text(value + _LETTERS)):
        if await _is_sql_error(harmless, send):
            return None
    closed = case.with_text(value + quote + case.text[len(value) :])
    is_refusal = response.outcome == "rejected" or _reports_error(response)
    if not (is_refusal and error.names_database) and await _is_sql_error(closed, send):
        return None  # a result about such errors, or the parser of another language
    return f"an open quote reaches the statement: {error.words}"


async def _is_sql_error(arguments: dict[str, Any], send: Send) -> bool:
    response = await send(arguments)
    return response is None or sql_error(response) is not None


def _reports_error(response: Response) -> bool:
    flaws = flaws_of(response.result, None, OutputContract(None))
    return any(flaw.kind == "error-as-success" for flaw in flaws)


async def attack_again(failed: StoredFailure, session: Session) -> tuple[AttackResult | None, str]:
    """Send a stored hostile call to a fresh server; return what it showed and the response without random values.

    None if its trap cannot be set on this machine. Raises ConnectError and InputError.
    """
    case = _case_of(failed)

    async def send(arguments: dict[str, Any]) -> Response:
        request = NumberedRequest(1, failed.method, {**failed.params, "arguments": arguments})
        return await Sender(session).send_alone(request)

    async with Traps(folders_of(session.server)) as traps:
        try:
            seen = await observe(case, traps, send)
        except LookupError:
            return None, ""
        return seen, "" if seen is None else traps.shown(seen.response)


def _case_of(failed: StoredFailure) -> HostileCase:
    """The case of a stored failure. Raises InputError if it is damaged."""
    family = next(name for name in FAMILIES if name == failed.probe)
    path, base, arguments = failed.recipe.get("path"), failed.recipe.get("base"), failed.params.get("arguments")
    try:
        if not isinstance(path, list) or not path or not isinstance(base, dict) or not isinstance(arguments, dict):
            raise TypeError
        steps = tuple(path)
        value = value_at(base, steps)
        with_value(base, steps, value_at(arguments, steps))
    except (LookupError, TypeError, AttributeError):
        raise InputError(f"damaged failure {failed.id}: `recipe` does not fit the arguments") from None
    argument = StringArgument(
        path=steps,
        value=value if isinstance(value, str) else "",
        label=label_of(steps),
        words=frozenset(),
        about="",
        formats=(),
    )
    return HostileCase(family, argument, arguments, base, failed.what)
