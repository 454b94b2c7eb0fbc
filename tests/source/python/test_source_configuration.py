"""What source shows about the configuration of a server: addresses, authentication, secrets, tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cli.running import run
from mcproof.source.python.flows.configuration import WILDCARDS
from mcproof.source.python.pipeline import configuration_of, discover

if TYPE_CHECKING:
    from pathlib import Path

    from mcproof.core.observations.source import SourceConfiguration

SERVER = "from fastmcp import FastMCP\nmcp = FastMCP('demo')\n@mcp.tool\ndef one() -> str:\n    'One.'\n    return ''\n"
KEY = "ghp_" + "8fQ2zLk0Vw7RtYb5Nn3JxC4mPd9GsQ1eHu6A"
"""Has the shape of a token, and never was one."""


def configured(folder: Path, **files: str) -> SourceConfiguration:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return configuration_of(discover(str(folder)), str(folder))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("mcp.run(transport='sse', host='0.0.0.0')", "constant"),
        ("mcp.run(transport='sse', host='::')", "constant"),
        ("import uvicorn\nuvicorn.run(app, '0.0.0.0', 80)", "constant"),
        ("import uvicorn\nuvicorn.Config(app, host='0.0.0.0')", "constant"),
        ("mcp.settings.host = '0.0.0.0'\nmcp.run(transport='sse')", "constant"),
        ("import os\nmcp.run(host=os.environ.get('H', '0.0.0.0'))", "default of H"),
        ("import os\nmcp.run(host=os.getenv('H') or '0.0.0.0')", "constant"),
        ("import os\nhost = os.getenv('H', '0.0.0.0')\nmcp.run(host=host)", "default of H"),
        ("def main(host: str = '0.0.0.0'):\n    mcp.run(host=host)", "default of host"),
        ("def main(*, host='0.0.0.0'):\n    mcp.run(host=host)", "default of host"),
        ("@click.option('--host', default='0.0.0.0')\ndef main(host):\n    mcp.run(host=host)", "default of --host"),
        ("c = {'host': '0.0.0.0', 'port': 1}\nmcp.run(host=c['host'])", "default of host"),
        ("kw = {'host': '0.0.0.0'}\nmcp.run(transport='http', **kw)", "default of host"),
        ("class S:\n    host: str = Field(default='0.0.0.0')\nmcp.run(host=S().host)", "default of host"),
        (
            "class S:\n    MCP_HOST = '0.0.0.0'\np.add_argument('--host', default=S.MCP_HOST)\nmcp.run(host=a.host)",
            "default of MCP_HOST",
        ),
    ],
)
def test_an_address_is_followed_to_where_it_is_written(tmp_path: Path, text: str, how: str) -> None:
    (binding,) = configured(tmp_path, server=SERVER + text).bindings
    assert binding.how == how
    assert binding.address in WILDCARDS


@pytest.mark.parametrize(
    "text",
    [
        "mcp.run(host='127.0.0.1')",
        "mcp.run(host='0.0.0.0:80')",
        "import asyncio\nasyncio.run(main(), host='0.0.0.0')",
        "ping(host='0.0.0.0')",
        "DEFAULT = '0.0.0.0'",
        "mcp = FastMCP('x', host='0.0.0.0')\nmcp.run(transport='stdio')",
        "mcp.settings.host = '0.0.0.0'\nmcp.run()",
        "mcp = FastMCP('x', host='0.0.0.0', auth=provider())",
        "mcp = FastMCP('x', host='0.0.0.0', token_verifier=V())",
        "auth = V()\nmcp = FastMCP('x', host='0.0.0.0', auth=auth)",
        "app.add_middleware(BearerAuthMiddleware)\nmcp.run(host='0.0.0.0')",
        "mw = [Middleware(AuthenticationMiddleware, backend=B())]\nmcp.run(host='0.0.0.0', middleware=mw)",
        "@app.middleware('http')\nasync def check(request, call_next):\n    request.headers['Authorization']\n"
        "mcp.run(host='0.0.0.0')",
        "@app.get('/x', dependencies=[Depends(verify_api_key)])\ndef x(): ...\nmcp.run(host='0.0.0.0')",
        "if settings.auth_enabled:\n    mcp.auth = V()\nmcp.run(host='0.0.0.0')",  # unknown, so not held against it
        "class S:\n    auth_enabled: bool = True\nif S().auth_enabled:\n    mcp.auth = V()\nmcp.run(host='0.0.0.0')",
    ],
)
def test_other_addresses_and_servers_that_authenticate_are_silent(tmp_path: Path, text: str) -> None:
    assert configured(tmp_path, server=SERVER + text).bindings == ()


@pytest.mark.parametrize(
    "text",
    [
        "mcp = FastMCP('x', host='0.0.0.0', auth=None)\nmcp.run('sse')",
        "class S:\n    auth_enabled: bool = False\nif S().auth_enabled:\n    mcp.auth = V()\nmcp.run(host='0.0.0.0')",
        "import os\nif os.getenv('TOKEN'):\n    mcp.auth = V()\nmcp.run(host='0.0.0.0')",
        "import os\nauth = None\nif os.getenv('A', 'false').lower() == 'true':\n    auth = V()\n"
        "mcp = FastMCP('x', host='0.0.0.0', auth=auth)\nmcp.run('sse')",
        "import os\nmcp = FastMCP('x', host='0.0.0.0', auth=V() if os.getenv('A') is not None else None)\n"
        "mcp.run('sse')",
        "app.add_middleware(CORSMiddleware)\nmcp.run(host='0.0.0.0')",
    ],
)
def test_authentication_that_is_off_by_default_does_not_count(tmp_path: Path, text: str) -> None:
    assert len(configured(tmp_path, server=SERVER + text).bindings) == 1


def test_defaults_are_found_in_other_files_and_not_in_examples(tmp_path: Path) -> None:
    config = "import os\ndef load():\n    return Config(host=os.getenv('MCP_HOST', '0.0.0.0'))\n"
    found = configured(tmp_path, config=config, server=SERVER + "mcp.run(host=load().host)")
    assert [each.place.file for each in found.bindings] == [str(tmp_path / "config.py")]
    (tmp_path / "config.py").unlink()
    example = configured(tmp_path, examples__remote="mcp.run(host='0.0.0.0')", server=SERVER)
    assert example.bindings == ()


@pytest.mark.parametrize(
    "text",
    [
        f"TOKEN = '{KEY}'",
        f"client = Client('{KEY}')",
        "DATABASE_URL = 'postgres://admin:hV8kq02Lw7@db.internal:5432/app'",
        "headers = {'api_key': '8fQ2zLk0Vw7RtYb5Nn3JxC4mPd9Gs'}",
        "client = Client(client_secret='8fQ2zLk0Vw7RtYb5Nn3JxC4mPd9Gs')",
    ],
)
def test_a_secret_is_found_and_not_shown(tmp_path: Path, text: str) -> None:
    (secret,) = configured(tmp_path, server=SERVER + text).secrets
    assert secret.place.line == len(SERVER.splitlines()) + 1
    assert secret.shown.endswith("***")
    assert len(secret.shown) < 30


@pytest.mark.parametrize(
    "text",
    [
        f"'''Use it with TOKEN={KEY}.'''",
        "TOKEN = 'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
        "API_KEY = 'AKIAIOSFODNN7EXAMPLE'",
        "URL = 'postgres://user:password@localhost/app'",
        "API_KEY = 'weather_service_api_key_of_the_user'",
        "API_KEY_URL = 'https://host.example.com/a1b2c3d4e5f6a7b8c9d0'",
        "password = 'correct horse battery staple 42'",
        "checksum = '8fQ2zLk0Vw7RtYb5Nn3JxC4mPd9Gs'",
    ],
)
def test_placeholders_and_other_texts_are_not_secrets(tmp_path: Path, text: str) -> None:
    assert configured(tmp_path, server=SERVER + text).secrets == ()


def test_secrets_of_tests_and_examples_do_not_count(tmp_path: Path) -> None:
    text = f"import pytest\nTOKEN = '{KEY}'\n"
    assert configured(tmp_path, server=SERVER, test_server=text, tests__data=text, examples__use=text).secrets == ()


FORWARDED = """
import httpx
async def call(request):
    auth = request.headers.get("authorization", "")
    token = auth.split(" ")[1]
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient() as client:
        return await client.post("https://api.example.com", headers=headers)
