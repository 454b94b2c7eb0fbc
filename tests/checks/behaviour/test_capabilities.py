"""Capabilities of tools: what a tool can do is found, and words in another role are not."""

from __future__ import annotations

from typing import Any

import pytest

from mcproof.checks.behaviour.capability_tables import capabilities_of
from mcproof.core.catalog.model import Tool

from . import more_tools

_TEXT = {"type": "string"}


def found(name: str, description: str = "", parameters: str = "", **annotations: bool) -> set[str]:
    """The capabilities of a tool whose parameters all take text."""
    return {match.capability for match in capabilities_of(tool(name, description, parameters, **annotations))}


def tool(name: str, description: str = "", parameters: str = "", **annotations: bool) -> Tool:
    schema = {"type": "object", "properties": dict.fromkeys(parameters.split(), _TEXT)}
    fields: dict[str, Any] = {"name": name, "description": description, "inputSchema": schema}
    return Tool({**fields, "annotations": annotations}, "/tools/0")


def test_what_a_description_denies_is_no_capability() -> None:
    assert found("make_token", "Make a token.\n\nReturns its source. Does not write to disk.", "name") == set()
    assert found("make_token", "Make a token. Writes it to disk.", "name") == {"write_files"}
    assert found("read_page", "Read a page without saving it to a file.", "url") <= {"network_access"}


def test_words_of_connections_terminals_and_documents_are_neither_rights_nor_messages() -> None:
    assert found("disconnect", "Close a connection and revoke its connectionId.", "connectionId") == set()
    assert found("revoke_token", "Revoke a token.", "token") >= {"admin_control"}
    assert found("cancel_scheduled", "Revoke a pending scheduled email.", "id") == set()
    assert found("vm_send_text", "Type a text into the console of a VM.", "vmid text") == set()
    assert found("send_keys", "Send literal string text to a target pane.", "target keys") == set()
    assert found("send_text", "Send a text message.", "phone text") == {"send_message"}


def test_to_wait_for_a_command_is_not_to_run_it() -> None:
    assert found("wait_command", "Wait for a running command execution to finish.", "command_id") == set()
    assert found("start_command", "Supports command execution in a shell.", "input") == {"execute_code"}


def test_a_file_that_is_imported_is_read() -> None:
    assert found("create_audio_clip", "Create an audio clip by importing a file.", "track path") == set()
    assert found("create_document", "Create a document.", "path content") == {"write_files"}


def test_a_command_of_a_named_product_is_no_shell() -> None:
    assert found("run_acme", "Run an Acme command and return the result.", "name") == set()
    assert found("run_acme_command", "Run one Acme command.", "name") == set()
    assert found("run_docker_command", "Run a Docker command.", "command") == {"execute_code"}
    assert found("run_acme_cli", "Run an Acme CLI command.", "arguments") == {"execute_code"}


def test_a_sentence_says_what_a_name_leaves_out() -> None:
    assert found("git_clear_working_dir", "Clear the working directory setting of the session.") == set()
    assert found("clear_working_dir", "Clear the working directory and all its files.") == {"delete_data"}
    assert found("git_reset", "Unstages all staged changes.", "repo_path") == set()
    assert found("git_reset", "Reset the current HEAD to a state.", "repo_path") == {"delete_data"}
    assert found("git_reset", "", "repo_path") == {"delete_data"}
    assert found("git_clean", "Return the content of the files that git would remove.") == set()


def test_an_order_without_anything_to_trade_is_a_job() -> None:
    assert found("create_insights_order", "Create a clustering order for keywords.", "keywords language") == set()
    assert found("create_order", "Create an order.", "symbol quantity") == {"financial_action"}
    assert found("create_limit_order", "", "side") == {"financial_action"}


def test_files_that_only_a_sentence_deletes_are_one_fact() -> None:
    assert found("git_clean", "Remove untracked files from the working directory.", "force") == {"delete_data"}
    assert found("remove_file", "Remove a file from the disk.", "path") == {"delete_data", "write_files"}


