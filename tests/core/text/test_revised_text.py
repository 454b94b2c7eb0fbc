"""A text that is edited several times."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcproof.core.text.json_document import Edit, RevisedText, splice


@st.composite
def edits_of(draw: st.DrawFn, text: str) -> list[Edit]:
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return [Edit(start, end, draw(st.text("xyz", max_size=3))) for start, end in pairs]


@given(st.text("abc\n", max_size=30), st.data())
def test_the_edits_of_the_original_give_the_text_of_the_last_revision(original: str, data: st.DataObject) -> None:
    revised = RevisedText(original)
    for _ in range(3):
        edits = data.draw(edits_of(revised.text))
        expected = splice(revised.text, edits)
        revised = revised.revised(edits)
        assert revised.text == expected

    assert splice(original, revised.edits()) == revised.text
    assert [edit.start for edit in revised.edits()] == sorted(edit.start for edit in revised.edits())


def test_a_text_without_changes_has_no_edits() -> None:
    assert list(RevisedText("abc").revised([]).edits()) == []


def test_edits_are_shifted_to_the_larger_text() -> None:
    revised = RevisedText("abc").revised([Edit(1, 2, "X")])

    assert list(revised.edits(10)) == [Edit(11, 12, "X")]
