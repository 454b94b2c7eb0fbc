"""`trust`: whether an agent may rely on a server.

Every rule has a weight, a dimension and a phase. A rule whose phase was not reached is not applicable: it neither
passes nor fails, and its weight is in no sum. `lint` runs the rules about schemas and texts; `scan` runs all of them.
"""

from mcproof.rules.trust import hidden_texts, misplaced_texts, poisoning, schema_quality, tool_relations

__all__ = ["NOT_IN_LINT", "hidden_texts", "misplaced_texts", "poisoning", "schema_quality", "tool_relations"]

NOT_IN_LINT = (
    *("capabilities", "annotation_rules", "observed_texts", "markup_injection", "metadata", "advisory_rules"),
    *("perimeter", "authorization", "live_sessions", "drift_rules"),
    *("source_flow_rules", "source_configuration_rules"),
)
"""The modules whose rules `lint` does not run by default; they are imported when all rules are needed."""
