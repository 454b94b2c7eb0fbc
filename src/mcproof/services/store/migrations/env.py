"""Alembic's entry point: migrate the connection that `open_database` gives."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
context.run_migrations()
