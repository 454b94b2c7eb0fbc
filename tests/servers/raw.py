"""A stdio server with one protocol fault, named by its first argument.

It needs only the standard library and starts quickly; every fault is a short class.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, ClassVar

TOOLS: list[Any] = [
    {"name": "find_book", "description": "Find a book by words of its title.", "inputSchema": {"type": "object"}},
    {"name": "lend_book", "description": "Lend a book to a reader.", "inputSchema": {"type": "object"}},
]
META = "io.modelcontextprotocol/protocolVersion"
NOT_FOUND = -32601
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS = "2026-07-28"
CACHING = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"}
"""The members of a list in the newer era."""
FAULTS: dict[str, type[Server]] = {}


class RefusalError(Exception):
    """An error as the answer."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


class Server:
    """A good server of the older era."""

    capabilities: ClassVar[dict[str, Any]] = {"tools": {}}

    def __init_subclass__(cls, fault: str, **others: Any) -> None:
        super().__init_subclass__(**others)
        FAULTS[fault] = cls

    def run(self) -> None:
        self.start()
        for line in sys.stdin.buffer:
            self.take(json.loads(line))
        self.end()

    def start(self) -> None:
        """Before anything is read."""

    def end(self) -> None:
        """After the input was closed."""

    def take(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self.request(message)

    def request(self, message: dict[str, Any]) -> None:
        try:
            outcome = {"result": self.result(message["method"], message.get("params") or {})}
        except RefusalError as refusal:
            outcome = {"error": refusal.error}
        self.send({"jsonrpc": "2.0", "id": message["id"], **outcome})

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            return self.introduction(params)
        if method == "tools/list":
            return {"tools": TOOLS}
        raise RefusalError(NOT_FOUND, f"Method not found: {method}")

    def introduction(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": self.capabilities,
            "serverInfo": {"name": "library", "version": "1.0"},
        }

    def send(self, envelope: Any) -> None:
        self.write(json.dumps(envelope).encode() + b"\n")

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


class Good(Server, fault="good"):
    pass


# Noise between the messages.


class GarbageFirst(Server, fault="garbage-first"):
    def start(self) -> None:
        self.write(b"Library server 1.0\nlistening on stdio\n")


class GarbageBetween(Server, fault="garbage-between"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        self.write(f"DEBUG {method}\n".encode())
        return super().result(method, params)


class JsonLogs(Server, fault="json-logs"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        self.write(b'{"level":"error","error":"none, really"}\n')
        return super().result(method, params)


class Secretive(Server, fault="repeats-environment"):
    """Writes what it was given to wherever it can."""

    def result(self, method: str, params: dict[str, Any]) -> Any:
        secret = os.environ["SECRET"]
        self.write(f"using {secret}\n{'x' * 195}{secret}\n".encode())
        if method == "tools/list":
            return {"tools": [{**TOOLS[0], "description": f"Uses {secret}.", secret: {"default": secret}}]}
        if method == "prompts/list":
            raise RefusalError(1, f"{secret} is wrong")
        return super().result(method, params)

    def introduction(self, params: dict[str, Any]) -> dict[str, Any]:
        return {**super().introduction(params), "capabilities": {"tools": {}, "prompts": {}}}


class Encoder(Server, fault="encodes-environment"):
    """Repeats a variable in the encodings that servers use."""

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method != "tools/list":
            return super().result(method, params)
        from base64 import b64encode, urlsafe_b64encode
        from urllib.parse import quote, quote_plus

        value = os.environ["DSN"]
        forms = [value, quote(value), quote(value, safe=""), quote_plus(value), json.dumps(value), value.encode().hex()]
        for prefix in ("", "a", "ab"):
            text = f"{prefix}{value}{prefix}".encode()
            forms += [b64encode(text).decode(), urlsafe_b64encode(text).decode()]
        return {"tools": [{**TOOLS[0], "description": f"Uses {form}."} for form in forms]}


class DiesSecretively(Server, fault="dies-with-secret"):
    def start(self) -> None:
        sys.stderr.write(f"bad key {os.environ.get('SECRET', '')} {sys.argv[-1]}\n")
        sys.exit(3)


class ShowsEnvironment(Server, fault="shows-environment"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {"tools": [{"name": name} for name in sorted(os.environ)]}
        return super().result(method, params)


class BadUtf8Line(Server, fault="bad-utf8-line"):
    def start(self) -> None:
        self.write(b"caf\xe9 \xff\n")


class BadUtf8Answer(Server, fault="bad-utf8-answer"):
    def write(self, data: bytes) -> None:
        super().write(data.replace(b"title", b"t\xeftle"))


class ByteOrderMark(Server, fault="byte-order-mark"):
    def start(self) -> None:
        sys.stdout.buffer.write(b"\xef\xbb\xbf")


class CarriageReturns(Server, fault="crlf"):
    def write(self, data: bytes) -> None:
        super().write(data.replace(b"\n", b"\r\n"))


class BlankLines(Server, fault="blank-lines"):
    def write(self, data: bytes) -> None:
        super().write(b"\n \n" + data + b"\r\n")


class SeveralLines(Server, fault="multi-line"):
    """One message on several lines, for the lists; the handshake is good."""

    def send(self, envelope: Any) -> None:
        lines = 1 if "tools" in envelope.get("result", {}) else None
        self.write(json.dumps(envelope, indent=lines).encode() + b"\n")


class Drip(Server, fault="drip"):
    def write(self, data: bytes) -> None:
        for byte in data:
            super().write(bytes([byte]))


class HugeLine(Server, fault="huge-line"):
    """Twenty megabytes in one line."""

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {"tools": [{**TOOLS[0], "description": "x" * 20_000_000}, TOOLS[1]]}
        return super().result(method, params)


class LongNoise(Server, fault="long-noise"):
    """A line that is longer than a lowered limit, before the answer."""

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            self.write(b"x" * 300_000 + b"\n")
        return super().result(method, params)


class EndlessLine(Server, fault="endless-line"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        while method == "tools/list":
            self.write(b"x" * 65_536)
        return super().result(method, params)


class StdoutFlood(Server, fault="stdout-flood"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            for _ in range(20):
                self.write(b"noise\n" * 1000)
        return super().result(method, params)


class EndlessFlood(Server, fault="endless-flood"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        while method == "tools/list":
            self.write(b"noise\n" * 1000)
        return super().result(method, params)


class StderrFlood(Server, fault="stderr-flood"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        sys.stderr.write("a line of a log\n" * 300_000)
        return super().result(method, params)


# Envelopes.


class Envelope(Server, fault="envelope"):
    """Answers to the lists that are changed on their way out."""

    def send(self, envelope: Any) -> None:
        super().send(self.changed(envelope) if "tools" in envelope.get("result", {}) else envelope)

    def changed(self, envelope: dict[str, Any]) -> Any:
        return envelope


class WrongId(Envelope, fault="wrong-id"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return {**envelope, "id": 4711}


class TextId(Envelope, fault="text-id"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return {**envelope, "id": str(envelope["id"])}


class AlwaysTextId(Server, fault="always-text-id"):
    def send(self, envelope: Any) -> None:
        super().send({**envelope, "id": str(envelope["id"])})


class NullId(Envelope, fault="null-id"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return {**envelope, "id": None}


class NoId(Envelope, fault="no-id"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return {key: value for key, value in envelope.items() if key != "id"}


class NoVersion(Envelope, fault="no-jsonrpc"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return {key: value for key, value in envelope.items() if key != "jsonrpc"}


class Both(Envelope, fault="result-and-error"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return {**envelope, "error": {"code": 1, "message": "half done"}}


class Neither(Envelope, fault="neither"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return {"jsonrpc": "2.0", "id": envelope["id"]}


class ListResult(Envelope, fault="list-result"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return {**envelope, "result": TOOLS}


class TextCode(Envelope, fault="text-code"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return {"jsonrpc": "2.0", "id": envelope["id"], "error": {"code": "ENOENT", "message": "no books"}}


class Batch(Envelope, fault="batch"):
    def changed(self, envelope: dict[str, Any]) -> Any:
        return [envelope]


class Twice(Envelope, fault="answers-twice"):
    def send(self, envelope: Any) -> None:
        super().send(envelope)
        if "protocolVersion" in envelope.get("result", {}):
            super().send(envelope)


class DuplicateKeys(Server, fault="duplicate-keys"):
    def write(self, data: bytes) -> None:
        super().write(data.replace(b'"name": "find_book"', b'"name": "other", "name": "find_book"'))


class NotANumber(Server, fault="nan"):
    def write(self, data: bytes) -> None:
        super().write(data.replace(b'"inputSchema"', b'"x": [NaN, 1e999, -Infinity], "inputSchema"', 1))


class Surrogate(Server, fault="surrogate"):
    def write(self, data: bytes) -> None:
        super().write(data.replace(b"title", rb"ti\ud800tle"))


class Deep(Server, fault="deep"):
    """As deep as a parser may just go."""

    def write(self, data: bytes) -> None:
        depth = int(sys.argv[2])
        super().write(data.replace(b'"inputSchema"', b'"x": ' + b"[" * depth + b"]" * depth + b', "inputSchema"', 1))


# Processes that end, hang or stay.


class ExitAtStart(Server, fault="exit-at-start"):
    def start(self) -> None:
        sys.stderr.write("Traceback (most recent call last):\nModuleNotFoundError: No module named 'library'\n\n")
        sys.exit(7)


class KilledAtStart(Server, fault="killed-at-start"):
    def start(self) -> None:
        os.kill(os.getpid(), 9)


class ExitMidAnswer(Server, fault="exit-mid-answer"):
    def write(self, data: bytes) -> None:
        if b"find_book" in data:
            super().write(data[:60])
            sys.stderr.write("out of books\n")
            sys.exit(5)
        super().write(data)


class ExitOnPrompts(Server, fault="exit-on-prompts"):
    capabilities: ClassVar[dict[str, Any]] = {"tools": {}, "prompts": {}}

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "prompts/list":
            sys.exit(5)
        return super().result(method, params)


class ClosesOutput(Server, fault="closes-output"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            os.close(1)
            sys.stdin.buffer.read()
            os._exit(0)
        return super().result(method, params)


class HangAtStart(Server, fault="hang-at-start"):
    def start(self) -> None:
        sys.stderr.write("connecting to the database\n")
        sys.stderr.flush()
        announce()
        sys.stdin.buffer.read()


class HangOnList(Server, fault="hang-on-list"):
    """Hangs until it is cancelled, and reports that."""

    capabilities: ClassVar[dict[str, Any]] = {"tools": {}, "prompts": {}}

    def take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "notifications/cancelled":
            self.cancelled = message["params"]["requestId"]
        elif message.get("method") != "tools/list":
            super().take(message)
        else:
            self.asked = message["id"]
            announce()

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "prompts/list":
            return {"prompts": [{"name": "cancelled" if self.cancelled == self.asked else "forgotten"}]}
        return super().result(method, params)


class LateAnswer(HangOnList, fault="late-answer"):
    """Answers what was given up, before the next."""

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "prompts/list":
            self.send({"jsonrpc": "2.0", "id": self.asked, "result": {"tools": TOOLS}})
        return super().result(method, params)


class NeverReads(Server, fault="never-reads"):
    """Answers the handshake, then leaves its input alone, and floods."""

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            for number in range(20_000):
                self.send({"jsonrpc": "2.0", "id": number, "method": "ping"})
        return super().result(method, params)


class DiesOfUnknown(Server, fault="dies-of-unknown"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "server/discover":
            raise KeyError(method)
        return super().result(method, params)


class IgnoresUnknown(Server, fault="ignores-unknown"):
    def take(self, message: dict[str, Any]) -> None:
        if message.get("method") in ("initialize", "tools/list"):
            super().take(message)


class IgnoresUnknownNullId(IgnoresUnknown, fault="ignores-unknown-null-id"):
    def send(self, envelope: Any) -> None:
        super().send({**envelope, "id": None})


class Late(Server, fault="slow-start"):
    """Answers nothing until the handshake has come as well, or for a second."""

    def run(self) -> None:
        from select import select

        data = os.read(0, 1 << 16)
        while data.count(b"\n") < 2 and select([0], [], [], 1.0)[0] and (more := os.read(0, 1 << 16)):
            data += more
        for message in self.ordered([json.loads(line) for line in data.splitlines()]):
            self.take(message)
        super().run()

    def ordered(self, waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return waiting


class IgnoresEof(Server, fault="ignores-eof"):
    def end(self) -> None:
        from signal import pause

        pause()


class IgnoresSigterm(IgnoresEof, fault="ignores-sigterm"):
    def start(self) -> None:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)


class Grandchild(Server, fault="grandchild"):
    """Leaves a process behind that holds its output."""

    def start(self) -> None:
        import subprocess

        code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
        subprocess.Popen([sys.executable, "-I", "-S", "-c", code, *sys.argv[2:]])


class GrandchildOfHanging(Grandchild, fault="grandchild-and-hang"):
    def start(self) -> None:
        super().start()
        announce()
        sys.stdin.buffer.read()


class GrandchildOfDead(Grandchild, fault="grandchild-and-exit"):
    def start(self) -> None:
        super().start()
        os._exit(4)


class Stubborn(Grandchild, fault="stubborn"):
    """Has a grandchild, ignores the end of its input, SIGTERM and SIGINT, and hangs on its list."""

    def start(self) -> None:
        import signal

        super().start()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    def take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "tools/list":
            announce()
        else:
            super().take(message)

    def end(self) -> None:
        from signal import pause

        announce()
        pause()


def announce() -> None:
    """Tell whoever waits at the other end of a named pipe that the process has come as far as it will."""
    if "READY" in os.environ:
        with open(os.environ["READY"], "w", encoding="utf-8") as ready:
            ready.write("ready")


# What is asked of the client.


class AsksClient(Server, fault="asks-client"):
    """Asks for everything, and lists the answers as tools."""

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method != "tools/list":
            return super().result(method, params)
        asked = ("ping", "sampling/createMessage", "roots/list")
        for number, each in enumerate(asked):
            self.send({"jsonrpc": "2.0", "id": f"s{number}", "method": each, "params": {}})
        replies: dict[str, Any] = {}
        while len(replies) < len(asked):
            message = json.loads(sys.stdin.buffer.readline())
            if "method" not in message:
                replies[message["id"]] = message
        return {"tools": [{"name": key, "reply": replies[key]} for key in sorted(replies)]}


class Notifies(Server, fault="notifies"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        self.send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": method}})
        return super().result(method, params)


# Lists.


class EndlessPages(Server, fault="endless-pages"):
    pages = 0

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            self.pages += 1
            return {"tools": TOOLS, "nextCursor": f"page {self.pages}"}
        return super().result(method, params)


class Pages(Server, fault="pages"):
    """Three good pages of every list."""

    capabilities: ClassVar[dict[str, Any]] = {"tools": {}, "resources": {}, "prompts": {}}

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if not method.endswith("/list"):
            return super().result(method, params)
        page = int(params.get("cursor", "1"))
        key = "resourceTemplates" if "templates" in method else method.partition("/")[0]
        more = {"nextCursor": str(page + 1)} if page < 3 else {}
        return {key: [{"name": f"{key} {page}"}], **more}


class CursorLoop(Server, fault="cursor-loop"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {"tools": TOOLS[:1], "nextCursor": "b" if params.get("cursor") == "a" else "a"}
        return super().result(method, params)


class NumberCursor(Server, fault="number-cursor"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {"tools": TOOLS, "nextCursor": 2}
        return super().result(method, params)


class ToolsNotAList(Server, fault="tools-not-a-list"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {"tools": {"find_book": {}}}
        return super().result(method, params)


class NoTools(Server, fault="no-tools-key"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {}
        return super().result(method, params)


class OddTools(Server, fault="odd-tools"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {"tools": [None, 7, "find_book", [], TOOLS[0]]}
        return super().result(method, params)


class NotServed(Server, fault="not-served"):
    capabilities: ClassVar[dict[str, Any]] = {"tools": {}, "resources": {}, "prompts": {}}


class Undeclared(Pages, fault="undeclared"):
    capabilities: ClassVar[dict[str, Any]] = {"prompts": {}}


class NoCapabilities(Pages, fault="no-capabilities"):
    def introduction(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"protocolVersion": params["protocolVersion"]}


# Revisions and eras.


class OldRevision(Server, fault="old-revision"):
    def introduction(self, params: dict[str, Any]) -> dict[str, Any]:
        return {**super().introduction(params), "protocolVersion": "2024-11-05"}


class UnknownRevision(Server, fault="unknown-revision"):
    def introduction(self, params: dict[str, Any]) -> dict[str, Any]:
        return {**super().introduction(params), "protocolVersion": "1.0"}


class NoRevision(Server, fault="no-revision"):
    def introduction(self, params: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in super().introduction(params).items() if key != "protocolVersion"}


class EmptyIntroduction(Server, fault="empty-introduction"):
    def introduction(self, params: dict[str, Any]) -> dict[str, Any]:
        return {}


class RefusesInitialize(Server, fault="refuses-initialize"):
    def introduction(self, params: dict[str, Any]) -> dict[str, Any]:
        raise RefusalError(-32000, "no licence")


class Modern(Server, fault="modern"):
    """A good server of the newer era, which knows no handshake."""

    supported: ClassVar[list[str]] = [STATELESS]

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            raise RefusalError(NOT_FOUND, "Method not found: initialize")
        revision = params.get("_meta", {}).get(META)
        if revision is None:
            raise RefusalError(-32602, "no protocol version in _meta")
        if revision not in self.supported:
            raise RefusalError(-32022, "Unsupported protocol version", {"supported": self.supported})
        if method == "server/discover":
            info = {"io.modelcontextprotocol/serverInfo": {"name": "library", "version": "1.0"}}
            return {"supportedVersions": self.supported, "capabilities": self.capabilities, "_meta": info}
        result = super().result(method, params)
        return {**result, **CACHING} if method.endswith("/list") else result


class Dual(Modern, fault="dual"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            return self.introduction(params)
        if META not in params.get("_meta", {}) and method != "server/discover":
            return Server.result(self, method, params)
        return super().result(method, params)


class ModernOfTomorrow(Modern, fault="modern-other-revision"):
    supported: ClassVar[list[str]] = ["2027-01-01"]


class ModernUnnamed(Modern, fault="modern-unnamed-revision"):
    supported: ClassVar[list[str]] = []


class OldByVersion(Dual, fault="refuses-revision-speaks-old"):
    """Knows the newer era and speaks only the older."""

    supported: ClassVar[list[str]] = ["2025-11-25", "2025-06-18"]


class NoSupportedVersions(Server, fault="discover-without-versions"):
    def result(self, method: str, params: dict[str, Any]) -> Any:
        return {} if method == "server/discover" else super().result(method, params)


class LateModern(Late, Modern, fault="slow-modern"):
    pass


class LateModernTurned(Late, Modern, fault="slow-modern-turned"):
    """Refuses the handshake before it answers what came first."""

    def ordered(self, waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return waiting[::-1]


class LateDual(Late, Dual, fault="slow-dual"):
    """Stays in the older era from the handshake on, as servers of an official SDK do."""

    has_handshake = False

    def result(self, method: str, params: dict[str, Any]) -> Any:
        self.has_handshake |= method == "initialize"
        if self.has_handshake and method.endswith("/list"):
            raise RefusalError(-32600, "this connection is in the older era")
        return super().result(method, params)


class LateTurned(Late, fault="slow-turned"):
    """Answers the handshake before it refuses what came first."""

    def ordered(self, waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return waiting[::-1]


if __name__ == "__main__":
    FAULTS[sys.argv[1]]().run()
