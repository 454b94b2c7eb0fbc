"""The probes of each tool, their results, and the contract matrix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import CLEAN_TOOL, write

from .running import command, mcproof, refused, small_server, tool, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("here", "hurried", "impatient")

GOOD = ["--", *command("good")]
MISSING, TYPE = "FAULT-SCHEMA-MISSING-REQUIRED", "FAULT-SCHEMA-TYPE-MISMATCH"
EXTRA, SIZE = "FAULT-SCHEMA-UNEXPECTED-FIELD", "FAULT-INPUT-OVERSIZED"
UNKNOWN = "FAULT-PROTO-UNKNOWN-METHOD"
FIVE = ["unknown_tool", "missing_required", "wrong_type", "extra_field", "oversized"]
PROTOCOL = [
    *("unknown_method", "not_json", "not_object", "ping"),
    *("bad_version", "bad_cursor", "unknown_prompt", "unknown_resource", "no_arguments"),
]


def rows(document: Any, tool: str | None) -> dict[str, tuple[str, bool | None]]:
    """What came of each probe of one tool, or of the server."""
    return {each["probe"]: (each["outcome"], each["passed"]) for each in document["probes"] if each["tool"] == tool}


def row(document: Any, probe: str, tool: str | None = "read") -> Any:
    return next(each for each in document["probes"] if (each["tool"], each["probe"]) == (tool, probe))


def cells(document: Any, tool: str = "read") -> dict[str, tuple[bool | None, bool | None, str]]:
    """The cells of one tool: declared, kept and the verdict, by column."""
    return {
        each["column"]: (each["declared"], each["kept"], each["verdict"])
        for each in document["matrix"]
        if each["tool"] == tool
    }


def cells_of(document: Any, column: str) -> list[Any]:
    """The cells of a column, in full."""
    return [each for each in document["matrix"] if each["column"] == column]


def nested(**properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties."""
    return {"type": "object", "properties": properties}


# --- the five probes ----------------------------------------------------------------------------------------------


def test_the_good_server_refuses_what_it_must() -> None:
    document = tried("probe", *GOOD, code=0)
    assert rows(document, None) == {"unknown_tool": ("rejected", True)}
    assert rows(document, "find_book") == {
        "baseline": ("accepted", None),
        "missing_required": ("rejected", True),
        "wrong_type": ("rejected", True),
        "extra_field": ("rejected", True),
        "oversized": ("rejected", True),
    }
    assert rows(document, "count_books") == {
        "baseline": ("accepted", None),
        "missing_required": ("not_applicable", None),
        "wrong_type": ("not_applicable", None),
        "extra_field": ("rejected", True),
        "oversized": ("not_applicable", None),
    }
    assert document["negative_path"] == {"checks_run": 10, "failures": 0, "gate_passed": 1}


def test_each_row_says_what_was_sent_and_names_its_fault() -> None:
    document = tried("probe", "--tool", "find_book", *GOOD, code=0)
    asked = {each["probe"]: each for each in document["probes"]}
    assert {name: asked[name]["fault"] for name in FIVE} == dict(
        zip(FIVE, (UNKNOWN, MISSING, TYPE, EXTRA, SIZE), strict=True)
    )
    assert json.loads(asked["baseline"]["request"]) == {"query": "a"}
    assert json.loads(asked["missing_required"]["request"]) == {}
    assert isinstance(json.loads(asked["wrong_type"]["request"])["query"], dict)
    assert json.loads(asked["extra_field"]["request"])["query"] == "a"
    assert len(json.loads(asked["extra_field"]["request"])) == 2
    assert asked["oversized"]["request"].endswith("(1,048,589 characters)")
    assert asked["missing_required"]["reason"] == "without the required `query`"
    assert "Invalid arguments: required" in asked["missing_required"]["answer"]


def test_a_list_is_sent_for_a_number() -> None:
    number = tool(count={"type": "integer"})
    number["inputSchema"]["required"] = ["count"]
    sent = json.loads(row(tried("probe", *small_server([number], "refuses-objects")), "wrong_type")["request"])
    assert isinstance(sent["count"], list)


def test_the_large_text_is_as_large_as_asked_for() -> None:
    document = tried("probe", "--tool", "find_book", "--oversize", "5000", *GOOD)
    assert "a string of 5,000 characters" in row(document, "oversized", "find_book")["reason"]
    assert "is not a number of bytes from 1 to" in refused("probe", "--oversize", "0", *GOOD)


