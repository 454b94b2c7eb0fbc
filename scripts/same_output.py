"""Compare what two installations of mcproof print about the same inputs, byte for byte.

    python scripts/same_output.py --old /tmp/old/src --new src FOLDER...
    python scripts/same_output.py --old /tmp/old/src --new src --sources FOLDER...
    python scripts/same_output.py --old old/bin/python --new new/bin/python --live [--servers FILE]

An installation is a Python interpreter, or a source tree that this interpreter (or that of `--python`) runs. Every
command runs in both, and exit code, standard output, standard error and written files must be the same, after masking
what differs from run to run: `MASKED_KEYS`, `MASKED_TEXTS`, times of the comparison itself, and the folders of both. It
is for changes that must not change any result, such as moving modules. What is compared:

- always: the help of every command, the rules in their order, the explanation of each, schemas, clients, advisories
- FOLDER: every `*.json` below it as a catalog, with every command that takes snapshots, and neighbours with `diff`
- `--sources FOLDER`: every folder in it as the Python source of a server, such as unpacked packages
- `--live`: the servers of `tests/servers` and the demo, started, with every command that takes live servers
- `--servers FILE`: also these servers, in TOML: `[[server]]` with `name`, `command` (a list), and for HTTP servers that
  print their port `path`; `call` is a list with a tool and its arguments

One line for each difference, with the JSON pointer of the first. Exit code 1 if anything differs. Commands about files
run in one process for each installation; live servers and sweeps get a process for each command.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVERS = ROOT / "tests" / "servers"
FORMATS = ("text", "concise", "sarif", "junit", "tap", "github", "gitlab", "markdown", "html")
"""All but JSON, which every input is rendered in."""
FORMATS_EVERY = 20
"""Every how many catalogs one is rendered in all formats."""
JSON = ("--format", "json")
EXIT_CODE = " (exit code)"
SECONDS = 900
"""How long a command may take."""

MASKED_KEYS = ("duration_ms", "seconds", "uid")
"""Members of JSON documents whose values are durations or random ids."""
_STRING = r'"(?:[^"\\]|\\.)*"'
MASKED_TEXTS = ((rf'("timings": ?)\{{(?:[^{{}}"]|{_STRING}|\{{(?:[^{{}}"]|{_STRING})*\}})*\}}', r"\1<masked>"),)
"""The same in texts: a pattern, and what replaces it."""
TIME = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
"""A time in UTC; it is masked if it is one of the comparison itself."""


class Server(NamedTuple):
    """A live server that both installations talk to."""

    name: str
    command: tuple[str, ...]
    """Its words; `{mcproof}` is the interpreter of the installation."""
    path: str | None = None
    """The path of its URL, if it prints its port; else it speaks over standard input and output."""
    call: tuple[str, ...] = ()
    """A tool and its arguments."""
    probed: bool = True
    """Whether bad requests give the same each time: not if timing decides what its answer is."""
    fuzzed: bool = True


def _own(name: str, file: str, *words: str, **fields: Any) -> Server:
    return Server(name, (sys.executable, str(SERVERS / file), *words), **fields)


_BOOK = ("find_book", '{"query": "rose"}')
_SMALL = json.dumps(
    [
        {
            "name": "get_weather",
            "description": "Get the weather.",
            "inputSchema": {
                "type": "object",
                "properties": {"city": {"type": "string", "maxLength": 50}, "days": {"type": "integer", "minimum": 1}},
                "required": ["city"],
            },
        }
    ]
)
LIVE = (
    Server("demo", ("{mcproof}", "-m", "mcproof.demo.server"), call=("get_alerts", '{"region": "north"}')),
    Server("mcp", ("{mcproof}", "-m", "mcproof", "mcp"), call=("explain_rule", '{"rule": "SCH-001"}'), fuzzed=False),
    _own("contract", "contract.py", "good", call=_BOOK),
    _own("contract-stateless", "contract.py", "good", "--era", "stateless", call=_BOOK),
    _own("contract-lenient", "contract.py", "accepts-wrong-type", call=_BOOK),
    _own("contract-crash", "contract.py", "crash-on-extra", call=_BOOK),
    _own("contract-structured", "contract.py", "structured-invalid", call=_BOOK),
    _own("raw", "raw.py", "good", call=("find_book", "{}")),
    _own("small", "small.py", _SMALL, "repeats", call=("get_weather", '{"city": "Rome"}')),
    _own("asking", "asking.py", call=("order_pizza", "{}"), probed=False),
    _own(
        "hostile", "hostile.py", str(SERVERS), "read_concatenated", "read_safely", call=("read_safely", '{"path": "a"}')
    ),
    _own("sdk", "sdk.py", call=("find_book", '{"title": "rose", "limit": 2}'), fuzzed=False),
    _own("contract-http", "contract.py", "good", "--http", path="/mcp", call=_BOOK),
    _own("contract-http-stateless", "contract.py", "good", "--http", "--era", "stateless", path="/mcp", call=_BOOK),
    _own("contract-http-500", "contract.py", "http-500", "--http", path="/mcp", call=_BOOK),
    _own("asking-http", "asking.py", "--http", path="/mcp", call=("order_pizza", "{}"), probed=False),
    _own("sdk-http", "sdk.py", "web", path="/mcp", call=("find_book", '{"title": "rose"}'), fuzzed=False),
)


class Job(NamedTuple):
    """Commands that run one after the other in a folder of their own."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    """Their words; `{target}` stands for the words of the live server, and has to be the last."""
    files: tuple[str, ...] = ()
    """Files that they write, which are compared too."""
    in_process: bool = True
    server: Server | None = None
    """The live server to start; `target` names it once it runs."""
    target: tuple[str, ...] = ()


# The part that runs in each installation.


def drive(folder: str, source: str) -> None:
    """Run jobs from standard input, and write what each printed to standard output, a line of JSON for each."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever writes to the descriptor itself does not disturb the answers
    import mcproof

    print(json.dumps(os.path.dirname(os.path.dirname(mcproof.__file__))), file=answers, flush=True)
    for number, line in enumerate(sys.stdin):
        job = Job(**json.loads(line))
        place = os.path.join(folder, str(number))
        os.mkdir(place)
        os.chdir(place)
        print(json.dumps(_answer(job, source)), file=answers, flush=True)


