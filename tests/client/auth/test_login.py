"""Logins and tokens with good servers, through the command line."""

from __future__ import annotations

import json
import os
import stat
import time
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import document_of, fails, run
from cli.serving import serve
from servers.guarded import ACCESS, REFRESH, SECRET, Guarded

if TYPE_CHECKING:
    from pathlib import Path

NAMED = ("--client-id", "mine", "--client-secret-env", "CLIENT_SECRET")
SIGNED = ("--client-id", "mine", "--client-key-env", "KEY")


def named(server: Guarded, client: tuple[str, ...] = NAMED) -> tuple[str, ...]:
    """The options for a client that may send its credential to the server."""
    return (*client, "--issuer", server.origin)


def guarded(fault: str = "guarded") -> Guarded:
    server = serve(fault)
    assert isinstance(server, Guarded)
    return server


def tools(*words: str, **env: str) -> str:
    """What `mcproof tools` prints if it succeeds."""
    done = run("tools", *words, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def log_in(server: Guarded, *words: str, **env: str) -> str:
    done = run("auth", "login", server.url, *words, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stored(state: Path) -> dict[str, Any]:
    (file,) = state.iterdir()
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def test_a_login_is_stored_and_used_by_later_commands(state: Path, visited: list[str]) -> None:
    with guarded() as server:
        assert log_in(server).startswith(f"{server.url}: valid\n  issuer: {server.origin}\n")
        assert "echo_headers" in tools(server.url)
        assert len(visited) == len(server.granted) == 1
    (asked,) = server.granted
    assert asked["code_challenge_method"] == "S256"
    assert asked["resource"] == server.url
    assert server.token_requests[0]["resource"] == server.url
    assert server.registered[0]["redirect_uris"] == [asked["redirect_uri"]]
    assert server.registered[0]["application_type"] == "native"
    assert asked["redirect_uri"].startswith("http://127.0.0.1:")
    assert stored(state)["issuer"] == server.origin


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_only_the_user_can_read_a_token(state: Path, visited: list[str]) -> None:
    with guarded() as server:
        log_in(server)
        (file,) = state.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        file.chmod(0o644)
        said = fails("tools", server.url)
    assert said == f"mcproof: {server.url}: the stored token is not private: delete {file}, and log in again\n"


def test_status_and_logout(state: Path, visited: list[str]) -> None:
    with guarded("guarded-scopes") as server:
        log_in(server)
        done = run("auth", "status", "--format", "json")
        (token,) = document_of(done, "auth")["tokens"]
        assert token["expires_at"].endswith("Z")
        assert {**token, "expires_at": None} == {
            "url": server.url,
            "resource": server.url,
            "issuer": server.origin,
            "client_id": "client-1",
            "scopes": ["read", "write", "offline_access"],
            "expires_at": None,
            "state": "valid",
        }
        assert run("auth", "status", server.url).stdout == run("auth", "status").stdout
        assert ACCESS not in done.stdout + run("auth", "status").stdout
        gone = run("auth", "logout", server.url)
        assert gone.returncode == 0
        assert gone.stderr.startswith(f"mcproof: logged out: the token for {server.url} is deleted here")
        assert list(state.iterdir()) == []
        assert run("auth", "logout", server.url).returncode == 1
        assert run("auth", "status", server.url).returncode == 1
        assert fails("tools", server.url).startswith(f"mcproof: {server.url}: needs authorization (")


def test_logout_revokes_the_tokens(state: Path, visited: list[str]) -> None:
    with guarded("guarded-revoking") as server:
        log_in(server)
        gone = run("auth", "logout", server.url)
        assert (gone.returncode, list(state.iterdir())) == (0, [])
        assert gone.stderr == f"mcproof: logged out: the token for {server.url} is revoked, and deleted here\n"
        assert [each["token_type_hint"] for each in server.revoked] == ["refresh_token", "access_token"]
        assert server.revoked[1]["token"].startswith(ACCESS)
        assert {each["client_id"] for each in server.revoked} == {"client-1"}
        assert all("client_secret" in each for each in server.revoked)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("guarded-refuses-revocation", "the revocation endpoint refuses: invalid_client (*** of ***)"),
        ("guarded-odd-revocation", "`revocation_endpoint` of "),
    ],
)
def test_a_token_that_cannot_be_revoked_is_deleted(state: Path, visited: list[str], fault: str, why: str) -> None:
    with guarded(fault) as server:
        log_in(server)
        gone = run("auth", "logout", server.url)
        assert (gone.returncode, list(state.iterdir())) == (0, [])
        assert f"is deleted here, and may still be valid: {why}" in gone.stderr
        assert ACCESS not in gone.stderr


