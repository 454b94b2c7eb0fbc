"""Many live servers, good and bad, over stdio and HTTP, each with the outcome that a sweep must report."""

from __future__ import annotations

import shlex
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING

from client.running import RAW
from servers import web

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = {
    "good": "checked",
    "garbage-first": "checked",
    "json-logs": "checked",
    "stderr-flood": "checked",
    "modern": "checked",
    "dies-of-unknown": "checked",
    "grandchild": "checked",
    "exit-at-start": "unreachable",
    "killed-at-start": "unreachable",
    "hang-at-start": "timed-out",
    "endless-flood": "timed-out",
    "exit-mid-answer": "unreachable",
    "refuses-initialize": "unreachable",
    "grandchild-and-exit": "unreachable",
    "ignores-sigterm": "checked",
}
URLS = {
    "json": "checked",
    "events": "checked",
    "modern": "checked",
    "legacy": "checked",
    "401": "unreachable",
    "500": "unreachable",
    "hang": "timed-out",
    "not-http": "unreachable",
    "events-left-open": "checked",
    "session": "checked",
    "404": "unreachable",
    "website": "unreachable",
    "closes-at-once": "unreachable",
    "redirect-other-host": "unreachable",
}
_DEAD = "http://127.0.0.1:9/mcp"


@contextmanager
def running_fleet(count: int, marker: str) -> Iterator[dict[str, str]]:
    """Start the servers at URLs; yield the lines of a list with this many targets, each with its outcome.

    A server at a URL serves many targets, which differ in the path. Every command line has the marker in it.
    """
    with ExitStack() as stack:
        urls = {fault: stack.enter_context(web.FAULTS[fault]()).url for fault in URLS if fault != "legacy"}
        targets: dict[str, str] = {}
        number = 0
        while len(targets) < count:
            number += 1
            urls["legacy"] = stack.enter_context(web.FAULTS["legacy"]()).url  # it has one session
            others = {f"{_DEAD}/{number}": "unreachable", f"no-such-program {number}": "unreachable"}
            commands = {shlex.join((*RAW, fault, f"{marker}-{number}")): COMMANDS[fault] for fault in COMMANDS}
            remotes = {f"{urls[fault]}/{number}": URLS[fault] for fault in URLS}
            for some in zip_longest(commands.items(), remotes.items(), others.items()):
                targets.update(each for each in some if each is not None)
        yield dict(list(targets.items())[:count])
