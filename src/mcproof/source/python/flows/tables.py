"""Which library calls are dangerous, and what library code does to a value on its way. Plain data.

The sinks come with their arguments and the kind of use. Other tables name calls that pass a value on, change it or
make it safe.
"""

from __future__ import annotations

from typing import NamedTuple

from mcproof.core.observations.source import ARGUMENT, ATTRIBUTE, COMMAND, EVAL, PATH, PROGRAM, SHELL, SQL, URL

ALL_KINDS = frozenset((SHELL, PROGRAM, COMMAND, EVAL, SQL, PATH, URL, ARGUMENT, ATTRIBUTE))

PASSES = frozenset(
    (
        *(f"builtins.{name}" for name in ("str", "bytes", "list", "tuple", "set", "frozenset", "sorted", "reversed")),
        *(f"builtins.{name}" for name in ("dict", "iter", "next", "enumerate", "zip", "filter", "ascii", "bytearray")),
        *(f"os.path.{name}" for name in ("expanduser", "expandvars", "splitext", "split", "dirname", "normcase")),
        "os.fspath",
        "os.fsencode",
        *(f"pathlib.{name}" for name in ("Path", "PurePath", "PosixPath", "PurePosixPath", "WindowsPath")),
        "anyio.Path",
        "shlex.split",
        "shlex.join",
        "json.loads",
        "json.dumps",
        "yaml.safe_load",
        "ast.literal_eval",
        "textwrap.dedent",
        "copy.copy",
        "copy.deepcopy",
        "typing.cast",
        *(
            f"urllib.parse.{name}"
            for name in ("urlparse", "urlsplit", "urlunparse", "unquote", "unquote_plus", "urljoin")
        ),
        "urllib.parse.urldefrag",
        "httpx.URL",
        "yarl.URL",
        "base64.b64decode",
        "bytes.fromhex",
        "html.unescape",
        "ipaddress.ip_address",
        "socket.gethostbyname",
        "socket.getaddrinfo",
        "re.sub",
        "re.split",
        "itertools.chain",
        "asyncio.wait_for",
        "asyncio.shield",
        "sqlalchemy.text",
        "sqlalchemy.sql.text",
    )
)
"""Functions whose result is made from their arguments."""
RESOLVES = frozenset(("os.path.abspath", "os.path.realpath", "os.path.normpath"))
JOINS = frozenset(("os.path.join", "posixpath.join"))
SAFE_RESULTS: dict[str, frozenset[str]] = {
    "shlex.quote": frozenset((SHELL, PROGRAM, COMMAND)),
    "pipes.quote": frozenset((SHELL, PROGRAM, COMMAND)),
    "os.path.basename": frozenset((PATH,)),
    "ntpath.basename": frozenset((PATH,)),
    "werkzeug.utils.secure_filename": ALL_KINDS,
    "slugify.slugify": ALL_KINDS,
    "builtins.repr": frozenset((EVAL,)),
    "re.escape": frozenset((SHELL,)),
    "psycopg.sql.Identifier": frozenset((SQL,)),
    "psycopg2.sql.Identifier": frozenset((SQL,)),
    "psycopg.sql.Literal": frozenset((SQL,)),
    "psycopg2.sql.Literal": frozenset((SQL,)),
    "urllib.parse.quote": frozenset((URL,)),
    "urllib.parse.quote_plus": frozenset((URL, PATH)),
    "urllib.parse.urlencode": frozenset((URL, PATH)),
    "json.dumps": frozenset((PATH, URL, ARGUMENT)),
}
"""Functions whose result is made from their arguments and safe for some kinds of use."""