def test_what_is_extracted_from_a_document_changes_nothing() -> None:
    assert found("pdf_extract_chart", "Extract a chart of a PDF as data.", "path page") == set()
    assert found("extract_files", "Extract all files of an archive to a folder.", "archive path") == {"write_files"}


def test_what_installs_packages_runs_their_code() -> None:
    assert found("install_package", "Install a package with pip.", "package_name") == {"execute_code"}
    assert found("list_installed_packages", "List the packages that are installed.") == set()


def test_an_export_to_a_named_file_writes_it() -> None:
    assert found("export_csv", "Export the session data.", "session_id file_path") == {"write_files"}
    assert found("export_csv", "Export the session data.", "session_id format") == set()
    assert found("export_notebook", "Export a notebook.", "path format") == set()


def test_addresses_in_a_list_of_objects_are_parameters() -> None:
    address = {"type": "object", "properties": {"url": _TEXT}}
    schema = {"type": "object", "properties": {"sources": {"type": "array", "items": address}}}
    fields = {"name": "read_pdf", "description": "Reads the text of PDFs (local/URL).", "inputSchema": schema}
    assert [match.capability for match in capabilities_of(Tool(fields, "/tools/0"))] == ["network_access"]


def test_a_vault_of_assets_and_a_budget_are_neither_secrets_nor_payments() -> None:
    assert found("stellar-vault", "Make a tokenized vault that issues shares for an asset.", "name") == set()
    assert found("hashicorp-vault", "A vault of secrets.", "name") == {"access_credentials"}
    assert found("create_transaction", "Creates a new transaction in your budget.", "account amount") == set()
    assert found("create_transaction", "Creates a transaction on chain.", "to amount") == {"financial_action"}


def test_a_link_to_a_file_is_not_the_file() -> None:
    assert found("unlink_file", "Remove a file link from an item.", "item_id file_path") == set()
    assert found("unlink_file", "Remove a file.", "file_path") == {"write_files", "delete_data"}


def test_raw_sql_and_exports_to_a_file_are_effects() -> None:
    assert "delete_data" in found("query", "Execute a raw SQL query on the database.", "sql")
    assert "delete_data" not in found("query", "Execute a read-only SQL query.", "sql")
    assert "write_files" in found("export_history", "Export operation history to a file.", "format")


def test_moving_a_part_of_a_document_overwrites_nothing() -> None:
    slide = tool("move_slide", "Move a slide from one position to another within a presentation.", "file_path at")
    assert [match.is_overwriting for match in capabilities_of(slide)] == [False]


