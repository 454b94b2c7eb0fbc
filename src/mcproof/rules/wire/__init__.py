"""`wire`: what a live connection and its answers show, whatever the catalog says."""

from mcproof.rules.wire import answers, connection, contract, protocol

__all__ = ["answers", "connection", "contract", "protocol"]