def test_without_a_token_the_error_names_the_login(visited: list[str]) -> None:
    with guarded() as server:
        assert fails("lint", server.url) == (
            f"mcproof: {server.url}: needs authorization (WWW-Authenticate: Bearer resource_metadata="
            f'"{server.metadata_url}"): run `mcproof auth login {server.url}`; in CI, use `--client-id ID '
            "--client-secret-env NAME` or `--header 'Authorization: Bearer ${TOKEN}'`, or `auth` in a suite\n"
        )
        assert visited == []
        assert {each.path for each in server.requests} == {"/mcp"}, "nothing else is fetched"


def test_without_a_terminal_a_login_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROWSER", raising=False)
    with guarded() as server:
        for words in (("auth", "login"), ("tools", "--login")):
            assert fails(*words, server.url) == (
                f"mcproof: {server.url}: no terminal to log in from, and no BROWSER that opens the address; use "
                "`--client-id ID --client-secret-env NAME` or `--header 'Authorization: Bearer ${TOKEN}'`, or "
                "`auth` in a suite\n"
            )
        assert server.registered == []


def test_a_refused_header_is_not_replaced(visited: list[str]) -> None:
    with guarded() as server:
        said = fails("tools", server.url, "--login", "--header", "Authorization: Bearer wrong-wrong")
    assert said.startswith(f"mcproof: {server.url}: the server refuses the authorization (WWW-Authenticate: Bearer ")
    assert visited == []


def test_a_command_logs_in_by_itself_if_it_may(visited: list[str]) -> None:
    with guarded() as server:
        assert "echo_headers" in tools(server.url, "--login")
        assert "echo_headers" in tools(server.url, "--login")
    assert len(visited) == 1


def test_a_server_may_require_more_scopes_for_a_call(visited: list[str]) -> None:
    with guarded("guarded-after-connecting") as server:
        done = run("call", server.url, "echo_headers", "--login")
        assert done.returncode == 0, done.stderr
    assert [each["scope"] for each in server.granted] == ["read", "read write"]


def test_without_permission_to_log_in_the_error_names_the_scope(visited: list[str]) -> None:
    with guarded("guarded-after-connecting") as server:
        log_in(server)
        done = run("call", server.url, "echo_headers")
        assert f"run `mcproof auth login {server.url} --scope write`" in done.stdout + done.stderr
        log_in(server, "--scope", "write")
        assert run("call", server.url, "echo_headers").returncode == 0
    assert [each["scope"] for each in server.granted] == ["read", "write read"]


def test_scopes_come_from_the_metadata_if_the_challenge_has_none(visited: list[str]) -> None:
    with guarded("guarded-scopes") as server:
        log_in(server)
    assert server.granted[0]["scope"] == "read write offline_access"


def test_no_scope_is_requested_if_none_is_known(visited: list[str]) -> None:
    with guarded() as server:
        log_in(server)
    assert "scope" not in server.granted[0]


@pytest.mark.parametrize("fault", ["guarded-tenant", "guarded-legacy", "guarded-slashed-issuer"])
def test_metadata_is_found_wherever_it_may_be(fault: str, visited: list[str]) -> None:
    with guarded(fault) as server:
        assert "echo_headers" in tools(server.url, "--login")
    assert len(server.granted) == 1


@pytest.mark.parametrize(
    ("fault", "method"), [("guarded-basic", "client_secret_basic"), ("guarded-post", "client_secret_post")]
)
def test_a_registered_client_authenticates_as_the_server_wants(fault: str, method: str, visited: list[str]) -> None:
    with guarded(fault) as server:
        log_in(server)
        assert server.registered[0]["token_endpoint_auth_method"] == method
        assert server.used_method(server.token_requests[0], server.token_requests[0]["authorization"]) == method


def test_a_client_that_was_registered_before(state: Path, visited: list[str]) -> None:
    with guarded("guarded-no-registration") as server:
        assert "registers no clients: register mcproof there, and use `--client-id ID`" in fails(
            "auth", "login", server.url
        )
        assert run("auth", "login", server.url, *named(server)).returncode == 2
        log_in(server, *named(server), CLIENT_SECRET=SECRET)
        assert server.granted[0]["client_id"] == "mine"
        assert stored(state)["client"]["variable"] == "CLIENT_SECRET"
        assert SECRET not in json.dumps(stored(state))


