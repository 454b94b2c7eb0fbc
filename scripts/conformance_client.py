"""Run one client scenario of the MCP conformance suite with mcproof as the client.

    python scripts/conformance_client.py URL

The suite starts this program: `MCP_CONFORMANCE_SCENARIO` names the scenario, `MCP_CONFORMANCE_PROTOCOL_VERSION` the
revision, and `MCP_CONFORMANCE_CONTEXT` holds what the scenario wants to be called, as JSON. Each scenario is a list of
mcproof commands, the same as a user would run. `scripts/conformance.py` runs all scenarios.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Command = list[str]

CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client metadata document that the suite expects where the authorization server supports those."""
FINDINGS = 1
"""The exit code of `lint` and `prove` for findings: the suite's servers have some, and the connection works."""

ACCEPT = str(Path(__file__).with_name("conformance_answers.yaml"))
"""Accepts every form with its defaults."""


class Scenario:
    """What the suite asks for."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = os.environ.get("MCP_CONFORMANCE_SCENARIO", "initialize")
        self.revision = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25")
        self.context: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")

    def command(self, name: str, *words: str) -> Command:
        """A command for the server of the scenario, in the revision of the scenario."""
        return [name, "--protocol", self.revision, self.url, *words]

    def call(self, tool: str, *words: str) -> Command:
        return self.command("call", tool, *words)

    def lint(self) -> Command:
        return self.command("lint", "--no-config")

    def prove(self) -> Command:
        return self.command("prove", "--no-config", "--allow-writes")


def lint(scenario: Scenario) -> Iterator[Command]:
    yield scenario.lint()


def add_numbers(scenario: Scenario) -> Iterator[Command]:
    yield scenario.call("add_numbers", "a=2", "b=3")


def reconnect(scenario: Scenario) -> Iterator[Command]:
    yield scenario.call("test_reconnection")


def detect_the_revision(scenario: Scenario) -> Iterator[Command]:
    """The server refuses the first revision, so none is given."""
    yield ["lint", "--no-config", scenario.url]


def prove(scenario: Scenario) -> Iterator[Command]:
    """Call every tool that may be called."""
    yield scenario.prove()


def use_everything(scenario: Scenario) -> Iterator[Command]:
    yield scenario.prove()
    yield scenario.command("read", "file:///path/to/file%20name.txt")
    yield scenario.command("prompt", "test_prompt")


def call_what_the_context_lists(scenario: Scenario) -> Iterator[Command]:
    """The arguments are the suite's; `null` for a boolean is on purpose."""
    for each in scenario.context["toolCalls"]:
        yield scenario.call(each["name"], "--unchecked", json.dumps(each["arguments"]))


def return_the_schema(scenario: Scenario) -> Iterator[Command]:
    """Send the input schema of one tool to another, as it was received."""
    words = mcproof(scenario.command("capture", "-o", "-"))
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    schemas = {tool["name"]: tool["inputSchema"] for tool in json.loads(done.stdout)["tools"]}
    yield scenario.call("json_schema_echo", json.dumps({"schema": schemas["json_schema_2020_12_tool"]}))


def ask_for_input(scenario: Scenario) -> Iterator[Command]:
    for tool in ("echo_state", "unrelated", "no_state", "no_result_type"):
        yield scenario.call(f"test_mrtr_{tool}", "--answer", ACCEPT)


def elicit_defaults(scenario: Scenario) -> Iterator[Command]:
    yield scenario.call("test_client_elicitation_defaults", "--answer", ACCEPT)


def log_in(scenario: Scenario) -> Iterator[Command]:
    """Call a tool, and log in whenever the server requires it, with a browser that follows every redirect."""
    os.environ["BROWSER"] = f"{sys.executable} {os.path.abspath(__file__)} --browse %s"
    words = ["--login", "--client-id", CLIENT_DOCUMENT]
    if "client_id" in scenario.context:
        os.environ["CLIENT_SECRET"] = scenario.context["client_secret"]
        words = ["--login", "--client-id", scenario.context["client_id"], "--client-secret-env", "CLIENT_SECRET"]
        words += ["--issuer", scenario.context["issuer"]]
    yield scenario.call("test-tool", *words)


def use_client_credentials(scenario: Scenario) -> Iterator[Command]:
    context = scenario.context
    credential = "secret" if "client_secret" in context else "key"
    os.environ["CREDENTIAL"] = context.get("client_secret") or context["private_key_pem"]
    words = ["--client-id", context["client_id"], f"--client-{credential}-env", "CREDENTIAL"]
    yield scenario.call("test-tool", *words)


SCENARIOS: dict[str, Callable[[Scenario], Iterator[Command]]] = {
    "tools_call": add_numbers,
    "sse-retry": reconnect,
    "request-metadata": detect_the_revision,
    "http-standard-headers": use_everything,
    "http-custom-headers": call_what_the_context_lists,
    "http-invalid-tool-headers": prove,
    "json-schema-ref-no-deref": prove,
    "json-schema-2020-12-preservation": return_the_schema,
    "sep-2322-client-request-state": ask_for_input,
    "elicitation-sep1034-client-defaults": elicit_defaults,
    "auth/client-credentials-jwt": use_client_credentials,
    "auth/client-credentials-basic": use_client_credentials,
}
"""What each scenario runs; others with `auth/` log in, and the rest run `lint`."""


def mcproof(command: Command) -> list[str]:
    return [sys.executable, "-m", "mcproof", *command]


def run(command: Command) -> int:
    """Run a command, with its output; 0 if it did what it should."""
    print(f"$ mcproof {' '.join(command)}", flush=True)
    code = subprocess.run(mcproof(command), check=False).returncode
    return 0 if code == FINDINGS and command[0] in ("lint", "prove") else code


def main() -> int:
    if sys.argv[1] == "--browse":
        urlopen(sys.argv[2], timeout=20).close()  # noqa: S310 (mcproof has checked the address)
        return 0
    scenario = Scenario(sys.argv[1])
    commands = SCENARIOS.get(scenario.name, log_in if scenario.name.startswith("auth/") else lint)(scenario)
    with TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state  # no token of a scenario is stored for the user
        return max([run(command) for command in commands], default=0)


if __name__ == "__main__":
    sys.exit(main())