PATH_TYPES = frozenset(
    f"{module}.{name}()" for module in ("pathlib", "anyio") for name in ("Path", "PurePath", "PosixPath")
)
SAFE_PATH_PARTS = frozenset(("name", "stem"))
"""Parts of a path that cannot lead out of a folder."""
HARMLESS_PARTS = frozenset(("anchor", "drive", "root", "suffix", "suffixes", "scheme", "port", "st_size", "size"))
"""Parts of a value whose check says nothing about the rest."""
LOSING_METHODS = frozenset(
    (
        *("count", "find", "index", "rfind", "startswith", "endswith", "exists", "is_file", "is_dir", "stat", "keys"),
        *("isdigit", "isalnum", "isidentifier", "isalpha", "is_absolute", "is_relative_to", "match", "is_symlink"),
        *(
            "read_text",
            "read_bytes",
            "iterdir",
            "glob",
            "rglob",
            "open",
            "mkdir",
            "unlink",
            "write_text",
            "write_bytes",
        ),
        *("bit_length", "hexdigest", "digest", "lstat", "samefile", "timestamp", "isoformat"),
    )
)
"""Methods whose result is not made from their object's text."""
RESOLVING_METHODS = frozenset(("resolve", "absolute"))
WORD_METHODS = frozenset(("split", "rsplit", "splitlines", "partition", "rpartition"))
MODEL_METHODS = frozenset(
    ("model_validate", "parse_obj", "model_validate_json", "parse_raw", "from_dict", "model_construct")
)

PLAIN_TYPES = frozenset(
    (
        *(f"builtins.{name}" for name in ("int", "float", "bool", "complex")),
        "datetime.datetime",
        "datetime.date",
        "datetime.time",
        "datetime.timedelta",
        "decimal.Decimal",
        "uuid.UUID",
        "typing.Literal",
        "typing_extensions.Literal",
        "pydantic.PositiveInt",
        "pydantic.NonNegativeInt",
        "ipaddress.IPv4Address",
        "enum.Enum",
        "enum.IntEnum",
        "enum.StrEnum",
    )
)
"""Types whose values carry no free text."""
WRAPPING_TYPES = frozenset(
    (
        *("Annotated", "Optional", "Union", "List", "Sequence", "Iterable", "Set", "Tuple", "Final", "Required"),
        *("list", "tuple", "set", "frozenset", "NotRequired"),
    )
)
"""Types that are plain if their arguments are."""
CHECK_WORDS = (
    "valid",
    "safe",
    "sanit",
    "allow",
    "check",
    "verif",
    "guard",
    "contain",
    "ensure",
    "assert",
    "restrict",
    "secur",
    "permit",
    "authoriz",
    "is_within",
    "inside",
    "jail",
    "confine",
)
"""Words in the name of a function outside the source that suggest a check."""
DEFERRED_CALLS = frozenset(
    (
        "to_thread",
        "run_sync",
        "run_in_executor",
        "submit",
        "partial",
        "wait_for",
        "create_task",
        "gather",
        "run",
        "map",
        "run_in_threadpool",
        "call_soon",
        "start_soon",
        "ensure_future",
        "sync_to_async",
    )
)
"""External functions that call the function that they are given."""


RECEIVER = -1
"""The position of the object whose method is called."""
EVERY = -2
"""All positional arguments."""


class Sink(NamedTuple):
    """One kind of dangerous call."""

    kind: str
    position: int = 0
    names: tuple[str, ...] = ()
    """The names of the argument if it is passed by keyword."""


_COMMAND = Sink(SHELL, 0, ("cmd", "command", "args"))
_CODE = Sink(EVAL, 0, ("source", "object", "code"))
_DATA = Sink(EVAL, 0, ("stream", "data", "file", "filename", "f"))
_FILE = Sink(PATH, 0, ("file", "path", "filename", "filepath", "name", "src", "target"))
_SECOND_FILE = Sink(PATH, 1, ("dst", "to_path", "target", "filename", "path", "Filename"))
_OWN_PATH = Sink(PATH, RECEIVER)
_ADDRESS = Sink(URL, 0, ("url", "uri", "source"))
_SECOND_ADDRESS = Sink(URL, 1, ("url", "uri"))
_QUERY = Sink(SQL, 0, ("sql", "query", "statement", "operation", "query_string"))

