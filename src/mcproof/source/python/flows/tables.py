"""Which library calls are dangerous, and what library code does to a value on its way. Plain data.

The sinks come with their arguments and the kind of use. Other tables name calls that pass a value on, change it or
make it safe.
"""

from __future__ import annotations

import re

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import (
    ADDRESS,
    ARGUMENT,
    ATTRIBUTE,
    COMMAND,
    EVAL,
    PATH,
    PROGRAM,
    SHELL,
    SQL,
    URL,
)
from mcproof.core.text.english import word_set
from mcproof.source.flow_marks import ALL_KINDS

PASSES = word_set(
    "builtins.str builtins.bytes builtins.list builtins.tuple builtins.set builtins.frozenset builtins.sorted "
    "builtins.reversed builtins.dict builtins.iter builtins.next builtins.enumerate builtins.zip builtins.filter "
    "builtins.ascii builtins.bytearray os.path.expanduser os.path.expandvars os.path.splitext os.path.split "
    "os.path.dirname os.path.normcase os.fspath os.fsencode pathlib.Path pathlib.PurePath pathlib.PosixPath "
    "pathlib.PurePosixPath pathlib.WindowsPath anyio.Path shlex.split shlex.join json.loads json.dumps "
    "yaml.safe_load ast.literal_eval textwrap.dedent copy.copy copy.deepcopy typing.cast urllib.parse.urlparse "
    "urllib.parse.urlsplit urllib.parse.urlunparse urllib.parse.unquote urllib.parse.unquote_plus "
    "urllib.parse.urljoin urllib.parse.urldefrag httpx.URL yarl.URL base64.b64decode bytes.fromhex html.unescape "
    "re.sub re.split itertools.chain struct.unpack builtins.int.from_bytes "
    "asyncio.wait_for asyncio.shield sqlalchemy.text sqlalchemy.sql.text"
)
"""Functions whose result is made from their arguments."""
RESOLVES = frozenset(("os.path.abspath", "os.path.realpath", "os.path.normpath"))
JOINS = frozenset(("os.path.join", "posixpath.join"))
_PSYCOPG = ("psycopg", "psycopg2")
ADDRESSES = word_set(
    "socket.gethostbyname socket.gethostbyname_ex socket.getaddrinfo socket.inet_aton socket.inet_pton "
    "ipaddress.ip_address ipaddress.ip_interface ipaddress.ip_network ipaddress.IPv4Address ipaddress.IPv6Address "
    "ipaddress.IPv4Network ipaddress.IPv6Network"
)
"""Functions whose result is a numeric address: to compare it is to decide about a host."""
SAFE_RESULTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("shlex.quote", "pipes.quote"), frozenset((SHELL, PROGRAM, COMMAND))),
    **dict.fromkeys(("os.path.basename", "ntpath.basename"), frozenset((PATH,))),
    **dict.fromkeys(("werkzeug.utils.secure_filename", "slugify.slugify"), ALL_KINDS),
    **{f"{psycopg}.sql.{name}": frozenset((SQL,)) for psycopg in _PSYCOPG for name in ("Identifier", "Literal")},
    **dict.fromkeys(("urllib.parse.quote_plus", "urllib.parse.urlencode"), frozenset((URL, PATH))),
    **dict.fromkeys(("io.BytesIO", "io.StringIO"), frozenset((PATH, URL))),
    "builtins.repr": frozenset((EVAL,)),
    **dict.fromkeys(ADDRESSES, ALL_KINDS - {URL}),
    "re.escape": frozenset((SHELL,)),
    "urllib.parse.quote": frozenset((URL,)),
    "json.dumps": frozenset((PATH, URL, ARGUMENT)),
}
"""Functions whose result is made from their arguments and safe for some kinds of use."""

