"""Text that fits the terminal."""

from __future__ import annotations

import io

import pytest

from mcproof.core.console import PIPE_WIDTH, Style, display_width, wrapped


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_text_is_broken_at_blanks_and_indented_from_the_second_line_on() -> None:
    assert wrapped("one two three four", 10, indent=2) == ["one two", "  three", "  four"]
    assert wrapped("one two three", 10, used=5, indent=2) == ["one", "  two", "  three"]


def test_a_word_wider_than_the_line_keeps_its_own_so_that_it_can_be_copied() -> None:
    assert wrapped("see /a/very/long/path now", 10, indent=2) == ["see", "  /a/very/long/path", "  now"]


def test_a_first_word_that_does_not_fit_beside_the_head_goes_to_the_next_line() -> None:
    assert wrapped("find_station: x", 16, used=10, indent=2) == ["", "  find_station:", "  x"]


def test_ideographs_are_broken_anywhere_and_count_two_columns() -> None:
    lines = wrapped("図書館の目録から本を探します", 12, indent=2)
    assert "".join(line.strip() for line in lines) == "図書館の目録から本を探します"
    assert max(map(display_width, lines)) <= 12
    assert len(lines) == 3


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("room", range(4, 30))
def test_text_is_never_truncated_within_an_escaped_character(room: int, unicode: bool) -> None:
    style, text = Style(unicode=unicode), "a\x1b[31m\u202e図書館bc\x00"
    shown = style.fitting(text, room)
    assert display_width(shown) <= room
    kept = shown.removesuffix(style.symbol("…", "..."))
    assert kept in {style.text(text[:length]) for length in range(len(text) + 1)}


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ("60", 60),
        ("20", 40),
        ("500", 140),
        ("0", PIPE_WIDTH),
        ("wide", PIPE_WIDTH),
        ("-5", PIPE_WIDTH),
        ("", PIPE_WIDTH),
    ],
)
def test_columns_sets_the_width_even_in_a_pipe(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert Style.of(io.StringIO()).width == width
    assert Style.of(_Terminal()).width == width


def test_a_pipe_has_a_fixed_width() -> None:
    assert Style.of(io.StringIO()).width == PIPE_WIDTH == 120


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("room", range(5, 30))
def test_a_name_is_cropped_in_the_middle(room: int, unicode: bool) -> None:
    style, name = Style(unicode=unicode), "list_図書館_phone_numbers\x1b_local"
    shown = style.shortened(name, room)
    assert display_width(shown) <= room
    first, last = shown.split(style.symbol("…", "..."))
    assert style.text(name).startswith(first)
    assert style.text(name).endswith(last)
    assert "\\x1" not in shown.replace("\\x1b", "")
    assert style.shortened("short", room) == "short"


def test_words_in_colour_take_no_more_room() -> None:
    painted = Style(colour=True).paint("two", "error")
    assert display_width(painted) == 3
    assert wrapped(f"one {painted} three", 7) == [f"one {painted}", "three"]
