"""The versions of the store's tables, the oldest first."""
