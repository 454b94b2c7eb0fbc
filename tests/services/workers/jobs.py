"""Functions that workers of the tests run, each of them badly behaved in its own way."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.errors import InputError
from mcproof.core.stored_form import record
from mcproof.core.text import files

if TYPE_CHECKING:
    from collections.abc import Callable


@record()
class Order(NamedTuple):
    """What to do."""

    word: str
    path: str = ""
    data: bytes = b""
    number: int = 0


_SEEN: list[str] = []


def obey(order: Order, send: Callable[[str], None]) -> str:
    """Do what an order says, and return what came of it."""
    try:
        return str(getattr(_Orders, order.word)(order, send))
    except PermissionError as error:
        return str(error.strerror)


async def wait(order: Order) -> str:
    """Wait for some milliseconds."""
    await asyncio.sleep(order.number / 1000)
    return order.word


class _Orders:
    @staticmethod
    def echo(order: Order, send: Callable[[str], None]) -> str:
        sys.stdout.write("not a message")
        send("one")
        send("two\ud800")
        return f"{order.data!r} {order.path}"

    @staticmethod
    def fail(order: Order, _: object) -> str:
        raise InputError("no", file=order.path)

    @staticmethod
    def die(_: Order, __: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    @staticmethod
    def sleep(order: Order, send: Callable[[str], None]) -> None:
        send(str(os.getpid()))
        time.sleep(order.number)

    @staticmethod
    def spin(_: Order, send: Callable[[str], None]) -> None:
        send(str(os.getpid()))
        while True:
            pass

    @staticmethod
    def allocate(order: Order, _: object) -> int:
        return len(bytearray(order.number))

    @staticmethod
    def remember(order: Order, _: object) -> list[str]:
        _SEEN.append(order.path)
        return _SEEN

    @staticmethod
    def process(_: Order, __: object) -> int:
        return os.getpid()

    @staticmethod
    def read(order: Order, _: object) -> str:
        with open(order.path, encoding="utf-8") as file:
            return file.read()

    @staticmethod
    def read_by_path(order: Order, _: object) -> str:
        return Path(order.path).read_text(encoding="utf-8")

    @staticmethod
    def read_swapped(order: Order, _: object) -> str:
        """Read a file that becomes a link just before it is opened, after every check of its path."""

        def swap(event: str, arguments: tuple[object, ...]) -> None:
            if event == "open" and arguments[0] == order.path and os.path.exists(f"{order.path}.link"):
                os.replace(f"{order.path}.link", order.path)

        sys.addaudithook(swap)
        return _Orders.read(order, None)

    @staticmethod
    def write(order: Order, _: object) -> str:
        files.write_private_file(order.path, b"written")
        return "written"

    @staticmethod
    def remove(order: Order, _: object) -> None:
        os.remove(order.path)

    @staticmethod
    def list(order: Order, _: object) -> list[str]:
        return sorted(os.listdir(order.path))

    @staticmethod
    def start(_: Order, __: object) -> int:
        return subprocess.run([sys.executable, "-c", ""], check=False).returncode

    @staticmethod
    def system(_: Order, __: object) -> int:
        return os.system("true")  # noqa: S605, S607

    @staticmethod
    def connect(order: Order, _: object) -> str:
        try:
            socket.create_connection((order.path, order.number), 5).close()
        except ConnectionRefusedError:
            return "nobody listens"
        return "connected"
