"""The test servers themselves: the good one is good, each fault is one, and none outlives its test."""

from __future__ import annotations

import http.client
import json
import subprocess
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from cli.serving import lint
from servers import contract, contract_faults
from servers.contract_faults import FAULTS
from servers.library import LISTS, SCHEMAS

from .running import PATIENCE, command
from .running import http as serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import NoReturn, Self

ERAS = ("handshake", "stateless")
META = "io.modelcontextprotocol"
VALID: dict[str, dict[str, Any]] = {
    "find_book": {"query": "rose", "limit": 3},
    "count_books": {},
    "list_shelves": {"genre": "fiction", "tags": ["new"], "near": {"floor": 1, "wing": "B"}},
    "add_book": {"title": "Rose"},
    "delete_book": {"title": "Rose"},
    "archive": {"title": "Rose"},
}
INVALID: list[tuple[str, dict[str, Any]]] = [
    ("find_book", {}),
    ("find_book", {"query": []}),
    ("find_book", {"query": ""}),
    ("find_book", {"query": "x" * 201}),
    ("find_book", {"query": "x" * 1024 * 1024}),
    ("find_book", {"query": "rose", "other": 1}),
    ("find_book", {"query": "rose", "limit": 51}),
    ("find_book", {"query": "rose", "limit": 0}),
    ("find_book", {"query": "rose", "limit": True}),
    ("find_book", {"query": "rose", "limit": 1.5}),
    ("find_book", {"query": None}),
    ("count_books", {"other": 1}),
    ("list_shelves", {"genre": "poetry"}),
    ("list_shelves", {"genre": "fiction", "tags": ["a"] * 6}),
    ("list_shelves", {"genre": "fiction", "tags": [1]}),
    ("list_shelves", {"genre": "fiction", "tags": ["x" * 21]}),
    ("list_shelves", {"genre": "fiction", "near": {}}),
    ("list_shelves", {"genre": "fiction", "near": {"floor": 10}}),
    ("list_shelves", {"genre": "fiction", "near": {"floor": "1"}}),
    ("list_shelves", {"genre": "fiction", "near": {"floor": 1, "wing": "BB"}}),
    ("list_shelves", {"genre": "fiction", "near": {"floor": 1, "other": 1}}),
    ("add_book", {}),
    ("delete_book", {"title": 1}),
    ("archive", {"title": []}),
]


class Outcome(NamedTuple):
    """An answer, and the status that it had over HTTP."""

    envelope: Any
    status: int = 200

    @property
    def code(self) -> int | None:
        """The code of the error, if it is one."""
        error = self.envelope.get("error")
        return None if error is None else error["code"]

    @property
    def result(self) -> Any:
        return self.envelope["result"]


class Client:
    """Writes requests of its era, and sends them over some transport."""

    def __init__(self, era: str, revision: str | None = None) -> None:
        self.era = era
        self.revision = revision or ("2026-07-28" if era == "stateless" else "2025-11-25")
        self.number = 0

    def send(self, data: bytes, headers: dict[str, str]) -> Outcome:
        raise NotImplementedError

    def request(self, method: str, **params: Any) -> bytes:
        self.number += 1
        if self.era == "stateless":
            params["_meta"] = {f"{META}/protocolVersion": self.revision, f"{META}/clientCapabilities": {}}
        return json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode()

    def introduction(self) -> bytes:
        """The first question of the era."""
        if self.era == "stateless":
            return self.request("server/discover")
        info = {"name": "test", "version": "1.0"}
        return self.request("initialize", protocolVersion=self.revision, capabilities={}, clientInfo=info)

    def answer(self, data: bytes) -> Outcome:
        """What comes back for a request, with the headers that belong to it."""
        message = json.loads(data)
        headers = {"MCP-Protocol-Version": self.revision, "Mcp-Method": message["method"]}
        for named in message["params"].keys() & {"name", "uri"}:
            headers["Mcp-Name"] = message["params"][named]
        outcome = self.send(data, headers)
        assert outcome.envelope["jsonrpc"] == "2.0"
        assert outcome.envelope["id"] == message["id"]
        return outcome

    def ask(self, method: str, **params: Any) -> Outcome:
        return self.answer(self.request(method, **params))

    def call(self, name: str, arguments: Any) -> Outcome:
        return self.ask("tools/call", name=name, arguments=arguments)

    def begin(self, revision: str) -> Outcome:
        """The answer to the first question, in some revision."""
        self.revision = revision
        return self.answer(self.introduction())


