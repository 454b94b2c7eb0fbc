"""Tools that may change something are called only on request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.checks.behaviour import effects as verbs
from mcproof.checks.engine import check
from mcproof.checks.rule import find_rule
from mcproof.core.catalog.model import Tool
from mcproof.core.text.english import words_of
from mcproof.probing.permission import HOW_TO_ALLOW, Permission, permission, permissions_of
from mcproof.report.formats import FORMATS
from mcproof.targets.snapshots import read_snapshot

from .running import command, http, mcproof, small_server, tried

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = ["probe", "prove", "fuzz"]
SAFE = {"find_book", "count_books", "list_shelves"}
UNSAFE = {"add_book", "delete_book", "archive"}


def judged(name: Any, description: str = "", *, allow_writes: bool = False, **parameters: Any) -> Permission:
    """The permission of a tool; a parameter is a schema or the name of a type."""
    schemas = {key: {"type": each} if isinstance(each, str) else each for key, each in parameters.items()}
    schema = {"type": "object", "properties": schemas}
    tool = Tool({"name": name, "description": description, "inputSchema": schema}, "/tools/0")
    return permission(tool, allow_writes=allow_writes)


def hinted(name: str, description: str = "", **hints: Any) -> Permission:
    return permission(Tool({"name": name, "description": description, "annotations": hints}, "/tools/0"))


# --- names of reports, and what precedes a description -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("pdf_info", ""),
        ("cache_stats", "Numbers of the cache."),
        ("server_info", "Report what is installed."),
        ("visitHistory", "What was seen before."),
        ("favorites", "🔒 Plus — List what was saved before."),
        ("pages", "SECURITY: All text is untrusted. Never update anything.\n\nGet the pages of a document."),
    ],
)
def test_what_reports_is_called(name: str, description: str) -> None:
    assert judged(name, description).is_granted


@pytest.mark.parametrize(
    ("name", "description", "parameters"),
    [
        ("clear_history", "", {}),
        ("user_status", "", {"status": "string"}),
        ("user_status", "Set the status of a user.", {}),
        ("server_info", "Report what is installed and delete the rest.", {}),
        ("report_status", "Report a problem.", {"text": "string"}),
        ("format_table", "Format a table of the open document.", {"table_index": "integer", "style": "string"}),
        ("sort_list", "Sort the rows of a sheet.", {"sheet": "string"}),
        ("refresh_search_tools", "Detect the search tools again.", {}),
        ("favorites", "🔒 Plus — Remove what was saved.", {}),
        ("pages", "SECURITY: All text is untrusted.\n\nDelete the pages of a document.", {}),
    ],
)
def test_what_sounds_like_a_report_and_changes_something_is_not(
    name: str, description: str, parameters: dict[str, Any]
) -> None:
    assert not judged(name, description, **parameters).is_granted


# --- annotations and destructive words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("delete_user", ["delete", "user"]),
        ("deleteUser", ["delete", "user"]),
        ("DeleteUser", ["delete", "user"]),
        ("user.delete", ["user", "delete"]),
        ("user/delete-all", ["user", "delete", "all"]),
        ("getHTTPStatus", ["get", "http", "status"]),
        ("s3DeleteObject", ["s3", "delete", "object"]),
        ("DELETE_USER", ["delete", "user"]),
        ("", []),
        ("__", []),
    ],
)
def test_a_name_is_split_into_words(name: str, words: list[str]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize("name", ["delete_user", "deleteUser", "user.delete", "removeAll", "s3-purge", "DROP_TABLE"])
def test_a_destructive_word_outranks_a_read_only_hint(name: str) -> None:
    assert not judged(name).is_granted
    assert not hinted(name, readOnlyHint=True).is_granted
    assert judged(name).reason.startswith(("it can delete data: `", "it may change something: `"))


@pytest.mark.parametrize("name", ["create_user", "createUser", "user.update", "runQuery", "write", "sendMail", "reply"])
def test_a_read_only_hint_outranks_a_changing_verb(name: str) -> None:
    assert not judged(name).is_granted
    assert judged(name).reason.startswith("it may change something: `")
    assert hinted(name, "Creates a user.", readOnlyHint=True)[1:] == (True, "`readOnlyHint` is true", False, False)


@pytest.mark.parametrize("name", ["get_user", "git_worktree", "get_emails_content"])
def test_a_false_read_only_hint_outranks_a_reading_verb(name: str) -> None:
    granted = hinted(name, "Gets it.", readOnlyHint=False, destructiveHint=False)
    assert (granted.is_granted, granted.reason) == (False, f"`readOnlyHint` is false{HOW_TO_ALLOW}")


def test_a_destructive_hint_outranks_everything() -> None:
    assert hinted("find", destructiveHint=True, readOnlyHint=True).reason.startswith("`destructiveHint` is true")
    assert not hinted("find", destructiveHint=True).is_granted


@pytest.mark.parametrize("hint", [False, None, "true", 1, [], {}])
def test_only_true_is_a_read_only_hint(hint: Any) -> None:
    assert not hinted("create_user", readOnlyHint=hint).is_granted


@pytest.mark.parametrize("hint", [False, None, 0, "", []])
def test_an_empty_destructive_hint_is_ignored(hint: Any) -> None:
    granted = hinted("find", destructiveHint=hint)
    assert (granted.is_granted, granted.is_presumed) == (True, True)


@pytest.mark.parametrize("hint", ["true", 1, {"value": True}])
def test_a_destructive_hint_need_not_be_a_boolean(hint: Any) -> None:
    assert not hinted("find", destructiveHint=hint).is_granted


@pytest.mark.parametrize("annotations", [None, [], "readOnlyHint", 7])
def test_malformed_annotations_are_ignored(annotations: Any) -> None:
    tool = Tool({"name": "create_user", "annotations": annotations}, "/tools/0")
    assert not permission(tool).is_granted


# --- words --------------------------------------------------------------------------------------------------------

N, S = "number", "string"

REFUSED = [
    # irreversible instructions, mail, processes, games
    judged("exercise_options_position"),
    judged("do_not_exercise_options_position", "Submit a do-not-exercise instruction."),
    judged("reinvite_org_member", "Re-invite a member to an organization."),
    judged("interrupt_command_by_id", "Interrupt a running command."),
    judged("new_game", "New game of chess."),
    # a reading name with an effect that the description or a parameter shows
    judged("query", "Execute a query on the DuckDB database", query=S),
    judged("query", "Use this tool to run a query against the database.", query=S),
    judged("query", query=S),
    judged("query", "Query the database.", sql=S),
    judged("query", "Runs SELECT, INSERT and UPDATE statements.", query=S),
    judged("query", "Run SQL, read-only by default.", sql=S),
    judged("read_arxiv_paper", "Read and extract text from a paper.", paper_id=S, save_path=S),
    judged("read_pubmed_paper", "Download and read a paper.", paper_id=S),
    judged("read_paper", "Read a paper. The PDF is saved to ./downloads.", paper_id=S),
    judged("compute_costs", folder={"description": "The report will be appended to a file in it."}),
    judged("get_video", task={"description": "The directory to save the video to."}),
    judged("simulate_research_query", "Simulates a research operation."),
    judged("imageFetch", "Fetches the images of a page and saves them.", url=S),
    judged("imageFetch", url=S, saveImages="boolean"),
    judged("imageFetch", url=S, images={"type": "object", "properties": {"output_file": {"type": S}}}),
    judged("fetch", "Fetch a URL.", url=S, method=S, body=S),
    judged("browser_tabs", "Lists tabs.", action={"enum": ["list", "new", "close"]}),
    judged("view_tabs", "List, create or close tabs."),
    judged("notification_read", "Mark notification as read."),
    judged("find_person", "Get or create a person."),
    judged("model_validation", "Validates and tests a data model on a local database."),
    judged("find_users", "Find users.", filter=S, dry_run="boolean"),
    # verbs after a product name, a noun or a conjunction
    *map(
        judged,
        [
            *("linear_markAllNotificationsAsRead", "mobile_type_keys", "ha_call_service", "browser_select_option"),
            *("git_clean", "puppeteer_evaluate", "json_del", "cache_incr", "forward_email", "highlight_table_header"),
            *("browser_type", "browser_hover", "browser_go_back", "goForward", "puppeteer_select", "form_fill"),
            *("trigger-job", "voice_design", "design_logo", "cache_touch", "opt_in_phone", "log_in", "order_pizza"),
            *("get_or_create_user", "find_and_replace", "search-and-replace", "todo_list_add", "list_create"),
            *("save_search", "mark_read", "return_item", "check_out", "git_fetch", "power_off", "show_notification"),
        ],
    ),
    # products that cost, are sent or are written
    *map(judged, ["text_to_speech", "textToImage", "generate_video", "generate_image", "generate_api_key"]),
    judged("convert_text_to_speech", text=S),
    judged("convert_markdown", "Converts Markdown.", markdown=S, output_path=S),
    judged("convert_table", "Converts a table.", filename=S),
    judged("markdown_to_pdf", "Convert Markdown to PDF.", markdown=S),
    judged("convert_lead", lead_id=S),
    judged("convert_organization", unit_id=S),
    judged("format_text", filename=S, paragraph="integer"),
    judged("format_disk", device=S),
    judged("generate_pie_chart", "Generate a pie chart.", data="array", save_to=S),
    judged("export_graph", "Export the graph as JSON."),
    # not arithmetic
    judged("add", item_id=N, quantity=N),
    judged("add", a=S, b=S),
    judged("add"),
    # agent nouns of verbs that execute or change, and lists that end in a verb with an object
    judged("expression_evaluator", "Evaluates an expression.", expression=S),
    judged("file_writer", path=S, content=S),
    judged("random_image", "Generate a random image."),
    judged("find_record", "Find a record, or update.", query=S),
    judged("find_records", "Find records, groups, or delete.", query=S),
    judged("random_user_create", "A random user.", email=S),
    judged("random_post"),
    judged("generate_random_password_and_send", email=S),
    judged("find_users", "Finds users, groups, and updates them."),
    # unknown
    *map(judged, ["x", "updates", "runtime_version", "frobnicate", "查询天气", "holeWetter", "browser_snapshot"]),
    judged("trip", "Plan a trip."),
]

GRANTED = [
    judged("add", "Add two numbers", a=N, b=N),
    judged("calculator_add", a="integer", b="integer"),
    judged("add_numbers", numbers={"type": "array", "items": {"type": N}}),
    judged("sqrt", "Square root of a number", a=N),
    judged("log", x=N, base={"anyOf": [{"type": N}, {"type": "integer"}]}),
    judged("convert_time", "Convert time between timezones", source_timezone=S, time=S, target_timezone=S),
    judged("convert_pressure", "Convert pressure between units.", value=N, from_unit=S, to_unit=S),
    judged("currency_convert", amount=N, source=S),
    judged("generate_area_chart", "Generate an area chart to show trends.", data="array", title=S),
    judged("generate_mind_map", data="object"),
    judged("base64_encode", text=S),
    judged("roll_dice", notation=S),
    judged("extract_text", pdf_path=S),
    judged("constraint_validate"),
    # nouns after a reading verb
    *map(
        judged,
        [
            *("get_post_content", "get_post_comments", "get_crypto_latest_trade", "get_stock_latest_trade"),
            *("list_send", "get_send", "get_call_status", "list_order_items", "slack_get_channel_history", "get_type"),
            *("read_log_file", "search_nodes", "TwilioApiV2010--ListCall", "describe_table", "geocode", "is_open"),
            *("github_list_issues", "order_list", "pages-list", "list_designs", "get_design_context", "commit_list"),
            *("getUser", "get_base64", "search_v2"),
        ],
    ),
    # first verbs of descriptions
    judged("git_log", "Shows the commit logs."),
    judged("browser_snapshot", "Capture accessibility snapshot of the current page."),
    judged("uuid", "Generates a random UUID."),
    judged("libraries", "This tool searches the available libraries."),
    judged("alerts", "Use this as the primary tool to list the alerts of a project."),
    judged("dbsize", "⚡ Get the number of keys."),
    judged("docs", "[Beta] Quickly look up a page of the documentation."),
    judged("web", "Performs a web search."),
    judged("places", "Forward geocode addresses."),
    # agent nouns, random values, denials, and nouns that are also verbs
    judged("unit_converter", "Convert between units.", value=N, from_unit=S, to_unit=S),
    judged("percentage_calculator", "Percentages.", value=N, percent=N),
    judged("text_analyzer", "Statistics of a text.", text=S),
    judged("random_int", "Generate a random integer between low and high.", low="integer", high="integer"),
    judged("generate_random_string", "Generates a random string.", length="integer"),
    judged("get_token_code", "Returns the source code of a token. Does not write to disk.", symbol=S),
    judged("find_similar", "Find similar items to a given item, decision, or update.", item=S),
    # executing verbs whose effect the name or the sentence states
    judged("list_topics", "Execute the `list_topics` operation."),
    judged("query", "Run a read-only SQL query", sql=S),
    judged("read_query", "Execute a SELECT query on the SQLite database", query=S),
    judged("valkey_read", "Execute a read-only Valkey command.", command=S),
    judged("validate_sql", "Checks a statement.", sql=S),
    judged("find_place", "Find a place.", postal_code=S),
]


@pytest.mark.parametrize("tool", REFUSED, ids=lambda each: each.tool.name)
def test_a_tool_that_may_change_something_is_refused(tool: Permission) -> None:
    assert not tool.is_granted
    assert tool.reason.endswith(HOW_TO_ALLOW)


@pytest.mark.parametrize("tool", GRANTED, ids=lambda each: each.tool.name)
def test_a_reading_or_computing_tool_is_granted(tool: Permission) -> None:
    assert (tool.is_granted, tool.is_presumed) == (True, True), tool.reason
    assert tool.reason.startswith("presumed read-only: ")


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (judged("create_user"), "it may change something: `create` in its name"),
        (judged("users", "Creates a user."), "it may change something: `creates` as first verb of its description"),
        (judged("get_file", out_path=S), "it may change something: its parameter `out_path`"),
        (judged("get_page", "Get a page and save it."), "it may change something: `save` in the first sentence"),
        (judged("frobnicate", "Frobnicates."), "nothing in its name or description shows that it only reads"),
    ],
)
def test_a_refusal_names_its_evidence_and_the_option(tool: Permission, reason: str) -> None:
    assert tool.reason.startswith(reason)
    assert tool.reason.endswith("; --allow TOOL allows it")


@pytest.mark.parametrize("name", ["delete_user", "create_user", "log_in", "frobnicate"])
def test_allow_writes_grants_everything_and_keeps_the_reason(name: str) -> None:
    granted = judged(name, allow_writes=True)
    assert (granted.is_granted, granted.is_presumed) == (True, False)
    assert granted.reason == judged(name).reason.replace(HOW_TO_ALLOW, "; allowed by --allow-writes")


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_tool_without_a_name_is_never_called(name: Any) -> None:
    assert not judged(name, allow_writes=True).is_granted


@pytest.mark.parametrize(
    "description", ["", " ", "…", "\n\n", "Use this ", "This tool", "and or", ",,,", "a" * 100_000]
)
def test_an_odd_description_shows_nothing(description: str) -> None:
    assert not judged("frobnicate", description).is_granted
    assert judged("get_user", description).is_granted


@pytest.mark.parametrize("properties", [None, [], 7, {"a": None}, {"a": {"properties": []}}, {"action": {"enum": {}}}])
def test_an_odd_schema_is_no_evidence(properties: Any) -> None:
    tool = Tool({"name": "get_user", "inputSchema": {"type": "object", "properties": properties}}, "/tools/0")
    assert permission(tool).is_granted


def test_the_word_lists_do_not_contradict_each_other() -> None:
    changes = [verbs.DESTRUCTIVE, verbs.CHANGING, verbs.CHANGING_OR_NOUN, verbs.IN_FRONT]
    reads = [verbs.READING, verbs.READING_OR_NOUN, verbs.COMPUTING]
    makes = [verbs.CONVERTING, verbs.EXTRACTING, verbs.DRAWING]
    lists = [*changes, *reads, *makes]
    assert sum(map(len, lists)) == len(frozenset().union(*lists))
    assert all(word == word.lower() and word.isalnum() for each in lists for word in each)


# --- what is called -----------------------------------------------------------------------------------------------


def called(file: Path) -> set[str]:
    """The tools of the server that were called; not those that do not exist."""
    return {name for name in file.read_text(encoding="utf-8").split() if name in SAFE | UNSAFE}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_that_may_change_something_is_called(here: Path, name: str) -> None:
    document = tried(name, "--env", f"CALLED={here / 'called'}", "--", *command("good"), code=0)
    assert called(here / "called") == SAFE
    left_out = {each["what"]: each["why"] for each in document["not_tested"]}
    assert left_out == {
        "tool add_book": "it may change something: `add` in its name; --allow TOOL allows it",
        "tool delete_book": "`destructiveHint` is true; --allow TOOL allows it",
        "tool archive": "`destructiveHint` is true; --allow TOOL allows it",
    }


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_everything_is_called_where_that_is_allowed(here: Path, name: str) -> None:
    document = tried(name, "--allow-writes", "--env", f"CALLED={here / 'called'}", "--", *command("good"), code=0)
    assert called(here / "called") == SAFE | UNSAFE
    assert document["not_tested"] == []


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_allow_and_deny_settle_single_tools(here: Path, name: str) -> None:
    options = ("--allow", "*_book", "--deny", "delete_*,find_book", "--env", f"CALLED={here / 'called'}")
    document = tried(name, *options, "--", *command("good"), code=0)
    assert called(here / "called") == (SAFE | {"add_book"}) - {"find_book"}
    left_out = {each["what"]: each["why"] for each in document["not_tested"]}
    assert left_out == {
        "tool find_book": "denied by --deny",
        "tool delete_book": "denied by --deny",
        "tool archive": "`destructiveHint` is true; --allow TOOL allows it",
    }


@pytest.mark.usefixtures("hurried")
def test_deny_outranks_allow_writes(here: Path) -> None:
    options = ("--allow-writes", "--deny", "archive", "--env", f"CALLED={here / 'called'}")
    tried("probe", *options, "--", *command("good"), code=0)
    assert called(here / "called") == (SAFE | UNSAFE) - {"archive"}


@pytest.mark.usefixtures("hurried")
def test_nothing_that_may_change_something_is_called_over_http(here: Path) -> None:
    with http("good", CALLED=str(here / "called")) as url:
        tried("fuzz", "--cases", "5", url, code=0)
        tried("prove", url, code=0)
    assert called(here / "called") == SAFE


@pytest.mark.usefixtures("here", "hurried")
def test_naming_a_tool_is_no_permission() -> None:
    document = tried("probe", "--tool", "delete_book", "--", *command("good"), code=1)
    assert {each["outcome"] for each in document["probes"] if each["tool"] == "delete_book"} == {"not_tested"}
    assert document["negative_path"] == {"checks_run": 1, "failures": 0, "gate_passed": 1}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_reason_that_matches_decides(here: Path, name: str) -> None:
    reads, destroys = {"readOnlyHint": True}, {"destructiveHint": True}
    tools = {
        "deleteUser": {},
        "removeUser": reads,
        "createUser": {},
        "updateUser": reads,
        "getUser": {},
        "findUser": destroys,
        "listUsers": {**destroys, **reads},
    }
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    listed = [{"name": each, "inputSchema": schema, "annotations": hints} for each, hints in tools.items()]
    words = ("--cases", "5") if name == "fuzz" else ()
    tried(name, *words, "--env", f"CALLED={here / 'called'}", *small_server(listed))
    calls = [json.loads(line)[0] for line in (here / "called").read_text(encoding="utf-8").splitlines()]
    assert {each for each in calls if each in tools} == {"updateUser", "getUser"}


@pytest.mark.usefixtures("here", "hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_not_called_is_listed_in_every_format_but_mere_lists_of_findings(here: Path, name: str) -> None:
    files = {form: here / f"out.{form}" for form in FORMATS if form not in ("concise", "sarif", "github", "gitlab")}
    outputs = [word for form, file in files.items() for word in ("--output", f"{form}:{file}")]
    words = ("--cases", "5") if name == "fuzz" else ()
    mcproof(name, *words, *outputs, "--", *command("good"))
    unsaid = [form for form, file in files.items() if "delete_book" not in file.read_text(encoding="utf-8")]
    assert unsaid == []


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_tools_are_announced_before_they_are_called(here: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from mcproof.cli import run

    said: list[str] = []

    def note(sentence: str, *_: object) -> None:
        if "call" in sentence:
            assert not (here / "called").exists()
            said.append(sentence)

    monkeypatch.setattr(run, "print_note", note)
    mcproof(name, "--env", f"CALLED={here / 'called'}", "--", *command("good"))
    assert (here / "called").exists()
    assert said == [
        "may call 2 tools: find_book, count_books",
        "may call 1 tool, presumed read-only: list_shelves",
        "does not call 3 tools: add_book, delete_book, archive",
    ]


@pytest.mark.usefixtures("here", "hurried")
def test_what_will_be_called_is_told_on_standard_error() -> None:
    done = mcproof("probe", "--format", "json", "--", *command("good"))
    assert "may call 2 tools: find_book, count_books" in done.errors
    assert "does not call 3 tools: add_book, delete_book, archive" in done.errors


@pytest.mark.usefixtures("here", "hurried")
@pytest.mark.parametrize(("name", "rules"), [("prove", {"WIR-032"}), ("fuzz", {"WIR-011", "WIR-025", "WIR-031"})])
def test_a_rule_that_a_command_asks_nothing_about_has_not_passed(name: str, rules: set[str]) -> None:
    for form in ("tap", "junit"):
        output = mcproof(name, "--format", form, "--", *command("good")).output
        assert "WIR-020" in output
        assert not {rule for rule in rules if rule in output}


@pytest.mark.parametrize(
    "name",
    [
        "git_reset",
        "git_clear_working_dir",
        "delete_user",
        "list_users",
        "add_note",
        "drop_table",
        "remove_label",
        "kill",
    ],
)
def test_what_deletes_data_is_the_same_for_scan_and_for_calls(name: str) -> None:
    document = json.dumps({"tools": [{"name": name, "inputSchema": {"type": "object", "properties": {}}}]})
    catalog = read_snapshot(document.encode(), "case.json")
    is_reported = check(catalog, [find_rule("no_public_destructive_tools")]) != []
    (given,) = permissions_of(catalog)
    assert given.reason.startswith("it can delete data") == is_reported
