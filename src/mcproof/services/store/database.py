"""Open a store and bring its tables up to date.

Nothing here imports SQLAlchemy before a store is opened: a missing extra is then an error that names it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import InputError, McproofError, UsageError
from mcproof.core.text.files import user_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Connection, Engine


_REVISIONS = ("0001", "0002", "0003")
HEAD = _REVISIONS[-1]
"""The newest revision of the tables."""
BUSY_SECONDS = 60
"""How long a writer waits for others, at each place where it can wait."""
READER_SECONDS = 10
"""How long a reader waits for a connection."""
_SECRET_OPTIONS = frozenset({"password", "sslpassword"})
"""Secrets that libpq also reads from the query of a URL."""
_WRITING = 7_020_613
"""The advisory lock of PostgreSQL that the one writing process holds, as SQLite has one."""
_WRITES = "mcproof_writes"
"""The execution option of a transaction that writes."""


def database_url(word: str | None) -> str:
    """Return the SQLAlchemy URL of a database: a URL or a file, or by default the user's own store."""
    if word is None:
        return f"sqlite:///{os.path.join(user_folder('data'), 'store.sqlite')}"
    if word.startswith(("postgresql://", "postgres://")):
        return "postgresql+psycopg://" + word.partition("://")[2]
    if word.startswith("sqlite:///"):
        return word
    if "://" in word:
        scheme = word.partition("://")[0]
        raise UsageError(f"unsupported database `{scheme}`: a store is a file, or `postgresql://…`")
    return f"sqlite:///{os.path.abspath(word)}"


class StoreBusyError(InputError):
    """Nobody may wait any longer for other users of the store."""


class Database:
    """A database with the store's tables."""

    def __init__(self, engine: Engine, writer: Engine, label: str) -> None:
        self.engine = engine
        self._writer = writer
        """A pool of one connection: writers wait here, not with the connections that readers need."""
        self.label = label
        """Its name for the user, without a password."""

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that reads one state of the store."""
        with self._reported(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is written as a whole or not at all; one process writes at a time."""
        with self._reported(), self._writer.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                # One process writes at a time, as with SQLite: docs/decisions/0051-rows-beside-the-server.md.
                if not self.is_sqlite:
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITING})")
                yield connection

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Turn an error of the database into one line."""
        from sqlalchemy.exc import DBAPIError
        from sqlalchemy.exc import TimeoutError as PoolTimeoutError

        try:
            yield
        except PoolTimeoutError:
            raise StoreBusyError("the store is busy with other writers; try again later", file=self.label) from None
        except DBAPIError as error:
            reason = str(error.orig).strip().partition("\n")[0] or "unknown error"
            raise InputError(f"the store cannot be used: {reason}", file=self.label) from None

    def close(self) -> None:
        self.engine.dispose()
        self._writer.dispose()


def open_database(word: str | None = None, *, creates: bool = True) -> Database:
    """Open a store, create it if it is not there and `creates`, and migrate it to the newest tables.

    Raises an InputError if it cannot be opened, or was written by a newer version.
    """
    try:
        from sqlalchemy import create_engine, event, make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError:
        raise UsageError("the store needs SQLAlchemy: `pip install 'mcproof[store]'`") from None
    try:
        url = make_url(database_url(word))
    # A ValueError quotes what should be the port: of a password with an `@`, what may be its end.
    except (ArgumentError, ValueError):
        raise UsageError("`--database` is neither a file nor a database URL") from None
    label = url.database or "" if url.drivername == "sqlite" else _label(url)
    if url.drivername == "sqlite":
        _prepare_folder(url.database or "", creates=creates)
    try:
        options = _options(url.drivername)
        engine = create_engine(url, **options, pool_timeout=READER_SECONDS)
        writer = create_engine(url, **options, pool_size=1, max_overflow=0, pool_timeout=BUSY_SECONDS)
    except ImportError:
        raise UsageError("PostgreSQL needs psycopg: `pip install 'mcproof[postgres]'`") from None
    if url.drivername == "sqlite":
        for pool in (engine, writer):
            event.listen(pool, "connect", _configure_sqlite)
            event.listen(pool, "begin", _begin_sqlite)
    database = Database(engine, writer, label)
    try:
        _migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _label(url: URL) -> str:
    """A PostgreSQL database as the user is shown it. Refuses a password in its options, which nothing hides."""
    for name in sorted(_SECRET_OPTIONS & url.query.keys()):
        raise UsageError(f"a database URL with `{name}` in its query: write `postgresql://USER:PASSWORD@HOST/NAME`")
    shown = {name: value for name, value in url.query.items() if name in ("host", "port")}
    return url.set(query=shown).render_as_string(hide_password=True)


def _options(driver: str) -> dict[str, Any]:
    if driver == "sqlite":
        return {"connect_args": {"timeout": BUSY_SECONDS}}
    return {"pool_pre_ping": True, "connect_args": {"connect_timeout": 10}}


def _prepare_folder(file: str, *, creates: bool) -> None:
    if os.path.exists(file):
        return
    if not creates:
        raise InputError("there is no store yet; `--record` writes it", file=file)
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        # SQLite would create a file that others can read; the files that it adds later have the same mode.
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise InputError(f"the store cannot be created: {error.strerror}", file=file) from None


def _configure_sqlite(connection: Any, _: object) -> None:
    """Let readers and one writer work at once, and leave transactions to `_begin_sqlite`."""
    connection.isolation_level = None
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction; a writer waits for its turn at once, because a reader cannot become one later."""
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrate(database: Database) -> None:
    """Create or upgrade the tables; of several processes, one does and the others wait."""
    with database.reading() as connection:
        if _revision(connection, database) == HEAD:
            return
    with database.writing() as connection:
        # Another process may have migrated while this one waited for its turn.
        if _revision(connection, database) == HEAD:
            return
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", "mcproof.services.store:migrations")
        config.attributes["connection"] = connection
        command.upgrade(config, HEAD)


def _revision(connection: Connection, database: Database) -> str | None:
    """Return the revision of the tables; None if there are none."""
    from sqlalchemy import inspect

    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    if revision is not None and revision not in _REVISIONS:
        raise McproofError("written by a newer version of mcproof; upgrade mcproof to use it", file=database.label)
    return revision
