"""What happens between an edit and its diagnostics: wait for a pause, check what the edit touches, publish."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol.types import PublishDiagnosticsParams

from mcproof.lsp.analysis import Analyst
from mcproof.lsp.diagnostics import diagnostic_of
from mcproof.lsp.document_kinds import kind_of_document
from mcproof.lsp.open_documents import OpenDocuments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from lsprotocol.types import TextDocumentContentChangeEvent

    from mcproof.lsp.analysis import Analysis, EditorProblem
    from mcproof.lsp.open_documents import OpenDocument

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
        self._checked: dict[str, CheckedDocument] = {}
        self._shown: dict[str, set[str]] = {}
        """The files with diagnostics from each document."""
        self._timer: asyncio.TimerHandle | None = None
        self._run: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        """Set when an analysis is there or a document is closed; then replaced."""

    # --- what the editor reports

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
        self._checked.pop(document.path, None)
        self._touch(document, pause=0)
        self._show(document.path, ())
        self._tell()

    def refresh(self) -> None:
        """Check all documents, because files changed on disk."""
        self._edit += 1
        for each in self.documents:
            self._due[each.path] = self._edit
        self._wait(0)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._worker.shutdown(wait=False, cancel_futures=True)

    # --- checks

    def _touch(self, document: OpenDocument, pause: float) -> None:
        self._edit += 1
        self._changed[document.path] = self._edit
        is_for_all = kind_of_document(document.path, b"") == "settings"
        for each in self.documents:
            known = self._checked.get(each.path)
            depends = known is not None and document.path in known.analysis.depends
            if is_for_all or depends or each.path == document.path:
                self._due[each.path] = self._edit
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
        while self._due:
            path = min(self._due, key=lambda each: (-self._changed.get(each, 0), each))  # the last edit first
            if not await self._check(path) and self._timer is not None:
                return  # an edit came meanwhile; the pause after it starts another run

    async def current(self, path: str) -> Analysis | None:
        """The analysis of a document as it is now; None if it is not open."""
        while self.documents.get(path) is not None:
            known = self._checked.get(path)
            if known is not None and path not in self._due:
                return known.analysis
            await self._check(path)
        return None

    async def _check(self, path: str) -> bool:
        """Check a document; return whether the result is still current."""
        if self.documents.get(path) is None:
            self._due.pop(path, None)
            return True
        edit = self._edit
        analysis = await self.in_worker(self._analyst.analyse, path, self.documents.contents())
        if self.documents.get(path) is None or not self._is_current(analysis, edit):
            return False
        self._due.pop(path, None)
        self._checked[path] = CheckedDocument(edit, analysis)
        self._show(path, analysis.problems)
        self._tell()
        return True

    async def settled(self, path: str) -> Analysis | None:
        """The analysis of a document after the pause that follows its last edit; None if it is not open."""
        while self.documents.get(path) is not None and path in self._due:
            await self._news.wait()
        known = self._checked.get(path)
        return known.analysis if known is not None else None

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    @property
    def edit(self) -> int:
        """The number of edits so far."""
        return self._edit

    def _is_current(self, analysis: Analysis, edit: int) -> bool:
        """Whether nothing that an analysis depends on has changed since the edit that it started with."""
        if self._due.get(analysis.path, 0) > edit:
            return False
        return all(self._changed.get(each, 0) <= edit for each in (analysis.path, *analysis.depends))

    async def in_worker(self, work: Callable[..., Result], *arguments: object) -> Result:
        """The result of work in the thread that checks, so that it never runs twice at once."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, *arguments)

    # --- diagnostics

    def _show(self, path: str, problems: Iterable[EditorProblem]) -> None:
        """Publish the diagnostics of every file that had or has some from this document."""
        before = self._shown.pop(path, set())
        now = {each.file for each in problems}
        if now:
            self._shown[path] = now
        document = self.documents.get(path)
        own = {path} if document is not None else set()
        for file in sorted(before | now | own):
            self._publish_file(file)

    def _publish_file(self, file: str) -> None:
        text = self.documents.positions_in(file)
        problems = [
            each for checked in self._checked.values() for each in checked.analysis.problems if each.file == file
        ]
        document = self.documents.get(file)
        self._publish(
            PublishDiagnosticsParams(
                uri=self.documents.uri_of(file),
                diagnostics=[diagnostic_of(each, text) for each in _unique(problems)],
                version=document.version if document is not None else None,
            )
        )


def _unique(problems: Iterable[EditorProblem]) -> list[EditorProblem]:
    """Problems without those that two documents report alike."""
    found = {each._replace(finding=None): each for each in problems}
    return sorted(found.values(), key=lambda each: (each.line or 0, each.column or 0))


def _worker() -> ThreadPoolExecutor:
    """One thread with a large stack."""
    worker = ThreadPoolExecutor(1, thread_name_prefix="mcproof")
    before = threading.stack_size(STACK)
    try:
        worker.submit(int).result()  # starts the thread
    finally:
        threading.stack_size(before)
    return worker
