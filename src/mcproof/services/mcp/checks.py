"""The checks behind the tools of the MCP server: from arguments to the document of a result, page by page.

They run in a worker process and keep no state: a cursor has an offset and a digest of the whole result. Which file or
folder an agent may name is decided here; that nothing else is read, whatever a file names, by the confinement of the
process, in `services.workers`.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any

from mcproof.checks.clients.verdicts import VERDICTS
from mcproof.checks.findings import originals
from mcproof.core.errors import InputError, UsageError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record
from mcproof.runs import codec, execute
from mcproof.runs.events import Event, RunStarted, TargetFinished, TargetFixed
from mcproof.runs.requests import (
    CatalogDocument,
    CheckRequest,
    CompatRequest,
    DiffRequest,
    FixRequest,
    GradeRequest,
    LintRequest,
    Policy,
    RuleSelection,
    RunRequest,
    ScanRequest,
    SchemaLintRequest,
    SettingsSource,
    TargetSelection,
)
from mcproof.services.workers.confinement import is_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcproof.checks.findings import Finding
    from mcproof.core.catalog.model import Catalog
    from mcproof.runs.events import FixedTarget
    from mcproof.runs.results import RunResult


LARGEST_FILE = 16 * 1024 * 1024
"""The most bytes of a file that is named as a target."""


class AllowedPath(NamedTuple):
    """A path that may be read."""

    path: str
    """As a user would write it: relative if it is below the working directory."""
    root: str
    """The root above it."""


def given_roots(folders: Iterable[str]) -> tuple[str, ...]:
    """The real paths of folders that the user names. Raises an InputError if one is not a folder."""
    roots = []
    for folder in folders:
        real = os.path.realpath(folder)
        if not os.path.isdir(real):
            raise InputError("not a folder; --root names a folder that may be read", file=folder)
        roots.append(real)
    return tuple(dict.fromkeys(roots))


def default_roots() -> tuple[str, ...]:
    """The working directory; none if that is the home directory or the root of the file system.

    Some clients start servers there, where a project is not what they mean.
    """
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # the working directory was deleted
        return ()
    if here in (os.path.realpath(os.path.expanduser("~")), os.path.dirname(here)):
        return ()
    return (here,)


def client_roots(uris: Iterable[str]) -> tuple[str, ...]:
    """The folders that a client offers as `file://` URIs; others are left out."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    roots = []
    for uri in uris:
        parts = urlsplit(uri)
        path = os.path.realpath(url2pathname(parts.path))
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and os.path.isdir(path):
            roots.append(path)
    return tuple(dict.fromkeys(roots))


def allowed_path(name: str, roots: Sequence[str]) -> AllowedPath:
    """The file or folder behind a name, with links resolved. Raises an InputError if it may not be read.

    A relative name is looked up in each root. The message for a path outside the roots does not depend on what is
    there.
    """
    if "\0" in name or "\n" in name:
        raise InputError("neither a path nor the JSON text of a catalog")
    if "://" in name:
        raise InputError("this server opens no URLs; save the catalog with `mcproof capture URL`, and name the file")
    if not roots:
        raise InputError("no folder may be read; start the server with `--root FOLDER`, or pass the text of a catalog")
    within = [(real, root) for root in roots if is_below(real := os.path.realpath(os.path.join(root, name)), root)]
    if not within:
        raise InputError(f"outside the allowed folders ({', '.join(roots)})", file=name)
    real, root = next(((real, root) for real, root in within if os.path.exists(real)), within[0])
    try:
        status = os.stat(real)
    except OSError as error:
        hint = "; this server starts no servers, so `FILE.json#NAME` is not a target" if "#" in name else ""
        raise InputError(f"cannot be read: {reason_of(error)}{hint}", file=name) from None
    if stat.S_ISREG(status.st_mode):
        if status.st_size > LARGEST_FILE:
            raise InputError(f"larger than {LARGEST_FILE:,} bytes", file=name)
    elif not stat.S_ISDIR(status.st_mode):
        raise InputError("neither a file nor a folder", file=name)
    return AllowedPath(_as_named(real), root)