"""


@pytest.mark.parametrize(
    "text",
    [
        FORWARDED,
        "import requests\ndef f(req):\n    requests.get(U, headers={'Authorization': req.headers['Authorization']})\n",
        "def f(ctx):\n    t = ctx.request_context.request.headers.get('Authorization')\n    h = {}\n"
        "    h['Authorization'] = t\n    return session.get(U, headers=h)\n",
        "from fastmcp.server.dependencies import get_access_token\nimport httpx\ndef f():\n"
        "    t = get_access_token()\n    return httpx.get(U, headers={'Authorization': 'Bearer ' + t.token})\n",
        "import httpx\ndef ask(token):\n    return httpx.get(U, headers={'Authorization': token})\n"
        "def f(request):\n    return ask(request.headers['authorization'])\n",
        "import httpx\ndef f():\n    t = get_http_headers().get('authorization')\n"
        "    return httpx.Client(headers={'authorization': t})\n",
    ],
)
def test_a_token_of_the_caller_that_is_sent_on_is_found(tmp_path: Path, text: str) -> None:
    (token,) = configured(tmp_path, server=SERVER + text).tokens
    assert token.received.line < token.place.line or "headers=" in text


@pytest.mark.parametrize(
    "text",
    [
        FORWARDED.replace("{token}", "{exchange(token)}"),
        FORWARDED.replace("https://api.example.com", "https://id.example.com/oauth2/introspect"),
        FORWARDED.replace('request.headers.get("authorization", "")', 'os.environ["TOKEN"]'),
        FORWARDED.replace('request.headers.get("authorization", "")', 'response.headers.get("authorization", "")'),
        "from fastmcp.server.dependencies import get_access_token\nimport httpx\ndef f():\n"
        "    t = get_access_token().claims['upstream']\n    return httpx.get(U, headers={'Authorization': t})\n",
        "def get_access_token():\n    return load()\ndef f():\n    t = get_access_token()\n"
        "    return httpx.get(U, headers={'Authorization': t})\n",
    ],
)
def test_tokens_that_are_not_of_the_caller_or_not_sent_on_are_silent(tmp_path: Path, text: str) -> None:
    assert configured(tmp_path, server=SERVER + text).tokens == ()


LOW_LEVEL = """
from mcp.server import Server
from mcp.server.sse import SseServerTransport
app = Server("demo")
@app.list_tools()
async def tools():
    return []
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SERVER + "mcp.run(transport='http')", ("host", "run")),
        (SERVER + "import os\nmcp.run(transport=os.environ.get('T', 'sse'))", ("host", "run")),
        (SERVER + "async def main():\n    await mcp.run_http_async(port=8000)", ("host", "run_http_async")),
        (SERVER + "app = mcp.http_app()", ("host", "http_app")),
        (LOW_LEVEL + "sse = SseServerTransport('/messages')", ("host", "SseServerTransport")),
        (
            SERVER + "app = mcp.http_app()\napp.add_middleware(CORSMiddleware, allow_origins=['*'])",
            ("origin", "add_middleware"),
        ),
        (
            SERVER
            + "import os\nORIGINS = os.getenv('ORIGINS', '*').split(',')\nmw = [Middleware(TrustedHostMiddleware),"
            " Middleware(CORSMiddleware, allow_origins=ORIGINS)]\nmcp.run(transport='http', middleware=mw)",
            ("origin", "Middleware"),
        ),
    ],
)
def test_a_server_over_http_that_answers_any_website_is_found(
    text: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    (found,) = configured(tmp_path, server=text).unchecked
    assert (found.why, found.what) == expected


@pytest.mark.parametrize(
    "text",
    [
        SERVER + "mcp.run()",
        SERVER + "mcp.run(transport='stdio')",
        SERVER
        + "mw = [Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)]\nmcp.run(transport='http', middleware=mw)",
        SERVER + "mcp.run(transport='http', host_origin_protection='auto')",
        SERVER + "class Checked:\n    async def __call__(self, scope, receive, send):\n"
        "        check(dict(scope['headers']).get(b'origin'))\napp = Checked(mcp.http_app())",
        SERVER + "mcp.auth = V()\nmcp.run(transport='http')",
        SERVER + "mcp.run(transport='http', host='0.0.0.0')",  # TRU-309 says it already
        SERVER.replace("fastmcp", "mcp.server.fastmcp") + "mcp.run(transport='sse')",
        LOW_LEVEL + "sse = SseServerTransport('/messages', security_settings=settings())",
        "from fastapi import FastAPI\napp = FastAPI()\napp.add_middleware(CORSMiddleware, allow_origins=['*'])",
    ],
)
def test_checked_hosts_and_servers_that_are_not_over_http_are_silent(text: str, tmp_path: Path) -> None:
    assert configured(tmp_path, server=text).unchecked == ()


@pytest.mark.parametrize(("version", "number"), [("1.22.0", 1), ("1.23.0", 0)])
def test_the_official_sdk_checks_by_itself_since_a_version(version: str, number: int, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[project]\nname = 'demo'\ndependencies = ['mcp=={version}']\n")
    text = SERVER.replace("fastmcp", "mcp.server.fastmcp") + "mcp.run(transport='sse')"
    assert len(configured(tmp_path, server=text).unchecked) == number


def test_an_address_in_several_places_is_one_finding(tmp_path: Path) -> None:
    text = SERVER + "def a():\n    mcp.run(transport='http', host='0.0.0.0')\n"
    (tmp_path / "server.py").write_text(text + text[len(SERVER) :].replace("def a", "def b"))
    findings = json.loads(run("scan", str(tmp_path), "--format", "json").stdout)["findings"]
    (finding,) = [finding for finding in findings if finding["rule"] == "TRU-309"]
    assert [place["line"] for place in finding["evidence"]["alsoAt"]] == [10]


def test_hostile_source_is_read_within_limits(tmp_path: Path) -> None:
    deep = "x = " + "(" * 5_000 + ")" * 5_000 + "\nhost = '0.0.0.0'\n"
    long = "A = ['" + "key=" * 100_000 + "']\nmcp.run(host='0.0.0.0')\n"
    found = configured(tmp_path, deep=deep, long=long, broken="def (", server=SERVER)
    assert len(found.bindings) == 1


def test_scan_reports_the_place_and_never_the_secret(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER + f"TOKEN = '{KEY}'\nmcp.run(transport='http', host='0.0.0.0')\n")
    for name in ("text", "json", "sarif", "html", "markdown", "github", "gitlab", "junit", "concise"):
        done = run("scan", str(tmp_path), "--format", name)
        assert KEY not in done.stdout + done.stderr, name
    findings = json.loads(run("scan", str(tmp_path), "--format", "json").stdout)["findings"]
    found = {each["rule"]: (each["file"], each["line"]) for each in findings if each["rule"] in ("TRU-309", "TRU-310")}
    file = str(tmp_path / "server.py")
    assert found == {"TRU-310": (file, 7), "TRU-309": (file, 8)}
