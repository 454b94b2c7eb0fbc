"""Parse the `servers` of a suite."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcproof.client.endpoints import AccessOptions
from mcproof.suite.definition import ServerEntry, SuiteLocation, ToolHints
from mcproof.suite.parse.suite_fields import LONGEST_WAIT, SHOWN

if TYPE_CHECKING:
    from mcproof.core.text.yaml_document import Node
    from mcproof.suite.parse.suite_fields import Fields

SERVER_KEYS = (
    "command",
    "url",
    "env",
    "headers",
    "auth",
    "cwd",
    "timeout_ms",
    "start_timeout_ms",
    "protocol",
    "annotations",
)
AUTH_KEYS = ("bearer_token_env", "client_id", "client_secret_env", "client_key_env", "issuer", "scope")
HINTS = ("readOnlyHint", "destructiveHint")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A valid HTTP header name."""


def read_server(fields: Fields, name: str, node: Node, key: tuple[int, int]) -> ServerEntry:
    """Parse a server entry; `key` is the position of its name."""
    from mcproof.core.protocol import REVISIONS

    what = f"the server `{name[:SHOWN]}`"
    members = fields.mapping(node, what, SERVER_KEYS)
    if isinstance(node.value, dict) and ("command" in members) == ("url" in members):
        has = "both a `command` and a `url`" if "url" in members else "neither a `command` nor a `url`"
        fields.complain(node, f"{what} has {has}; exactly one is required")
    for own, other in (("env", "url"), ("cwd", "url"), ("headers", "command"), ("auth", "command")):
        if own in members and other in members:
            fields.complain(members[own], f"`{own}` of {what} cannot be combined with `{other}`")
    authorization, access = _access(fields, members.get("auth"), what)
    return ServerEntry(
        name=name,
        location=SuiteLocation(fields.file, *key),
        command=read_command(fields, members.get("command"), f"`command` of {what}"),
        url=_url(fields, members.get("url"), what),
        environment=_pairs(fields, members.get("env"), f"`env` of {what}", is_header=False),
        headers={
            **_pairs(fields, members.get("headers"), f"`headers` of {what}", is_header=True),
            **authorization,
        },
        access=access,
        directory=_folder(fields, members.get("cwd"), what),
        timeout_ms=fields.number(members.get("timeout_ms"), f"`timeout_ms` of {what}", 1, LONGEST_WAIT),
        start_timeout_ms=fields.number(
            members.get("start_timeout_ms"), f"`start_timeout_ms` of {what}", 1, LONGEST_WAIT
        ),
        protocol=fields.one_of(members.get("protocol"), f"`protocol` of {what}", "protocol revision", REVISIONS)
        or None,
        annotations=_annotations(fields, members.get("annotations"), what),
    )


def read_command(fields: Fields, node: Node | None, what: str) -> tuple[str, ...]:
    """Parse a command: a list of words."""
    if node is None:
        return ()
    if isinstance(node.value, str):
        fields.complain(node, f"{what} must be a list, such as [python, server.py]; no shell is used")
        return ()
    # An argument may be empty, the program may not.
    words = tuple(
        "" if number and each.value == "" else fields.text(each, f"an item of {what}")
        for number, each in enumerate(fields.items(node, what))
    )
    if node.value == []:
        fields.complain(node, f"{what} is empty")
    if any("\0" in word for word in words):
        fields.complain(node, f"{what} contains a null character")
        return ()
    return words


def _url(fields: Fields, node: Node | None, what: str) -> str:
    url = fields.text(node, f"`url` of {what}")
    if node is not None and url and "${" not in url and not is_http_url(url):
        fields.complain(node, f"`url` of {what} must be a URL such as https://host/mcp")
    return url


