"""The text of a response, as reports show it."""

from __future__ import annotations

from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint
from mcproof.client.peer import RpcResponse
from mcproof.client.session import Response, Session
from mcproof.core.observations.probes import LONGEST_EXCERPT


def shown(raw: bytes) -> str:
    session = Session(CommandEndpoint(("server",), {}), ConnectOptions(Limits()), 1.0)
    return session.redacted(Response("accepted", RpcResponse(raw, {})).text)


def test_a_long_answer_is_cropped_once_and_its_size_told() -> None:
    text = shown(b"a" * 12_345)
    assert text.endswith("a… (12,345 bytes)")
    assert len(text) == LONGEST_EXCERPT


def test_a_short_answer_is_shown_as_it_came() -> None:
    assert shown(b'{"jsonrpc":"2.0"}') == '{"jsonrpc":"2.0"}'
    assert shown(b"a" * LONGEST_EXCERPT) == "a" * LONGEST_EXCERPT
