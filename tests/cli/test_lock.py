"""`mcproof lock` and `--locked`: what servers offer is written down, and a difference fails."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from probing.running import CONTRACT

from .running import CLEAN_TOOL, LOOSE_TOOL, document_of, error_of, fails, run, validator, write

CHANGED = {**CLEAN_TOOL, "description": "Find a book by words of its title or its author."}
LIBRARY = ("--", *CONTRACT, "good")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "tools.json", {"tools": [CLEAN_TOOL]})
    return tmp_path


SMALL = Path(__file__).parent.parent / "servers" / "small.py"


def lock_of(folder: Path) -> Any:
    value = json.loads((folder / "mcproof.lock").read_text())
    validator("lockfile").validate(value)
    return value


def test_the_lock_has_every_tool_with_its_hashes_and_its_text(folder: Path) -> None:
    done = run("lock", "tools.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "tools.json: 1 tool, new\nmcproof.lock: 1 target locked\n"
    entry = lock_of(folder)["targets"]["tools.json"]
    (tool,) = entry["tools"]
    assert tool["item"] == CLEAN_TOOL
    assert set(tool["parts"]) == {"description", "inputSchema"}
    assert (entry["resources"], entry["server"], entry["instructions"]) == (None, None, None)


def test_the_lock_does_not_depend_on_order_time_or_how_a_path_is_written(folder: Path) -> None:
    write(folder / "tools.json", {"tools": [CLEAN_TOOL, LOOSE_TOOL]})
    run("lock", "tools.json", cwd=folder)
    first = (folder / "mcproof.lock").read_bytes()
    write(folder / "tools.json", {"tools": [LOOSE_TOOL, dict(reversed(CLEAN_TOOL.items()))]})
    run("lock", str(folder / "tools.json"), cwd=folder)
    entry = lock_of(folder)["targets"]
    assert list(entry) == ["tools.json"]
    assert entry["tools.json"]["hash"] == json.loads(first)["targets"]["tools.json"]["hash"]


def test_locking_again_shows_what_changed_and_keeps_other_entries(folder: Path) -> None:
    write(folder / "other.json", {"tools": [LOOSE_TOOL]})
    run("lock", "tools.json", "other.json", cwd=folder)
    write(folder / "tools.json", {"tools": [CHANGED]})
    done = run("lock", "tools.json", cwd=folder)
    assert done.stdout.splitlines() == [
        "tools.json: 1 tool, 1 change",
        "  tool find_book: description changed",
        "    - Find a book by words of its title.",
        "    + Find a book by words of its title or its author.",
        "mcproof.lock: 1 target locked",
    ]
    assert list(lock_of(folder)["targets"]) == ["other.json", "tools.json"]
    assert run("lock", "tools.json", cwd=folder).stdout.startswith("tools.json: 1 tool, unchanged\n")


def test_the_document_has_the_differences(folder: Path) -> None:
    run("lock", "tools.json", cwd=folder)
    write(folder / "tools.json", {"tools": [CHANGED, LOOSE_TOOL]})
    document = document_of(run("lock", "tools.json", "--format", "json", cwd=folder), "lock")
    (target,) = document["targets"]
    assert (target["status"], target["tools"]) == ("changed", 2)
    assert [(each["kind"], each["item"], each["part"]) for each in target["differences"]] == [
        ("description", "find_book", "description"),
        ("new-tool", "list_books", None),
    ]


def test_entries_of_files_that_are_gone_are_dropped(folder: Path) -> None:
    write(folder / "other.json", {"tools": [LOOSE_TOOL]})
    run("lock", "tools.json", "other.json", cwd=folder)
    (folder / "other.json").unlink()
    document = document_of(run("lock", "tools.json", "--format", "json", cwd=folder), "lock")
    assert [(each["target"], each["status"]) for each in document["targets"]] == [
        ("tools.json", "unchanged"),
        ("other.json", "dropped"),
    ]
    assert list(lock_of(folder)["targets"]) == ["tools.json"]


def test_nothing_is_written_unless_every_target_can_be_read(folder: Path) -> None:
    message = fails("lock", "tools.json", "missing.json", cwd=folder)
    assert "missing.json" in message
    assert not (folder / "mcproof.lock").exists()


def test_a_live_server_is_locked_by_its_command_without_secrets(folder: Path) -> None:
    run("lock", "--env", "API_KEY=hunter2hunter2", "--", *CONTRACT, "good", cwd=folder)
    text = (folder / "mcproof.lock").read_text()
    assert "hunter2" not in text
    ((name, entry),) = lock_of(folder)["targets"].items()
    assert name.endswith("good")
    assert entry["read_from"]["kind"] == "live"
    assert entry["read_from"]["transport"] == "stdio"
    assert entry["server"] == {"name": "library", "version": "1.0"}


def test_a_configured_server_is_locked_as_file_and_name(folder: Path) -> None:
    write(folder / ".mcp.json", {"mcpServers": {"library": {"command": CONTRACT[0], "args": [*CONTRACT[1:], "good"]}}})
    assert run("lock", "./.mcp.json#library", cwd=folder).returncode == 0
    assert list(lock_of(folder)["targets"]) == [".mcp.json#library"]


def test_a_server_that_does_not_serve_all_of_its_catalog_is_not_locked(folder: Path) -> None:
    message = fails("lock", "--", *CONTRACT, "no-such-server", cwd=folder)
    assert message
    assert not (folder / "mcproof.lock").exists()


def test_a_lock_that_leads_out_of_the_folder_is_not_written(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    victim = tmp_path_factory.mktemp("home") / "victim"
    victim.write_text("precious")
    (folder / "mcproof.lock").symlink_to(victim)
    assert "symbolic link" in fails("lock", "tools.json", cwd=folder)
    assert victim.read_text() == "precious"


def test_an_entry_with_a_server_that_is_malformed_is_an_error(folder: Path) -> None:
    run("lock", "tools.json", cwd=folder)
    lock = json.loads((folder / "mcproof.lock").read_text())
    malformed: list[Any] = [{"name": 7}, {"version": ["1"]}, []]
    for server in malformed:
        lock["targets"]["tools.json"]["server"] = server
        (folder / "mcproof.lock").write_text(json.dumps(lock))
        assert "the entry of `tools.json` is malformed" in fails("lint", "--locked", "tools.json", cwd=folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not a lock of mcproof"),
        ("{", "mcproof.lock:1:2"),
        ('{"schema_version": 2, "kind": "lock", "targets": {}}', "version 2"),
        ('{"schema_version": 1, "kind": "lock", "targets": {"tools.json": 5}}', "malformed"),
        (
            '{"schema_version": 1, "kind": "lock", "targets": {},\n"targets": {}}',
            "mcproof.lock:2: not a lock",
        ),
    ],
)
def test_a_file_that_is_not_a_lock_is_an_error_and_is_kept(folder: Path, text: str, message: str) -> None:
    (folder / "mcproof.lock").write_text(text)
    assert message in fails("lock", "tools.json", cwd=folder)
    assert (folder / "mcproof.lock").read_text() == text
    assert error_of("lock", "tools.json", "--format", "json", cwd=folder)["file"] == "mcproof.lock"


# --- --locked and --against ---------------------------------------------------------------------------------------


def test_an_unchanged_target_passes(folder: Path) -> None:
    run("lock", "tools.json", cwd=folder)
    done = run("lint", "--locked", "tools.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("passed: equals mcproof.lock; no findings (gate: errors)\n")


@pytest.mark.parametrize(
    ("tools", "rule", "message"),
    [
        ([CHANGED], "TRU-202", 'description changed since mcproof.lock: "Find a book by words of its title."'),
        ([CLEAN_TOOL, LOOSE_TOOL], "TRU-201", "is a new tool since mcproof.lock"),
        ([{**CLEAN_TOOL, "inputSchema": {"type": "object"}}], "TRU-203", "input schema changed since mcproof.lock: "),
        ([{**CLEAN_TOOL, "annotations": {"readOnlyHint": True}}], "TRU-204", "annotations added since mcproof.lock"),
        ([{**CLEAN_TOOL, "name": "seek_book"}], "TRU-204", "tool `find_book` was removed since mcproof.lock"),
    ],
)
def test_every_difference_fails_and_is_shown(folder: Path, tools: list[Any], rule: str, message: str) -> None:
    run("lock", "tools.json", cwd=folder)
    write(folder / "tools.json", {"tools": tools})
    done = run(
        "lint", "--locked", "--fail-on", "never", "--select", "strict", "--format", "json", "tools.json", cwd=folder
    )
    assert done.returncode == 1
    found = [each for each in document_of(done, "lint")["findings"] if each["rule"] == rule]
    assert [each["message"] for each in found if message in each["message"]]
    evidence = found[0]["evidence"]
    assert evidence["diff"]
    assert evidence["priorHash"] != evidence["currentHash"]


def test_a_suppressed_difference_still_fails(folder: Path) -> None:
    run("lock", "tools.json", cwd=folder)
    write(folder / "tools.json", {"tools": [CHANGED]})
    done = run("lint", "--locked", "--ignore", "TRU-202", "tools.json", cwd=folder)
    assert done.returncode == 1
    assert "TRU-202" not in done.stdout
    assert "failed: 1 change since mcproof.lock" in done.stdout


def test_without_a_lock_or_an_entry_the_target_cannot_be_checked(folder: Path) -> None:
    assert fails("lint", "--locked", "tools.json", cwd=folder) == (
        "mcproof: mcproof.lock: there is no lock in this folder; `mcproof lock TARGET` writes it\n"
    )
    run("lock", "tools.json", cwd=folder)
    write(folder / "other.json", {"tools": [CLEAN_TOOL]})
    assert "not in mcproof.lock; `mcproof lock other.json` adds it" in fails(
        "lint", "--locked", "other.json", cwd=folder
    )
    assert run("lint", "--locked", "tools.json", "other.json", cwd=folder).returncode == 2


def test_texts_that_do_not_match_their_hash_are_refused_and_can_be_locked_again(folder: Path) -> None:
    run("lock", "tools.json", cwd=folder)
    lock = folder / "mcproof.lock"
    lock.write_text(lock.read_text().replace("words of its title", "anything"))
    assert "does not match its texts" in fails("lint", "--locked", "tools.json", cwd=folder)
    assert run("lock", "tools.json", cwd=folder).returncode == 0
    assert run("lint", "--locked", "tools.json", cwd=folder).returncode == 0


def test_a_live_server_is_compared_with_its_entry(folder: Path) -> None:
    run("lock", *LIBRARY, cwd=folder)
    assert run("lint", "--locked", "--fail-on", "never", *LIBRARY, cwd=folder).returncode == 0


def test_source_is_compared_as_a_whole(folder: Path) -> None:
    (folder / "parts.py").write_text("def greet() -> str:\n    'Greet the user.'\n    return 'hi'\n")
    served = "from mcp.server.fastmcp import FastMCP\nfrom parts import greet\nmcp = FastMCP('x')\nmcp.tool()(greet)\n"
    (folder / "server.py").write_text(served)
    assert run("lock", "server.py", cwd=folder).returncode == 0
    assert run("lint", "--locked", "--fail-on", "never", "server.py", cwd=folder).returncode == 0
    (folder / "parts.py").write_text("def greet() -> str:\n    'Greet somebody.'\n    return 'hi'\n")
    assert run("lint", "--locked", "--fail-on", "never", "server.py", cwd=folder).returncode == 1


def test_a_capture_is_compared_without_a_gate(folder: Path) -> None:
    write(folder / "old.json", {"tools": [CLEAN_TOOL]})
    write(folder / "tools.json", {"tools": [CHANGED]})
    done = run("lint", "--against", "old.json", "--format", "concise", "tools.json", cwd=folder)
    assert done.returncode == 0
    assert "TRU-202 find_book: description changed since old.json" in done.stdout
    assert run("lint", "--against", "old.json", "--fail-on", "warning", "tools.json", cwd=folder).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--locked", "--against", "tools.json", "tools.json"], "exclude each other"),
        (["--against", "tools.json", "tools.json", "other.json"], "--against compares one target"),
        (["--against", "missing.json", "tools.json"], "missing.json: cannot be read"),
        (["--locked", "--fix", "tools.json"], "nothing is compared with --fix"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_an_error(folder: Path, arguments: list[str], message: str) -> None:
    write(folder / "other.json", {"tools": [CLEAN_TOOL]})
    assert message in fails("lint", *arguments, cwd=folder)


def test_scan_compares_too(folder: Path) -> None:
    run("lock", "tools.json", cwd=folder)
    write(folder / "tools.json", {"tools": [CHANGED]})
    done = run("scan", "--locked", "--format", "json", "tools.json", cwd=folder)
    assert done.returncode == 1
    rules = {each["rule"] for each in json.loads(done.stdout)["findings"]}
    assert {"TRU-202", "tool_descriptions_unchanged_since_last_scan", "tool_surface_unchanged_since_last_scan"} <= rules


def test_a_stored_run_and_every_format_have_the_gate(folder: Path) -> None:
    run("lock", "tools.json", cwd=folder)
    write(folder / "tools.json", {"tools": [CHANGED]})
    for command in ("lint", "scan"):
        run(command, "--locked", "--report", "run.json", "tools.json", cwd=folder)
        validator("run").validate(json.loads((folder / "run.json").read_text()))
        for name in ("text", "markdown", "html", "junit", "tap"):
            done = run("report", "run.json", "--format", name, cwd=folder)
            assert "1 change since mcproof.lock" in done.stdout + done.stderr, (command, name)
    document_of(run("scan", "--locked", "--format", "json", "tools.json", cwd=folder), "scan")


def test_the_hint_to_lock_a_server_can_be_pasted(tmp_path: Path) -> None:
    write(tmp_path / "tools.json", {"tools": [CLEAN_TOOL]})
    assert run("lock", "tools.json", cwd=tmp_path).returncode == 0
    command = (sys.executable, "-I", "-S", str(SMALL), json.dumps([{"name": "one"}]))
    said = run("lint", "--locked", "--", *command, cwd=tmp_path).stderr
    [hint] = re.findall(r"`mcproof (lock -- .*)` adds it", said)
    assert run(*shlex.split(hint), cwd=tmp_path).returncode == 0
    assert "adds it" not in run("lint", "--locked", "--", *command, cwd=tmp_path).stderr


def test_a_renamed_parameter_is_its_removal_and_its_addition(folder: Path) -> None:
    run("lock", "tools.json", cwd=folder)
    schema = CLEAN_TOOL["inputSchema"]
    renamed = {**schema, "properties": {"words": schema["properties"]["title"]}, "required": ["words"]}
    write(folder / "tools.json", {"tools": [{**CLEAN_TOOL, "inputSchema": renamed}]})
    done = run("lint", "--locked", "tools.json", cwd=folder)
    assert "`title` was removed; `words` was added, and is required" in " ".join(done.stdout.split())


def test_a_check_of_the_lock_writes_nothing(folder: Path) -> None:
    assert fails("lock", "--check", "tools.json", cwd=folder).startswith("mcproof: mcproof.lock: there is no lock")
    run("lock", "tools.json", cwd=folder)
    same = run("lock", "--check", "tools.json", cwd=folder)
    assert (same.returncode, same.stdout.splitlines()[-1]) == (0, "passed: equals mcproof.lock; nothing was written")
    before = (folder / "mcproof.lock").read_bytes()
    write(folder / "tools.json", {"tools": [CHANGED]})
    changed = run("lock", "--check", "tools.json", cwd=folder)
    assert changed.returncode == 1
    assert changed.stdout.splitlines()[-1] == "failed: differs from mcproof.lock; nothing was written"
    assert (folder / "mcproof.lock").read_bytes() == before


def test_a_lock_is_compared_with_a_target(folder: Path) -> None:
    run("lock", "tools.json", *LIBRARY, cwd=folder)
    write(folder / "tools.json", {"tools": [CHANGED]})
    done = run("diff", "mcproof.lock", "tools.json", cwd=folder)
    assert done.returncode == 0
    assert "description changed" in done.stdout
    assert "no changes from mcproof.lock" in run("diff", "mcproof.lock", *LIBRARY, cwd=folder).stdout
    write(folder / "other.json", {"tools": [CLEAN_TOOL]})
    assert "`mcproof lock other.json` adds it" in fails("diff", "mcproof.lock", "other.json", cwd=folder)


def test_a_scan_that_fails_by_the_lock_has_no_tick(folder: Path) -> None:
    run("lock", "tools.json", cwd=folder)
    write(folder / "tools.json", {"tools": [CHANGED]})
    assert run("scan", "--locked", "tools.json", cwd=folder).stdout.splitlines()[-1].startswith("✗ allow: score ")
