"""Serve a store without a limit of requests; print the port, then one line for each line of input with the CPU time.

python benchmarks/servers/store_service.py DATABASE [--as-served]

With `--as-served`, connections have time limits and pages are kept for a second, as those of `mcproof serve`.
"""

from __future__ import annotations

import socket
import sys
import threading
import time

import uvicorn

from mcproof.services.store.database import open_database
from mcproof.services.web.page_cache import SECONDS
from mcproof.services.web.protection import TimedConnection
from mcproof.services.web.server import WebSettings, create_service


def report(server: uvicorn.Server) -> None:
    for _ in sys.stdin:
        print(time.process_time(), flush=True)
    server.should_exit = True


database = open_database(sys.argv[1])
is_served = "--as-served" in sys.argv
settings = WebSettings(requests_a_minute=1_000_000_000, page_seconds=SECONDS if is_served else 0.0)
http = TimedConnection if is_served else "auto"
config = uvicorn.Config(create_service(database, settings), port=0, log_config=None, access_log=False, http=http)
sock = config.bind_socket()
sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as `mcproof serve`; else each response waits 40 ms
sock.listen()  # so that a client that reads the port can connect
running = uvicorn.Server(config)
print(sock.getsockname()[1], flush=True)
threading.Thread(target=report, args=(running,), daemon=True).start()
running.run(sockets=[sock])
database.close()
