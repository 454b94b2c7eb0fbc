"""An editor to test with: a real client over stdio, with the methods of an editor and without a screen."""

from __future__ import annotations

import ast
import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from limits import HANG
from mcproof.services.lsp.documents import TextPositions, changed_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

STALE = 60
"""Seconds after which diagnostics that are not the expected ones count as stale."""
CAPABILITIES = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[types.ResourceOperationKind.Create]
        )
    ),
    window=types.WindowClientCapabilities(show_document=types.ShowDocumentClientCapabilities(support=True)),
)


class Editor:
    """A client, its server process, and the documents that are open in it."""

    def __init__(self, capabilities: types.ClientCapabilities = CAPABILITIES) -> None:
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.shown_documents: list[str] = []
        self.messages: list[str] = []
        self._arrived = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client = LanguageClient("editor", "1")
        self._listen()
        self.capabilities = self.wait_for(self._start(capabilities))
        self.encoding = self.capabilities.position_encoding or "utf-16"

    def _listen(self) -> None:
        for method, handle in {
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._publish,
            types.WINDOW_SHOW_MESSAGE: self._show_message,
            types.WINDOW_SHOW_DOCUMENT: self._show_document,
        }.items():
            self._client.feature(method)(lambda params, handle=handle: handle(params))

    def _publish(self, params: types.PublishDiagnosticsParams) -> None:
        with self._arrived:
            self.published[params.uri] = params
            self._arrived.notify_all()

    def _show_message(self, params: types.ShowMessageParams) -> None:
        self.messages.append(params.message)

    def _show_document(self, params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        self.shown_documents.append(params.uri)
        return types.ShowDocumentResult(success=True)

    async def _start(self, capabilities: types.ClientCapabilities) -> types.ServerCapabilities:
        await self._client.start_io(sys.executable, "-m", "mcproof", "lsp", "--stdio")
        result = await self._client.initialize_async(types.InitializeParams(capabilities=capabilities))
        self._client.initialized(types.InitializedParams())
        return result.capabilities

    def wait_for(self, request: Awaitable[Any]) -> Any:
        """The response to a request."""

        async def wait() -> Any:
            return await request

        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result(HANG)

    def request(self, send: str, params: Any) -> Any:
        """Send a request by the name of the client's method."""
        return self.wait_for(getattr(self._client, f"{send}_async")(params))

    def notify(self, send: str, params: Any) -> None:
        """Send a notification by the name of the client's method."""
        method: Callable[[Any], None] = getattr(self._client, send)

        async def tell() -> None:
            method(params)

        self.wait_for(tell())

    def close(self) -> int:
        """End the session; return the exit code of the server."""

        async def stop() -> int:
            server = self._client._server
            assert server is not None
            await self._client.shutdown_async(None)
            self._client.exit(None)
            code = await server.wait()
            await self._client.stop()  # type: ignore[no-untyped-call]
            await asyncio.sleep(0)  # lets the transports close
            return code

        code: int = self.wait_for(stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(HANG)
        self._loop.close()
        return code

    # --- documents

    def open(self, file: Path, text: str | None = None) -> str:
        """Open a file, perhaps with text that is not saved; return its URI."""
        uri = file.absolute().as_uri()
        self.texts[uri] = file.read_bytes().decode() if text is None else text
        self.versions[uri] = 1
        self.published.pop(uri, None)
        item = types.TextDocumentItem(uri=uri, language_id="plain", version=1, text=self.texts[uri])
        self.notify("text_document_did_open", types.DidOpenTextDocumentParams(text_document=item))
        return uri

    def shut(self, uri: str) -> None:
        """Close a document."""
        del self.texts[uri], self.versions[uri]
        params = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        self.notify("text_document_did_close", params)

    def replace(self, uri: str, old: str, new: str) -> None:
        """Replace the first occurrence of a text in a document, as one incremental change."""
        at = self.texts[uri].index(old)
        self.edit(uri, at, at + len(old), new)

    def edit(self, uri: str, start: int, end: int, new: str) -> None:
        """Replace a range of characters, as one incremental change."""
        where = TextPositions(self.texts[uri], self.encoding).range_of(start, end)
        self.change(uri, [types.TextDocumentContentChangePartial(range=where, text=new)])

    def change(self, uri: str, changes: list[Any]) -> None:
        self.texts[uri] = changed_text(self.texts[uri], changes, self.encoding)
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        self.notify("text_document_did_change", types.DidChangeTextDocumentParams(document, changes))

    def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of the present version of a document."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self._is_current(uri), HANG), "no diagnostics"
            return list(self.published[uri].diagnostics)

    def until(self, uri: str, is_met: Callable[[list[str]], bool]) -> None:
        """Wait until the codes of the diagnostics of a document meet a condition; for changes of other documents."""

        def met() -> bool:
            return self._is_current(uri) and is_met(sorted(str(each.code) for each in self.published[uri].diagnostics))

        with self._arrived:
            assert self._arrived.wait_for(met, HANG), "the diagnostics did not change"

    def wait_until_shown(self, uri: str, wanted: list[str]) -> None:
        """Wait until the present version of a document has exactly these diagnostics; fail if it never has."""

        def shown() -> list[str]:
            return sorted(map(shown_as_text, self.published[uri].diagnostics)) if self._is_current(uri) else ["not yet"]

        with self._arrived:
            self._arrived.wait_for(lambda: shown() == wanted, STALE)
            assert shown() == wanted

    def _is_current(self, uri: str) -> bool:
        known = self.published.get(uri)
        return known is not None and known.version == self.versions[uri]

    def codes(self, uri: str) -> list[str]:
        """The rules and notices in a document, sorted."""
        return sorted(str(each.code) for each in self.diagnostics(uri))

    # --- code actions

    def actions(self, uri: str, where: types.Range) -> list[types.CodeAction]:
        """The code actions at a range."""
        params = types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri),
            range=where,
            context=types.CodeActionContext(diagnostics=[]),
        )
        return [_action(each) for each in self.request("text_document_code_action", params) or ()]

    def apply(self, action: types.CodeAction) -> dict[str, str]:
        """Apply the edit of a code action to the open documents; return the texts of created files, by URI."""
        assert action.edit is not None
        created: dict[str, str] = {}
        for change in action.edit.document_changes or ():
            if isinstance(change, types.CreateFile):
                created[change.uri] = ""
                continue
            assert isinstance(change, types.TextDocumentEdit)
            uri, edits = change.text_document.uri, list(change.edits)
            if uri not in self.texts:
                created[uri] = _edited(created.get(uri, ""), edits, self.encoding)
                continue
            assert change.text_document.version in (None, self.versions[uri])
            text = _edited(self.texts[uri], edits, self.encoding)
            self.change(uri, [types.TextDocumentContentChangeWholeDocument(text=text)])
        return created


def shown_as_text(diagnostic: types.Diagnostic) -> str:
    """What a user sees of a diagnostic."""
    return f"{diagnostic.range} {diagnostic.severity} {diagnostic.code}: {diagnostic.message}"


def _action(read: types.CodeAction | types.Command) -> types.CodeAction:
    """An action; lsprotocol reads one with a command as that command, with its fields as text."""
    if isinstance(read, types.CodeAction):
        return read
    return types.CodeAction(read.title, command=types.Command(**ast.literal_eval(read.command)))


def _edited(text: str, edits: list[Any], encoding: str) -> str:
    positions = TextPositions(text, encoding)
    spans = [(positions.offset_at(each.range.start), positions.offset_at(each.range.end)) for each in edits]
    for number in sorted(range(len(edits)), key=lambda at: (spans[at], at), reverse=True):
        start, end = spans[number]
        text = f"{text[:start]}{edits[number].new_text}{text[end:]}"
    return text
