"""The first tables.

A migration never changes after a release, so it spells out the tables instead of importing them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "catalogs",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("text", sa.LargeBinary, nullable=False),
        sa.Column("tools", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_catalogs"),
    )
    op.create_table(
        "servers",
        sa.Column("id", KEY, nullable=False),
        sa.Column("name", sa.String(500), nullable=False),
        sa.Column("title", sa.String(500), nullable=False),
        sa.Column("runs", sa.Integer, nullable=False),
        sa.Column("last_run", KEY, nullable=True),
        sa.Column("last_seen", sa.String(32), nullable=True),
        sa.Column("is_reachable", sa.Boolean, nullable=True),
        sa.Column("grade", sa.String(1), nullable=True),
        sa.Column("score", sa.Integer, nullable=False),
        sa.Column("change", sa.Integer, nullable=True),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("tools", sa.Integer, nullable=True),
        sa.Column("trust", sa.Integer, nullable=False),
        sa.Column("verdict", sa.String(6), nullable=True),
        sa.Column("surface", sa.String(64), nullable=True),
        sa.Column("changed", sa.String(32), nullable=True),
        sa.Column("changes", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_servers"),
        sa.UniqueConstraint("name", name="uq_servers_name"),
    )
    op.create_index("ix_servers_changed", "servers", ["changed", "id"])
    op.create_index("ix_servers_score", "servers", ["score", "id"])
    op.create_index("ix_servers_last_seen", "servers", ["last_seen", "id"])
    op.create_index("ix_servers_tokens", "servers", ["tokens", "id"])
    op.create_index("ix_servers_trust", "servers", ["trust", "id"])
    op.create_index("ix_servers_grade", "servers", ["grade", "score", "id"])
    op.create_index("ix_servers_verdict", "servers", ["verdict", "score", "id"])
    op.create_table(
        "runs",
        sa.Column("id", KEY, nullable=False),
        sa.Column("uid", sa.String(36), nullable=False),
        sa.Column("server_id", KEY, nullable=False),
        sa.Column("command", sa.String(20), nullable=False),
        sa.Column("target", sa.String(2000), nullable=False),
        sa.Column("started", sa.String(32), nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("version", sa.String(40), nullable=False),
        sa.Column("exit_code", sa.Integer, nullable=False),
        sa.Column("error", sa.Text, nullable=True),
        sa.Column("catalog", sa.String(64), nullable=True),
        sa.Column("errors", sa.Integer, nullable=False),
        sa.Column("warnings", sa.Integer, nullable=False),
        sa.Column("notes", sa.Integer, nullable=False),
        sa.Column("tools", sa.Integer, nullable=True),
        sa.Column("tokens", sa.Integer, nullable=True),
        sa.Column("report", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("uid", name="uq_runs_uid"),
        sa.ForeignKeyConstraint(["server_id"], ["servers.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["catalog"], ["catalogs.hash"]),
    )
    op.create_index("ix_runs_server", "runs", ["server_id", "started", "id"])
    op.create_index("ix_runs_started", "runs", ["started", "id"])
    op.create_index("ix_runs_catalog", "runs", ["catalog"])
    op.create_table(
        "scores",
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("scheme", sa.String(20), nullable=False),
        sa.Column("score", sa.Integer, nullable=False),
        sa.Column("word", sa.String(20), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "scheme", name="pk_scores"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "findings",
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("rule", sa.String(80), nullable=False),
        sa.Column("level", sa.String(8), nullable=False),
        sa.Column("severity", sa.String(10), nullable=False),
        sa.Column("subject", sa.String(500), nullable=False),
        sa.Column("pointer", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "number", name="pk_findings"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
    )
    op.create_index("ix_findings_rule", "findings", ["rule", "run_id"])
    op.create_table(
        "firing",
        sa.Column("server_id", KEY, nullable=False),
        sa.Column("rule", sa.String(80), nullable=False),
        sa.Column("findings", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("server_id", "rule", name="pk_firing"),
        sa.ForeignKeyConstraint(["server_id"], ["servers.id"], ondelete="CASCADE"),
    )
    op.create_index("ix_firing_rule", "firing", ["rule", "server_id"])
    op.create_table(
        "breaking",
        sa.Column("server_id", KEY, nullable=False),
        sa.Column("client", sa.String(80), nullable=False),
        sa.PrimaryKeyConstraint("server_id", "client", name="pk_breaking"),
        sa.ForeignKeyConstraint(["server_id"], ["servers.id"], ondelete="CASCADE"),
    )
    op.create_index("ix_breaking_client", "breaking", ["client", "server_id"])
    op.create_table(
        "words",
        sa.Column("word", sa.String(60), nullable=False),
        sa.Column("server_id", KEY, nullable=False),
        sa.PrimaryKeyConstraint("word", "server_id", name="pk_words"),
        sa.ForeignKeyConstraint(["server_id"], ["servers.id"], ondelete="CASCADE"),
    )
    op.create_index("ix_words_server", "words", ["server_id"])
    op.create_table(
        "tallies",
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("word", sa.String(10), nullable=False),
        sa.Column("servers", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("kind", "word", name="pk_tallies"),
    )
    op.create_table(
        "days",
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("runs", sa.Integer, nullable=False),
        sa.Column("graded", sa.Integer, nullable=False),
        sa.Column("points", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_days"),
    )


def downgrade() -> None:
    of_servers = ("words", "breaking", "firing", "findings", "scores", "runs")
    for table in ("days", "tallies", *of_servers, "servers", "catalogs"):
        op.drop_table(table)
