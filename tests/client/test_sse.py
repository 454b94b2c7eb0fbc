"""Server-sent events: the same events for all chunk boundaries, and the size limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.client.transports.sse import Event, EventParser

LINES = (b"data: a", b"data:b", b"data", b"data: ", b"event: x", b": comment", b"id: 1", b"retry: 5", b"other", b"")
ENDS = (b"\n", b"\r\n", b"\r")
streams = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(ENDS)), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
) | st.binary(max_size=80)


def events(*chunks: bytes, longest: int | None = None) -> list[Event]:
    parser = EventParser(longest)
    return [event for chunk in chunks for event in parser.feed(chunk)]


@given(streams, st.data())
def test_any_chunking_gives_the_same_events(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole, parts = EventParser(20), EventParser(20)
    assert [each for chunk in chunks for each in parts.feed(chunk)] == whole.feed(stream)
    assert parts.is_incomplete == whole.is_incomplete
    assert parts.dropped == whole.dropped


@given(streams)
def test_a_byte_at_a_time_gives_the_same_events(stream: bytes) -> None:
    assert events(*(stream[at : at + 1] for at in range(len(stream)))) == events(stream)


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\n", [Event("message", b"a")]),
        (b"data:a\n\n", [Event("message", b"a")]),
        (b"data:  a\n\n", [Event("message", b" a")]),
        (b"data: a\ndata: b\n\n", [Event("message", b"a\nb")]),
        (b"event: endpoint\ndata: /x\n\n", [Event("endpoint", b"/x")]),
        (b"event: x\n\ndata: a\n\n", [Event("message", b"a")]),
        (b": hello\n\nid: 7\nretry: 10\n\n", []),
        (b"data: a\r\n\r\n", [Event("message", b"a")]),
        (b"data: a\r\r", [Event("message", b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event("message", b"a")]),
        (b"data: a", []),
        (b"data: a\n", []),
        (b"data\n\n", [Event("message", b"")]),
    ],
)
def test_the_format_is_read_as_the_standard_says(stream: bytes, expected: list[Event]) -> None:
    assert events(stream) == expected


@pytest.mark.parametrize(
    ("stream", "last_id", "retry"),
    [
        (b"id: 7\nretry: 10\ndata: a\n\n", "7", 10),
        (b"id: 7\n\n", "7", None),
        (b"id: 7\ndata: a\n", "", None),
        (b"id: 7\n\ndata: a\n\n", "7", None),
        (b"id: 7\n\nid\n\n", "", None),
        (b"id: 7\n\nid: a\0b\n\n", "7", None),
        (b"id: 7\n\nid: " + b"a" * 2000 + b"\n\n", "", None),
        (b"id: 7\rid: 8\r\r", "8", None),
        (b"retry: 5\nretry: -1\nretry: x\nretry: 1.5\nretry:\n\n", "", 5),
        (b"retry: " + b"9" * 5000 + b"\n\n", "", 999_999_999_999),
    ],
)
def test_the_last_event_and_the_time_to_reconnect_are_kept(stream: bytes, last_id: str, retry: int | None) -> None:
    parser = EventParser()
    parser.feed(stream)
    assert (parser.last_id, parser.retry) == (last_id, retry)


@pytest.mark.parametrize("stream", [b"data: a", b"data: a\n", b"data: a\n\ndata"])
def test_a_stream_that_ends_inside_an_event_is_incomplete(stream: bytes) -> None:
    parser = EventParser()
    parser.feed(stream)
    assert parser.is_incomplete


@pytest.mark.parametrize("stream", [b"", b"data: a\n\n", b"data: a\n\n: bye", b"\n"])
def test_a_stream_that_ends_between_events_is_complete(stream: bytes) -> None:
    parser = EventParser()
    parser.feed(stream)
    assert not parser.is_incomplete


@pytest.mark.parametrize(
    "too_long",
    [b"data: " + b"x" * 50 + b"\n\n", b"data: x\n" * 10 + b"\n", b"data\n" * 20 + b"\n", b": " + b"x" * 50 + b"\n\n"],
)
def test_an_event_beyond_the_limit_is_dropped_and_the_next_one_read(too_long: bytes) -> None:
    parser = EventParser(40)
    assert parser.feed(too_long + b"data: a\n\n") == [Event("message", b"a")]
    assert parser.dropped == 1


@pytest.mark.parametrize("length", range(30, 50))
def test_whether_an_event_is_dropped_depends_on_its_length_alone(length: int) -> None:
    parser = EventParser(length)
    found = parser.feed(b"data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\n\n")
    assert (len(found), parser.dropped) == ((1, 0) if length >= 40 else (0, 1))


def test_an_event_without_end_is_known_before_it_ends() -> None:
    parser = EventParser(40)
    for _ in range(10):
        assert parser.feed(b"data: xxxxx") == []
    assert parser.dropped == 1
    assert parser.is_incomplete