CAN = {
    "execute_code": [
        ("run_command", "Run a command on the host.", "command"),
        ("execute_python", "Execute Python code and return its output.", "code"),
        ("runShellCommand", "Runs a shell command.", "cmd"),
        ("bash", "", "command"),
        ("shell", "Interactive shell.", "input"),
        ("terminal", "A terminal for the agent.", "command"),
        ("exec", "Run anything.", "command"),
        ("eval", "Evaluate code.", "code"),
        ("python_repl", "A Python REPL.", "code"),
        ("execute-javascript", "Execute JavaScript in the page.", "script"),
        ("run_code", "", "language code"),
        ("codeInterpreter", "Runs the given Python code in a sandbox.", "code"),
        ("sandbox", "Execute arbitrary code in a container.", "source"),
        ("ssh_exec", "Execute a command over SSH.", "host command"),
        ("run_script", "Run a script from disk.", "path"),
        ("invoke_powershell", "Invoke a PowerShell script.", "script"),
        ("page_evaluate", "Evaluate a JavaScript function on the page.", "function"),
        ("spawn_process", "Spawn a process.", "command"),
        ("system", "Run an operating system command.", "command"),
        ("execute_notebook_cell", "Execute code in a Jupyter notebook.", "code"),
        ("docker_exec", "Execute a command in a running container.", "container command"),
    ],
    "access_credentials": [
        ("get_secret", "Read a secret.", "name"),
        ("read_credentials", "", ""),
        ("list_api_keys", "List all API keys.", ""),
        ("vault_read", "Read from Vault.", "path"),
        ("getPassword", "Get the password of an account.", "account"),
        ("export_private_key", "Export the private key of a wallet.", "wallet"),
        ("rotate_secret", "Rotate a secret.", "id"),
        ("get_access_token", "Return an access token.", ""),
        ("create_access_key", "Create an access key.", "user"),
        ("get_env", "Return the environment.", ""),
        ("list_env_vars", "List environment variables.", ""),
        ("dump_environment", "Dump all environment variables of the process.", ""),
        ("account_settings", "Return the stored API token for an account.", "account"),
        ("get_secret_value", "", "secret_id"),
        ("lookup", "Look up a value.", "secret_name"),
        ("retrieve_password", "Retrieve a password from the password manager.", "site"),
        ("get_ssh_key", "", "host"),
        ("read_keychain", "Read an entry of the keychain.", "service"),
        ("login", "Log in to the bank.", "username password"),
    ],
    "write_files": [
        ("write_file", "Write a file.", "path content"),
        ("createDirectory", "Create a directory.", "path"),
        ("delete_file", "Delete a file.", "path"),
        ("edit_file", "", "path edits"),
        ("mkdir", "", "path"),
        ("chmod", "Change the mode of a file.", "path mode"),
        ("move_file", "", "source destination"),
        ("append_to_file", "Append text to a file.", "path text"),
        ("save_note", "Save a note to a file on disk.", "title text"),
        ("fs_write", "Write content to a path on the local filesystem.", "path content"),
        ("str_replace_editor", "Edit files.", "path old_str new_str"),
        ("take_screenshot", "Take a screenshot.", "output_path"),
        ("create_document", "Create a new Word document.", "filename"),
        ("remove_directory", "Remove a directory and all its contents.", "path"),
        ("rename_file", "", "old_path new_path"),
        ("put", "Store a file.", "path content"),
        ("unzip", "Extract an archive into a folder.", "archive output_dir"),
    ],
    "admin_control": [
        ("shutdown_server", "", ""),
        ("terminate_instance", "Terminate an instance.", "id"),
        ("revoke_access", "", "user"),
        ("suspend_account", "", "account"),
        ("grant_role", "Grant a role to a user.", "user role"),
        ("sudo", "Become root.", ""),
        ("restart_service", "", "name"),
        ("reboot", "Reboot the machine.", ""),
        ("kill_process", "", "pid"),
        ("set_permissions", "Set the permissions of a user.", "user permissions"),
        ("create_user", "Create a user.", "name"),
        ("delete_user_account", "", "id"),
        ("ban_user", "", "id"),
        ("impersonate_user", "", "id"),
        ("add_admin", "Add an admin.", "user"),
        ("promote_to_admin", "Give a user admin rights.", "user"),
        ("reset_user_password", "", "user"),
        ("disable_account", "", "id"),
    ],
    "delete_data": [
        ("delete_record", "", "id"),
        ("drop_table", "", "name"),
        ("purge_queue", "", "name"),
        ("wipe_disk", "", ""),
        ("destroy_environment", "", "id"),
        ("truncate_table", "", "name"),
        ("records_delete", "", "id"),
        ("clear_all_data", "", ""),
        ("flush_cache", "", ""),
        ("remove_documents", "", "ids"),
        ("execute_sql", "Execute SQL.", "sql"),
        ("cleanup_db", "Permanently deletes old rows.", ""),
        ("erase_memory", "", ""),
        ("empty_trash", "Permanently delete all messages in the trash.", ""),
    ],
    "send_message": [
        ("send_email", "", "to subject body"),
        ("sendSms", "", "phone text"),
        ("post_message", "", "channel text"),
        ("slack_post_message", "", "channel text"),
        ("broadcast", "Broadcast to all subscribers.", "text"),
        ("notify_team", "", "text"),
        ("tweet", "", "text"),
        ("reply_to_email", "", "id body"),
        ("forward_email", "", "id to"),
        ("send_push_notification", "", "user text"),
        ("message_user", "Send a direct message to a user.", "user text"),
        ("make_phone_call", "", "number"),
        ("whatsapp_send", "Send a WhatsApp message.", "to text"),
        ("create_sms", "Send a text message.", "to body"),
    ],
    "financial_action": [
        ("pay_invoice", "", "id"),
        ("create_payment", "", "amount"),
        ("charge_card", "", "amount"),
        ("refund_order", "", "id"),
        ("transfer_funds", "", "from to amount"),
        ("withdraw", "", "amount"),
        ("create_invoice", "", "customer"),
        ("place_order", "", "symbol quantity"),
        ("buy_stock", "", "symbol"),
        ("swap_tokens", "", "amount"),
        ("send_transaction", "", "to value"),
        ("wire_transfer", "", "amount"),
        ("purchase_item", "", "id"),
        ("transfer", "Transfer SOL to an address.", "to amount"),
        ("create_payout", "", "amount"),
    ],
    "network_access": [
        ("fetch", "Fetches a URL from the internet.", "url"),
        ("fetch_url", "", "url"),
        ("http_request", "", "method url"),
        ("curl", "", "url"),
        ("wget", "", "url"),
        ("download_file", "", "url"),
        ("upload_file", "Upload a file to a bucket.", "bucket file"),
        ("scrape_page", "", "url"),
        ("browser_navigate", "Navigate to a URL.", "url"),
        ("get_webpage", "Get the text of a web page.", "url"),
        ("httpGet", "Send a GET request.", "url"),
        ("crawl", "Crawl a website.", "url"),
        ("visit_page", "", "url"),
        ("make_api_call", "Make an HTTP request to any API.", "endpoint"),
    ],
}
"""Tools that have a capability: name, description, parameters."""

