"""A server with one fault, named by the first argument; `good` has none.

Usage: `python -I -S contract.py FAULT [--http] [--era handshake|stateless]`. It needs only the standard library. Over
HTTP it prints its port; over both transports it exits when its stdin is closed. The default era is that of the fault.
The environment variable CALLED names a file to which the name of every called tool is appended. `contract_faults.py`
defines the faults and the expected findings; `checkers.py` has servers that check their arguments in part.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # which `-I` leaves out

from servers.checkers import CHECKERS
from servers.contract_faults import FAULTS, Broken, die
from servers.library import NEVER

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

    from servers.library import Reply


def main(words: list[str]) -> None:
    library = server(words)
    if "--http" in words:
        serve_http(library)
    else:
        serve_stdio(library)


def server(words: list[str]) -> Broken:
    """The server that the command line asks for."""
    fault = {**FAULTS, **CHECKERS}.get(words[0]) if words else None
    if fault is None:
        sys.exit(f"there is no such fault; these are: {', '.join(FAULTS)}")
    transport = "http" if "--http" in words else "stdio"
    if fault.transport not in (None, transport):
        sys.exit(f"this fault needs the transport {fault.transport}")
    era = words[words.index("--era") + 1] if "--era" in words else fault.era or "handshake"
    if era not in ("handshake", "stateless") or fault.era not in (None, era):
        sys.exit(f"this fault needs the era {fault.era or 'handshake or stateless'}")
    return fault(era)


def serve_stdio(library: Broken) -> None:
    for line in sys.stdin.buffer:
        if line.strip():
            reply = library.receive(line)
            if reply.body:
                sys.stdout.buffer.write(reply.body + b"\n")
                sys.stdout.buffer.flush()
            outlive(reply)


def serve_http(library: Broken) -> None:
    from socketserver import ThreadingTCPServer

    ThreadingTCPServer.daemon_threads = True
    ThreadingTCPServer.request_queue_size = 100
    with ThreadingTCPServer(("127.0.0.1", 0), handler(library)) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        sys.stdout.write(f"{listening.server_address[1]}\n")
        sys.stdout.flush()
        sys.stdin.buffer.read()
        os._exit(0)  # whatever still hangs


def handler(library: Broken) -> type[BaseHTTPRequestHandler]:
    from http.server import BaseHTTPRequestHandler

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # the head and the body of an answer go out together
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            reply = library.receive(data, self.headers)
            if reply is NEVER:
                threading.Event().wait()
            self.send_response(reply.status)
            if reply.body:
                self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)
            self.wfile.flush()
            outlive(reply)

        def do_GET(self) -> None:
            self.send_response(405)
            self.send_header("Allow", "POST")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


def outlive(reply: Reply) -> None:
    """Go on, or end as soon as the reply says."""
    if reply.dies_after == 0:
        die()
    elif reply.dies_after is not None:
        timer = threading.Timer(reply.dies_after, die)
        timer.daemon = True
        timer.start()


if __name__ == "__main__":
    main(sys.argv[1:])