def _as_named(real: str) -> str:
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # the working directory was deleted
        return real
    return os.path.relpath(real, here) if is_below(real, here) else real


CURSOR_PATTERN = "^[0-9]{1,9}-[0-9a-f]{16}$"
DEFAULT_LIMIT, LARGEST_LIMIT = 20, 100
CHUNK = 40_000
"""The characters of a text on one page."""


def paged(document: dict[str, Any], key: str, cursor: str | None, limit: int) -> dict[str, Any]:
    """A document with one page of its long list or text, and `page`, which says where that is."""
    whole = document[key]
    digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]
    offset = _offset(cursor, digest, len(whole))
    stop = min(offset + limit, len(whole))
    page = {
        "offset": offset,
        "total": len(whole),
        "next_cursor": f"{stop}-{digest}" if stop < len(whole) else None,
    }
    return {**document, key: whole[offset:stop], "page": page}


def _offset(cursor: str | None, digest: str, length: int) -> int:
    if cursor is None:
        return 0
    offset, _, of = cursor.partition("-")
    if of != digest:
        raise UsageError("the result has changed since this cursor was returned; call again without `cursor`")
    if int(offset) >= length:
        raise UsageError("there is no such page; call again without `cursor`")
    return int(offset)


if TYPE_CHECKING:
    Arguments = dict[str, Any]
    Check = Callable[[Arguments, Sequence[str]], dict[str, Any]]

DOCUMENT_NAME = "catalog"
"""The name of a catalog that is given as text, in results and messages."""
LARGEST_RESULT = 512 * 1024
"""The most bytes of a result; a page is far smaller, unless a catalog has very many tools."""
_MOST_TOOLS = 100
_CLIENT_KEYS = ("client", "effect", "level")
_NOTHING_TO_FIX = "nothing to fix: the schemas are tight"
_NOTHING_CERTAIN = "nothing can be fixed automatically; lint_catalog says what to write for the rules in `left`"


@record()
class CheckJob(NamedTuple):
    """A call of a tool."""

    tool: str
    arguments: dict[str, Any]
    roots: tuple[str, ...]


def check(job: CheckJob, _: object) -> str:
    """Return the JSON text of the structured result of a tool. Raises a McproofError with the reason if there is none.

    Lone surrogates, which a catalog may contain and MCP cannot send, are replaced.
    """
    text = json.dumps(_CHECKS[job.tool](job.arguments, job.roots), ensure_ascii=False).encode("utf-8", "replace")
    if len(text) > LARGEST_RESULT:
        raise InputError(
            f"the result has {len(text):,} bytes, which is too many; pass a smaller `limit` or fewer tools"
        )
    return text.decode()


def _whole(arguments: Arguments, roots: Sequence[str]) -> dict[str, Any]:
    targets, policy = _chosen(arguments, roots)
    return _judged(CheckRequest(targets, is_static=True, policy=policy), arguments)


def _lint(arguments: Arguments, roots: Sequence[str]) -> dict[str, Any]:
    targets, policy = _chosen(arguments, roots)
    rules = RuleSelection(rulesets=tuple(arguments.get("rulesets", ())))
    return _judged(LintRequest(targets, rules, policy), arguments)


def _grade(arguments: Arguments, roots: Sequence[str]) -> dict[str, Any]:
    """Of very many tools, those that cost most and those with the worst descriptions are listed."""
    targets, policy = _chosen(arguments, roots)
    document, finished = _run(GradeRequest(targets, policy=policy))
    grade = finished.result.scores.grade
    document["next"] = [] if grade is None else codec.encode(grade.gains)
    costs, scores = document["tokens"]["tools"], document.get("descriptions", {})
    if len(costs) > _MOST_TOOLS:
        document["tokens"]["tools"] = dict(sorted(costs.items(), key=lambda pair: -pair[1])[:_MOST_TOOLS])
    if len(scores) > _MOST_TOOLS:
        document["descriptions"] = dict(sorted(scores.items(), key=lambda pair: pair[1])[:_MOST_TOOLS])
    return _findings_page(document, finished, arguments)


