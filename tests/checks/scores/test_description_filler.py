"""Length alone wins nothing, and hostile text costs no more than other text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits import assert_linear, cpu_limit
from mcproof.checks.scores.descriptions import description_scores, judge
from mcproof.core.catalog.model import Tool
from mcproof.targets.snapshots import read_snapshot

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "description": "How many lines."}},
    "required": ["path"],
}
SENTENCES = (
    "Reads the text of a file below the root.",
    "Read file.",
    "Use this when the user names a file on disk.",
    "Prefer search_files for many files at once.",
    "Only works inside the workspace, never elsewhere.",
    "Returns the lines with their numbers as JSON.",
    "Fails for files of more than 10 megabytes.",
    "path: where the file is, from the root",
    "Example: read_file(path='notes.txt')",
    "Encodings are found out by looking at the first bytes.",
    "读取工作区内文件的文本内容。",
    "当用户提到磁盘上的文件时使用。",
    "最多返回一千行，不支持二进制文件。",
    "Liest den Text einer Datei unterhalb der Wurzel.",
    "Verwende es, wenn eine Datei auf der Platte gemeint ist.",
    "ファイルの内容を読み取ります。",
)
HEADINGS = ("Args:", "Returns:", "Example:", "Warning:", "参数：", "## Notes")
FILLER = (
    "This is a very useful, powerful and convenient tool that works really well in many situations.",
    "This tool is very powerful and useful.",
    "It is fast, reliable, robust, flexible and easy to use.",
    "The best tool, loved by millions of developers everywhere.",
    "Use this tool whenever you need it.",
    "When you want to use it, use it. If you need this tool, call this tool.",
    "Use this when. Limits. Example. Returns.",
    "Returns results. Example: example. Note: important. Must. Only.",
    "Reads file. Read the files. File reading.",
    "Get, fetch, retrieve, obtain, acquire, find, search, look up.",
    "Very very very good. So good. Really good!",
    "Trusted by leading enterprises, it delivers and boosts productivity.",
    "这是一个非常强大、方便、好用的工具。",
    "とても便利なツールです。",
    "매우 강력한 도구 입니다.",
    "Dieses Werkzeug ist sehr nützlich, einfach und praktisch.",
    "Esta herramienta es muy útil, potente y fácil.",
    "Cet outil est très utile, puissant et pratique.",
)
NOTHING = (" ", "\n", "\n\n", "\t", ".", "...", "!!!", "?", " - ", "***", "。", "，", "\u00a0", "—")

descriptions = st.lists(st.sampled_from(SENTENCES + HEADINGS), max_size=7).map("\n".join)


def score_of(description: str, name: str = "read_file") -> float:
    return judge(Tool({"name": name, "description": description, "inputSchema": SCHEMA}, "/tools/0")).explained().score


def assert_not_raised(before: str, after: str) -> None:
    assert score_of(after) <= score_of(before) + 1e-9, (before, after)


@given(descriptions, st.sampled_from(FILLER), st.sampled_from((" ", "\n", "\n\n")))
def test_filler_raises_no_score(description: str, filler: str, between: str) -> None:
    ended = description if between != " " or description[-1:] in ".。" else description + "."
    assert_not_raised(ended, ended + between + filler)


@given(descriptions, st.data())
def test_saying_a_sentence_again_raises_no_score(description: str, data: st.DataObject) -> None:
    lines = description.split("\n")
    again = data.draw(st.sampled_from(lines))
    assert_not_raised(description, f"{description}\n{again}")
    assert_not_raised(description, f"{description}\n\n{again}")


@given(st.sampled_from(SENTENCES))
def test_saying_everything_twice_raises_no_score(description: str) -> None:
    for text in (description, description.rstrip(".。")):
        assert_not_raised(text, f"{text} {text}")
        assert_not_raised(text, f"{text}\n{text}\n{text}")


@given(descriptions, st.lists(st.sampled_from(NOTHING), max_size=20).map("".join))
def test_white_space_and_punctuation_raise_no_score(description: str, nothing: str) -> None:
    assert_not_raised(description, description + nothing)


@pytest.mark.parametrize("filler", FILLER)
def test_filler_alone_is_worth_next_to_nothing(filler: str) -> None:
    assert score_of(filler) < 0.3, "what the schema explains is all there is"


@pytest.mark.parametrize(
    "stuffed",
    [
        "Use this when. Limits. Example. Returns.",
        "Use this when limits example returns only must not.",
        "Returns: returns. Example: example. Args: args. Warning: warning.",
        "When? Only! Must! Never! Returns! E.g.! Instead! Default!",
        "Use this when you use this. Returns the return. Must not, only.",
        "当。仅。必须。返回。例如。",
        "Wenn. Nur. Gibt zurück. Beispiel. Stattdessen.",
    ],
)
def test_the_words_that_are_looked_for_win_nothing_by_themselves(stuffed: str) -> None:
    assert score_of(f"Reads the text of a file.\n{stuffed}") <= score_of("Reads the text of a file.") + 1e-9


def test_a_long_description_that_says_less_scores_less_than_a_short_one_that_says_more() -> None:
    long = "Reads a file. " + " ".join(FILLER[:6]) + " Files are read from disk, and reading them reads their bytes."
    short = "Reads a file as UTF-8. Only below the root. Returns its lines."
    assert score_of(long) < score_of(short)


@given(st.text(max_size=300), st.text(max_size=40))
def test_any_text_has_a_score_between_nothing_and_one(description: str, name: str) -> None:
    assert 0 <= score_of(description, name) <= 1


@given(descriptions)
def test_the_same_description_has_the_same_score(description: str) -> None:
    assert score_of(description) == score_of(description)


HOSTILE = {
    "one word": "a" * 1_000_000,
    "full stops": "." * 1_000_000 + "x",
    "question marks and letters": "?a" * 500_000,
    "quotation marks": '"a ' * 300_000,
    "brackets": "a(" * 500_000,
    "calls": 'a("' * 300_000,
    "white space": "a" + " " * 1_000_000 + "\nb",
    "line breaks": "a\n" * 500_000,
    "hyphens": "a-" * 500_000,
    "Han": "汉" * 1_000_000,
    "cues": "only must when returns example " * 30_000,
    "sentences": " ".join(f"Only w{number} must x{number}." for number in range(50_000)),
    "growing sentences": ". ".join(" ".join(f"w{n}x{k}" for k in range(n)) for n in range(3, 200)),
    "parameters": "path limit " * 90_000,
    "a broken surrogate": "\ud800" * 1_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_scored(kind: str) -> None:
    with cpu_limit():
        score_of(HOSTILE[kind])
        score_of("Reads a file.", name=HOSTILE[kind])


def test_hostile_parameters_are_scored() -> None:
    properties = {f"{'p' * 300}{number}": {"description": "a " * 5_000} for number in range(5_000)}
    tool = Tool(
        {"name": "t", "description": " ".join(properties), "inputSchema": {"properties": properties}}, "/tools/0"
    )
    with cpu_limit():
        judge(tool).explained()


def test_the_work_grows_with_the_number_of_tools() -> None:
    def work(count: int) -> None:
        tools = [
            {"name": f"read_{number}", "description": " ".join(SENTENCES[number % 9 :]), "inputSchema": SCHEMA}
            for number in range(count)
        ]
        catalog = read_snapshot(json.dumps({"tools": tools}).encode(), "case.json")
        description_scores(map(judge, catalog.tools))

    assert_linear(work, 30)