PATH_TYPES = frozenset(
    f"{module}.{name}()" for module in ("pathlib", "anyio") for name in ("Path", "PurePath", "PosixPath")
)
SAFE_PATH_PARTS = frozenset(("name", "stem"))
"""Parts of a path that cannot lead out of a folder."""
HARMLESS_PARTS = frozenset(("anchor", "drive", "root", "suffix", "suffixes", "port", "st_size", "size"))
"""Parts of a value whose check says nothing about the rest."""
LOSING_METHODS = word_set(
    "count find index rfind startswith endswith exists is_file is_dir stat keys isdigit isalnum isidentifier "
    "isalpha is_absolute is_relative_to match is_symlink read_text read_bytes iterdir glob rglob open mkdir "
    "unlink write_text write_bytes bit_length hex hexdigest digest lstat samefile timestamp isoformat"
)
"""Methods whose result is not made from their object's text."""
RESOLVING_METHODS = frozenset(("resolve", "absolute"))
WORD_METHODS = frozenset(("split", "rsplit", "splitlines", "partition", "rpartition"))
MODEL_METHODS = frozenset(
    ("model_validate", "parse_obj", "model_validate_json", "parse_raw", "from_dict", "model_construct")
)

PLAIN_TYPES = word_set(
    "builtins.int builtins.float builtins.bool builtins.complex datetime.datetime datetime.date datetime.time "
    "datetime.timedelta decimal.Decimal uuid.UUID typing.Literal typing_extensions.Literal pydantic.PositiveInt "
    "pydantic.NonNegativeInt ipaddress.IPv4Address enum.Enum enum.IntEnum enum.StrEnum"
)
"""Types whose values carry no free text."""
WRAPPING_TYPES = word_set(
    "Annotated Optional Union List Sequence Iterable Set Tuple Final Required list tuple set frozenset NotRequired"
)
"""Types that are plain if their arguments are."""
CHECK_WORDS = word_set(
    "valid safe sanit allow check verif guard contain ensure assert restrict secur permit authoriz "
    "is_within inside jail confine"
)
"""Words in the name of a function outside the source that suggest a check."""
DEFERRED_CALLS = word_set(
    "to_thread run_sync run_in_executor submit partial wait_for create_task gather run map run_in_threadpool "
    "call_soon start_soon ensure_future sync_to_async"
)
"""External functions that call the function that they are given."""


_VERBS = ("get", "post", "put", "delete", "patch", "head", "options")
HEADERS, ACCESS_TOKEN = "request header", "access token"
ENVIRONMENT = frozenset(("os.getenv", "os.environ.get"))
ANSWERS = {
    **dict.fromkeys(("elicit", "elicit_form"), "elicited answer"),
    **dict.fromkeys(("get_http_headers", "get_http_request"), HEADERS),
    "get_access_token": ACCESS_TOKEN,
}
"""Functions of frameworks that return what the client sent, and how a message calls it."""
REQUEST_PARTS = {
    **dict.fromkeys(("headers", "query_params", "cookies", "path_params"), HEADERS),
    "meta": "request metadata",
}
"""Attributes of a request, or of its context, that hold what the client sent, and how a message calls it."""
REQUEST_NAME = re.compile(r"(?i)request|^req$")
"""The name of an object that is the request of a client."""
SENDERS = frozenset(
    (*_VERBS, "request", "stream", "send", "Client", "AsyncClient", "ClientSession", "Session", "Request")
)
"""The last names of calls that send a request, or make what sends it, with the argument `headers`."""
ISSUER = re.compile(r"(?i)userinfo|introspect|tokeninfo|oauth|openid|/token\b")
"""An address of the service that issued a token: sending it there is no passing on."""