def _check_clients(arguments: Arguments, roots: Sequence[str]) -> dict[str, Any]:
    """The clients in which it breaks come first; their hits are left out: the findings have every place.

    What clients document, with sources and dates, is left out there: one finding may be about dozens of them.
    """
    targets, policy = _chosen(arguments, roots)
    wanted = tuple(arguments.get("clients", ()))
    document, finished = _run(CompatRequest(targets, wanted, policy=policy))
    clients = document["clients"]
    named = {client.partition("@")[0] for client in wanted} or clients.keys()
    document["clients"] = {
        name: {key: value for key, value in clients[name].items() if key != "hits"}
        for name in sorted(clients, key=lambda name: -VERDICTS.index(clients[name]["verdict"]))
        if name in named
    }
    for finding in document["findings"]:
        if (evidence := finding["evidence"]) and isinstance(evidence.get("clients"), list):
            evidence["clients"] = [{key: client[key] for key in _CLIENT_KEYS} for client in evidence["clients"]]
    return _findings_page(document, finished, arguments)


def _scan(arguments: Arguments, roots: Sequence[str]) -> dict[str, Any]:
    """The graph of the tools is left out, and of the rules those that did not fail."""
    targets, policy = _chosen(arguments, roots)
    document, finished = _run(ScanRequest(targets, policy=policy))
    document.pop("tool_graph", None)
    trust = document["trust"]
    trust["rules"] = [rule for rule in trust["rules"] if rule["outcome"] == "failed"]
    return _findings_page(document, finished, arguments)


def _compare(arguments: Arguments, roots: Sequence[str]) -> dict[str, Any]:
    old, _ = _chosen(arguments, roots, "old")
    new, _ = _chosen(arguments, roots, "new")
    document, _ = _run(DiffRequest(old, new, settings=SettingsSource(is_disabled=True)))
    return paged(document, "changes", arguments.get("cursor"), arguments.get("limit", DEFAULT_LIMIT))


def _fix(arguments: Arguments, roots: Sequence[str]) -> dict[str, Any]:
    targets, policy = _chosen(arguments, roots)
    fixed: list[FixedTarget] = []

    def listen(event: Event) -> None:
        _refuse(event)
        if isinstance(event, TargetFixed):
            fixed.append(event.fixed)

    run = execute(FixRequest(SchemaLintRequest(targets, policy=policy), arguments.get("keep_optional", False)), listen)
    _raise_trouble(run)
    # `_refuse` has made sure that there is one target.
    (target,) = fixed
    left: dict[str, int] = {}
    for finding in target.active:
        left[finding.rule.id] = left.get(finding.rule.id, 0) + 1
    form = arguments.get("form", "text")
    # The text as it is would be a page of what the agent knows.
    content = "" if not target.applied else _fixed_text(target) if form == "text" else _diff_text(target)
    document = {
        "schema_version": 1,
        "target": target.name,
        "form": form,
        "content": content,
        **({} if target.applied else {"note": _NOTHING_TO_FIX if not left else _NOTHING_CERTAIN}),
        "fixed": target.applied,
        "made_required": target.made_required,
        "left": dict(sorted(left.items())),
    }
    return paged(document, "content", arguments.get("cursor"), CHUNK)


def _fixed_text(target: FixedTarget) -> str:
    if len(target.files) != 1:
        raise UsageError("a folder has several files; use the form `diff`, or name one file")
    return target.files[0].after.decode("utf-8", "backslashreplace")


def _diff_text(target: FixedTarget) -> str:
    from mcproof.core.text.json_document import unified_diff

    return "".join(line for file in target.files for line in unified_diff(file.text, file.edits, file.file))


