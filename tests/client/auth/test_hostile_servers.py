"""Hostile servers and authorization servers: the exact error, no token for anybody, nothing left listening."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from cli.running import run
from mcproof.client.auth import login
from mcproof.client.auth.authorizer import OAuthAuthorizer
from mcproof.client.endpoints import AccessOptions
from mcproof.client.errors import AuthorizationError
from mcproof.client.http import fetch
from servers.guarded import ACCESS, CODE, REFRESH, SECRET

from .test_login import guarded

if TYPE_CHECKING:
    from pathlib import Path

    from servers.guarded import Guarded

BEFORE_LOGIN = {
    "guarded-wrong-resource": "the resource metadata is for another resource: https://evil.example/mcp",
    "guarded-other-path": "the resource metadata is for another resource: {origin}/mcp2",
    "guarded-metadata-elsewhere": "`resource_metadata` of the challenge is at another origin, "
    "https://evil.example/metadata?key=***; not fetched",
    "guarded-metadata-redirects-away": "the resource metadata redirects to another origin, "
    "http://169.254.169.254/latest/meta-data; not followed",
    "guarded-no-servers": "the resource metadata names no authorization server",
    "guarded-plain-http-server": "an authorization server in the resource metadata is not an https URL: http://auth.example",
    "guarded-endless-redirects": "the metadata of the authorization server ({origin}/.well-known/"
    "oauth-authorization-server?***) redirects more than 3 times",
    "guarded-huge-metadata": "the metadata of the authorization server ({origin}/.well-known/"
    "oauth-authorization-server) returns more than 1,048,576 bytes",
    "guarded-not-json": "the authorization server publishes no metadata: {origin}",
    "guarded-wrong-issuer": "the metadata of the authorization server is for another issuer: https://evil.example, "
    "not {origin}",
    "guarded-javascript": "`authorization_endpoint` in the metadata of the authorization server is not an https URL: "
    "javascript:alert(1)",
    "guarded-plain-token-endpoint": "`token_endpoint` in the metadata of the authorization server is not an https URL: "
    "http://auth.example/token",
    "guarded-no-pkce": "the authorization server {origin} does not support PKCE (S256)",
    "guarded-registration-fails": "the registration endpoint refuses mcproof: invalid_redirect_uri (no loopback)",
    "guarded-surrogate-id": "the registration endpoint returns no usable `client_id`",
    "guarded-surrogate-secret": "the registration endpoint returns no usable `client_secret`",
}
"""Errors before the browser is opened."""

AFTER_LOGIN = {
    "guarded-state-replayed": "the authorization response has a wrong `state`: it is not for this login",
    "guarded-no-iss": "the authorization response has no `iss`, which the authorization server declares",
    "guarded-other-iss": "the authorization response is from another issuer: https://evil.example, not {origin}",
    "guarded-slashed-iss": "the authorization response is from another issuer: {origin}/, not {origin}",
    "guarded-denied": "the authorization server refuses: access_denied (not you: *** of ***)",
    "guarded-token-hangs": "the token endpoint ({origin}/token) does not respond within 0.3 seconds",
    "guarded-token-drips": "the token endpoint ({origin}/token) does not respond within 0.3 seconds",
    "guarded-token-redirects": "the token endpoint ({origin}/token) redirects to https://evil.example/token; "
    "not followed",
    "guarded-other-token-type": "the token endpoint returns a token of the type DPoP; mcproof supports Bearer",
    "guarded-token-with-line-break": "the token endpoint returns no usable `access_token`",
    "guarded-token-error": "the token endpoint refuses the request: invalid_grant (*** with *** of ***)",
}


def is_listening(url: str) -> bool:
    parts = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname, parts.port)) == 0


def assert_clean(server: Guarded, output: str, folder: Path) -> None:
    """No secret is in the output or in a file, no token was used, and nothing listens."""
    kept = "".join(file.read_text() for file in folder.rglob("*") if file.is_file())
    for secret in (ACCESS, REFRESH, CODE, SECRET):
        assert secret not in output + kept
    assert not any("Bearer" in each.headers.get("authorization", "") for each in server.requests)
    for asked in server.granted:
        assert not is_listening(asked["redirect_uri"])


@pytest.mark.parametrize("fault", BEFORE_LOGIN)
def test_no_browser_is_opened_for_a_server_that_cannot_be_trusted(
    fault: str, visited: list[str], tmp_path: Path
) -> None:
    with guarded(fault) as server:
        done = run("auth", "login", server.url, cwd=tmp_path)
        assert done.stderr == f"mcproof: {server.url}: {BEFORE_LOGIN[fault].format(origin=server.origin)}\n"
        assert done.returncode == 2
        assert visited == []
        assert server.granted == server.token_requests == []
        assert_clean(server, done.stdout + done.stderr, tmp_path)


@pytest.mark.parametrize("fault", AFTER_LOGIN)
def test_a_login_that_goes_wrong_ends_with_its_reason(
    fault: str, visited: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = webbrowser.open

    def hurry(url: str) -> bool:
        """Limit the request for the token, which is the only one after the browser is opened."""
        if fault in ("guarded-token-hangs", "guarded-token-drips"):
            monkeypatch.setattr(fetch, "METADATA_SECONDS", 0.3)
        return visit(url)

    monkeypatch.setattr(webbrowser, "open", hurry)
    with guarded(fault) as server:
        done = run("auth", "login", server.url, cwd=tmp_path)
        expected = AFTER_LOGIN[fault].format(origin=server.origin)
        assert done.stderr.splitlines()[1:] == [f"mcproof: {server.url}: {expected}"]
        assert done.returncode == 2
        assert len(visited) == 1
        if fault.endswith(("replayed", "iss", "denied")):
            assert server.token_requests == []
        assert_clean(server, done.stdout + done.stderr, tmp_path)


def test_an_authorization_endpoint_that_redirects_elsewhere_gets_no_code(
    visited: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever page the browser ends at, only the right response on the loopback address counts."""
    monkeypatch.setattr(login, "LOGIN_SECONDS", 0.3)
    with guarded("guarded-open-redirect") as server:
        done = run("auth", "login", server.url, cwd=tmp_path)
        assert done.stderr.splitlines()[1:] == [f"mcproof: {server.url}: nobody logged in within 0.3 seconds"]
        assert server.token_requests == []
        assert_clean(server, done.stdout + done.stderr, tmp_path)


