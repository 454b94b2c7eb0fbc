"""Check catalogs that clients send, without configuration, files or network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fastapi import HTTPException

from mcproof.execution.execute import execute
from mcproof.execution.run_requests import (
    CatalogDocument,
    CompatRequest,
    Detail,
    DiffRequest,
    GradeRequest,
    LintRequest,
    Policy,
    ScanRequest,
    SettingsSource,
    TargetSelection,
)
from mcproof.report.json_documents import document

if TYPE_CHECKING:
    from mcproof.execution.run_requests import RunRequest

LARGEST = 5 * 1024 * 1024
"""The most bytes of a catalog."""
_UNCONFIGURED = Policy(SettingsSource(is_disabled=True))
_DETAIL = Detail(scores=True)


def check_body(command: str, body: bytes) -> bytes:
    """Return the JSON document of a command about a catalog. Raises an HTTPException if that is not possible."""
    run = execute(_request(command, body))
    if run.trouble is not None:
        raise HTTPException(400, str(run.trouble))
    return "".join(document(run)).encode("utf-8", "backslashreplace")


def _request(command: str, body: bytes) -> RunRequest:
    match command:
        case "lint":
            return LintRequest(_selection("catalog", body), policy=_UNCONFIGURED, detail=_DETAIL)
        case "grade":
            return GradeRequest(_selection("catalog", body), policy=_UNCONFIGURED, detail=_DETAIL)
        case "compat":
            return CompatRequest(_selection("catalog", body), policy=_UNCONFIGURED, detail=_DETAIL)
        case "scan":
            return ScanRequest(_selection("catalog", body), policy=_UNCONFIGURED, detail=_DETAIL)
        case "diff":
            old, new = _both(body)
            return DiffRequest(_selection("old", old), _selection("new", new), settings=_UNCONFIGURED.settings)
    raise HTTPException(404, "there is no such command; there are lint, grade, compat, scan and diff")


def _both(body: bytes) -> tuple[bytes, bytes]:
    """The catalogs `old` and `new` of a body."""
    try:
        members = json.loads(body)
        old, new = (json.dumps(members[name]).encode() for name in ("old", "new"))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise HTTPException(400, "`diff` needs an object with the catalogs `old` and `new`") from None
    return old, new


def _selection(name: str, data: bytes) -> TargetSelection:
    return TargetSelection(documents=(CatalogDocument(name, data),))
