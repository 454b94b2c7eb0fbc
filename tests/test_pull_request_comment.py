"""The action that comments on pull requests, against a stand-in for the REST API of GitHub."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from cli.running import CLEAN_TOOL, LOOSE_TOOL, environment, run, write
from report.readers import OURS, Page
from script_modules import script

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "comment" / "action.yml").read_text(encoding="utf-8"))
REPOSITORY = "acme/weather"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
BOT = "github-actions[bot]"
TOKEN = "the-token-of-the-job"  # noqa: S105
HOSTILE = "@acme/admins <img src=x> [click](https://evil.example.com) | `x` #1"
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the action runs in bash")


class Hub:
    """Comments of one pull request, number 7, served as GitHub does."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.pulls: list[dict[str, Any]] = [{"number": 7, "head": {"sha": COMMIT}}]
        self.requests: list[str] = []
        self.refused = 0
        """The status of all responses; 0 for success."""
        self.redirect = ""

    def add(self, body: str, login: str = BOT) -> None:
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": {"login": login}})

    def answer(self, method: str, path: str, body: Any) -> Any:
        parts = urlsplit(path)
        asked = parse_qs(parts.query)
        match method, parts.path.removeprefix(f"/repos/{REPOSITORY}"):
            case "GET", "/pulls":
                assert asked["head"] == ["stranger:fix/#1 & more"]
                return self.pulls
            case "GET", "/issues/7/comments":
                start = 100 * (int(asked["page"][0]) - 1)
                return self.comments[start : start + 100]
            case "POST", "/issues/7/comments":
                self.add(body["body"])
                return {}
            case "PATCH", name:
                (comment,) = (each for each in self.comments if name == f"/issues/comments/{each['id']}")
                comment["body"] = body["body"]
                return {}
        raise AssertionError((method, path))