def test_the_url_of_a_client_document_is_used_where_it_can_be(visited: list[str]) -> None:
    document = "https://example.com/mcproof.json"
    with guarded("guarded-documents") as server:
        log_in(server, "--client-id", document)
        assert server.granted[0]["client_id"] == document
    with guarded() as server:
        log_in(server, "--client-id", document)
        assert server.granted[0]["client_id"] == "client-1"


def test_a_registration_is_used_again_for_the_next_login(visited: list[str]) -> None:
    with guarded() as server:
        log_in(server)
        log_in(server)
        assert len(server.granted) == 2
        ports = {each["redirect_uri"] for each in server.granted}
        assert len(server.registered) == len(ports), "one registration for each redirect URI"


def test_the_port_of_the_redirect_can_be_chosen(visited: list[str]) -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with guarded() as server:
        log_in(server, "--callback-port", str(port))
    assert server.granted[0]["redirect_uri"] == f"http://127.0.0.1:{port}/callback"


def test_an_expired_token_is_refreshed(state: Path, visited: list[str]) -> None:
    with guarded() as server:
        server.lifetime = 5  # fewer seconds than a token must have left
        log_in(server)
        assert json.loads(run("auth", "status", "--format", "json").stdout)["tokens"][0]["state"] == "refreshable"
        server.lifetime = 3600
        before = stored(state)["value"]
        assert "echo_headers" in tools(server.url)
        assert stored(state)["value"] != before
        assert server.token_requests[-1]["grant_type"] == "refresh_token"
        assert server.token_requests[-1]["resource"] == server.url
        assert len(server.granted) == 1


def test_a_token_that_the_server_forgot_is_refreshed(state: Path, visited: list[str]) -> None:
    with guarded() as server:
        log_in(server)
        server.tokens.clear()
        assert "echo_headers" in tools(server.url)
        assert server.token_requests[-1]["refresh_token"].startswith(REFRESH)


def test_a_token_that_cannot_be_refreshed_needs_a_login(visited: list[str]) -> None:
    with guarded() as server:
        server.refreshes = False
        log_in(server)
        server.tokens.clear()
        said = fails("tools", server.url)
        assert said.startswith(f"mcproof: {server.url}: the server refuses the stored token (WWW-Authenticate: Bearer ")
        assert f"run `mcproof auth login {server.url}`" in said
        assert "echo_headers" in tools(server.url, "--login")
        assert len(server.granted) == 2


def test_the_secret_that_a_refresh_needs_is_named(visited: list[str]) -> None:
    with guarded("guarded-no-registration") as server:
        log_in(server, *named(server), CLIENT_SECRET=SECRET)
        server.tokens.clear()
        assert fails("tools", server.url).startswith(
            f"mcproof: {server.url}: the stored token cannot be refreshed: the environment variable CLIENT_SECRET is "
            f"not set: run `mcproof auth login {server.url}`; "
        )
        assert "echo_headers" in tools(server.url, CLIENT_SECRET=SECRET)


def test_the_older_transport_is_authorized_too(visited: list[str]) -> None:
    with guarded("guarded-sse") as server:
        assert fails("tools", server.url).startswith(f"mcproof: {server.url}: needs authorization (WWW-Authenticate: ")
        assert "echo_headers" in tools(server.url, "--login")
        assert len(visited) == 1


def test_another_issuer_gets_nothing_of_the_first(state: Path, visited: list[str], monkeypatch: Any) -> None:
    with guarded() as first, guarded() as second:
        log_in(first)
        first.tokens.clear()
        first.refreshes = False
        (file,) = state.iterdir()
        document = json.loads(file.read_text())
        file.write_text(json.dumps({**document, "refresh_token": ""}))
        monkeypatch.setattr(
            first, "resource", lambda: {"resource": first.url, "authorization_servers": [second.origin]}
        )
        monkeypatch.setattr(second, "resource", first.resource)
        first.tokens = second.tokens
        assert "echo_headers" in tools(first.url, "--login")
        assert len(second.registered) == 1
        assert "client-1" in {each["client_id"] for each in second.granted}
        assert stored(state)["issuer"] == second.origin


@pytest.mark.parametrize(
    ("fault", "method"), [("guarded-basic", "client_secret_basic"), ("guarded-post", "client_secret_post")]
)
def test_client_credentials_with_a_secret(fault: str, method: str, state: Path) -> None:
    with guarded(fault) as server:
        assert "echo_headers" in tools(server.url, *named(server), "--scope", "read", CLIENT_SECRET=SECRET)
        (sent,) = server.token_requests
        assert sent["grant_type"] == "client_credentials"
        assert sent["scope"] == "read"
        assert sent["resource"] == server.url
        assert server.used_method(sent, sent["authorization"]) == method
    assert not state.exists(), "nothing is stored"


