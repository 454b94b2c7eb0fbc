"""Everything that a client controls is followed: tools, resources, prompts, completions, answers, request metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .flow_sources import IMPORTS, flows_in, kinds_in, tool

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATE = '@mcp.resource("notes://{name}")\ndef note(name: str) -> str:\n    return open(f"/srv/{name}").read()\n'
PROMPT = "@mcp.prompt()\ndef summary(topic: str) -> str:\n    return open(topic).read()\n"
LOW_LEVEL = """
from mcp.server import Server
from pydantic import AnyUrl

app = Server("demo")

"""
QUERY = "    return sqlite3.connect('d').execute(f'SELECT * FROM [{table}]').fetchall()\n"


def reached(folder: Path, source: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(flow.kind, flow.parameters, flow.others) for flow in flows_in(folder, server=IMPORTS + source)]


def test_a_parameter_of_a_resource_template_is_an_input(tmp_path: Path) -> None:
    assert reached(tmp_path, TEMPLATE) == [("path", ("name",), ("resource `notes://{name}`",))]


def test_an_argument_of_a_prompt_is_an_input(tmp_path: Path) -> None:
    assert reached(tmp_path, PROMPT) == [("path", ("topic",), ("prompt `summary`",))]


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (
            "@app.read_resource()\nasync def read(uri: AnyUrl) -> str:\n    table = str(uri)[9:].split('/')[0]\n"
            + QUERY,
            ("sql", ("uri",), ("any resource",)),
        ),
        (
            "@app.get_prompt()\nasync def prompt(name: str, arguments: dict) -> str:\n"
            "    return open(arguments['file']).read()\n",
            ("path", ("file",), ("any prompt",)),
        ),
        (
            "@app.completion()\nasync def complete(ref, argument, context) -> list:\n"
            "    return os.listdir(argument.value)\n",
            ("path", ("value",), ("any completion",)),
        ),
    ],
)
def test_the_handlers_of_a_low_level_server_have_inputs(
    handler: str, expected: tuple[object, ...], tmp_path: Path
) -> None:
    assert reached(tmp_path, LOW_LEVEL + handler) == [expected]


def test_a_table_of_a_resource_is_safe_if_it_is_one_of_the_known(tmp_path: Path) -> None:
    check = "    if ('main', table) not in known_tables():\n        raise ValueError(table)\n"
    source = "@mcp.resource('db://{table}')\ndef rows(table: str) -> str:\n"
    assert reached(tmp_path, source + QUERY) == [("sql", ("table",), ("resource `db://{table}`",))]
    assert reached(tmp_path, source + check + QUERY) == []


@pytest.mark.parametrize(
    ("parameter", "body"),
    [
        (
            "elicited answer",
            "answer = await ctx.elicit('Which?', schema=Answer)\nos.system(answer.data.folder)",
        ),
        (
            "elicited answer",
            "match await ctx.elicit('?', Answer):\n    case Accepted(data=d):\n        helper(d.folder)",
        ),
        ("request header", "os.system(ctx.request_context.request.headers['x-command'])"),
        ("request header", "os.system(get_http_headers().get('x-command', ''))"),
        ("request metadata", "os.system(ctx.request_context.meta.command)"),
    ],
)
def test_what_a_client_sends_besides_arguments_is_an_input(parameter: str, body: str, tmp_path: Path) -> None:
    before = (
        "from fastmcp.server.dependencies import get_http_headers\n\n"
        "class Answer(BaseModel):\n    folder: str\n\ndef helper(x):\n    os.system(x)\n"
    )
    (flow,) = flows_in(tmp_path, server=tool(body, "ctx: Context", before))
    assert (flow.kind, flow.parameters, flow.tools) == ("shell", (parameter,), ("act",))


@pytest.mark.parametrize(
    "body",
    [
        "answer = await ctx.elicit('?', schema=Answer)\nif answer.data.name in ALLOWED:\n    open(answer.data.name)",
        "open(requests.get('https://example.org').headers['x-name'])",
    ],
)
def test_checked_answers_and_headers_of_responses_are_harmless(body: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(body, "ctx: Context", "class Answer(BaseModel):\n    name: str\n")) == []
