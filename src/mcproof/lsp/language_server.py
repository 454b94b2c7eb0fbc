"""The language server: what it offers to an editor, and the code behind each request."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer

from mcproof import __version__
from mcproof.lsp.code_actions import FIX_ALL, OPEN_PAGE, ActionRequest, EditorAbilities, code_actions
from mcproof.lsp.completion_items import TRIGGERS, completions
from mcproof.lsp.document_kinds import kind_of_document
from mcproof.lsp.editor_session import PAUSE, EditorSession
from mcproof.lsp.open_documents import path_of
from mcproof.lsp.rule_texts import rule_at, rule_text
from mcproof.lsp.tool_lenses import ToolLenses
from mcproof.report.phrases import page_url

if TYPE_CHECKING:
    from typing import BinaryIO

WATCHED = "**/*.{py,json,toml,yaml,yml}"
"""The files whose changes on disk an editor reports."""


class EditorServer(LanguageServer):
    """A language server over one session."""

    def __init__(self, pause: float = PAUSE) -> None:
        super().__init__("mcproof", __version__)
        self.session = EditorSession(self.text_document_publish_diagnostics, pause)
        self._lenses = ToolLenses()

    def can(self, capability: str) -> bool:
        """Whether the editor has a capability, given as a dotted path."""
        return bool(get_capability(self.client_capabilities, capability, default=False))

    async def start(self) -> None:
        """Adopt the editor's way to count columns, and ask for changes on disk."""
        encoding = self.server_capabilities.position_encoding
        self.session.documents.encoding = encoding or types.PositionEncodingKind.Utf16
        if self.can("workspace.did_change_watched_files.dynamic_registration"):
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(glob_pattern=WATCHED)])
            wanted = types.Registration("mcproof-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await self.client_register_capability_async(types.RegistrationParams([wanted]))

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """The code actions at a place; none if the document changed meanwhile."""
        session = self.session
        path = path_of(params.text_document.uri) or ""
        analysis = await session.current(path)
        if analysis is None:
            return []
        request = ActionRequest(
            analysis=analysis,
            documents=session.documents.snapshot(),
            where=params.range,
            abilities=EditorAbilities(
                versioned_edits=self.can("workspace.workspace_edit.document_changes"),
                create_files=types.ResourceOperationKind.Create
                in (get_capability(self.client_capabilities, "workspace.workspace_edit.resource_operations") or ()),
                show_pages=self.can("window.show_document.support"),
            ),
            folder=self._root_of(path),
            only=tuple(map(str, params.context.only or ())),
        )
        edit = session.edit
        found = await session.in_worker(code_actions, request)
        return found if session.edit == edit else []

    def _root_of(self, path: str) -> str:
        """The workspace folder of a file; the file's own folder if it is in none."""
        roots = [each for folder in self.workspace.folders.values() if (each := path_of(folder.uri)) is not None]
        around = [each for each in roots if path.startswith(each.rstrip(os.sep) + os.sep)]
        return max(around, key=len, default=os.path.dirname(path))

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """The texts of the rules at a place."""
        path = path_of(params.text_document.uri) or ""
        analysis = await self.session.settled(path)
        document = self.session.documents.get(path)
        if document is None:
            return None
        text = self.session.documents.positions_in(path)
        offset = text.offset_at(params.position)
        start = text.offset_at(types.Position(params.position.line, 0))
        is_settings = kind_of_document(path, document.content) == "settings"
        named = rule_at(text.line(params.position.line), offset - start, is_settings=is_settings)
        if named is not None:
            first, last, rule = named
            return _hover([rule_text(rule)], text.range_of(start + first, start + last))
        shown: dict[str, tuple[str, types.Range]] = {}
        for each in analysis.problems if analysis is not None else ():
            where = text.range_at(each.line, each.column, each.end_column)
            if each.finding is not None and each.file == path and where.start <= params.position <= where.end:
                shown.setdefault(each.finding.rule.id, (rule_text(each.finding.rule), where))
        return _hover([each for each, _ in shown.values()], next(iter(shown.values()))[1]) if shown else None

    async def lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        """The lenses of a document."""
        path = path_of(params.text_document.uri) or ""
        analysis = await self.session.settled(path)
        if analysis is None:
            return []
        text = self.session.documents.positions_in(path)
        return await self.session.in_worker(self._lenses.lenses, analysis, text)

    def complete(self, params: types.CompletionParams) -> types.CompletionList:
        """The words that fit at a place."""
        path = path_of(params.text_document.uri) or ""
        document = self.session.documents.get(path)
        kind = None if document is None else kind_of_document(path, document.content)
        items = [] if kind is None else completions(kind, self.session.documents.positions_in(path), params.position)
        return types.CompletionList(is_incomplete=False, items=items)


def _hover(texts: list[str], where: types.Range) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(texts)), where)


def create_server(pause: float = PAUSE) -> EditorServer:
    """The language server with all its features."""
    server = EditorServer(pause)
    session = server.session

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        await server.start()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        session.open(document.uri, document.version, document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def did_change(params: types.DidChangeTextDocumentParams) -> None:
        session.change(params.text_document.uri, params.text_document.version, params.content_changes)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(_: types.DidSaveTextDocumentParams) -> None:
        session.refresh()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def did_close(params: types.DidCloseTextDocumentParams) -> None:
        session.close(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_files(_: types.DidChangeWatchedFilesParams) -> None:
        session.refresh()

    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.actions(params)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        return await server.hover(params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        return await server.lenses(params)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=list(TRIGGERS)))
    def completion(params: types.CompletionParams) -> types.CompletionList:
        return server.complete(params)

    @server.command(OPEN_PAGE)
    async def open_page(url: Any) -> None:
        if isinstance(url, str) and url.startswith(page_url("")):
            await server.window_show_document_async(types.ShowDocumentParams(uri=url, external=True))

    return server


def serve(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Serve one editor until it disconnects."""
    server = create_server()
    try:
        server.start_io(stdin, stdout)
    finally:
        server.session.stop()
