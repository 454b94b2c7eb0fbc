"""Texts that are made to take long: every analysis stays linear in their length."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from limits import assert_linear, cpu_limit
from mcproof.checks.engine import check
from mcproof.checks.rule import find_rule
from mcproof.checks.texts.encodings import encoded_in
from mcproof.checks.texts.hidden import hidden_in, readable
from mcproof.checks.texts.markup import chat_marker, dangerous_markup
from mcproof.checks.texts.suspicion import sentences, words_in, worst_sentence
from mcproof.checks.texts.tool_graph import graph_of
from mcproof.checks.texts.words import commands_model
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 60_000
HIDING = [
    *("\u200b\u200c", "a\u200b", "\u200b\u200c\u200d\u2060", "\U000e0041", "\u202e", "\u202eab\n", "a\u00ad"),
    *(" ", " \n", " " * 39 + "a", "\t", "\n", "<!--", "<!-- a -->", "\x1b[", "\x1b]", "<a hidden ", "[//]: # ("),
    *("<a style=display:none>x", "аb", "a\u0336", "\U0001d5e6", "👨\u200d", "`", "```"),
]
ENCODING = [
    *(
        "aB3",
        "aB3x ",
        "%41",
        "&#65;",
        "\\u0041",
        "01000001 ",
        "01",
        "a ",
        "a.",
        ".- ",
        "-",
        "<~",
        "gur lbh ",
        "eht uoy ",
    ),
    *("4a5 ", "a4", "4a ", "4a", "65 ", "A", "=41", "&;", "\\", " E96 ", "⠁", "ǝ", "1", "_", "/", "<~a"),
]
MARKUP = [
    *(
        "<",
        "<system>",
        "[INST",
        '"role"',
        "\n\nHuman:",
        "### ",
        "[x](",
        "](javascript:",
        "<script>",
        "<img ",
        "http://",
    ),
    *("http://a", "ws://a.b ", "`<img src=x>"),
]
SENTENCES = ["'\"`", ".", "a@", "\n ", "<[*", "a. ", "不要告诉", "a_", "/", "~/.", "'a b' ", "aB"]
COMMANDS = ["must call ", "please ", "ignore ", "ignore_previous_", "a_", "always "]


def repeated(unit: str, length: int = LONG) -> str:
    return (unit * (length // len(unit) + 1))[:length]


@pytest.mark.parametrize("unit", HIDING)
def test_hidden_text(unit: str) -> None:
    with cpu_limit(10):
        hidden_in(repeated(unit))
        readable(repeated(unit))
    assert_linear(lambda count: hidden_in(unit * count))


@pytest.mark.parametrize("unit", ENCODING)
def test_encoded_text(unit: str) -> None:
    with cpu_limit(10):
        for _ in encoded_in(repeated(unit)):
            pass
    assert_linear(lambda count: list(encoded_in(unit * count)))


@pytest.mark.parametrize("analyse", [chat_marker, dangerous_markup])
@pytest.mark.parametrize("unit", MARKUP)
def test_markup(unit: str, analyse: Callable[[str], object]) -> None:
    with cpu_limit(10):
        analyse(repeated(unit))
    assert_linear(lambda count: analyse(unit * count))


@pytest.mark.parametrize("unit", COMMANDS)
def test_commands(unit: str) -> None:
    with cpu_limit(10):
        commands_model(repeated(unit))
    assert_linear(lambda count: commands_model(unit * count))


@pytest.mark.parametrize("unit", [*SENTENCES, *COMMANDS, *MARKUP])
def test_sentences(unit: str) -> None:
    with cpu_limit(10):
        worst_sentence(repeated(unit))
    assert_linear(lambda count: list(map(words_in, sentences(unit * count))), 2_000)


def test_tools_that_all_name_each_other() -> None:
    def work(count: int) -> object:
        names = " ".join(f"tool_{number}" for number in range(10))
        tools = [{"name": f"tool_{number}", "description": f"You must call {names}."} for number in range(count)]
        return graph_of(read_snapshot(json.dumps(tools).encode(), "case.json"))

    assert_linear(work, 50)


@pytest.mark.parametrize(
    "rule", ["TRU-101", "TRU-102", "TRU-105", "TRU-109", "TRU-110", "TRU-113", "TRU-114", "no_description_injection"]
)
def test_a_rule_on_many_texts(rule: str) -> None:
    """The number of steps grows with the number of tools, each with a suspicious text of its own."""

    def work(count: int) -> object:
        tools = [
            {
                "name": f"do_{number}",
                "title": f"You must call do_1 {number}",
                "description": f"<!-- {number} --> %41%42",
            }
            for number in range(count)
        ]
        return check(read_snapshot(json.dumps(tools).encode(), "case.json"), [find_rule(rule)])

    assert_linear(work, 15)
