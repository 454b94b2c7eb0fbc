from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from mcproof.client.auth.registration import OAuthClient
from mcproof.client.auth.tokens import AccessToken, delete_token, load_token, save_token, stored_tokens, token_file
from mcproof.client.errors import AuthorizationError
from mcproof.client.redaction import HIDDEN, hiding
from mcproof.core.errors import WriteError

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://host/mcp"
TOKEN = AccessToken(
    value="stored-access-token-1",
    issuer="https://auth.example",
    token_endpoint="https://auth.example/token",  # noqa: S106
    client=OAuthClient("mine", "client_secret_basic", "stored-client-secret-1", port=4711),
    resource=URL,
    requested="a b",
    granted="a",
    expires_at=4_000_000_000.5,
    refresh_token="stored-refresh-token-1",  # noqa: S106
)


def test_a_token_is_read_as_it_was_written() -> None:
    assert load_token(URL) is None
    save_token(URL, TOKEN)
    assert load_token(URL) == TOKEN
    assert stored_tokens() == [(URL, TOKEN)]
    assert delete_token(URL)
    assert not delete_token(URL)
    assert stored_tokens() == []


def test_a_stored_token_is_hidden_in_every_text() -> None:
    hide = hiding([])
    save_token(URL, TOKEN)
    load_token(URL)
    for secret in (TOKEN.value, TOKEN.refresh_token, TOKEN.client.secret):
        assert hide(f"x {secret} y") == f"x {HIDDEN} y"


def test_a_token_belongs_to_one_url() -> None:
    save_token(URL, TOKEN)
    assert load_token("HTTPS://Host:443/mcp#x") == TOKEN
    for other in ("https://host/mcp2", "https://host/mcp/", "https://host:8443/mcp", "http://host/mcp", f"{URL}?a=1"):
        assert load_token(other) is None


def test_a_token_that_was_copied_for_another_server_is_not_used(state: Path) -> None:
    save_token(URL, TOKEN)
    (file,) = state.iterdir()
    other = state / os.path.basename(token_file("https://evil.example/mcp"))
    other.write_bytes(file.read_bytes())
    other.chmod(0o600)
    assert load_token("https://evil.example/mcp") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2}', "[" * 100_000, '{"format": 1, "client": 7}'])
def test_a_file_that_is_not_a_token_is_ignored(text: str, state: Path) -> None:
    save_token(URL, TOKEN)
    (file,) = state.iterdir()
    file.write_text(text)
    assert load_token(URL) is None
    assert stored_tokens() == []


@pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX")
def test_modes_and_links(state: Path, tmp_path: Path) -> None:
    save_token(URL, TOKEN)
    (file,) = state.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    state.chmod(0o777)
    save_token(URL, TOKEN)
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert [each.name for each in state.iterdir()] == [file.name], "no temporary file is left"
    target = tmp_path / "elsewhere"
    file.rename(target)
    file.symlink_to(target)
    with pytest.raises(AuthorizationError, match="cannot be read"):
        load_token(URL)
    before = target.read_bytes()
    save_token(URL, TOKEN._replace(value="stored-access-token-2"))
    assert not file.is_symlink()
    assert target.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(WriteError, match="cannot be written"):
        save_token(URL, TOKEN)


def test_a_secret_from_the_environment_is_stored_by_its_name(state: Path) -> None:
    save_token(URL, TOKEN._replace(client=OAuthClient("mine", "client_secret_post", variable="CLIENT_SECRET")))
    (file,) = state.iterdir()
    assert json.loads(file.read_text())["client"]["variable"] == "CLIENT_SECRET"


def test_a_query_of_the_url_is_not_stored(state: Path) -> None:
    save_token(f"{URL}?key=stored-query-value-1", TOKEN)
    (file,) = state.iterdir()
    assert "stored-query-value-1" not in file.read_text()
