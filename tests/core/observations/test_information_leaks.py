"""Leaks in error messages, and false positives."""

from __future__ import annotations

import pytest

from limits import cpu_limit
from mcproof.core.observations.responses import LOOKED_AT, leak_in

RANDOM = "k3Vd9QzLm2Xw7RtYb5Nc8HsJf4Gp6TaEu1Wo"
"""As many characters as a token of GitHub has."""

TRACES = {
    "python": 'Traceback (most recent call last):\n  File "/srv/app/db.py", line 1, in find\nKeyError: 0',
    "python in json": '{"detail": "Traceback (most recent call last):\\n  File \\"db.py\\", line 1"}',
    "python without a heading": 'File "server.py", line 10, in call',
    "python without a heading in json": '{"detail": "File \\"server.py\\", line 10"}',
    "node": "TypeError: no\n    at findBook (/srv/app/dist/db.js:42:17)",
    "node module": "Error: no\n    at file:///srv/app/dist/db.js:42:17",
    "node internals": "Error: no\n    at process.run (node:internal/process/task_queues:95:5)",
    "node in json": '{"stack": "Error: no\\n    at findBook (dist/db.js:42:17)"}',
    "java": "java.lang.NullPointerException\n\tat org.books.Db.find(Db.java:42)",
    "java of the platform": "no\n\tat java.base/java.util.Objects.requireNonNull(Objects.java:233)",
    "dotnet": "System.Exception: no\n   at Books.Db.Find(String query) in C:\\src\\Db.cs:line 42",
    "dotnet without files": "System.Exception: no\n   at Books.Db.Find(String query)\n   at Books.Program.Main()",
    "go": "panic: no\n\ngoroutine 7 [chan receive, 2 minutes]:\nmain.main()",
    "rust": "thread 'main' panicked at src/main.rs:10:5:\nindex out of bounds",
    "older rust": "thread 'main' panicked at 'no', src/main.rs:2:5",
    "php": "#0 /var/www/html/index.php(12): find()",
    "ruby": "lib/books/db.rb:10:in `find'",
    "newer ruby": "lib/books/db.rb:10:in 'Db#find'",
    "elixir": "(books 0.1.0) lib/books/db.ex:12: Books.Db.find/2",
}
PATHS = [
    "Cannot find module '/srv/app/dist/db.js'",
    "Cannot find module file:///srv/app/dist/db.js",
    "Invalid arguments in /srv/app/books/db.py.",
    "PHP Fatal error: no in /var/www/html/index.php on line 12",
    "(/srv/app/db.ts)",
    "'/usr/lib/python3/dist-packages/books/db.py' is not readable",
    "C:\\Users\\John Smith\\app\\main.py failed",
    '{"file": "C:\\\\Users\\\\john\\\\app\\\\main.py"}',
]
SECRETS = {
    f"key ghp_{RANDOM}": "ghp_***",
    f"key sk-proj-{RANDOM}": "sk-p***",
    f"key sk-{RANDOM}": "sk-k***",
    f"key sk_live_{RANDOM[:24]}": "sk_l***",
    "key xoxb-123456789012-abcdefgh": "xoxb***",
    "key AKIAQ3EGR7ZT5LPX2MNB": "AKIA***",
    f"key AIza{RANDOM[:35]}": "AIza***",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U": "eyJh***",
    "cannot reach postgres://books:s3cr3t-r0se@10.0.0.7/books": "postgres://books:***",
    "cannot reach redis://:s3cr3t-r0se@cache:6379": "redis://:***",
    "Max retries exceeded with url: /weather?q=x&appid=0123456789abcdef0123456789abcdef": "&appid=***",
    "refused: Authorization: Bearer 8f3kd93kd9a0s8d7f6g5h4j3k2l1": "Bearer ***",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE": "-----BEGIN RSA PRIVATE KEY-----",
}
HARMLESS = {
    "pydantic": "1 validation error for find_book\nquery\n  Field required [type=missing, input_value={}]\n"
    "    For further information visit https://errors.pydantic.dev/2.5/v/missing",
    "zod": '[\n  {\n    "code": "invalid_type",\n    "path": [\n      "query"\n    ]\n  }\n]',
    "go": "json: cannot unmarshal object into Go struct field Args.query of type string",
    "go network": "rpc error: code = Unavailable desc = dial tcp 127.0.0.1:5432: connect: connection refused",
    "go runtime": "runtime error: index out of range [5] with length 3",
    "sqlite": 'near "SELEC": syntax error',
    "postgres": 'ERROR: relation "books" does not exist at character 15',
    "mysql": "SQLSTATE[42S02]: Base table or view not found: 1146 Table 'books' doesn't exist",
    "a relative path": "ENOENT: no such file or directory, open 'src/tools/find.ts'",
    "a place in a relative path": "Invalid file src/tools/find.ts:42:17",
    "a kind of file": "Only .py, .js and .ts files are allowed",
    "a path of data": "cannot open /var/lib/books/data.json",
    "a path of data on windows": "C:\\data\\books.csv not found",
    "a name that goes on": "cannot open /data/books/part.c-2024",
    "a version": "server version 1.2.3-beta.4+5f2a9c1 needs node >=18.0.0",
    "a uuid": "request 0b9a5c1e-3f64-4f0e-9a53-6f1d2c7b8e90 failed",
    "a commit": "commit 5f2a9c1d7e46c04f9c2ab81d7e46c04f9c2ab81d not found",
    "a hash": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "an image": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "a page": "see https://github.com/books/server/blob/main/src/server.py#L10",
    "a path of an address": "Max retries exceeded with url: /w/api.php?action=query",
    "a request": "POST /wiki/api.php returned 500",
    "an example of a path": "`path` must be absolute, e.g. /home/alice/project/main.py",
    "a path of a manual": "use /path/to/file.py or C:\\path\\to\\file.py",
    "an example of a login": "set DATABASE_URL to postgres://user:password@localhost:5432/db",
    "a hidden password": "cannot reach postgres://books:***@10.0.0.7/books",
    "a password as Go hides it": "cannot reach postgres://books:xxxxx@10.0.0.7/books",
    "a variable": "expected postgres://books:${DB_PASSWORD}@10.0.0.7/books",
    "a place for a login": "expected postgres://<user>:<password>@<host>/db",
    "a user without a password": "cannot clone ssh://git@github.com:22/books/server.git",
    "a hidden key": "Incorrect API key provided: sk-proj-********************abcd.",
    "a place for a key": "set ANTHROPIC_API_KEY to sk-ant-your-api-key-goes-here",
    "a shape of a key": "a key looks like sk-proj-xxxxxxxxxxxxxxxxxxxxxxxx",
    "the key of a manual": "AKIAIOSFODNN7EXAMPLE is not valid",
    "a key that is public": f"pk_live_{RANDOM[:24]} is not known",
    "the number of a task": "task-0123456789abcdef0123456789abcdef is not known",
    "a place for a token": "the header must be Authorization: Bearer YOUR_API_TOKEN_GOES_HERE",
    "words about a token": "Bearer token is missing or malformed",
    "a time": "it ended\n at 10:30:00",
    "code of the caller": 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nNameError: rose',
    "invalid code of the caller": 'File "<unknown>", line 1\n  SyntaxError: invalid syntax',
}


