"""The advice of each rule of `scan` removes its finding: the case in which it is followed is a good one.

That good cases have no finding, and bad ones do, is in `test_cases`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.checks.engine import check
from mcproof.checks.rule import Rule, find_rule, rules_of
from mcproof.checks.rulebook import cases_of
from mcproof.targets.snapshots import read_snapshot

FOLLOWED = {
    "TRU-116": "a judge that trusts every tool",
    "TRU-109": "hints and mentions",
    "TRU-121": "a page that declares nothing",
    "TRU-120": "different names, and names that differ in a number",
    "TRU-201": "the same tool",
    "TRU-202": "the same tool",
    "TRU-203": "the same tool",
    "TRU-204": "the same tool",
    "TRU-205": "the same list to everyone",
    "TRU-301": "a fixed program with a list of arguments, and `--`",
    "TRU-302": "a parameter that is parsed",
    "TRU-303": "a value as a query parameter",
    "TRU-304": "a path that stays in its folder",
    "TRU-305": "a path that stays in its folder",
    "TRU-306": "an address whose host is checked",
    "TRU-307": "a branch after `--`",
    "TRU-308": "a function from a table",
    "TRU-309": "the loopback address",
    "TRU-310": "a secret from the environment",
    "TRU-311": "middleware that checks the host",
    "TRU-312": "output to stderr",
    "TRU-401": "the fixed version",
    "TRU-402": "the fixed version",
    "TRU-403": "the version of the package",
    "TRU-501": "a response of HTTP 421 for a foreign host",
    "TRU-502": "one origin of its own",
    "TRU-503": "random UUIDs",
    "TRU-504": "metadata for the server",
    "active_probe_read_tools_honor_their_schema": "a result",
    "all_tools_have_descriptions": "a description",
    "all_tools_have_input_schema": "parameters",
    "auth_advertises_jwks_uri": "keys",
    "auth_advertises_protected_resource_metadata": "a document at a well-known place",
    "auth_advertises_token_endpoint": "a token endpoint",
    "auth_authorization_server_metadata_present": "one of two publishes it",
    "auth_discovery_advertised_when_required": "a challenge",
    "auth_issuer_uses_https": "https",
    "auth_no_insecure_grant_types": "codes and refresh tokens",
    "auth_supports_pkce_s256": "with S256",
    "destructive_tools_declare_destructive_hint": "the hint",
    "endpoint_no_credentials_in_url": "no credentials",
    "endpoint_uses_public_host": "a public name",
    "initialize_advertises_protocol_version": "a version",
    "initialize_advertises_server_info": "a name",
    "initialize_advertises_server_version": "a version",
    "mcp_tools_list_succeeded": "a list",
    "no_broad_schema_risk": "a URL with a format",
    "no_dangerous_resource_uris": "a public host",
    "no_new_tools_since_last_scan": "the same tool",
    "no_pii_keywords_in_tool_surface": "an id in place of the person",
    "no_public_admin_control_tools": "the tool is on another server",
    "no_public_code_execution_tools": "one operation in place of any command",
    "no_public_credential_access_tools": "a reference in place of the secret",
    "no_public_destructive_tools": "a declared deletion that has to be confirmed",
    "no_public_filesystem_write_tools": "content that the client saves",
    "no_public_financial_action_tools": "what a person has to pay",
    "no_public_network_access_tools": "one host",
    "no_public_send_message_tools": "a draft for a person to send",
    "prompt_injection_surface": "a short limit",
    "resource_contents_no_injection": "plain text",
    "serverInfo_not_in_known_advisory_list": "a listed server in a later version",
    "server_identity_consistency": "a word of the name in the host",
    "tls_certificate_not_expiring_soon": "fourteen days left",
    "tls_handshake_succeeded": "a certificate that clients accept",
    "tls_uses_modern_version": "version TLS 1.2",
    "tool_annotations_consistent": "a tool that deletes and declares it",
    "tool_count_is_reasonable": "50 tools",
    "tool_descriptions_unchanged_since_last_scan": "the same tool",
    "tool_input_schemas_well_formed": "references to definitions, several to one and one through another",
    "tool_name_safety": "a plain name",
    "tool_surface_unchanged_since_last_scan": "the same tool",
    "transport_advertises_hsts": "a year",
    "transport_content_type_acceptable": "a JSON response",
    "transport_redirects_within_bound": "one redirect",
    "transport_response_within_size_bound": "a small response",
    "transport_uses_https": "https",
    "transport_validates_origin": "a response of HTTP 403 for a foreign website",
}
"""The good case of each rule in which its advice is followed. The advice of other rules is to remove a text."""

ABOUT_TEXTS = [rule for rule in rules_of("trust") if rule.id not in FOLLOWED]


def test_the_advice_of_every_other_rule_is_followed_in_a_case() -> None:
    missing = [
        rule for rule, title in FOLLOWED.items() if title not in [case.title for case in cases_of(find_rule(rule)).good]
    ]
    assert missing == []


@pytest.mark.parametrize("rule", ABOUT_TEXTS, ids=[rule.id for rule in ABOUT_TEXTS])
def test_a_finding_about_a_text_is_gone_with_the_text(rule: Rule) -> None:
    bad = [json.loads(case.snapshot) for case in cases_of(rule).bad if case.snapshot is not None]
    assert bad != []
    for document in bad:
        assert _findings(rule, document) > 0
        assert _findings(rule, _plain(document)) == 0


def _findings(rule: Rule, document: Any) -> int:
    return len(check(read_snapshot(json.dumps(document).encode(), "case.json"), [rule]))


_TEXTS = ("description", "instructions", "title", "default", "const", "$comment", "text", "examples", "enum")
"""Members whose values models read."""


def _plain(value: Any, key: str = "") -> Any:
    """A snapshot whose texts, and names of parameters, are plain ones."""
    if isinstance(value, dict):
        names = [f"plain_{number}" if key == "properties" else name for number, name in enumerate(value)]
        members = {name: _plain(member, name) for name, member in zip(names, value.values(), strict=True)}
        return {name: member for name, member in members.items() if len(name) <= 40}
    if isinstance(value, list):
        return [_plain(member, key) for member in value]
    return "Plain words." if isinstance(value, str) and (key in _TEXTS or " " in value) else value
