"""Comment run reports of mcproof on a pull request; used by the action in `comment/`.

    python -I pr_comment.py MCPROOF REPORT...

The reports may come from a pull request of a stranger. They are data: `mcproof report` checks them against their schema
and renders them as Markdown, in which texts of servers are escaped. The pull request is that of the event, never one
that a report names. A comment with the same mark is updated; only those of `COMMENT_AUTHOR` are.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

MOST_CHARACTERS = 65_000
"""A comment on GitHub holds 65,536."""
LARGEST_REPORT = 16 * 1024 * 1024
LARGEST_RESPONSE = 16 * 1024 * 1024
MOST_PAGES = 20
TIMEOUT = 60
_MARK = "<!-- mcproof -->"
_ERROR = f"{_MARK}\n\n# mcproof report"
"""The start of what `mcproof report` prints about a file that is not a report."""
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class CommentError(Exception):
    """The comment cannot be written; the message is for the log of the job."""


class PullRequest(NamedTuple):
    """The pull request of an event."""

    number: int
    commit: str
    """The commit that was checked."""
    is_foreign: bool
    """Whether the event is one of a fork, whose token may not write."""


class _NoRedirects(HTTPRedirectHandler):
    """Redirects are errors: the token must not go elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


class GitHub:
    """The REST API, for one repository."""

    def __init__(self, url: str, repository: str, token: str) -> None:
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
            raise CommentError(f"not a repository: {repository!r}")
        self._base = f"{url.rstrip('/')}/repos/{repository}"
        self._token = token
        self._opener = build_opener(_NoRedirects)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON value of a response. Raises an HTTPError for another status than success."""
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "User-Agent": "mcproof",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self._base}{path}", data=data, headers=headers, method=method)  # noqa: S310 (https or a test)
        with self._opener.open(request, timeout=TIMEOUT) as response:
            return json.loads(response.read(LARGEST_RESPONSE))


def pull_request(event: str, payload: dict[str, Any], github: GitHub) -> PullRequest | None:
    """The pull request of an event; None if there is none to comment on."""
    if event == "pull_request":
        found = payload["pull_request"]
        source = (found["head"]["repo"] or {}).get("full_name")  # null if the fork was deleted
        return PullRequest(found["number"], found["head"]["sha"], source != found["base"]["repo"]["full_name"])
    if event != "workflow_run":
        raise CommentError(f"the event is `{event}`; comments need `pull_request` or `workflow_run`")
    run = payload["workflow_run"]
    if run["event"] != "pull_request":
        return None
    owner, branch, commit = run["head_repository"]["owner"]["login"], run["head_branch"], run["head_sha"]
    asked = urlencode({"state": "open", "head": f"{owner}:{branch}", "per_page": 100})
    for found in github.request("GET", f"/pulls?{asked}"):
        if found["head"]["sha"] == commit:
            return PullRequest(found["number"], commit, is_foreign=False)
    return None


def rendered(mcproof: str, report: str) -> str:
    """A report as Markdown, or a line about why there is none."""
    name = os.path.basename(report)
    try:
        status = os.lstat(report)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_REPORT:
            return _unreadable(name)
    except OSError:
        return _unreadable(name)
    words = [mcproof, "report", os.path.abspath(report), "--format", "markdown", "--quiet"]
    environment = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "SYSTEMROOT", "LANG")}
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                words, capture_output=True, cwd=folder, env={**environment, "PYTHONUTF8": "1"}, timeout=300, check=False
            )
        except subprocess.TimeoutExpired:
            return _unreadable(name)
    text = done.stdout.decode("utf-8", "replace")
    is_report = text.startswith(_MARK) and not text.startswith(_ERROR)
    return text.removeprefix(_MARK).strip() + "\n" if is_report else _unreadable(name)


def _unreadable(name: str) -> str:
    return f"# mcproof: no report\n\n`{re.sub(r'[^A-Za-z0-9._-]', '?', name)}` is missing or not a run report.\n"


def comment_text(parts: list[str], mark: str, commit: str) -> str:
    """The text of the comment. A part that does not fit is reduced to its headline."""
    last = f"\nFor {commit[:12]}.\n"
    text, room = f"{mark}\n", MOST_CHARACTERS - len(mark) - len(last)
    short = [f"\n{each.splitlines()[0]}\n\nThe rest does not fit into a comment.\n" for each in parts]
    for number, part in enumerate(parts):
        later = sum(map(len, short[number + 1 :]))
        shown = f"\n{part}" if len(part) + 1 + later <= room else short[number]
        text += shown
        room -= len(shown)
    return text + last


def write_comment(github: GitHub, number: int, text: str, author: str) -> str:
    """Create or update the comment with the mark of a text; return what was done."""
    mark = text.splitlines()[0]
    for page in range(1, MOST_PAGES + 1):
        comments = github.request("GET", f"/issues/{number}/comments?per_page=100&page={page}")
        for comment in comments:
            body = comment["body"] or ""
            if comment["user"] and comment["user"]["login"] == author and body.splitlines()[:1] == [mark]:
                if body.replace("\r\n", "\n").strip() == text.strip():
                    return "unchanged"
                github.request("PATCH", f"/issues/comments/{quote(str(comment['id']))}", {"body": text})
                return "updated"
        if len(comments) < 100:
            break
    github.request("POST", f"/issues/{number}/comments", {"body": text})
    return "created"


def run(mcproof: str, reports: list[str], environment: dict[str, str]) -> str:
    """Comment the reports; return a sentence for the log."""
    identity = environment.get("COMMENT_ID") or "mcproof"
    if not _ID.fullmatch(identity):
        raise CommentError(f"`{identity}` is not an id: lower-case letters, digits and hyphens, 40 at most")
    if not reports:
        raise CommentError("no reports; name the files that `--report` wrote, one per line")
    github = GitHub(environment["GITHUB_API_URL"], environment["GITHUB_REPOSITORY"], environment["COMMENT_TOKEN"])
    with open(environment["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
        payload = json.load(file)
    target = None
    try:
        target = pull_request(environment["GITHUB_EVENT_NAME"], payload, github)
        if target is None:
            return "no open pull request has this commit; nothing to comment on"
        text = comment_text(
            [rendered(mcproof, each) for each in reports], f"<!-- mcproof: {identity} -->", target.commit
        )
        done = write_comment(github, target.number, text, environment.get("COMMENT_AUTHOR") or "github-actions[bot]")
    except HTTPError as error:
        if error.code == 403 and target is not None and target.is_foreign:
            return "the token of a pull request from a fork may not comment; use a second workflow on `workflow_run`"
        raise CommentError(f"GitHub refuses the request: {error.code} {error.reason}") from None
    except URLError as error:
        raise CommentError(f"GitHub cannot be reached: {error.reason}") from None
    return f"comment on pull request {target.number} {done}"


def main() -> None:
    mcproof, *reports = sys.argv[1:]
    try:
        print(f"::notice title=mcproof::{run(mcproof, reports, dict(os.environ))}")
    except CommentError as error:
        print(f"::error title=mcproof::{' '.join(str(error).split())}")
        sys.exit(1)


if __name__ == "__main__":
    main()