_VERBS = ("get", "post", "put", "delete", "patch", "head", "options")
_HTTP_CLIENTS = (
    "requests",
    "requests.Session()",
    "requests.session()",
    "requests.sessions.Session()",
    "httpx",
    "httpx.Client()",
    "httpx.AsyncClient()",
    "aiohttp.ClientSession()",
    "aiohttp.client.ClientSession()",
    "urllib3.PoolManager()",
    "curl_cffi.requests",
    "curl_cffi.requests.Session()",
    "curl_cffi.requests.AsyncSession()",
    "cloudscraper.create_scraper()",
    "httpx2",
    "httpx2.Client()",
    "httpx2.AsyncClient()",
)
_DATABASES = ("sqlite3", "aiosqlite", "duckdb", "psycopg2", "psycopg", "pymysql", "MySQLdb", "mysql.connector")

SINKS: dict[str, tuple[Sink, ...]] = {
    # commands
    **dict.fromkeys(
        (
            "os.system",
            "os.popen",
            "subprocess.getoutput",
            "subprocess.getstatusoutput",
            "asyncio.create_subprocess_shell",
            "asyncio.subprocess.create_subprocess_shell",
            "pexpect.spawn",
            "pexpect.run",
            "pexpect.popen_spawn.PopenSpawn",
            "pty.spawn",
            "invoke.run",
            "invoke.context.Context().run",
            "invoke.Context().run",
            "fabric.Connection().run",
            "fabric.Connection().sudo",
            "fabric.Connection().local",
            "paramiko.SSHClient().exec_command",
            "asyncssh.connect().run",
            "platform.popen",
            "popen2.popen2",
        ),
        (_COMMAND,),
    ),
    # code
    **dict.fromkeys(
        ("builtins.eval", "builtins.exec", "builtins.compile", "code.InteractiveInterpreter().runcode"), (_CODE,)
    ),
    **dict.fromkeys(
        (
            "pickle.loads",
            "pickle.load",
            "cPickle.loads",
            "dill.loads",
            "dill.load",
            "cloudpickle.loads",
            "joblib.load",
            "marshal.loads",
            "shelve.open",
            "jsonpickle.decode",
            "yaml.unsafe_load",
            "yaml.full_load",
            "torch.load",
        ),
        (_DATA,),
    ),
    **dict.fromkeys(
        ("importlib.import_module", "builtins.__import__", "runpy.run_path", "runpy.run_module"),
        (Sink(EVAL, 0, ("name", "path_name", "mod_name")),),
    ),
    **dict.fromkeys(("jinja2.Template", "jinja2.Environment().from_string"), (Sink(EVAL, 0, ("source",)),)),
    "IPython.core.interactiveshell.InteractiveShell().run_cell": (_CODE,),
    # SQL
    **dict.fromkeys(
        (
            *(f"{client}.{last}" for client in ("duckdb", "duckdb.connect()") for last in ("sql", "query", "execute")),
            *(f"{database}.connect().execute" for database in _DATABASES),
            "pandas.read_sql",
            "pandas.read_sql_query",
            "sqlalchemy.text",
            "sqlalchemy.sql.text",
            "sqlalchemy.sql.expression.text",
            "google.cloud.bigquery.Client().query",
            "clickhouse_connect.get_client().query",
            "clickhouse_connect.get_client().command",
        ),
        (_QUERY,),
    ),
    # paths
    **dict.fromkeys(
        (
            "builtins.open",
            "io.open",
            "codecs.open",
            "aiofiles.open",
            "anyio.open_file",
            "gzip.open",
            "bz2.open",
            "lzma.open",
            "os.open",
            "os.remove",
            "os.unlink",
            "os.rmdir",
            "os.removedirs",
            "os.mkdir",
            "os.makedirs",
            "os.listdir",
            "os.scandir",
            "os.walk",
            "os.chmod",
            "os.chown",
            "os.truncate",
            "os.startfile",
            "aiofiles.os.remove",
            "aiofiles.os.makedirs",
            "glob.glob",
            "glob.iglob",
            "shutil.rmtree",
            "zipfile.ZipFile",
            "tarfile.open",
            "linecache.getlines",
            "fileinput.input",
            "flask.send_file",
            "starlette.responses.FileResponse",
            "fastapi.responses.FileResponse",
            "fastapi.FileResponse",
            "PIL.Image.open",
            "cv2.imread",
            "imageio.imread",
            "soundfile.read",
            "wave.open",
            "fitz.open",
            "pymupdf.open",
            "PyPDF2.PdfReader",
            "pypdf.PdfReader",
            "pdfplumber.open",
            "openpyxl.load_workbook",
            "docx.Document",
            "pptx.Presentation",
            "h5py.File",
            "numpy.load",
            "numpy.loadtxt",
            "pandas.read_csv",
            "pandas.read_excel",
            "pandas.read_parquet",
            "pandas.read_json",
            "polars.read_csv",
            "polars.read_parquet",
            "git.Repo",
            "git.Repo.init",
            "git.repo.base.Repo.init",
            "pygit2.Repository",
            "pygit2.init_repository",
            "dulwich.repo.Repo",
            "dulwich.repo.Repo.init",
        ),
        (_FILE,),
    ),
    **dict.fromkeys(
        (
            "shutil.copy",
            "shutil.copy2",
            "shutil.copyfile",
            "shutil.copytree",
            "shutil.move",
            "os.rename",
            "os.replace",
            "os.renames",
            "os.link",
            "os.symlink",
        ),
        (_FILE, _SECOND_FILE),
    ),
    **dict.fromkeys(
        (
            "git.Repo.clone_from",
            "urllib.request.urlretrieve",
            "shutil.unpack_archive",
            "flask.send_from_directory",
            "cv2.imwrite",
            "numpy.save",
        ),
        (_SECOND_FILE,),
    ),
    **dict.fromkeys(
        (
            "git.Repo().index.add",
            "git.Repo().index.remove",
            "git.Repo().index.move",
            "git.Repo().index.checkout",
        ),
        (Sink(PATH, 0, ("items", "paths")),),
    ),
    **dict.fromkeys(
        (
            "pandas.DataFrame().to_csv",
            "pandas.DataFrame().to_excel",
            "pandas.DataFrame().to_parquet",
            "openpyxl.Workbook().save",
            "openpyxl.load_workbook().save",
            "docx.Document().save",
            "pptx.Presentation().save",
            "PIL.Image.open().save",
            "PIL.Image.new().save",
            "PIL.Image.Image().save",
            "matplotlib.pyplot.savefig",
        ),
        (_FILE,),
    ),
    # addresses
    **{f"{client}.{verb}": (_ADDRESS,) for client in _HTTP_CLIENTS for verb in _VERBS},
    **{
        f"{client}.{verb}": (_SECOND_ADDRESS,)
        for client in _HTTP_CLIENTS
        for verb in ("request", "stream", "build_request")
    },
    "aiohttp.ClientSession().ws_connect": (_ADDRESS,),
    "aiohttp.request": (_SECOND_ADDRESS,),
    **dict.fromkeys(
        (
            "urllib.request.urlopen",
            "urllib.request.Request",
            "urllib.request.urlretrieve",
            "urllib2.urlopen",
            "websockets.connect",
            "websocket.create_connection",
            "feedparser.parse",
            "trafilatura.fetch_url",
            "newspaper.Article",
            "wget.download",
            "httpx_sse.connect_sse",
            "selenium.webdriver.Chrome().get",
            "selenium.webdriver.Firefox().get",
            "crawl4ai.AsyncWebCrawler().arun",
            "markitdown.MarkItDown().convert",
            "markitdown.MarkItDown().convert_uri",
            "markitdown.MarkItDown().convert_url",
        ),
        (_ADDRESS,),
    ),
    # attributes
    **dict.fromkeys(
        ("builtins.getattr", "builtins.setattr", "builtins.delattr", "operator.attrgetter"),
        (Sink(ATTRIBUTE, 1, ("name",)),),
    ),
}
SINKS["operator.attrgetter"] = (Sink(ATTRIBUTE, 0),)