CANNOT = {
    "execute_code": [
        ("eval_expression", "Evaluate a mathematical expression.", "expression"),
        ("evaluate", "Evaluate an arithmetic expression.", "expression"),
        ("calculate", "", "expression"),
        ("validate_code", "Validate code.", "code"),
        ("search_code", "", "query"),
        ("get_command_help", "Get the documentation of a command.", "command"),
        ("list_scripts", "", ""),
        ("run_query", "Run a query.", "query"),
        ("run_report", "Run a report.", "id"),
        ("execute_workflow", "Execute a workflow.", "id"),
        ("get_shell_history", "", ""),
        ("generate_code", "Generate code from a prompt.", "prompt"),
        ("get_postal_code", "", "code"),
        ("executive_summary", "", ""),
        ("evaluate_model", "Evaluate a model.", "model"),
        ("explain_code", "Explains what a shell script does.", "code"),
    ],
    "access_credentials": [
        ("validate_api_key_format", "Check whether an API key has the right format.", "api_key"),
        ("list_items", "List items.", "page token"),
        ("get_items", "Get items.", "next_token max_tokens"),
        ("count_tokens", "Count the tokens of a text.", "text"),
        ("get_primary_key", "Get the primary key of a table.", "table"),
        ("get_token_price", "Get the price of a token.", "token"),
        ("list_keys", "List the keys of a map.", "map"),
        ("generate_password", "Generate a random password.", "length"),
        ("check_password_strength", "", "password"),
        ("list_secret_scanning_alerts", "", "repo"),
        ("search_keywords", "", "key"),
        ("delete_access_key", "", "id"),
        ("get_key_facts", "", "topic"),
        ("press_key", "Press a key.", "key"),
        ("protect_document", "Protect a document with a password.", "filename password"),
        ("get_tokens", "Get the list of tokens on Solana.", "chain"),
    ],
    "write_files": [
        ("upload_file", "Upload a file to a bucket.", "bucket file"),
        ("create_or_update_file", "Create or update a file in a GitHub repository.", "owner repo path content"),
        ("read_file", "Read a file.", "path"),
        ("list_directory", "", "path"),
        ("create_folder", "Create a Gmail folder.", "name"),
        ("get_file_info", "", "path"),
        ("create_issue", "", "title"),
        ("json_set", "Set a JSON value at a path.", "key path value"),
        ("profile_update", "Update the profile of a user.", "user"),
        ("create_path_map", "", "data"),
        ("write_sql", "Write a SQL query for a question.", "question"),
    ],
    "admin_control": [
        ("get_subscription_grant", "Get the grant of a subscription.", "id"),
        ("list_roles", "", ""),
        ("get_user", "", "id"),
        ("find_grants", "Find research grants.", "query"),
        ("stop_timer", "", "id"),
        ("terminate_contract_clause", "Explain how to terminate a contract.", ""),
        ("search_admins", "", "query"),
        ("create_role_description", "", "title"),
        ("check_permissions", "", ""),
        ("restart_game", "", ""),
    ],
    "delete_data": [
        ("list_deleted_items", "", ""),
        ("browser_drop", "Drop files onto an element.", "element"),
        ("drag_and_drop", "", "source target"),
        ("get_deletion_status", "", "id"),
        ("clear_selection", "Clear the selection.", ""),
        ("read_query", "Execute a SELECT query.", "query"),
        ("run_readonly_sql", "Run a read-only SQL query.", "sql"),
        ("remove_background", "Remove the background of an image.", "image"),
        ("remove_label_from_issue", "", "issue label"),
        ("reset_zoom", "", ""),
        ("restore_deleted_file", "Restore a deleted file.", "id"),
        ("undelete_record", "", "id"),
        ("find_drop_off_points", "", "city"),
    ],
    "send_message": [
        ("get_message", "", "id"),
        ("list_emails", "", ""),
        ("create_email_template", "", "name"),
        ("search_messages", "", "query"),
        ("validate_email", "", "email"),
        ("get_notification_settings", "", ""),
        ("send_request", "Send a request to the API.", "endpoint"),
        ("mark_message_read", "", "id"),
        ("save_draft", "Save an email draft.", "subject body"),
        ("post_process_image", "", "image"),
        ("text_to_speech", "Convert text to speech.", "text"),
        ("get_call_transcript", "", "id"),
    ],
    "financial_action": [
        ("get_invoice", "", "id"),
        ("list_payments", "", ""),
        ("transfer_issue", "Transfer an issue to another team.", "issue team"),
        ("get_order_status", "", "id"),
        ("charge_battery", "Charge the battery.", ""),
        ("sort_order", "", "order"),
        ("get_balance", "", ""),
        ("payload_decode", "", "payload"),
        ("calculate_refund", "Calculate a refund.", "order"),
        ("buying_guide", "", "product"),
        ("transfer_learning", "Explain transfer learning.", ""),
        ("create_purchase_report", "", ""),
        ("order_list", "", ""),
    ],
    "network_access": [
        ("search", "Search the web.", "query"),
        ("parse_url", "Parse a URL into its parts.", "url"),
        ("get_weather", "", "city"),
        ("encode_url", "", "url"),
        ("shorten_url", "Shorten a URL.", "url"),
        ("get_download_count", "", "package"),
        ("list_uploads", "", ""),
        ("create_bookmark", "Save a bookmark.", "url title"),
        ("fetch_user", "Fetch a user.", "id"),
        ("get_video", "Get a YouTube video by URL.", "url"),
    ],
}
"""Tools that do not have a capability, though a word of theirs suggests it."""


