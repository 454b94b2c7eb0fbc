"""A PostgreSQL server of the tests' own, on a socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from limits import HANG

if TYPE_CHECKING:
    from collections.abc import Iterator

USER = "postgres"
"""The user that runs the server if the tests run as root, which `initdb` refuses."""


def postgres_folder() -> Path | None:
    """Where PostgreSQL's programs are; None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.parts[-3])
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return None if initdb is None else Path(initdb).resolve().parent


def why_not() -> str:
    """Why there is no PostgreSQL for the tests; empty if there is."""
    if postgres_folder() is None:
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    if os.geteuid() == 0:
        try:
            import pwd

            pwd.getpwnam(USER)
        except KeyError:
            return f"PostgreSQL does not run as root, and there is no user `{USER}`"
    return ""


@contextmanager
def running_postgres() -> Iterator[str]:
    """Start a server, and give the URL of its first database."""
    programs = postgres_folder()
    assert programs is not None
    user = USER if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="mcproof-pg-"))
    data = folder / "data"
    try:
        if user is not None:
            shutil.chown(folder, user)
        _run([programs / "initdb", "-D", data, "-A", "trust", "-U", USER, "--no-sync"], user, folder)
        settings = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=60"
        _run([programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", settings, "start"], user, folder)
        try:
            yield f"postgresql://{USER}@/postgres?host={folder}"
        finally:
            _run([programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"], user, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[object], user: str | None, folder: Path) -> None:
    subprocess.run(
        [str(word) for word in command],
        user=user,
        cwd=folder,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=HANG,
    )