def _answer(job: Job, source: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    target = [sys.executable if word == "{mcproof}" else word for word in job.target]
    if source and "{mcproof}" in job.target:
        target = ["--env", f"PYTHONPATH={source}", *target]
    for number, command in enumerate(job.commands):
        words = [part for word in command for part in (target if word == "{target}" else [word])]
        code, out, err = (_in_process if job.in_process else _in_new_process)(words)
        name = f"{number}: {' '.join(command)}"
        texts |= {f"{name}{EXIT_CODE}": str(code), name: out, f"{name} (standard error)": err}
    for file in job.files:
        path = pathlib.Path(file)
        texts[file] = path.read_bytes().decode("utf-8", "backslashreplace") if path.exists() else "(not written)"
    return texts


def _in_process(words: list[str]) -> tuple[int | str, str, str]:
    from mcproof.cli.main import main

    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in range(3)]
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = streams
    code: int | str
    try:
        code = main(words)
    except BaseException as error:  # not even SystemExit should get out
        code = repr(error)
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    _, out, err = (stream.buffer.getvalue().decode("utf-8", "backslashreplace") for stream in streams)
    return code, out, err


def _in_new_process(words: list[str]) -> tuple[int | str, str, str]:
    command = [sys.executable, "-P", "-m", "mcproof", *words]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "no end", "", ""
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


# The part that compares.


