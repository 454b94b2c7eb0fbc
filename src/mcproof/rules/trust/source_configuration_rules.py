"""Rules about the configuration in source: where a server listens, and what it does with secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.rules.trust.trust_rule import trust_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.observations.source import SourceConfiguration, SourceLocation, SourcePlace


def _setting_identity(evidence: dict[str, Any]) -> str:
    """What was found; lines may move."""
    return "\0".join(str(evidence.get(key)) for key in ("kind", "address", "how", "shown", "function"))


@trust_rule(
    "TRU-309",
    name="binds-all-without-authentication",
    severity="high",
    category="source",
    dimension="Tool surface risk",
    phase="source",
    sums_up=_setting_identity,
)
def binds_all_without_authentication(source: SourceConfiguration) -> Iterator[Problem]:
    """The server listens on all interfaces by default, and does not authenticate callers.

    Why: everyone on the network can call its tools, with the rights and the credentials of the server. On a laptop that
    is every network that it joins.
    Fix: make `127.0.0.1` the default, and require a token where another address is configured.

    Constants count, and defaults of options, environment variables, parameters and fields. Authentication that is off
    by default does not count; authentication that cannot be decided does. OWASP MCP07; CWE-1327, CWE-306.
    """
    for each in source.bindings:
        optional = ", and authentication is off by default" if each.optional_authentication is not None else ""
        how = "" if each.how == "constant" else f" ({each.how})"
        yield Problem(
            f"listens on {each.address}{how} without authentication{optional}",
            near=_location(each.place),
            evidence={
                "kind": "open_binding",
                "address": each.address,
                "how": each.how,
                "place": _source_place(each.place),
                "servedAt": _source_place(each.served),
                "optionalAuthentication": None
                if each.optional_authentication is None
                else _source_place(each.optional_authentication),
            },
        )


@trust_rule(
    "TRU-310",
    name="secret-in-source-or-token-passed-on",
    severity="high",
    category="source",
    dimension="Endpoint hygiene",
    phase="source",
    sums_up=_setting_identity,
)
def secret_in_source(source: SourceConfiguration) -> Iterator[Problem]:
    """Source contains a secret, or sends the token of the caller on to another service.

    Why: whoever reads the source has the secret. A token that was issued for this server and is accepted by another one
    lets the server act there as the user, which the MCP specification forbids.
    Fix: read secrets from the environment, and revoke the one in the source. Get a token of its own for each service,
    by token exchange or with credentials of the server.

    Only keys of well-known shapes and random text under the name of a secret count; placeholders, examples, tests and
    docstrings do not. The secret is not part of the output. OWASP MCP01 and MCP07; CWE-798;
    MCP 2025-11-25, security best practices, token passthrough.
    """
    from mcproof.core.observations.source import HiddenLine

    for secret in source.secrets:
        yield Problem(
            f"contains a secret: {secret.shown}",
            near=HiddenLine(secret.place.file, secret.place.line),
            evidence={"kind": "secret", "shown": secret.shown, "place": _source_place(secret.place)},
        )
    for token in source.tokens:
        yield Problem(
            f"{token.function}() sends the token of the caller on to another service",
            near=_location(token.place),
            evidence={
                "kind": "token_passthrough",
                "function": token.function,
                "place": _source_place(token.place),
                "receivedAt": _source_place(token.received),
            },
        )


def _location(place: SourcePlace) -> SourceLocation:
    from mcproof.core.observations.source import SourceLocation

    return SourceLocation(place.file, place.line, place.column, None)


def _source_place(place: SourcePlace) -> dict[str, Any]:
    return {"file": place.file, "line": place.line}
