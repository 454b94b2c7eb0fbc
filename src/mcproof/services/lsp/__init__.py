"""A language server: findings, fixes, completion and token counts in an editor."""
