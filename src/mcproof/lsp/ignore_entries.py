"""Ways to ignore a finding, as edits: a comment in Python source, an `[[ignore-for]]` entry in the configuration."""

from __future__ import annotations

import io
import json
import os
import re
import tokenize
from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.errors import McproofError
from mcproof.core.text.json_document import Edit
from mcproof.runs.config import OWN_FILE, SHARED_FILE, SettingsFinder, directory_of, settings_of
from mcproof.runs.config_keys import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcproof.checks.findings import ReportedFinding
    from mcproof.core.catalog.model import Catalog

REASON = "TODO: why"
"""Where the author writes the reason; an editor cannot ask for it."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_DIRECTIVE = re.compile(r"#[ \t]*mcproof:[ \t]*ignore[ \t]*\[([^\]\r\n]*)\]")


class FileEdits(NamedTuple):
    """Edits of one file, by offsets."""

    file: str
    edits: tuple[Edit, ...]
    is_new: bool = False
    """Whether the file has to be created first."""


def comment_for(catalog: Catalog, finding: ReportedFinding, text_of: Callable[[str], str]) -> FileEdits | None:
    """A comment on the line of a finding, or on one of its item; None if there is no line that can have it."""
    source = catalog.source
    if source is None:
        return None
    at = [(finding.file, finding.line)] if finding.line is not None else []
    for file, line in (*at, *source.lines.get(finding.item_pointer, ())):
        if not file.endswith(".py") or line is None:
            continue
        edit = _comment(text_of(os.path.abspath(file)), line, finding.rule.id)
        if edit is not None:
            return FileEdits(os.path.abspath(file), (edit,))
    return None


def _comment(text: str, line: int, rule: str) -> Edit | None:
    """The edit that adds a rule to the comment on a line, or adds the comment; None if the line cannot end in one."""
    starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
    if line > len(starts):
        return None
    start = starts[line - 1]
    end = found.start() if (found := _LINE_END.search(text, start)) is not None else len(text)
    if (known := _DIRECTIVE.search(text, start, end)) is not None:
        return Edit(known.end(1), known.end(1), f", {rule}" if known[1].strip() else rule)
    written = text[start:end]
    if written.rstrip().endswith("\\") or not written.strip() or line in _continued_strings(text):
        return None
    at = start + len(written.rstrip())
    return Edit(at, at, f"  # mcproof: ignore[{rule}] {REASON}")


def _continued_strings(text: str) -> set[int]:
    """The lines whose end is inside a string."""
    found: set[int] = set()
    opened: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(_LINE_END.sub("\n", text)).readline):
            name = tokenize.tok_name[token.type]
            if name == "FSTRING_START":
                opened.append(token.start[0])
            elif name == "FSTRING_END":
                found.update(range(opened.pop() if opened else token.start[0], token.end[0]))
            elif token.type == tokenize.STRING:
                found.update(range(token.start[0], token.end[0]))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return set(range(1, text.count("\n") + 2))  # nothing is certain
    return found


def entry_for(path: str, finding: ReportedFinding, contents: Mapping[str, bytes], folder: str) -> FileEdits | None:
    """An `[[ignore-for]]` entry in the nearest configuration of a document, or in a new one in this folder.

    None if the entry would not work, such as beside an inline list of entries.
    """
    try:
        settings = SettingsFinder(contents).settings_for(directory_of(path))
        file = os.path.abspath(settings.file or os.path.join(folder, OWN_FILE))
        before = "" if settings.file is None else _text(file, contents)
        edit = _entry(before, finding, is_shared=os.path.basename(file) == SHARED_FILE)
        after = settings_of((before[: edit.start] + edit.replacement).encode(), file)
    except (McproofError, OSError, UnicodeError):
        return None
    if after is None or len(after.ignores) != len(settings.ignores) + 1:
        return None
    return FileEdits(file, (edit,), is_new=settings.file is None)


def _entry(text: str, finding: ReportedFinding, *, is_shared: bool) -> Edit:
    """The edit that adds an entry at the end of a configuration."""
    kind, _, name = finding.item.partition(":")
    table = "tool.mcproof.ignore-for" if is_shared else "ignore-for"
    lines = [f"[[{table}]]", f"rules = [{_quoted(finding.rule.id)}]", f"reason = {_quoted(REASON)}", ""]
    if kind in KINDS:
        lines.insert(1, f"{kind} = {_quoted(name)}")
    end = "\r\n" if "\r\n" in text else "\n"
    between = "" if not text.strip() else end if text.endswith("\n") else end * 2
    return Edit(len(text), len(text), between + end.join(lines))


def _quoted(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(file: str, contents: Mapping[str, bytes]) -> str:
    if file in contents:
        return contents[file].decode()
    with open(file, encoding="utf-8", newline="") as opened:
        return opened.read()


def rules_on(line: str) -> Iterator[tuple[int, int, str]]:
    """The words in the brackets of comments on a line that ignore rules, with their columns."""
    for found in re.finditer(r"#[ \t]*mcproof:[ \t]*ignore(?:-file)?[ \t]*\[([^\]]*)", line):
        for word in re.finditer(r"[^\s,]+", found[1]):
            yield found.start(1) + word.start(), found.start(1) + word.end(), word[0]
