"""What a measurement takes and returns."""

from __future__ import annotations

import pathlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from catalogs import catalog, write_folder
from packages import write_package

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from timing import Spent

Clock = Literal["cpu", "wall"]
MANY_FILES = 5_000


class Comparison(NamedTuple):
    """A figure, and the same by the other clock if there is one."""

    value: float
    detail: str
    clock: Clock | None = None
    other: float | None = None

    @classmethod
    def of(cls, work: Spent, reference: Spent, detail: str = "", *, clock: Clock = "cpu") -> Comparison:
        """Compare times: CPU time for work that computes, wall time for work that waits."""
        cpu, wall = work.cpu / reference.cpu, work.wall / reference.wall
        times = f"{getattr(work, clock) * 1000:,.0f} ms against {getattr(reference, clock) * 1000:,.0f} ms"
        value, other = (cpu, wall) if clock == "cpu" else (wall, cpu)
        return cls(value, f"{times}; {detail}" if detail else times, clock, other)


class Measurement(NamedTuple):
    """A row of the table in `bench.py`."""

    name: str
    """For the command line; the figures of one topic share a prefix."""
    title: str
    limit: float | None
    measure: Callable[[Workspace], Comparison]
    unit: str = "x"

    def is_missed_by(self, measured: Comparison) -> bool:
        """Whether a figure is over the limit, if there is one."""
        return self.limit is not None and measured.value > self.limit


class Workspace:
    """A temporary folder, and generated inputs that are written on first use."""

    def __init__(
        self, folder: pathlib.Path, closing: ExitStack, catalogs: str | None = None, sources: str | None = None
    ) -> None:
        self.folder = folder
        self.closing = closing
        """Ends what measurements start, after the last one."""
        self.kept: dict[str, Any] = {}
        """What measurements of one topic share."""
        self._catalogs = catalogs
        self._sources = sources

    @cached_property
    def catalogs(self) -> pathlib.Path:
        """A folder of snapshots."""
        return pathlib.Path(self._catalogs) if self._catalogs else write_folder(self.folder / "catalogs")

    @cached_property
    def snapshots(self) -> list[tuple[bytes, str]]:
        """The content and name of each of these snapshots."""
        return [(path.read_bytes(), path.name) for path in sorted(self.catalogs.glob("*.json"))]

    @cached_property
    def large_snapshot(self) -> pathlib.Path:
        """A snapshot of 100 KB."""
        file = self.folder / "large.json"
        tools = 40
        while len(catalog(7, tools)) < 100_000:
            tools += 1
        file.write_text(catalog(7, tools), encoding="utf-8")
        return file

    @cached_property
    def many_files(self) -> pathlib.Path:
        """A folder of 5,000 snapshots with two tools each."""
        folder = self.folder / "many"
        folder.mkdir()
        for number in range(MANY_FILES):
            (folder / f"server-{number:04}.json").write_text(catalog(number, 2), encoding="utf-8")
        return folder

    @cached_property
    def packages(self) -> list[pathlib.Path]:
        """Folders of Python source."""
        if self._sources:
            return sorted(pathlib.Path(self._sources).iterdir())
        return [write_package(self.folder / "package")]