def _each(table: dict[str, list[tuple[str, str, str]]], more: dict[str, str]) -> pytest.MarkDecorator:
    rows = [(capability, *row) for capability, rows in table.items() for row in rows]
    for capability, text in more.items():
        for line in filter(str.strip, text.splitlines()):
            name, _, rest = line.strip().partition(":")
            description, _, parameters = rest.rpartition("(")
            rows.append((capability, name, description.strip(), parameters.rstrip(")")))
    ids = [f"{capability}: {name}" for capability, name, *_ in rows]
    return pytest.mark.parametrize(("capability", "name", "description", "parameters"), rows, ids=ids)


@_each(CAN, more_tools.CAN)
def test_a_capability_is_found(capability: str, name: str, description: str, parameters: str) -> None:
    assert capability in found(name, description, parameters)


@_each(CANNOT, more_tools.CANNOT)
def test_a_word_in_another_role_is_not_a_capability(
    capability: str, name: str, description: str, parameters: str
) -> None:
    assert capability not in found(name, description, parameters)


MEMORY = [
    ("create_entities", "Create multiple new entities in the knowledge graph", "entities"),
    ("create_relations", "Create multiple new relations between entities in the knowledge graph.", "relations"),
    ("add_observations", "Add new observations to existing entities in the knowledge graph", "observations"),
    ("delete_entities", "Delete multiple entities and their relations from the knowledge graph", "entityNames"),
    ("delete_observations", "Delete specific observations from entities in the knowledge graph", "deletions"),
    ("delete_relations", "Delete multiple relations from the knowledge graph", "relations"),
    ("read_graph", "Read the entire knowledge graph", ""),
    ("search_nodes", "Search for nodes in the knowledge graph based on a query", "query"),
    ("open_nodes", "Open specific nodes in the knowledge graph by their names", "names"),
]
"""Tools of a memory server."""


