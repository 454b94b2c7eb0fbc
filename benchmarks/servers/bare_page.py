"""Serve one page of FastAPI and nothing else; print the port. The end of standard input ends it."""

from __future__ import annotations

import socket
import sys
import threading

import uvicorn
from fastapi import FastAPI
from fastapi.responses import HTMLResponse

app = FastAPI()


@app.get("/", response_class=HTMLResponse)
def page() -> str:
    return "<!doctype html><title>hello</title><p>hello</p>"


def end(server: uvicorn.Server) -> None:
    sys.stdin.read()
    server.should_exit = True


config = uvicorn.Config(app, port=0, log_config=None, access_log=False)
sock = config.bind_socket()
sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as `mcproof serve`; else each response waits 40 ms
sock.listen()
running = uvicorn.Server(config)
print(sock.getsockname()[1], flush=True)
threading.Thread(target=end, args=(running,), daemon=True).start()
running.run(sockets=[sock])
