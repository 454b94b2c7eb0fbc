"""`trust`: whether an agent may rely on a server.

Every rule has a weight, a dimension and a phase. A rule whose phase was not reached is not applicable: it neither
passes nor fails, and its weight is in no sum. `lint` runs the rules about schemas and texts; `scan` runs all of them.
"""

from mcproof.rules.trust import (
    advisory_rules,
    annotation_rules,
    authorization,
    capabilities,
    drift_rules,
    hidden_texts,
    live_sessions,
    markup_injection,
    metadata,
    misplaced_texts,
    observed_texts,
    perimeter,
    poisoning,
    schema_quality,
    source_configuration_rules,
    source_flow_rules,
    tool_relations,
)

__all__ = [
    "advisory_rules",
    "annotation_rules",
    "authorization",
    "capabilities",
    "drift_rules",
    "hidden_texts",
    "live_sessions",
    "markup_injection",
    "metadata",
    "misplaced_texts",
    "observed_texts",
    "perimeter",
    "poisoning",
    "schema_quality",
    "source_configuration_rules",
    "source_flow_rules",
    "tool_relations",
]
