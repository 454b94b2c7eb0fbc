"""From findings to a better file: the edits, the diff, the write that is all or nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from mcproof.acceptance import admits_null
from mcproof.errors import WriteError
from mcproof.jsontext import resolve
from mcproof.schemas import SchemaTree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mcproof.catalog import Catalog, Item
    from mcproof.finding import Finding


class Fixed(NamedTuple):
    """A catalog's text after its fixes."""

    text: str
    applied: int
    """How many findings are mended."""
    made_required: int
    """How many parameters were optional and are not any more."""


def apply_fixes(catalog: Catalog, findings: list[Finding], *, keep_optional: bool = False) -> Fixed:
    """The catalog's text with every fix of these findings in it, all other bytes as they were.

    With `keep_optional`, a parameter that has a default or admits null stays out of a new `required` list.
    """
    changes: list[tuple[str, str, Any]] = []
    made_required = 0
    tree: SchemaTree | None = None
    owner: Item | None = None
    for finding in findings:
        if finding.fix is None:
            continue
        value = finding.fix.value
        if finding.fix.key == "required":
            if keep_optional:
                if tree is None or owner is not finding.item:  # the findings of a tool come one after the other
                    owner, tree = finding.item, SchemaTree(finding.item.fields["inputSchema"])
                properties = resolve(finding.item.raw, f"{finding.pointer}/properties")
                value = [name for name in value if not _says_optional(properties[name], tree)]
            made_required += len(value)
        changes.append((finding.item.pointer + finding.pointer, finding.fix.key, value))
    text = catalog.document.with_members(changes) if changes else catalog.document.text
    return Fixed(text, len(changes), made_required)


def _says_optional(schema: Any, tree: SchemaTree) -> bool:
    """Whether a property says itself that it can be left out."""
    return (isinstance(schema, dict) and "default" in schema) or admits_null(schema, tree)


def unified_diff(before: str, after: str, name: str) -> Iterator[str]:
    """What changes between two texts of one file, as `diff -u` shows it."""
    from difflib import unified_diff as compare

    lines = compare(_lines(before), _lines(after), name, f"{name} (fixed)", n=2)
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends; only a line feed ends one, whatever else stands in the strings."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def replace_file(name: str, before: bytes, after: bytes) -> None:
    """Put `after` in the place of `before`, in one step: whatever happens, the file is one or the other.

    Refuses, with the original untouched, where the file is read-only, is gone, or is no longer what was read.
    """
    import tempfile

    target = os.path.realpath(name)
    temporary = ""
    try:
        mode = os.stat(target).st_mode
        if not mode & 0o222:
            raise WriteError("is read-only; nothing was written", file=name)
        with open(target, "rb") as file:
            if file.read() != before:
                raise WriteError("was changed by somebody else meanwhile; nothing was written", file=name)
        descriptor, temporary = tempfile.mkstemp(prefix=".mcproof-", dir=os.path.dirname(target))
        with open(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode & 0o7777)
        os.replace(temporary, target)
        temporary = ""
    except OSError as error:
        raise WriteError(f"cannot be written: {(error.strerror or str(error)).lower()}", file=name) from None
    finally:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
