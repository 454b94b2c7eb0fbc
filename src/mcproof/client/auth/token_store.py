"""Tokens of logins, in the user's state folder: one file for each server, readable by the user only."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

from mcproof.client.auth.oauth_clients import OAuthClient
from mcproof.client.auth.safe_urls import canonical_url
from mcproof.client.auth.token_requests import AccessToken
from mcproof.client.failures import AuthorizationError
from mcproof.client.secrets import learn_secret, redacted_url
from mcproof.core.errors import WriteError, reason_of
from mcproof.core.text.files import state_folder, write_private_file

FORMAT = 1
LARGEST_FILE = 1024 * 1024
_PRIVATE = 0o077


def _folder() -> str:
    return os.path.join(state_folder(), "tokens")


def _key(url: str) -> str:
    from hashlib import sha256

    return sha256(canonical_url(url).encode(errors="replace")).hexdigest()[:32]


def token_file(url: str) -> str:
    """The file with the token for a server."""
    return os.path.join(_folder(), f"{_key(url)}.json")


def load_token(url: str) -> AccessToken | None:
    """The stored token for a server; None if there is none. Raises AuthorizationError if others can read its file."""
    document = _read(token_file(url))
    return None if document is None else _stored_token(document, _key(url))


def save_token(url: str, token: AccessToken) -> None:
    """Store the token for a server. Raises WriteError."""
    folder = _folder()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.name == "posix":
            os.chmod(folder, 0o700)
    except OSError as error:
        raise WriteError(f"cannot be written: {reason_of(error)}", file=folder) from None
    document = {
        "format": FORMAT,
        "key": _key(url),
        "url": redacted_url(canonical_url(url)),
        **token._asdict(),
        "client": token.client._asdict(),
    }
    write_private_file(token_file(url), json.dumps(document, indent=2).encode())


def delete_token(url: str) -> bool:
    """Delete the token for a server; whether there was one."""
    try:
        os.unlink(token_file(url))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise WriteError(f"cannot be deleted: {reason_of(error)}", file=token_file(url)) from None
    return True


def stored_tokens() -> list[tuple[str, AccessToken]]:
    """All stored tokens with the URLs of their servers, without secrets, in order."""
    try:
        names = sorted(os.listdir(_folder()))
    except OSError:
        return []
    found = []
    for name in names:
        document = _read(os.path.join(_folder(), name)) if name.endswith(".json") else None
        token = None if document is None else _stored_token(document, name.removesuffix(".json"))
        if document is not None and token is not None:
            found.append((str(document.get("url")), token))
    return sorted(found, key=lambda each: each[0])


def _read(name: str) -> dict[str, Any] | None:
    try:
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AuthorizationError(f"the stored token cannot be read: {name}: {reason_of(error)}") from None
    with open(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if os.name == "posix" and (status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & _PRIVATE):
            raise AuthorizationError(f"the stored token is not private: delete {name}, and log in again")
        try:
            document = json.loads(file.read(LARGEST_FILE))
        except (ValueError, RecursionError):
            return None
    return document if isinstance(document, dict) and document.get("format") == FORMAT else None


def _stored_token(document: dict[str, Any], key: str) -> AccessToken | None:
    """The token in a document, if it belongs to the file with this key."""
    if document.get("key") != key or not isinstance(document.get("client"), dict):
        return None
    try:
        client = OAuthClient(**document["client"])
        token = AccessToken(**{name: document[name] for name in AccessToken._fields if name != "client"}, client=client)
    except (KeyError, TypeError):
        return None
    for secret in (token.value, token.refresh_token, client.secret):
        learn_secret(secret)
    return token