ANY_OBJECT: dict[str, tuple[Sink, ...]] = {
    "exec_command": (_COMMAND,),
    "exec_run": (_COMMAND,),
    **dict.fromkeys(
        ("execute", "executemany", "executescript", "exec_driver_sql", "execute_query", "run_query"), (_QUERY,)
    ),
    **dict.fromkeys(("goto",), (_ADDRESS,)),
    **dict.fromkeys(
        (
            "read_text",
            "read_bytes",
            "write_text",
            "write_bytes",
            "unlink",
            "rmdir",
            "iterdir",
            "rglob",
            "touch",
        ),
        (_OWN_PATH,),
    ),
}
"""Methods that are dangerous whatever object they belong to."""
PATH_METHODS: dict[str, tuple[Sink, ...]] = {
    **dict.fromkeys(("open", "mkdir", "glob", "walk", "chmod", "hardlink_to", "symlink_to"), (_OWN_PATH,)),
    **dict.fromkeys(("rename", "replace", "copy", "move"), (_OWN_PATH, Sink(PATH, 0, ("target",)))),
}
"""Methods that are dangerous if their object is a `pathlib.Path`."""
QUERY_METHODS = frozenset(
    ("query", "sql", "run", "fetch", "fetchrow", "fetchval", "fetch_all", "fetch_one", "raw", "command")
)
"""Methods that run a query if their argument looks like one."""
REQUEST_METHODS = frozenset((*_VERBS, "stream"))
"""Methods that send a request if their object is named as a client and their argument as an address."""

