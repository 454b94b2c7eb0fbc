"""Random schemas, written by the real packages and by mcproof: the same text, byte for byte."""

from __future__ import annotations

import contextlib
import functools
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mcproof.source.javascript import render
from mcproof.source.javascript.values import UNDEFINED, Unknown
from mcproof.source.javascript.zod.converter import Options, Zod3Converter
from mcproof.source.javascript.zod.emitters import Emitter, input_schema
from mcproof.source.javascript.zod.generator import Zod4Generator
from mcproof.source.javascript.zod.parts import RenderedSchema, UnknownParts, UnrepresentableError
from source.javascript.sources import SERVER, project

from .expressions import Evaluation, Expression, Program
from .libraries import VERSIONS, answers, installed
from .rebuilding import rebuilt
from .strategies import objects

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

BATCH = 60
FEW = settings(max_examples=2, deadline=None, phases=[Phase.generate])
"""Each example is a batch, because a process of Node takes longer than the schemas in it. The first schema of a batch
that differs is reported as JavaScript, so nothing is gained by looking for a smaller batch.
"""


@pytest.fixture(scope="module")
def folder() -> pathlib.Path:
    return installed()


def compare(theirs: list[Any], schemas: list[Expression], write: Callable[[Any, UnknownParts], Any]) -> None:
    """Every schema is written in the same way; only what the source does not settle may be said to be unknown."""
    for text, schema in zip(theirs, schemas, strict=True):
        parts = UnknownParts()
        try:
            ours = parts.finished(write(Evaluation().value(schema), parts))
        except UnrepresentableError:
            assert "error" in json.loads(text), text
            continue
        if set(ours.unknown) and all(pointer.endswith("required") for pointer in ours.unknown):
            continue  # whether a regular expression accepts "undefined" is not evaluated
        written = json.dumps(ours.json, ensure_ascii=False, separators=(",", ":"))
        if ours.unknown or written != text:
            pytest.fail(f"{schema}\nthe package: {text}\nmcproof: {written}\nunknown: {ours.unknown}", pytrace=False)


def convert(options: Options, value: Any, parts: UnknownParts) -> Any:
    return Zod3Converter(options, parts).convert(value)


def generate(version: tuple[int, ...], target: str, io: str, value: Any, parts: UnknownParts) -> Any:
    return Zod4Generator(version, target, io, parts).generate(value)


@FEW
@given(st.lists(objects(3), min_size=BATCH, max_size=BATCH))
def test_schemas_of_zod_3_are_written_as_by_zod_to_json_schema(folder: pathlib.Path, schemas: list[Expression]) -> None:
    imports = "import { z } from 'zod/v3'; import { zodToJsonSchema } from 'zod-to-json-schema';"
    for given_options, options in (
        ("{ strictUnions: true, pipeStrategy: 'input' }", Options(strict_unions=True, pipe="input")),
        ("{}", Options()),
    ):
        theirs = answers(folder, imports, schemas, f"zodToJsonSchema(schema, {given_options})")
        compare(theirs, schemas, functools.partial(convert, options))


@pytest.mark.parametrize("package", VERSIONS)
@FEW
@given(st.lists(objects(4), min_size=BATCH, max_size=BATCH))
def test_schemas_of_zod_4_are_written_as_by_the_version(
    folder: pathlib.Path, package: str, schemas: list[Expression]
) -> None:
    version = tuple(map(int, VERSIONS[package].split(".")))
    for word, target, io in (("draft-7", "draft-07", "input"), ("draft-2020-12", "draft-2020-12", "output")):
        call = f"z.toJSONSchema(schema, {{ target: '{word}', io: '{io}' }})"
        theirs = answers(folder, f"import {{ z }} from '{package}';", schemas, call)
        compare(theirs, schemas, functools.partial(generate, version, target, io))


SDK1 = """
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
async function listed(schema) {
  const server = new McpServer({ name: 'test', version: '1' });
  server.registerTool('tool', { inputSchema: schema }, async () => ({ content: [] }));
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '1' });
  await Promise.all([server.connect(far), client.connect(near)]);
  return (await client.listTools()).tools[0].inputSchema;
}
"""
SDK2 = SDK1.replace("sdk/server/mcp.js", "server").replace("sdk/client/index.js", "client")
SDK2 = SDK2.replace("import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';", "").replace(
    "import { McpServer }", "import { McpServer, InMemoryTransport }"
)
FASTMCP = """
import { FastMCP } from 'fastmcp';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { toJsonSchema, strictJsonSchema } from 'xsschema';
const listed = async (schema) => strictJsonSchema(await toJsonSchema(schema));
"""


