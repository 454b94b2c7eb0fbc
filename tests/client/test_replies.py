"""What came of a request, as a report shows it."""

from __future__ import annotations

from mcproof.client.calling import Reply, Session
from mcproof.client.connection import Limits
from mcproof.client.endpoints import Command
from mcproof.client.peer import Answer
from mcproof.client.reach import Asking
from mcproof.exchange.probe_facts import SHOWN


def shown(raw: bytes) -> str:
    session = Session(Command(("server",), {}), Asking(Limits()), 1.0)
    return session.hidden(Reply("accepted", Answer(raw, {})).words)


def test_a_long_answer_is_cropped_once_and_its_size_told() -> None:
    text = shown(b"a" * 12_345)
    assert text.endswith("a… (12,345 bytes)")
    assert len(text) == SHOWN


def test_a_short_answer_is_shown_as_it_came() -> None:
    assert shown(b'{"jsonrpc":"2.0"}') == '{"jsonrpc":"2.0"}'
    assert shown(b"a" * SHOWN) == "a" * SHOWN
