"""A process of its own that kills the servers of mcproof if mcproof itself is killed.

mcproof starts it by its path, without importing mcproof. Each line on standard input is `+ MARK PID` or `- MARK`; the
end of input means that mcproof has ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    running: dict[bytes, list[int]] = {}
    for line in sys.stdin.buffer:
        sign, mark, *numbers = line.split()
        if sign == b"+":
            running.setdefault(mark, []).extend(map(int, numbers))
        else:
            running.pop(mark, None)
    for _ in range(3 if running else 0):  # a process that was forked just now gets its mark a moment later
        for mark, groups in running.items():
            for group in groups:
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
            kill_marked(mark)
        time.sleep(0.1)


def kill_marked(mark: bytes) -> None:
    """Kill every process with this mark in its environment, which only systems with `/proc` show."""
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:  # a system without `/proc`, where killing the process group has to be enough
        return
    for number in numbers:
        try:
            with open(f"/proc/{number}/environ", "rb") as environment:
                is_marked = b"MCPROOF_SERVER=" + mark in environment.read(1_000_000).split(b"\0")
            if is_marked and number != os.getpid():
                os.kill(number, signal.SIGKILL)
        except OSError:  # it ended meanwhile, or belongs to another user
            continue


if __name__ == "__main__":
    main()
