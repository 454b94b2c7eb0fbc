"""Every text that a model may read is found, with its item, pointer and place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcproof.checks.texts import model_texts
from mcproof.checks.texts.model_texts import ModelTexts
from mcproof.targets.snapshots import read_snapshot

CAPTURE = {
    "server": {"package": "not for a model"},
    "initialize": {
        "protocolVersion": "2025-06-18",
        "serverInfo": {"name": "desk", "title": "A title"},
        "instructions": "Use it.",
        "capabilities": {"experimental": {"an-experiment": {}}},
    },
    "tools": [
        {
            "name": "find",
            "title": "Find",
            "description": "Find tickets.",
            "annotations": {"title": "Finder", "note": "An annotation"},
            "_meta": {"vendor/key": "A note"},
            "x-extra": ["a", {"b": "c"}],
            "inputSchema": {
                "type": "object",
                "description": "All parameters.",
                "$comment": "A comment",
                "properties": {
                    "state": {
                        "description": "The state.",
                        "title": "State",
                        "enum": ["open", "closed"],
                        "default": "opened",
                        "examples": ["ajar"],
                        "x-hint": "A hint",
                        "items": {"description": "One of them.", "const": "fixed", "pattern": "^x$"},
                    }
                },
            },
            "outputSchema": {"properties": {"rows": {"description": "The rows."}}},
        }
    ],
    "resources": [{"uri": "https://x.example/a", "name": "a resource", "description": "A resource's text."}],
    "resourceTemplates": [{"uriTemplate": "x://{id}", "name": "t", "description": "A template's text."}],
    "prompts": [
        {"name": "p", "description": "A prompt's text.", "arguments": [{"name": "arg", "description": "An argument."}]}
    ],
}

PLACES = [
    ("Use it.", "server", "/initialize/instructions", "instructions"),
    ("desk", "server", "/initialize/serverInfo/name", "server info"),
    ("an-experiment", "server", "/initialize/capabilities/experimental/an-experiment", "capability"),
    ("find", "tool:find", "/name", "name"),
    ("Find", "tool:find", "/title", "title"),
    ("Finder", "tool:find", "/annotations/title", "title"),
    ("Find tickets.", "tool:find", "/description", "description"),
    ("An annotation", "tool:find", "/annotations/note", "annotation"),
    ("A note", "tool:find", "/_meta/vendor~1key", "_meta"),
    ("vendor/key", "tool:find", "/_meta/vendor~1key", "_meta"),
    ("x-extra", "tool:find", "/x-extra", "unknown key"),
    ("a", "tool:find", "/x-extra/0", "unknown value"),
    ("b", "tool:find", "/x-extra/1/b", "unknown key"),
    ("c", "tool:find", "/x-extra/1/b", "unknown value"),
    ("All parameters.", "tool:find", "/inputSchema/description", "schema description"),
    ("A comment", "tool:find", "/inputSchema/$comment", "comment"),
    ("object", "tool:find", "/inputSchema/type", "keyword"),
    ("state", "tool:find", "/inputSchema/properties/state", "parameter name"),
    ("The state.", "tool:find", "/inputSchema/properties/state/description", "parameter description"),
    ("State", "tool:find", "/inputSchema/properties/state/title", "parameter title"),
    ("closed", "tool:find", "/inputSchema/properties/state/enum/1", "enum value"),
    ("opened", "tool:find", "/inputSchema/properties/state/default", "default"),
    ("ajar", "tool:find", "/inputSchema/properties/state/examples/0", "example"),
    ("x-hint", "tool:find", "/inputSchema/properties/state/x-hint", "unknown key"),
    ("A hint", "tool:find", "/inputSchema/properties/state/x-hint", "unknown value"),
    ("One of them.", "tool:find", "/inputSchema/properties/state/items/description", "parameter description"),
    ("fixed", "tool:find", "/inputSchema/properties/state/items/const", "const"),
    ("^x$", "tool:find", "/inputSchema/properties/state/items/pattern", "pattern"),
    ("The rows.", "tool:find", "/outputSchema/properties/rows/description", "parameter description"),
    ("https://x.example/a", "resource:a resource", "/uri", "uri"),
    ("A resource's text.", "resource:a resource", "/description", "description"),
    ("A template's text.", "template:t", "/description", "description"),
    ("A prompt's text.", "prompt:p", "/description", "description"),
    ("arg", "prompt:p", "/arguments/0/name", "argument name"),
    ("An argument.", "prompt:p", "/arguments/0/description", "argument description"),
]


def texts_of(document: Any, *bodies: tuple[str, str]) -> ModelTexts:
    return ModelTexts(read_snapshot(json.dumps(document).encode(), "case.json"), bodies)


@pytest.mark.parametrize("expected", PLACES, ids=[each[0] for each in PLACES])
def test_place_of_a_text(expected: tuple[str, str, str, str]) -> None:
    found = [(use.text, use.item.subject, use.pointer, use.place) for use in texts_of(CAPTURE).uses(expected[0])]

    assert expected in found


def test_what_no_model_reads_is_left_out() -> None:
    distinct = set(texts_of(CAPTURE).distinct)

    assert "not for a model" not in distinct
    assert not {"inputSchema", "properties", "description"} & distinct


def test_a_repeated_text_is_one_text_with_all_its_uses() -> None:
    texts = texts_of([{"name": f"tool_{each}", "description": "The same."} for each in range(3)])

    assert list(texts.distinct).count("The same.") == 1
    assert [use.item.name for use in texts.uses("The same.")] == ["tool_0", "tool_1", "tool_2"]


def test_a_resource_body_belongs_to_its_resource() -> None:
    texts = texts_of(CAPTURE, ("https://x.example/a", "A body."), ("https://x.example/unlisted", "Another."))

    assert [(use.item.subject, use.place) for use in texts.uses("A body.")] == [
        ("resource:a resource", "resource body")
    ]
    assert [(use.item.subject, use.place) for use in texts.uses("Another.")] == [("server", "resource body")]


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_texts, "MAX_TEXTS", 10)
    texts = texts_of([{"name": f"tool_{each}"} for each in range(30)])

    assert len(list(texts.distinct)) == 10
    assert texts.left_out == 20


def test_limit_of_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_texts, "MAX_CHARACTERS", 100)
    texts = texts_of([{"name": "a", "description": "x" * 90}, {"name": "b", "description": "y" * 90}])

    assert list(texts.distinct) == ["a", "x" * 90, "b"]
    assert texts.left_out == 1


def test_deep_nesting_ends() -> None:
    deep: Any = "the end"
    for _ in range(800):
        deep = [deep]
    texts = texts_of([{"name": "a", "x": deep}])

    assert "the end" not in texts.distinct
    assert texts.left_out == 1


def test_an_analysis_is_shared() -> None:
    texts = texts_of([{"name": "a"}])
    runs: list[ModelTexts] = []

    def count(each: ModelTexts) -> int:
        runs.append(each)
        return len(list(each.distinct))

    assert [texts.analysis("count", count) for _ in range(2)] == [1, 1]
    assert runs == [texts]
