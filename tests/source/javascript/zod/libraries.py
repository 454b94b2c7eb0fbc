"""The real packages: installed from npm into a cache, and asked by one process for many schemas."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from script_modules import script

from .expressions import Expression, Program

if TYPE_CHECKING:
    import pathlib

VERSIONS = {"zod40": "4.0.17", "zod41": "4.1.13", "zod43": "4.3.6", "zod44": "4.4.3", "zod46": "4.6.7"}
PACKAGES = [
    *(f"{name}@npm:zod@{version}" for name, version in VERSIONS.items()),
    *(
        "zod@4.6.7",
        "zod-to-json-schema@3.25.2",
        "@modelcontextprotocol/sdk@1.32.2",
        "@modelcontextprotocol/server@2.4.0",
    ),
    *("@modelcontextprotocol/client@2.4.0", "fastmcp@4.20.16"),
]
TIMEOUT = 120


def installed() -> pathlib.Path:
    """The folder with the packages; skips the test where they cannot be installed."""
    package_cache = script("package_cache")
    folder: pathlib.Path = package_cache.cache_folder("zod") / "4.6.7"
    try:
        if not (folder / "node_modules" / "fastmcp").is_dir():
            package_cache.install_npm(folder, PACKAGES)
    except (package_cache.InstallError, subprocess.TimeoutExpired) as error:
        if os.environ.get("MCPROOF_REQUIRE_SERVERS"):
            pytest.fail(f"zod cannot be installed, and MCPROOF_REQUIRE_SERVERS is set: {error}")
        pytest.skip(f"zod cannot be installed: {error}")
    return folder


def answers(folder: pathlib.Path, imports: str, schemas: list[Expression], answer: str) -> list[Any]:
    """What the JavaScript expression `answer` is, with the schema as `schema`, as JSON; `{"error": …}` if it throws."""
    file = folder / f"schemas-{os.getpid()}.mjs"
    output = file.with_suffix(".json")
    lines = ["import { writeFileSync } from 'node:fs';", imports, "const answers = [];"]
    for index, schema in enumerate(schemas):
        program = Program(f"s{index}")
        name = program.name(schema)
        definitions = "\n".join(program.lines)
        lines.append(f"try {{ {definitions}\nconst schema = {name}; answers.push(JSON.stringify({answer})); }}")
        lines.append("catch (error) { answers.push(JSON.stringify({ error: error.message })); }")
    lines.append(f"writeFileSync({json.dumps(str(output))}, JSON.stringify(answers)); process.exit(0);")
    file.write_text("\n".join(lines), encoding="utf-8")
    try:
        node = shutil.which("node")
        assert node is not None
        done = subprocess.run([node, str(file)], capture_output=True, text=True, check=False, timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr[-2000:]
        texts: list[Any] = json.loads(output.read_text(encoding="utf-8"))
    finally:
        file.unlink()
        output.unlink(missing_ok=True)
    return texts
