"""Which library calls are dangerous, and what makes a value safe. Plain data, for JavaScript."""

from __future__ import annotations

import re

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import EVAL, PATH, PROGRAM, SHELL, SQL, URL
from mcproof.core.text.english import word_set


class Sink(NamedTuple):
    """One kind of dangerous call."""

    kind: str
    position: int = 0


_VERBS = ("get", "post", "put", "delete", "patch", "head", "request")
_FILE_FUNCTIONS = word_set(
    "readFile writeFile appendFile open unlink rm rmdir mkdir readdir opendir createReadStream createWriteStream "
    "truncate chmod readJson writeJson outputFile ensureDir ensureFile remove emptyDir readJSON outputJson"
)
_TWO_FILES = word_set("copyFile rename cp link symlink copy move")
_FILE_MODULES = ("fs", "fs.promises", "fs-extra", "graceful-fs")


def _of_files(name: str, sinks: tuple[Sink, ...]) -> dict[str, tuple[Sink, ...]]:
    return {f"{module}.{name}{suffix}": sinks for module in _FILE_MODULES for suffix in ("", "Sync")}


SINKS: dict[str, tuple[Sink, ...]] = {
    **dict.fromkeys(
        word_set(
            "child_process.exec child_process.execSync shelljs.exec execa.execaCommand execa.execaCommandSync "
            "execa.command execa.commandSync cross-exec.exec ssh2.Client.exec node-ssh.NodeSSH.execCommand"
        ),
        (Sink(SHELL),),
    ),
    **dict.fromkeys(
        word_set(
            "eval Function vm.runInNewContext vm.runInThisContext vm.runInContext vm.Script vm.compileFunction "
            "node-serialize.unserialize serialize-javascript.deserialize require import vm2.VM.run vm2.NodeVM.run "
            "safe-eval static-eval mathjs.unsafe"
        ),
        (Sink(EVAL),),
    ),
    **{key: sinks for name in _FILE_FUNCTIONS for key, sinks in _of_files(name, (Sink(PATH),)).items()},
    **{key: sinks for name in _TWO_FILES for key, sinks in _of_files(name, (Sink(PATH), Sink(PATH, 1))).items()},
    **dict.fromkeys(
        word_set("fetch axios got node-fetch undici.fetch undici.request needle superagent ky request cross-fetch"),
        (Sink(URL),),
    ),
    **{
        f"{client}.{verb}": (Sink(URL),)
        for client in ("axios", "got", "needle", "superagent", "ky", "http", "https", "axios.create")
        for verb in _VERBS
    },
}
"""Calls by the name of their package and function."""
RUNNERS = word_set(
    "child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync execa execa.execa "
    "execa.execaSync execa.sync cross-spawn cross-spawn.spawn cross-spawn.sync"
)
"""Calls that run a program with a list of arguments, and with a shell if an option says so."""
QUERY_METHODS = word_set(
    "query execute all get run exec prepare raw unsafe each any none one many queryRaw $queryRawUnsafe "
    "$executeRawUnsafe"
)
"""Methods of any object that run a query if their argument looks like one."""
PAGE_METHODS = frozenset(("goto",))
QUERY = re.compile(
    r"(?i)\b(?:select|insert into|update|delete from|create (?:table|index|view|database)|drop|alter|pragma|merge|match"
    r"|truncate|describe|show)\b\s"
)
SHELLS = word_set("sh bash zsh dash cmd cmd.exe powershell pwsh powershell.exe /bin/sh /bin/bash")
SHELL_FLAGS = frozenset(("-c", "/c", "-lc", "-Command"))
INTERPRETERS = word_set("node python python3 ruby perl php osascript deno")
CODE_FLAGS = frozenset(("-e", "-c", "--eval", "-p", "eval"))

EVERY_KIND = (SHELL, PROGRAM, EVAL, SQL, PATH, URL)
SAFE_RESULTS = {
    "encodeURIComponent": (URL, PATH),
    "path.basename": (PATH,),
    "path.win32.basename": (PATH,),
    "shell-quote.quote": (SHELL,),
    "shell-escape": (SHELL,),
    "JSON.stringify": (PATH, URL, EVAL),
    "sanitize-filename": (PATH,),
    "slugify": EVERY_KIND,
    "mysql2.escapeId": (SQL,),
    "mysql.escapeId": (SQL,),
    "pg-format": (SQL,),
}
"""Functions whose result is made from their arguments and safe for some kinds of use."""
PASSES = word_set(
    "String Array.from Object.assign Object.values Object.entries JSON.parse decodeURIComponent decodeURI encodeURI "
    "path.normalize Promise.resolve Promise.all Buffer.from structuredClone URL url.URL url.parse util.promisify "
    "url.fileURLToPath atob fs.realpathSync fs.promises.realpath os.path path.dirname path.parse "
    "dns.lookup dns.resolve4 dns.resolve6 dns.promises.lookup dns.promises.resolve4 dns.promises.resolve6"
)
RESOLVES = word_set(
    "path.resolve path.normalize path.posix.resolve fs.realpathSync fs.realpathSync.native fs.realpath "
    "fs.promises.realpath"
)
JOINS = word_set("path.join path.resolve path.posix.join path.posix.resolve")
NUMBERS = word_set("Number parseInt parseFloat Boolean Date BigInt Number.parseInt Number.parseFloat isNaN Math.floor")
TEXT_METHODS = word_set(
    "trim trimStart trimEnd toLowerCase toUpperCase toString slice substring substr replace replaceAll concat split "
    "padStart padEnd normalize at pop shift join reverse flat filter sort values entries valueOf unwrap then catch "
    "finally parse parseAsync safeParse safeParseAsync"
)
"""Methods whose result is made from their object; `parse` is that of a schema when it gets the value."""
SCHEMA_METHODS = frozenset(("parse", "parseAsync", "safeParse", "safeParseAsync", "decode", "validateSync"))
EACH_METHODS = word_set("map forEach filter some every find flatMap findIndex reduce")
NETWORK_CHECK = re.compile(r"(?i)private|loopback|internal_?(?:ip|host|addr|net)|ssrf|reserved_?(?:ip|addr)")
"""In the name of a function, of the source too, that looks at the network of an address."""
CHECK_WORDS = re.compile(
    r"(?i)valid|safe|sanit|allow|check|verif|guard|contain|ensure|assert|restrict|secur|permit|authoriz|inside|jail"
)
"""In the name of a function outside the source, it suggests a check."""
CALL_REQUESTS = {
    "CallToolRequestSchema": "tools",
    "ReadResourceRequestSchema": "resources",
    "GetPromptRequestSchema": "prompts",
    "CompleteRequestSchema": "completions",
    "tools/call": "tools",
    "resources/read": "resources",
    "prompts/get": "prompts",
    "completion/complete": "completions",
}
"""The requests whose handlers get what a client sends."""
HANDLER_KEYS = ("execute", "handler", "load", "run", "callback", "cb", "get", "complete")
"""The members of an object that describes a tool which hold its function."""
REGISTRATIONS = {
    **dict.fromkeys(("tool", "registerTool", "addTool", "registerAppTool"), "tools"),
    **dict.fromkeys(("resource", "registerResource", "addResource", "addResourceTemplate"), "resources"),
    **dict.fromkeys(("prompt", "registerPrompt", "addPrompt"), "prompts"),
}
"""Methods of a server that register an item with its function."""
