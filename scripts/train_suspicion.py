"""Train the model of suspicious sentences, `src/mcproof/checks/texts/suspicion.bin`.

    python scripts/train_suspicion.py --sources FOLDER [--cross-validate]

The project's own texts are in `scripts/texts`: whole tools by several authors, passages, words of the classes; and in
`tests/checks/texts`. Clean tools of real servers come from the repositories in `SOURCES`, which are cloned into FOLDER
at these commits; their texts are not part of mcproof. The result depends on nothing else: no random numbers, no package
besides mcproof.

With `--cross-validate`, each author's tools are judged by a model that has not seen them, and nothing is written.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import zlib
from collections import defaultdict
from itertools import chain, count
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from mcproof.checks.texts.model_texts import ModelTexts
from mcproof.checks.texts.suspicion import HASHED, OFFSET, Model, sentences
from mcproof.core.errors import McproofError
from mcproof.targets.snapshots import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
TEXTS, TESTS = ROOT / "scripts" / "texts", ROOT / "tests" / "checks" / "texts"
MODEL = ROOT / "src" / "mcproof" / "checks" / "texts" / "suspicion.bin"
SOURCES = {
    "docker/mcp-registry": ("818bf169b365e7b7d5b117352e32757c54844718", r"servers/[^/]+/tools\.json"),
    "pathintegral-institute/mcpm.sh": ("bdd5ed9874d321248aa7c151d87323bfb2ee354f", r"mcp-registry/servers/.*\.json"),
    "icip-cas/LiveMCPBench": ("a928e57d1ee7a25579b9a7036030faffff72d15b", r"tools/LiveMCPTool/tools\.json"),
}
"""Repositories under the MIT, the MIT and the Apache-2.0 licence: the commit, and the files that list tools."""

WARN, NOTE = 0.1, -0.05
"""The margins from which a sentence is worth a warning or a note: chosen on whole tools in the cross-validation."""
COST, OF_AUTHORS, ROUNDS = 1.0, 2.0, 40
"""What a wrong sentence costs against large weights; how much more one in a whole tool does; rounds of training."""
FILLINGS, CLIPPED, LOST_BY_GATE, GATE_OPEN = 2, 20, 200, 1_000_000
"""How often the slots of a passage are filled; how many weights are too large for a byte; one in how many suspicious
sentences the gate may lose; a gate that loses none."""


class Example(NamedTuple):
    """A sentence whose label is known."""

    author: str
    sentence: str
    is_poisoned: bool
    cost: float


class LabelledTool(NamedTuple):
    """A whole tool of an author."""

    author: str
    is_poisoned: bool
    sentences: list[str]


def main() -> None:
    """Train, and write the model or print the cross-validation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--cross-validate", action="store_true")
    given = parser.parse_args()
    tools = [tool for path in sorted((TEXTS / "tools").glob("*.jsonl")) for tool in tools_in(path)]
    clean = [tool for name in SOURCES for tool in public_tools(given.sources, name)]
    examples = [*examples_of_authors(), *passages(), *clean_examples(clean)]
    print(f"{len(examples):,} sentences, {sum(example.is_poisoned for example in examples):,} of them poisoned")
    if given.cross_validate:
        cross_validate(examples, tools)
    else:
        data = trained(examples).packed
        MODEL.write_bytes(data)
        print(f"{MODEL}: {len(data):,} bytes")


