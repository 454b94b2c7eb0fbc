"""Read what the store has: the history of a server, runs, findings, catalogs, and tokens of the REST API.

The history is also rendered here, as a table with sparklines or as JSON.
"""

from __future__ import annotations

import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

from sqlalchemy import Row, delete, insert, select, tuple_

from mcproof.core.console import Style, plural
from mcproof.core.errors import InputError, UsageError, nearest
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Count, member, record
from mcproof.runs.codec import encode
from mcproof.runs.records import SCHEMA_VERSION, Record
from mcproof.services.store.tables import CATALOGS, FINDINGS, RUNS, SCORES, SERVERS, TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.services.store.database import Database


_BARS, _PLAIN_BARS = "▁▂▃▄▅▆▇█", "_.,-=+*#"
_GAP = " "
"""The bar of a run without a value."""


def history_document(history: History) -> Record:
    return {
        "schema_version": SCHEMA_VERSION,
        "server": history.name,
        "total": history.total,
        "runs": encode(history.runs),
    }


def history_lines(history: History, style: Style) -> Iterator[str]:
    """Render a history: one line a run, the newest last, below the sparklines."""
    shown = "" if history.total == len(history.runs) else f", the newest {len(history.runs):,}"
    yield f"{style.paint(style.text(history.name), 'bold')}: {plural(history.total, 'run')}{shown}\n\n"
    bars = style.symbol(_BARS, _PLAIN_BARS)
    for label, values, limits in (
        ("score", [run.score for run in history.runs], (0, 100)),
        ("trust", [run.trust for run in history.runs], (0, 100)),
        ("tokens", [run.tokens for run in history.runs], None),
        ("findings", [_findings(run) for run in history.runs], None),
    ):
        if any(value is not None for value in values):
            yield f"  {label:8}  {sparkline(values, bars, limits)}  {_span(values)}\n"
    yield "\n"
    for run in history.runs:
        yield f"  {_row(run, style)}\n"


