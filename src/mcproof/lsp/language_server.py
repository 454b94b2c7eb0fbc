"""The language server: what it offers to an editor, and which code answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from mcproof import __version__
from mcproof.lsp.editor_session import PAUSE, EditorSession

if TYPE_CHECKING:
    from typing import BinaryIO


class EditorServer(LanguageServer):
    """A language server over one session."""

    def __init__(self, pause: float = PAUSE) -> None:
        super().__init__("mcproof", __version__)
        self.session = EditorSession(self.text_document_publish_diagnostics, pause)


def create_server(pause: float = PAUSE) -> EditorServer:
    """The language server with all its features."""
    server = EditorServer(pause)
    session = server.session

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        encoding = server.server_capabilities.position_encoding
        session.documents.encoding = encoding or types.PositionEncodingKind.Utf16

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

    return server


def serve(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Serve one editor until it disconnects."""
    server = create_server()
    try:
        server.start_io(stdin, stdout)
    finally:
        server.session.stop()
