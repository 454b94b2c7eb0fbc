"""Automatic fixes: from findings to edits of snapshots and Python source."""
