"""`mcproof auth` and the options for authorization; no token is in anything that mcproof writes."""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from cli.running import fails, run, run_process
from servers.guarded import ACCESS, CODE, REFRESH, SECRET

from .test_login import guarded, log_in, named, tools

if TYPE_CHECKING:
    from pathlib import Path

    from servers.guarded import Guarded

URL = "https://host/mcp"
COMMANDS = {
    "lint": ("lint", "--ruleset", "all", "--report", "run.json", "--output", "out.html", "--output", "out.sarif"),
    "grade": ("grade", "--output", "out.md", "--output", "junit:out.xml"),
    "tools": ("tools", "--format", "json"),
    "capture": ("capture", "-o", "capture.json"),
    "call": ("call", "echo_headers"),
    "call-json": ("call", "--format", "json", "echo_headers"),
    "probe": ("probe", "--format", "json"),
    "prove": ("prove", "--report", "run.json", "--output", "out.html"),
    "fuzz": ("fuzz", "--cases", "5", "--report", "run.json"),
    "init": ("init", "-o", "suite.yaml"),
    "trace": ("lint", "--trace=trace.jsonl"),
    "trace-to-stderr": ("call", "echo_headers", "--trace"),
}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("auth", "login"), "`mcproof auth login` needs the URL of a server"),
        (("auth", "logout"), "`mcproof auth logout` needs the URL of a server"),
        (("auth", "login", "server.py"), "not a URL such as https://host/mcp"),
        (("auth", "login", URL, "--client-secret-env", "X"), "--client-secret-env needs --client-id"),
        (("tools", URL, "--client-key-env", "X"), "--client-key-env needs --client-id"),
        (
            ("tools", URL, "--client-id", "a"),
            "--client-id needs --client-secret-env or --client-key-env, or --login for a user",
        ),
        (
            ("tools", URL, "--client-id", "a", "--client-key-env", "NO_SUCH_VARIABLE"),
            "--client-key-env: the environment has no variable NO_SUCH_VARIABLE",
        ),
        (
            ("tools", URL, "--client-id", "a", "--client-key-env", "HOME", "--client-secret-env", "HOME"),
            "--client-secret-env and --client-key-env exclude each other: a client has a secret or a key",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(words: tuple[str, ...], said: str) -> None:
    assert fails(*words) == f"mcproof: {said}\n"


def encodings(secret: str) -> list[str]:
    data = secret.encode()
    return [
        secret,
        data.hex(),
        quote(secret),
        base64.b64encode(data).decode().rstrip("="),
        base64.b64encode(f"Bearer {secret}".encode()).decode()[8:-4],
    ]


def assert_nothing_leaks(server: Guarded, output: str, folder: Path) -> None:
    """No token is in the output or in a file, plain or encoded."""
    written = {"the output": output}
    for file in folder.rglob("*"):
        if file.is_file() and "tokens" not in file.parts:
            written[str(file)] = file.read_text(errors="replace")
    assert server.tokens
    for where, text in written.items():
        for secret in (*server.tokens, REFRESH, CODE, SECRET):
            for coded in encodings(secret):
                assert coded not in text, f"{coded} is in {where}"


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("fault", ["guarded", "guarded-repeats-token"])
def test_no_command_shows_or_writes_a_stored_token(
    fault: str,
    name: str,
    visited: list[str],
    tmp_path: Path,
) -> None:
    with guarded(fault) as server:
        log_in(server)
        command, *words = COMMANDS[name]
        done = run(command, server.url, *words, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        assert_nothing_leaks(server, done.stdout + done.stderr, tmp_path)
        assert any("Bearer" in each.headers.get("authorization", "") for each in server.requests)


@pytest.mark.parametrize("name", ["lint", "call", "trace", "prove"])
def test_no_command_shows_or_writes_a_token_that_it_got_while_running(name: str, tmp_path: Path) -> None:
    with guarded("guarded-basic") as server:
        command, *words = COMMANDS[name]
        done = run(command, server.url, *words, *named(server), cwd=tmp_path, env={"CLIENT_SECRET": SECRET})
        assert done.returncode in (0, 1), done.stderr
        assert_nothing_leaks(server, done.stdout + done.stderr, tmp_path)


def test_a_new_token_is_hidden_like_the_old_one(visited: list[str], tmp_path: Path) -> None:
    with guarded("guarded-repeats-token") as server:
        log_in(server)
        server.tokens.clear()
        done = run("lint", server.url, "--trace=trace.jsonl", "--report", "run.json", cwd=tmp_path)
        assert server.token_requests[-1]["grant_type"] == "refresh_token"
        assert_nothing_leaks(server, done.stdout + done.stderr, tmp_path)


SUITE = """\
servers:
  api:
    url: {url}
    auth: {{client_id: ci, client_secret_env: CLIENT_SECRET, issuer: "{origin}", scope: read}}
tools:
  - name: echo
    server: api
    tool: echo_headers
    args: {{}}
    expect:
      assertions:
        - {{target: "result.content[0].text", matcher: {{exact: nothing like it}}}}
"""


def test_a_suite_names_client_credentials(tmp_path: Path) -> None:
    with guarded("guarded-basic") as server:
        (tmp_path / "mcproof.yaml").write_text(SUITE.format(url=server.url, origin=server.origin))
        done = run("run", "--report", "run.json", cwd=tmp_path, env={"CLIENT_SECRET": SECRET})
        assert done.returncode == 1, done.stderr
        assert server.token_requests[0]["scope"] == "read"
        assert "nothing like it" in done.stdout
        assert_nothing_leaks(server, done.stdout + done.stderr, tmp_path)
        unset = run("run", cwd=tmp_path)
        assert "the environment variable CLIENT_SECRET is not set" in unset.stdout + unset.stderr


NEEDS = (
    "`auth` of the server `api` needs `bearer_token_env`, or `client_id` with either `client_secret_env` or "
    "`client_key_env`"
)


@pytest.mark.parametrize(
    ("auth", "said"),
    [
        ("{client_id: ci}", NEEDS),
        ("{client_secret_env: HOME}", NEEDS),
        ("{client_id: ci, client_secret_env: HOME, client_key_env: HOME}", NEEDS),
        ("{}", NEEDS),
        ("{bearer_token_env: HOME, client_id: ci}", "`client_id` cannot be combined with `bearer_token_env`"),
        ("{token: x}", "unknown key `token` in `auth` of the server `api`"),
    ],
)
def test_a_suite_with_another_authorization_is_refused(auth: str, said: str, tmp_path: Path) -> None:
    suite = SUITE.format(url=URL, origin=URL)
    start = suite.index("auth: ")
    (tmp_path / "mcproof.yaml").write_text(f"{suite[:start]}auth: {auth}\n{suite[suite.index('tools:') :]}")
    done = run("validate", cwd=tmp_path)
    assert done.returncode == 2, done
    assert said in done.stdout


def test_a_new_suite_names_the_credentials_that_init_had(tmp_path: Path) -> None:
    with guarded("guarded-basic") as server:
        words = ("init", server.url, *named(server), "-o", "mcproof.yaml")
        done = run(*words, cwd=tmp_path, env={"CLIENT_SECRET": SECRET})
        assert done.returncode == 0, done.stderr
        again = run("run", cwd=tmp_path, env={"CLIENT_SECRET": SECRET})
        assert again.returncode == 0, again.stdout
    text = (tmp_path / "mcproof.yaml").read_text()
    assert "client_secret_env: CLIENT_SECRET" in text
    assert SECRET not in text


def test_a_stored_failure_is_sent_again_with_a_stored_token(visited: list[str], tmp_path: Path) -> None:
    with guarded("guarded-accepts-anything") as server:
        log_in(server)
        run("prove", server.url, cwd=tmp_path)
        listed = json.loads(run("replay", "--format", "json", cwd=tmp_path).stdout)["stored"]
        assert listed
        done = run("replay", listed[0]["id"], cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert_nothing_leaks(server, done.stdout + done.stderr, tmp_path)


BROWSER = """\
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=30).close()
"""


@pytest.mark.slow
def test_the_browser_of_the_environment_is_used(tmp_path: Path) -> None:
    (tmp_path / "browser.py").write_text(BROWSER)
    env = {"BROWSER": f"{sys.executable} {tmp_path / 'browser.py'} %s", "XDG_STATE_HOME": str(tmp_path / "state")}
    with guarded() as server:
        done = run_process("auth", "login", server.url, env=env)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{server.url}: valid\n")
        used = run_process("tools", server.url, env=env)
        assert "echo_headers" in used.stdout
    assert ACCESS not in done.stdout + done.stderr + used.stdout + used.stderr
    assert os.listdir(tmp_path / "state" / "mcproof") == ["tokens"]


def test_tools_of_a_second_server_get_no_token_of_the_first(visited: list[str]) -> None:
    with guarded() as first, guarded() as second:
        log_in(first)
        assert "needs authorization" in fails("tools", second.url)
        assert not any("authorization" in each.headers for each in second.requests)
        assert "echo_headers" in tools(first.url)
