"""The entries of a suite: servers, `expect` blocks, steps, answers, and warnings about deprecated features.

They fit the schema of suites when they get here (`loading.Fields.fitting`). What a schema cannot say is checked here,
and recorded with its location; `parser` collects it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

from mcproof.client.endpoints import AccessOptions
from mcproof.client.questions import Answer
from mcproof.core.errors import nearest
from mcproof.core.observations.connection import QuestionKind
from mcproof.core.protocol import FIRST_STATELESS
from mcproof.core.text.yaml_document import Node, json_value
from mcproof.testing.suites.loading import (
    NAME,
    SHOWN,
    Fields,
    members_of,
    nodes_of,
    parse_file,
    suite_schema,
    unknown,
    value_of,
)
from mcproof.testing.suites.matchers import NAMES, NOT, NUMERIC, Matcher, MatcherError, matcher_of
from mcproof.testing.suites.model import (
    MOST_PROBLEMS,
    CallStep,
    Expect,
    Expectation,
    ServerEntry,
    Suite,
    SuiteError,
    SuiteLocation,
    SuiteProblem,
    SuiteTest,
    ToolHints,
    references_in,
)
from mcproof.testing.suites.paths import BLOCKS, CALL, QUALITY, ValuePath, ValuePathError, is_number, parse_value_path
from mcproof.testing.suites.snapshots import Mask, mask_of

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


def targets_at(place: tuple[str, ...]) -> tuple[str, ...]:
    """The targets that an expectation at this place of a suite can name, those of its own block first."""
    if place[:1] == ("tool_quality",):
        return QUALITY
    targets: tuple[str, ...] = CALL
    for block, names in BLOCKS.items():
        targets = (*names, *targets) if block in place else (*targets, *(f"{block}.{name}" for name in names))
    return targets


class ExpectationParser:
    """Parses the `expect` blocks of a suite and keeps its snapshot names unique."""

    def __init__(self) -> None:
        self._given: dict[str, SuiteLocation] = {}
        """Locations of the snapshots named by the author."""
        self._derived: dict[str, int] = {}
        """How often each name was derived from a test and a path."""

    def parse(self, fields: Fields, node: Node | None, test: str, refuse: Refusal) -> Expect | None:
        """Parse the `expect` block of a test; `test` names its snapshots."""
        if node is None or node.value is None:
            return None
        members = members_of(node)
        items = nodes_of(members.get("assertions", node))
        return Expect(
            tuple(assertion for item in items if (assertion := self._assertion(fields, item, test, refuse))),
            value_of(members, "max_duration_ms"),
        )

    def _assertion(self, fields: Fields, node: Node, test: str, refuse: Refusal) -> Expectation | None:
        members = members_of(node)
        message = value_of(members, "message", "")
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
    text = node.value if node is not None else None
    if node is None or not isinstance(text, str) or fields.is_unresolved(text):
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
        fields.complain_at(node.keys[name], unknown("matcher", name, (*NAMES, NOT)))
        return None
    # Without an environment, the pattern is not known yet.
    if name == "regex" and fields.is_unresolved(value.value):
        return None
    try:
        return matcher_of(name, json_value(value), is_negated=is_negated), value
    except MatcherError as error:
        fields.complain(value, str(error))
        return None


def _snapshot(fields: Fields, node: Node) -> tuple[str, Mask]:
    """Read `snapshot`: the name, if given, and the mask."""
    if isinstance(node.value, str):
        return node.value, Mask()
    members = members_of(node)
    words = []
    for item in nodes_of(members.get("mask")):
        try:
            mask_of([str(item.value)])
            words.append(str(item.value))
        except ValuePathError as error:
            fields.complain(item, str(error))
    return value_of(members, "name", ""), mask_of(words)


_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A valid HTTP header name."""