class Installation:
    """A process that runs the commands of one installation."""

    def __init__(self, place: str, python: str, folder: pathlib.Path) -> None:
        self._started = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
        is_tree = os.path.isdir(place)
        self.source = os.path.abspath(place) if is_tree else ""
        interpreter = python if is_tree else place
        folder.mkdir()
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("CI", "GITHUB_", "PYTHON"))},
            **{f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("STATE", "DATA", "CONFIG", "CACHE")},
            "PYTHONPATH": self.source,
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
        }
        self._process = subprocess.Popen(
            [interpreter, "-P", __file__, "--drive", str(folder), self.source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        self._stdin, self._stdout = _pipes(self._process)
        self.place: str = self.receive()
        if self.source and not os.path.samefile(self.place, self.source):
            sys.exit(f"{place}: mcproof is imported from {self.place}")
        prefix = str(pathlib.Path(os.path.abspath(interpreter)).parent)
        self._own = [(str(folder), "<folder>"), (self.place, "<source>"), (prefix, "<bin>")]

    def send(self, job: Job) -> None:
        self._stdin.write(json.dumps(job._asdict() | {"server": None}) + "\n")
        self._stdin.flush()

    def receive(self) -> Any:
        line = self._stdout.readline()
        if not line:
            sys.exit(f"an installation ended with exit code {self._process.wait()}")
        return json.loads(line)

    def masked(self, text: str) -> str:
        """A text without what differs from run to run."""
        for path, word in self._own:
            text = text.replace(path, word)
        text = _KEYS.sub(r"\1<masked>", text)
        text = TIME.sub(self._masked_time, text)
        for pattern, replacement in MASKED_TEXTS:
            text = re.sub(pattern, replacement, text)
        return text

    def _masked_time(self, match: re.Match[str]) -> str:
        """A time, unless it is between the start of the comparison and now."""
        now = datetime.now(UTC).replace(tzinfo=None)
        with contextlib.suppress(ValueError):  # 2026-02-31
            if self._started <= datetime.fromisoformat(match[0]) <= now:
                return "<now>"
        return match[0]

    def close(self) -> None:
        self._process.communicate()


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        raise TypeError("the process was started without pipes")
    return process.stdin, process.stdout


_KEYS = re.compile(rf'("(?:{"|".join(MASKED_KEYS)})": ?)(?:{_STRING}|-?\d[\d.eE+-]*)')


def first_difference(old: str, new: str) -> str:
    """Where two texts differ first: a JSON pointer, or a line."""
    try:
        pointer = _pointer(json.loads(_unmasked(old)), json.loads(_unmasked(new)), "")
    except ValueError:
        pointer = None
    if pointer is not None:
        return pointer
    for number, (before, after) in enumerate(zip(old.splitlines(), new.splitlines(), strict=False), 1):
        if before != after:
            differing = (at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other)
            at = next(differing, min(len(before), len(after)))
            start = max(at - 30, 0)
            return f"line {number}: {before[start : at + 70]!r} != {after[start : at + 70]!r}"
    return f"{len(old.splitlines())} != {len(new.splitlines())} lines, or their ends"


def _unmasked(text: str) -> str:
    """A masked text as JSON again."""
    return text.replace(": <masked>", ": 0").replace(":<masked>", ":0")


def _pointer(old: Any, new: Any, at: str) -> str | None:
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new):
            return f"{at or '/'}: members {_short(list(old))} != {_short(list(new))}"
        pairs: Iterable[tuple[Any, Any, Any]] = ((key, old[key], new[key]) for key in old)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{at or '/'}: {len(old)} != {len(new)} items"
        pairs = ((number, *pair) for number, pair in enumerate(zip(old, new, strict=True)))
    else:
        same = type(old) is type(new) and old == new
        return None if same else f"{at or '/'}: {_short(old)} != {_short(new)}"
    for key, before, after in pairs:
        if found := _pointer(before, after, f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}"):
            return found
    return None


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:150]}…"


# What is compared.


def reference_jobs(both: Sequence[Installation]) -> Iterator[Job]:
    """What does not depend on any input: help, rules, schemas, tables."""
    overview = _asked(both, "--help")
    names = re.findall(r"^  ([a-z][a-z-]*)  +\S", overview.partition("\nUse this when:")[0], re.MULTILINE)
    yield Job("help", (("--help",), *((name, "--help") for name in names)))
    yield Job("misspelt", (("lnit",), ("lint", "--rulset", "all"), ("lint", "no-such-file.json", *JSON)))
    listed = [("rules",), ("rules", *JSON), ("clients",), ("clients", *JSON), ("advisories",), ("advisories", *JSON)]
    listed += [("schema",), ("config", "--schema"), ("config", *JSON), ("config",)]
    listed += [("completion", shell) for shell in ("bash", "zsh", "fish")]
    yield Job("reference", tuple(listed))
    for rule in json.loads(_asked(both, "rules", *JSON))["rules"]:
        yield Job(f"explain {rule['id']}", (("explain", rule["id"]), ("explain", rule["id"], *JSON)))


def _asked(both: Sequence[Installation], *words: str) -> str:
    """What the first installation prints; the other runs the same, so that both number their folders alike."""
    for installation in both:
        installation.send(Job("question", (words,)))
    answers, _ = [installation.receive() for installation in both]
    return str(answers[f"0: {' '.join(words)}"])


