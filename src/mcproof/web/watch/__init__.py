"""Watched servers: checked at intervals, with events for webhooks."""
