"""The Python API: one function for each kind of run.

A target is a catalog in memory (a dict, or a list of tools), a path, a URL, `FILE.json#NAME` of a client
configuration, or the command of a server (a list of words). Every function checks one target and returns its
result. Nothing is printed, nothing exits, no configuration is read unless `config` names one, and no file is
written except the snapshots of a suite. A `McproofError` is raised if the target cannot be checked.

For several targets at once, events while a run is under way, or more detail in results, build a request of
`mcproof.runs.requests` and pass it to `mcproof.runs.execute`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from mcproof.core.errors import INTERRUPTED, InputError, UsageError, from_exception
from mcproof.core.observations.probes import MAX_CALLS
from mcproof.runs import execute
from mcproof.runs.events import RunStarted
from mcproof.runs.requests import (
    CallOptions,
    CaptureRequest,
    CatalogDocument,
    CompatRequest,
    Detail,
    DiffRequest,
    FuzzRequest,
    GivenArguments,
    GradeRequest,
    LintRequest,
    Policy,
    ProbeRequest,
    ProveRequest,
    RuleSelection,
    ScanRequest,
    SettingsSource,
    SuiteRequest,
    TargetSelection,
)
from mcproof.targets.arguments import LiveOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from mcproof.runs.events import Event
    from mcproof.runs.requests import RunRequest
    from mcproof.runs.results import TargetResult

__all__ = ["Target", "capture", "compat", "diff", "fuzz", "grade", "lint", "probe", "prove", "run_suite", "scan"]

Target = str | os.PathLike[str] | Sequence[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A path or URL, the command of a server, or a catalog in memory."""

DOCUMENT_NAME = "catalog"
"""The name of a catalog in memory, in results and messages."""
_DETAIL = Detail(lines=True)
_Value = TypeVar("_Value")


class ConnectionKeywords(TypedDict, total=False):
    """How to reach a live server."""

    env: Mapping[str, str]
    """Environment variables for a started server, beyond the minimum it inherits."""
    headers: Mapping[str, str]
    """HTTP headers for a URL."""
    cwd: str | os.PathLike[str]
    """The folder to start a server in."""
    timeout: float
    """Seconds to wait for a response."""
    start_timeout: float
    """Seconds from the start of a server to its first response."""
    protocol: str
    """The protocol revision to speak."""


class CallKeywords(ConnectionKeywords, total=False):
    """Which tools to call, and how."""

    tools: Sequence[str]
    """Names or glob patterns; all tools by default."""
    allow: Sequence[str]
    """Names or glob patterns of tools to call although they may change something."""
    deny: Sequence[str]
    """Names or glob patterns of tools that are never called."""
    skip: Sequence[str]
    """The same as `deny`."""
    allow_writes: bool
    """Whether to call every tool, also those that may change something."""
    arguments: Mapping[str, Mapping[str, Any]]
    """Valid arguments by tool, instead of generated ones."""
    call_limit: float
    """Seconds after which a call counts as a hang."""


def lint(
    target: Target,
    *,
    rulesets: Sequence[str] = (),
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: str | None = None,
    config: str | os.PathLike[str] | None = None,
    **connection: Unpack[ConnectionKeywords],
) -> TargetResult:
    """Check a catalog against rules."""
    rules = RuleSelection(tuple(rulesets), tuple(select), tuple(ignore))
    return _run(LintRequest(_selection(target, connection), rules, _policy(config, fail_on), _DETAIL))


def grade(
    target: Target,
    *,
    min_grade: str | None = None,
    max_tokens: int | None = None,
    config: str | os.PathLike[str] | None = None,
    **connection: Unpack[ConnectionKeywords],
) -> TargetResult:
    """Grade a catalog; `scores` of the result has the grade, the token cost and the description scores."""
    targets = _selection(target, connection)
    return _run(
        GradeRequest(targets, min_grade=min_grade, max_tokens=max_tokens, policy=_policy(config, None), detail=_DETAIL)
    )


def compat(
    target: Target,
    *,
    clients: Sequence[str] = (),
    config: str | os.PathLike[str] | None = None,
    **connection: Unpack[ConnectionKeywords],
) -> TargetResult:
    """Judge a catalog client by client; `payload` of the result has the outcomes and the improvements."""
    targets = _selection(target, connection)
    return _run(CompatRequest(targets, tuple(clients), policy=_policy(config, None), detail=_DETAIL))


def scan(
    target: Target,
    *,
    fail_on_verdict: str = "block",
    deep: bool = False,
    config: str | os.PathLike[str] | None = None,
    **connection: Unpack[ConnectionKeywords],
) -> TargetResult:
    """Judge whether an agent may connect to a server; `payload.trust` of the result has the verdict and the score."""
    targets, policy = _selection(target, connection), _policy(config, None)
    return _run(ScanRequest(targets, fails_on=fail_on_verdict, deep=deep, policy=policy, detail=_DETAIL))


def probe(
    target: Target,
    *,
    checks: Sequence[str] = (),
    config: str | os.PathLike[str] | None = None,
    **calls: Unpack[CallKeywords],
) -> TargetResult:
    """Send a live server bad requests; `probes` of the result has what it did with each."""
    return _run(
        ProbeRequest(
            targets=_selection(target, calls),
            calls=_calls(calls),
            checks=tuple(checks),
            policy=_policy(config, None),
            detail=_DETAIL,
        )
    )


def prove(
    target: Target,
    *,
    checks: Sequence[str] = (),
    max_calls: int = MAX_CALLS,
    strict: bool = False,
    security: bool = False,
    config: str | os.PathLike[str] | None = None,
    **calls: Unpack[CallKeywords],
) -> TargetResult:
    """Compare the contract that a live server declares with the one it keeps; `matrix` of the result has the cells."""
    return _run(
        ProveRequest(
            targets=_selection(target, calls),
            calls=_calls(calls),
            checks=tuple(checks),
            policy=_policy(config, None),
            detail=_DETAIL,
            max_calls=max_calls,
            is_strict=strict,
            security=security,
        )
    )