def test_a_memory_deletes_and_does_nothing_worse() -> None:
    capabilities = {name: found(name, description, parameters) for name, description, parameters in MEMORY}
    assert {name for name, found_in in capabilities.items() if found_in} == {
        "delete_entities",
        "delete_observations",
        "delete_relations",
    }
    assert set().union(*capabilities.values()) == {"delete_data"}


def test_a_clock_has_no_capability_and_a_fetcher_one() -> None:
    assert found("get_current_time", "Get current time in a specific timezone", "timezone") == set()
    assert found("convert_time", "Convert time between timezones", "source_timezone time target_timezone") == set()
    described = "Fetches a URL from the internet and optionally extracts its contents as markdown."
    assert found("fetch", described, "url max_length start_index raw") == {"network_access"}


def test_a_read_only_hint_outweighs_a_value_of_a_parameter() -> None:
    schema = {"type": "object", "properties": {"action": {"enum": ["list", "delete"]}}}
    fields = {"name": "labels", "inputSchema": schema}
    assert [match.capability for match in capabilities_of(Tool(fields, ""))] == ["delete_data"]
    assert capabilities_of(Tool({**fields, "annotations": {"readOnlyHint": True}}, "")) == []


@pytest.mark.parametrize(
    "text", ["[" * 50_000, "run " * 20_000, "save it to a " * 9_000, "delete, " * 9_000, "\0" * 9_000]
)
def test_a_hostile_tool_is_read_in_part(text: str) -> None:
    """Only the beginning of every text counts, so that the time does not grow with it."""
    schema = {"type": "object", "properties": {text: {}, "output_path": {"type": "string", "description": text}}}
    hostile = Tool({"name": text, "description": f"Greet. {text} Run a shell command.", "inputSchema": schema}, "")
    assert "execute_code" not in {match.capability for match in capabilities_of(hostile)} or text.startswith("run")


@pytest.mark.parametrize("schema", [None, [], "x", {"properties": []}, {"properties": {"a": None, "b": True, "c": 1}}])
def test_a_malformed_schema_is_no_obstacle(schema: Any) -> None:
    fields = {"name": "delete_all", "description": 7, "inputSchema": schema, "annotations": "none"}
    assert [match.capability for match in capabilities_of(Tool(fields, ""))] == ["delete_data"]