def catalog_jobs(folders: Sequence[str]) -> Iterator[Job]:
    files = [str(file) for folder in folders for file in sorted(pathlib.Path(folder).resolve().rglob("*.json"))]
    for number, file in enumerate(files):
        yield from snapshot_jobs(file)
        if number:
            pair = (files[number - 1], file)
            yield Job(f"diff {pair[0]} {pair[1]}", (("diff", *JSON, *pair),))
        if number % FORMATS_EVERY == 0:
            yield from format_jobs(file, (files[number - 1], file))
            yield store_job(files[number : number + 3])
    if files:
        yield sweep_job(files[:3])


def snapshot_jobs(file: str) -> Iterator[Job]:
    lint = ("lint", "--ruleset", "all", *JSON, "--report", "run.json", file)
    yield Job(f"lint {file}", (lint,), ("run.json",))
    for name in ("grade", "compat", "schema-lint", "tools"):
        yield Job(f"{name} {file}", ((name, *JSON, file),))
    yield Job(f"scan {file}", (("scan", *JSON, "--report", "run.json", file),), ("run.json",))
    yield Job(f"fix {file}", (("schema-lint", "--fix", file), ("lint", "--fix", file), ("capture", file)))
    lock = ("lock", *JSON, file)
    yield Job(f"lock {file}", (lock, ("lint", "--locked", *JSON, file), lock), ("mcproof.lock",))


def format_jobs(file: str, pair: tuple[str, str]) -> Iterator[Job]:
    """Every format of every command that has formats, and the formats of a stored report."""
    for name in FORMATS:
        commands = (
            *((command, "--format", name, file) for command in ("lint", "grade", "compat", "scan", "schema-lint")),
            ("lint", "--ruleset", "all", "--report", "run.json", "--format", name, "--show", "all", file),
            ("diff", "--format", name, *pair),
            ("report", "run.json", "--format", name),
        )
        yield Job(f"{name} {file}", commands)
    yield Job(f"texts {file}", (("tools", file), ("lint", "--statistics", file), ("lint", "--diff", "--fix", file)))


def store_job(files: Sequence[str]) -> Job:
    """Record runs, and look at what is stored."""
    store = ("--database", "store.db")
    runs = [("lint", "--record", "--name", "server", *store, *JSON, file) for file in files]
    runs += [("scan", "--record", "--name", "server", *store, *JSON, files[0])]
    looks = [("history", "server", *store), ("history", "server", *JSON, *store), ("store", "export", *store)]
    return Job(f"store {files[0]}", (*runs, *looks, ("store", "check", *store)), in_process=False)


def sweep_job(files: Sequence[str]) -> Job:
    first = ("sweep", *JSON, "--scan", "--output", "page.html", *files)
    names = ("sweep.jsonl", "page.html")
    return Job(f"sweep {' '.join(files)}", (first,), names, in_process=False)


def source_jobs(folders: Sequence[str]) -> Iterator[Job]:
    for folder in folders:
        for source in sorted(pathlib.Path(folder).resolve().iterdir()):
            if source.is_dir() or source.suffix == ".py":
                file = str(source)
                lint = ("lint", "--ruleset", "all", *JSON, "--report", "run.json", file)
                yield Job(f"lint {file}", (lint,), ("run.json",))
                for name in ("grade", "scan", "compat"):
                    yield Job(f"{name} {file}", ((name, *JSON, file),))
                yield Job(f"capture {file}", (("capture", file), ("lint", "--fix", "--diff", file)))


def live_jobs(servers: Iterable[Server]) -> Iterator[Job]:
    target, report = "{target}", ("--report", "run.json")
    every = ("--allow-writes", "--max-call-ms", "5000")
    for server in servers:
        jobs: dict[str, tuple[tuple[str, ...], ...]] = {
            "lists": (("capture", target), ("tools", *JSON, target), ("grade", *JSON, target)),
            "lint": (("lint", "--ruleset", "all", *JSON, *report, target),),
            "scan": (("scan", "--deep", *JSON, *report, target), ("compat", *JSON, target), ("lock", *JSON, target)),
        }
        if server.probed:
            jobs["probe"] = (("probe", *JSON, *report, *every, target),)
            jobs["prove"] = (("prove", *JSON, *report, *every, target), ("prove", "--security", *every, target))
        if server.probed and server.fuzzed:
            jobs["fuzz"] = (("fuzz", "--seed", "7", "--cases", "40", *JSON, *report, *every, target),)
        if server.call:
            words = (*server.call, target) if server.path is None else (target, *server.call)
            jobs["call"] = (("call", *JSON, *words), ("call", *words))
        for name, commands in jobs.items():
            files = ("run.json",) if any("--report" in command for command in commands) else ()
            yield Job(f"{name} of {server.name}", commands, files, in_process=False, server=server)


