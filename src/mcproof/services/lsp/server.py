"""The language server: what it offers to an editor, and what happens between an edit and its diagnostics.

A session waits for a pause in typing, checks what the edit touches, and publishes.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from lsprotocol import types
from lsprotocol.types import PublishDiagnosticsParams, TextDocumentContentChangeEvent
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from mcproof import __version__
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.phrases import page_url
from mcproof.services.lsp.actions import (
    FIX_ALL,
    OPEN_PAGE,
    ActionRequest,
    EditorAbilities,
    ToolLenses,
    code_actions,
    rule_at,
    rule_text,
)
from mcproof.services.lsp.analysis import Analysis, Analyst, EditorProblem
from mcproof.services.lsp.completion import TRIGGERS, completions
from mcproof.services.lsp.documents import OpenDocument, OpenDocuments, diagnostic_of, kind_of_document, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


if TYPE_CHECKING:
    Result = TypeVar("Result")

PAUSE = 0.2
"""Seconds without an edit before a document is checked."""
STACK = 64 << 20
"""The stack of the thread that checks, in bytes; nested source needs more than some systems give to threads."""


class CheckedDocument(NamedTuple):
    """An analysis, and the edit that it includes."""

    edit: int
    analysis: Analysis


class EditorSession:
    """The open documents of an editor with their analyses. Everything runs on the event loop, but for the checks."""

    def __init__(self, publish: Callable[[PublishDiagnosticsParams], None], pause: float = PAUSE) -> None:
        self.documents = OpenDocuments()
        self._publish = publish
        self._pause = pause
        self._analyst = Analyst()
        self._worker = _worker()
        self._edit = 0
        self._changed: dict[str, int] = {}
        """The last edit of each file that was open."""
        self._due: dict[str, int] = {}
        """The edit since which each document needs a check; absent if it needs none."""
        self._unscanned: set[str] = set()
        """The documents whose code is to be scanned when nothing is due."""
        self._checked: dict[str, CheckedDocument] = {}
        self._shown: dict[str, set[str]] = {}
        """The files with diagnostics from each document."""
        self._timer: asyncio.TimerHandle | None = None
        self._run: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        """Set when an analysis is there or a document is closed; then replaced."""

    def open(self, uri: str, version: int, text: str) -> None:
        """Take over an opened document, and check it at once."""
        document = self.documents.open(uri, version, text)
        if document is not None:
            self._touch(document, pause=0)

    def change(self, uri: str, version: int, changes: Iterable[TextDocumentContentChangeEvent]) -> None:
        """Check a changed document, and those that depend on it, after a pause."""
        document = self.documents.change(uri, version, changes)
        if document is not None:
            self._touch(document, pause=self._pause)

    def close(self, uri: str) -> None:
        """Forget a document; others that depend on it see the file on disk again."""
        document = self.documents.close(uri)
        if document is None:
            return
        self._due.pop(document.path, None)
        self._unscanned.discard(document.path)
        self._checked.pop(document.path, None)
        self._touch(document, pause=0)
        self._show(document.path, ())
        self._notify()

    def refresh(self) -> None:
        """Check all documents, because files changed on disk."""
        self._edit += 1
        for document in self.documents:
            self._due[document.path] = self._edit
        self._wait(0)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _touch(self, document: OpenDocument, pause: float) -> None:
        self._edit += 1
        self._changed[document.path] = self._edit
        is_for_all = kind_of_document(document.path, b"") == "settings"
        for other in self.documents:
            checked = self._checked.get(other.path)
            depends = checked is not None and document.path in checked.analysis.depends
            if is_for_all or depends or other.path == document.path:
                self._due[other.path] = self._edit
        self._wait(pause)

    def _wait(self, pause: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(pause, self._start)

    def _start(self) -> None:
        self._timer = None
        if self._run is None or self._run.done():
            self._run = asyncio.get_running_loop().create_task(self._check_due())

    async def _check_due(self) -> None:
        while self._due or self._unscanned:
            if not self._due:
                await asyncio.sleep(self._pause)
                if self._timer is not None:
                    return  # an edit came meanwhile; the pause after it starts another run
                if not self._due and self._unscanned:
                    await self._scan(self._unscanned.pop())
                continue
            # The user looks at the document of the last edit.
            path = min(self._due, key=lambda due: (-self._changed.get(due, 0), due))
            if not await self._check(path) and self._timer is not None:
                return

    async def current(self, path: str) -> Analysis | None:
        """The analysis of a document as it is now; None if it is not open."""
        while self.documents.get(path) is not None:
            checked = self._checked.get(path)
            if checked is not None and path not in self._due:
                return checked.analysis
            await self._check(path)
        return None

    async def _check(self, path: str) -> bool:
        """Check a document; return whether the result is still current."""
        if self.documents.get(path) is None:
            self._due.pop(path, None)
            return True
        # Read before the check begins, so that an edit during it is noticed.
        edit = self._edit
        analysis = await self.in_worker(self._analyst.analyse, path, self.documents.contents())
        if self.documents.get(path) is None or not self._is_current(analysis, edit):
            return False
        self._due.pop(path, None)
        self._unscanned.discard(path)
        if analysis.is_scanned:
            self._unscanned.add(path)
        if (before := self._checked.get(path)) is not None:
            analysis = analysis.keeping(before.analysis, self.documents.contents()[path])
        self._put(path, CheckedDocument(edit, analysis))
        return True

    def _put(self, path: str, checked: CheckedDocument) -> None:
        self._checked[path] = checked
        self._show(path, checked.analysis.problems)
        self._notify()

    async def _scan(self, path: str) -> None:
        """Add what a scan finds in the code of a document, unless it was edited meanwhile."""
        edit = self._edit
        problems = await self.in_worker(self._analyst.scan, path, self.documents.contents())
        checked = self._checked.get(path)
        if checked is not None and self._is_current(checked.analysis, edit):
            self._put(path, checked._replace(analysis=checked.analysis.with_scanned(problems)))

    async def settled(self, path: str) -> Analysis | None:
        """The analysis of a document after the pause that follows its last edit; None if it is not open."""
        while self.documents.get(path) is not None and path in self._due:
            await self._news.wait()
        checked = self._checked.get(path)
        return checked.analysis if checked is not None else None

    def _notify(self) -> None:
        self._news.set()
        # Those who wait for the old one have not run yet, so it is replaced rather than cleared.
        self._news = asyncio.Event()

    @property
    def edit(self) -> int:
        """The number of edits so far."""
        return self._edit

    def _is_current(self, analysis: Analysis, edit: int) -> bool:
        """Whether nothing that an analysis depends on has changed since the edit that it started with."""
        if self._due.get(analysis.path, 0) > edit:
            return False
        return all(self._changed.get(file, 0) <= edit for file in (analysis.path, *analysis.depends))

    async def in_worker(self, work: Callable[..., Result], *arguments: object) -> Result:
        """The result of work in the thread that checks, so that it never runs twice at once."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, *arguments)

    def _show(self, path: str, problems: Iterable[EditorProblem]) -> None:
        """Publish the diagnostics of every file that had or has some from this document."""
        before = self._shown.pop(path, set())
        now = {problem.file for problem in problems}
        if now:
            self._shown[path] = now
        document = self.documents.get(path)
        own = {path} if document is not None else set()
        for file in sorted(before | now | own):
            self._publish_file(file)

    def _publish_file(self, file: str) -> None:
        text = self.documents.positions_in(file)
        problems = [
            problem
            for checked in self._checked.values()
            for problem in checked.analysis.problems
            if problem.file == file
        ]
        # What two documents report alike is shown once.
        unique = {problem._replace(finding=None): problem for problem in problems}.values()
        in_order = sorted(unique, key=lambda problem: (problem.line or 0, problem.column or 0))
        document = self.documents.get(file)
        self._publish(
            PublishDiagnosticsParams(
                uri=self.documents.uri_of(file),
                diagnostics=[diagnostic_of(problem, text) for problem in in_order],
                version=document.version if document is not None else None,
            )
        )


