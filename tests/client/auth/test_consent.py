"""The secret or key of a client goes only to an authorization server that the user names or has confirmed."""

from __future__ import annotations

import json
import os
import pty
import stat
from select import select
from typing import TYPE_CHECKING

import pytest

from cli.running import COMMAND, run
from limits import HANG
from servers.guarded import SECRET, Guarded

from .test_login import NAMED, SIGNED, guarded, log_in

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = b"[y/N] "


def refusal(server: Guarded, issuer: str) -> str:
    return (
        f"mcproof: {server.url}: the server names {issuer} as its authorization server; the secret or key of a client "
        f"is sent only to one that you name: add `--issuer {issuer}` if it is yours\n"
    )


class Thief(Guarded, fault="guarded-thief"):
    """A server that names an authorization server of somebody else's choice."""

    issuer_named = ""

    def resource(self) -> dict[str, object]:
        return {**super().resource(), "authorization_servers": [self.issuer_named or self.origin]}


@pytest.mark.parametrize("client", [NAMED, SIGNED])
@pytest.mark.parametrize("command", ["tools", "prove", "lint"])
def test_without_a_terminal_the_credential_is_not_sent(command: str, client: tuple[str, ...]) -> None:
    with guarded("guarded-thief") as server, guarded("guarded-post") as other:
        assert isinstance(server, Thief)
        server.issuer_named = other.origin
        done = run(command, server.url, *client, env={"CLIENT_SECRET": SECRET, "KEY": SECRET})
        assert done.returncode == 2
        assert done.stderr == refusal(server, other.origin)
        assert server.token_requests == other.token_requests == []


def test_the_server_itself_is_no_exception() -> None:
    """A server that was taken over would name itself."""
    with guarded("guarded-basic") as server:
        done = run("tools", server.url, *NAMED, env={"CLIENT_SECRET": SECRET})
        assert done.stderr == refusal(server, server.origin)
        assert server.token_requests == []


def test_a_login_with_a_secret_needs_it_too(visited: list[str]) -> None:
    with guarded("guarded-basic") as server:
        done = run("auth", "login", server.url, *NAMED, env={"CLIENT_SECRET": SECRET})
        assert done.stderr == refusal(server, server.origin)
        assert visited == []


def typed(server: Guarded, text: str, state: Path, command: tuple[str, ...] = ("tools",)) -> tuple[int, str]:
    """The exit code and the screen of a command at a terminal, with this text typed at the question."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {**os.environ, "CLIENT_SECRET": SECRET, "XDG_STATE_HOME": str(state.parent.parent)}
        words = [*COMMAND, *command, server.url, *NAMED]
        os.execve(words[0], words, environment)  # noqa: S606
    screen = b""
    while select([terminal], [], [], HANG)[0]:
        try:
            shown = os.read(terminal, 65_536)
        except OSError:  # the end, on Linux
            break
        if not shown:
            break
        screen += shown
        if shown.endswith(PROMPT):
            os.write(terminal, text.encode())
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), screen.decode()


def test_the_user_confirms_once_for_a_server(visited: list[str], state: Path) -> None:
    with guarded("guarded-basic") as server:
        code, screen = typed(server, "y\n", state)
        assert code == 0, screen
        assert f"{server.url} names {server.origin} as its authorization server" in screen
        assert screen.count("[y/N]") == 1
        assert len(server.token_requests) == 1

        code, screen = typed(server, "n\n", state)
        assert (code, "[y/N]" in screen) == (0, False)
        assert run("tools", server.url, *NAMED, env={"CLIENT_SECRET": SECRET}).returncode == 0

        (file,) = (state.parent / "consents").iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert json.loads(file.read_text())["issuer"] == server.origin
        assert SECRET not in file.read_text()
        log_in(server)
        assert visited
        assert run("auth", "logout", server.url).returncode == 0
        assert not file.exists()


def test_another_issuer_is_asked_about_again(state: Path) -> None:
    with guarded("guarded-thief") as server, guarded("guarded-basic") as other:
        assert isinstance(server, Thief)
        server.methods = other.methods
        assert typed(server, "y\n", state)[0] == 0
        server.issuer_named = other.origin
        done = run("tools", server.url, *NAMED, env={"CLIENT_SECRET": SECRET})
        assert done.stderr == refusal(server, other.origin)
        assert other.token_requests == []


@pytest.mark.parametrize("text", ["n\n", "\n", "\x04"])
def test_anything_but_yes_refuses(text: str, state: Path) -> None:
    with guarded("guarded-basic") as server:
        code, screen = typed(server, text, state)
        assert code == 2
        assert "add `--issuer" in screen
        assert server.token_requests == []
    assert not state.exists()


def test_a_file_of_consent_for_another_server_does_not_count(state: Path) -> None:
    with guarded("guarded-basic") as server, guarded("guarded-basic") as other:
        assert typed(server, "y\n", state)[0] == 0
        (file,) = (state.parent / "consents").iterdir()
        content = file.read_bytes()
        assert typed(other, "y\n", state)[0] == 0
        for stored in (state.parent / "consents").iterdir():
            stored.write_bytes(content)
        assert run("tools", other.url, *NAMED, env={"CLIENT_SECRET": SECRET}).returncode == 2