def tools_in(path: Path) -> Iterator[LabelledTool]:
    """The tools of an author: JSON Lines with `label`, `tool` and, for poisoned ones, the sentences in `where`."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield LabelledTool(row["author"], row["label"] == "poisoned", list(sentences_of([row["tool"]])))


def sentences_of(tools: list[dict[str, Any]]) -> Iterator[str]:
    """The sentences of all texts of tools that a model reads."""
    try:
        catalog = read_snapshot(json.dumps({"tools": tools}).encode(), "tools.json")
    except McproofError:
        return
    for text in ModelTexts(catalog).distinct:
        if " " in text or not text.isascii():
            yield from sentences(text)


def examples_of_authors() -> Iterator[Example]:
    """The sentences of the authors' tools; those that overlap with `where` are poisoned."""
    for path in sorted((TEXTS / "tools").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            where = letters(row.get("where", ""))
            for sentence in sentences_of([row["tool"]]):
                yield Example(row["author"], sentence, overlap(letters(sentence), where), OF_AUTHORS)


def letters(text: str) -> str:
    """A text without spaces and punctuation."""
    return re.sub(r"\W+", "", text.lower())


def overlap(sentence: str, where: str) -> bool:
    """Whether a sentence is in the poisoned part, contains it, or begins or ends in it."""
    if not sentence or not where:
        return False
    edges = (sentence[:25], sentence[-25:]) if len(sentence) > 20 else ()
    return sentence in where or where in sentence or any(edge in where for edge in edges)


def passages() -> Iterator[Example]:
    """The sentences of passages with their slots filled, and those of the tests."""
    slots = json.loads((TEXTS / "slots.json").read_text(encoding="utf-8"))
    at = count()
    for line in (TEXTS / "passages.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for _ in range(FILLINGS):
            text = re.sub(r"\{([A-Z])\}", lambda slot: slots[slot[1]][next(at) % len(slots[slot[1]])], row["text"])
            for sentence in sentences(text):
                yield Example("passages", sentence, bool(row["label"]), 1.0)
    for name in ("injections", "lookalikes"):
        styles = yaml.safe_load((TESTS / f"{name}.yml").read_text(encoding="utf-8"))
        for text in chain.from_iterable(styles.values()):
            for index, sentence in enumerate(sentences(text)):
                # The first words say honestly what the tool is for.
                is_title = index == 0 and len(sentence.split()) < 6 and len(sentence) < len(text)
                yield Example("tests", sentence, name == "injections" and not is_title, 1.0)


def public_tools(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """The tools that a repository lists."""
    commit, pattern = SOURCES[name]
    clone = folder / name.replace("/", "+")
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", f"https://github.com/{name}", str(clone)], check=True)
    git = ["git", "-C", str(clone)]
    for path in subprocess.run(
        [*git, "ls-tree", "-r", "--name-only", commit], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        if re.fullmatch(pattern, path):
            shown = subprocess.run([*git, "show", f"{commit}:{path}"], capture_output=True, check=True)
            yield from listed_tools(json.loads(shown.stdout))


def listed_tools(value: Any) -> Iterator[dict[str, Any]]:
    """Every object with a name and a description, or a list of arguments, below a value."""
    if isinstance(value, list):
        for element in value:
            yield from listed_tools(element)
    elif isinstance(value, dict):
        if (
            isinstance(value.get("name"), str)
            and isinstance(value.get("description"), str)
            and not isinstance(value.get("tools"), list | dict)
        ):
            described = {
                argument.get("name", ""): {"description": argument.get("desc")}
                for argument in value.get("arguments") or ()
                if isinstance(argument, dict)
            }
            schema = value.get("inputSchema") or {"type": "object", "properties": described}
            yield {"name": value["name"], "description": value["description"], "inputSchema": schema}
        else:
            for member in value.values():
                yield from listed_tools(member)


def clean_examples(tools: list[dict[str, Any]]) -> Iterator[Example]:
    """The distinct sentences of real tools."""
    for sentence in dict.fromkeys(sentence for tool in tools for sentence in sentences_of([tool])):
        yield Example("public", sentence, is_poisoned=False, cost=1.0)


class Trained(NamedTuple):
    """A model as it is stored."""

    parameters: dict[str, Any]
    weights: bytes

    @property
    def model(self) -> Model:
        """The model that judges."""
        return Model(self.parameters, self.weights)

    @property
    def packed(self) -> bytes:
        """What the file of the model contains."""
        parameters = json.dumps(self.parameters, ensure_ascii=False, separators=(",", ":"))
        return zlib.compress(parameters.encode() + b"\n" + self.weights, 9)


def untrained() -> Trained:
    """A model that knows the classes of words and has no weights."""
    listed = json.loads((TEXTS / "classes.json").read_text(encoding="utf-8"))
    classes = {name: " ".join(lines) for name, lines in listed.items()}
    size = HASHED + len(classes) + 2 * len(classes) ** 2
    return Trained({"classes": classes, "scale": 1.0, "bias": 0.0, "gate": -GATE_OPEN, "note": NOTE}, bytes(size))


def trained(examples: Iterable[Example]) -> Trained:
    """A linear support vector machine with squared hinge loss, trained by dual coordinate descent."""
    start = untrained()
    judge = start.model
    rows = []
    for example in dict.fromkeys(examples):
        words = judge.words(example.sentence)
        if len(words) >= 3 or not example.sentence.isascii():
            rows.append((list(judge.features(words)), 1 if example.is_poisoned else -1, 0.5 / (COST * example.cost)))
    # An order without a meaning that is always the same.
    rows.sort(key=lambda row: zlib.crc32(repr(row).encode()))
    weights, bias = [0.0] * len(start.weights), 0.0
    multipliers = [0.0] * len(rows)
    for _ in range(ROUNDS):
        for at, (features, sign, slack) in enumerate(rows):
            value = 1 / sqrt(len(features) + OFFSET)
            gradient = sign * (value * sum([weights[feature] for feature in features]) + bias) - 1
            gradient += multipliers[at] * slack
            curvature = value * value * len(features) + 1 + slack
            change = max(multipliers[at] - gradient / curvature, 0.0) - multipliers[at]
            if abs(change) > 1e-6:
                multipliers[at] += change
                bias += change * sign
                step = change * sign * value
                for feature in features:
                    weights[feature] += step
    scale = sorted(map(abs, weights))[-CLIPPED] / 127
    rounded = bytes(max(-127, min(127, round(weight / scale))) & 255 for weight in weights)
    parameters = {**start.parameters, "scale": scale, "bias": bias - WARN, "note": NOTE - WARN}
    return with_gate(Trained(parameters, rounded), examples)


def with_gate(result: Trained, examples: Iterable[Example]) -> Trained:
    """The same with a gate: the sum of single words that nearly every sentence worth a note has."""
    judge = result.model
    sums = sorted(
        sum(word.weight for word in judge.words(example.sentence))
        for example in examples
        if example.is_poisoned and judge.score(example.sentence) > judge.note_from
    )
    gate = sums[len(sums) // LOST_BY_GATE]
    return Trained({**result.parameters, "gate": gate}, result.weights)


def cross_validate(examples: list[Example], tools: list[LabelledTool]) -> None:
    """Judge the tools of each author by a model trained on all others, and every fifth clean tool by one without it."""
    scores: dict[bool, list[float]] = defaultdict(list)
    for author in sorted({tool.author for tool in tools}):
        judge = trained([example for example in examples if example.author != author]).model
        of_author: dict[bool, list[float]] = defaultdict(list)
        for tool in tools:
            if tool.author == author:
                of_author[tool.is_poisoned].append(score_of(judge, tool.sentences))
        print_shares(author, of_author)
        for label, values in of_author.items():
            scores[label] += values
    print_shares("all", scores)


def score_of(judge: Model, texts: Iterable[str]) -> float:
    """The score of the most suspicious sentence."""
    return max(map(judge.score, texts), default=-9.0)


def print_shares(name: str, scores: dict[bool, list[float]]) -> None:
    """Print the shares of poisoned and innocent tools above some margins."""
    shares = []
    for step in range(-8, 5):
        margin = step / 20
        above = {label: sum(score > margin for score in values) / len(values) for label, values in scores.items()}
        shares.append(f"{WARN + margin:5.2f}: {100 * above[True]:3.0f} %, {100 * above[False]:4.1f} %")
    print(f"{name}: poisoned, innocent above\n  " + "\n  ".join(shares))


if __name__ == "__main__":
    main()
