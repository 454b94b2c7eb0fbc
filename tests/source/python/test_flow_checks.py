"""Checks make a flow silent, wherever they are; what only looks like a check does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .flow_sources import flows_in, kinds_in, tool

if TYPE_CHECKING:
    from pathlib import Path

READ = "return open(x).read()"
CHECKED = {
    "a fixed set": "if x not in ALLOWED:\n    raise ValueError(x)\n" + READ,
    "a fixed set, positive": "if x in ALLOWED:\n    return open(x).read()\nreturn ''",
    "a fixed set in an expression": "name = x if x in ALLOWED else 'a'\nreturn open(name).read()",
    "one value": "if x == 'a':\n    return open(x).read()\nreturn ''",
    "a match": "match x:\n    case 'a' | 'b':\n        return open(x).read()\nreturn ''",
    "an assertion": "assert x in ALLOWED\n" + READ,
    "is_relative_to": "p = (ROOT / x).resolve()\nif not p.is_relative_to(ROOT):\n    raise ValueError(x)\n"
    "return p.read_text()",
    "relative_to": "p = (ROOT / x).resolve()\np.relative_to(ROOT)\nreturn p.read_text()",
    "relative_to in try": "p = (ROOT / x).resolve()\ntry:\n    p.relative_to(ROOT)\nexcept ValueError:\n"
    "    return 'no'\nreturn p.read_text()",
    "commonpath": "p = os.path.realpath(x)\nif os.path.commonpath([str(ROOT), p]) != str(ROOT):\n"
    "    raise ValueError(x)\nreturn open(p).read()",
    "parents": "p = (ROOT / x).resolve()\nif ROOT not in p.parents:\n    raise ValueError(x)\nreturn p.read_text()",
    "a separator": "p = os.path.realpath(x)\nif not p.startswith(str(ROOT) + os.sep):\n"
    "    raise ValueError(x)\nreturn open(p).read()",
    "a separator or the root": "p = os.path.realpath(x)\n"
    "if p != str(ROOT) and not p.startswith(f'{ROOT}/'):\n    raise ValueError(x)\nreturn open(p).read()",
    "one of several roots": "p = Path(x).resolve()\nif not any(p.is_relative_to(r) for r in [ROOT]):\n"
    "    raise ValueError(x)\nreturn p.read_text()",
    "the last part": "return open(os.path.join('data', os.path.basename(x))).read()",
    "hexadecimal digits": "return open(f'data/{x.encode().hex()}').read()",
    "an address that a name was resolved to": "subprocess.run(['ping', socket.gethostbyname(x)])",
    "the name of a path": "return (ROOT / Path(x).name).read_text()",
    "neither `..` nor absolute": "if '..' in x or os.path.isabs(x):\n    raise ValueError(x)\n" + READ,
    "no separator": "if '/' in x or '\\\\' in x:\n    raise ValueError(x)\nreturn open(f'data/{x}').read()",
    "a strict pattern": "if not re.fullmatch(r'[a-z_]+', x):\n    raise ValueError(x)\n" + READ,
    "a compiled pattern": "if not NAME.match(x):\n    raise ValueError(x)\n" + READ,
    "letters": "if not x.isalnum():\n    raise ValueError(x)\n" + READ,
    "separators replaced": "return open('data/' + re.sub(r'[<>:/\\\\|]', '_', x)).read()",
    "other characters replaced": "return open(re.sub(r'[^a-z]', '_', x)).read()",
    "only if it is given": "if x and x not in ALLOWED:\n    raise ValueError(x)\n" + READ,
    "a helper that raises": "check(x)\n" + READ,
    "a helper that returns the path": "return inside(x).read_text()",
    "a helper that returns a truth value": "if not is_inside(x):\n    raise ValueError(x)\n" + READ,
    "a helper that returns an error": "if error := problem(x):\n    return error\n" + READ,
    "a helper that returns a pair": "ok, message = judged(x)\nif not ok:\n    return message\n" + READ,
    "an error of a helper": "if x not in ALLOWED:\n    fail(x)\n" + READ,
    "an error of a helper in try": "try:\n    Path(x).relative_to(ROOT)\nexcept ValueError:\n    fail(x)\n" + READ,
    "each of several": "for each in x.split():\n    check(each)\nfor each in x.split():\n    open(each)\nreturn ''",
    "a path that resolving leaves as it is": "if os.path.isabs(x):\n    raise ValueError(x)\np = ROOT / x\n"
    "if p != p.resolve():\n    raise ValueError(x)\nreturn p.read_text()",
    "each of several in a list of pairs": "for name, path in [(y, inside(y)) for y in x.split()]:\n"
    "    path.read_text()\nreturn ''",
    "each of several in a table": "for name, path in {y: inside(y) for y in x.split()}.items():\n"
    "    path.read_text()\nreturn ''",
    "one of a list": "paths = [inside(y) for y in x.split()]\nreturn paths[0].read_text()",
    "a pair with an error": "path, error = inside_or_error(x)\nif path is None:\n    return error\n"
    "return path.read_text()",
    "a pair by its positions": "found = inside_or_error(x)\nif found[1] is not None:\n    return found[1]\n"
    "return found[0].read_text()",
    "the current folder": "if not (Path.cwd() / x).resolve().is_relative_to(ROOT):\n    raise ValueError(x)\n" + READ,
    "a relative path": "p = os.path.realpath(x)\nif os.path.relpath(p, ROOT).startswith('..'):\n"
    "    raise ValueError(x)\nreturn open(p).read()",
    "a tuple in a set": "if ('a', x) not in known():\n    raise ValueError(x)\n" + READ,
    "an unseen function": "from elsewhere import validate_path\nvalidate_path(x)\n" + READ,
}
HELPERS = """
ANY = re.compile(r"^[^ ]+$")
NAME = re.compile(r"^[a-z]+$")

