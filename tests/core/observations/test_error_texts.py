"""Texts that report an error, and texts that are about errors."""

from __future__ import annotations

import pytest

from limits import cpu_limit
from mcproof.core.observations.responses import PHRASES, is_error_text, reported_error

ERRORS = [
    "Missing parameter: 'id'",
    "Missing required argument: query",
    "Missing required parameters",
    "missing required field `path`",
    "'query' is required",
    "query is required.",
    "The parameter limit is required",
    "Query parameter is required",
    "limit must be between 1 and 100",
    "'limit' must be a positive integer",
    "Error (ERROR): Limit must be 1-100",
    "Invalid arguments for tool find_book",
    "Invalid parameter: limit",
    "Invalid argument 'limit': expected an integer",
    "Unsupported parameter value: mcproof",
    "Input validation error: 'query' is a required property",
    "1 validation error for find_bookArguments\nquery\n  Field required [type=missing]",
    "Validation error: Required at 'query'",
    "Unknown function requested",
    "Unknown tool: mcproof_no_such_tool",
    "Unknown action 'mcproof'.",
    "Unknown command",
    "Tool mcproof_no_such_tool not found",
    "File not found: /no/such/file",
    "Path /no/such/path does not exist",
    "No such file or directory: 'a'",
    "Max retries exceeded",
    "Max retries exceeded with url: /v1/books",
    "Maximum number of attempts reached.",
    "Too many requests",
    "Rate limit exceeded. Try again in 60 seconds.",
    "Request timed out",
    "The connection was refused",
    "Connection error: [Errno 111]",
    "HTTP error 500: upstream",
    "Network error",
    "Internal server error",
    "404 Client Error: Not Found for url: https://example.com",
    "HTTP 403: Forbidden",
    "401 Unauthorized",
    "Request failed with status code 404",
    "API request failed: 500",
    "Query failed: no such table",
    "Authentication failed",
    "Access denied",
    "Permission denied: /etc/shadow",
    "Unauthorized",
    "No API key provided",
    "Invalid API key",
    "OPENWEATHER API key not set",
    "GITHUB_TOKEN is required",
    "Could not connect to the database",
    "Cannot read file: is a directory",
    "Something went wrong",
    "❌ Missing parameter: 'id'",
    "Error occurred: Invalid arguments for tool find_book",
    "Environment 'mcproof' not found",
    "'mcproof' not found in the list of books",
    "Session not found. Open a file first.",
    "Unknown category: mcproof",
    "No budget ID provided",
    "# Compatibility Check Error\n\nError: fetch failed",
    "## Request failed\n\n**Error:** timeout",
    '{"status": "error", "message": "no such file", "file_path": "a"}',
    '{"success": false, "message": "no such city", "city": "mcproof", "units": "metric"}',
    '{"success": false, "error": {"type": "ToolError", "message": "no"}}',
    '{"error": true, "message": "no such file"}',
    '{"isError": true, "content": [{"type": "text", "text": "no"}]}',
    '{"code": 404, "message": "Not found"}',
    '{"detail": "Not authenticated"}',
    '{"result": "Error: database is locked"}',
    '{"message": "Missing parameter: \'id\'"}',
]
SUCCESSES = [
    '{"valid": false, "error": "unexpected token"}',
    '{"valid": false, "errors": ["unexpected token"], "message": "invalid"}',
    '{"is_valid": false, "error": "no such format", "success": false}',
    '{"isValid": false, "error": {"line": 3}}',
    '{"exists": false, "error": "404"}',
    '{"healthy": false, "status": "error", "message": "timeout"}',
    '{"id": "job-1", "status": "error", "message": "exit code 1"}',
    '{"name": "build", "status": "error", "message": "exit code 1"}',
    '{"service": "db", "status": "error", "message": "down"}',
    '{"status": "error", "message": "down", "started_at": "2026-01-01"}',
    '{"status": "error", "message": "two failed", "tests": [{"name": "a"}]}',
    '{"success": false, "passed": false, "message": "3 tests failed"}',
    '{"status": "error"}',
    '{"code": 200, "message": "OK"}',
    '{"code": 55, "message": "moderate rain"}',
    '{"result": "Error handling in Python: a guide"}',
    '{"message": "Hello"}',
    "Invalid JSON: Expecting value: line 1 column 1",
    "Invalid email address",
    "❌ Invalid: line 3",
    "Missing persons: a list",
    "Missing values: 3",
    "Missing data in column age: 12 rows",
    "Registration is required.",
    "Python 3.11 is required",
    "Passwords must be longer than 8 characters.",
    "Unknown artist - Unknown album",
    "Unknown",
    "Tool use in crows: a study",
    "No results found",
    "No books found matching 'mcproof'",
    "No such luck: a novel",
    "Book not found",
    "Could not find any books",
    "Access denied: the story of a breach. " + "It was long ago. " * 40,
    "404 books found",
    "500 results",
    "3 tests failed: a, b, c",
    "Search failed logins: 3",
    "Maximum temperature: 31",
    "Max retries: 3",
    "Too many cooks (2014)",
    "Timeout: 30 seconds",
    "Network errors: 0",
    "Network error rate: 0.1 %",
    "Server errors by day:\nMonday: 3",
    "Request timed out\nINFO retrying\nINFO done",
    "Forbidden City, Beijing",
    "Forbidden Planet (1956)",
    "Unauthorized biography of a rose",
    "API keys: a guide",
    "Cannot Buy Me Love (1987)",
    "# Errors\n\n- Error: disk full",
    "# The day the music failed\n\nA novel about an error: the first.",
    "Unknown artist: a list\nUnknown album",
    "No books were found",
    "'Not found' is a novel",
    "Errors:\n1. timeout",
    "Error: disk full\n" + "shelf 3\n" * 100,
    "The request timed out is a common message; see chapter 3 for others." * 10,
]


@pytest.mark.parametrize("text", ERRORS)
def test_a_text_that_reports_an_error(text: str) -> None:
    assert is_error_text(text)


@pytest.mark.parametrize("text", SUCCESSES)
def test_a_text_of_a_success(text: str) -> None:
    assert not is_error_text(text)


def test_the_error_of_a_result_is_its_only_text() -> None:
    block = {"type": "text", "text": "Max retries exceeded"}
    assert reported_error({"content": [block]}) == "Max retries exceeded"
    assert reported_error({"content": [block, block]}) is None
    assert reported_error({"content": []}) is None
    assert reported_error({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}) is None


@pytest.mark.parametrize("character", ["a", " ", "'", ".", "(", "1 ", "missing ", "error ", "the parameter "])
def test_a_long_text_is_read_in_time(character: str) -> None:
    with cpu_limit(1):
        assert not is_error_text((character * 500)[:499])
        is_error_text(character * 100_000)


def test_every_phrase_has_an_example() -> None:
    import re

    texts = [text.removeprefix("❌ ") for text in ERRORS] + [
        "Error fetching weather: timeout",
        "Failed to retrieve books",
        "An error occurred: timeout",
    ]
    unused = [each for each in PHRASES if not any(re.match(each, text, re.IGNORECASE) for text in texts)]
    assert unused == []
