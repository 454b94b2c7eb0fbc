"""`wire`: what a live connection and its answers show, whatever the catalog says."""

# In the order of their ids, in which they are listed.
from mcproof.rules.wire import connection, contract, answers, protocol  # isort: skip

__all__ = ["answers", "connection", "contract", "protocol"]