@pytest.fixture
def hub() -> Iterator[tuple[Hub, str]]:
    state = Hub()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            state.requests.append(self.command)
            status = 301 if state.redirect else state.refused or 200
            value = {} if status != 200 else state.answer(self.command, self.path, json.loads(data) if data else None)
            self.send_response(status)
            if state.redirect:
                self.send_header("Location", state.redirect)
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield state, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Job:
    """A job of GitHub Actions with reports of mcproof."""

    def __init__(self, folder: Path, api: str) -> None:
        self.folder = folder
        self.api = api
        bin_folder = folder / "venv"
        bin_folder.mkdir()
        for name, words in (("python", '"$@"'), ("mcproof", '-m mcproof "$@"')):
            shim = bin_folder / name
            shim.write_text(f'#!/bin/sh\n[ -z "$COMMENT_TOKEN" ] || [ {name} = python ] || exit 9\n'
                            f'exec "{sys.executable}" {words}\n', encoding="utf-8")  # fmt: skip
            shim.chmod(0o755)
        self.bin = str(bin_folder)

    def comment(self, event: str, payload: Any, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the step that comments, as the runner does."""
        step = next(each for each in ACTION["runs"]["steps"] if each.get("name") == "Comment")
        values = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
        values |= {"reports": "absent.json", "token": TOKEN, **inputs}
        given = {
            name: values[expression.removeprefix("${{ inputs.").removesuffix(" }}")]
            for name, expression in step["env"].items()
            if "inputs." in expression
        }
        (self.folder / "event.json").write_text(json.dumps(payload), encoding="utf-8")
        variables = environment(
            BIN=self.bin,
            GITHUB_ACTION_PATH=str(ROOT / "comment"),
            GITHUB_API_URL=self.api,
            GITHUB_REPOSITORY=REPOSITORY,
            GITHUB_EVENT_NAME=event,
            GITHUB_EVENT_PATH=str(self.folder / "event.json"),
            **given,
        )
        words = [shutil.which("bash") or "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(
            words, cwd=self.folder, env=variables, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two reports, one per line, with a name of a tool that a stranger has chosen."""
    folder = tmp_path_factory.mktemp("reports")
    write(folder / "old.json", {"tools": [LOOSE_TOOL]})
    write(folder / "new.json", {"tools": [{**CLEAN_TOOL, "name": HOSTILE, "description": "x"}]})
    run("diff", "old.json", "new.json", "--report", "diff.json", cwd=folder)
    run("lint", "new.json", "--report", "lint.json", cwd=folder)
    return f"{folder}/diff.json\n{folder}/lint.json\n"


@pytest.fixture
def job(tmp_path: Path, hub: tuple[Hub, str]) -> Job:
    return Job(tmp_path, hub[1])


def pull_request(source: str = REPOSITORY) -> dict[str, Any]:
    head, base = {"sha": COMMIT, "repo": {"full_name": source}}, {"repo": {"full_name": REPOSITORY}}
    return {"pull_request": {"number": 7, "head": head, "base": base}}


def workflow_run(event: str = "pull_request") -> dict[str, Any]:
    owner = {"owner": {"login": "stranger"}}
    found = {"event": event, "head_repository": owner, "head_branch": "fix/#1 & more", "head_sha": COMMIT}
    return {"workflow_run": {**found, "pull_requests": []}}


pytestmark = needs_bash


@pytest.mark.parametrize(("event", "payload"), [("pull_request", pull_request()), ("workflow_run", workflow_run())])
def test_a_comment_is_created_and_then_updated(
    hub: tuple[Hub, str], job: Job, event: str, payload: dict[str, Any]
) -> None:
    state, _ = hub
    state.add("<!-- mcproof: mcproof -->\nsomebody else's", login="stranger")
    done = job.comment(event, payload)
    assert (done.returncode, done.stdout) == (0, "::notice title=mcproof::comment on pull request 7 created\n"), done
    assert "unchanged" in job.comment(event, payload).stdout
    assert "updated" in job.comment(event, payload, reports="other.json").stdout
    theirs, ours = state.comments
    assert theirs["body"].endswith("somebody else's")
    assert "other.json" in ours["body"]


def test_reports_are_rendered_and_texts_of_servers_escaped(hub: tuple[Hub, str], job: Job, reports: str) -> None:
    state, _ = hub
    job.comment("workflow_run", workflow_run(), reports=reports)
    body = state.comments[0]["body"]
    assert body.startswith("<!-- mcproof: mcproof -->\n\n# mcproof diff: failed: ")
    assert "\n# mcproof lint: " in body
    assert body.endswith("\nFor 0123456789ab.\n")
    page = Page(body)
    assert set(page.tags) <= OURS
    assert "admins" in page.text
    assert not re.search(r"@\w", page.prose)


def test_comments_with_other_ids_are_kept_apart(hub: tuple[Hub, str], job: Job) -> None:
    state, _ = hub
    job.comment("pull_request", pull_request(), id="changes")
    job.comment("pull_request", pull_request(), id="lint")
    marks = [each["body"].splitlines()[0] for each in state.comments]
    assert marks == ["<!-- mcproof: changes -->", "<!-- mcproof: lint -->"]
    done = job.comment("pull_request", pull_request(), id="x -->")
    assert done.returncode == 1
    assert "`x -->` is not an id" in done.stdout


def test_our_comment_is_found_on_a_later_page(hub: tuple[Hub, str], job: Job) -> None:
    state, _ = hub
    for number in range(130):
        state.add(f"comment {number}", login="stranger")
    job.comment("pull_request", pull_request())
    assert "updated" in job.comment("pull_request", pull_request(), reports="other.json").stdout
    assert len(state.comments) == 131


@pytest.mark.parametrize(
    "content", [None, "not JSON", "{}", '{"schema_version": 1}', "<!-- mcproof -->\n[click](https://evil.example.com)"]
)
def test_what_is_not_a_report_is_not_quoted(hub: tuple[Hub, str], job: Job, content: str | None) -> None:
    state, _ = hub
    if content is not None:
        (job.folder / "diff.json").write_text(content, encoding="utf-8")
    job.comment("workflow_run", workflow_run(), reports="diff.json")
    body = state.comments[0]["body"]
    assert "# mcproof: no report\n\n`diff.json` is missing or not a run report.\n" in body
    assert "evil" not in body


def test_a_link_is_not_a_report(hub: tuple[Hub, str], job: Job, reports: str) -> None:
    state, _ = hub
    (job.folder / "link.json").symlink_to(reports.splitlines()[0])
    job.comment("workflow_run", workflow_run(), reports="link.json")
    assert "`link.json` is missing or not a run report" in state.comments[0]["body"]


def test_a_commit_that_is_no_longer_the_newest_is_not_commented(hub: tuple[Hub, str], job: Job) -> None:
    state, _ = hub
    state.pulls[0]["head"]["sha"] = "f" * 40
    done = job.comment("workflow_run", workflow_run())
    assert (done.returncode, state.comments) == (0, [])
    assert "no open pull request has this commit" in done.stdout
    assert "nothing to comment on" in job.comment("workflow_run", workflow_run("push")).stdout


def test_a_fork_without_permission_is_not_an_error(hub: tuple[Hub, str], job: Job) -> None:
    state, _ = hub
    state.refused = 403
    done = job.comment("pull_request", pull_request("stranger/weather"))
    assert done.returncode == 0
    assert "use a second workflow on `workflow_run`" in done.stdout
    done = job.comment("pull_request", pull_request())
    assert (done.returncode, done.stdout) == (1, "::error title=mcproof::GitHub refuses the request: 403 Forbidden\n")


def test_the_token_does_not_follow_a_redirect(hub: tuple[Hub, str], job: Job) -> None:
    state, api = hub
    state.redirect = f"{api}/elsewhere"
    assert job.comment("pull_request", pull_request()).returncode == 1
    assert state.requests == ["GET"]


def test_a_long_part_is_reduced_to_its_headline() -> None:
    module = script("pr_comment")
    parts = ["# one\n" + "x" * 60_000, "# two\n" + "y" * 20_000, "# three\nz\n"]
    text = module.comment_text(parts, "<!-- mark -->", COMMIT)
    assert len(text) <= module.MOST_CHARACTERS
    assert "x" * 60_000 in text
    assert "\n# two\n\nThe rest does not fit into a comment.\n" in text
    assert "\n# three\nz\n" in text


def test_what_users_write_into_the_action_is_never_run(hub: tuple[Hub, str], job: Job) -> None:
    trap = job.folder / "trap"
    job.comment("pull_request", pull_request(), reports=f"$(touch {trap})\n`touch {trap}`\n; touch {trap}")
    assert not trap.exists()
    for each in ACTION["runs"]["steps"]:
        assert "${{" not in each.get("run", "")


def test_every_input_is_described_and_used() -> None:
    text = (ROOT / "comment" / "action.yml").read_text(encoding="utf-8")
    guide = (ROOT / "docs" / "guides" / "pull-request-comments.md").read_text(encoding="utf-8")
    for name, each in ACTION["inputs"].items():
        assert each["description"]
        assert f"inputs.{name} " in text
        assert f"| `{name}` |" in guide