def test_only_the_probes_that_are_asked_for_are_sent() -> None:
    document = tried("probe", "--checks", "extra_field,unknown_tool", "--checks", "not_json", *GOOD)
    assert list(rows(document, None)) == ["unknown_tool", "not_json"]
    assert list(rows(document, "find_book")) == ["baseline", "extra_field"]
    assert document["negative_path"]["checks_run"] == 4


def test_a_probe_that_does_not_exist_is_refused_before_anything_is_started(here: Path) -> None:
    said = refused("probe", "--checks", "missing_requierd", "--", "touch", "mark")
    assert "unknown probe `missing_requierd` (did you mean `missing_required`?)" in said
    assert all(name in said for name in (*FIVE, *PROTOCOL))
    assert not (here / "mark").exists()


def test_what_has_nothing_to_violate_is_not_applicable_with_the_reason() -> None:
    document = tried("probe", *small_server([tool(limit={"type": "integer"}, anything={})]), code=1)
    assert {probe: row(document, probe)["reason"] for probe in FIVE[1:] if probe != "wrong_type"} == {
        "missing_required": "no argument is required",
        "extra_field": "the schema allows additional arguments",
        "oversized": "no argument is a string",
    }
    document = tried("probe", *small_server([tool(anything={})]), code=0)
    assert row(document, "wrong_type")["reason"] == "no argument has a type"
    assert document["negative_path"] == {"checks_run": 1, "failures": 0, "gate_passed": 1}


def test_an_open_object_is_not_tested_for_other_fields_by_probe_but_explored_by_prove() -> None:
    server = small_server([tool(text={"type": "string"})], "refuses-objects")
    assert rows(tried("probe", *server), "read")["extra_field"] == ("not_applicable", None)
    document = tried("prove", *server)
    explored = {each["probe"] for each in document["probes"] if each["exploratory"] and not each["lenient"]}
    assert explored == {"missing_required", "extra_field"}
    assert rows(document, "read")["extra_field"] == ("accepted", None)


def test_what_is_explored_counts_neither_as_run_nor_as_failed() -> None:
    document = tried("prove", *small_server([tool(text={"type": "string"})], "refuses-nested"), code=0)
    assert document["negative_path"] == {"checks_run": 4, "failures": 0, "gate_passed": 1}
    assert [each for each in document["findings"] if each["ruleset"] == "wire"] == []


def test_a_large_text_passes_with_any_answer() -> None:
    server = small_server([tool(text={"type": "string", "maxLength": 10})])
    assert rows(tried("probe", "--checks", "oversized", *server, code=0), "read")["oversized"] == ("accepted", True)


def test_prove_holds_a_bounded_text_to_its_bound() -> None:
    server = small_server([tool(text={"type": "string", "maxLength": 10})])
    document = tried("prove", "--checks", "oversized", *server, code=1)
    assert rows(document, "read")["oversized"][0] == "accepted"
    assert {each["rule"] for each in document["findings"] if each["ruleset"] == "wire"} == {"WIR-015"}


def test_nothing_tested_is_no_gate_passed() -> None:
    document = tried("probe", "--checks", "missing_required", "--tool", "count_books", *GOOD)
    assert document["negative_path"] == {"checks_run": 0, "failures": 0, "gate_passed": 0}


@pytest.mark.parametrize(
    ("fault", "probe", "outcome"),
    [
        ("accepts-missing", "missing_required", "accepted"),
        ("crash-on-wrong-type", "wrong_type", "crash"),
        ("crash-after-answer", "wrong_type", "crash"),
        ("crash-on-oversized", "oversized", "crash"),
        ("result-and-error", "baseline", "malformed"),
    ],
)
def test_each_outcome_has_its_name(fault: str, probe: str, outcome: str) -> None:
    document = tried("probe", "--tool", "find_book", "--", *command(fault), code=1)
    assert rows(document, "find_book")[probe] == (outcome, False)
    others = {name: each for name, each in rows(document, "find_book").items() if name not in (probe, "baseline")}
    assert set(others.values()) == {("rejected", True)}


