"""Which of several requests is blamed if a server ends between two of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from mcproof.client.peer import RpcResponse
from mcproof.client.session import Response
from mcproof.probing.probes import blame
from mcproof.probing.probes.blame import Sender

if TYPE_CHECKING:
    from mcproof.client.session import Session

ANSWERED = Response("accepted", RpcResponse(b"{}", {"result": {}}))
CRASHED = Response("crash", None, "the server exited with code 3")
HUNG = Response("hang", None, "no response within 1 second")


class Played:
    """A session with a server that ends so many requests after the one that is deadly; pings count."""

    def __init__(self, deadly: str, after: int, *, can_restart: bool = True) -> None:
        self.can_restart = can_restart
        self.limit = 1.0
        self.is_connected = self.has_sent = False
        self._deadly = deadly
        self._after = after
        self._left: int | None = None

    def new_session(self) -> Played:
        return Played(self._deadly, self._after, can_restart=self.can_restart)

    async def send(self, method: str, params: dict[str, Any] | None, limit: float | None = None) -> Response:
        self.is_connected = True
        if self._left is not None and self._left <= 0:
            await self.close()
            return CRASHED
        if self._left is not None:
            self._left -= 1
        if params is not None and params.get("name") == self._deadly:
            self._left = self._after
        return ANSWERED

    async def ping_failure(self, limit: float | None = None) -> Response | None:
        response = await self.send("ping", None)
        return response if response.outcome == "crash" else None

    async def close(self, *, at_once: bool = False) -> None:
        self.is_connected = False
        self._left = None


def outcomes(session: Played, names: str, *, looks: bool) -> tuple[dict[str, str], list[str]]:
    """What is said of each request in the end, and what no request explains."""

    async def play() -> tuple[dict[str, str], list[str]]:
        sender = Sender(cast("Session", session), pings=looks)
        said: dict[str, str] = {}
        numbers: dict[int, str] = {}
        for name in names:
            number, response = await sender.send("tools/call", {"name": name})
            numbers[number] = name
            said[name] = "not sent" if response is None else response.outcome
        await sender.finish()
        for number, response in sender.corrections.items():
            said[numbers[number]] = response.outcome
        return said, [f"{end.outcome}: {end.why}" for end in sender.unexplained]

    return asyncio.run(play())


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blame, "SETTLE", 0.0)


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("deadly", list("abcde"))
def test_a_server_that_ends_right_after_an_answer_is_blamed_on_that_request(deadly: str, looks: bool) -> None:
    said, unexplained = outcomes(Played(deadly, 0), "abcde", looks=looks)
    assert said == {name: "crash" if name == deadly else "accepted" for name in "abcde"}
    assert unexplained == []


class Tired(Played):
    """It comes to its end at its twentieth request, whatever that is: it crashes, or answers nothing any more."""

    def __init__(self, end: Response) -> None:
        super().__init__("", 0)
        self._end = end
        self._asked = 0

    def new_session(self) -> Played:
        return Tired(self._end)

    async def send(self, method: str, params: dict[str, Any] | None, limit: float | None = None) -> Response:
        self._asked += 1
        if self._asked < 20:
            return await super().send(method, params)
        if self._end.outcome == "crash":
            await self.close()
        return self._end

    async def ping_failure(self, limit: float | None = None) -> Response | None:
        response = await self.send("ping", None)
        return response if response.outcome != "accepted" else None

    async def close(self, *, at_once: bool = False) -> None:
        await super().close()
        self._asked = 0


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("end", [CRASHED, HUNG])
def test_a_server_that_ends_for_no_single_request_is_blamed_as_a_whole(end: Response, looks: bool) -> None:
    said, unexplained = outcomes(Tired(end), "abcdefghijklmnopqrstuvwxy", looks=looks)
    assert set(said.values()) == {"accepted"}
    assert len(unexplained) >= 1
    assert unexplained[0].startswith(f"{end.outcome}: ")
    assert "none of the last" in unexplained[0]


class Slow(Played):
    """It takes two further requests until it ends, but ends soon where it is left alone."""

    def new_session(self) -> Played:
        return Played(self._deadly, 0)


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_later_request_is_never_blamed_for_an_earlier_one(after: int, looks: bool) -> None:
    said, unexplained = outcomes(Slow("b", after), "abcdef", looks=looks)
    assert said == {name: "crash" if name == "b" else "accepted" for name in "abcdef"}
    assert unexplained == []


def test_a_server_that_cannot_be_started_anew_is_blamed_on_the_request_that_it_was_seen_after() -> None:
    said, _ = outcomes(Played("c", 0, can_restart=False), "abcde", looks=True)
    assert said == {name: "crash" if name == "c" else "accepted" for name in "abcde"}
