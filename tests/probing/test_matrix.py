"""The contract matrix of servers that check their arguments only in part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cli.running import validator
from client.in_memory import in_memory
from mcproof.cli.main import main
from servers.checkers import CHECKERS, COLUMNS

from .running import command, silently

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("here", "hurried")

WHERE = [(transport, era) for transport in ("stdio", "http") for era in ("handshake", "stateless")]


def proved(checker: str, target: list[str], folder: Path, *words: str) -> tuple[int, Any]:
    """The exit code and the document of `prove`."""
    file = folder / f"{checker}.json"
    code = main(["prove", *words, "--output", f"json:{file}", *target])
    document = json.loads(file.read_text(encoding="utf-8"))
    validator("prove").validate(document)
    return code, document


def matrix_of(document: Any) -> dict[str, tuple[str, ...]]:
    """The cells of the tools that were called, as `checkers` writes them."""
    rows: dict[str, dict[str, str]] = {}
    for each in document["matrix"]:
        count = f" {each['refused']}/{each['tried']}" if each["tried"] else ""
        lenient = f" ~{each['lenient']}" if each["lenient"] else ""
        text = " ".join([f"{each['verdict']}{count}{lenient}", *each["arguments"]])
        rows.setdefault(each["tool"], {})[each["column"]] = text
        assert each["left_out"] == 0 or each["verdict"] == "not tested"
    return {tool: tuple(row[column] for column in COLUMNS) for tool, row in rows.items() if tool in TOOLS}


TOOLS = ("find_book", "count_books", "list_shelves")
CAREFUL = ["--", *command("checks-everything")]


@pytest.mark.parametrize(("transport", "era"), WHERE)
def test_each_server_has_its_matrix(transport: str, era: str, tmp_path: Path) -> None:
    """The servers run in this process; the tests below start them."""
    found = {}
    with in_memory() as memory, silently():
        for checker in CHECKERS:
            is_http = transport == "http"
            target = [memory.url(checker, era)] if is_http else ["--", *command(checker, "--era", era)]
            found[checker] = proved(checker, target, tmp_path)
    assert {name: matrix_of(document) for name, (_, document) in found.items()} == {
        name: checker.matrix for name, checker in CHECKERS.items()
    }
    breaks = ("checks-first", "checks-top-level", "checks-types")
    assert {name: code for name, (code, _) in found.items()} == {name: int(name in breaks) for name in CHECKERS}


def test_what_is_converted_breaks_a_promise_with_strict(tmp_path: Path) -> None:
    words = ("--strict", "--tool", "find_book")
    code, document = proved("coerces", ["--", *command("coerces")], tmp_path, *words)
    assert code == 1
    assert matrix_of(document)["find_book"][1] == "broken promise 0/2 query limit"
    assert {each["rule"] for each in document["findings"] if each["ruleset"] == "wire"} == {"WIR-013"}


def test_a_limit_leaves_promises_out_evenly(tmp_path: Path) -> None:
    words = ("--max-calls", "7", "--tool", "find_book")
    code, document = proved("checks-everything", CAREFUL, tmp_path, *words)
    assert code == 0
    cells = {each["column"]: each for each in document["matrix"]}
    assert {column: cell["verdict"] for column, cell in cells.items()} == {
        **dict.fromkeys(("missing", "extra"), "proven"),
        **dict.fromkeys(("type", "size", "values"), "partly tried"),
    }
    assert cells["type"]["arguments"] == ["limit"]
    assert (cells["type"]["tried"], cells["type"]["refused"], cells["type"]["left_out"]) == (1, 1, 1)
    assert len([each for each in document["probes"] if each["tool"] == "find_book"]) == 1 + 7
    (left_out,) = document["not_tested"]
    assert left_out == {"what": "tool find_book, in part", "why": "17 probes left out: --max-calls 7"}


def test_a_column_that_the_limit_leaves_out_is_not_tested(tmp_path: Path) -> None:
    words = ("--max-calls", "2", "--tool", "find_book")
    code, document = proved("checks-everything", CAREFUL, tmp_path, *words)
    assert code == 0
    cells = {each["column"]: (each["verdict"], each["left_out"], each["reason"]) for each in document["matrix"]}
    assert cells["size"] == ("not tested", 1, "left out: --max-calls 2")
    assert cells["values"] == ("not tested", 3, "left out: --max-calls 2")


def test_every_probe_has_its_request_and_response(tmp_path: Path) -> None:
    _, document = proved("checks-everything", CAREFUL, tmp_path, "--tool", "list_shelves")
    probes = [each for each in document["probes"] if each["tool"] == "list_shelves"]
    assert all(json.loads(each["request"]) is not None for each in probes if "characters)" not in each["request"])
    assert all(each["answer"] for each in probes)
    assert "near.floor" in {each["argument"] for each in probes}
