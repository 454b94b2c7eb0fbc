"""Which of several requests is blamed when a server ends between two of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from mcproof.client.calling import Reply
from mcproof.client.peer import Answer
from mcproof.prove import blame
from mcproof.prove.blame import Sender

if TYPE_CHECKING:
    from mcproof.client.calling import Session

ANSWERED = Reply("accepted", Answer(b"{}", {"result": {}}))
CRASHED = Reply("crash", None, "the server exited with code 3")
HUNG = Reply("hang", None, "no answer within 1 second")


class Played:
    """A session with a server that ends so many requests after the one that is deadly; pings count."""

    def __init__(self, deadly: str, after: int, *, can_restart: bool = True) -> None:
        self.can_restart = can_restart
        self.is_connected = self.has_asked = False
        self._deadly = deadly
        self._after = after
        self._left: int | None = None

    def another(self) -> Played:
        return Played(self._deadly, self._after, can_restart=self.can_restart)

    async def ask(self, method: str, params: dict[str, Any] | None, limit: float | None = None) -> Reply:
        self.is_connected = True
        if self._left is not None and self._left <= 0:
            await self.leave()
            return CRASHED
        if self._left is not None:
            self._left -= 1
        if params is not None and params.get("name") == self._deadly:
            self._left = self._after
        return ANSWERED

    async def absence(self, limit: float | None = None) -> Reply | None:
        reply = await self.ask("ping", None)
        return reply if reply.outcome == "crash" else None

    async def leave(self, *, at_once: bool = False) -> None:
        self.is_connected = False
        self._left = None


def outcomes(session: Played, names: str, *, looks: bool) -> tuple[dict[str, str], list[str]]:
    """What is said of each request in the end, and what no request explains."""

    async def play() -> tuple[dict[str, str], list[str]]:
        sender = Sender(cast("Session", session), looks=looks)
        said: dict[str, str] = {}
        numbers: dict[int, str] = {}
        for name in names:
            number, reply = await sender.send("tools/call", {"name": name})
            numbers[number] = name
            said[name] = "not sent" if reply is None else reply.outcome
        await sender.finish()
        for number, reply in sender.corrections.items():
            said[numbers[number]] = reply.outcome
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

    def __init__(self, end: Reply) -> None:
        super().__init__("", 0)
        self._end = end
        self._asked = 0

    def another(self) -> Played:
        return Tired(self._end)

    async def ask(self, method: str, params: dict[str, Any] | None, limit: float | None = None) -> Reply:
        self._asked += 1
        if self._asked < 20:
            return await super().ask(method, params)
        if self._end.outcome == "crash":
            await self.leave()
        return self._end

    async def absence(self, limit: float | None = None) -> Reply | None:
        reply = await self.ask("ping", None)
        return reply if reply.outcome != "accepted" else None

    async def leave(self, *, at_once: bool = False) -> None:
        await super().leave()
        self._asked = 0


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("end", [CRASHED, HUNG])
def test_a_server_that_ends_for_no_single_request_is_blamed_as_a_whole(end: Reply, looks: bool) -> None:
    said, unexplained = outcomes(Tired(end), "abcdefghijklmnopqrstuvwxy", looks=looks)
    assert set(said.values()) == {"accepted"}
    assert len(unexplained) >= 1
    assert unexplained[0].startswith(f"{end.outcome}: ")
    assert "none of the last" in unexplained[0]


class Slow(Played):
    """It takes two further requests until it ends, but ends soon where it is left alone."""

    def another(self) -> Played:
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