OPENERS = word_set("builtins.open io.open codecs.open aiofiles.open anyio.open_file gzip.open bz2.open lzma.open")
"""Functions that open a file to write if their mode says so."""
WRITERS = word_set(
    "builtins.open().write builtins.open().writelines os.rename os.replace os.renames os.link os.symlink os.truncate "
    "shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.move shutil.unpack_archive cv2.imwrite numpy.save "
    "urllib.request.urlretrieve openpyxl.Workbook().save openpyxl.load_workbook().save docx.Document().save "
    "pptx.Presentation().save PIL.Image.open().save PIL.Image.new().save PIL.Image.Image().save "
    "pandas.DataFrame().to_csv pandas.DataFrame().to_excel pandas.DataFrame().to_parquet matplotlib.pyplot.savefig"
)
DELETERS = word_set("os.remove os.unlink os.rmdir os.removedirs aiofiles.os.remove shutil.rmtree")
WRITING_METHODS = frozenset(("write_text", "write_bytes"))
"""Methods that write a file whatever object they belong to."""
PATH_WRITERS = frozenset(("rename", "replace", "touch", "hardlink_to", "symlink_to"))

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
_EXPRESSION = Sink(EVAL, 0, ("a", "s", "expr", "expression", "f"))
_PARSING_FUNCTIONS = word_set(
    "sympify S parse_expr simplify expand factor solve solveset nsolve diff integrate limit series Eq N lambdify "
    "nsimplify apart cancel together trigsimp dsolve summation product Limit Integral Derivative roots latex"
)
_FRAMES = word_set("pandas.DataFrame() pandas.read_csv() pandas.read_excel() pandas.read_parquet() pandas.read_json()")
_DATA = Sink(EVAL, 0, ("stream", "data", "file", "filename", "f"))
_FILE = Sink(PATH, 0, ("file", "path", "filename", "filepath", "name", "src", "target"))
_SECOND_FILE = Sink(PATH, 1, ("dst", "to_path", "target", "filename", "path", "Filename"))
_OWN_PATH = Sink(PATH, RECEIVER)
_ADDRESS = Sink(URL, 0, ("url", "uri", "source"))
_ADDRESS_OR_FILE = Sink(ADDRESS, 0, ("filepath_or_buffer", "path", "io", "path_or_buf", "source"))
_FORMATS = word_set("csv table excel parquet json feather xml html hdf")
_SECOND_ADDRESS = Sink(URL, 1, ("url", "uri"))
_QUERY = Sink(SQL, 0, ("sql", "query", "statement", "operation", "query_string"))

_HTTP_CLIENTS = word_set(
    "requests requests.Session() requests.session() requests.sessions.Session() httpx httpx.Client() "
    "httpx.AsyncClient() httpx2 httpx2.Client() httpx2.AsyncClient() aiohttp.ClientSession() "
    "aiohttp.client.ClientSession() urllib3.PoolManager() curl_cffi.requests curl_cffi.requests.Session() "
    "curl_cffi.requests.AsyncSession() cloudscraper.create_scraper()"
)
_REQUESTS = ("request", "stream", "build_request")
_DATABASES = ("sqlite3", "aiosqlite", "duckdb", "psycopg2", "psycopg", "pymysql", "MySQLdb", "mysql.connector")

