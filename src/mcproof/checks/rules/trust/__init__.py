"""`trust`: whether an agent may rely on a server.

Every rule has a weight, a dimension and a phase. A rule whose phase was not reached is not applicable: it neither
passes nor fails, and its weight is in no sum. `lint` runs the rules about schemas and texts; `scan` runs all of
them.
Why unobserved rules lower the coverage: docs/decisions/0052-what-coverage-counts.md.
"""

from mcproof.checks.rules.trust import hidden_texts, schemas, texts

__all__ = ["NOT_IN_LINT", "ORDER", "hidden_texts", "schemas", "texts"]

NOT_IN_LINT = (
    "mcproof.checks.rules.trust.suspicion",
    "mcproof.checks.rules.trust.capabilities",
    "mcproof.checks.rules.trust.sessions",
    "mcproof.checks.rules.trust.perimeter",
    "mcproof.checks.rules.trust.drift",
    "mcproof.checks.rules.trust.source",
)
"""The modules whose rules `lint` does not run by default; they are imported when all rules are needed."""

ORDER = (
    *(
        "TRU-101",
        "TRU-102",
        "TRU-110",
        "TRU-113",
        "TRU-104",
        "TRU-105",
        "TRU-107",
        "TRU-108",
        "TRU-112",
        "TRU-114",
        "TRU-115",
    ),
    "TRU-116",
    *("no_tool_description_manipulation", "tool_input_schemas_well_formed"),
    *("all_tools_have_input_schema", "tool_name_safety", "no_broad_schema_risk", "prompt_injection_surface", "TRU-109"),
    *("TRU-120", "no_public_code_execution_tools", "no_public_credential_access_tools"),
    *("no_public_filesystem_write_tools", "no_public_admin_control_tools", "no_public_destructive_tools"),
    *("no_public_send_message_tools", "no_public_financial_action_tools", "no_public_network_access_tools"),
    "TRU-121",
    *("no_pii_keywords_in_tool_surface", "tool_annotations_consistent", "destructive_tools_declare_destructive_hint"),
    *("no_secret_leakage_in_observed_text", "no_dangerous_resource_uris", "no_description_injection"),
    *("no_resource_or_prompt_injection", "initialize_instructions_no_injection", "resource_contents_no_injection"),
    *("initialize_advertises_protocol_version", "mcp_tools_list_succeeded", "tool_count_is_reasonable"),
    *("all_tools_have_descriptions", "initialize_advertises_server_info", "initialize_advertises_server_version"),
    *(
        "serverInfo_not_in_known_advisory_list",
        "TRU-401",
        "TRU-402",
        "TRU-403",
        "transport_uses_https",
        "tls_handshake_succeeded",
    ),
    *("transport_validates_origin", "tls_uses_modern_version", "transport_advertises_hsts"),
    *("tls_certificate_not_expiring_soon", "transport_response_within_size_bound", "transport_redirects_within_bound"),
    *("transport_content_type_acceptable", "endpoint_no_credentials_in_url", "endpoint_uses_public_host", "TRU-501"),
    *("TRU-502", "server_identity_consistency", "auth_supports_pkce_s256", "auth_no_insecure_grant_types"),
    *("auth_issuer_uses_https", "auth_discovery_advertised_when_required"),
    *("auth_advertises_protected_resource_metadata", "auth_authorization_server_metadata_present"),
    *("auth_advertises_token_endpoint", "auth_advertises_jwks_uri", "TRU-504", "TRU-205", "TRU-503"),
    *("active_probe_read_tools_honor_their_schema", "TRU-201", "TRU-202", "TRU-203", "TRU-204"),
    *("no_new_tools_since_last_scan", "tool_descriptions_unchanged_since_last_scan"),
    *("tool_surface_unchanged_since_last_scan", "TRU-301", "TRU-302", "TRU-303", "TRU-304", "TRU-305", "TRU-306"),
    *("TRU-307", "TRU-308", "TRU-309", "TRU-310", "TRU-311", "TRU-312"),
)
"""The order in which the rules are listed: first what `lint` runs, then words, behaviour, perimeter and source."""