class Base:
    def fail(self, value):
        raise NotImplementedError

def check(path):
    if not Path(path).resolve().is_relative_to(ROOT):
        raise ValueError(path)

def fail(value):
    raise PermissionError(value)

def inside(path):
    found = (ROOT / path).resolve()
    try:
        found.relative_to(ROOT)
    except ValueError as error:
        raise PermissionError(path) from error
    return found

def is_inside(path):
    try:
        Path(path).resolve().relative_to(ROOT)
        return True
    except ValueError:
        return False

def problem(path):
    if not Path(path).resolve().is_relative_to(ROOT):
        return f"{path} is outside"
    return None

def judged(path):
    if path not in ALLOWED:
        return False, "unknown"
    return True, ""

def below(path, folder):
    if folder:
        found = (Path(folder) / path).resolve()
        if not found.is_relative_to(folder):
            raise ValueError(path)
        return found
    return Path(path).resolve()

def check_if_restricted(path, root):
    if root is None:
        return
    try:
        path.resolve().relative_to(root)
    except ValueError:
        raise PermissionError(path)

def inside_or_error(path):
    full = (ROOT / path).resolve()
    if not full.is_relative_to(ROOT):
        return None, 'outside'
    return full, None
"""
USELESS = {
    "a check of another part of a pair": "for name, path in [(y, inside(y)) for y in x.split()]:\n    open(name)",
    "a check of those that are left": "paths = [inside(y) for y in x.split() if len(y) > 3]\n" + READ,
    "an extension": "if not x.endswith('.txt'):\n    raise ValueError(x)\n" + READ,
    "the existence": "if not os.path.exists(x):\n    raise ValueError(x)\n" + READ,
    "the length": "if len(x) > 100:\n    raise ValueError(x)\n" + READ,
    "a check after the use": "text = open(x).read()\ncheck(x)\nreturn text",
    "a check in one branch": "if len(x) > 3:\n    check(x)\n" + READ,
    "a check whose result is ignored": "is_inside(x)\n" + READ,
    "a check that only warns": "if not is_inside(x):\n    print('outside')\n" + READ,
    "a check of another parameter": "check(y)\n" + READ,
    "an exception that is ignored": "try:\n    check(x)\nexcept ValueError:\n    pass\n" + READ,
    "`..` of an absolute path": "if '..' in x:\n    raise ValueError(x)\n" + READ,
    "a loose pattern": "if not re.match(r'.*', x):\n    raise ValueError(x)\n" + READ,
    "a loose compiled pattern": "if not ANY.match(x):\n    raise ValueError(x)\n" + READ,
    "a helper that another class replaces": "if x not in ALLOWED:\n    Base().fail(x)\n" + READ,
    "a path below a folder, and the text is opened": "if not (ROOT / x).resolve().is_relative_to(ROOT):\n"
    "    raise ValueError(x)\n" + READ,
    "a helper that returns the path, and the text is opened": "inside(x)\n" + READ,
    "dots at the start of a text": "if x.startswith('..'):\n    raise ValueError(x)\n" + READ,
    "a replaced text": "return open(x.replace('../', '')).read()",
}


@pytest.mark.parametrize("name", CHECKED)
def test_a_check_makes_a_path_safe(name: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(CHECKED[name], before=HELPERS)) == []


SETTINGS = """
ROOTS = [Path(part) for part in sys.argv[1:]]

