"""The entries of a suite: servers, `expect` blocks, steps, and warnings about deprecated features.

Every mistake is recorded with its location; `parser` collects them.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.client.endpoints import AccessOptions
from mcproof.core.errors import nearest
from mcproof.core.protocol import FIRST_STATELESS
from mcproof.core.text.yaml_document import Node, json_value
from mcproof.testing.suites.loading import LONGEST_WAIT, MOST_PROBLEMS, NAME, SHOWN, Fields, SuiteProblem
from mcproof.testing.suites.matchers import NAMES, NOT, NUMERIC, Matcher, MatcherError, matcher_of
from mcproof.testing.suites.model import (
    CallStep,
    Expect,
    Expectation,
    ServerEntry,
    Suite,
    SuiteLocation,
    SuiteTest,
    ToolHints,
    references_in,
)
from mcproof.testing.suites.paths import ValuePath, ValuePathError, is_number, parse_value_path
from mcproof.testing.suites.snapshots import Mask, mask_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator


_CODES = {-32002: "resource not found", -32042: "URL elicitation required"}
"""Error codes removed in the newest revision."""
_FIELDS = {"taskSupport": "task support of a tool", "elicitationId": "ID of an elicitation"}
"""Fields removed in the newest revision."""
_HEADERS = ("mcp-session-id", "last-event-id")


def warnings_of(suite: Suite) -> list[SuiteProblem]:
    """Return the warnings in file order. Servers pinned to an older revision may use its features."""
    warnings = [warning for entry in suite.servers.values() for warning in _of_server(entry)]
    for test in suite.tests:
        entry = suite.servers[test.server]
        if entry.protocol is None or entry.protocol >= FIRST_STATELESS:
            warnings += _of_test(test)
    return sorted(warnings, key=lambda warning: (warning.file, warning.line or 0))[:MOST_PROBLEMS]


def _of_server(entry: ServerEntry) -> Iterator[SuiteProblem]:
    if entry.url.partition("?")[0].rstrip("/").endswith("/sse"):
        what = f"the server `{entry.name}` seems to use HTTP+SSE, deprecated since 2025-03-26"
        yield SuiteProblem(*entry.location, f"{what}; use Streamable HTTP")
    if entry.protocol is None or entry.protocol >= FIRST_STATELESS:
        for name in entry.headers:
            if name.lower() in _HEADERS:
                what = f"the header `{name}` of the server `{entry.name}`"
                yield SuiteProblem(*entry.location, f"{what} was removed in {FIRST_STATELESS}")


def _of_test(test: SuiteTest) -> Iterator[SuiteProblem]:
    for assertion in test.expect.assertions if test.expect is not None else ():
        for code in _codes_in(assertion.matcher.expected) if assertion.path.root == "error" else ():
            yield SuiteProblem(
                *assertion.location, f"the error code {code} ({_CODES[code]}) was removed in {FIRST_STATELESS}"
            )
        for step in assertion.path.steps:
            if step in _FIELDS:
                yield SuiteProblem(
                    *assertion.location, f"`{step}` ({_FIELDS[str(step)]}) was removed in {FIRST_STATELESS}"
                )


def _codes_in(expected: Any) -> Iterator[int]:
    """Yield the removed error codes in a matcher. Recursion is safe: the depth of suites is limited."""
    if isinstance(expected, dict | list):
        for member in expected.values() if isinstance(expected, dict) else expected:
            yield from _codes_in(member)
    elif isinstance(expected, int) and expected in _CODES:
        yield expected


if TYPE_CHECKING:
    Refusal = Callable[[ValuePath], str | None]
    """Returns why a test has no such path; None if it has."""

ASSERTION_KEYS = ("target", "matcher", "message")


class ExpectationParser:
    """Parses the `expect` blocks of a suite and keeps its snapshot names unique."""

    def __init__(self) -> None:
        self._given: dict[str, SuiteLocation] = {}
        """Locations of the snapshots named by the author."""
        self._derived: dict[str, int] = {}
        """How often each name was derived from a test and a path."""

    def parse(
        self, fields: Fields, node: Node | None, test: str, refuse: Refusal, *, allows_duration: bool
    ) -> Expect | None:
        """Parse the `expect` block of a test; `test` names its snapshots."""
        if node is None:
            return None
        limit = None
        listed = node
        if isinstance(node.value, dict):
            keys = ("assertions", "max_duration_ms") if allows_duration else ("assertions",)
            members = fields.mapping(node, "`expect`", keys)
            limit = fields.number(members.get("max_duration_ms"), "`max_duration_ms`", 1, LONGEST_WAIT)
            if "assertions" not in members:
                return Expect((), limit)
            listed = members["assertions"]
        elif not isinstance(node.value, list):
            fields.complain(node, f"`expect` must be a list or a mapping with `assertions`, not {node.kind}")
            return None
        if listed.value == []:
            fields.complain(listed, "empty `expect`; omit it to use the default")
        items = fields.items(listed, "`assertions`")
        return Expect(
            tuple(assertion for item in items if (assertion := self._assertion(fields, item, test, refuse))), limit
        )

    def _assertion(self, fields: Fields, node: Node, test: str, refuse: Refusal) -> Expectation | None:
        members = fields.mapping(node, "an assertion", ASSERTION_KEYS, ("target", "matcher"))
        message = fields.text(members.get("message"), "`message`")
        path = _value_path(fields, members.get("target"), refuse)
        parsed = _matcher(fields, members["matcher"]) if "matcher" in members else None
        if path is None or parsed is None:
            return None
        matcher, options = parsed
        location = fields.location(node)
        if matcher.name == "snapshot":
            given, mask = _snapshot(fields, options)
            stored = self._named(fields, options, given) if given else self._unique(f"{test}: {path.text}")
            return Expectation(path, matcher, message, location, stored, mask)
        if is_number(path) and matcher.name == "schema" and not NUMERIC & _keywords(matcher):
            fields.complain(options, f"`{path.text}` is a number; its schema needs one of {', '.join(sorted(NUMERIC))}")
        return Expectation(path, matcher, message, location)

    def _named(self, fields: Fields, node: Node, name: str) -> str:
        first = self._given.setdefault(name, fields.location(node))
        if first != fields.location(node):
            fields.complain(node, f"duplicate snapshot name; first used at {first.file}:{first.line}")
        return name

    def _unique(self, name: str) -> str:
        """Return a unique name for an unnamed snapshot; repeats of a path are numbered."""
        count = self._derived[name] = self._derived.get(name, 0) + 1
        return name if count == 1 else f"{name} ({count})"


def _keywords(matcher: Matcher) -> set[str]:
    return set(matcher.expected) if isinstance(matcher.expected, dict) else set()


def _value_path(fields: Fields, node: Node | None, refuse: Refusal) -> ValuePath | None:
    text = fields.text(node, "`target`")
    if node is None or not text or fields.is_unresolved(text):
        return None
    try:
        path = parse_value_path(text)
    except ValuePathError as error:
        fields.complain(node, f"the target `{text[:60]}` {error}")
        return None
    if (why := refuse(path)) is not None:
        fields.complain(node, why)
        return None
    return path


def _matcher(fields: Fields, node: Node, *, is_negated: bool = False) -> tuple[Matcher, Node] | None:
    if not isinstance(node.value, dict) or len(node.value) != 1:
        what = f"{len(node.value)} keys" if isinstance(node.value, dict) else node.kind
        fields.complain(node, f"a matcher must be a mapping with one key, such as {{contains: text}}, not {what}")
        return None
    ((name, value),) = node.value.items()
    if is_negated and name in (NOT, "snapshot"):
        fields.complain_at(node.keys[name], f"`not` cannot be combined with `{name}`")
        return None
    if name == NOT:
        return _matcher(fields, value, is_negated=True)
    if name not in NAMES:
        fields.complain_unknown(node.keys[name], "matcher", name, (*NAMES, NOT))
        return None
    # Without an environment, the pattern is not known yet.
    if name == "regex" and isinstance(value.value, str) and fields.is_unresolved(value.value):
        return None
    try:
        return matcher_of(name, json_value(value), is_negated=is_negated), value
    except MatcherError as error:
        fields.complain(value, str(error))
        return None


def _snapshot(fields: Fields, node: Node) -> tuple[str, Mask]:
    """Parse `snapshot`: the name, if given, and the mask."""
    if node.value is True:
        return "", Mask()
    if isinstance(node.value, str) and node.value:
        return node.value, Mask()
    if not isinstance(node.value, dict):
        fields.complain(node, f"`snapshot` must be true, a name, or a mapping with `name` and `mask`, not {node.kind}")
        return "", Mask()
    members = fields.mapping(node, "`snapshot`", ("name", "mask"))
    words = []
    listed = members.get("mask")
    for item in fields.items(listed, "`mask`") if listed is not None else ():
        word = fields.text(item, "an item of `mask`")
        try:
            mask_of([word] if word else [])
            words.append(word)
        except ValuePathError as error:
            fields.complain(item, str(error))
    return fields.text(members.get("name"), "`name` of a snapshot"), mask_of([word for word in words if word])


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
        "" if number and item.value == "" else fields.text(item, f"an item of {what}")
        for number, item in enumerate(fields.items(node, what))
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
        given, shown = value.value, f"`{name[:SHOWN]}`"
        if isinstance(given, dict):
            members = fields.mapping(value, f"{shown} in {what}", ("env",), ("env",))
            pairs[name] = fields.from_environment(members.get("env"), f"`env` of {shown}")
        elif isinstance(given, bool):
            pairs[name] = "true" if given else "false"
        elif isinstance(given, str | int | float):
            pairs[name] = str(given)
        else:
            fields.complain(value, f"{shown} in {what} must be a string or {{env: NAME}}, not {value.kind}")
            continue
        if not is_name(name, is_header=is_header) and name.isprintable():
            fields.complain(value, f"{shown} in {what} is not a valid {'header' if is_header else 'variable'} name")
        elif not name.isprintable() or any(ord(character) < 32 and character != "\t" for character in pairs[name]):
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
    # Called for what it records: a variable that is not set, or a value that is secret.
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


STEP_KEYS = ("tool", "args", "save", "timeout_ms")


def read_steps(fields: Fields, node: Node | None, what: str) -> tuple[CallStep, ...]:
    """Parse the steps of a test; each may use what earlier ones save."""
    steps: list[CallStep] = []
    saved: dict[str, None] = {}
    for item in fields.items(node, f"`steps` of {what}") if node is not None else ():
        members = fields.mapping(item, f"a step of {what}", STEP_KEYS, ("tool",))
        arguments = members.get("args")
        check_references(fields, arguments, saved)
        step = CallStep(
            location=fields.location(item),
            tool=fields.text(members.get("tool"), f"`tool` of a step of {what}"),
            arguments={name: json_value(value) for name, value in fields.any_mapping(arguments, "`args`").items()}
            if arguments is not None
            else {},
            save=tuple(_save(fields, members.get("save"))),
            timeout_ms=fields.number(members.get("timeout_ms"), f"`timeout_ms` of a step of {what}", 1, LONGEST_WAIT),
        )
        saved |= dict.fromkeys(name for name, _ in step.save)
        steps.append(step)
    return tuple(steps)


def _save(fields: Fields, node: Node | None) -> list[tuple[str, ValuePath]]:
    saved = []
    for name, value in (fields.any_mapping(node, "`save`") if node is not None else {}).items():
        if NAME.fullmatch(name) is None:
            fields.complain(value, f"invalid name `{name[:SHOWN]}` in `save`; use letters, digits and `_`")
        text = fields.text(value, f"`{name[:SHOWN]}` in `save`")
        try:
            path = parse_value_path(text) if text else None
        except ValuePathError as error:
            fields.complain(value, f"the path `{text[:SHOWN]}` {error}")
            continue
        if path is not None and path.root != "result":
            fields.complain(value, f"the path `{text[:SHOWN]}` must start with `result`, as `result.content[0].text`")
        elif path is not None:
            saved.append((name, path))
    return saved


def check_references(fields: Fields, node: Node | None, saved: Collection[str]) -> None:
    """Record references to values that no earlier step saves. Recursion is safe: the depth of suites is limited."""
    if node is None:
        return
    if isinstance(node.value, dict | list):
        for child in node.value.values() if isinstance(node.value, dict) else node.value:
            check_references(fields, child, saved)
    elif isinstance(node.value, str):
        for name in references_in(node.value):
            if name not in saved:
                offered = (
                    f"earlier steps save {', '.join(saved)}" if saved else "no earlier step of this test saves a value"
                )
                hint = nearest(name, list(saved))
                fields.complain(node, f"unknown value `${{steps.{name[:SHOWN]}}}`{hint}; {offered}")
