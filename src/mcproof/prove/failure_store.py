"""Failures on disk, so that each can be sent again: one file a failure, in a folder that no repository takes in."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.client.endpoints import CommandEndpoint
from mcproof.errors import InputError, reason_of
from mcproof.exchange.probe_facts import CASE_OUTCOMES
from mcproof.linting.finding import identity_of
from mcproof.text.atomic import write_file

if TYPE_CHECKING:
    from mcproof.targets.argument import Input

FOLDER = ".mcproof"
SCHEMA_VERSION = 1
KIND = "failure"
MOST_LISTED = 1_000
_ID = re.compile(r"[0-9a-f]{12}")
_LARGEST = 64 * 1024 * 1024
_LONGEST_CALL = 3_600_000


class StoredFailure(NamedTuple):
    """A request that went wrong, and all that it takes to send it again."""

    id: str
    target: dict[str, Any]
    """Which server: its command or URL without secrets, the names of its variables, or the entry that names it."""
    tool: str | None
    probe: str
    """The probe that it was, or `fuzz`."""
    method: str
    params: dict[str, Any]
    outcome: str
    """`accepted`, `crash`, `hang`, `protocol_violation` or `leak`."""
    what: str
    """What was sent, in words."""
    is_valid: bool
    """Whether the schema allows it."""
    answer: str
    """What came back, cropped."""
    max_call_ms: int


def failure_id(target: dict[str, Any], tool: str | None, probe: str, outcome: str, params: Any) -> str:
    """A name for a failure that is the same whenever it is."""
    parts = (json.dumps(target, sort_keys=True), tool or "", probe, outcome, json.dumps(params, sort_keys=True))
    return identity_of(*parts)[:12]


def described(source: Input) -> dict[str, Any]:
    """How to find a server again; nothing of this is secret."""
    server = source.server
    if source.origin is not None and source.origin.line is not None:
        return {"target": source.name}
    if isinstance(server, CommandEndpoint):
        told: dict[str, Any] = {**server.described, "env": sorted(server.environment)}
        told["complete"] = told["command"] == list(server.words)
        return {**told, "cwd": server.directory} if server.directory is not None else told
    if server is None:
        return {"target": source.name}
    return {**server.described, "headers": sorted(server.headers), "complete": server.described["url"] == server.url}


def store(failures: list[StoredFailure], folder: str = FOLDER) -> None:
    """Write each failure to a file of its own. Raises a McproofError where that is not possible."""
    if not failures:
        return
    place = os.path.join(folder, "failures")
    ignore = os.path.join(folder, ".gitignore")
    files = [os.path.join(place, f"{each.id}.json") for each in failures]
    for name in (folder, place, ignore, *files):
        if os.path.islink(name):  # a stranger's repository may have it lead to any file of ours
            raise InputError("is a link, which is not followed; nothing was stored", file=name)
    try:
        os.makedirs(place, exist_ok=True)
        if not os.path.exists(ignore):
            write_file(ignore, b"*\n")
    except OSError as error:
        raise InputError(f"cannot be written: {reason_of(error)}", file=place) from None
    for each, name in zip(failures, files, strict=True):
        record = {"schema_version": SCHEMA_VERSION, "kind": KIND, **each._asdict()}
        text = json.dumps(record, indent=2) + "\n"
        write_file(name, text.encode())


def load(id: str, folder: str = FOLDER) -> StoredFailure:
    """A stored failure. Raises an InputError that says why there is none."""
    place = os.path.join(folder, "failures")
    if _ID.fullmatch(id) is None:
        raise InputError(f"`{id}` is not the id of a failure, which has twelve digits and letters from a to f")
    name = os.path.join(place, f"{id}.json")
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # a pipe would be waited for
            raise InputError("no stored failure: not a file", file=name)
        with open(name, "rb") as file:
            data = file.read(_LARGEST)
    except FileNotFoundError:
        raise InputError("there is no such failure; `mcproof replay` lists those that are stored", file=name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=name) from None
    return _read(data, name)._replace(id=id)  # whatever it calls itself


def _read(data: bytes, name: str) -> StoredFailure:
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("no stored failure: not JSON", file=name) from None
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise InputError("no stored failure", file=name)
    if record.get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"stored by another version of mcproof than this, which reads {SCHEMA_VERSION}", file=name)
    types: dict[str, Any] = {
        "target": dict,
        "tool": (str, type(None)),
        "params": dict,
        "is_valid": bool,
        "max_call_ms": int,
    }
    for field in StoredFailure._fields:
        if not isinstance(record.get(field), types.get(field, str)):
            raise InputError(f"a damaged failure: `{field}` is missing or of a wrong type", file=name)
    if record["outcome"] not in CASE_OUTCOMES:
        raise InputError("a damaged failure: `outcome` is none that there is", file=name)
    limit = record["max_call_ms"]
    if isinstance(limit, bool) or not 0 < limit <= _LONGEST_CALL:
        raise InputError("a damaged failure: `max_call_ms` is no length of time", file=name)
    return StoredFailure(*(record[field] for field in StoredFailure._fields))


def stored(folder: str = FOLDER) -> list[StoredFailure]:
    """Every failure that can be sent again, in the order of their ids; what cannot be read is passed over."""
    place = os.path.join(folder, "failures")
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return []
    found = []
    for name in names[:MOST_LISTED]:
        stem, extension = os.path.splitext(name)
        if extension == ".json" and _ID.fullmatch(stem):
            try:
                found.append(load(stem, folder))
            except InputError:
                continue
    return found
