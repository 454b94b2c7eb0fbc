"""What an editor offers about findings and rules: code actions, ways to ignore, texts, and lenses over tools."""

from __future__ import annotations

import io
import json
import os
import re
import tokenize
from typing import TYPE_CHECKING

from lsprotocol import types
from lsprotocol.types import CodeLens, Command

from mcproof.checks.findings import originals
from mcproof.checks.fixes import FileEdit, fix_snapshot, proven_edits
from mcproof.checks.fixes.source import fix_source, offered_edit
from mcproof.checks.ignores import KINDS
from mcproof.checks.reporting import find_spans, locate, rule_facts
from mcproof.checks.rule import find_rule
from mcproof.checks.scores.descriptions import judge
from mcproof.checks.scores.tokens import tool_tokens
from mcproof.core.errors import McproofError, UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import open_in_checkout
from mcproof.core.text.json_document import Edit
from mcproof.report.phrases import help_uri
from mcproof.runs.config import OWN_FILE, SHARED_FILE, SettingsFinder, directory_of, settings_of
from mcproof.services.lsp.documents import OpenDocuments, TextPositions, diagnostic_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcproof.checks.findings import ReportedFinding, RuleSummary
    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.services.lsp.analysis import Analysis, EditorProblem


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
    """A comment on the line of a finding, or on one of its item; None if there is no line on which it works."""
    source = catalog.source
    # A comment cannot silence a rule about code: anyone who publishes code could write one.
    if source is None or finding.rule.category == "source":
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
    starts = [0, *(line_end.end() for line_end in _LINE_END.finditer(text))]
    if line > len(starts):
        return None
    start = starts[line - 1]
    end = line_end.start() if (line_end := _LINE_END.search(text, start)) is not None else len(text)
    if (directive := _DIRECTIVE.search(text, start, end)) is not None:
        return Edit(directive.end(1), directive.end(1), f", {rule}" if directive[1].strip() else rule)
    written = text[start:end]
    if written.rstrip().endswith("\\") or not written.strip() or line in _continued_strings(text):
        return None
    at = start + len(written.rstrip())
    return Edit(at, at, f"  # mcproof: ignore[{rule}] {REASON}")


def _continued_strings(text: str) -> set[int]:
    """The lines whose end is inside a string."""
    lines: set[int] = set()
    opened: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(_LINE_END.sub("\n", text)).readline):
            name = tokenize.tok_name[token.type]
            # From Python 3.12 on, an f-string is several tokens; before, it is one string.
            if name == "FSTRING_START":
                opened.append(token.start[0])
            elif name == "FSTRING_END":
                lines.update(range(opened.pop() if opened else token.start[0], token.end[0]))
            elif token.type == tokenize.STRING:
                lines.update(range(token.start[0], token.end[0]))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return set(range(1, text.count("\n") + 2))  # nothing is certain
    return lines


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
    except (McproofError, OSError, UnicodeError):  # the configuration has a mistake, which its own diagnostic reports
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
    # TOML forbids an unescaped DEL, which JSON allows; otherwise their strings are written alike.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(file: str, contents: Mapping[str, bytes]) -> str:
    if file in contents:
        return contents[file].decode()
    with open(file, encoding="utf-8", newline="", opener=open_in_checkout) as opened:
        return opened.read()


def rules_on(line: str) -> Iterator[tuple[int, int, str]]:
    """The words in the brackets of comments on a line that ignore rules, with their columns."""
    for match in re.finditer(r"#[ \t]*mcproof:[ \t]*ignore(?:-file)?[ \t]*\[([^\]]*)", line):
        for word in re.finditer(r"[^\s,]+", match[1]):
            yield match.start(1) + word.start(), match.start(1) + word.end(), word[0]


OPEN_PAGE = "mcproof.openRulePage"
"""The command that opens the page of a rule."""
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.mcproof"
MOST_FINDINGS = 20
"""How many findings at one place get actions."""
MOST_OFFERED = 6
"""How many of them get an edit of a function: each takes a discovery."""


class EditorAbilities(NamedTuple):
    """What an editor can do with an action."""

    versioned_edits: bool = False
    create_files: bool = False
    show_pages: bool = False


class ActionRequest(NamedTuple):
    """The place that actions are wanted for, and the state of the documents."""

    analysis: Analysis
    documents: OpenDocuments
    where: types.Range
    abilities: EditorAbilities
    folder: str
    """Where a configuration would be created."""
    only: tuple[str, ...] = ()
    """The wanted kinds of actions; empty for all."""

    def wants(self, kind: str) -> bool:
        return not self.only or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in self.only)


