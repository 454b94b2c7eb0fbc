"""The tables of the store.

A run is one check of one target. Everything that a page filters or sorts by is a column, and what the newest run of
a server shows is beside the server, so that no page reads more than it shows. The migrations create these tables; a
test compares both.
Why what lists show is beside the server: docs/decisions/0051-rows-beside-the-server.md.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

if TYPE_CHECKING:
    from sqlalchemy import Dialect

_NAMES = {"ix": "ix_%(column_0_label)s", "uq": "uq_%(table_name)s_%(column_0_name)s", "pk": "pk_%(table_name)s"}
METADATA = MetaData(naming_convention=_NAMES)

_KEY = BigInteger().with_variant(Integer, "sqlite")
"""The type of generated keys; only `INTEGER` generates them in SQLite."""

_unstorable = re.compile("[\0\ud800-\udfff]")


class ServerString(TypeDecorator[str]):
    """A short text that may come from a server: U+FFFD replaces what databases refuse, NUL and lone surrogates."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else _unstorable.sub("\ufffd", value)


class ServerText(ServerString):
    """Such a text of any length."""

    impl = Text
    cache_ok = True


CATALOGS = Table(
    "catalogs",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("text", LargeBinary, nullable=False),  # compressed, as most words of a catalog are repeated
    Column("tools", Integer, nullable=False),
)

UNKNOWN = -1
"""A score or a number of tokens of a server that is not known: a number, so that one index orders all servers."""

SERVERS = Table(
    "servers",
    METADATA,
    Column("id", _KEY, primary_key=True),
    Column("name", ServerString(500), nullable=False, unique=True),
    # What it calls itself: two servers may have one title, but not one name.
    Column("title", ServerString(500), nullable=False),
    Column("runs", Integer, nullable=False),
    Column("last_run", _KEY, nullable=True),
    Column("last_seen", ServerString(32), nullable=True),
    Column("is_reachable", Boolean, nullable=True),
    Column("grade", ServerString(1), nullable=True),
    Column("score", Integer, nullable=False),
    Column("change", Integer, nullable=True, doc="of the score, since the run before"),
    Column("tokens", Integer, nullable=False),
    Column("tools", Integer, nullable=True),
    Column("trust", Integer, nullable=False),
    Column("verdict", ServerString(6), nullable=True),
    Column("surface", String(64), nullable=True, doc="the hash of the newest catalog"),
    Column("changed", String(32), nullable=True, doc="when a run last differed from the one before"),
    Column("changes", Text, nullable=True, doc="how it differed"),
    Index("ix_servers_changed", "changed", "id"),
    Index("ix_servers_score", "score", "id"),
    Index("ix_servers_last_seen", "last_seen", "id"),
    Index("ix_servers_tokens", "tokens", "id"),
    Index("ix_servers_trust", "trust", "id"),
    Index("ix_servers_grade", "grade", "score", "id"),
    Index("ix_servers_verdict", "verdict", "score", "id"),
)