def test_a_hang_is_one_and_the_others_are_still_asked() -> None:
    document = tried("probe", "--tool", "find_book", "--max-call-ms", "1000", "--", *command("hang-on-missing"), code=1)
    assert rows(document, "find_book")["missing_required"] == ("hang", False)
    assert rows(document, "find_book")["extra_field"] == ("rejected", True)
    assert document["negative_path"] == {"checks_run": 5, "failures": 1, "gate_passed": 0}


# --- the protocol -------------------------------------------------------------------------------------------------


def test_prove_asks_for_what_the_protocol_knows_too() -> None:
    document = tried("prove", *GOOD, code=0)
    assert list(rows(document, None)) == ["unknown_tool", *PROTOCOL]
    found = rows(document, None)
    assert found.pop("bad_cursor") == ("not_applicable", None)
    assert {passed for _, passed in found.values()} == {True}


def test_what_a_server_does_not_offer_is_not_asked_for() -> None:
    document = tried("prove", *small_server([tool()]))
    for probe, offered in (("unknown_prompt", "prompts"), ("unknown_resource", "resources")):
        assert row(document, probe, None)["outcome"] == "not_applicable"
        assert row(document, probe, None)["reason"] == f"the server does not offer {offered}"


# --- the contract matrix ------------------------------------------------------------------------------------------


def test_every_promise_of_the_good_server_is_proven_or_not_tested() -> None:
    document = tried("prove", *GOOD, code=0)
    assert set(cells(document, "find_book").values()) == {(True, True, "proven")}
    assert cells(document, "count_books") == {
        "missing": (None, None, "not applicable"),
        "type": (None, None, "not applicable"),
        "extra": (True, True, "proven"),
        "size": (None, None, "not applicable"),
        "values": (None, None, "not applicable"),
    }
    assert set(cells(document, "delete_book").values()) == {(True, None, "not tested")}
    assert document["promises"] == {"declared": 40, "kept": 25, "broken": 0, "not_shown": 0, "not_tested": 15}


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        ("accepts-missing", "missing"),
        ("accepts-wrong-type", "type"),
        ("accepts-extra", "extra"),
        ("accepts-oversized", "size"),
        ("accepts-above-maximum", "values"),
        ("crash-on-missing", "missing"),
    ],
)
def test_a_promise_is_broken_where_the_server_does_not_refuse(fault: str, broken: str) -> None:
    document = tried("prove", "--tool", "find_book", "--", *command(fault), code=1)
    found = cells(document, "find_book")
    assert found.pop(broken) == (True, False, "broken promise")
    assert set(found.values()) == {(True, True, "proven")}
    broken_promises = 2 if broken == "type" else 1
    kept = 8 - broken_promises
    counts = {"declared": 8, "kept": kept, "broken": broken_promises, "not_shown": 0, "not_tested": 0}
    assert document["promises"] == counts


OPEN = tool(text={"type": "string"}, anything={})
OPEN_WITHOUT_TYPE = tool(anything={})


@pytest.mark.parametrize(
    ("habit", "column"), [("refuses-empty", "missing"), ("refuses-unknown", "extra"), ("refuses-long", "size")]
)
def test_what_nobody_promised_is_open_or_a_hidden_rule(habit: str, column: str) -> None:
    words = ("prove", "--args", '{"text": "a"}')
    is_open = cells(tried(*words, *small_server([OPEN], "refuses-nested"), code=0))
    assert is_open == {
        "missing": (False, False, "open"),
        "type": (True, True, "proven"),
        "extra": (False, False, "open"),
        "size": (False, False, "open"),
        "values": (None, None, "not applicable"),
    }
    hidden = cells(tried(*words, *small_server([OPEN], "refuses-nested", habit), code=0))
    assert hidden.pop(column) == (False, True, "hidden rule")
    assert hidden == {key: cell for key, cell in is_open.items() if key != column}


@pytest.mark.parametrize(("habits", "verdict"), [((), "open"), (("refuses-objects",), "hidden rule")])
def test_an_untyped_argument_is_explored_with_an_object(habits: tuple[str, ...], verdict: str) -> None:
    document = tried("prove", *small_server([OPEN_WITHOUT_TYPE], *habits), code=0)
    assert cells(document)["type"] == (False, verdict == "hidden rule", verdict)
    assert row(document, "wrong_type")["exploratory"]
    assert isinstance(json.loads(row(document, "wrong_type")["request"])["anything"], dict)


