"""Automatic fixes: turn findings into edits of snapshots and Python source."""
