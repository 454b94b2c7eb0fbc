"""Dangerous calls are recognised, and harmless uses of the same calls are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .flow_sources import kinds_in, tool

if TYPE_CHECKING:
    from pathlib import Path

DANGEROUS = {
    # commands
    "os.system": ("shell", "os.system('ls ' + x)"),
    "os.popen with format": ("shell", "os.popen('ls {}'.format(x))"),
    "a shell": ("shell", "subprocess.run(f'ls {x}', shell=True)"),
    "a shell and percent": ("shell", "subprocess.check_output('ls %s' % x, shell=True)"),
    "a shell by its name": ("shell", "subprocess.run(['sh', '-c', f'ls {x}'])"),
    "a shell that is chosen": ("shell", "subprocess.run([os.environ['SHELL'], '-c', x])"),
    "a shell in a container": ("shell", "subprocess.run(['docker', 'exec', 'box', '/bin/sh', '-c', x])"),
    "a shell of asyncio": ("shell", "await asyncio.create_subprocess_shell(f'ls {x}')"),
    "a command over ssh": ("shell", "client = paramiko.SSHClient()\nclient.exec_command(f'ls {x}')"),
    "a command of ssh": ("shell", "subprocess.run(['ssh', 'host', f'ls {x}'])"),
    "a program": ("shell", "subprocess.run([x, '--version'])"),
    "a program with its arguments": ("shell", "subprocess.run(shlex.split(x))"),
    "a command as a list": ("shell", "cmd = ['bash', '-c']\ncmd.append(x)\nsubprocess.Popen(cmd)"),
    # code
    "eval": ("eval", "eval(x)"),
    "exec of an f-string": ("eval", "exec(f'y = {x}')"),
    "pickle": ("eval", "import base64\npickle.loads(base64.b64decode(x))"),
    "yaml without a safe loader": ("eval", "yaml.load(x, Loader=yaml.Loader)"),
    "a module": ("eval", "importlib.import_module(x)"),
    "code for an interpreter": ("eval", "subprocess.run(['python3', '-c', x])"),
    "an expression that sympy parses": ("eval", "sympy.sympify(x)"),
    "an equation of sympy": ("eval", "sympy.solve(f'{x} - 1')"),
    "an expression of a table": ("eval", "pandas.read_csv('a.csv').query(x)"),
    "a template": ("eval", "jinja2.Template(x).render()"),
    "a table that is unpickled": ("eval", "import io\npandas.read_pickle(io.BytesIO(x))"),
    "a module from a file": ("eval", "import importlib.util\nimportlib.util.spec_from_file_location('m', f'/srv/{x}')"),
    "a package to install": ("eval", "subprocess.run([sys.executable, '-m', 'pip', 'install', x])"),
    "a package of a version": ("eval", "subprocess.run(['uv', 'pip', 'install', f'{x}==1.0'])"),
    "a package to run": ("eval", "subprocess.run(['npx', '-y', x])"),
    # queries
    "a query": ("sql", "sqlite3.connect('d').execute(f'SELECT * FROM {x}')"),
    "a query of a cursor": ("sql", "cursor = sqlite3.connect('d').cursor()\ncursor.execute('SELECT * FROM ' + x)"),
    "a query in parts": (
        "sql",
        "sql = 'SELECT * FROM t'\nsql += f\" WHERE a = '{x}'\"\nsqlite3.connect('d').execute(sql)",
    ),
    "conditions": (
        "sql",
        "parts = [f'a = {x}']\nwhere = ' AND '.join(parts)\n"
        "sqlite3.connect('d').execute(f'DELETE FROM t WHERE {where}')",
    ),
    "a graph query": ("sql", "session = make()\nsession.run(f'MATCH (n:{x}) RETURN n')"),
    # paths
    "open": ("path", "open(x)"),
    "a file below a folder": ("path", "open(os.path.join('data', x))"),
    "a file of an f-string": ("path", "open(f'data/{x}.json')"),
    "a path": ("path", "(ROOT / x).read_text()"),
    "a path that is resolved only": ("path", "(ROOT / x).resolve().write_text('')"),
    "a path that is removed": ("path", "os.remove(x)"),
    "a tree": ("path", "shutil.rmtree(ROOT / x)"),
    "the target of a copy": ("path", "shutil.copy('a', x)"),
    "a repository": ("path", "git.Repo.init(x)"),
    "staged files": ("path", "repo = git.Repo('.')\nrepo.index.add([x])"),
    "a joined path": ("path", "Path('data').joinpath(x).unlink()"),
    # addresses
    "httpx": ("url", "httpx.get(x)"),
    "a client": ("url", "async with httpx.AsyncClient() as client:\n    await client.get(x)"),
    "a client with a method": ("url", "async with httpx.AsyncClient() as client:\n    await client.request('GET', x)"),
    "aiohttp": ("url", "async with aiohttp.ClientSession() as session, session.get(x) as response:\n    pass"),
    "a host": ("url", "requests.get(f'http://{x}/status')"),
    "urllib": ("url", "import urllib.request\nurllib.request.urlopen(x)"),
    "a browser": ("url", "page = make()\nawait page.goto(x)"),
    # arguments
    "an argument": ("argument", "subprocess.run(['git', 'clone', x])"),
    "an argument after a switch": ("argument", "subprocess.run(['git', 'log', '--oneline', x])"),
    "an argument of asyncio": ("argument", "await asyncio.create_subprocess_exec('ping', x)"),
    "more arguments": ("argument", "subprocess.run(['kubectl', *shlex.split(x)])"),
    "words of a command": ("argument", "subprocess.run(f'kubectl get {x}'.split())"),
    "an argument of git": ("argument", "repo = git.Repo('.')\nrepo.git.checkout(x)"),
    # attributes
    "getattr": ("attribute", "getattr(os, x)()"),
    "setattr": ("attribute", "setattr(os, x, 1)"),
    "globals": ("attribute", "globals()[x]()"),
}

HARMLESS = {
    "a fixed command": "subprocess.run('ls', shell=True)",
    "input of a program": "subprocess.run(['cat'], input=x)",
    "the value of an option": "subprocess.run(['kubectl', 'get', '-n', x])",
    "part of an option": "subprocess.run(['git', f'--unified={x}'])",
    "arguments after `--`": "subprocess.run(['git', 'add', '--', x])",
    "a safe loader": "yaml.load(x, Loader=yaml.SafeLoader)",
    "a literal": "ast.literal_eval(x)",
    "a module of a package": "importlib.import_module(f'plugins.{x}')",
    "a parameter of a query": "sqlite3.connect('d').execute('SELECT * FROM t WHERE a = ?', (x,))",
    "a whole query": "sqlite3.connect('d').execute(x)",
    "a whole query with a limit": "sqlite3.connect('d').execute(f'{x} LIMIT 10')",
    "a plan of a whole query": "sqlite3.connect('d').execute(f'EXPLAIN {x}')",
    "a fixed host": "httpx.get(f'https://example.org/{x}')",
    "a host of the configuration": "httpx.get(os.environ['API'] + '/items/' + x)",
    "a header": "httpx.get('https://example.org', headers={'X-Name': x})",
    "a name with a prefix": "getattr(os, f'get_{x}')()",
    "an item of a dictionary": "{'a': 1}[x]",
    "an option that is that of a shell too": "subprocess.run(['kubectl', 'logs', name(), '-c', x])",
    "arguments after a script": "subprocess.run(['python3', '/srv/job.py', x])",
    "a version of a package": "subprocess.run(['pip', 'install', f'--upgrade=demo=={x}'])",
    "an address for a table": "if urlparse(x).hostname in ALLOWED:\n    pandas.read_csv(x)",
    "a text in the place of a file": "import io\npandas.read_csv(io.StringIO(x))",
    "the content of a file": "(ROOT / 'a').write_text(x)",
    "the response of a server": "open(httpx.get('https://example.org', params={'q': x}).json()['name'])",
    "a number in a query": "sqlite3.connect('d').execute(f'SELECT * FROM t LIMIT {int(x)}')",
    "the length": "open(f'data/{len(x)}')",
}


@pytest.mark.parametrize("name", DANGEROUS)
def test_a_dangerous_use_of_a_parameter_is_found(name: str, tmp_path: Path) -> None:
    kind, body = DANGEROUS[name]
    assert kinds_in(tmp_path, tool(body)) == [kind]


@pytest.mark.parametrize(
    "check",
    [
        "if urlparse(x).scheme not in ('http', 'https'):\n    raise ValueError(x)\n",
        "if not x.startswith(('http://', 'https://')):\n    raise ValueError(x)\n",
        "ok, message = is_address(x)\nif not ok:\n    return message\n",
    ],
)
def test_a_table_behind_a_check_of_the_scheme_is_an_address_and_no_path(check: str, tmp_path: Path) -> None:
    before = (
        "def is_address(x):\n    parsed = urlparse(x)\n    if parsed.scheme not in ['http', 'https']:\n"
        "        return False, 'no'\n    return True, ''\n"
    )
    assert kinds_in(tmp_path, tool("pandas.read_csv(x)", before=before)) == ["path"]
    assert kinds_in(tmp_path, tool(check + "pandas.read_csv(x)", before=before)) == ["url"]


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_use_of_a_parameter_is_silent(name: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(HARMLESS[name])) == []


@pytest.mark.parametrize("annotation", ["int", "float | None", "bool", "Literal['a', 'b']", "Color", "list[int]"])
def test_a_parameter_without_free_text_is_harmless(annotation: str, tmp_path: Path) -> None:
    before = "class Color(Enum):\n    RED = 'red'\n"
    assert kinds_in(tmp_path, tool("os.system(f'echo {x}')", f"x: {annotation}", before)) == []


def test_a_pattern_of_a_parameter_makes_it_harmless(tmp_path: Path) -> None:
    restricted = "x: Annotated[str, Field(pattern='^[a-z]+$')]"
    assert kinds_in(tmp_path, tool("os.system(f'echo {x}')", restricted)) == []