def read_servers(file: str) -> list[Server]:
    with open(file, "rb") as stream:
        tables = tomllib.load(stream)["server"]
    return [_server(**table) for table in tables]


def _server(name: str, command: list[str], call: Iterable[str] = (), **others: Any) -> Server:
    return Server(name, tuple(command), call=tuple(call), **others)


def _answers(job: Job, both: Sequence[Installation]) -> list[Mapping[str, str]]:
    """What both installations print: at the same time, or of the same HTTP server one after the other."""
    if job.server is not None and job.server.path is not None:
        with _listening(job.server) as url:
            answers = []
            for installation in both:
                installation.send(job._replace(target=(url,)))
                answers.append(installation.receive())
            return answers
    if job.server is not None:
        job = job._replace(target=("--", *job.server.command))
    for installation in both:
        installation.send(job)
    return [installation.receive() for installation in both]


@contextlib.contextmanager
def _listening(server: Server) -> Iterator[str]:
    """The URL of an HTTP server as long as it runs."""
    with subprocess.Popen(
        server.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        _, output = _pipes(process)
        port = output.readline().split()[0]
        try:
            yield f"http://127.0.0.1:{port}{server.path}"
        finally:
            process.kill()


class Counts:
    """How much was compared."""

    def __init__(self) -> None:
        self.documents = self.different = 0
        self.codes: Counter[str] = Counter()
        """The exit codes, which show whether there was anything to compare."""

    def __str__(self) -> str:
        codes = ", ".join(f"{count} x {code}" for code, count in sorted(self.codes.items()))
        return f"{self.documents} documents, {self.different} differ (exit codes: {codes})"


def compare(jobs: Iterable[Job], both: Sequence[Installation], counts: Counts) -> Iterator[str]:
    """Run jobs in both installations; yield a line for each difference."""
    old, new = both
    for job in jobs:
        if sys.stderr.isatty():
            print(f"\r\033[K{counts.documents} documents, {job.name}"[:150], end="", file=sys.stderr, flush=True)
        before_and_after = _answers(job, both)
        for name, before in before_and_after[0].items():
            counts.documents += 1
            if name.endswith(EXIT_CODE):
                counts.codes[before] += 1
            after = before_and_after[1][name]
            if before != after and (masked := (old.masked(before), new.masked(after)))[0] != masked[1]:
                counts.different += 1
                yield f"{job.name} | {name}: {first_difference(*masked)}"
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)


def parse() -> argparse.Namespace:
    summary, _, description = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--old", required=True, metavar="PLACE", help="an interpreter, or a source tree")
    parser.add_argument("--new", required=True, metavar="PLACE", help="the same")
    parser.add_argument("--python", default=sys.executable, help="what runs source trees (default: this interpreter)")
    parser.add_argument("--sources", nargs="+", default=[], metavar="FOLDER", help="folders of Python sources")
    parser.add_argument("--live", action="store_true", help="start the servers of the tests")
    parser.add_argument("--servers", metavar="FILE", help="start these servers, in TOML")
    parser.add_argument("--only", default="", metavar="REGEX", help="only jobs whose name contains this")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="folders of catalogs")
    return parser.parse_args()


def main() -> None:
    if sys.argv[1:2] == ["--drive"]:
        drive(*sys.argv[2:])
        return
    options = parse()
    started = time.monotonic()
    counts = Counts()
    with tempfile.TemporaryDirectory(prefix="same-output-") as scratch:
        folder = pathlib.Path(scratch).resolve()
        both = [
            Installation(place, options.python, folder / name)
            for name, place in (("old", options.old), ("new", options.new))
        ]
        servers = [*(LIVE if options.live else ()), *(read_servers(options.servers) if options.servers else ())]
        jobs = [
            *reference_jobs(both),
            *catalog_jobs(options.folders),
            *source_jobs(options.sources),
            *live_jobs(servers),
        ]
        for line in compare((job for job in jobs if re.search(options.only, job.name)), both, counts):
            print(line, flush=True)
        for installation in both:
            installation.close()
    print(f"{counts}, {time.monotonic() - started:.0f} s")
    sys.exit(1 if counts.different else 0)


if __name__ == "__main__":
    main()