def _explain(arguments: Arguments, _: Sequence[str]) -> dict[str, Any]:
    from mcproof.checks.rule import find_rule
    from mcproof.checks.rulebook import rule_page, rule_record

    rule = find_rule(arguments["rule"])
    return {"schema_version": 1, **rule_record(rule), "guide": rule_page(rule)}


_CHECKS: dict[str, Check] = {
    "check_catalog": _whole,
    "lint_catalog": _lint,
    "grade_catalog": _grade,
    "fix_catalog": _fix,
    "compare_catalogs": _compare,
    "check_clients": _check_clients,
    "scan_catalog": _scan,
    "explain_rule": _explain,
}


def _chosen(arguments: Arguments, roots: Sequence[str], name: str = "target") -> tuple[TargetSelection, Policy]:
    """The catalog in the text or behind the path of a parameter, and the settings for it.

    For a path, the nearest configuration applies that is not above the root, as on the command line; for a text, none.
    """
    first, rest = arguments[name], arguments.get(f"{name}_rest", [])
    if first.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        shown = DOCUMENT_NAME if name == "target" else name
        document = CatalogDocument(shown, "".join((first, *rest)).encode("utf-8", "surrogatepass"))
        return TargetSelection(documents=(document,)), Policy(SettingsSource(is_disabled=True))
    if rest:
        raise UsageError(f"`{name}_rest` continues the JSON text in `{name}`, and that is a path")
    allowed = allowed_path(first, roots)
    return TargetSelection(names=(allowed.path,)), Policy(SettingsSource(top=allowed.root))


def _run(request: RunRequest) -> tuple[dict[str, Any], TargetFinished]:
    """Run a request for one catalog, and return the document of its result, and how it ended."""
    from mcproof.core.console import Style
    from mcproof.report.formats import render

    finished: list[TargetFinished] = []

    def listen(event: Event) -> None:
        _refuse(event)
        if isinstance(event, TargetFinished):
            finished.append(event)

    run = execute(request, listen)
    _raise_trouble(run)
    parsed: dict[str, Any] = json.loads("".join(render(run._replace(is_single=True), "json", Style())))
    return parsed, finished[-1]


def _raise_trouble(run: RunResult) -> None:
    (target,) = run.targets
    if target.trouble is not None:
        raise target.trouble.as_error()


def _refuse(event: Event) -> None:
    """Raise an error before the run if a target is not one catalog, or is a live server."""
    if not isinstance(event, RunStarted):
        return
    if any(source.server is not None for source in event.inputs):
        raise InputError("this server starts no servers and opens no URLs")
    if len(event.inputs) > 1:
        names = ", ".join(source.title for source in event.inputs[:10])
        raise UsageError(f"expected one catalog, got {len(event.inputs)}; name one of them: {names}")


def _judged(request: RunRequest, arguments: Arguments) -> dict[str, Any]:
    return _findings_page(*_run(request), arguments)


def _findings_page(document: dict[str, Any], finished: TargetFinished, arguments: Arguments) -> dict[str, Any]:
    """A document with one page of its findings, each with what to do about it."""
    document = paged(document, "findings", arguments.get("cursor"), arguments.get("limit", DEFAULT_LIMIT))
    offset = document["page"]["offset"]
    findings = document["findings"]
    reported = finished.result.findings[offset : offset + len(findings)]
    for finding, shown, original in zip(findings, reported, originals(reported, finished.findings), strict=True):
        finding["help"] = shown.advice
        finding["snippets"] = _snippets(finished.catalog, original)
    return document


def _snippets(catalog: Catalog | None, finding: Finding | None) -> list[dict[str, str]]:
    """What to write in source about a finding, for its framework; a snapshot is changed where it is."""
    if catalog is None or catalog.source is None or finding is None:
        return []
    from mcproof.checks.fixes.snippets import code_help

    helped = code_help(catalog, [finding])
    return [{"framework": code.framework, "place": code.place, "code": code.code} for code in helped]
