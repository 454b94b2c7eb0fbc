from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcproof.core.errors import InputError, UsageError
from mcproof.testing.suites.snapshots import SnapshotStore, mask_of, refuse_update

if TYPE_CHECKING:
    from pathlib import Path

VALUE: dict[str, Any] = {
    "id": "7f1de4c8-4b1a-4c8e-9f57-0a1b2c3d4e5f",
    "at": "seen 2026-07-28T10:11:12Z twice",
    "items": [{"n": 1, "x": 2}, {"n": 3, "x": 4}],
}


def test_masks_are_applied_to_a_copy() -> None:
    mask = mask_of(["timestamps", "uuids", "result.items[*].n"])
    before = json.dumps(VALUE)
    assert mask.apply(VALUE, ("result",)) == {
        "id": "<uuid>",
        "at": "seen <timestamp> twice",
        "items": [{"n": "<masked>", "x": 2}, {"n": "<masked>", "x": 4}],
    }
    assert json.dumps(VALUE) == before


@pytest.mark.parametrize(
    ("path", "steps", "masked"),
    [
        ("result.items[0].n", ("result", "items"), [{"n": "<masked>", "x": 2}, {"n": 3, "x": 4}]),
        ("result.items[*]", ("result", "items"), ["<masked>", "<masked>"]),
        ("result.items[1][*]", ("result", "items"), [{"n": 1, "x": 2}, {"n": "<masked>", "x": "<masked>"}]),
        ("result.items[9].n", ("result", "items"), VALUE["items"]),
        ("result.other", ("result", "items"), VALUE["items"]),
        ("result.items", ("result", "items"), "<masked>"),
    ],
)
def test_a_mask_is_a_path_from_the_root(path: str, steps: tuple[str, ...], masked: Any) -> None:
    assert mask_of([path]).apply(VALUE["items"], steps) == masked


def test_snapshots_are_stored_then_compared(tmp_path: Path) -> None:
    suite = str(tmp_path / "suite.yaml")
    first = SnapshotStore(suite, updates=False)
    mismatch = first.compare("a", {"n": 1})
    assert mismatch is not None
    assert mismatch.message == "no stored snapshot; use --update-snapshots to store it"
    first.save()
    assert not (tmp_path / "suite.snapshots.json").exists()

    updating = SnapshotStore(suite, updates=True)
    assert updating.compare("a", {"n": 1}) is None
    updating.save()
    stored = (tmp_path / "suite.snapshots.json").read_bytes()

    later = SnapshotStore(suite, updates=False)
    assert later.compare("a", {"n": 1}) is None
    mismatch = later.compare("a", {"n": 2})
    assert mismatch is not None
    assert mismatch.message == "differs from the snapshot: at n: expected 1, got 2; use --update-snapshots to accept it"
    later.save()
    assert (tmp_path / "suite.snapshots.json").read_bytes() == stored


@pytest.mark.parametrize("content", ["", "[]", '{"snapshots": 1}', "[" * 100_000, "\xff"])
def test_a_damaged_snapshot_file_is_an_input_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "suite.snapshots.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match="not a snapshot file"):
        SnapshotStore(str(tmp_path / "suite.yaml"), updates=True).read()


def test_snapshot_updates_are_refused_in_ci() -> None:
    refuse_update({}, is_allowed=False)
    refuse_update({"CI": "false"}, is_allowed=False)
    refuse_update({"CI": "true"}, is_allowed=True)
    with pytest.raises(UsageError, match="disabled in CI jobs"):
        refuse_update({"CI": "true"}, is_allowed=False)


def test_the_version_of_the_server_is_masked_in_old_and_new_snapshots(tmp_path: Path) -> None:
    def result(version: str) -> dict[str, Any]:
        return {"content": [], "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": version}}}

    masked = mask_of([]).apply(result("2.0"), ("result",))
    assert masked == result("<masked>")
    suite = tmp_path / "s.yaml"
    stored = tmp_path / "s.snapshots.json"
    stored.write_text(json.dumps({"schema_version": 1, "snapshots": {"a": result("1.0")}}), encoding="utf-8")
    assert SnapshotStore(str(suite), updates=False).compare("a", masked) is None
    renamed = {**masked, "content": [{"type": "text"}]}
    assert SnapshotStore(str(suite), updates=False).compare("a", renamed) is not None