def is_inside_some(path, is_on=bool(ROOTS)):
    return not is_on or any(path.is_relative_to(root) for root in ROOTS)

def is_below_roots(path, roots):
    if not roots:
        return True
    return any(path.is_relative_to(root) for root in roots)

class Policy:
    def __init__(self, roots, strict=True):
        self.roots, self.strict = roots, strict

    @property
    def confined(self):
        return bool(self.roots)

    def allows(self, path):
        return not self.confined or any(path.is_relative_to(root) for root in self.roots)

    def refuse(self, path):
        if self.strict and not path.is_relative_to(ROOT):
            raise PermissionError(path)

POLICY = Policy(ROOTS)
"""
SWITCHED = {
    "a property": (
        "if not POLICY.allows(Path(x).resolve()):\n    raise ValueError(x)\n" + READ,
        "unless `confined` is set",
    ),
    "an early return": (
        "if not is_below_roots(Path(x).resolve(), ROOTS):\n    raise ValueError(x)\n" + READ,
        "unless `roots` is set",
    ),
    "a helper that the configuration turns off": (
        "check_if_restricted(Path(x), None)\n" + READ,
        "unless `root` is set",
    ),
    "a helper that checks if a root is configured": (
        "return below(x, os.getenv('ROOT')).read_text()",
        "unless `folder` is set",
    ),
    "a condition and a check": (
        "if ROOTS and x not in ALLOWED:\n    raise ValueError(x)\n" + READ,
        "unless `ROOTS` is set",
    ),
    "a branch": ("if os.getenv('STRICT'):\n    check(x)\n" + READ, "unless `os.getenv('STRICT')` holds"),
    "a switch that is off": (
        "if not Policy([], strict=False).strict or is_inside(x):\n    return open(x).read()",
        "unless `strict` is set",
    ),
    "what switches it off": (
        "if sys.argv[1:]:\n    return ''\nfree = bool(sys.argv)\nif not free:\n    check(x)\n" + READ,
        "if `free` is set",
    ),
}
ON_BY_DEFAULT = {
    "a default of a parameter": "Policy(ROOTS).refuse(Path(x).resolve())\n" + READ,
    "a default of a variable": "if os.getenv('STRICT', '1') == '1':\n    check(x)\n" + READ,
    "a folder by default": "return below(x, os.getenv('ROOT', '/data')).read_text()",
    "a constant folder": "if ROOT and not is_inside(x):\n    raise ValueError(x)\n" + READ,
    "what switches it off is off": "if not os.getenv('ANY_PATH'):\n    check(x)\n" + READ,
    "other uses of a value": "if ROOTS and x not in ALLOWED:\n    raise ValueError(x)\nreturn subprocess.getoutput(x)",
}


@pytest.mark.parametrize("name", SWITCHED)
def test_a_check_that_a_setting_switches_off_has_that_setting(name: str, tmp_path: Path) -> None:
    body, switch = SWITCHED[name]
    (flow,) = flows_in(tmp_path, server=tool(body, before=HELPERS + SETTINGS))
    assert (flow.kind, flow.switch) == ("path", switch)


@pytest.mark.parametrize("name", ON_BY_DEFAULT)
def test_a_check_that_is_on_by_default_makes_a_path_safe(name: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(ON_BY_DEFAULT[name], before=HELPERS + SETTINGS)) == []


@pytest.mark.parametrize("name", USELESS)
def test_what_is_not_a_check_makes_nothing_safe(name: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(USELESS[name], "x: str, y: str", HELPERS)) == ["path"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (
            "prefix",
            "p = os.path.abspath(x)\nif not p.startswith(str(ROOT)):\n    raise ValueError(x)\nreturn open(p).read()",
        ),
        ("prefix", "p = str(Path(x).resolve())\nif p.startswith(str(ROOT)):\n    return open(p).read()\nreturn ''"),
        (
            "prefix",
            "if os.path.commonprefix([os.path.realpath(x), str(ROOT)]) != str(ROOT):\n    raise ValueError(x)\n" + READ,
        ),
        ("prefix", "allowed_dir = str(ROOT)\nif not x.startswith(allowed_dir):\n    raise ValueError(x)\n" + READ),
    ],
)
def test_a_prefix_as_containment_is_reported_instead_of_the_path(kind: str, body: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(body)) == [kind]


HOST_CHECKS = """
def forbidden(host):
    try:
        packed = socket.inet_pton(socket.AF_INET, host)
    except OSError:
        return False
    return any(packed[: len(prefix)] == prefix for prefix in networks())