def test_an_interrupted_login_leaves_nothing_listening(
    visited: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def interrupt(url: str) -> bool:
        seen.append(url)
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        return True

    monkeypatch.setattr(webbrowser, "open", interrupt)
    with guarded() as server:
        done = run("auth", "login", server.url, cwd=tmp_path)
    assert done.returncode == 130
    assert done.stderr.endswith("mcproof: interrupted\n")
    (redirect_uri,) = parse_qs(urlsplit(seen[0]).query)["redirect_uri"]
    assert not is_listening(redirect_uri)


@pytest.mark.parametrize("url", ["http://host.invalid/mcp", "http://10.255.255.1/mcp"])
def test_no_token_goes_to_a_server_without_encryption(url: str) -> None:
    async def ask() -> None:
        await OAuthAuthorizer(url, AccessOptions(may_log_in=True)).request_token()

    with pytest.raises(AuthorizationError, match="a token would be sent without encryption: use an https URL"):
        asyncio.run(ask())


def test_a_url_with_a_login_is_authorized_without_it(visited: list[str], tmp_path: Path) -> None:
    with guarded() as server:
        url = server.url.replace("http://", "http://me:hunter2-hunter2@") + "?key=hunter3-hunter3"
        done = run("tools", url, "--login", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert server.granted[0]["resource"] == server.url
    kept = "".join(file.read_text() for file in tmp_path.rglob("*.json"))
    assert "hunter" not in kept + done.stderr + done.stdout