SINKS: dict[str, tuple[Sink, ...]] = {
    **dict.fromkeys(
        word_set(
            "os.system os.popen subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell "
            "asyncio.subprocess.create_subprocess_shell pexpect.spawn pexpect.run pexpect.popen_spawn.PopenSpawn "
            "pty.spawn invoke.run invoke.context.Context().run invoke.Context().run fabric.Connection().run "
            "fabric.Connection().sudo fabric.Connection().local paramiko.SSHClient().exec_command "
            "asyncssh.connect().run platform.popen popen2.popen2"
        ),
        (_COMMAND,),
    ),
    **dict.fromkeys(
        word_set(
            "builtins.eval builtins.exec builtins.compile code.InteractiveInterpreter().runcode pandas.eval "
            "timeit.timeit timeit.repeat cProfile.run profile.run numexpr.evaluate doctest.run_docstring_examples"
        ),
        (_CODE,),
    ),
    # sympy parses text with `eval`, in nearly every function that takes an expression
    **{f"sympy.{name}": (_EXPRESSION,) for name in _PARSING_FUNCTIONS},
    **dict.fromkeys(("sympy.parsing.sympy_parser.parse_expr", "sympy.core.sympify.sympify"), (_EXPRESSION,)),
    **{f"{frame}.{name}": (Sink(EVAL, 0, ("expr",)),) for frame in _FRAMES for name in ("eval", "query")},
    # These formats name the classes and functions that reading them calls.
    **dict.fromkeys(
        word_set(
            "pickle.loads pickle.load cPickle.loads dill.loads dill.load cloudpickle.loads joblib.load "
            "marshal.loads shelve.open jsonpickle.decode yaml.unsafe_load yaml.full_load torch.load "
            "pandas.read_pickle pickle.Unpickler dill.Unpickler keras.models.load_model"
        ),
        (_DATA,),
    ),
    **dict.fromkeys(
        ("importlib.import_module", "builtins.__import__", "runpy.run_path", "runpy.run_module"),
        (Sink(EVAL, 0, ("name", "path_name", "mod_name")),),
    ),
    **dict.fromkeys(
        word_set(
            "pydoc.locate pkgutil.resolve_name werkzeug.utils.import_string django.utils.module_loading.import_string"
        ),
        (Sink(EVAL, 0, ("name", "path", "import_name", "dotted_path")),),
    ),
    **dict.fromkeys(
        ("importlib.util.spec_from_file_location", "importlib.machinery.SourceFileLoader"),
        (Sink(EVAL, 1, ("location", "path")),),
    ),
    **dict.fromkeys(
        word_set(
            "jinja2.Template jinja2.Environment().from_string mako.template.Template tornado.template.Template "
            "django.template.Template"
        ),
        (Sink(EVAL, 0, ("source", "text", "template_string")),),
    ),
    "IPython.core.interactiveshell.InteractiveShell().run_cell": (_CODE,),
    **dict.fromkeys(
        (
            *(f"{client}.{last}" for client in ("duckdb", "duckdb.connect()") for last in ("sql", "query", "execute")),
            *(f"{database}.connect().execute" for database in _DATABASES),
            *word_set(
                "pandas.read_sql pandas.read_sql_query sqlalchemy.text sqlalchemy.sql.text "
                "sqlalchemy.sql.expression.text sqlalchemy.literal_column psycopg.sql.SQL psycopg2.sql.SQL "
                "google.cloud.bigquery.Client().query "
                "clickhouse_connect.get_client().query clickhouse_connect.get_client().command"
            ),
        ),
        (_QUERY,),
    ),
    **dict.fromkeys(
        word_set(
            "builtins.open io.open codecs.open aiofiles.open anyio.open_file gzip.open bz2.open lzma.open "
            "os.open os.remove os.unlink os.rmdir os.removedirs os.mkdir os.makedirs os.listdir os.scandir "
            "os.walk os.chmod os.chown os.truncate os.startfile aiofiles.os.remove aiofiles.os.makedirs "
            "glob.glob glob.iglob shutil.rmtree zipfile.ZipFile tarfile.open linecache.getlines fileinput.input "
            "flask.send_file starlette.responses.FileResponse fastapi.responses.FileResponse "
            "fastapi.FileResponse PIL.Image.open cv2.imread imageio.imread soundfile.read wave.open fitz.open "
            "pymupdf.open PyPDF2.PdfReader pypdf.PdfReader pdfplumber.open openpyxl.load_workbook docx.Document "
            "pptx.Presentation h5py.File numpy.load numpy.loadtxt git.Repo git.Repo.init "
            "git.repo.base.Repo.init pygit2.Repository pygit2.init_repository dulwich.repo.Repo "
            "dulwich.repo.Repo.init pandas.DataFrame().to_csv pandas.DataFrame().to_excel "
            "pandas.DataFrame().to_parquet openpyxl.Workbook().save openpyxl.load_workbook().save "
            "docx.Document().save pptx.Presentation().save PIL.Image.open().save PIL.Image.new().save "
            "PIL.Image.Image().save matplotlib.pyplot.savefig"
        ),
        (_FILE,),
    ),
    **{f"{library}.read_{kind}": (_FILE, _ADDRESS_OR_FILE) for library in ("pandas", "polars") for kind in _FORMATS},
    **dict.fromkeys(
        word_set(
            "shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.move os.rename os.replace "
            "os.renames os.link os.symlink"
        ),
        (_FILE, _SECOND_FILE),
    ),
    **dict.fromkeys(
        word_set(
            "git.Repo.clone_from urllib.request.urlretrieve shutil.unpack_archive flask.send_from_directory "
            "cv2.imwrite numpy.save"
        ),
        (_SECOND_FILE,),
    ),
    **dict.fromkeys(
        word_set("git.Repo().index.add git.Repo().index.remove git.Repo().index.move git.Repo().index.checkout"),
        (Sink(PATH, 0, ("items", "paths")),),
    ),
    **{f"{client}.{verb}": (_ADDRESS,) for client in _HTTP_CLIENTS for verb in _VERBS},
    **{f"{client}.{name}": (_SECOND_ADDRESS,) for client in _HTTP_CLIENTS for name in _REQUESTS},
    "aiohttp.ClientSession().ws_connect": (_ADDRESS,),
    "aiohttp.request": (_SECOND_ADDRESS,),
    **dict.fromkeys(
        word_set(
            "urllib.request.urlopen urllib.request.Request urllib.request.urlretrieve urllib2.urlopen "
            "websockets.connect websocket.create_connection feedparser.parse trafilatura.fetch_url "
            "newspaper.Article wget.download httpx_sse.connect_sse selenium.webdriver.Chrome().get "
            "selenium.webdriver.Firefox().get crawl4ai.AsyncWebCrawler().arun markitdown.MarkItDown().convert "
            "markitdown.MarkItDown().convert_uri markitdown.MarkItDown().convert_url"
        ),
        (_ADDRESS,),
    ),
    **dict.fromkeys(("builtins.getattr", "builtins.setattr", "builtins.delattr"), (Sink(ATTRIBUTE, 1, ("name",)),)),
    "operator.attrgetter": (Sink(ATTRIBUTE, 0),),
}

