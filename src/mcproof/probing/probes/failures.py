"""Stored failures, for `mcproof replay`: one sealed JSON file each, in a folder that git ignores.

A seal is a keyed hash of a file's content and folder, with a key in the user's state folder. Without it, a
`.mcproof` folder in a stranger's checkout could have its commands run with the user's variables. A long repeated
text is stored as its unit and length.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import identity_of
from mcproof.client.endpoints import CommandEndpoint
from mcproof.core.errors import InputError, reason_of
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.probes import ALL_OUTCOMES, cropped_value, excerpt
from mcproof.core.text.files import state_folder, write_file
from mcproof.probing.outcomes import Failure
from mcproof.probing.probes.responses import with_repeated, without_repeated

if TYPE_CHECKING:
    from mcproof.targets.arguments import Input


_KEY_BYTES = 32


def seal(record: dict[str, Any], folder: str) -> str | None:
    """The seal of a record in a folder; None if there is no key and none can be stored."""
    key = _key(creates=True)
    return None if key is None else _seal(record, folder, key)


def is_sealed(record: dict[str, Any], folder: str, given: Any) -> bool:
    """Whether a seal is this user's, for this record in this folder."""
    key = _key(creates=False)
    # `compare_digest` takes only ASCII texts.
    if key is None or not isinstance(given, str) or not given.isascii():
        return False
    return hmac.compare_digest(_seal(record, folder, key), given)


def _seal(record: dict[str, Any], folder: str, key: bytes) -> str:
    text = json.dumps([os.path.realpath(folder), record], sort_keys=True)
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def key_file() -> str:
    """The file of the key."""
    return os.path.join(state_folder(), "replay-key")


def _key(*, creates: bool) -> bytes | None:
    file = key_file()
    with contextlib.suppress(OSError):
        if creates:
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                _create(file)
        with open(file, "rb") as opened:
            key = opened.read(_KEY_BYTES + 1)
        return key if len(key) == _KEY_BYTES else None
    return None


def _create(file: str) -> None:
    """Create the key. Raises FileExistsError if another process was faster."""
    temporary = f"{file}-{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as opened:
            opened.write(os.urandom(_KEY_BYTES))
        # A link fails if the key exists, and gives the name only to a complete key.
        os.link(temporary, file)
    finally:
        os.unlink(temporary)


FOLDER = ".mcproof"
SCHEMA_VERSION = 2
_READABLE = (1, 2)
KIND = "failure"
MOST_LISTED = 1_000
_ID = re.compile(r"[0-9a-f]{12}")
_LARGEST = 64 * 1024 * 1024
_LONGEST_CALL = 3_600_000


class StoredFailure(NamedTuple):
    """A failed request with everything needed to send it again; the fields are the keys of its file."""

    id: str
    target: dict[str, Any]
    """The server: its command or URL without secrets and the names of its variables, or its configuration entry."""
    tool: str | None
    probe: str
    """The name of the probe, `fuzz`, or the family of a hostile call."""
    method: str
    params: dict[str, Any]
    outcome: str
    """`accepted`, `crash`, `hang`, `protocol_violation`, `leak` or `injection`."""
    what: str
    """A description of what was sent."""
    is_valid: bool
    """Whether the schema allows it."""
    answer: str
    """The response, cropped."""
    max_call_ms: int
    recipe: dict[str, Any] = {}  # noqa: RUF012 (never mutated)
    """For a hostile call: the path of the argument, and the valid arguments; else empty."""

    @classmethod
    def of(
        cls,
        target: dict[str, Any],
        *,
        tool: str | None,
        probe: str,
        method: str,
        params: dict[str, Any],
        outcome: str,
        what: str,
        is_valid: bool,
        answer: str,
        limit: float,
        recipe: dict[str, Any] | None = None,
    ) -> StoredFailure:
        """A failure with its id; `limit` is in seconds."""
        return cls(
            id=failure_id(target, tool, probe, outcome, params),
            target=target,
            tool=tool,
            probe=probe,
            method=method,
            params=params,
            outcome=outcome,
            what=what,
            is_valid=is_valid,
            answer=answer,
            max_call_ms=round(limit * 1000),
            recipe=recipe or {},
        )

    def reported(self, arguments: Any, what: str, times: int, response: str) -> Failure:
        """The failure for the result, cropped; `what` is wrong with the response."""
        return Failure(
            id=self.id,
            tool=self.tool,
            outcome=self.outcome,
            arguments=cropped_value(arguments),
            replay=f"mcproof replay {self.id}",
            what=what,
            times=times,
            response=excerpt(response),
        )


def failure_id(target: dict[str, Any], tool: str | None, probe: str, outcome: str, params: Any) -> str:
    """An id that is stable across runs."""
    parts = (json.dumps(target, sort_keys=True), tool or "", probe, outcome, json.dumps(params, sort_keys=True))
    return identity_of(*parts)[:12]


def described(source: Input) -> dict[str, Any]:
    """How to find a server again, without secrets."""
    server = source.server
    if source.origin is not None and source.origin.line is not None:
        return {"target": source.name}
    if isinstance(server, CommandEndpoint):
        description: dict[str, Any] = {**server.described, "env": sorted(server.environment)}
        description["complete"] = description["command"] == list(server.words)
        return {**description, "cwd": server.directory} if server.directory is not None else description
    if server is None:
        return {"target": source.name}
    return {**server.described, "headers": sorted(server.headers), "complete": server.described["url"] == server.url}


