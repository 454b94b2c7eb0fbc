"""`wire`: rules about live connections and responses."""

# In the order of their ids, in which they are listed.
from mcproof.rules.wire import connection_health, contract_promises, tool_responses, protocol_requests  # isort: skip

__all__ = ["connection_health", "contract_promises", "protocol_requests", "tool_responses"]