def fuzz(
    target: Target,
    *,
    seed: int = 0,
    cases: int = 200,
    max_seconds: float | None = None,
    strict: bool = False,
    security: bool = False,
    config: str | os.PathLike[str] | None = None,
    **calls: Unpack[CallKeywords],
) -> TargetResult:
    """Call the tools of a live server with generated arguments; `payload.fuzzing` of the result has the failures."""
    return _run(
        FuzzRequest(
            targets=_selection(target, calls),
            calls=_calls(calls),
            seed=seed,
            cases=cases,
            max_seconds=max_seconds,
            is_strict=strict,
            security=security,
            policy=_policy(config, None),
            detail=_DETAIL,
        )
    )


def diff(old: Target, new: Target, *, fail_on: str = "error", **connection: Unpack[ConnectionKeywords]) -> TargetResult:
    """Compare two catalogs; the findings of the result are the changes."""
    settings = SettingsSource(is_disabled=True)
    return _run(DiffRequest(_selection(old, connection), _selection(new, connection), fail_on, settings))


def run_suite(
    file: str | os.PathLike[str],
    *,
    filter: str = "",
    tags: Sequence[str] = (),
    fail_fast: bool = False,
    retries: int = 0,
    timeout: float | None = None,
    start_timeout: float | None = None,
    update_snapshots: bool = False,
) -> TargetResult:
    """Run a test suite; `tests` of the result has the outcome of each test."""
    return _run(
        SuiteRequest(
            files=(os.fspath(file),),
            filter=filter,
            tags=tuple(tags),
            fail_fast=fail_fast,
            retries=retries,
            timeout=timeout,
            start_timeout=start_timeout,
            update_snapshots=update_snapshots,
        )
    )


def capture(target: Target, **connection: Unpack[ConnectionKeywords]) -> Any:
    """Return the catalog of a target as JSON values: a dict that the other functions take as a target."""
    from mcproof.targets.snapshots import catalog_text

    request = CaptureRequest(_selection(target, connection), SettingsSource(is_disabled=True))
    return json.loads(catalog_text(_call(lambda: execute(request))))


def _run(request: RunRequest) -> TargetResult:
    """Execute a request for one target, and return the result of that target."""
    result = _call(lambda: execute(request, _refuse_several))
    if result.exit_code == INTERRUPTED:
        raise KeyboardInterrupt
    (target,) = result.targets
    if target.trouble is not None:
        raise target.trouble.as_error()
    return target


def _call(work: Callable[[], _Value]) -> _Value:
    """Return the result of some work, which runs in a thread if this one has an event loop, as in a notebook."""
    try:
        if not _has_event_loop():
            return work()
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(work).result()
    except (RecursionError, MemoryError) as error:
        raise from_exception(error) from error


def _has_event_loop() -> bool:
    if "asyncio" not in sys.modules:
        return False
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:  # the usual case: a script without an event loop
        return False
    return True


def _refuse_several(event: Event) -> None:
    """Raise a UsageError if a target stands for several, such as a folder of snapshots."""
    if isinstance(event, RunStarted) and len(event.inputs) > 1:
        names = ", ".join(source.title for source in event.inputs[:3])
        raise UsageError(f"expected one target, got {len(event.inputs)}: {names}")


def _selection(target: Target, connection: ConnectionKeywords) -> TargetSelection:
    """The request part for a target."""
    cwd = connection.get("cwd")
    ours = set(os.environ.values())
    live = LiveOptions(
        environment=connection.get("env", {}),
        inherited=tuple(value for value in connection.get("env", {}).values() if value in ours),
        headers=connection.get("headers", {}),
        directory=None if cwd is None else os.fspath(cwd),
    )
    names: tuple[str, ...] = ()
    documents: tuple[CatalogDocument, ...] = ()
    if isinstance(target, str | os.PathLike):
        names = (os.fspath(target),)
    elif isinstance(target, list | tuple) and target and all(isinstance(word, str) for word in target):
        live = live._replace(command=tuple(target))
    else:
        documents = (CatalogDocument(DOCUMENT_NAME, _encoded(target)),)
    return TargetSelection(
        names=names,
        live=live,
        documents=documents,
        timeout=connection.get("timeout"),
        start_timeout=connection.get("start_timeout"),
        protocol=connection.get("protocol"),
    )


def _encoded(catalog: Any) -> bytes:
    try:
        return json.dumps(catalog, indent=2).encode()
    except RecursionError as error:
        raise from_exception(error) from None
    except (TypeError, ValueError) as error:
        raise InputError(f"not a catalog: {error}", file=DOCUMENT_NAME) from None


def _calls(keywords: CallKeywords) -> CallOptions:
    """The request part for calls. Failures are not stored, because that would write files."""
    given = keywords.get("arguments", {})
    return CallOptions(
        tools=tuple(keywords.get("tools", ())),
        allow=tuple(keywords.get("allow", ())),
        deny=(*keywords.get("deny", ()), *keywords.get("skip", ())),
        allow_writes=keywords.get("allow_writes", False),
        arguments=tuple(GivenArguments(tool, values) for tool, values in given.items()),
        limit=keywords.get("call_limit", 10.0),
        stores_failures=False,
    )


def _policy(config: str | os.PathLike[str] | None, fail_on: str | None) -> Policy:
    source = SettingsSource(is_disabled=True) if config is None else SettingsSource(os.fspath(config))
    return Policy(settings=source, fail_on=fail_on)