@pytest.mark.parametrize("text", TRACES.values(), ids=TRACES)
def test_a_stack_trace_is_a_leak(text: str) -> None:
    leak = leak_in(text, "")
    assert leak is not None
    assert leak.kind == "a stack trace"


@pytest.mark.parametrize("text", PATHS)
def test_a_path_of_source_code_is_a_leak(text: str) -> None:
    leak = leak_in(text, "")
    assert leak is not None
    assert leak.kind == "a path of source code"


@pytest.mark.parametrize(("text", "seen"), SECRETS.items(), ids=SECRETS.values())
def test_a_secret_is_a_leak_of_which_nothing_is_repeated_but_how_it_begins(text: str, seen: str) -> None:
    leak = leak_in(text, "")
    assert leak is not None
    assert leak.kind == "a possible secret"
    assert leak.seen == seen


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_like_a_leak_is_none(text: str) -> None:
    assert leak_in(text, "") is None


@pytest.mark.parametrize("text", [*TRACES.values(), *PATHS, *SECRETS])
def test_what_the_caller_has_sent_may_be_repeated(text: str) -> None:
    assert leak_in(f"invalid query: {text}", text) is None


def test_a_file_that_the_caller_has_named_is_no_secret_wherever_it_was_found() -> None:
    assert leak_in("no such file: /srv/books/data/list.py", "list.py") is None
    assert leak_in("no such file: /srv/books/data/other.py", "list.py") is not None


def test_an_abbreviated_argument_is_not_a_leak() -> None:
    text = "Missing required argument [input_value={'COUNTRY': 'file:///etc/...ts', 'year': 2000}, input_type=dict]"
    assert leak_in(text, '{"COUNTRY": "file:///etc/hosts", "year": 2000}') is None
    assert leak_in(text, '{"COUNTRY": "PL", "year": 2000}') is not None


def test_a_leak_after_what_the_caller_has_sent_is_found() -> None:
    sent = 'File "mine.py", line 1'
    assert leak_in(f'{sent}\nFile "/srv/app/db.py", line 2', sent) is not None


def test_a_secret_that_the_server_was_given_is_a_leak_whatever_it_looks_like() -> None:
    leak = leak_in("no access for rose-garden", "", ["rose-garden"])
    assert leak is not None
    assert "rose" not in str(leak)
    assert leak_in("no access for rose-garden", "rose-garden", ["rose-garden"]) is None


def test_only_the_beginning_of_a_text_is_searched() -> None:
    assert leak_in("x" * LOOKED_AT + TRACES["python"], "") is None


HOSTILE = [
    *(
        "\n at ",
        "\\n at  in ",
        "\\n\\t at ",
        "\n\t\t\t\t\t\t\t",
        "\n at a.a(",
        " ",
        "\n",
        "a",
        "a.",
        "/",
        "\\",
        "/a",
        "/~",
    ),
    *("/+.", "/a.a.", "~/a.b", "/a:", f" /a/{'a' * 99}/", "C:\\a\\", "a:\\", "eyJ", "eyJ-", "eyJaaaaaaaaaa.", "sk-"),
    *("sk_live_", 'File "', "#1 /", "panicked at ", "goroutine 1 [", "(a", "lib/a", "x://:", "a://a:", "?apikey="),
    *("Bearer ", "-----BEGIN A ", "Traceback (most recent call last):\n ", "file://", "://", "1:1"),
]


@pytest.mark.parametrize("part", HOSTILE)
def test_a_hostile_text_takes_no_longer_than_any_other(part: str) -> None:
    text = (part * LOOKED_AT)[:LOOKED_AT]
    with cpu_limit():
        leak_in(text, "")