RUNNERS = frozenset(
    (
        *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")),
        "asyncio.create_subprocess_exec",
        "asyncio.subprocess.create_subprocess_exec",
        "anyio.run_process",
        "anyio.open_process",
        "trio.run_process",
        *(
            f"os.{name}"
            for name in ("execv", "execve", "execvp", "execvpe", "execl", "execlp", "spawnv", "spawnvp", "spawnl")
        ),
        "kubernetes.stream.stream",
    )
)
"""Calls that run a program with a list of arguments."""
SPREAD_RUNNERS = frozenset(
    ("asyncio.create_subprocess_exec", "asyncio.subprocess.create_subprocess_exec", "os.execl", "os.execlp")
)
"""Runners whose arguments are positional arguments of their own."""
RUNNER_KEYWORDS = ("args", "cmd", "command", "popenargs")
GIT_COMMANDS = "git.Repo().git."
"""The start of the names of methods that run a git command with their positional arguments."""
SHELLS = frozenset(
    ("sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "cmd.exe", "powershell", "pwsh", "powershell.exe")
)
SHELL_FLAGS = frozenset(("-c", "/c", "/C", "-Command", "-lc", "-ic", "-EncodedCommand"))
INTERPRETERS = frozenset(("python", "python3", "node", "ruby", "perl", "php", "osascript", "deno", "Rscript"))
CODE_FLAGS = frozenset(("-c", "-e", "--eval", "-r", "eval"))
SWITCHES = frozenset(
    (
        *("-" + letter for letter in "aAqvVyx1"),
        *("-rf", "-la", "-al", "-xzf", "-xf", "-tf", "-sS", "-fsSL", "-sSL", "-nP"),
        *("--all", "--bare", "--cached", "--force", "--hard", "--json", "--name-only", "--name-status", "--no-color"),
        *("--no-pager", "--oneline", "--porcelain", "--quiet", "--raw", "--recursive", "--short", "--silent", "--soft"),
        *("--staged", "--stat", "--verbose", "--version", "--yes", "--no-patch", "--graph", "--abbrev-ref", "--verify"),
        *(
            "--porcelain=v1",
            "--ff-only",
            "--rebase",
            "--no-commit",
            "--no-edit",
            "--follow",
            "--list",
            "--show-current",
        ),
    )
)
"""Options without a value, after which a parameter is an argument of its own."""
