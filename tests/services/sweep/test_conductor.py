"""The conductor with an engine that does what a test tells it: hosts, retries, lost workers, bounded reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcproof.client.endpoints import UrlEndpoint
from mcproof.services.sweep import Politeness, SweepPlan, conductor
from mcproof.services.sweep.check import Attempt, SweepTask
from mcproof.services.sweep.conductor import Conductor
from mcproof.services.sweep.engines import EngineEvent, Finished, Lost, Overdue
from mcproof.services.sweep.registry import SweepTarget, capture_target, key_of
from mcproof.services.sweep.results import ResultsFile, RowSink

from .sweeping import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CHECKED = '{"schema_version": 1, "kind": "sweep-outcome", "id": "%016x", "target": "%s", "name": null, "outcome": "%s"%s, "attempts": 1, "timings": {"started": "", "seconds": 0}}\n'  # noqa: E501
_MORE = ', "server": {}, "protocol": null, "transport": null, "counts": {}, "grade": null, "tokens": null, "descriptions": null, "summary": {"errors": 0, "warnings": 0, "notes": 0, "by_rule": {}}'  # noqa: E501
_WHY = ', "reason": "r", "message": "m"'


def server(host: str, number: int = 0) -> SweepTarget:
    url = f"http://{host}/{number}"
    return SweepTarget(key_of(url), url, endpoint=UrlEndpoint(url, {}))


def good(task: SweepTask) -> EngineEvent:
    line = CHECKED % (task.target.key, task.target.label, "checked", _MORE)
    return Finished(task.number, Attempt(line, "checked"))


def refused(task: SweepTask, wait: float | None = 0.0) -> EngineEvent:
    line = CHECKED % (task.target.key, task.target.label, "unreachable", _WHY)
    return Finished(task.number, Attempt(line, "unreachable", wait))


class ScriptedEngine:
    """Ends one task per call of `events`, as the script has it; records what it was asked."""

    def __init__(self, script: Callable[[SweepTask], EngineEvent], room: int = 100) -> None:
        self._script = script
        self._room = room
        self.flying: dict[int, SweepTask] = {}
        self.submitted: list[tuple[str, int, bool]] = []
        self.most = 0

    def has_room(self, *, is_live: bool, alone: bool = False) -> bool:
        return len(self.flying) < self._room

    def submit(self, task: SweepTask, *, alone: bool = False) -> None:
        self.flying[task.number] = task
        self.submitted.append((task.target.label, task.attempt, alone))
        self.most = max(self.most, len(self.flying))

    def events(self, seconds: float) -> list[EngineEvent]:
        if not self.flying:
            return []
        event = self._script(next(iter(self.flying.values())))
        ended = [*event.suspects, *event.bystanders] if isinstance(event, Lost) else [event.number]
        for number in ended:
            del self.flying[number]
        return [event]

    def close(self) -> None:
        pass


@pytest.fixture
def results(tmp_path: Path) -> Iterator[ResultsFile]:
    file = ResultsFile(str(tmp_path / "sweep.jsonl"), {})
    yield file
    file.close()


def conduct(
    results: ResultsFile, engine: ScriptedEngine, *targets: SweepTarget, per_host: int = 2, retries: int = 2
) -> dict[str, str]:
    sink = RowSink(results)
    run = Conductor(engine, SweepPlan(), results, sink, Politeness(per_host, retries), lambda _: None)
    run.run(iter(targets))
    assert run.tally.done == len({target.key for target in targets})
    return {row["target"]: row["outcome"] for row in rows(results_path(results))}


def results_path(results: ResultsFile) -> Path:
    from pathlib import Path

    return Path(results.file)


def test_a_host_gets_few_requests_at_once_while_others_go_on(results: ResultsFile) -> None:
    active: list[int] = []
    engine = ScriptedEngine(good)

    def watching(task: SweepTask) -> EngineEvent:
        active.append(sum(each.target.host == "busy" for each in engine.flying.values()))
        return good(task)

    engine._script = watching
    targets = [*(server("busy", number) for number in range(10)), *(server(f"h{number}") for number in range(10))]
    conduct(results, engine, *targets, per_host=3)
    assert max(active) == 3
    assert engine.most > 10  # the other hosts did not wait


def test_a_failed_try_is_repeated_with_a_growing_wait(results: ResultsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock(monkeypatch)
    engine = ScriptedEngine(lambda task: refused(task) if task.attempt < 3 else good(task))
    clock.runs(engine)
    assert conduct(results, engine, server("a")) == {"http://a/0": "checked"}
    assert [attempt for _, attempt, _ in engine.submitted] == [1, 2, 3]
    assert clock.waits == [1.0, 2.0]


def test_retries_end(results: ResultsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock(monkeypatch)
    engine = ScriptedEngine(refused)
    clock.runs(engine)
    assert conduct(results, engine, server("a"), retries=1) == {"http://a/0": "unreachable"}
    assert len(engine.submitted) == 2


def test_a_failure_that_no_try_would_change_is_final(results: ResultsFile) -> None:
    engine = ScriptedEngine(lambda task: refused(task, None))
    conduct(results, engine, server("a"))
    assert len(engine.submitted) == 1


def test_retry_after_is_honoured_for_the_whole_host(results: ResultsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock(monkeypatch)
    engine = ScriptedEngine(lambda task: refused(task, 30.0) if task.attempt == 1 else good(task))
    clock.runs(engine)
    conduct(results, engine, server("a", 1), server("a", 2), server("b"), per_host=1)
    times = {(label, attempt): at for (label, attempt, _), at in zip(engine.submitted, clock.submissions, strict=True)}
    assert times["http://a/1", 2] >= times["http://a/1", 1] + 30
    assert times["http://a/2", 1] >= times["http://a/1", 1] + 30
    assert times["http://b/0", 1] < 30


def test_a_wait_that_is_too_long_is_not_waited_for(results: ResultsFile) -> None:
    engine = ScriptedEngine(lambda task: refused(task, 3600.0))
    conduct(results, engine, server("a"))
    assert len(engine.submitted) == 1


def test_a_target_that_ends_its_worker_twice_is_skipped_and_the_others_are_not(
    results: ResultsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(task: SweepTask) -> EngineEvent:
        flying = tuple(engine.flying)
        return Lost(flying) if any("evil" in each.target.host for each in engine.flying.values()) else good(task)

    engine = ScriptedEngine(script)

    def has_room(self: ScriptedEngine, *, is_live: bool, alone: bool = False) -> bool:
        return len(self.flying) < (1 if alone else 3)

    monkeypatch.setattr(ScriptedEngine, "has_room", has_room)
    found = conduct(results, engine, server("a"), server("evil"), server("b"))
    assert found == {"http://a/0": "checked", "http://evil/0": "crashed", "http://b/0": "checked"}
    assert [alone for label, _, alone in engine.submitted if "evil" in label] == [False, True]


def test_bystanders_of_a_lost_worker_have_no_strike(results: ResultsFile) -> None:
    deaths: list[int] = []

    def script(task: SweepTask) -> EngineEvent:
        first, *others = engine.flying
        if engine.flying[first].target.label == "evil.json" and len(deaths) < 2:
            deaths.append(len(others))
            return Lost((first,), tuple(others))
        return good(task)

    engine = ScriptedEngine(script)
    found = conduct(results, engine, *map(capture_target, ("evil.json", "a.json", "b.json")))
    assert found == {"evil.json": "crashed", "a.json": "checked", "b.json": "checked"}


def test_an_overdue_target_is_timed_out(results: ResultsFile) -> None:
    engine = ScriptedEngine(lambda task: Overdue(task.number))
    assert conduct(results, engine, capture_target("slow.json")) == {"slow.json": "timed-out"}


def test_no_more_targets_are_read_than_there_is_room_for(results: ResultsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor, "MOST_WAITING", 20)
    read = done = 0
    ahead: list[int] = []

    def targets() -> Iterator[SweepTarget]:
        nonlocal read
        for number in range(300):
            read += 1
            yield server("one-host", number) if number % 2 else capture_target(f"{number}.json")

    def script(task: SweepTask) -> EngineEvent:
        nonlocal done
        ahead.append(read - done)
        done += 1
        return good(task)

    engine = ScriptedEngine(script, room=10)
    run = Conductor(engine, SweepPlan(), results, RowSink(results), Politeness(), lambda _: None)
    run.run(targets())
    assert run.tally.done == 300
    assert max(ahead) <= 2 * 20 + 10 + 2  # a capture may come with every server that waits


def test_what_was_under_way_at_every_kill_is_checked_last_and_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "sweep.jsonl")
    evil, other = capture_target("evil.json"), capture_target("other.json")
    for _ in range(2):  # killed twice
        file = ResultsFile(path, {})
        file.begin(evil.key)
        file.flush()
        file.close()
    file = ResultsFile(path, {})
    engine = ScriptedEngine(good)
    assert set(conduct(file, engine, evil, other).values()) == {"checked"}
    assert [label for label, _, _ in engine.submitted] == ["other.json", "evil.json"]
    file.close()


def test_what_was_alone_at_two_kills_is_skipped(tmp_path: Path) -> None:
    path = str(tmp_path / "sweep.jsonl")
    evil = capture_target("evil.json")
    for _ in range(2):
        file = ResultsFile(path, {})
        file.begin(evil.key, alone=True)
        file.flush()
        file.close()
    file = ResultsFile(path, {})
    assert conduct(file, ScriptedEngine(good), evil) == {"evil.json": "crashed"}
    file.close()


class FakeClock:
    """A clock that moves on when the conductor waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.submissions: list[float] = []
        monkeypatch.setattr(conductor, "monotonic", lambda: self.now)
        monkeypatch.setattr(conductor, "_TICK", 1e9)

    def runs(self, engine: ScriptedEngine) -> None:
        events, submit = engine.events, engine.submit

        def waiting(seconds: float) -> list[EngineEvent]:
            if not engine.flying:
                self.waits.append(round(seconds, 3))
                self.now += seconds
            return events(seconds)

        def noting(task: SweepTask, *, alone: bool = False) -> None:
            self.submissions.append(self.now - 1000.0)
            submit(task, alone=alone)

        engine.events, engine.submit = waiting, noting  # type: ignore[method-assign]
