"""The order of versions, as PyPI (PEP 440) and npm (Semantic Versioning) define it, and ranges of them."""

from __future__ import annotations

import re
from typing import Any

_LONGEST = 100
_PEP440 = re.compile(
    r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)"
    r"(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?(\d*))?"
    r"(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?"
    r"(?:[-_.]?(dev)[-_.]?(\d*))?"
    r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?"
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_SEMVER = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9a-z.-]+))?(?:\+[0-9a-z.-]+)?")
_RANGE_CLAUSE = re.compile(r"(>=|<=|>|<|==|=)?\s*(\S+)")


def version_key(text: str, ecosystem: str) -> tuple[Any, ...] | None:
    """Return a key that orders versions of an ecosystem, `pypi` or `npm`; None if the text is not a version."""
    cleaned = text.strip().lower()
    if len(cleaned) > _LONGEST:
        return None
    return _npm_key(cleaned) if ecosystem == "npm" else _pypi_key(cleaned)


def _pypi_key(text: str) -> tuple[Any, ...] | None:
    found = _PEP440.fullmatch(text)
    if found is None:
        return None
    epoch, release, stage, stage_number, implicit_post, post, post_number, dev, dev_number, local = found.groups()
    numbers = [int(each) for each in release.split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    has_post = implicit_post is not None or post is not None
    if stage is not None:
        before: tuple[int, ...] = (1, _STAGES[stage], int(stage_number or 0))
    else:
        before = (0,) if dev is not None and not has_post else (2,)
    return (
        int(epoch or 0),
        tuple(numbers),
        before,
        (1, int(implicit_post or post_number or 0)) if has_post else (0,),
        (0, int(dev_number or 0)) if dev is not None else (1,),
        () if local is None else tuple(_identifier(each, is_last=True) for each in re.split("[-_.]", local)),
    )


def _npm_key(text: str) -> tuple[Any, ...] | None:
    found = _SEMVER.fullmatch(text)
    if found is None:
        return None
    major, minor, patch, before = found.groups()
    identifiers = None if before is None else tuple(_identifier(each, is_last=False) for each in before.split("."))
    return (int(major), int(minor or 0), int(patch or 0), (1,) if identifiers is None else (0, identifiers))


def _identifier(text: str, *, is_last: bool) -> tuple[int, int, str]:
    """Return a key for a part of a version; numbers come before words in npm and after them (`is_last`) in PyPI."""
    if text.isdigit():
        return (1 if is_last else 0, int(text), "")
    return (0 if is_last else 1, 0, text)


def in_range(version: str, allowed: str, ecosystem: str) -> bool | None:
    """Whether a version is in a range such as `>=0.0.5,<0.1.16`; `*` is every version. None if it is not a version.

    A version before a release, such as `1.0rc1`, is smaller than the release, also at the end of a range.
    """
    key = version_key(version, ecosystem)
    if key is None:
        return None
    return all(_meets(key, clause.strip(), ecosystem) for clause in allowed.split(",") if clause.strip() != "*")


def _meets(key: tuple[Any, ...], clause: str, ecosystem: str) -> bool:
    found = _RANGE_CLAUSE.fullmatch(clause)
    limit = version_key(found[2], ecosystem) if found is not None else None
    if found is None or limit is None:
        raise ValueError(f"not a range of versions: {clause}")
    match found[1]:
        case ">=":
            return key >= limit
        case "<=":
            return key <= limit
        case ">":
            return key > limit
        case "<":
            return key < limit
    return key == limit
