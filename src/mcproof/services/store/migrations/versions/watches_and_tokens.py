"""Tables for watched servers, events that are not delivered yet, and tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "watches",
        sa.Column("name", sa.String(500), nullable=False),
        sa.Column("last_run", sa.String(32), nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("is_gone", sa.Boolean, nullable=False),
        sa.Column("grade", sa.String(1), nullable=True),
        sa.Column("score", sa.Integer, nullable=True),
        sa.Column("tokens", sa.Integer, nullable=True),
        sa.Column("verdict", sa.String(6), nullable=True),
        sa.Column("surface", sa.String(80), nullable=True),
        sa.Column("catalog", sa.String(64), nullable=True),
        sa.Column("failed_gates", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_watches"),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("watch", sa.String(500), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
    )
    op.create_index("ix_deliveries_due", "deliveries", ["due", "id"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(100), nullable=False),
        sa.Column("server", sa.String(500), nullable=True),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("expires", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("name", name="uq_tokens_name"),
    )


def downgrade() -> None:
    for table in ("tokens", "deliveries", "watches"):
        op.drop_table(table)