def read_server(fields: Fields, name: str, node: Node, key: tuple[int, int]) -> ServerEntry:
    """Read a server entry; `key` is the position of its name."""
    from mcproof.core.protocol import REVISIONS

    what = f"the server `{name[:SHOWN]}`"
    members, location = members_of(node), SuiteLocation(fields.file, *key)
    if node.value is None:
        return ServerEntry(name, location)
    if ("command" in members) == ("url" in members):
        has = "both a `command` and a `url`" if "url" in members else "neither a `command` nor a `url`"
        fields.complain(node, f"{what} has {has}; exactly one is required")
    for own, other in (("env", "url"), ("cwd", "url"), ("headers", "command"), ("auth", "command")):
        if own in members and other in members:
            fields.complain(members[own], f"`{own}` of {what} cannot be combined with `{other}`")
    url, folder, protocol = (value_of(members, key) for key in ("url", "cwd", "protocol"))
    if url is not None and "${" not in url and not is_http_url(url):
        fields.complain(members["url"], f"`url` of {what} must be a URL such as https://host/mcp")
    if protocol is not None and protocol not in REVISIONS:
        if not fields.is_unresolved(protocol):
            fields.complain(members["protocol"], unknown("protocol revision", protocol, REVISIONS))
        protocol = None
    authorization, access = _access(fields, members.get("auth"), what)
    return ServerEntry(
        name=name,
        location=location,
        command=read_command(fields, members.get("command"), f"`command` of {what}"),
        url=url or "",
        environment=_pairs(fields, members.get("env"), f"`env` of {what}", is_header=False),
        headers={
            **_pairs(fields, members.get("headers"), f"`headers` of {what}", is_header=True),
            **authorization,
        },
        access=access,
        directory=folder and os.path.join(os.path.dirname(fields.file), folder),
        timeout_ms=value_of(members, "timeout_ms"),
        start_timeout_ms=value_of(members, "start_timeout_ms"),
        protocol=protocol,
        annotations={
            tool: ToolHints(
                fields.location(hints),
                {hint: node.value for hint, node in members_of(hints).items() if isinstance(node.value, bool)},
            )
            for tool, hints in members_of(members.get("annotations")).items()
        },
    )


def read_command(fields: Fields, node: Node | None, what: str) -> tuple[str, ...]:
    """Read a command: a list of words."""
    words = tuple(str(item.value) for item in nodes_of(node))
    if node is not None and any("\0" in word for word in words):
        fields.complain(node, f"{what} contains a null character")
        return ()
    return words


