"""Code actions: fix a finding, fix all of a document, ignore a finding with a reason, open the page of a rule."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types

from mcproof.checks.fixes import fix_snapshot, proven_edits
from mcproof.checks.fixes.source import fix_source
from mcproof.core.text.json_document import Edit
from mcproof.lsp.diagnostics import diagnostic_of
from mcproof.lsp.ignore_entries import FileEdits, comment_for, entry_for
from mcproof.report.phrases import help_uri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.findings import Finding, ReportedFinding
    from mcproof.checks.fixes import FileEdit
    from mcproof.lsp.analysis import Analysis, EditorProblem
    from mcproof.lsp.open_documents import OpenDocuments

OPEN_PAGE = "mcproof.openRulePage"
"""The command that opens the page of a rule."""
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.mcproof"
MOST_FINDINGS = 20
"""How many findings at one place get actions."""


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
        return not self.only or any(kind == each or kind.startswith(f"{each}.") for each in self.only)


def code_actions(request: ActionRequest) -> list[types.CodeAction]:
    """The actions for a place in a document."""
    problems = _problems_at(request)
    actions: list[types.CodeAction] = []
    if request.wants(types.CodeActionKind.QuickFix.value):
        actions += _fixes(request, problems)
        ignores = [each for problem in problems for each in _ignores(request, problem)]
        actions += {(each.title, str(each.edit)): each for each in ignores}.values()  # one for findings of one line
        actions += _pages(request, problems)
    if any(each.startswith("source") for each in request.only) and request.wants(FIX_ALL):
        actions += _fix_all(request)  # only on request: editors run it on save
    return actions


def _problems_at(request: ActionRequest) -> list[EditorProblem]:
    """The findings of a document whose lines the place touches."""
    path, where = request.analysis.path, request.where
    text = request.documents.positions_in(path)
    found = []
    for each in request.analysis.problems:
        if each.file == path and each.finding is not None:
            shown = text.range_at(each.line, each.column, each.end_column)
            if shown.start.line <= where.end.line and where.start.line <= shown.end.line:
                found.append(each)
    return found[:MOST_FINDINGS]


# --- fixes


def _fixes(request: ActionRequest, problems: list[EditorProblem]) -> Iterator[types.CodeAction]:
    """The certain fixes of some findings."""
    catalog = request.analysis.catalog
    wanted = [(each, _judged(request.analysis, each.finding)) for each in problems if each.finding is not None]
    fixable = [(each, finding) for each, finding in wanted if finding is not None and finding.fix is not None]
    if catalog is None or not fixable:
        return
    edits = proven_edits(catalog, [finding for _, finding in fixable])
    for number, (problem, finding) in enumerate(fixable):
        if number in edits and finding.fix is not None:
            title = f"Set `{finding.fix.key}` ({finding.rule.id})"
            change = _by_offsets(edits[number], request.documents)
            yield _action(request, title, problem, (change,), is_preferred=True)


def _judged(analysis: Analysis, reported: ReportedFinding) -> Finding | None:
    """The finding behind a reported one."""
    for each in analysis.found.active if analysis.found is not None else ():
        if (each.rule.id, each.item.pointer, each.pointer, each.message) == (
            *(reported.rule.id, reported.item_pointer),
            *(reported.pointer, reported.message),
        ):
            return each
    return None


def _by_offsets(edit: FileEdit, documents: OpenDocuments) -> FileEdits:
    file, change = os.path.abspath(edit.file), edit.change
    text = documents.positions_in(file)
    start = text.offset_of(change.line, change.column)
    return FileEdits(file, (Edit(start, text.offset_of(change.end_line, change.end_column), change.text),))


def _fix_all(request: ActionRequest) -> Iterator[types.CodeAction]:
    """One action with every certain fix of the document."""
    catalog, found = request.analysis.catalog, request.analysis.found
    if catalog is None or found is None:
        return
    if catalog.source is None:
        changes = [FileEdits(request.analysis.path, tuple(fix_snapshot(catalog, found.active).edits))]
    else:
        files = fix_source(catalog, found.active).files
        changes = [FileEdits(os.path.abspath(each.file), tuple(each.edits)) for each in files]
    changes = [each for each in changes if each.edits]
    if changes:
        yield _action(request, "Fix all that mcproof can fix", None, tuple(changes), kind=FIX_ALL)


# --- ignores and pages


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
    for rule in {each.finding.rule.id: each.finding.rule for each in problems if each.finding is not None}.values():
        title = f"Open the page of {rule.id}"
        command = types.Command(title=title, command=OPEN_PAGE, arguments=[help_uri(rule)])
        yield types.CodeAction(title=title, kind=types.CodeActionKind.QuickFix, command=command)


# --- as LSP has it


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
    if not request.abilities.versioned_edits and not any(each.is_new for each in changes):
        return types.WorkspaceEdit(
            changes={documents.uri_of(each.file): _text_edits(request, each) for each in changes}
        )
    listed: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
    for each in changes:
        document, uri = documents.get(each.file), documents.uri_of(each.file)
        if each.is_new:
            listed.append(types.CreateFile(uri=uri, options=types.CreateFileOptions(ignore_if_exists=True)))
        identifier = types.OptionalVersionedTextDocumentIdentifier(
            uri=uri, version=document.version if document is not None else None
        )
        listed.append(types.TextDocumentEdit(text_document=identifier, edits=[*_text_edits(request, each)]))
    return types.WorkspaceEdit(document_changes=listed)


def _text_edits(request: ActionRequest, change: FileEdits) -> list[types.TextEdit]:
    text = request.documents.positions_in(change.file)
    return [types.TextEdit(text.range_of(each.start, each.end), each.replacement) for each in change.edits]