ANY_OBJECT: dict[str, tuple[Sink, ...]] = {
    "exec_command": (_COMMAND,),
    "exec_run": (_COMMAND,),
    **dict.fromkeys(
        ("execute", "executemany", "executescript", "exec_driver_sql", "execute_query", "run_query"), (_QUERY,)
    ),
    "goto": (_ADDRESS,),
    **dict.fromkeys(
        word_set("read_text read_bytes write_text write_bytes unlink rmdir iterdir rglob touch"), (_OWN_PATH,)
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

RUNNERS = word_set(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen "
    "asyncio.create_subprocess_exec asyncio.subprocess.create_subprocess_exec anyio.run_process "
    "anyio.open_process trio.run_process os.execv os.execve os.execvp os.execvpe os.execl os.execlp os.spawnv "
    "os.spawnvp os.spawnl kubernetes.stream.stream"
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
INSTALLERS = {
    **dict.fromkeys(word_set("pip pip3 uv pipx conda mamba apt apt-get yum dnf apk brew gem cargo go"), "install"),
    **dict.fromkeys(word_set("npm pnpm yarn bun"), "install add i exec dlx"),
}
"""Programs that install packages, and so run what their authors wrote, with the words that make them do so."""
PACKAGE_RUNNERS = frozenset(("npx", "uvx", "bunx"))
"""Programs that install a package to run it."""
SCRIPTS = (".py", ".js", ".mjs", ".ts", ".sh", ".rb", ".pl", ".R")
"""The ends of the names of scripts: what follows one is its own arguments, not options of the interpreter."""
INTERPRETERS = frozenset(("python", "python3", "node", "ruby", "perl", "php", "osascript", "deno", "Rscript"))
CODE_FLAGS = frozenset(("-c", "-e", "--eval", "-r", "eval"))
SWITCHES = word_set(
    "-a -A -q -v -V -y -x -1 -rf -la -al -xzf -xf -tf -sS -fsSL -sSL -nP --all --bare --cached --force --hard "
    "--json --name-only --name-status --no-color --no-pager --oneline --porcelain --quiet --raw --recursive "
    "--short --silent --soft --staged --stat --verbose --version --yes --no-patch --graph --abbrev-ref --verify "
    "--porcelain=v1 --ff-only --rebase --no-commit --no-edit --follow --list --show-current"
)
"""Options without a value, after which a parameter is an argument of its own."""