def code_actions(request: ActionRequest) -> list[types.CodeAction]:
    """The actions for a place in a document."""
    problems = _problems_at(request)
    actions: list[types.CodeAction] = []
    if request.wants(types.CodeActionKind.QuickFix.value):
        actions += _fixes(request, problems)
        ignores = [action for problem in problems for action in _ignores(request, problem)]
        # Findings of one rule on one line are ignored by the same edit, which is offered once.
        distinct = {(action.title, str(action.edit)): action for action in ignores}
        actions += distinct.values()
        actions += _pages(request, problems)
    if any(kind.startswith("source") for kind in request.only) and request.wants(FIX_ALL):
        actions += _fix_all(request)  # only on request: editors run it on save
    return actions


def _problems_at(request: ActionRequest) -> list[EditorProblem]:
    """The findings of a document whose lines the place touches."""
    path, where = request.analysis.path, request.where
    text = request.documents.positions_in(path)
    problems = []
    for problem in request.analysis.problems:
        if problem.file == path and problem.finding is not None:
            shown = text.range_at(problem.line, problem.column, problem.end_column)
            if shown.start.line <= where.end.line and where.start.line <= shown.end.line:
                problems.append(problem)
    return problems[:MOST_FINDINGS]


def _fixes(request: ActionRequest, problems: list[EditorProblem]) -> Iterator[types.CodeAction]:
    """The certain fixes of some findings, and the edits of functions that leave a text to write."""
    catalog = request.analysis.catalog
    shown = [problem.finding for problem in problems if problem.finding is not None]
    pairs = zip(problems, originals(shown, request.analysis.findings), strict=True)  # each of them has a finding
    wanted = [(problem, finding) for problem, finding in pairs if finding is not None]
    if catalog is None or not wanted:
        return
    fixable = [(problem, finding) for problem, finding in wanted if finding.fix is not None]
    edits = proven_edits(catalog, [finding for _, finding in fixable])
    for number, (problem, finding) in enumerate(fixable):
        if number in edits and finding.fix is not None:
            title = f"Set `{finding.fix.key}` ({finding.rule.id})"
            change = _by_offsets(edits[number], request.documents)
            yield _action(request, title, problem, (change,), is_preferred=True)
    offered: set[str] = set()
    for problem, finding in wanted:
        if len(offered) == MOST_OFFERED:
            return
        offer = offered_edit(catalog, finding)
        # Findings of several rules ask for the same edit.
        if offer is not None and (key := f"{offer.title} {offer.edits}") not in offered:
            offered.add(key)
            change = FileEdits(os.path.abspath(offer.file), tuple(offer.edits))
            yield _action(request, f"{offer.title} ({finding.rule.id})", problem, (change,))


def _by_offsets(edit: FileEdit, documents: OpenDocuments) -> FileEdits:
    file, change = os.path.abspath(edit.file), edit.change
    text = documents.positions_in(file)
    start = text.offset_of(change.line, change.column)
    return FileEdits(file, (Edit(start, text.offset_of(change.end_line, change.end_column), change.text),))


def _fix_all(request: ActionRequest) -> Iterator[types.CodeAction]:
    """One action with every certain fix of the document."""
    catalog, findings = request.analysis.catalog, request.analysis.findings
    if catalog is None:
        return
    if catalog.source is None:
        changes = [FileEdits(request.analysis.path, tuple(fix_snapshot(catalog, findings).edits))]
    else:
        files = fix_source(catalog, findings).files
        changes = [FileEdits(os.path.abspath(file.file), tuple(file.edits)) for file in files]
    changes = [change for change in changes if change.edits]
    if changes:
        yield _action(request, "Fix all that mcproof can fix", None, tuple(changes), kind=FIX_ALL)


def _ignores(request: ActionRequest, problem: EditorProblem) -> Iterator[types.CodeAction]:
    analysis, documents, finding = request.analysis, request.documents, problem.finding
    if finding is None or analysis.catalog is None:
        return
    rule = finding.rule.id
    comment = comment_for(analysis.catalog, finding, lambda file: documents.positions_in(file).text)
    if comment is not None:
        yield _action(request, f"Ignore {rule} here, with a comment", problem, (comment,))
    entry = entry_for(analysis.path, finding, documents.contents(), request.folder)
    if entry is not None and (not entry.is_new or request.abilities.create_files):
        kind, _, name = finding.item.partition(":")
        scope = f"for {kind} `{name[:60]}` " if name else ""
        yield _action(request, f"Ignore {rule} {scope}in {os.path.basename(entry.file)}", problem, (entry,))


def _pages(request: ActionRequest, problems: list[EditorProblem]) -> Iterator[types.CodeAction]:
    if not request.abilities.show_pages:
        return
    for rule in {
        problem.finding.rule.id: problem.finding.rule for problem in problems if problem.finding is not None
    }.values():
        title = f"Open the page of {rule.id}"
        command = types.Command(title=title, command=OPEN_PAGE, arguments=[help_uri(rule)])
        yield types.CodeAction(title=title, kind=types.CodeActionKind.QuickFix, command=command)


