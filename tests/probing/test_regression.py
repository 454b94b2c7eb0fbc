"""`replay --to-suite`: a stored failure as a test that fails until the server is fixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.running import validator
from mcproof.probing.probes.failures import FOLDER, StoredFailure, store
from mcproof.testing.suites.regression import InsertionError, with_entry

from .running import command, mcproof
from .test_replay import BOOKS, failed

pytestmark = pytest.mark.usefixtures("here", "impatient", "hurried")

SECRET = "hunter2-hunter2"  # noqa: S105


def stored_failure(**changes: Any) -> StoredFailure:
    """Store an accepted call of a server that does not exist."""
    fields: dict[str, Any] = {
        "tool": "t",
        "probe": "wrong_type",
        "method": "tools/call",
        "params": {"name": "t", "arguments": {"a": [1]}},
        "outcome": "accepted",
        "what": "`a` is a list instead of a string",
        "is_valid": False,
        "answer": "{}",
        "limit": 1.0,
        **changes,
    }
    target = fields.pop("target", {"command": ["no-such-server"], "env": [], "complete": True})
    found = StoredFailure.of(target, **fields)
    store([found])
    return found


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("prove", "accepts-missing"),
        ("prove", "crash-on-wrong-type"),
        ("prove", "structured-invalid"),
        ("prove", "unknown-tool-result"),
        ("fuzz", "accepts-above-maximum"),
    ],
)
def test_the_test_fails_until_the_server_is_fixed(name: str, fault: str) -> None:
    number = failed(name, *(() if fault.startswith("unknown") else BOOKS), "--", *command(fault))
    done = mcproof("replay", number[:8], "--to-suite", "new.yaml")
    assert done.code == 0, done
    assert mcproof("run", "new.yaml").code == 1
    suite = Path("new.yaml")
    suite.write_text(suite.read_text(encoding="utf-8").replace(fault, "good"), encoding="utf-8")
    fixed = mcproof("run", "new.yaml", "--format", "json")
    assert fixed.code == 0, fixed.document


SUITE = """\
# kept
servers:
  one: {command: [no-such-server]}   # kept, too

tools:
- name: first   # a list at the margin
  server: one
  tool: t

# about quality
tool_quality:
  - {name: q, server: one}
"""
ADDED = """\

# Failure ID (accepted), from `mcproof replay --to-suite`.
- name: "t rejects `a` is a list instead of a string"
  server: one
  tool: t
  args: {a: [1]}
  expect:
    - {target: rejected, matcher: {exact: true}}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_suite_keeps_every_byte(newline: str) -> None:
    number = stored_failure().id
    Path("s.yaml").write_bytes(SUITE.replace("\n", newline).encode())
    assert mcproof("replay", number, "--to-suite", "s.yaml").code == 0
    head, tail = SUITE.split("\n# about")
    expected = head + ADDED.replace("ID", number) + "\n# about" + tail
    assert Path("s.yaml").read_bytes().decode() == expected.replace("\n", newline)
    again = mcproof("replay", number, "--to-suite", "s.yaml")
    assert again.code == 2
    assert "the suite has this test" in again.errors


def test_json_names_the_suite_and_the_test() -> None:
    number = stored_failure(target={"command": ["other"], "env": ["KEY"], "complete": True}).id
    done = mcproof("replay", number, "--to-suite", "s.yaml", "--env", f"KEY={SECRET}", "--format", "json")
    assert (done.code, done.errors) == (0, "")
    document = done.document
    validator("replay").validate(document)
    validator("replay").validate(mcproof("replay", "--format", "json").document)
    assert document.pop("test") in Path("s.yaml").read_text(encoding="utf-8")
    assert document == {"schema_version": 1, "id": number, "suite": "s.yaml", "unset_variables": ["KEY"]}


def test_another_server_gets_an_entry() -> None:
    number = stored_failure(target={"command": ["other"], "env": ["KEY"], "complete": True}).id
    Path("s.yaml").write_text(SUITE, encoding="utf-8")
    done = mcproof("replay", number, "--to-suite", "s.yaml", "--env", f"KEY={SECRET}")
    assert done.code == 0, done
    text = Path("s.yaml").read_text(encoding="utf-8")
    assert SECRET not in text
    assert "  local:\n    command: [other]\n    env:\n      KEY: {env: KEY}\n" in text
    assert "server: local\n" in text


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"outcome": "leak"}, "what leaks depends on the machine"),
        ({"outcome": "injection"}, "the effect of a hostile argument is not part of a response"),
        ({"outcome": "protocol_violation"}, "suites do not check the form of responses"),
        ({"method": "resources/read", "params": {"uri": "x"}}, "is not a call of a tool"),
        ({"params": {"name": "t", "arguments": [1]}}, "is not a call of a tool"),
        ({"params": {"name": "t", "arguments": {"a": "b" * 200_000}}}, "negative_path: {checks: [oversized]}"),
    ],
)
def test_what_no_test_can_express_is_refused(changes: dict[str, Any], why: str) -> None:
    done = mcproof("replay", stored_failure(**changes).id, "--to-suite", "s.yaml")
    assert (done.code, why in done.errors) == (2, True), done
    assert not Path("s.yaml").exists()


def test_secrets_are_not_written() -> None:
    target = {"command": ["other"], "env": ["KEY"], "complete": True}
    number = stored_failure(target=target, params={"name": "t", "arguments": {"a": SECRET}}).id
    done = mcproof("replay", number, "--to-suite", "s.yaml", "--env", f"KEY={SECRET}")
    assert (done.code, "a secret of the server" in done.errors) == (2, True), done
    assert not Path("s.yaml").exists()


def test_an_invalid_suite_stays() -> None:
    number = stored_failure().id
    Path("s.yaml").write_text("tools: 1\n", encoding="utf-8")
    assert mcproof("replay", number, "--to-suite", "s.yaml").code == 2
    assert Path("s.yaml").read_text(encoding="utf-8") == "tools: 1\n"


def test_ids_may_be_abbreviated() -> None:
    one = stored_failure()
    path = Path(FOLDER, "failures")
    record = json.loads((path / f"{one.id}.json").read_text(encoding="utf-8"))
    for number in ("abc000000001", "abc000000002"):
        (path / f"{number}.json").write_text(json.dumps({**record, "id": number}), encoding="utf-8")
    assert "`abc` is ambiguous: abc000000001, abc000000002" in mcproof("replay", "abc").errors
    unknown = "0000" if not one.id.startswith("0000") else "1111"
    assert f"no stored failure begins with `{unknown}`" in mcproof("replay", unknown).errors
    assert "abc000000002" in mcproof("replay", "abc000000002").errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "tools:\n  - a\n"),
        ("x: 1", "x: 1\n\ntools:\n  - a\n"),
        ("tools:\n    - b\n    # end\nx: 1\n", "tools:\n    - b\n    # end\n\n    - a\nx: 1\n"),
        ("tools:\n  - |\n    # text\n\n# of x\nx: 1\n", "tools:\n  - |\n    # text\n\n  - a\n\n# of x\nx: 1\n"),
    ],
)
def test_an_entry_is_inserted_after_the_last(text: str, expected: str) -> None:
    assert with_entry(text, "tools", ["- a"]) == expected


@pytest.mark.parametrize("text", ["tools: [b]\n", "{tools: [b]}\n", "x: 1\n...\n", "tools:\n  - |+\n    b\n\n\n"])
def test_a_text_that_would_change_is_refused(text: str) -> None:
    with pytest.raises(InsertionError, match="cannot be extended"):
        with_entry(text, "tools", ["- a"])
