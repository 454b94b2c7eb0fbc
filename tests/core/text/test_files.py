"""Writing files in one step: the old one or the new one, and nothing left behind."""

from __future__ import annotations

import os
import signal
import stat
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.core.errors import WriteError
from mcproof.core.text.files import append_file, open_in_checkout, replace_file, write_file

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and pipes of POSIX")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.json"
    path.write_bytes(b"old")
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced(file: Path) -> None:
    replace_file(str(file), b"old", b"new")
    assert file.read_bytes() == b"new"
    assert names_in(file.parent) == ["file.json"]


def test_a_file_that_was_changed_meanwhile_is_not_replaced(file: Path) -> None:
    with pytest.raises(WriteError, match="changed since it was read"):
        replace_file(str(file), b"what was read", b"new")
    assert file.read_bytes() == b"old"


def test_a_file_that_is_gone_is_not_brought_back(file: Path) -> None:
    file.unlink()
    with pytest.raises(WriteError, match="cannot be written"):
        replace_file(str(file), b"old", b"new")
    assert names_in(file.parent) == []


def test_a_file_is_written_whether_or_not_there_was_one(file: Path) -> None:
    write_file(str(file), b"new")
    write_file(str(file.with_name("other.json")), b"other")
    assert (file.read_bytes(), file.with_name("other.json").read_bytes()) == (b"new", b"other")


def test_a_name_alone_is_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_file("file.json", b"new")
    assert names_in(tmp_path) == ["file.json"]


@pytest.mark.parametrize("name", ["", ".", "none/file.json"])
def test_what_is_no_place_for_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WriteError, match="cannot be written"):
        write_file(name, b"new")
    with pytest.raises(WriteError, match="cannot be written"):
        append_file(name, b"new")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("write", [write_file, lambda name, data: replace_file(name, b"old", data)])
def test_a_read_only_file_stays(file: Path, write: Any) -> None:
    file.chmod(0o444)
    with pytest.raises(WriteError, match="read-only"):
        write(str(file), b"new")
    assert file.read_bytes() == b"old"


@pytest.mark.parametrize("write", [write_file, lambda name, data: replace_file(name, b"old", data)])
@pytest.mark.parametrize("failing", ["os.fsync", "os.replace"])
def test_a_step_that_fails_leaves_the_old_file_and_no_other(
    file: Path, write: Any, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(failing, fails)
    with pytest.raises(WriteError, match="no space left on device"):
        write(str(file), b"new")
    assert file.read_bytes() == b"old"
    assert names_in(file.parent) == ["file.json"]


def test_an_interrupted_write_leaves_the_old_file_and_no_other(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(str(file), b"new")
    assert file.read_bytes() == b"old"
    assert names_in(file.parent) == ["file.json"]


@posix
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_a_file_keeps_its_permissions(file: Path, mode: int) -> None:
    file.chmod(mode)
    write_file(str(file), b"new")
    assert stat.S_IMODE(file.stat().st_mode) == mode
    replace_file(str(file), b"new", b"newer")
    assert stat.S_IMODE(file.stat().st_mode) == mode


@posix
def test_a_new_file_has_the_permissions_of_every_new_file(file: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(str(file.with_name("new.json")), b"new")
        assert stat.S_IMODE(file.with_name("new.json").stat().st_mode) == 0o640
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


@posix
@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_link_stays_a_link(file: Path, there: bool) -> None:
    link = file.with_name("link.json")
    link.symlink_to("file.json")
    if not there:
        file.unlink()
    write_file(str(link), b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


@posix
def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("link.json")
    with pytest.raises(WriteError, match="cannot be written"):
        replace_file(str(tmp_path / "link.json"), b"", b"new")


@posix
def test_a_device_is_written_to_and_not_replaced() -> None:
    write_file(os.devnull, b"new")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_appending_adds_to_what_is_there(file: Path) -> None:
    append_file(str(file), b" and new")
    assert file.read_bytes() == b"old and new"


@posix
@pytest.mark.parametrize(
    "write", [lambda name: write_file(name, b"new"), lambda name: replace_file(name, b"old", b"new")]
)
def test_a_file_keeps_its_owner(file: Path, write: Any) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give a file away")
    os.chown(file, 1234, 4321)
    os.chmod(file, 0o640)
    write(str(file))
    status = file.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 4321, 0o640)


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["mkstemp", "fsync", "replace"])
def test_a_signal_during_a_write_leaves_no_temporary_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, when: str, number: signal.Signals
) -> None:
    class EndedError(BaseException):
        pass

    def end(*_: object) -> None:
        raise EndedError

    module: Any = tempfile if when == "mkstemp" else os
    real = getattr(module, when)

    def interrupted(*words: Any, **others: Any) -> Any:
        result = real(*words, **others)
        signal.raise_signal(number)
        return result

    monkeypatch.setattr(module, when, interrupted)
    before = signal.signal(number, end)
    try:
        with pytest.raises(EndedError):
            write_file(str(file), b"new")
        assert signal.getsignal(number) is end
    finally:
        signal.signal(number, before)
    assert (names_in(file.parent), file.read_bytes()) == (["file.json"], b"new")


@posix
@pytest.mark.parametrize("is_checkout", [True, False])
def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path, *, is_checkout: bool) -> None:
    """Also if it replaces a file after that was looked at: nothing is assumed of the name."""
    if is_checkout:
        (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link", "."):
        with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
            open_in_checkout(str(tmp_path / name), os.O_RDONLY)
    if not is_checkout:
        with pytest.raises(OSError, match="not a regular file"):
            open_in_checkout("/dev/zero", os.O_RDONLY)
