"""`wire`: rules about live connections and responses."""

# In the order of their ids, in which they are listed.
from mcproof.rules.wire import (  # isort: skip
    connection_health,
    contract_promises,
    tool_responses,
    protocol_requests,
    hostile_arguments,
)

__all__ = ["connection_health", "contract_promises", "hostile_arguments", "protocol_requests", "tool_responses"]