def test_a_wrong_secret_is_an_error() -> None:
    with guarded("guarded-basic") as server:
        done = run("tools", server.url, *named(server), env={"CLIENT_SECRET": "wrong-wrong-wrong"})
    assert done.stderr == (
        f"mcproof: {server.url}: the token endpoint refuses the request: invalid_client (the test server says no)\n"
    )


def test_client_credentials_with_a_signed_assertion() -> None:
    import jwt
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with guarded("guarded-signed") as server:
        for text in (pem, pem.replace("\n", "\\n")):
            tools(server.url, *named(server, SIGNED), KEY=text)
    for sent in server.token_requests:
        claims = jwt.decode(sent["client_assertion"], key.public_key(), algorithms=["ES256"], audience=server.origin)
        assert claims["iss"] == claims["sub"] == "mine"
        assert 0 < claims["exp"] - time.time() <= 300
    assert len({sent["client_assertion"] for sent in server.token_requests}) == 2


def test_a_key_that_does_not_fit_is_an_error() -> None:
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ed25519.Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with guarded("guarded-signed") as server:
        words = named(server, SIGNED)
        other = run("tools", server.url, *words, env={"KEY": pem})
        none = run("tools", server.url, *words, env={"KEY": "not a key at all"})
    assert other.stderr.endswith(": the key in KEY cannot sign an assertion; the authorization server accepts ES256\n")
    assert none.stderr.endswith(": the variable KEY is not an unencrypted private key in PEM\n")


def test_without_pyjwt_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "jwt", None)
    with guarded("guarded-signed") as server:
        done = run("tools", server.url, *named(server, SIGNED), env={"KEY": "key-key-key"})
    assert done.stderr.endswith(": signed assertions need PyJWT: `pip install 'mcproof[auth]'`\n")


def test_one_issuer_can_be_required() -> None:
    with guarded("guarded-basic") as server:
        words = (server.url, *NAMED, "--issuer")
        for issuer in (server.origin, f"{server.origin}/"):
            assert run("tools", *words, issuer, env={"CLIENT_SECRET": SECRET}).returncode == 0
        done = run("tools", *words, "https://other.example", env={"CLIENT_SECRET": SECRET})
        assert done.stderr.endswith(
            f": the server uses another authorization server than the issuer you name: {server.origin}\n"
        )
        assert len(server.token_requests) == 2


def test_a_token_is_not_requested_again_while_it_is_valid() -> None:
    with guarded("guarded-basic") as server:
        run("prove", server.url, *named(server), env={"CLIENT_SECRET": SECRET})
        assert len(server.token_requests) == 1


def test_the_lifetime_of_a_new_token_is_left_to_the_server() -> None:
    with guarded("guarded-basic") as server:
        server.lifetime = 0
        assert "echo_headers" in tools(server.url, *named(server), CLIENT_SECRET=SECRET)
        assert len(server.token_requests) == 1


def test_tokens_that_are_good_for_one_request_are_given_up() -> None:
    with guarded("guarded-one-request") as server:
        done = run("tools", server.url, *named(server), env={"CLIENT_SECRET": SECRET})
        assert done.stderr.startswith(f"mcproof: {server.url}: the server refuses one token after another (")
        assert len(server.token_requests) == 4


@pytest.mark.parametrize("lifetime", [0, 3600])
def test_a_server_that_refuses_new_tokens_gets_one(lifetime: int, visited: list[str]) -> None:
    with guarded("guarded-refuses-tokens") as server:
        server.lifetime = lifetime
        said = fails_after_login(server)
        assert said.startswith(f"mcproof: {server.url}: the server refuses a new token (WWW-Authenticate: Bearer ")
        assert len(server.granted) == 1
    with guarded("guarded-never-enough") as server:
        server.lifetime = lifetime
        said = fails_after_login(server)
        assert said.startswith(f"mcproof: {server.url}: the server refuses a token with all scopes that it requires (")
        assert len(server.granted) == 1


def fails_after_login(server: Guarded) -> str:
    """The error of a login whose token is refused; the line before has the address to log in at."""
    done = run("tools", server.url, "--login")
    assert done.returncode == 2
    first, last = done.stderr.splitlines()
    assert first.startswith(f"mcproof: log in with your browser: {server.origin}/authorize?response_type=code&")
    return last
