"""Replay: fixed, still failing, could not tell; and what is stored."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import validator
from mcproof.core.errors import InputError
from mcproof.probing.probes import blame
from mcproof.probing.probes.blame import SETTLE
from mcproof.probing.probes.failures import StoredFailure, failure_id, is_own, load, store, stored

from .running import SMALL, command, http, mcproof, refused, small_server, tool, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("here", "impatient", "hurried")

SECRET = "hunter2-hunter2"  # noqa: S105
NUMBERS = {"fixed": 0, "still failing": 1, "could not tell": 2}
BOOKS = ("--tool", "find_book")


def failed(name: str, *words: str) -> str:
    """The id of the first failure of a run."""
    document = tried(name, *words, code=None)
    evidence = [each["evidence"] for each in document["findings"] if each["ruleset"] == "wire"]
    found: str = next(each["failure"] for each in evidence if "failure" in each)
    assert found in {each.id for each in stored()}
    return found


def replayed(*words: str) -> Any:
    """The result of sending a failure again, with the exit code that belongs to it."""
    done = mcproof("replay", "--format", "json", *words)
    validator("replay").validate(done.document)
    assert done.code == NUMBERS[done.document["verdict"]]
    return done.document


# --- the verdict --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("prove", "accepts-missing"),
        ("prove", "crash-on-wrong-type"),
        ("prove", "structured-invalid"),
        ("prove", "result-and-error"),
        ("fuzz", "accepts-above-maximum"),
        ("fuzz", "crash-on-x-and-limit"),
        ("fuzz", "leaks-path"),
        ("fuzz", "structured-missing"),
    ],
)
def test_a_failure_of_a_tool_stays_until_it_is_fixed(name: str, fault: str) -> None:
    number = failed(name, *BOOKS, "--", *command(fault))
    document = replayed(number)
    assert (document["verdict"], document["id"], document["tool"]) == ("still failing", number, "find_book")
    document = replayed(number, "--", *command("good"))
    assert document["verdict"] == "fixed", document


@pytest.mark.slow
def test_a_crash_some_time_after_the_answer_stays_until_it_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blame, "SETTLE", SETTLE)
    number = failed("prove", *BOOKS, "--", *command("crash-soon-after-answer"))
    assert replayed(number)["verdict"] == "still failing"
    assert replayed(number, "--", *command("good"))["verdict"] == "fixed"


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    "fault",
    [
        "unknown-tool-result",
        "crash-on-unknown-tool",
        "unknown-method-result",
        "not-json-ends",
        "version-echoed",
        "unknown-prompt-result",
        "unknown-resource-empty",
    ],
)
def test_a_failure_of_the_server_stays_until_it_is_fixed(fault: str) -> None:
    number = failed("prove", *BOOKS, "--", *command(fault))
    document = replayed(number)
    assert (document["verdict"], document["tool"]) == ("still failing", None)
    assert replayed(number, "--", *command("good"))["verdict"] == "fixed"


@pytest.mark.usefixtures("memory")
def test_a_failure_of_the_stateless_era_stays_until_it_is_fixed() -> None:
    number = failed("prove", *BOOKS, "--", *command("version-accepted", "--era", "stateless"))
    assert replayed(number)["verdict"] == "still failing"
    assert replayed(number, "--", *command("good", "--era", "stateless"))["verdict"] == "fixed"


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("fault", ["hang-on-missing", "deaf-after-missing"])
def test_a_hang_stays_until_it_is_fixed(fault: str) -> None:
    number = failed("prove", *BOOKS, "--max-call-ms", "1000", "--", *command(fault))
    document = replayed(number)
    assert document["verdict"] == "still failing"
    assert "no response within 1.5 seconds" in document["reason"]
    assert replayed(number, "--", *command("good"))["verdict"] == "fixed"


@pytest.mark.usefixtures("memory")
def test_another_harm_is_no_better() -> None:
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    document = replayed(number, "--", *command("crash-on-missing"))
    assert document["verdict"] == "still failing"
    assert document["reason"].startswith("crash instead of accepted: ")


def test_a_call_that_the_schema_allows_now_is_fixed() -> None:
    strict = tool(text={"type": "string", "maxLength": 3})
    tried("fuzz", *small_server([strict], "refuses-objects"))
    number = next(each.id for each in stored() if "maxLength" in each.what)
    assert replayed(number)["verdict"] == "still failing"
    document = replayed(number, *small_server([tool(text={"type": "string"})], "refuses-objects"))
    assert (document["verdict"], document["reason"]) == ("fixed", "the schema now allows this call")


def test_over_http_a_failure_is_sent_to_the_same_address_or_another() -> None:
    with http("accepts-missing") as url:
        number = failed("prove", *BOOKS, url)
        assert replayed(number)["verdict"] == "still failing"
    with http("good") as url:
        assert replayed(number, url)["verdict"] == "fixed"


def test_a_server_of_a_client_configuration_is_found_again(here: Path) -> None:
    words = command("accepts-missing")
    entry = {"command": words[0], "args": words[1:], "env": {"KEY": SECRET}}
    (here / ".mcp.json").write_text(json.dumps({"mcpServers": {"library": entry}}), encoding="utf-8")
    number = failed("prove", *BOOKS, ".mcp.json#library")
    assert replayed(number)["verdict"] == "still failing"
    entry["args"] = command("good")[1:]
    (here / ".mcp.json").write_text(json.dumps({"mcpServers": {"library": entry}}), encoding="utf-8")
    assert replayed(number)["verdict"] == "fixed"


# --- undecided -----------------------------------------------------------------------------------------------------


def test_a_tool_that_has_gone_cannot_be_judged() -> None:
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    document = replayed(number, *small_server([tool("other")]))
    assert (document["verdict"], document["reason"]) == (
        "could not tell",
        "tool `find_book` no longer exists",
    )


@pytest.mark.parametrize("target", [("--", "mcproof-no-such-program"), ("http://127.0.0.1:1/mcp",), ("--", "true")])
def test_a_server_that_does_not_start_cannot_be_judged(target: tuple[str, ...]) -> None:
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    document = replayed(number, *target)
    assert document["verdict"] == "could not tell"
    assert document["reason"]


def test_a_server_that_has_gone_from_its_address_cannot_be_judged() -> None:
    with http("accepts-missing") as url:
        number = failed("prove", *BOOKS, url)
    assert replayed(number)["verdict"] == "could not tell"


def test_a_snapshot_cannot_be_sent_anything(here: Path) -> None:
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    (here / "tools.json").write_text("[]", encoding="utf-8")
    assert "a failure is sent to a live server" in refused("replay", number, "tools.json")
    assert "--all names several servers" in refused("replay", number, "--all")


def test_a_name_of_the_configuration_is_a_target(here: Path) -> None:
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    (here / "mcproof.toml").write_text(
        f"[targets.staging]\ncommand = {json.dumps(command('good'))}\n", encoding="utf-8"
    )
    assert replayed(number, "staging")["verdict"] == "fixed"


# --- texts --------------------------------------------------------------------------------------------------------


def test_people_get_the_verdict_what_was_sent_and_the_answer() -> None:
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    done = mcproof("replay", number)
    assert done.code == 1
    assert done.output.endswith(f"\n{number}: still failing: accepted: an invalid call is accepted\n")
    assert "  sent: find_book: without the required `query`\n" in done.output
    assert "  request: tools/call {" in done.output
    assert "  response: " in done.output
    assert done.errors.startswith("mcproof: sends tools/call to ")
    assert mcproof("replay", number, "--", *command("good")).output.endswith(f"\n{number}: fixed: it is now rejected\n")


def test_without_an_id_the_stored_failures_are_listed() -> None:
    done = mcproof("replay")
    assert (done.code, done.output) == (0, "")
    assert "nothing is stored in .mcproof" in done.errors
    assert mcproof("replay", "--format", "json").document == {"schema_version": 1, "stored": []}
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    assert mcproof("replay").output == f"{number}  accepted  find_book: without the required `query`\n"
    (listed,) = mcproof("replay", "--format", "json").document["stored"]
    what = "without the required `query`"
    assert listed == {"id": number, "tool": "find_book", "outcome": "accepted", "what": what}


# --- secrets ------------------------------------------------------------------------------------------------------


def everything(folder: Path) -> str:
    """All that is stored in a folder."""
    return "".join(each.read_text(encoding="utf-8") for each in sorted(folder.rglob("*")) if each.is_file())


@pytest.mark.parametrize("name", ["prove", "fuzz"])
def test_the_value_of_a_variable_is_stored_nowhere(here: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = small_server([tool(text={"type": "string", "maxLength": 3})], "refuses-empty", "shows-secret")
    done = mcproof(name, "--format", "json", "--report", "run.json", "--env", f"SECRET={SECRET}", *server)
    assert done.code in (0, 1)
    assert stored()
    assert SECRET not in everything(here) + done.output + done.errors
    number = stored()[0].id
    assert stored()[0].target["env"] == ["SECRET"]
    said = refused("replay", number)
    assert "the server was given the variable SECRET, whose value is not stored: --env SECRET=VALUE" in said
    again = mcproof("replay", number, "--env", f"SECRET={SECRET}")
    assert again.code == 1
    monkeypatch.setenv("SECRET", SECRET)
    assert mcproof("replay", number).code == 1
    assert SECRET not in again.output + again.errors + everything(here)


def test_a_secret_on_the_command_line_is_stored_nowhere_and_has_to_be_given_again(here: Path) -> None:
    words = ["--", *command("accepts-missing", "--api-key", SECRET)]
    done = mcproof("prove", *BOOKS, "--report", "run.json", *words)
    assert done.code == 1
    (failure,) = stored()
    assert "named with a secret, which is not stored" in refused("replay", failure.id)
    again = mcproof("replay", failure.id, *words)
    assert again.code == 1
    assert SECRET not in everything(here) + done.output + done.errors + again.output + again.errors


def test_a_header_is_stored_by_name_only(here: Path) -> None:
    header = ("--header", f"X-Key: {SECRET}")
    with http("accepts-missing") as url:
        done = mcproof("prove", *BOOKS, "--report", "run.json", *header, url)
        (failure,) = stored()
        assert failure.target["headers"] == ["X-Key"]
        assert "--header 'X-Key: ...'" in refused("replay", failure.id)
        again = mcproof("replay", failure.id, "--header", f"x-key: {SECRET}")
        assert again.code == 1
    assert SECRET not in everything(here) + done.output + done.errors + again.output + again.errors


def test_a_secret_in_an_address_is_stored_nowhere(here: Path) -> None:
    with http("accepts-missing") as url:
        done = mcproof("prove", *BOOKS, "--report", "run.json", f"{url}?token={SECRET}")
        (failure,) = stored()
        assert "named with a secret, which is not stored" in refused("replay", failure.id)
        again = mcproof("replay", failure.id, f"{url}?token={SECRET}")
        assert again.code == 1
    assert SECRET not in everything(here) + done.output + done.errors + again.output + again.errors


def test_a_server_is_started_in_the_same_folder_again(here: Path) -> None:
    (here / "inside").mkdir()
    (here / "inside" / "server.py").write_text(
        f"import runpy; runpy.run_path({SMALL[-1]!r}, run_name='__main__')\n", encoding="utf-8"
    )
    tools = json.dumps([tool(text={"type": "string", "maxLength": 3})])
    tried("fuzz", "--cwd", "inside", "--", *SMALL[:-1], "server.py", tools, "refuses-objects")
    assert replayed(stored()[0].id)["verdict"] == "still failing"


# --- the store ----------------------------------------------------------------------------------------------------

FAILURE = StoredFailure(
    failure_id({"command": ["x"]}, "read", "fuzz", "crash", {}),
    {"command": ["x"], "env": [], "complete": True},
    "read",
    "fuzz",
    "tools/call",
    {"name": "read", "arguments": {"text": "\ud800"}},
    "crash",
    "valid, small",
    True,
    "",
    10_000,
)


def test_what_is_stored_is_read_back_as_it_was() -> None:
    store([FAILURE])
    assert load(FAILURE.id) == FAILURE
    assert stored() == [FAILURE]


@pytest.mark.parametrize("unit", ["a", "ab", "\ud800", "0123456789" * 6])
def test_a_long_repeated_text_is_stored_as_its_unit(here: Path, unit: str) -> None:
    large = (unit * (1 << 20))[: 1 << 20]
    params = {"name": "read", "arguments": {"a": [{"text": large, large[:2_000]: "", "short": "a" * 999}], "b": large}}
    failure = FAILURE._replace(params=params)
    store([failure])
    assert load(failure.id) == failure
    assert failure.params is params
    assert params["arguments"]["b"] is large, "the failure itself is unchanged"  # type: ignore[index]
    assert (here / ".mcproof" / "failures" / f"{failure.id}.json").stat().st_size < 30_000


def test_a_failure_of_the_first_version_is_read(here: Path) -> None:
    store([FAILURE])
    (here / ".mcproof" / "failures" / f"{FAILURE.id}.json").write_bytes(damaged())
    assert load(FAILURE.id) == FAILURE


def test_an_id_depends_on_everything_that_makes_a_failure() -> None:
    same: tuple[Any, ...] = ({"url": "u"}, "read", "fuzz", "crash", {"a": 1, "b": 2})
    others: list[tuple[Any, ...]] = [
        ({"url": "v"}, *same[1:]),
        (same[0], "look", *same[2:]),
        (*same[:2], "wrong_type", *same[3:]),
        (*same[:3], "hang", same[4]),
        (*same[:4], {"a": 1}),
    ]
    assert failure_id(*same) == failure_id({"url": "u"}, "read", "fuzz", "crash", {"b": 2, "a": 1})
    assert len({failure_id(*each) for each in [same, *others]}) == 6


@pytest.mark.parametrize(
    "id", ["../../secrets", "..", "/etc/passwd", "0123456789ab/../x", "0123456789AB", "short", "0123456789abc", "\n"]
)
def test_what_is_no_id_is_refused_before_anything_is_read(id: str) -> None:
    assert "is not a failure id" in refused("replay", id)
    with pytest.raises(InputError):
        load(id)


def test_an_id_that_is_not_stored_is_told() -> None:
    assert "no such failure; `mcproof replay` lists the stored ones" in refused("replay", "0" * 12)
    done = mcproof("replay", "--format", "json", "0" * 12)
    assert done.code == 2
    assert "no such failure" in done.document["error"]["message"]


def damaged(**changes: Any) -> bytes:
    record = {"schema_version": 1, "kind": "failure", **FAILURE._asdict(), **changes}
    return json.dumps({key: value for key, value in record.items() if value != "absent"}).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a stored failure: not JSON"),
        (b"{", "not a stored failure: not JSON"),
        (b"\xff\xfe", "not a stored failure: not JSON"),
        (b"[" * 100_000, "not a stored failure: not JSON"),
        (b"[]", "not a stored failure"),
        (b"{}", "not a stored failure"),
        (damaged(kind="baseline"), "not a stored failure"),
        (damaged(schema_version=3), "unsupported `schema_version`"),
        (damaged(params=[]), "damaged failure: `params`"),
        (damaged(repeated={}), "damaged failure: `repeated`: not a list"),
        (damaged(repeated=[1]), "damaged failure: `repeated`: not a record"),
        (damaged(repeated=[{"path": [], "unit": "", "length": 5}]), "damaged failure: `repeated`: not a record"),
        (damaged(repeated=[{"path": ["x"], "unit": "a", "length": 5}]), "damaged failure: `repeated`: no such place"),
        (damaged(repeated=[{"path": [], "unit": "a", "length": 5}]), "damaged failure: `repeated`: no such place"),
        (damaged(repeated=[{"path": [], "unit": "a", "length": 10**10}]), "damaged failure: `repeated`: too long"),
        (damaged(target="x"), "damaged failure: `target`"),
        (damaged(method=7), "damaged failure: `method`"),
        (damaged(max_call_ms="x"), "damaged failure: `max_call_ms`"),
        (damaged(max_call_ms=True), "damaged failure: `max_call_ms`"),
        (damaged(max_call_ms=0), "damaged failure: `max_call_ms`"),
        (damaged(max_call_ms=-5), "damaged failure: `max_call_ms`"),
        (damaged(is_valid="absent"), "damaged failure: `is_valid`"),
        (damaged(target={}), "does not name its server"),
        (damaged(target={"command": [7]}), "does not name its server"),
        (damaged(target={"url": 7}), "does not name its server"),
    ],
)
def test_a_damaged_failure_is_told_in_one_line(here: Path, data: bytes, said: str) -> None:
    store([FAILURE])
    file = here / ".mcproof" / "failures" / f"{FAILURE.id}.json"
    file.write_bytes(data)
    error = refused("replay", FAILURE.id)
    assert said in error
    assert len(error.splitlines()) == 1
    assert mcproof("replay").code == 0


@pytest.mark.parametrize(
    "target",
    [
        {"url": "http://127.0.0.1:1/", "headers": 7},
        {"command": ["mcproof-no-such-program"], "env": 7, "cwd": 7},
        {"command": ["mcproof-no-such-program"], "env": [7]},
        {"command": ["mcproof-no-such-program", "\x00"]},
        {"command": []},
        {"target": "no-such-file.json#x"},
    ],
)
def test_a_target_that_makes_no_sense_is_told(target: dict[str, Any]) -> None:
    store([FAILURE._replace(target=target)])
    assert mcproof("replay", FAILURE.id).code == 2


def test_a_failure_that_somebody_else_stored_is_not_sent_to_the_server_that_it_names(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "other"))  # another user's
    message = refused("replay", number)
    assert f"you did not store {number} in this folder, so nothing is sent to `" in message
    assert "use --trust" in message
    assert replayed(number, "--trust")["verdict"] == "still failing"
    assert replayed(number, "--", *command("good"))["verdict"] == "fixed"


@pytest.mark.parametrize("key", ["", "short", "x" * 33])
def test_a_damaged_key_trusts_nothing(here: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    (here / "mcproof").mkdir()
    (here / "mcproof" / "replay-key").write_text(key)
    monkeypatch.setenv("XDG_STATE_HOME", str(here))
    assert "you did not store" in refused("replay", number)


def test_a_failure_that_was_edited_or_moved_is_not_trusted(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    assert is_own(number)
    moved = here / "elsewhere"
    moved.mkdir()
    shutil.copytree(here / ".mcproof", moved / ".mcproof")
    monkeypatch.chdir(moved)
    assert not is_own(number)
    monkeypatch.chdir(here)
    file = here / ".mcproof" / "failures" / f"{number}.json"
    file.write_text(file.read_text().replace('"env": []', '"env": ["API_TOKEN"]'))
    assert not is_own(number)
    assert "with API_TOKEN; name the server" in refused("replay", number, "--env", "API_TOKEN=x")


def test_without_a_state_folder_failures_are_stored_without_a_seal(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(here / "file"))
    number = failed("prove", *BOOKS, "--", *command("accepts-missing"))
    assert not is_own(number)
    assert replayed(number, "--trust")["verdict"] == "still failing"


def test_a_stored_command_is_told_before_it_is_started(here: Path) -> None:
    store([FAILURE._replace(target={"command": ["touch", "mark"], "env": [], "complete": True})])
    done = mcproof("replay", FAILURE.id)
    assert done.code == 2
    assert done.errors.startswith("mcproof: sends tools/call to touch mark\n")
    assert (here / "mark").exists()


def test_what_is_hostile_in_a_stored_failure_is_shown_escaped() -> None:
    store([FAILURE._replace(what="\x1b[31mred", tool="a\nb")])
    done = mcproof("replay")
    assert "\x1b" not in done.output
    assert len(done.output.splitlines()) == 1


@pytest.mark.usefixtures("here", "hurried")
def test_a_server_that_refuses_another_revision_is_asked_again() -> None:
    tried("prove", "--checks", "bad_version", "--", *command("version-refused"), code=1)
    (failed,) = stored()
    assert (failed.probe, failed.outcome) == ("bad_version", "protocol_violation")
    again = mcproof("replay", failed.id)
    assert again.code == 1
    assert "still failing: rejected: the protocol revision 1900-01-01" in again.output
    assert mcproof("replay", failed.id, "--", *command("good")).code == 0


@pytest.mark.parametrize(("arguments", "is_reported"), [('{"query": 1}', True), ('{"query": "x", "limit": 1}', False)])
def test_given_arguments_that_break_the_schema_are_reported(arguments: str, is_reported: bool) -> None:
    done = mcproof("probe", *BOOKS, "--args", arguments, "--", *command("good"))
    assert ("--args: the schema of `find_book` does not allow these arguments: /query: " in done.errors) is is_reported


def test_given_arguments_by_tool_where_those_of_one_are_expected_are_explained() -> None:
    done = mcproof("probe", *BOOKS, "--args", '{"find_book": {"query": "x"}}', "--", *command("good"))
    assert "`find_book` is not a parameter (there are query, " in done.errors
    assert "`query` is missing" in done.errors
