"""Order the words of searches by their bytes: in the order of a language, what begins with a word is not one range."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":  # SQLite compares bytes
        op.alter_column("words", "word", type_=sa.String(60, collation="C"))


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("words", "word", type_=sa.String(60))
