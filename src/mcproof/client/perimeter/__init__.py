"""Probes of a live server that need no tool call: its URL, TLS, HTTP, authorization, sessions and lists."""