def is_http_url(url: str) -> bool:
    """Whether a text is an HTTP or HTTPS URL with a host."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # such as a port that is no number
        return False


def _pairs(fields: Fields, node: Node | None, what: str, *, is_header: bool) -> dict[str, str]:
    """Read environment variables or headers."""
    pairs: dict[str, str] = {}
    for name, value in members_of(node).items():
        given, shown = value.value, f"`{name[:SHOWN]}`"
        if isinstance(given, dict):
            pairs[name] = fields.from_environment(given["env"]) if "env" in given else ""
        elif given is not None:
            pairs[name] = str(given).lower() if isinstance(given, bool) else str(given)
        else:
            continue
        if not is_name(name, is_header=is_header) and name.isprintable():
            fields.complain(value, f"{shown} in {what} is not a valid {'header' if is_header else 'variable'} name")
        elif not name.isprintable() or any(ord(character) < 32 and character != "\t" for character in pairs[name]):
            fields.complain(value, f"{shown} in {what} contains a control character")
    return pairs


def is_name(name: str, *, is_header: bool) -> bool:
    """Whether a text is a valid name of a header, or of an environment variable."""
    return _HEADER.fullmatch(name) is not None if is_header else bool(name) and "=" not in name


def _access(fields: Fields, node: Node | None, what: str) -> tuple[dict[str, str], AccessOptions]:
    """Read `auth`: a header with a token, or a client that gets one."""
    members = members_of(node)
    if node is None or node.value is None:
        return {}, AccessOptions()
    if (variable := members.get("bearer_token_env")) is not None:
        for key in members.keys() - {"bearer_token_env"}:
            fields.complain(members[key], f"`{key}` cannot be combined with `bearer_token_env`")
        # Only the name of a variable is accepted: a token in a file would end up in version control.
        token = fields.from_environment(variable)
        if not token and fields.environment is not None and variable.value in fields.environment:
            fields.complain(variable, f"the environment variable {variable.value} is empty")
        return {"Authorization": f"Bearer {token}"} if token else {}, AccessOptions()
    credentials = [key for key in ("client_secret_env", "client_key_env") if key in members]
    if "client_id" not in members or len(credentials) != 1:
        fields.complain(
            node,
            f"`auth` of {what} needs `bearer_token_env`, or `client_id` with either `client_secret_env` or "
            "`client_key_env`",
        )
    # Called for what it records: a variable that is not set, or a value that is secret.
    for key in credentials:
        fields.from_environment(members[key])
    return {}, AccessOptions(
        client_id=value_of(members, "client_id", ""),
        secret_variable=value_of(members, "client_secret_env", ""),
        key_variable=value_of(members, "client_key_env", ""),
        issuer=value_of(members, "issuer", ""),
        scope=value_of(members, "scope", ""),
    )


def read_steps(fields: Fields, node: Node | None) -> tuple[CallStep, ...]:
    """Read the steps of a test; each may use what earlier ones save."""
    steps: list[CallStep] = []
    saved: dict[str, None] = {}
    for item in nodes_of(node):
        members = members_of(item)
        check_references(fields, members.get("args"), saved)
        step = CallStep(
            location=fields.location(item),
            tool=value_of(members, "tool", ""),
            arguments=value_of(members, "args", {}),
            save=tuple(_save(fields, members.get("save"))),
            timeout_ms=value_of(members, "timeout_ms"),
        )
        saved |= dict.fromkeys(name for name, _ in step.save)
        steps.append(step)
    return tuple(steps)


def _save(fields: Fields, node: Node | None) -> list[tuple[str, ValuePath]]:
    saved = []
    for name, value in members_of(node).items():
        if NAME.fullmatch(name) is None:
            fields.complain(value, f"invalid name `{name[:SHOWN]}` in `save`; use letters, digits and `_`")
        if value.value is None:
            continue
        text = str(value.value)
        try:
            path = parse_value_path(text)
        except ValuePathError as error:
            fields.complain(value, f"the path `{text[:SHOWN]}` {error}")
            continue
        if path.root != "result":
            fields.complain(value, f"the path `{text[:SHOWN]}` must start with `result`, as `result.content[0].text`")
        else:
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


ACTIONS = ("accept", "decline", "cancel")
_ACTIONS = "accept, decline or cancel"
_SIMPLE = (str, int, float, type(None))
"""The types of fields of a form, besides lists of texts; null leaves a field out."""


def read_answer_file(file: str) -> tuple[Answer, ...]:
    """Parse a file of answers: a list, or a mapping with `answers`. Raises SuiteError."""
    problems: list[SuiteProblem] = []
    root = parse_file(file, problems)
    answers: tuple[Answer, ...] = ()
    if root is not None:
        fields = Fields(file, problems, {}, [])
        schema = suite_schema().at("answers")
        if isinstance(root.value, dict):
            schema = {"properties": {"answers": schema}, "required": ["answers"], "additionalProperties": False}
        fitting = fields.fitting(root, "a file of answers", schema, "answers")
        answers = read_answers(fields, members_of(fitting).get("answers", fitting))
    if problems:
        raise SuiteError(problems)
    return answers


def read_answers(fields: Fields, node: Node | None) -> tuple[Answer, ...]:
    """Read a list of answers that fits its schema."""
    answers = (_answer(fields, item) for item in nodes_of(node))
    return tuple(answer for answer in answers if answer is not None)


def _answer(fields: Fields, node: Node) -> Answer | None:
    members = members_of(node)
    kind: QuestionKind = value_of(members, "kind", "form")
    if kind == "roots" and "asked" in members:
        fields.complain(members["asked"], "`asked` cannot be combined with `kind: roots`, which has no text")
    reply = members.get("reply")
    if reply is None:
        return None
    problem = _REPLIES[kind](reply)
    if problem:
        fields.complain(reply, f"`reply` must be {problem}, not {_shown(reply)}")
        return None
    return Answer(kind, value_of(members, "asked", ""), json_value(reply), f"{fields.file}:{node.line}")


def _shown(node: Node) -> str:
    return f"`{node.value[:60]}`" if isinstance(node.value, str) and node.value else node.kind


def _form_problem(node: Node) -> str:
    """What a reply to a form must be, if it is something else; else empty."""
    if isinstance(node.value, dict):
        return (
            "" if all(map(_is_field, node.value.values())) else "fields with texts, numbers, booleans or lists of texts"
        )
    return "" if node.value in ACTIONS else f"{_ACTIONS}, or a mapping with fields"


def _is_field(node: Node) -> bool:
    if isinstance(node.value, list):
        return all(isinstance(item.value, str) for item in node.value)
    return isinstance(node.value, _SIMPLE)


def _url_problem(node: Node) -> str:
    return "" if node.value in ACTIONS else _ACTIONS


def _sampling_problem(node: Node) -> str:
    return "" if isinstance(node.value, str) and node.value else "the text of the model, or decline"


def _roots_problem(node: Node) -> str:
    is_list = isinstance(node.value, list) and all(map(_is_root, node.value))
    return "" if is_list else "a list of `file://` URIs, or of mappings with `uri` and `name`"


def _is_root(node: Node) -> bool:
    if isinstance(node.value, dict):
        members: dict[str, Any] = json_value(node)
        is_known = "uri" in members and members.keys() <= {"uri", "name"}
        return is_known and all(isinstance(member, str) for member in members.values())
    return isinstance(node.value, str) and bool(node.value)


_REPLIES: dict[QuestionKind, Callable[[Node], str]] = {
    "form": _form_problem,
    "url": _url_problem,
    "sampling": _sampling_problem,
    "roots": _roots_problem,
}