def test_what_lies_open_names_the_rules_that_said_so() -> None:
    document = tried("prove", *small_server([OPEN], "refuses-nested"))
    predicted = {each["column"]: each["predicted_by"] for each in document["matrix"]}
    assert predicted == {"missing": ["SCH-001"], "type": [], "extra": ["SCH-002"], "size": ["SCH-004"], "values": []}


def test_findings_of_the_strict_rules_do_not_fail_a_proof() -> None:
    document = tried("prove", *small_server([OPEN], "refuses-nested"), code=0)
    assert {each["rule"] for each in document["findings"]} == {"SCH-001", "SCH-002", "SCH-003", "SCH-004"}


def test_an_enumeration_proves_nothing_about_size() -> None:
    server = small_server([tool(kind={"type": "string", "enum": ["a", "b"]})], "refuses-long", "refuses-nested")
    document = tried("prove", *server)
    assert cells(document)["size"] == (None, None, "not applicable")
    assert cells(document)["values"] == (True, False, "broken promise")


def test_each_text_and_list_without_a_bound_is_explored() -> None:
    names = {"type": "array", "items": {"type": "string"}}
    free = tool(kind={"type": "string", "enum": ["a", "b"]}, query={"type": "string"}, inner=nested(names=names))
    (cell,) = cells_of(tried("prove", *small_server([free])), "size")
    assert (cell["verdict"], cell["tried"], cell["refused"]) == ("open", 3, 0)
    assert cell["arguments"] == ["query", "inner.names[]", "inner.names"]


def test_a_closed_schema_may_be_said_to_be_unevaluated() -> None:
    closed = tool(text={"type": "string"})
    closed["inputSchema"]["unevaluatedProperties"] = False
    assert cells(tried("prove", *small_server([closed], "refuses-unknown")))["extra"] == (True, True, "proven")


def test_the_same_response_as_that_of_the_valid_call_shows_nothing() -> None:
    document = tried("prove", *small_server([OPEN], "refuses-everything"))
    columns = {each["column"]: each["verdict"] for each in document["matrix"]}
    assert columns == {**dict.fromkeys(("missing", "type", "extra", "size"), "not shown"), "values": "not applicable"}
    assert all(each["kept"] is None for each in document["matrix"])
    assert "shows nothing" in row(document, "wrong_type")["reason"]
    assert row(document, "wrong_type")["passed"] is None
    assert "the valid call is rejected" in row(document, "baseline")["reason"]
    assert [each["what"] for each in document["not_tested"]] == ["tool read, in part"]


def test_the_fullest_call_is_the_base_where_the_smallest_is_refused() -> None:
    document = tried("prove", *small_server([OPEN], "refuses-empty"))
    calls = [each for each in document["probes"] if each["probe"] == "baseline"]
    assert [(json.loads(each["request"]).keys(), each["outcome"]) for each in calls] == [
        (set(), "rejected"),
        ({"text", "anything"}, "accepted"),
    ]
    assert "not shown" not in {each["verdict"] for each in document["matrix"]}


def test_a_server_that_dies_of_the_fullest_call_is_told_so() -> None:
    document = tried("prove", *small_server([OPEN], "refuses-empty", "refuses-nested", "dies-of-full"), code=1)
    wire = {(each["rule"], each["tool"]) for each in document["findings"] if each["ruleset"] == "wire"}
    assert wire == {("WIR-017", "read")}


# --- arguments ----------------------------------------------------------------------------------------------------

TWO = [tool("read", text={"type": "string"}), tool("look", text={"type": "string"})]


def baselines(*words: str) -> dict[str, Any]:
    document = tried("probe", *words, *small_server(TWO))
    return {name: json.loads(row(document, "baseline", name)["request"]) for name in ("read", "look")}


def test_arguments_are_given_by_tool() -> None:
    assert baselines("--args", 'read={"text": "a=b"}') == {"read": {"text": "a=b"}, "look": {}}


def test_arguments_are_given_in_a_file(here: Path) -> None:
    name = write(here / "calls.json", {"read": {"text": "x"}, "look": {"text": "y"}})
    assert baselines("--args", f"@{name}") == {"read": {"text": "x"}, "look": {"text": "y"}}