def wrong_scheme(url):
    if urlparse(url).scheme not in ("http", "https"):
        return f"not an address: {url}"
    return None

class Guarded:
    def _guard(self, url):
        if not self._is_public(urlparse(url).hostname):
            raise ValueError(url)

    def _is_public(self, host):
        try:
            for *_, found in socket.getaddrinfo(host, None):
                if not ipaddress.ip_address(found[0]).is_global:
                    return False
        except socket.gaierror:
            return False
        return True

class Fetcher(Guarded):
    def fetch(self, url):
        self._guard(url)
        return httpx.get(url)
"""


@pytest.mark.parametrize(
    "body",
    [
        "if urlparse(x).hostname not in ALLOWED:\n    raise ValueError(x)\nhttpx.get(x)",
        "parsed = urlparse(x)\nif parsed.scheme not in ('http', 'https') or parsed.netloc not in ALLOWED:\n"
        "    raise ValueError(x)\nhttpx.get(x)",
        "if not x.startswith('https://api.example.org/'):\n    raise ValueError(x)\nhttpx.get(x)",
        "if ipaddress.ip_address(socket.gethostbyname(urlparse(x).hostname)).is_private:\n"
        "    raise ValueError(x)\nhttpx.get(x)",
        "address = ipaddress.ip_address(urlparse(x).hostname)\nif any(address in net for net in networks()):\n"
        "    raise ValueError(x)\nhttpx.get(x)",
        "httpx.get('https://example.org/' + quote(x))",
        "if socket.inet_aton(urlparse(x).hostname)[0] in (10, 127):\n    raise ValueError(x)\nhttpx.get(x)",
        "if forbidden(urlparse(x).hostname):\n    raise ValueError(x)\nhttpx.get(x)",
        "Fetcher().fetch(x)",
        "for found in await asyncio.to_thread(socket.getaddrinfo, urlparse(x).hostname, 80):\n"
        "    if ipaddress.ip_address(found[4][0]).is_private:\n        raise ValueError(x)\nhttpx.get(x)",
    ],
)
def test_a_check_of_the_host_makes_an_address_safe(body: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(body, before=HOST_CHECKS)) == []


@pytest.mark.parametrize(
    "body",
    [
        "if urlparse(x).scheme not in ('http', 'https'):\n    raise ValueError(x)\nhttpx.get(x)",
        "if not x.startswith(('http://', 'https://')):\n    raise ValueError(x)\nhttpx.get(x)",
        "if not x:\n    raise ValueError(x)\nhttpx.get(x)",
        "error = wrong_scheme(x)\nif error is not None:\n    raise ValueError(error)\nhttpx.get(x)",
        "httpx.get('http://' + socket.gethostbyname(x))",
    ],
)
def test_a_check_of_the_scheme_does_not(body: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(body, before=HOST_CHECKS)) == ["url"]


def test_a_list_of_forbidden_folders_is_no_containment(tmp_path: Path) -> None:
    body = """
        path = str(Path(x).resolve())
        if any(path.startswith(folder) for folder in ("/etc", "/root")):
            raise ValueError(x)
        return open(path).read()
    """
    assert kinds_in(tmp_path, tool(body)) == ["path"]


def test_a_prefix_decides_where_the_path_goes_to_a_library(tmp_path: Path) -> None:
    body = """
        path = os.path.realpath(x)
        if not path.startswith(str(ROOT)):
            raise ValueError(x)
        return library.load(path)
    """
    assert kinds_in(tmp_path, tool(body)) == ["prefix"]


def test_a_prefix_that_is_required_of_each_word_decides(tmp_path: Path) -> None:
    before = """
        def is_inside(path):
            try:
                return os.path.realpath(path).startswith(str(ROOT))
            except OSError:
                return False
    """
    body = """
        for word in shlex.split(x)[1:]:
            if not is_inside(word):
                raise ValueError(word)
        subprocess.run(["ls", "--", *shlex.split(x)[1:]])
    """
    assert kinds_in(tmp_path, tool(body, before=before)) == ["prefix"]


def test_a_check_of_one_function_in_a_table_says_nothing_about_another(tmp_path: Path) -> None:
    before = """
        def careful(name):
            if name not in ALLOWED:
                raise ValueError(name)
            return open(name).read()

        def careless(name):
            return open(name).read()

        TABLE = {"careful": careful, "careless": careless}
    """
    assert kinds_in(tmp_path, tool("return TABLE[y](x)", "x: str, y: str", before)) == ["path"]


@pytest.mark.parametrize(
    ("kinds", "body"),
    [
        ([], "os.system(f'ls {shlex.quote(x)}')"),
        (["path"], "open(shlex.quote(x))"),
        ([], "if x.startswith('-'):\n    raise ValueError(x)\nsubprocess.run(['git', 'log', x])"),
        (
            [],
            "if any(each.startswith('-') for each in x.split()):\n    raise ValueError(x)\n"
            "subprocess.run(['ls', *x.split()])",
        ),
        ([], "subprocess.run(['convert', str(Path(x).resolve()), os.path.abspath(x)])"),
        (["argument"], "subprocess.run(['convert', os.path.normpath(x)])"),
        (["shell"], "if x.startswith('-'):\n    raise ValueError(x)\nos.system(f'ls {x}')"),
        (["shell"], "if shlex.split(x)[0] not in ALLOWED:\n    raise ValueError(x)\nsubprocess.run(x, shell=True)"),
        ([], "words = shlex.split(x)\nif words[0] not in ALLOWED:\n    raise ValueError(x)\nsubprocess.run(words)"),
        ([], 'sqlite3.connect(\'d\').execute("SELECT \'" + x.replace("\'", "\'\'") + "\'")'),
    ],
)
def test_a_check_is_for_one_kind_of_use(kinds: list[str], body: str, tmp_path: Path) -> None:
    assert kinds_in(tmp_path, tool(body)) == kinds