def _action(
    request: ActionRequest,
    title: str,
    problem: EditorProblem | None,
    changes: tuple[FileEdits, ...],
    *,
    kind: str = types.CodeActionKind.QuickFix.value,
    is_preferred: bool | None = None,
) -> types.CodeAction:
    positions = request.documents.positions_in
    return types.CodeAction(
        title=title,
        kind=kind,
        diagnostics=[diagnostic_of(problem, positions(problem.file))] if problem is not None else None,
        is_preferred=is_preferred,
        edit=_workspace_edit(request, changes),
    )


def _workspace_edit(request: ActionRequest, changes: tuple[FileEdits, ...]) -> types.WorkspaceEdit:
    documents = request.documents
    # Every client knows the older form, which can neither name versions nor create files.
    if not request.abilities.versioned_edits and not any(change.is_new for change in changes):
        return types.WorkspaceEdit(
            changes={documents.uri_of(change.file): _text_edits(request, change) for change in changes}
        )
    listed: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
    for change in changes:
        document, uri = documents.get(change.file), documents.uri_of(change.file)
        if change.is_new:
            listed.append(types.CreateFile(uri=uri, options=types.CreateFileOptions(ignore_if_exists=True)))
        identifier = types.OptionalVersionedTextDocumentIdentifier(
            uri=uri, version=document.version if document is not None else None
        )
        listed.append(types.TextDocumentEdit(text_document=identifier, edits=[*_text_edits(request, change)]))
    return types.WorkspaceEdit(document_changes=listed)


def _text_edits(request: ActionRequest, change: FileEdits) -> list[types.TextEdit]:
    text = request.documents.positions_in(change.file)
    return [types.TextEdit(text.range_of(edit.start, edit.end), edit.replacement) for edit in change.edits]


LONGEST_WORD = 60
_QUOTED = re.compile(r"""["']([\w-]+)["']|^\s*([\w-]+)\s*=""")


def rule_text(rule: RuleSummary) -> str:
    """The text of a rule: what it reports, why, how to fix it, and a link to its page."""
    parts = [f"**{rule.id}** · {rule.ruleset} · {rule.severity}", rule.summary]
    parts += [f"**Why** {rule.why}"] if rule.why else []
    parts += [f"**Fix** {rule.fix}"] if rule.fix else []
    return "\n\n".join([*parts, f"[{rule.id}]({help_uri(rule)})"])


def rule_at(line: str, column: int, *, is_settings: bool) -> tuple[int, int, RuleSummary] | None:
    """The rule that a comment or a setting names at a column, with the columns of its name."""
    words = rules_on(line)
    if is_settings:
        words = (
            (match.start(group), match.end(group), match[group])
            for match in _QUOTED.finditer(line)
            for group in (1, 2)
            if match[group]
        )
    for start, end, word in words:
        if start <= column <= end:
            try:
                return start, end, rule_facts(find_rule(word[:LONGEST_WORD]))
            except UsageError:  # an ordinary word
                return None
    return None


MOST_KEPT = 2_000
"""How many titles are kept."""


class ToolLenses:
    """Makes lenses, and keeps the figures of tools that do not change."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}

    def lenses(self, analysis: Analysis, text: TextPositions) -> list[CodeLens]:
        """The lenses of the tools that a document defines."""
        catalog = analysis.catalog
        if catalog is None:
            return []
        return [
            CodeLens(range=text.range_of(offset, offset), command=Command(title=self._title(tool), command=""))
            for tool, offset in _places(catalog, analysis.path, text)
        ]

    def _title(self, tool: Tool) -> str:
        is_partial = tool.source is not None and bool(tool.source.unknown)
        key = f"{is_partial}{json.dumps(tool.raw)}"
        if key not in self._titles:
            if len(self._titles) >= MOST_KEPT:
                self._titles.clear()
            least = "at least " if is_partial else ""
            self._titles[key] = f"{least}{tool_tokens(tool):,} tokens · description {judge(tool).score:.2f}"
        return self._titles[key]


def _places(catalog: Catalog, path: str, text: TextPositions) -> Iterator[tuple[Tool, int]]:
    """The tools of a document, each with the offset of its name."""
    tools = [tool for tool in catalog.tools if tool.is_object]
    if catalog.source is None:
        spans = find_spans(catalog.document, [f"{tool.pointer}/name" for tool in tools])
        yield from ((tool, span.anchor) for tool, span in zip(tools, spans, strict=True))
        return
    for tool in tools:
        file, line, column, _ = locate(catalog, f"{tool.pointer}/name")
        if line is not None and os.path.abspath(file) == path:
            yield tool, text.offset_of(line, column or 1)
