"""Build the wheel and the source distribution in dist/, check their metadata, and run `mcproof demo` from each in a
clean environment, as a new user would. Then install the wheel with all extras, and run every command and format once.

`make dist` runs this, and the release workflow does.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile

from try_commands import CommandError, try_commands

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def build() -> list[pathlib.Path]:
    """Return the fresh distributions, the wheel first."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(DIST)], cwd=ROOT, check=True)
    return [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]


def contents(distribution: pathlib.Path) -> set[str]:
    """Return the files in a distribution."""
    if distribution.suffix == ".whl":
        return set(zipfile.ZipFile(distribution).namelist())
    with tarfile.open(distribution) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def missing_files(distribution: pathlib.Path) -> list[str]:
    """Return the tracked files of the package that a distribution does not have."""
    prefix = "" if distribution.suffix == ".whl" else "src/"
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, check=True, capture_output=True, text=True)
    wanted = {f"{prefix}{name.removeprefix('src/')}" for name in listed.stdout.splitlines()}
    return sorted(wanted - contents(distribution))


def install(distribution: str, folder: str) -> pathlib.Path:
    """Install a distribution into a new environment; return the console script."""
    venv.create(folder, with_pip=True)
    python = pathlib.Path(folder, "Scripts/python.exe" if os.name == "nt" else "bin/python")
    words = [str(python), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", distribution]
    subprocess.run(words, check=True)
    return python.with_name("mcproof")


def extras() -> str:
    """Return the extras for users, but for Ray, which is larger than all others and not on every Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return ",".join(name for name in project["optional-dependencies"] if name not in ("dev", "ci", "ray"))


def demo(distribution: pathlib.Path) -> str:
    """Return what `mcproof demo` prints after an installation in a clean environment."""
    with tempfile.TemporaryDirectory() as folder:
        program = install(str(distribution), folder)
        subprocess.run([str(program), "--version"], cwd=folder, check=True)
        return subprocess.run(
            [str(program), "demo"], cwd=folder, check=True, capture_output=True, text=True, encoding="utf-8"
        ).stdout


def main() -> None:
    distributions = build()
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, distributions)], check=True)
    for distribution in distributions:
        missing = missing_files(distribution)
        if missing:
            sys.exit(f"{distribution.name} lacks {len(missing)} files of the package, such as {missing[0]}")
        if "Contract matrix" not in demo(distribution):
            sys.exit(f"{distribution.name}: `mcproof demo` printed no contract matrix")
        print(f"{distribution.relative_to(ROOT)}: installed, demo ran")
    with tempfile.TemporaryDirectory() as folder:
        program = install(f"{distributions[0]}[{extras()}]", folder)
        try:
            print(f"{distributions[0].relative_to(ROOT)}: {try_commands(str(program))} with all extras")
        except CommandError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