def is_http_url(url: str) -> bool:
    """Whether a text is an HTTP or HTTPS URL with a host."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _pairs(fields: Fields, node: Node | None, what: str, *, is_header: bool) -> dict[str, str]:
    """Parse environment variables or headers."""
    pairs: dict[str, str] = {}
    for name, value in (fields.any_mapping(node, what) if node is not None else {}).items():
        found, shown = value.value, f"`{name[:SHOWN]}`"
        if isinstance(found, dict):
            members = fields.mapping(value, f"{shown} in {what}", ("env",), ("env",))
            pairs[name] = fields.from_environment(members.get("env"), f"`env` of {shown}")
        elif isinstance(found, bool):
            pairs[name] = "true" if found else "false"
        elif isinstance(found, str | int | float):
            pairs[name] = str(found)
        else:
            fields.complain(value, f"{shown} in {what} must be a string or {{env: NAME}}, not {value.kind}")
            continue
        if not is_name(name, is_header=is_header) and name.isprintable():
            fields.complain(value, f"{shown} in {what} is not a valid {'header' if is_header else 'variable'} name")
        elif not name.isprintable() or any(ord(each) < 32 and each != "\t" for each in pairs[name]):
            fields.complain(value, f"{shown} in {what} contains a control character")
    return pairs


def is_name(name: str, *, is_header: bool) -> bool:
    """Whether a text is a valid name of a header, or of an environment variable."""
    return _HEADER.fullmatch(name) is not None if is_header else bool(name) and "=" not in name


def _bearer(fields: Fields, node: Node | None) -> dict[str, str]:
    """The header with a token from the environment."""
    token = fields.from_environment(node, "`bearer_token_env`")
    if node is not None and not token and fields.environment is not None and node.value in fields.environment:
        fields.complain(node, f"the environment variable {node.value} is empty")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _access(fields: Fields, node: Node | None, what: str) -> tuple[dict[str, str], AccessOptions]:
    """Parse `auth`: a header with a token, or a client that gets one."""
    if node is None:
        return {}, AccessOptions()
    members = fields.mapping(node, f"`auth` of {what}", AUTH_KEYS)
    if "bearer_token_env" in members:
        for key in members.keys() - {"bearer_token_env"}:
            fields.complain(members[key], f"`{key}` cannot be combined with `bearer_token_env`")
        return _bearer(fields, members["bearer_token_env"]), AccessOptions()
    credentials = [key for key in ("client_secret_env", "client_key_env") if key in members]
    if isinstance(node.value, dict) and ("client_id" not in members or len(credentials) != 1):
        fields.complain(
            node,
            f"`auth` of {what} needs `bearer_token_env`, or `client_id` with either `client_secret_env` or "
            "`client_key_env`",
        )
    for key in credentials:
        fields.from_environment(members[key], f"`{key}`")
    names = {key: fields.text(members.get(key), f"`{key}` of {what}") for key in AUTH_KEYS}
    return {}, AccessOptions(
        client_id=names["client_id"],
        secret_variable=names["client_secret_env"],
        key_variable=names["client_key_env"],
        issuer=names["issuer"],
        scope=names["scope"],
    )


def _annotations(fields: Fields, node: Node | None, what: str) -> dict[str, ToolHints]:
    """Parse hints by tool name."""
    hints = {}
    for tool, value in (fields.any_mapping(node, f"`annotations` of {what}") if node is not None else {}).items():
        shown = f"the annotations of `{tool[:SHOWN]}`"
        members = fields.mapping(value, shown, HINTS)
        for name, member in members.items():
            if not isinstance(member.value, bool):
                fields.complain(member, f"`{name}` in {shown} must be true or false, not {member.kind}")
        values = {name: member.value for name, member in members.items() if isinstance(member.value, bool)}
        hints[tool] = ToolHints(fields.location(value), values)
    return hints


def _folder(fields: Fields, node: Node | None, what: str) -> str | None:
    name = fields.text(node, f"`cwd` of {what}")
    return os.path.join(os.path.dirname(fields.file), name) if name else None
