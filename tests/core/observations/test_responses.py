"""Flaws of tool responses, and false positives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from limits import cpu_limit
from mcproof.client.peer import RpcResponse
from mcproof.client.redaction import literal_secrets
from mcproof.client.session import Response
from mcproof.core.observations.probes import ResponseFlaw
from mcproof.core.observations.responses import OutputContract, error_text, flaws_of
from mcproof.probing.probes.responses import judge

NEW, OLD = "2025-11-25", "2024-11-05"
NOTHING = OutputContract(None)
TOTAL = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}


def text_result(text: str, **members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **members}


def flaws(result: Any, revision: str | None = NEW, schema: Any = None) -> list[ResponseFlaw]:
    return flaws_of(result, revision, OutputContract(schema))


def refusal(text: str) -> Response:
    envelope = {"jsonrpc": "2.0", "id": 1, "result": text_result(text, isError=True)}
    return Response("rejected", RpcResponse(json.dumps(envelope).encode(), envelope))


# --- errors that are called a success -------------------------------------------------------------------------------

ERRORS = [
    "Error: database is locked",
    "\n  Error: database is locked",
    "Error 404: not found",
    "Error (404): not found",
    "Error [ERR_INVALID_URL]: Invalid URL",
    "Error: 404",
    "Error: 0x80070005",
    "Error: no such table: books",
    "Error: None of the books is there",
    "❌ Error: timeout",
    "⚠️ Error: timeout",
    "**Error**: timeout",
    "**Error:** timeout",
    "error: no such file",
    "FATAL: password authentication failed",
    "fatal: not a git repository",
    "ValueError: query must not be empty",
    "sqlite3.OperationalError: no such table",
    "java.lang.RuntimeException: no books",
    "Error fetching weather: timeout",
    "Error executing tool find_book: timeout",
    "Error while reading file: ENOENT",
    "Failed to retrieve books",
    "Failed to connect: refused",
    "Unable to fetch the list of books.",
    "An error occurred: timeout",
    "An unexpected error occurred while calling the library",
    "An internal server error has occurred.",
    'Traceback (most recent call last):\n  File "server.py", line 3',
    '{"error": "database is locked"}',
    '{"error": {"code": 5}}',
    '{"error": "no such city", "city": "mcproof"}',
    '{"status": "error", "message": "database is locked"}',
    '{"success": false, "message": "database is locked"}',
    '{"ok": false, "error": "database is locked"}',
    '{"data": null, "errors": [{"message": "database is locked"}]}',
]
NO_ERRORS = [
    "",
    "Error",
    "Errors: 0",
    "No errors found",
    "Error: none",
    "Error: 0",
    "ERROR: 0, WARNING: 3",
    "error: null\ntotal: 5",
    "StandardError: 0.05",
    "MeanSquaredError: 0.31\nR2: 0.9",
    "Error rate: 0.2%",
    "Error handling: a guide",
    "Error handling in Python: a guide",
    "Error codes:\n404: not found",
    "Errors and exceptions: chapter 8",
    "The error: a novel",
    "Failed to Launch (2006), a film",
    "Failed logins: 3",
    "ERROR: disk full\nINFO: cleaning up\nINFO: done",
    "An error occurred in 1986. " + "It was long ago. " * 40,
    '{"errors": [], "total": 12}',
    '{"status": "ok", "error": null}',
    '{"error": ""}',
    '{"error": "none"}',
    '{"error": {}}',
    '{"id": 7, "state": "failed", "error": "exit code 1"}',
    '{"results": [1], "error": "page 2 is missing"}',
    '{"service": "search", "status": "error"}',
    '{"ok": false, "failing": ["database"]}',
    '{"valid": false, "errors": [{"line": 3}]}',
    '{"data": {"total": 12}, "errors": [{"message": "one shelf is closed"}]}',
    '[{"error": "database is locked"}]',
    "{" * 5_000,
]


@pytest.mark.parametrize("text", ERRORS)
def test_a_text_that_reports_an_error_is_one(text: str) -> None:
    assert [flaw.kind for flaw in flaws(text_result(text))] == ["error-as-success"]


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_that_is_marked_as_one_is_in_order(text: str) -> None:
    assert flaws(text_result(text, isError=True)) == []


@pytest.mark.parametrize("text", NO_ERRORS)
def test_a_text_that_is_about_errors_is_none(text: str) -> None:
    assert flaws(text_result(text)) == []


def test_an_error_among_other_blocks_is_part_of_something() -> None:
    blocks = [{"type": "text", "text": "Error: shelf 3 is closed"}, {"type": "text", "text": "12 books"}]
    assert flaws({"content": blocks}) == []


def test_an_error_that_repeats_long_arguments_is_an_error() -> None:
    for value in ("a" * 1_000_000, "xyz-" * 5_000):
        text = f"Error reading file: [Errno 36] File name too long: '{value}'"
        [flaw] = flaws_of(text_result(text), NEW, NOTHING, {"path": value})
        assert flaw.kind == "error-as-success"
    cut = "Failed to read file: " + "a" * 600 + "... (truncated)"
    assert [flaw.kind for flaw in flaws_of(text_result(cut), NEW, NOTHING, {"path": "a" * 5_000})] == [
        "error-as-success"
    ]


def test_a_content_block_of_the_type_error_is_an_error() -> None:
    kinds = [flaw.kind for flaw in flaws({"content": [{"type": "error", "text": '[{"path": ["id"]}]'}]})]
    assert kinds == ["malformed-content", "error-as-success"]


@pytest.mark.parametrize(
    "text", ["NaN", "It is Invalid Date there.", "[object Object]", "undefined", "Total: undefined", "value = NaN"]
)
def test_a_success_without_a_value_is_a_flaw(text: str) -> None:
    assert [flaw.kind for flaw in flaws(text_result(text))] == ["no-value"]
    assert flaws(text_result(text, isError=True)) == []


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("NaN is a number: " + "a long text. " * 40, {}),
        ("`NaN` is what you asked for", {"word": "NaN"}),
        ("The behaviour is undefined for strings.", {}),
        ("Nancy", {}),
    ],
)
def test_a_text_about_such_a_word_is_a_value(text: str, arguments: Any) -> None:
    assert flaws_of(text_result(text), NEW, NOTHING, arguments) == []


def test_an_error_is_told_on_one_line() -> None:
    [flaw] = flaws(text_result("Error: database\n\n  is locked"))
    assert flaw.detail == "Error: database is locked"


HOSTILE = [
    " ",
    "*",
    "a",
    "a.",
    "_",
    "Error",
    "Error ",
    "Error(",
    "Error[",
    "Error: x\n\n\n",
    "Error fetching ",
    "An a ",
]


@pytest.mark.parametrize("part", [*HOSTILE, "Failed to ", "\nWARN", "{", "[", '{"a":', "Error:      "])
def test_a_hostile_text_takes_no_longer_than_any_other(part: str) -> None:
    text = (part * 20_000)[:20_000]
    with cpu_limit():
        flaws(text_result(text))


# --- structured content ---------------------------------------------------------------------------------------------


def test_structured_content_that_breaks_the_schema_is_told_with_its_place() -> None:
    [flaw] = flaws(text_result("12", structuredContent={"total": "12"}), schema=TOTAL)
    assert flaw == ResponseFlaw("structured-invalid", '"12" is not of type "integer" at /total')


def test_missing_structured_content_is_a_flaw_only_where_a_schema_is_declared() -> None:
    assert [flaw.kind for flaw in flaws(text_result("12"), schema=TOTAL)] == ["structured-missing"]
    assert flaws(text_result("12")) == []


@pytest.mark.parametrize("revision", ["2025-03-26", OLD, None])
def test_revisions_without_structured_content_are_not_asked_for_it(revision: str | None) -> None:
    assert flaws(text_result("12"), revision, TOTAL) == []
    assert flaws(text_result("12", structuredContent={"total": "12"}), revision, TOTAL) == []


def test_an_error_need_not_fit_the_schema() -> None:
    assert flaws(text_result("no", isError=True), schema=TOTAL) == []
    assert flaws(text_result("no", isError=True, structuredContent={}), schema=TOTAL) == []


def test_a_format_is_a_note_to_the_reader_and_breaks_nothing() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"page": {"format": "uri"}}}
    assert flaws(text_result("a", structuredContent={"page": "no address"}), schema=schema) == []


@pytest.mark.parametrize(
    "schema", [{"$ref": "#/none"}, {"$ref": "#"}, {"$ref": "https://example.com/x.json"}, {"type": 5}, {"pattern": "("}]
)
def test_a_schema_that_is_none_is_broken_by_nothing(schema: dict[str, Any]) -> None:
    assert flaws(text_result("a", structuredContent={"a": 1}), schema=schema) == []


def test_a_schema_that_unfolds_without_end_is_not_followed() -> None:
    steps = {f"step{number}": {"anyOf": [{"$ref": f"#/$defs/step{number + 1}"}] * 2} for number in range(40)}
    schema = {"$ref": "#/$defs/step0", "$defs": {**steps, "step40": {"type": "string"}}}
    with cpu_limit():
        assert flaws(text_result("a", structuredContent={}), schema=schema) == []


def test_what_breaks_a_schema_is_told_in_a_few_words_however_large_it_is() -> None:
    [flaw] = flaws(text_result("a", structuredContent={"total": "x" * 1_000_000}), schema=TOTAL)
    assert len(flaw.detail) < 500


# --- content blocks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "wrong"),
    [
        ("12 books", "is a string"),
        ({"text": "12 books"}, "has no `type`"),
        ({"type": 5}, "has a number as its `type`"),
        ({"type": "hologram"}, 'has the unknown type "hologram"'),
        ({"type": "text"}, "(`text`) has no `text`"),
        ({"type": "text", "text": 12}, "(`text`) has a number as its `text`"),
        ({"type": "image", "data": "R0lG"}, "(`image`) has no `mimeType`"),
        ({"type": "resource"}, "(`resource`) has no `resource` object"),
        ({"type": "resource", "resource": {"text": "a"}}, "(`resource`) has no `uri` in its resource"),
        (
            {"type": "resource", "resource": {"uri": "a:b"}},
            "(`resource`) has neither `text` nor `blob` in its resource",
        ),
    ],
)
def test_what_is_wrong_with_a_block_is_told(block: Any, wrong: str) -> None:
    assert flaws({"content": [block]}) == [ResponseFlaw("malformed-content", f"content block 0 {wrong}")]


def test_a_block_that_is_younger_than_the_revision_is_not_allowed() -> None:
    link = {"type": "resource_link", "uri": "library://hours", "name": "hours"}
    assert flaws({"content": [link]}, "2025-06-18") == []
    [flaw] = flaws({"content": [link]}, "2025-03-26")
    assert "2025-06-18" in flaw.detail
    assert flaws({"content": [link]}, None) == [], "an unknown revision allows everything"


# --- what the caller has said ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "C:\\Users\\alice\\books\\list.py",
        'File "/srv/books/list.py", line 3',
        "Error: no\n    at find (/srv/books/list.js:1:2)",
        "/srv/bücher/liste.py",
    ],
)
@pytest.mark.parametrize("arguments", [{"query": "{}"}, {"filter": [{"query": "{}"}]}, {"{}": 1}])
def test_what_was_sent_may_be_repeated_though_json_spells_it_otherwise(text: str, arguments: Any) -> None:
    sent = json.loads(json.dumps(arguments).replace('"{}"', json.dumps(text)))
    judgement = judge(refusal(f"invalid: {text}"), sent, is_valid=False, revision=NEW, output=NOTHING)
    assert judgement.leak is None
    assert judge(refusal(f"invalid: {text}"), {}, is_valid=False, revision=NEW, output=NOTHING).leak is not None


def test_a_setting_is_no_secret_that_an_error_text_must_not_have() -> None:
    given = [("MODE", "production"), ("API_TOKEN", "rose-garden"), ("BASE_URL", "https://library.example.com")]
    assert literal_secrets(given) == ["rose-garden"]


def test_the_data_of_an_error_is_part_of_what_it_says() -> None:
    text = error_text({"error": {"code": 1, "message": "no", "data": {"stack": "at find"}}})
    assert "no" in text
    assert "at find" in text