def sparkline(values: Sequence[int | None], bars: str, limits: tuple[int, int] | None = None) -> str:
    """Return one bar for each value, between the limits or between the least and the greatest value."""
    present = [value for value in values if value is not None]
    low, high = limits or (min(present, default=0), max(present, default=0))
    span = (high - low) or 1
    return "".join(_GAP if value is None else bars[(value - low) * (len(bars) - 1) // span] for value in values)


def _span(values: Sequence[int | None]) -> str:
    present = [value for value in values if value is not None]
    return f"{present[0]:,}" if present[0] == present[-1] else f"{present[0]:,} → {present[-1]:,}"


def _findings(run: PastRun) -> int | None:
    return None if run.error is not None else run.errors + run.warnings + run.notes


def _row(run: PastRun, style: Style) -> str:
    moment = run.started.replace("T", " ").removesuffix("Z")
    if run.error is not None:
        return f"{moment}  {run.command:11}  {style.paint(style.text(run.error, 200), 'error')}"
    parts = []
    if run.grade is not None:
        parts.append(f"{run.grade} {run.score:>3}")
    if run.verdict is not None:
        parts.append(run.verdict if run.trust is None else f"{run.verdict} {run.trust}")
    if run.tokens is not None:
        parts.append(plural(run.tokens, "token"))
    parts.append(f"{plural(run.errors, 'error')}, {plural(run.warnings, 'warning')}, {plural(run.notes, 'note')}")
    return f"{moment}  {run.command:11}  {'  '.join(parts)}"


SCOPES = ("read", "lint", "record")
LONGEST_NAME = 100
_TOKEN = re.compile(r"mcproof_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class StoredToken(NamedTuple):
    """A token without its secret."""

    name: str
    scopes: tuple[str, ...]
    server: str | None
    """The name or pattern of the servers that it may record; None for all."""
    created: str
    expires: str

    def permits(self, scope: str) -> bool:
        return scope in self.scopes

    def permits_server(self, name: str) -> bool:
        """Whether it may record runs of a server."""
        return self.server is None or name == self.server or fnmatchcase(name, self.server)

    def is_expired(self, now: datetime) -> bool:
        return self.expires <= now.strftime(_TIME)


def create_token(
    database: Database, name: str, scopes: tuple[str, ...], *, server: str | None = None, days: int, now: datetime
) -> str:
    """Store a new token, and return it: it cannot be shown again. Raises a UsageError if the name is taken."""
    identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    values = {
        "id": identity,
        "name": name,
        "hash": _hash(secret),
        "scopes": ",".join(scope for scope in SCOPES if scope in scopes),
        "server": server,
        "created": now.strftime(_TIME),
        "expires": (now + timedelta(days=days)).strftime(_TIME),
    }
    with database.writing() as connection:
        if connection.execute(select(TOKENS.c.id).where(TOKENS.c.name == name)).scalar() is not None:
            raise UsageError(f"there is a token `{name}` already; revoke it first, or use another name")
        connection.execute(insert(TOKENS).values(values))
    return f"mcproof_{identity}_{secret}"


def list_tokens(database: Database) -> list[StoredToken]:
    """Return all tokens by name, also those that have expired."""
    with database.reading() as connection:
        return [_token(row) for row in connection.execute(select(TOKENS).order_by(TOKENS.c.name))]


def revoke_token(database: Database, name: str) -> None:
    """Delete a token. Raises a UsageError if no token has that name."""
    with database.writing() as connection:
        if not connection.execute(delete(TOKENS).where(TOKENS.c.name == name)).rowcount:
            names = list(connection.execute(select(TOKENS.c.name)).scalars())
            raise UsageError(f"there is no token `{name}`{nearest(name, names)}")


def find_token(database: Database, text: str, now: datetime | None = None) -> StoredToken | None:
    """Return the token that a client sends; None if it is unknown or has expired.

    It is found by its public part, and its secret part is compared in constant time.
    """
    parts = _TOKEN.fullmatch(text)
    # Also for what is no token: without its store a service must not answer as if it knew.
    with database.reading() as connection:
        if parts is None:
            return None
        row = connection.execute(select(TOKENS).where(TOKENS.c.id == parts[1])).first()
    # Compared also if there is no such token, so that the time does not show which ids exist.
    expected = row.hash if row is not None else _hash("")
    is_right = hmac.compare_digest(expected, _hash(parts[2]))
    if row is None or not is_right:
        return None
    token = _token(row)
    return None if token.is_expired(now or datetime.now(UTC)) else token


def _hash(secret: str) -> str:
    """Return the hash of a secret, which has 256 random bits, so that no salt and no slow hash are needed."""
    return sha256(secret.encode()).hexdigest()


def _token(row: Row[Any]) -> StoredToken:
    return StoredToken(row.name, tuple(row.scopes.split(",")), row.server, row.created, row.expires)


Percent = Annotated[int, member(minimum=0, maximum=100)]


@record()
class PastRun(NamedTuple):
    """One recorded run."""

    uid: str
    """Its id in the store."""
    command: str
    """The command that was run."""
    started: str
    """The time in UTC."""
    grade: str | None
    """The letter; None if the run did not grade."""
    score: Percent | None
    """The score of the grade, from 0 to 100."""
    tokens: Count | None
    """The token cost of the tools."""
    verdict: Annotated[str, member(enum=["allow", "review", "block"])] | None
    """The verdict of `scan`."""
    trust: Percent | None
    """The score of `scan`, from 0 to 100."""
    tools: Count | None
    """The number of tools."""
    errors: Count
    """The number of findings at level error."""
    warnings: Count
    """The number of findings at level warning."""
    notes: Count
    """The number of findings at level note."""
    error: str | None
    """Why the target could not be checked; None if it was."""
    catalog: str | None
    """The SHA-256 of the catalog; None if none was read."""


class History(NamedTuple):
    """The newest runs of a server, the oldest of them first."""

    name: str
    total: int
    """How many runs there are."""
    runs: list[PastRun]


def history_of(database: Database, name: str, most: int) -> History:
    """Return the newest runs of a server. Raises an InputError if it is not in the store."""
    with database.reading() as connection:
        server = connection.execute(select(SERVERS.c.id, SERVERS.c.runs).where(SERVERS.c.name == name)).first()
        if server is None:
            query = select(SERVERS.c.name).order_by(SERVERS.c.name).limit(10_000)
            names = list(connection.execute(query).scalars())
            hint = f"there is no server `{name}` in the store{nearest(name, names)}"
            raise InputError(hint if names else "the store is empty; `--record` adds a run", file=database.label)
        rows = connection.execute(_runs_of(server.id).limit(most)).all()
        return History(name, server.runs, [PastRun(*row) for row in reversed(rows)])


def server_names(database: Database, most: int = 100) -> list[str]:
    """Return the names of the servers, in order."""
    with database.reading() as connection:
        return list(connection.execute(select(SERVERS.c.name).order_by(SERVERS.c.name).limit(most)).scalars())


def progress_of(database: Database, name: str) -> str:
    """Return what the newest graded run of a server gained since the one before it; empty without two of them.

    Points below zero count: a server at 0 shows its progress, too.
    """
    graded = [run for run in history_of(database, name, _MOST_COMPARED).runs if run.grade is not None]
    if len(graded) < 2:
        return ""
    before, now = (_unclamped(database, run) for run in graded[-2:])
    if before is None or now is None:
        return ""
    letters = graded[-1].grade if graded[-1].grade == graded[-2].grade else f"{graded[-2].grade} to {graded[-1].grade}"
    return f"grade {letters}, {now - before:+,} points since the run of {graded[-2].started[:10]}"


_MOST_COMPARED = 20
"""How many runs are looked through for one that graded: others checked something else."""


def _unclamped(database: Database, run: PastRun) -> int | None:
    import zlib

    from mcproof.runs.stored import read_run

    [result] = read_run(zlib.decompress(run_report(database, run.uid)), run.uid).targets
    return None if result.scores.grade is None else result.scores.grade.unclamped


class RunPage(NamedTuple):
    """A page of runs, the newest first."""

    runs: list[PastRun]
    next: str
    """The cursor of the next page; empty if this is the last."""


def list_runs(database: Database, name: str, *, cursor: str = "", size: int = 50) -> RunPage | None:
    """Return a page of the runs of a server; None if there is no such server. A cursor is the id of a run."""
    with database.reading() as connection:
        server = connection.execute(select(SERVERS.c.id).where(SERVERS.c.name == name)).scalar()
        if server is None:
            return None
        query = _runs_of(server)
        if cursor:
            last = connection.execute(select(RUNS.c.started, RUNS.c.id).where(RUNS.c.uid == cursor)).first()
            if last is None:
                raise UsageError("the cursor is not one of this list")
            query = query.where(tuple_(RUNS.c.started, RUNS.c.id) < (last.started, last.id))
        # One more than the page has, to see whether there is another.
        rows = connection.execute(query.limit(size + 1)).all()
    runs = [PastRun(*row) for row in rows[:size]]
    return RunPage(runs, runs[-1].uid if len(rows) > size else "")


class StoredFinding(NamedTuple):
    """A finding of a run."""

    number: int
    rule: str
    level: str
    severity: str
    subject: str
    pointer: str
    message: str
    fingerprint: str


def list_findings(database: Database, uid: str, *, after: int = -1, size: int = 200) -> list[StoredFinding] | None:
    """Return findings of a run from a number on; None if there is no such run."""
    columns = [FINDINGS.c[field] for field in StoredFinding._fields]
    with database.reading() as connection:
        run = connection.execute(select(RUNS.c.id).where(RUNS.c.uid == uid)).scalar()
        if run is None:
            return None
        query = select(*columns).where(FINDINGS.c.run_id == run, FINDINGS.c.number > after)
        return [StoredFinding(*row) for row in connection.execute(query.order_by(FINDINGS.c.number).limit(size))]


def _runs_of(server: int):  # type: ignore[no-untyped-def]
    grade, trust = SCORES.alias("grade"), SCORES.alias("trust")
    scores = {"grade": grade.c.word, "score": grade.c.score, "verdict": trust.c.word, "trust": trust.c.score}
    columns = [scores[field] if field in scores else RUNS.c[field] for field in PastRun._fields]
    return (
        select(*columns)
        .outerjoin(grade, (grade.c.run_id == RUNS.c.id) & (grade.c.scheme == "grade"))
        .outerjoin(trust, (trust.c.run_id == RUNS.c.id) & (trust.c.scheme == "trust"))
        .where(RUNS.c.server_id == server)
        .order_by(RUNS.c.started.desc(), RUNS.c.id.desc())
    )


def has_run(database: Database, uid: str) -> bool:
    with database.reading() as connection:
        return connection.execute(select(RUNS.c.id).where(RUNS.c.uid == uid)).scalar() is not None


def run_report(database: Database, uid: str) -> bytes:
    """Return the run report of a run, compressed. Raises an InputError if there is none."""
    with database.reading() as connection:
        report: bytes | None = connection.execute(select(RUNS.c.report).where(RUNS.c.uid == uid)).scalar()
    if report is None:
        raise InputError(f"there is no run `{uid}` in the store", file=database.label)
    return report


def stored_catalog(database: Database, digest: str) -> bytes:
    """Return the text of a catalog, compressed. Raises an InputError if there is none."""
    with database.reading() as connection:
        text: bytes | None = connection.execute(select(CATALOGS.c.text).where(CATALOGS.c.hash == digest)).scalar()
    if text is None:
        raise InputError(f"there is no catalog `{digest}` in the store", file=database.label)
    return text


def newest_catalog(database: Database, name: str) -> str | None:
    """Return the hash of the newest catalog of a server; None if there is none."""
    with database.reading() as connection:
        digest: str | None = connection.execute(select(SERVERS.c.surface).where(SERVERS.c.name == name)).scalar()
        return digest
