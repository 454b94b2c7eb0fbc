"""Write a stored failure as a regression test: it fails until the server is fixed.

The text of an existing suite is kept byte for byte, comments included; the test is inserted after the last one.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from mcproof.client.endpoints import CommandEndpoint, Endpoint
from mcproof.core.errors import InputError, UsageError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import write_file
from mcproof.core.text.yaml_document import (
    Node,
    UnwritableError,
    YamlError,
    comment_text,
    decode,
    json_value,
    parse,
    scalar,
    to_yaml,
)
from mcproof.probing.probes.cases import NO_SUCH_TOOL
from mcproof.testing.suites.model import METHODS, ServerEntry, Suite
from mcproof.testing.suites.new_server import EntryOptions, SecretVariables, UniqueNames, entry_lines, server_name
from mcproof.testing.suites.parser import read_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcproof.probing.probes.failures import StoredFailure


class InsertionError(ValueError):
    """A text that cannot be extended; the message is the reason."""


def with_entry(text: str, key: str, lines: list[str]) -> str:
    """Return the text with an entry at the end of a top-level list or mapping. Raises InsertionError."""
    newline = "\r\n" if "\r\n" in text else "\n"
    root = _parse(text) if text.strip() else None
    node = root.value.get(key) if root is not None and isinstance(root.value, dict) else None
    every = text.splitlines(keepends=True)
    if every and not every[-1].endswith("\n"):
        every[-1] += newline
    if root is None or node is None:
        indented = [f"  {line}" for line in lines]
        added = [*([""] if every and every[-1].strip() else []), f"{key}:", *indented]
        at = len(every)
    else:
        line, _ = root.keys[key]
        indent, at = _indent(every, line), _end(every, line)
        gap = [""] if isinstance(node.value, list) and len(node.value) > 0 else []
        added = [*gap, *(f"{indent}{line}" for line in lines)]
    result = "".join([*every[:at], *(f"{line}{newline}" for line in added), *every[at:]])
    # YAML has too many forms to be edited blindly, so what was written is read again and compared.
    _check(root, _parse(result), key)
    return result


def _parse(text: str) -> Node:
    try:
        return parse(decode(text.encode("utf-8", "surrogateescape")))
    except YamlError as error:
        raise InsertionError(f"cannot be extended: {error.message}") from None


def _indent(every: list[str], line: int) -> str:
    """The indentation of the entries below a key."""
    for text_line in every[line:]:
        content = text_line.lstrip(" ")
        if content.strip() and not content.startswith("#"):
            return text_line[: len(text_line) - len(content)]
    return "  "


def _end(every: list[str], line: int) -> int:
    """The number of lines up to the last one that belongs to a key at the left margin."""
    end = line
    for number, text_line in enumerate(every[line:], start=line + 1):
        # In YAML, the dashes of a list may be in the same column as its key.
        if text_line.startswith((" ", "- ", "-\n", "-\r")) and text_line.strip():
            end = number
        elif text_line.strip() and not text_line.startswith("#"):
            break
    return end


def _check(before: Node | None, after: Node, key: str) -> None:
    """Raise InsertionError unless exactly one entry was added, at the end of the key."""
    old: dict[str, Any] = json_value(before) if before is not None else {}
    new: dict[str, Any] = json_value(after)
    entries, others = new.get(key), {name: value for name, value in new.items() if name != key}
    earlier: Any = old.get(key)
    if others == {name: value for name, value in old.items() if name != key} and isinstance(entries, list | dict):
        if isinstance(entries, list) and entries[:-1] == (earlier or []):
            return
        if isinstance(entries, dict) and dict(list(entries.items())[:-1]) == (earlier or {}):
            return
    raise InsertionError(f"`{key}` cannot be extended; it must be in block style")


_LONGEST_NAME = 100
_REJECTED = "{target: rejected, matcher: {exact: true}}"
_ANY_RESPONSE = "{target: rejected, matcher: {schema: {type: boolean}}, message: any response will do}"
_INEXPRESSIBLE = {
    "leak": "what leaks depends on the machine; a `fuzz` block finds it",
    "injection": "the effect of a hostile argument is not part of a response; use `fuzz: {security: true}`",
}


class RegressionTest(NamedTuple):
    """A test that was written, and the environment variables that its suite needs."""

    name: str
    server: str
    unset: list[str]


def write_regression_test(
    failed: StoredFailure, server: Endpoint, file: str, hide: Callable[[str], str], environment: Mapping[str, str]
) -> RegressionTest:
    """Add a failure to a suite, or to a new one. Raises UsageError if no test can express it, else InputError."""
    arguments, expectation = _call(failed), _expectation(failed)
    data = _read(file)
    text = data.decode("utf-8", "surrogateescape")
    suite = read_suite(file, None) if data else None
    variables = SecretVariables(environment)
    names = UniqueNames()
    for used_name in suite.servers if suite is not None else ():
        names.unique(used_name)
    name = (_known_server(suite, server) if suite is not None else None) or ""
    lines = [] if name else _entry(server, name := names.unique(server_name("local")), variables, os.path.dirname(file))
    title = _title(failed, suite, arguments)
    test = [
        f"# Failure {failed.id} ({failed.outcome.replace('_', ' ')}), from `mcproof replay --to-suite`.",
        f"- name: {scalar(title)}",
        f"  server: {scalar(name)}",
        f"  tool: {scalar(failed.params['name'])}",
        f"  args: {_written(arguments)}",
        *([f"  timeout_ms: {failed.max_call_ms}"] if failed.outcome == "hang" else []),
        "  expect:",
        f"    - {expectation}",
    ]
    if any(hide(line) != line for line in test):
        raise UsageError("not written: the call contains a secret of the server")
    try:
        if lines:
            text = with_entry(text, "servers", [f"{scalar(name)}:", *(f"  {line}" for line in lines)])
        text = with_entry(text, "tools", test)
    except InsertionError as error:
        raise InputError(f"{error}; name another file", file=file) from None
    write_file(file, text.encode("utf-8", "surrogateescape"))
    return RegressionTest(title, name, variables.unset)


def _read(file: str) -> bytes:
    """The content of a suite; empty if it does not exist yet."""
    if not file.endswith((".yaml", ".yml")):
        raise UsageError(f"a suite ends in .yaml or .yml: `{file}`")
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except FileNotFoundError:  # a new file
        return b""
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=file) from None


def _call(failed: StoredFailure) -> dict[str, Any]:
    """The arguments of the failed call. Raises UsageError if it is not one that a suite can make."""
    called, arguments = failed.params.get("name"), failed.params.get("arguments")
    is_call = failed.method == "tools/call" and failed.params.keys() == {"name", "arguments"}
    if not is_call or not isinstance(called, str) or not called or called in METHODS or not isinstance(arguments, dict):
        raise UsageError(f"no test can express this failure: {failed.probe} is not a call of a tool with arguments")
    return arguments


def _expectation(failed: StoredFailure) -> str:
    """The expectation that the failure breaks. Raises UsageError if there is none."""
    why = _INEXPRESSIBLE.get(failed.outcome)
    if failed.outcome == "protocol_violation" and not _breaks_output_schema(failed.answer):
        why = "suites do not check the form of responses beyond the `outputSchema`; `mcproof prove --quick` does"
    if why is not None:
        raise UsageError(f"no test can express this failure ({failed.outcome.replace('_', ' ')}): {why}")
    return _REJECTED if failed.outcome == "accepted" else _ANY_RESPONSE


def _breaks_output_schema(answer: str) -> bool:
    """Whether a stored response has structured content, which every test checks against the `outputSchema`."""
    try:
        response = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    result = response.get("result") if isinstance(response, dict) else None
    return isinstance(result, dict) and "structuredContent" in result


def _written(arguments: dict[str, Any]) -> str:
    try:
        return to_yaml(arguments)
    except UnwritableError as error:
        hint = (
            "; for an oversized string, use `negative_path: {checks: [oversized]}`" if "too long" in str(error) else ""
        )
        raise UsageError(f"no test can express this failure: {error}{hint}") from None


def _title(failed: StoredFailure, suite: Suite | None, arguments: dict[str, Any]) -> str:
    """A name that says what is tested. Raises UsageError if the suite has the test."""
    called = failed.params["name"] if failed.params["name"] != NO_SUCH_TOOL else "the server"
    verb = {"accepted": "rejects", "protocol_violation": "keeps its output schema with"}.get(failed.outcome, "survives")
    title = comment_text(f"{called} {verb} {failed.what}", _LONGEST_NAME)
    named = {test.name: test for test in suite.tests if test.block == "tools"} if suite is not None else {}
    for candidate in (title, f"{title} ({failed.id})"):
        if candidate not in named:
            return candidate
        if named[candidate].subject == failed.params["name"] and named[candidate].arguments == arguments:
            break
    raise UsageError(f"the suite has this test: `{candidate}`")


def _known_server(suite: Suite, server: Endpoint) -> str | None:
    """The entry of a suite that starts or reaches the same server."""
    return next((name for name, entry in suite.servers.items() if _is_same(entry, server)), None)


def _is_same(entry: ServerEntry, server: Endpoint) -> bool:
    if not isinstance(server, CommandEndpoint):
        return entry.url == server.url and set(entry.headers) == set(server.headers)
    folder = os.path.abspath(entry.directory or os.curdir)
    return (
        entry.command == server.words
        and set(entry.environment) == set(server.environment)
        and folder == os.path.abspath(server.directory or os.curdir)
    )


def _entry(server: Endpoint, name: str, variables: SecretVariables, folder: str) -> list[str]:
    try:
        return entry_lines(server, name, variables, folder, EntryOptions())
    except UnwritableError as error:
        raise UsageError(f"the server cannot be written to a suite: {error}") from None