RUNS = Table(
    "runs",
    METADATA,
    Column("id", _KEY, primary_key=True),
    Column("uid", ServerString(36), nullable=False, unique=True),
    Column("server_id", _KEY, ForeignKey("servers.id", ondelete="CASCADE"), nullable=False),
    Column("command", String(20), nullable=False),
    Column("target", ServerString(2000), nullable=False),
    Column("started", String(32), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("version", String(40), nullable=False),
    Column("exit_code", Integer, nullable=False),
    Column("error", ServerText, nullable=True, doc="why the target could not be checked"),
    Column("catalog", String(64), ForeignKey("catalogs.hash"), nullable=True),
    Column("errors", Integer, nullable=False),
    Column("warnings", Integer, nullable=False),
    Column("notes", Integer, nullable=False),
    Column("tools", Integer, nullable=True),
    Column("tokens", Integer, nullable=True),
    Column("report", LargeBinary, nullable=False, doc="the run report, compressed"),
    Index("ix_runs_server", "server_id", "started", "id"),
    Index("ix_runs_started", "started", "id"),
    Index("ix_runs_catalog", "catalog"),
)

SCORES = Table(
    "scores",
    METADATA,
    Column("run_id", _KEY, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("scheme", String(20), primary_key=True, doc="grade, polish or trust"),
    Column("score", Integer, nullable=False),
    Column("word", String(20), nullable=False, doc="the letter or the verdict"),
)

FINDINGS = Table(
    "findings",
    METADATA,
    Column("run_id", _KEY, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("rule", ServerString(80), nullable=False),
    Column("level", String(8), nullable=False),
    Column("severity", String(10), nullable=False),
    Column("subject", ServerString(500), nullable=False),
    Column("pointer", ServerText, nullable=False),
    Column("message", ServerText, nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Index("ix_findings_rule", "rule", "run_id"),
)

FIRING = Table(
    "firing",
    METADATA,
    Column("server_id", _KEY, ForeignKey("servers.id", ondelete="CASCADE"), primary_key=True),
    Column("rule", ServerString(80), primary_key=True),
    Column("findings", Integer, nullable=False),
    Index("ix_firing_rule", "rule", "server_id"),
)
"""The rules that fire in the newest run of each server."""

WORDS = Table(
    "words",
    METADATA,
    Column("word", String(60).with_variant(String(60, collation="C"), "postgresql"), primary_key=True),
    Column("server_id", _KEY, ForeignKey("servers.id", ondelete="CASCADE"), primary_key=True),
    Index("ix_words_server", "server_id"),
)
"""The words of names and titles, for searches."""

TALLIES = Table(
    "tallies",
    METADATA,
    Column("kind", String(10), primary_key=True, doc="servers, grade or verdict"),
    Column("word", String(10), primary_key=True),
    Column("servers", Integer, nullable=False),
)
"""How many servers there are in all and with each grade and verdict."""

DAYS = Table(
    "days",
    METADATA,
    Column("day", String(10), primary_key=True),
    Column("runs", Integer, nullable=False),
    Column("graded", Integer, nullable=False),
    Column("points", BigInteger, nullable=False),  # the sum and not the mean, to which a run could not be added
)
"""Each day's runs, for the trend of all servers."""

BREAKING = Table(
    "breaking",
    METADATA,
    Column("server_id", _KEY, ForeignKey("servers.id", ondelete="CASCADE"), primary_key=True),
    Column("client", ServerString(80), primary_key=True),
    Index("ix_breaking_client", "client", "server_id"),
)
"""The clients in which each server breaks, by its newest `compat` run."""

WATCHES = Table(
    "watches",
    METADATA,
    Column("name", ServerString(500), primary_key=True, doc="of the entry and of its server"),
    Column("last_run", String(32), nullable=False, doc="when its newest run started"),
    Column("failures", Integer, nullable=False, doc="runs in a row that could not check the server"),
    Column("is_gone", Boolean, nullable=False),  # remembered, so that the event is sent once
    Column("grade", ServerString(1), nullable=True),
    Column("score", Integer, nullable=True),
    Column("tokens", Integer, nullable=True),
    Column("verdict", ServerString(6), nullable=True),
    Column("surface", String(80), nullable=True, doc="the hash of what the server offers"),
    Column("catalog", String(64), nullable=True),  # no foreign key, since retention may delete the catalog
    Column("failed_gates", String(200), nullable=False, doc="their names, joined with commas"),
)
"""The last known state of each watched server, with which its next run is compared."""

DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("watch", ServerString(500), nullable=False),
    Column("body", ServerText, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due", BigInteger, nullable=False, doc="the time of the next attempt, in seconds since 1970"),
    Index("ix_deliveries_due", "due", "id"),
)
"""Events for webhooks that are not delivered yet."""

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("hash", String(64), nullable=False),  # of the secret part: a stolen store opens nothing
    Column("scopes", String(100), nullable=False, doc="joined with commas"),
    Column("server", ServerString(500), nullable=True, doc="the only server that it may record"),
    Column("created", String(32), nullable=False),
    Column("expires", String(32), nullable=False),
)
"""Tokens for the REST API."""