def _worker() -> ThreadPoolExecutor:
    """One thread with a large stack."""
    worker = ThreadPoolExecutor(1, thread_name_prefix="mcproof")
    before = threading.stack_size(STACK)
    try:
        worker.submit(int).result()  # a thread gets the stack size of the moment when it starts
    finally:
        threading.stack_size(before)
    return worker


WATCHED = "**/*.{py,json,toml,yaml,yml}"
"""The files whose changes on disk an editor reports."""


class EditorProtocol(LanguageServerProtocol):
    """The protocol; a request with parameters that cannot be read, such as a negative position, gets an error."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Read a message; None for a request that is answered here."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" not in data or not isinstance(data.get("id"), (int, str)):
                raise
            self._send_response(data["id"], error=error.to_response_error())
            return None

    def handle_message(self, message: Any) -> None:
        """Pass a message on, if there is one."""
        if message is not None:
            super().handle_message(message)


class EditorServer(LanguageServer):
    """A language server over one session."""

    def __init__(self, pause: float = PAUSE) -> None:
        super().__init__("mcproof", __version__, protocol_cls=EditorProtocol)
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
        actions = await session.in_worker(code_actions, request)
        # Offsets in an older text would change the wrong place.
        return actions if session.edit == edit else []

    def _root_of(self, path: str) -> str:
        """The workspace folder of a file; the file's own folder if it is in none."""
        roots = [root for folder in self.workspace.folders.values() if (root := path_of(folder.uri)) is not None]
        around = [root for root in roots if path.startswith(root.rstrip(os.sep) + os.sep)]
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
        for problem in analysis.problems if analysis is not None else ():
            where = text.range_at(problem.line, problem.column, problem.end_column)
            if problem.finding is not None and problem.file == path and where.start <= params.position <= where.end:
                shown.setdefault(problem.finding.rule.id, (rule_text(problem.finding.rule), where))
        return _hover([content for content, _ in shown.values()], next(iter(shown.values()))[1]) if shown else None

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
        # Whatever runs in the editor can send this command, so it opens nothing but pages of rules.
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
