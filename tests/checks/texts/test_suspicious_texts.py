"""Which texts are searched for something hidden or encoded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mcproof.checks.texts.hidden import hidden_in
from mcproof.checks.texts.model_texts import ModelTexts
from mcproof.checks.texts.suspicious import HARMLESS, encoded_suspects, hiding_suspects
from mcproof.targets.snapshots import read_snapshot
from modules import existing

DEMO = Path(__file__).parents[3] / "src/mcproof/demo/weather.json"


def texts_of(*descriptions: str) -> ModelTexts:
    tools = [{"name": f"t{at}", "description": each} for at, each in enumerate(descriptions)]
    return ModelTexts(read_snapshot(json.dumps({"tools": tools}).encode(), "catalog.json"))


def test_harmless_characters_hide_nothing() -> None:
    harmless = re.findall(f"[{HARMLESS}]", "".join(map(chr, range(0x80, 0x110000))))
    assert len(harmless) > 30_000
    hiding = [each for each in harmless if hidden_in(f"Adds{each}two n{each}{each}{each}{each}{each}mbers.")]
    assert hiding == []
    assert not any(each.isspace() for each in harmless)


@pytest.mark.parametrize(
    "text",
    [
        "Adds.<!-- x y z -->",
        "Adds.\n[//]: # (x y z)",
        "Adds.\n[//]:# (x y z)",
        "Adds. <p hidden>x y z</p>",
        "Adds. <p\nhidden>x y z</p>",
        "Adds. <p style = 'display:none'>x y z</p>",
        "Adds." + " " * 45 + "x y z",
        "Adds." + " \t" * 20 + "x y z",
        "Adds." + "&emsp;" * 40 + "x y z",
        "\n" * 9 + "x y z",
        "Adds.\n \n\t\n \n\n\r\n\n\n\n x y z",
        "Adds.\x1b[8mx y z",
        "Adds\u200b two",
        "Ad\u0501s two",
    ],
)
def test_a_text_that_hides_something_is_a_suspect_by_itself(text: str) -> None:
    assert hidden_in(text)
    assert text in hiding_suspects(texts_of("Before it.", text, "After it."))


def test_usual_texts_are_no_suspects() -> None:
    texts = texts_of("Adds two numbers – “quoted”, 5 µm → 日本語 café 🚀.", "See `a[0]: b` or <id>, 100 items (v1.2).")
    assert hiding_suspects(texts) == []
    assert encoded_suspects(texts) == {}


def test_a_row_at_the_start_of_a_text_is_found_in_that_text() -> None:
    assert encoded_suspects(texts_of("Adds.", "i g n o r e all")) == {"i g n o r e all": ["spaced letters"]}


def test_a_clean_file_loads_no_decoder() -> None:
    code = (
        "import sys; from mcproof.cli.main import main; main(sys.argv[1:]);"
        "print(sorted(each for each in sys.modules if each.startswith('mcproof.checks.texts.')), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "lint", str(DEMO)], capture_output=True, text=True, check=False, timeout=60
    )
    assert "mcproof.checks.texts.suspicious" in done.stderr
    decoders = ("judge", "encodings", "hidden", "codes")
    for name in existing(*(f"mcproof.checks.texts.{decoder}" for decoder in decoders)):
        assert f"{name}'" not in done.stderr