def test_arguments_without_a_name_are_of_the_only_tool() -> None:
    document = tried("probe", "--args", '{"text": "a=b"}', "--tool", "look", *small_server(TWO))
    assert json.loads(row(document, "baseline", "look")["request"]) == {"text": "a=b"}


def test_given_arguments_that_break_the_schema_are_sent_all_the_same() -> None:
    document = tried("prove", "--args", 'find_book={"query": ""}', "--tool", "find_book", *GOOD, code=0)
    assert rows(document, "find_book")["baseline"] == ("rejected", None)
    assert {each["verdict"] for each in document["matrix"]} <= {"proven", "not shown", "not applicable"}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ('{"text": "a"}', "--args: which tool? Write `--args TOOL=JSON`, or choose one with --tool"),
        ("read={", "--args of `read`: not JSON: "),
        ("read=[1]", "--args of `read`: arguments are a JSON object"),
        ("raed={}", "--args: unknown tool `raed` (did you mean `read`?)"),
        ("@no-such-file.json", "no-such-file.json"),
        ("@list.json", "list.json: arguments are a JSON object"),
        ("@wrong.json", "`read`: arguments are a JSON object"),
        ("@broken.json", "broken.json: not JSON: "),
    ],
)
def test_arguments_that_make_no_sense_are_refused(here: Path, word: str, said: str) -> None:
    write(here / "list.json", [1])
    write(here / "wrong.json", {"read": 1})
    (here / "broken.json").write_text("{", encoding="utf-8")
    calls = here / "called"
    error = refused("probe", "--args", word, "--env", f"CALLED={calls}", *small_server(TWO))
    assert said in error
    assert not calls.exists()


# --- which tools --------------------------------------------------------------------------------------------------


def called(*words: str) -> list[str]:
    """The tools that were called with something."""
    document = tried("probe", "--checks", "extra_field", *words, *GOOD)
    return [each["tool"] for each in document["probes"] if each["probe"] == "baseline"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--tool", "find_book"), ["find_book"]),
        (("--tool", "find_book,list_*"), ["find_book", "list_shelves"]),
        (("--tool", "find_book", "--tool", "count_book?"), ["find_book", "count_books"]),
        (("--deny", "find_book"), ["count_books", "list_shelves"]),
        (("--tool", "*_book*", "--skip", "count*"), ["find_book"]),
    ],
)
def test_tools_are_chosen_by_name(words: tuple[str, ...], names: list[str]) -> None:
    assert called(*words) == names


def test_a_tool_that_is_left_out_is_listed_as_not_tested() -> None:
    document = tried("probe", "--skip", "find_book", *GOOD)
    assert {"what": "tool find_book", "why": "denied by --deny"} in document["not_tested"]


@pytest.mark.parametrize("option", ["--tool", "--allow", "--deny", "--skip"])
@pytest.mark.parametrize("command", ["probe", "prove", "fuzz"])
def test_a_misspelt_tool_is_told_with_the_nearest(command: str, option: str) -> None:
    said = refused(command, option, "find_bok", *GOOD)
    assert "unknown tool `find_bok` (did you mean `find_book`?)" in said
    assert "count_books" in said


# --- targets and odd catalogs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["probe", "prove", "fuzz"])
def test_a_snapshot_cannot_be_called(here: Path, command: str) -> None:
    name = write(here / "tools.json", [CLEAN_TOOL])
    assert "a snapshot cannot be called" in refused(command, name)
    done = mcproof(command, "--format", "json", name)
    assert done.code == 2
    assert "a snapshot cannot be called" in done.document["error"]["message"]


@pytest.mark.parametrize("command", ["probe", "prove", "fuzz"])
def test_two_servers_are_not_called_at_once(here: Path, command: str) -> None:
    write(here / "tools.json", [CLEAN_TOOL])
    for words in (("tools.json", "--", "touch", "mark"), ("http://a/", "http://b/"), ("x.json", "--all")):
        assert "only one server is called at a time" in refused(command, *words)
    assert not (here / "mark").exists()


def test_a_server_without_tools_is_still_asked_for_one() -> None:
    document = tried("prove", *small_server([], "no-tools"))
    assert rows(document, None)["unknown_tool"][0] == "rejected"
    assert rows(document, None)["bad_cursor"][0] == "not_applicable"
    assert document["matrix"] == []
    assert document["promises"] == {"declared": 0, "kept": 0, "broken": 0, "not_shown": 0, "not_tested": 0}


