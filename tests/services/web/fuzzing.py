"""Requests that schemathesis generates from the OpenAPI document of the API, and what every response must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI

DOCUMENT = "/api/v1/openapi.json"
MODES = tuple(schemathesis.GenerationMode)
"""Requests that fit the document, and requests that do not."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
load_all_checks()

_words = st.sampled_from(["", "find_book", "Find a book.", "https://host/mcp", "#/$defs/a", "object", "string"])
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words | st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
_keywords = ["type", "properties", "required", "items", "$ref", "$defs", "enum", "oneOf", "description", "default"]
_schemas = st.recursive(
    _json | st.sampled_from([{"type": "object"}, {"type": "string"}, {"$ref": "#"}]),
    lambda inner: st.dictionaries(st.sampled_from(_keywords), inner, max_size=4),
    max_leaves=6,
)
_tools = st.fixed_dictionaries(
    {},
    optional={
        "name": _words | _json,
        "description": _words | _json,
        "inputSchema": _schemas,
        "outputSchema": _schemas,
        "annotations": _json,
        "_meta": _json,
    },
)
CATALOGS = st.fixed_dictionaries({"tools": st.lists(_tools | _json, max_size=3)}, optional={"prompts": _json})
"""Objects that resemble a catalog, with anything in it."""


def operations_of(service: FastAPI) -> dict[str, Any]:
    """The operations of the API by their names."""
    results = schemathesis.openapi.from_asgi(DOCUMENT, service).get_all_operations()
    found = [each.ok() for each in results]  # type: ignore[union-attr]
    return {each.label: each for each in found}


def fuzz(
    operation: Any,
    mode: schemathesis.GenerationMode,
    examples: int,
    known: Mapping[str, Sequence[str]],
    *,
    seed: int | None = None,
) -> int:
    """Send requests, half of them with parameters of the path that are known. Returns how many were sent.

    Without a seed, every run sends the same ones.
    """
    if mode is schemathesis.GenerationMode.NEGATIVE and not (operation.query or operation.body):
        return 0  # every text fits a path
    sent = 0

    @settings(
        max_examples=examples,
        derandomize=seed is None,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), choice=st.randoms(use_true_random=False), data=st.data())
    def send(case: Any, choice: Any, data: st.DataObject) -> None:
        nonlocal sent
        sent += 1
        for name in case.path_parameters or {}:
            if name in known and choice.random() < 0.5:
                case.path_parameters[name] = choice.choice(known[name])
        if operation.method == "post" and choice.random() < 0.5:
            case.body = data.draw(CATALOGS)
        if isinstance(case.body, dict) and "url" in case.body:
            case.body["url"] = choice.choice(["http://127.0.0.1:9/mcp", "http://[::1]/", "file:///etc/passwd", "x"])
        case.call_and_validate(checks=CHECKS)

    if seed is not None:
        send = seeded(seed)(send)
    try:
        send()
    except Unsatisfiable:  # every request of this kind fits the document
        assert mode is schemathesis.GenerationMode.NEGATIVE
        assert not sent
    return sent