class StdioClient(Client):
    def __init__(self, fault: str, era: str, **environment: str) -> None:
        super().__init__(era)
        words = command(fault, "--era", era, **environment)
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.rest, self.words = self.process.communicate(timeout=PATIENCE)

    def send(self, data: bytes, headers: dict[str, str]) -> Outcome:
        self.write(data)
        line = self.process.stdout.readline() if self.process.stdout is not None else b""
        if not line:
            raise ConnectionError
        return Outcome(json.loads(line))

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()


class HttpClient(Client):
    def __init__(self, fault: str, era: str, **environment: str) -> None:
        super().__init__(era)
        self.context = serve(fault, era, **environment)

    def __enter__(self) -> Self:
        self.url = self.context.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.context.__exit__(None, None, None)

    def send(self, data: bytes, headers: dict[str, str]) -> Outcome:
        request = urllib.request.Request(  # noqa: S310
            self.url, data, {"Content-Type": "application/json", **headers}
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:  # noqa: S310
                return Outcome(json.loads(response.read()), response.status)
        except urllib.error.HTTPError as error:
            with error:
                return Outcome(json.loads(error.read()), error.code)
        except (urllib.error.URLError, http.client.HTTPException) as error:
            raise ConnectionError from error


CLIENTS: dict[str, Callable[..., StdioClient | HttpClient]] = {"stdio": StdioClient, "http": HttpClient}


@pytest.fixture(scope="module", params=[(transport, era) for transport in CLIENTS for era in ERAS], ids="-".join)
def started(request: pytest.FixtureRequest) -> Iterator[StdioClient | HttpClient]:
    transport, era = request.param
    with CLIENTS[transport]("good", era) as client:
        assert client.begin(client.revision).code is None
        yield client
    if isinstance(client, StdioClient):
        assert (client.rest, client.words, client.process.returncode) == (b"", b"", 0)


@pytest.fixture
def good(started: StdioClient | HttpClient) -> Iterator[StdioClient | HttpClient]:
    """A client of the good server, which starts once and remembers nothing."""
    revision = started.revision
    yield started
    started.revision = revision


def test_the_good_server_answers_valid_calls(good: Client) -> None:
    assert set(VALID) == set(SCHEMAS)
    for name, arguments in VALID.items():
        result = good.call(name, arguments).result
        assert result["content"][0]["type"] == "text"
        assert "isError" not in result
        assert result.get("resultType") == ("complete" if good.era == "stateless" else None)


def test_the_good_server_keeps_its_output_schema(good: Client) -> None:
    result = good.call("find_book", VALID["find_book"]).result
    assert result["structuredContent"] == {"titles": ["The Name of the Rose"], "total": 1}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_the_good_server_refuses_whatever_its_schemas_exclude(good: Client) -> None:
    for name, arguments in INVALID:
        result = good.call(name, arguments).result
        assert result["isError"] is True, (name, arguments)
        assert len(result["content"][0]["text"]) < 200


def test_the_good_server_takes_whole_floats_for_integers(good: Client) -> None:
    assert "isError" not in good.call("find_book", {"query": "rose", "limit": 50.0}).result


def test_the_good_server_lists_all_that_it_declares(good: Client) -> None:
    for method, (key, items) in LISTS.items():
        result = good.ask(method).result
        assert result[key] == items
        assert ("ttlMs" in result, "cacheScope" in result) == (good.era == "stateless",) * 2


def test_the_good_server_refuses_what_it_does_not_have(good: Client) -> None:
    assert good.call("no_such_tool", {}).code == -32602
    assert good.call("find_book", []).code == -32602
    assert good.ask("tools/list", cursor="nowhere").code == -32602
    assert good.ask("prompts/get", name="nothing", arguments={}).code == -32602
    assert good.ask("prompts/get", name="recommend", arguments={}).code == -32602
    assert good.ask("resources/read", uri="library://nothing").code == (-32602 if good.era == "stateless" else -32002)
    unknown = good.ask("no/such/method")
    assert unknown.code == -32601
    assert unknown.status == (404 if good.era == "stateless" and isinstance(good, HttpClient) else 200)


def test_the_good_server_serves_its_prompt_and_its_resource(good: Client) -> None:
    assert good.ask("prompts/get", name="recommend", arguments={"genre": "fiction"}).result["messages"]
    assert good.ask("resources/read", uri="library://hours").result["contents"]


def test_only_the_older_era_has_a_ping(good: Client) -> None:
    assert good.ask("ping").code == (-32601 if good.era == "stateless" else None)


def test_the_good_server_survives_what_is_no_request(good: Client) -> None:
    for data, code in ((b"oops", -32700), (b'{"jsonrpc": "2.0", "id": 7, "meth', -32700), (b"[]", -32600)):
        outcome = good.send(data, {})
        assert outcome.envelope["id"] is None
        assert outcome.code == code
        assert outcome.status == (400 if isinstance(good, HttpClient) else 200)
    assert good.ask("tools/list").code is None


def test_the_good_server_offers_its_own_revision(good: Client) -> None:
    outcome = good.begin("1999-01-01")
    if good.era == "handshake":
        assert outcome.result["protocolVersion"] == "2025-11-25"
    else:
        assert outcome.code == -32022
        assert outcome.envelope["error"]["data"] == {"supported": ["2026-07-28"], "requested": "1999-01-01"}
        assert outcome.status == (400 if isinstance(good, HttpClient) else 200)


@pytest.mark.parametrize("revision", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_the_good_server_speaks_every_revision_of_the_older_era(revision: str) -> None:
    with StdioClient("good", "handshake") as client:
        assert client.begin(revision).result["protocolVersion"] == revision


def test_headers_that_say_something_else_are_refused_in_the_newer_era() -> None:
    with HttpClient("good", "stateless") as client:
        meta = {f"{META}/protocolVersion": "2026-07-28", f"{META}/clientCapabilities": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
        outcome = client.send(json.dumps(message).encode(), {"MCP-Protocol-Version": "2026-07-28"})
        assert (outcome.code, outcome.status) == (-32020, 400)


@pytest.mark.parametrize("era", ERAS)
def test_mcproof_finds_only_the_contradicting_hints_of_the_good_server(era: str) -> None:
    over_stdio = lint("--", *command("good", "--era", era))["findings"]
    with serve("good", era) as url:
        over_http = lint(url)["findings"]
    for found in (over_stdio, over_http):
        assert [(each["rule"], each["tool"]) for each in found if each["level"] != "note"] == [("SPEC-032", "archive")]


@pytest.mark.parametrize("transport", CLIENTS)
def test_every_call_is_written_down(transport: str, tmp_path: Path) -> None:
    called = tmp_path / "called"
    with CLIENTS[transport]("good", "handshake", CALLED=str(called)) as client:
        client.ask("tools/list")
        assert not called.exists()
        for name in ("delete_book", "no_such_tool", "find_book"):
            client.call(name, {})
    assert called.read_text(encoding="utf-8").split() == ["delete_book", "no_such_tool", "find_book"]


# The faults.


def test_an_unknown_fault_is_refused() -> None:
    for words in (command("no-such-fault"), command("good", "--era", "stone"), command("http-500")):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
        assert done.returncode == 1
        assert b"Traceback" not in done.stderr
        assert done.stderr


def eras_of(fault: str) -> tuple[str, ...]:
    return ERAS if FAULTS[fault].era is None else (str(FAULTS[fault].era),)


class MemoryClient(Client):
    """Asks a server in this process."""

    def __init__(self, fault: str, era: str) -> None:
        super().__init__(era)
        self.server = contract.server([fault, "--era", era])

    def send(self, data: bytes, headers: dict[str, str]) -> Outcome:
        return Outcome(json.loads(self.server.receive(data).body))


OVER_STDIO = [(fault, era) for fault in FAULTS if FAULTS[fault].transport is None for era in eras_of(fault)]


@pytest.mark.parametrize(("fault", "era"), OVER_STDIO)
def test_each_fault_starts(fault: str, era: str) -> None:
    client = MemoryClient(fault, era)
    assert client.begin(client.revision).code is None
    assert client.ask("tools/list").result["tools"]


@pytest.mark.parametrize("era", ERAS)
def test_a_fault_starts_as_a_process_and_ends_with_its_input(era: str) -> None:
    with StdioClient("accepts-missing", era) as client:
        assert client.begin(client.revision).code is None
        assert client.ask("tools/list").result["tools"]
    assert (client.rest, client.words, client.process.returncode) == (b"", b"", 0)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if FAULTS[fault].transport == "http"])
def test_each_fault_of_http_starts(fault: str) -> None:
    for era in eras_of(fault):
        with HttpClient(fault, era) as client:
            assert client.ask("tools/list").result["tools"]


def test_each_fault_says_what_it_does_and_what_must_be_found() -> None:
    found: set[str] = set()
    for name, fault in FAULTS.items():
        assert fault.__doc__, name
        assert bool(fault.fires) != (name == "good" or name.startswith("looks-")), name
        found.update(fault.fires)
    assert found == {f"WIR-{number:03}" for number in (*range(11, 32), 34, 35, 37)}


class DiedError(Exception):
    """In place of the end of this process."""


def questions(client: Client) -> Iterator[tuple[str, list[bytes]]]:
    """Everything in which a fault could show, by the place where it is; some take several messages."""
    for name, arguments in [*VALID.items(), *INVALID, ("find_book", {"query": "x", "limit": 50})]:
        yield name, [client.request("tools/call", name=name, arguments=arguments)]
    yield "no arguments", [client.request("tools/call", name="list_shelves")]
    yield "unknown tool", [client.request("tools/call", name="no_such_tool", arguments={})]
    yield "unknown method", [client.request("no/such/method")]
    yield "unknown prompt", [client.request("prompts/get", name="nothing")]
    yield "unknown resource", [client.request("resources/read", uri="library://nothing")]
    yield "cursor", [client.request("tools/list", cursor="nowhere")]
    if client.era == "handshake":
        yield "ping", [client.request("ping")]
    yield "not JSON", [b"oops", client.request("tools/list")]
    yield "version", [Client(client.era, "1999-01-01").introduction()]
    for method in LISTS:
        yield method, [client.request(method)]
    yield "introduction", [client.introduction()]
    yield "prompt", [client.request("prompts/get", name="recommend", arguments={"genre": "fiction"})]
    yield "resource", [client.request("resources/read", uri="library://hours")]
    yield "no message", [b"[]", b'{"jsonrpc": "2.0", "method": "notifications/cancelled"}']


def responses(fault: str, era: str, messages: list[bytes]) -> list[object]:
    """What a server of its own does with these messages; its end is a response, too."""
    server, seen = FAULTS[fault](era), list[object]()
    for message in messages:
        try:
            seen.append(server.receive(message))
        except DiedError:
            return [*seen, "died"]
    return seen


ELSEWHERE = {
    "bad-cursor-accepted": {"tools/list", "not JSON"},
    "looks-lenient-pages": {"not JSON"},
    "resource-link-in-2025-03-26": {"introduction", "version"},
    "audio-in-2024-11-05": {"introduction", "version"},
    "looks-odd-audio": {"introduction", "version"},
}
"""Where else a server differs: one that supports only older revisions, or that has several pages."""


@pytest.mark.parametrize("fault", [each for each in FAULTS if each not in ("good", "crash-every-20th-call")])
def test_each_fault_is_in_one_place(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def died() -> NoReturn:
        raise DiedError

    monkeypatch.setattr(contract_faults, "die", died)
    for era in eras_of(fault):
        places = {
            place
            for place, messages in questions(Client(era))
            if responses(fault, era, messages) != responses("good", era, messages)
        }
        assert len(places - ELSEWHERE.get(fault, set())) == 1, (era, places)


def test_one_fault_needs_twenty_calls() -> None:
    with StdioClient("crash-every-20th-call", "handshake") as client:
        for _ in range(19):
            assert client.call("count_books", {}).code is None
        assert client.ask("ping").code is None
        with pytest.raises(ConnectionError):
            client.call("count_books", {})
    assert client.process.returncode == 3


@pytest.mark.parametrize("transport", CLIENTS)
@pytest.mark.parametrize(
    ("fault", "arguments"),
    [
        ("crash-on-missing", {}),
        ("crash-on-wrong-type", {"query": {}}),
        ("crash-on-extra", {"query": "rose", "other": 1}),
        ("crash-on-oversized", {"query": "x" * 1024 * 1024}),
        ("crash-on-valid", {"query": "rose"}),
        ("crash-on-x-and-limit", {"query": "x", "limit": 41}),
    ],
)
def test_a_crash_closes_the_connection(transport: str, fault: str, arguments: dict[str, Any]) -> None:
    with CLIENTS[transport](fault, "handshake") as client:
        assert client.call("list_shelves", VALID["list_shelves"]).code is None
        with pytest.raises(ConnectionError):
            client.call("find_book", arguments)
    if isinstance(client, StdioClient):
        assert client.process.returncode == 3
        assert client.words == b"library: the catalogue is gone\n"


@pytest.mark.parametrize("fault", ["crash-after-answer", "crash-soon-after-answer"])
@pytest.mark.parametrize("transport", CLIENTS)
def test_a_crash_may_come_after_the_answer(transport: str, fault: str) -> None:
    with CLIENTS[transport](fault, "handshake") as client:
        assert client.call("find_book", {"query": {}}).result["isError"] is True
        if isinstance(client, StdioClient):
            assert client.process.wait(PATIENCE) == 3


@pytest.mark.parametrize("era", ERAS)
def test_a_hang_leaves_the_next_request_alone(era: str) -> None:
    with StdioClient("hang-on-valid", era) as client:
        client.write(client.request("tools/call", name="find_book", arguments={"query": "rose"}))
        assert client.ask("tools/list").result["tools"]


def test_a_hang_over_http_leaves_the_next_request_alone_and_ends_with_the_test() -> None:
    with HttpClient("hang-on-valid", "handshake") as client:
        hanging = http.client.HTTPConnection(client.url.split("/")[2], timeout=PATIENCE)
        hanging.request("POST", "/mcp", client.request("tools/call", name="find_book", arguments={"query": "rose"}))
        assert client.ask("tools/list").result["tools"]
    with pytest.raises(http.client.RemoteDisconnected):
        hanging.getresponse()
    hanging.close()


def test_a_deaf_server_answers_nothing_and_still_ends_with_its_input() -> None:
    with StdioClient("deaf-after-valid", "handshake") as client:
        client.write(client.request("tools/call", name="find_book", arguments={"query": "rose"}))
        client.write(client.request("ping"))
    assert (client.rest, client.process.returncode) == (b"", 0)
