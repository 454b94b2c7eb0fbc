"""Texts that are cut where there is little room."""

import pytest

from mcproof.core.console import cut


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("one two three four five", "one two three…"),
        ("say `one two three four` now", "say `one two…`"),
        ('say "one, two three four" now', 'say "one, two…"'),
        ("x" * 30, "x" * 18 + "…"),
    ],
)
def test_a_text_is_cut_after_a_word_with_its_quotes_closed(text: str, shown: str) -> None:
    assert cut(text, 20) == shown
