"""The migrations of the store, for Alembic."""
