"""What a confined process is refused, and that files which become links are not followed out of their folder."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from limits import HANG
from mcproof.core.text.files import open_inside
from mcproof.services.workers.messages import ANYWHERE, WorkerLimits
from mcproof.services.workers.worker import Worker, WorkerError

from .jobs import Order
from .test_workers import OBEY, _functions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["_functions"]

OUTSIDE = "outside the allowed folders"
NO_WRITES = "this server does not write files"


class Place:
    """An allowed folder with a file in it, a folder where files may be written, and one with a secret."""

    def __init__(self, folder: Path) -> None:
        self.root, self.written, self.outside = folder / "root", folder / "written", folder / "outside"
        for inside in (self.root, self.written, self.outside):
            inside.mkdir()
            (inside / "a.txt").write_text(f"text of {inside.name}")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def done(place: Place, word: str, path: object = "", number: int = 0, *, network: tuple[str, ...] | None = None) -> str:
    limits = WorkerLimits(HANG, roots=(str(place.root),), network=network, writes=(str(place.written),), forgets=True)
    worker = Worker(OBEY, Order, str, limits)
    try:
        return worker.run(Order(word, str(path), number=number))
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("word", "path", "outcome"),
    [
        ("read", "{root}/a.txt", "text of root"),
        ("read_by_path", "{root}/a.txt", "text of root"),
        ("read", "{root}/../outside/a.txt", OUTSIDE),
        ("read_by_path", "{outside}/a.txt", OUTSIDE),
        ("list", "{root}", "['a.txt']"),
        ("list", "{outside}", OUTSIDE),
        ("write", "{root}/new", NO_WRITES),
        ("write", "{outside}/new", NO_WRITES),
        ("write", "{written}/new", "written"),
        ("remove", "{root}/a.txt", "this server only reads files, refused: os.remove"),
        ("remove", "{written}/a.txt", "None"),
        ("start", "", "this server only reads files, refused: subprocess.Popen"),
        ("system", "", "this server only reads files, refused: os.system"),
    ],
)
def test_what_is_refused(place: Place, word: str, path: str, outcome: str) -> None:
    asked = path.format(root=place.root, outside=place.outside, written=place.written)
    if word == "write" and outcome == NO_WRITES:
        with pytest.raises(WorkerError, match=NO_WRITES):
            done(place, word, asked)
    else:
        assert done(place, word, asked) == outcome
    assert not (place.root / "new").exists()


def test_a_link_is_followed_inside_and_not_out(place: Place) -> None:
    (place.root / "inner").symlink_to(place.root)
    (place.root / "outer").symlink_to(place.outside)
    (place.root / "file").symlink_to(place.outside / "a.txt")
    assert done(place, "read", place.root / "inner" / "a.txt") == "text of root"
    assert done(place, "read", place.root / "outer" / "a.txt") == OUTSIDE
    assert done(place, "read", place.root / "file") == OUTSIDE


def test_a_file_that_becomes_a_link_after_its_check_is_not_read(place: Place) -> None:
    """Whoever may write in the folder, such as an agent in a sandbox, must not read files elsewhere in this way."""
    (place.written / "a.txt.link").symlink_to(place.outside / "a.txt")
    assert done(place, "read_swapped", place.written / "a.txt") == OUTSIDE
    assert os.path.islink(place.written / "a.txt")


def test_no_part_of_a_path_is_a_link_when_it_is_opened(place: Place) -> None:
    (place.root / "outer").symlink_to(place.outside)
    (place.root / "file").symlink_to(place.outside / "a.txt")
    for name in ("outer/a.txt", "file"):
        with pytest.raises(OSError, match=r"Too many levels|Not a directory"):
            open_inside(str(place.root / name), str(place.root))
    with open(open_inside(str(place.root / "a.txt"), str(place.root)), encoding="utf-8") as file:
        assert file.read() == "text of root"


def test_connections_are_refused_or_lead_to_the_allowed_networks(place: Place, listening: int) -> None:
    def connected(network: tuple[str, ...] | None) -> str:
        return done(place, "connect", "127.0.0.1", listening, network=network)

    assert connected(None) == "this server only reads files, refused: socket.getaddrinfo"
    assert connected(()) == "not connected: a loopback address; only public addresses are allowed"
    assert connected(("10.0.0.0/8",)) == "not connected: a loopback address; only public addresses are allowed"
    assert connected(("127.0.0.0/8",)) == "connected"
    assert connected(ANYWHERE) == "connected"