def store(failures: list[StoredFailure], folder: str = FOLDER) -> None:
    """Write each failure to its own file. Raises McproofError."""
    if not failures:
        return
    place = os.path.join(folder, "failures")
    ignore = os.path.join(folder, ".gitignore")
    files = [os.path.join(place, f"{failure.id}.json") for failure in failures]
    for name in (folder, place, ignore, *files):
        if os.path.islink(name):  # in an untrusted repository it may point to any file of the user
            raise InputError("is a symbolic link; nothing was stored", file=name)
    try:
        os.makedirs(place, exist_ok=True)
        if not os.path.exists(ignore):
            write_file(ignore, b"*\n")
    except OSError as error:
        raise InputError(f"cannot be written: {reason_of(error)}", file=place) from None
    for failure, name in zip(failures, files, strict=True):
        params, repeated = without_repeated(failure.params)
        record = {"schema_version": SCHEMA_VERSION, "kind": KIND, **failure._asdict(), "params": params}
        record |= {"repeated": repeated} if repeated else {}
        record |= {"seal": value} if (value := seal(record, folder)) is not None else {}
        text = json.dumps(record, indent=2) + "\n"
        # There may be many failures, and a sync for each would take long.
        write_file(name, text.encode(), is_durable=False)


def whole_id(prefix: str, folder: str = FOLDER) -> str:
    """The only stored id that begins with a prefix; a whole id as it is. Raises InputError."""
    if _ID.fullmatch(prefix) is not None or re.fullmatch("[0-9a-f]{1,11}", prefix) is None:
        return prefix
    try:
        stems = [os.path.splitext(name)[0] for name in sorted(os.listdir(os.path.join(folder, "failures")))]
    except OSError:  # no failure was ever stored
        stems = []
    ids = [stem for stem in stems if _ID.fullmatch(stem) and stem.startswith(prefix)]
    if len(ids) == 1:
        return ids[0]
    if not ids:
        raise InputError(f"no stored failure begins with `{prefix}`; `mcproof replay` lists them")
    more = f" and {len(ids) - 10:,} more" if len(ids) > 10 else ""
    raise InputError(f"`{prefix}` is ambiguous: {', '.join(ids[:10])}{more}")


def load(id: str, folder: str = FOLDER) -> StoredFailure:
    """Load a stored failure. Raises InputError."""
    return _read(*_record(id, folder))._replace(id=id)  # users name a failure by its file, which may be a copy


def is_own(id: str, folder: str = FOLDER) -> bool:
    """Whether this user stored a failure in this folder, and did not find it in a checkout. Raises InputError."""
    record, _ = _record(id, folder)
    return is_sealed(record, folder, record.pop("seal", None))


def _record(id: str, folder: str) -> tuple[dict[str, Any], str]:
    """The content of a failure's file, and its name."""
    place = os.path.join(folder, "failures")
    if _ID.fullmatch(id) is None:
        raise InputError(f"`{id}` is not a failure id: 12 hexadecimal digits, or the first few of them")
    name = os.path.join(place, f"{id}.json")
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # reading a pipe would block
            raise InputError("not a stored failure: not a regular file", file=name)
        with open(name, "rb") as file:
            data = file.read(_LARGEST)
    except FileNotFoundError:
        raise InputError("no such failure; `mcproof replay` lists the stored ones", file=name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=name) from None
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("not a stored failure: not JSON", file=name) from None
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise InputError("not a stored failure", file=name)
    return record, name


def _read(record: dict[str, Any], name: str) -> StoredFailure:
    if record.get("schema_version") not in _READABLE:
        raise InputError(f"unsupported `schema_version`; this mcproof reads up to {SCHEMA_VERSION}", file=name)
    types: dict[str, Any] = {
        "target": dict,
        "tool": (str, type(None)),
        "params": dict,
        "is_valid": bool,
        "max_call_ms": int,
        "recipe": dict,
    }
    record.setdefault("recipe", {})  # older files have none
    for field in StoredFailure._fields:
        if not isinstance(record.get(field), types.get(field, str)):
            raise InputError(f"damaged failure: `{field}` is missing or has a wrong type", file=name)
    if record["outcome"] not in ALL_OUTCOMES:
        raise InputError("damaged failure: unknown `outcome`", file=name)
    limit = record["max_call_ms"]
    if isinstance(limit, bool) or not 0 < limit <= _LONGEST_CALL:
        raise InputError("damaged failure: `max_call_ms` is out of range", file=name)
    try:
        record["params"] = with_repeated(record["params"], record.get("repeated", []), _LARGEST)
    except ValueError as error:
        raise InputError(f"damaged failure: `repeated`: {error}", file=name) from None
    if not isinstance(record["params"], dict):
        raise InputError("damaged failure: `params` is not an object", file=name)
    return StoredFailure(**{field: record[field] for field in StoredFailure._fields})


def stored(folder: str = FOLDER) -> list[StoredFailure]:
    """All stored failures in the order of their ids; unreadable ones are skipped."""
    place = os.path.join(folder, "failures")
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return []
    failures = []
    for name in names[:MOST_LISTED]:
        stem, extension = os.path.splitext(name)
        if extension == ".json" and _ID.fullmatch(stem):
            try:
                failures.append(load(stem, folder))
            except InputError:  # a damaged file must not hide the other failures
                continue
    return failures
