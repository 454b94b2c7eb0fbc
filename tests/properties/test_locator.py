"""Positions in JSON text: where a pointer stands, whatever the layout and the spelling."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mcproof.core.text.json_document import JsonText
from mcproof.core.text.json_positions import escape, resolve, unescape

from .layouts import Written, strings, written_documents


def parsed(document: Written) -> JsonText:
    return JsonText.parse(document.text, "any.json")


@given(written_documents())
def test_every_value_is_found_where_it_was_written(document: Written) -> None:
    text = parsed(document)

    assert text.value == document.value
    assert text.spans(document.spans) == document.spans


@given(written_documents())
def test_a_span_holds_the_text_of_the_value_and_its_key_offset_the_quote_of_the_key(document: Written) -> None:
    for pointer, span in parsed(document).spans(document.spans).items():
        assert json.loads(document.text[span.start : span.end]) == resolve(document.value, pointer)
        parent, _, token = pointer.rpartition("/")
        if pointer and isinstance(resolve(document.value, parent), dict):
            key, _ = json.JSONDecoder().raw_decode(document.text, span.key)
            assert document.text[span.key] == '"'
            assert key == unescape(token)
            assert span.anchor == span.key
        else:
            assert span.key == -1
            assert span.anchor == span.start


@given(written_documents())
def test_line_and_column_are_counted_from_the_line_feeds_before_the_offset(document: Written) -> None:
    text = parsed(document)
    lines = document.text.split("\n")
    for span in document.spans.values():
        line, column = text.positions([span.anchor])[0]
        before = document.text[: span.anchor]
        assert line == before.count("\n") + 1
        assert column == len(before) - before.rfind("\n")
        assert lines[line - 1][column - 1] == document.text[span.anchor]
        end = text.line_end(span.anchor, len(document.text))
        assert document.text[span.anchor - column + 1 : end] == lines[line - 1].removesuffix("\r")
        assert document.text[span.anchor : text.line_end(span.anchor, 3)][:3] == document.text[span.anchor : end][:3]
    offsets = sorted(span.anchor for span in document.spans.values())
    assert text.positions(offsets) == [text.positions([offset])[0] for offset in offsets]


@given(written_documents(repeat_keys=True), st.data())
def test_some_pointers_stand_where_they_stand_among_all(document: Written, data: st.DataObject) -> None:
    some = data.draw(st.lists(st.sampled_from(sorted(document.spans)), max_size=4))

    assert parsed(document).spans(some) == {pointer: document.spans[pointer] for pointer in some}


@given(written_documents(repeat_keys=True), st.data())
def test_pointers_that_the_document_does_not_have_are_left_out(document: Written, data: st.DataObject) -> None:
    known = st.sampled_from(sorted(document.spans))
    tokens = st.one_of(st.sampled_from(["", "-", "-1", "00", "01", "+1", "1", "9", "a", "٠"]), strings.map(escape))
    pointers = data.draw(
        st.lists(st.one_of(known, st.builds(lambda pointer, token: f"{pointer}/{token}", known, tokens)), max_size=8)
    )

    found = parsed(document).spans(pointers)

    assert found == {pointer: document.spans[pointer] for pointer in pointers if pointer in document.spans}


@given(written_documents(repeat_keys=True))
def test_of_a_repeated_key_the_last_one_is_found(document: Written) -> None:
    text = parsed(document)

    assert text.value == document.value
    assert text.spans(document.spans) == document.spans


@given(written_documents(repeat_keys=True))
def test_exactly_the_repeated_keys_are_reported(document: Written) -> None:
    text = parsed(document)

    assert text.has_duplicate_keys == bool(document.repeated)
    assert text.duplicate_keys() == document.repeated


@given(strings)
def test_a_key_survives_being_written_into_a_pointer(key: str) -> None:
    assert unescape(escape(key)) == key
    assert "/" not in escape(key)
    assert resolve({key: 1, "other": 2}, f"/{escape(key)}") == 1
