"""Random files that are no programs, or that are meant to do harm, made from real ones; each seed makes one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from mcproof.core.errors import InputError
from mcproof.source.javascript.pipeline import discover
from source.javascript.sources import SERVER

if TYPE_CHECKING:
    from collections.abc import Callable

_MATERIAL = yaml.safe_load((Path(__file__).parent / "hostile.yml").read_text(encoding="utf-8"))
REAL = [
    SERVER + 'server.registerTool("moor", { description: "Moors.", inputSchema: { at: z.string() } }, async () => {});',
    SERVER + 'for (const name of ["a", "b"]) server.tool(name, `Does ${name}.`, { n: z.number() }, async () => {});',
    *_MATERIAL["real"],
]
_TOKENS = [*_MATERIAL["tokens"].split(), "\n", "\0", "\u2028", "\ufeff", "\ud7ff"]
_WRAPPERS = ("{}", "(() => {{ {} }})();", "if (unknown()) {{ {} }}", "for (const q of a()) {{ {} }}")
_REPEATED = (
    *(b"a.b(1),", b"'x'+", b"[1],", b"a=1;", b"a&&", b"{a:1},", b"x?1:", b"z.string(),", b"x[", b"...a,"),
    *(b"\\", b"/*"),
)


def hostile_file(seed: int, real: list[bytes]) -> bytes:
    """One file, from the texts of real ones."""
    chosen = random.Random(seed)  # noqa: S311
    make: Callable[[random.Random, list[bytes]], bytes] = chosen.choice(_KINDS)
    return make(chosen, real)


def _noise(chosen: random.Random, real: list[bytes]) -> bytes:
    return chosen.randbytes(chosen.randrange(1, 5_000)).replace(b"\0", b"")


def _tokens(chosen: random.Random, real: list[bytes]) -> bytes:
    return " ".join(chosen.choices(_TOKENS, k=chosen.randrange(2_000))).encode("utf-8", "surrogatepass")


def _truncated(chosen: random.Random, real: list[bytes]) -> bytes:
    text = chosen.choice(real)
    return text[: chosen.randrange(len(text) + 1)]


def _spliced(chosen: random.Random, real: list[bytes]) -> bytes:
    first, second = chosen.choice(real), chosen.choice(real)
    return first[: chosen.randrange(len(first) + 1)] + second[chosen.randrange(len(second) + 1) :]


def _mutated(chosen: random.Random, real: list[bytes]) -> bytes:
    text = bytearray(chosen.choice(real))
    for _ in range(chosen.randrange(1, 30)):
        start = chosen.randrange(len(text) + 1)
        end = min(len(text), start + chosen.choice((0, 1, 1, 5, 50, 500)))
        token = chosen.choice(_TOKENS).encode("utf-8", "surrogatepass")
        text[start:end] = chosen.choice((b"", token, bytes(text[start:end]) * 3, chosen.randbytes(3)))
    return bytes(text)


def _deep(chosen: random.Random, real: list[bytes]) -> bytes:
    opening, closing = chosen.choice(_MATERIAL["deep"])
    depth = int(10 ** chosen.uniform(1, 4.5))
    inner = chosen.choice((b"1", b"a", b"", chosen.choice(real)[:2_000]))
    text = opening.encode() * depth + inner + closing.encode() * chosen.choice((depth, depth, depth // 2))
    made: bytes = SERVER.encode() + chosen.choice((b"x = ", b"", b"return ", b"server.tool('a', ")) + text
    return made


def _long(chosen: random.Random, real: list[bytes]) -> bytes:
    part = chosen.choice(_REPEATED)
    return SERVER.encode() + chosen.choice((b"const a = [", b"f(", b"")) + part * int(10 ** chosen.uniform(3, 5))


def _trap(chosen: random.Random, real: list[bytes]) -> bytes:
    traps = chosen.sample(_MATERIAL["traps"], k=chosen.randrange(1, 4))
    chosen.shuffle(traps)
    wrapped = [chosen.choice(_WRAPPERS).format(trap) for trap in traps]
    return (SERVER + "\n".join(wrapped)).encode()


_KINDS = (_noise, _tokens, _truncated, _spliced, _spliced, _mutated, _mutated, _mutated, _deep, _long, _trap)


def read_hostile(folder: Path, data: bytes, suffix: str) -> None:
    """Discover what a file serves, which imports another that imports it; only an error for the user may be raised."""
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / f"index{suffix}").write_bytes(data)
    (folder / f"other{suffix}").write_bytes(
        b'export * from "./index"; import * as all from "./index"; export default all;'
    )
    declared = {"name": "hostile", "type": "module", "bin": f"index{suffix}"}
    (folder / "package.json").write_text(json.dumps(declared), encoding="utf-8")
    try:
        found = discover(str(folder), whole=True)
    except InputError:
        return
    internal = [problem.what for problem in found.problems if "internal error" in problem.what]
    assert not internal, internal
