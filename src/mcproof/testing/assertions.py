"""Assertions about servers in tests: their schemas, their error handling, and stored snapshots."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.core.errors import InputError, UsageError, nearest
from mcproof.testing.server import NAME, CallResult, McpServer, PromptResult, ReadResult, ServerError
from mcproof.testing.suites.paths import ValuePathError
from mcproof.testing.suites.snapshots import SnapshotStore, map_texts, mask_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcproof.core.catalog.model import Catalog
    from mcproof.testing.suites.matchers import Mismatch
    from mcproof.testing.suites.model import SuiteTest


_MOST_SHOWN = 50


def assert_schema_strict(
    server_or_tools: McpServer | Sequence[Any] | Mapping[str, Any],
    tool: str | None = None,
    *,
    ignore: Iterable[str] = (),
) -> None:
    """Assert that the strict rules (those of `mcproof schema-lint`) find nothing in the input schemas.

    Takes a server, a list of tools, or an object with `tools`. `tool` limits the check to one tool; `ignore` lists
    rules to skip, by id or name.
    """
    __tracebackhide__ = True
    from mcproof.checks.engine import check
    from mcproof.checks.reporting import report_findings
    from mcproof.checks.rule import choose_rules
    from mcproof.core.console import Style, plural

    try:
        rules = choose_rules(("strict", "catalog"), ignore=ignore)
    except UsageError as error:
        raise ValueError(error.message) from None
    catalog = _catalog(server_or_tools)
    names = [listed_tool.name for listed_tool in catalog.tools]
    if not names:
        raise AssertionError("there are no tools to check")
    if tool is not None and tool not in names:
        raise AssertionError(f"there is no tool `{tool}`{nearest(tool, names)}")
    findings = [finding for finding in check(catalog, rules) if tool is None or finding.item.name == tool]
    if findings:
        style = Style()
        lines = [
            f"{finding.level}[{finding.rule.id}] {style.text(finding.sentence)}"
            for finding in report_findings(catalog, findings)
        ]
        more = [f"and {len(lines) - _MOST_SHOWN:,} more"] if len(lines) > _MOST_SHOWN else []
        head = f"{plural(len(lines), 'finding')} in the input schemas of {style.text(catalog.name)}"
        raise AssertionError("\n  ".join([head, *lines[:_MOST_SHOWN], *more]))


def _catalog(source: McpServer | Sequence[Any] | Mapping[str, Any]) -> Catalog:
    __tracebackhide__ = True
    from mcproof.targets.snapshots import read_snapshot

    if isinstance(source, McpServer):
        return source.run(source.caller.server.catalog)
    document = {"tools": list(source)} if not hasattr(source, "keys") else dict(source)
    if document.get("tools") == []:
        raise AssertionError("there are no tools to check")
    return read_snapshot(json.dumps(document).encode(), "the tools")


def assert_negative_path(
    server: McpServer,
    tool: str,
    args: Mapping[str, Any] | None = None,
    *,
    checks: Iterable[str] | None = None,
    timeout: float | None = None,
) -> None:
    """Assert that a tool rejects invalid calls: the probes of `negative_path` in suites, sent to a separate process.

    `args` are valid arguments to vary; by default they are generated from the schema. `checks` selects probes:
    unknown_tool, missing_required, wrong_type, extra_field and oversized; all by default.
    """
    __tracebackhide__ = True
    from mcproof.core.console import Style
    from mcproof.probing.probes.prove import WEAK
    from mcproof.testing.outcomes import reasons
    from mcproof.testing.suites.execute import execute_part
    from mcproof.testing.suites.snapshots import SnapshotStore

    test = _negative_test(tool, args, checks, timeout)
    no_snapshots = SnapshotStore("", updates=False)
    result = server.run(lambda: execute_part(test, "negative_path", server.caller, no_snapshots))
    if result.outcome == "error":
        raise ServerError(result.message)
    if result.outcome == "failed":
        lines = [f"  {line}" for line in reasons(result._replace(line=None), Style())]
        raise AssertionError("\n".join([f"the negative path of `{tool}`:", *lines]))
    if result.outcome == "not_applicable":
        raise AssertionError(f"the negative path of `{tool}`: {result.message}")
    if WEAK in result.message:
        from warnings import warn

        warn(f"assert_negative_path of `{tool}`: {WEAK}; pass valid `args`", stacklevel=2)


def _negative_test(
    tool: str, args: Mapping[str, Any] | None, checks: Iterable[str] | None, timeout: float | None
) -> SuiteTest:
    """Return the equivalent test of a suite."""
    from mcproof.core.observations.probes import CHECKS
    from mcproof.testing.suites.model import NegativePathBlock, SuiteLocation, SuiteTest

    __tracebackhide__ = True
    wanted = CHECKS if checks is None else tuple(checks)
    for check in wanted:
        if check not in CHECKS:
            raise ValueError(
                f"unknown check `{check}`{nearest(check, list(CHECKS))}; expected one of {', '.join(CHECKS)}"
            )
    if not wanted:
        raise ValueError("`checks` is empty; omit it to send every probe")
    arguments = None if args is None else dict(args)
    limit = None if timeout is None else max(1, round(timeout * 1000))
    block = NegativePathBlock(tuple(check for check in CHECKS if check in wanted), None, are_named=checks is not None)
    return SuiteTest(
        number=0,
        block="tools",
        name=tool,
        server=NAME,
        location=SuiteLocation("", 1, 1),
        subject=tool,
        arguments=arguments,
        timeout_ms=limit,
        negative_path=block,
    )


for _public_assertion in (assert_negative_path, assert_schema_strict):
    _public_assertion.__module__ = "mcproof.testing"  # the module that users import from, in tracebacks and reprs


class McpSnapshot:
    """The snapshots of one test."""

    def __init__(self, test: str, store: SnapshotStore, hide: Callable[[str], str]) -> None:
        self._test = test
        self._store = store
        self._hide = hide
        self._unnamed = 0

    def __call__(self, value: Any, name: str = "", *, mask: Iterable[str] = ()) -> None:
        """Assert that a result, or any JSON value, equals its stored snapshot.

        `mask` lists parts to ignore: paths from `result` (the value), with `[*]` for every item; `timestamps` and
        `uuids` mask these anywhere. Several snapshots in a test can be told apart by name.
        """
        __tracebackhide__ = True
        key = self._key(name)
        try:
            mismatch = self._mismatch(key, value, mask)
        except (InputError, ValuePathError, TypeError) as error:
            raise AssertionError(f"snapshot `{key}`: {error}") from None
        if mismatch is not None:
            raise AssertionError(f"snapshot `{key}`: {_described(mismatch)}")

    def _key(self, name: str) -> str:
        if name:
            return f"{self._test}: {name}"
        self._unnamed += 1
        return self._test if self._unnamed == 1 else f"{self._test} {self._unnamed}"

    def _mismatch(self, key: str, value: Any, mask: Iterable[str]) -> Mismatch | None:
        if isinstance(value, CallResult | PromptResult | ReadResult):
            value = map_texts(value.raw, value.hide)
        masked = mask_of(list(mask)).apply(map_texts(_json(value), self._hide), ("result",))
        return self._store.compare(key, masked)


def _json(value: Any) -> Any:
    """Return a value as parsed JSON: tuples become lists. Raises TypeError."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (ValueError, RecursionError) as error:
        raise TypeError(f"not a JSON value: {error}") from None


def _described(mismatch: Mismatch) -> str:
    from mcproof.core.console import Style

    style = Style()
    return "\n".join(
        (
            style.text(mismatch.message, 1000),
            f"  expected {style.text(mismatch.expected, 400)}",
            f"  got      {style.text(mismatch.got, 400)}",
        )
    )


for _public_snapshot in (McpSnapshot,):
    _public_snapshot.__module__ = "mcproof.testing"  # the module that users import from, in tracebacks and reprs