SERVERS: dict[str, tuple[str, str, int, Emitter]] = {
    "sdk 1, zod 3": ("zod/v3", SDK1, 3, Emitter(version=(1, 32, 2), zod=(3, 25, 76))),
    "sdk 1, zod 4.6": ("zod", SDK1, 4, Emitter(version=(1, 32, 2), zod=(4, 6, 7))),
    "sdk 2, zod 4.4": ("zod44", SDK2, 4, Emitter(version=(2, 4, 0), zod=(4, 4, 3))),
    "fastmcp, zod 4.6": ("zod", FASTMCP, 4, Emitter("fastmcp", (4, 20, 16), zod=(4, 6, 7))),
    "fastmcp, zod 3": ("zod/v3", FASTMCP, 3, Emitter("fastmcp", (4, 20, 16), zod=(3, 25, 76))),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_lists_what_is_derived(folder: pathlib.Path, name: str) -> None:
    package, server, major, emitter = SERVERS[name]

    @settings(FEW, max_examples=1)
    @given(st.lists(objects(major), min_size=BATCH, max_size=BATCH))
    def check(schemas: list[Expression]) -> None:
        theirs = answers(folder, f"import {{ z }} from '{package}';{server}", schemas, "await listed(schema)")
        for text, schema in zip(theirs, schemas, strict=True):
            ours = input_schema(Evaluation().value(schema), emitter)
            if isinstance(ours, Unknown):
                assert "error" in json.loads(text), text
            elif not ours.unknown and ours.json != json.loads(text):
                pytest.fail(f"{schema}\nthe server: {text}\nmcproof: {json.dumps(ours.json)}", pytrace=False)

    check()


@pytest.mark.parametrize(("major", "package", "version"), [(3, "zod/v3", "3.25.76"), (4, "zod", "4.6.7")])
def test_a_file_is_read_as_its_server_lists_it(
    folder: pathlib.Path, tmp_path: pathlib.Path, major: int, package: str, version: str
) -> None:
    """Schemas are read from a file. What was read of zod 4 is made again for the real library: a second judge."""
    imports = f"import {{ z }} from '{package}';{SDK1}"

    @FEW
    @given(st.lists(objects(major), min_size=BATCH, max_size=BATCH))
    def check(schemas: list[Expression]) -> None:
        theirs = answers(folder, imports, schemas, "await listed(schema)")
        programs = [Program(f"s{index}") for index in range(len(schemas))]
        names = [program.name(schema) for program, schema in zip(programs, schemas, strict=True)]
        lines = [line for program in programs for line in program.lines]
        lines += [
            f'server.registerTool("tool{index}", {{ inputSchema: {name} }}, async () => ({{ content: [] }}));'
            for index, name in enumerate(names)
        ]
        declared = {"@modelcontextprotocol/sdk": "1.32.2", "zod": version}
        with recorded_schemas() as read:
            source = project(tmp_path / "project", {"index.js": SERVER + "\n".join(lines)}, dependencies=declared)
        served = [tool.get("inputSchema") for tool in source.document["tools"]]
        for schema, ours, text in zip(schemas, served, theirs, strict=True):
            expected = json.loads(text)
            if "error" not in expected and ours != expected:
                pytest.fail(f"{schema}\nthe server: {text}\nmcproof: {json.dumps(ours)}", pytrace=False)
        again = (
            [] if major == 3 else answers(folder, imports, [rebuilt(schema) for schema in read], "await listed(schema)")
        )
        for schema, text, other in zip(schemas, theirs, again, strict=False):
            if text != other:
                pytest.fail(f"{schema}\nthe server: {text}\nrebuilt: {other}", pytrace=False)

    check()


@contextlib.contextmanager
def recorded_schemas() -> Iterator[list[Any]]:
    """The schemas that are asked for their JSON Schema meanwhile, in their order."""
    schemas: list[Any] = []

    def recorded(schema: Any, emitter: Emitter) -> Any:
        schemas.append(schema)
        return input_schema(schema, emitter)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(render.SCHEMAS, "inputSchema", recorded)
        yield schemas


def test_a_tool_without_a_schema_lists_what_the_server_lists(folder: pathlib.Path) -> None:
    anything = Expression(None, ("any",), ())
    (text,) = answers(folder, "import { z } from 'zod';" + SDK1, [anything], "await listed(undefined)")
    ours = input_schema(UNDEFINED, Emitter())
    assert isinstance(ours, RenderedSchema)
    assert ours.json == json.loads(text)