def test_a_server_without_tools_has_nothing_to_fuzz() -> None:
    document = tried("fuzz", *small_server([], "no-tools"))
    assert (document["cases"], document["failures"]) == (0, [])


def test_of_two_tools_with_one_name_the_second_is_not_called() -> None:
    document = tried("prove", *small_server([tool(text={"type": "string"}), tool(other={"type": "string"})]))
    assert {"what": "tool read", "why": "another tool has the same name"} in document["not_tested"]
    assert [each["outcome"] for each in document["probes"] if each["probe"] == "baseline"] == ["accepted"]
    assert len(document["matrix"]) == 10


def test_a_tool_without_a_name_is_not_called() -> None:
    nameless = {"description": "Read.", "inputSchema": {"type": "object"}}
    document = tried("prove", *small_server([nameless, tool()]))
    assert {"what": "tool tools[0]", "why": "it has no name"} in document["not_tested"]
    assert row(document, "baseline")["outcome"] == "accepted"


@pytest.mark.parametrize("command", ["probe", "prove", "fuzz"])
def test_what_is_no_tool_hides_no_other(command: str) -> None:
    odd: list[Any] = [7, None, "read", [], {"name": 7}, {"name": ""}, {"name": []}]
    document = tried(command, *small_server([*odd, tool(text={"type": "string"}), *odd]))
    if command == "fuzz":
        assert document["tools"]["read"] > 0
    else:
        assert row(document, "baseline")["outcome"] == "accepted"


@pytest.mark.parametrize("schema", [None, [], 7, True])
def test_a_tool_without_a_schema_is_called_without_arguments(schema: Any) -> None:
    document = tried("prove", *small_server([{"name": "read", "description": "Read.", "inputSchema": schema}]))
    assert json.loads(row(document, "baseline")["request"]) == {}


def test_a_schema_that_admits_nothing_has_no_valid_call() -> None:
    impossible = tool(text={"type": "string", "minLength": 3, "maxLength": 2})
    impossible["inputSchema"] |= {"required": ["text"], "additionalProperties": False}
    document = tried("prove", *small_server([impossible]))
    assert "baseline" not in rows(document, "read")
    assert {each["outcome"] for each in document["probes"] if each["tool"] == "read"} == {"not_tested"}
    assert set(cells(document).values()) == {(True, None, "not tested")}
    (left_out,) = document["not_tested"]
    assert left_out["what"] == "tool read"
    assert left_out["why"].startswith("no valid call could be generated: ")
    assert left_out["why"].endswith("pass one with --args")


def test_a_hand_made_call_makes_up_for_a_schema_that_admits_nothing() -> None:
    impossible = tool(text={"type": "string", "minLength": 3, "maxLength": 2})
    impossible["inputSchema"] |= {"required": ["text"], "additionalProperties": False}
    server = small_server([impossible], "refuses-empty", "refuses-nested", "refuses-unknown", "refuses-long")
    document = tried("prove", "--args", '{"text": "abc"}', *server, code=0)
    assert cells(document).pop("values") == (None, None, "not applicable")
    assert {cell for column, cell in cells(document).items() if column != "values"} == {(True, True, "proven")}


def test_a_schema_that_refers_to_what_is_not_there_is_asked_by_its_words() -> None:
    dangling = tool(text={"type": "string"}, other={"$ref": "#/$defs/none"})
    dangling["inputSchema"] |= {"required": ["text"], "additionalProperties": False}
    document = tried("prove", "--args", '{"text": "abc"}', *small_server([dangling]), code=1)
    assert cells(document)["missing"] == (True, False, "broken promise")
    assert cells(document)["extra"] == (True, False, "broken promise")


def test_a_probe_with_a_finding_of_its_own_has_not_just_passed() -> None:
    words = ("prove", "--checks", "unknown_resource", "--checks", "unknown_method")
    done = mcproof(*words, "--", *command("unknown-resource-old-code", "--era", "stateless"))
    assert "  ! unknown_resource " in done.output
    assert "  ✓ unknown_method " in done.output
    assert "1 passed, 0 failed, 1 passed with a finding" in done.output
    assert "WIR-031" in done.output
