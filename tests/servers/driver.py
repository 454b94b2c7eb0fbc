"""A program that captures servers as mcproof does, for tests of signals.

Its arguments: the grace period of a server, a folder with a named pipe for each server, the faults of `raw.py`, and a
marker for the command lines. It prints each outcome, and then the remaining child processes.
"""

from __future__ import annotations

import os
import sys

from client.running import children, command
from mcproof.client import waiting
from mcproof.client.capture import Capture, capture_all
from mcproof.client.connect import ConnectOptions
from mcproof.client.connection import Limits
from mcproof.client.endpoints import CommandEndpoint, Endpoint
from mcproof.client.transports import stdio

LIMITS = Limits(start=60, request=60, total=60, grace=60)


def main(grace: str, folder: str, *faults_and_marker: str) -> None:
    stdio.GRACE = waiting.GRACE = float(grace)
    *faults, marker = faults_and_marker
    servers: list[Endpoint] = [
        command(fault, marker, READY=os.path.join(folder, str(number))) for number, fault in enumerate(faults)
    ]

    def done(server: Endpoint) -> None:
        if isinstance(server, CommandEndpoint) and "good" in server.words:
            with open(server.environment["READY"], "w", encoding="utf-8") as ready:
                ready.write("ready")

    results, interrupted = capture_all(servers, ConnectOptions(LIMITS), done)
    for result in results:
        print("captured" if isinstance(result, Capture) else result)  # noqa: T201
    print(f"interrupted: {interrupted}")  # noqa: T201
    print(f"children: {children()}")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
