"""What library code does to a value on its way: pass it on, change it, or make it safe. Plain data."""

from __future__ import annotations

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
