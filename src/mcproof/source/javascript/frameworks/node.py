"""What servers use of the modules of Node: paths, and files of the project itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.source.javascript.interp.builtins import argument
from mcproof.source.javascript.interp.functions import NativeFunction
from mcproof.source.javascript.interp.interpreter import over_options
from mcproof.source.javascript.interp.operators import text_of
from mcproof.source.javascript.values import UNDEFINED, JsArray, JsObject, Unknown

if TYPE_CHECKING:
    from mcproof.source.javascript.files import ProjectFiles
    from mcproof.source.javascript.values import Value

MODULES = frozenset((
    "path", "url", "fs", "fs/promises", "module", "util", "os", "child_process", "http", "https", "crypto", "events",
    "stream", "buffer", "process", "assert", "net", "tls", "zlib", "readline", "worker_threads", "perf_hooks",
    "async_hooks", "timers", "dns", "tty", "querystring", "string_decoder", "v8", "vm",
))  # fmt: skip
"""Modules that are part of Node."""


_OF_LINUX = {"platform": "linux", "type": "Linux", "EOL": "\n", "endianness": "LE"}


def call_node(files: ProjectFiles, module: str, name: str, given: list[Value]) -> Value:
    """What a function of Node returns."""
    if module.startswith("path"):
        return _path(name, given)
    if module == "url" and name == "fileURLToPath":
        return _file_of(argument(given, 0))
    if module == "url" and name == "pathToFileURL":
        text = text_of(argument(given, 0))
        return text if isinstance(text, Unknown) else JsObject({"href": f"file://{text}"})
    if module.startswith("fs") and name in ("readFileSync", "readFile"):
        return _content(files, argument(given, 0))
    if module == "fs" and name == "existsSync":
        path = argument(given, 0)
        if isinstance(path, str) and files.owns(os.path.normpath(path)):
            return os.path.exists(path)
        return Unknown("whether a file exists is not known", (False,), is_default=True)
    if module == "os" and name in _OF_LINUX:
        return Unknown("the platform is not known", (_OF_LINUX[name],), is_default=True)
    return Unknown(f"what `{module}.{name}` returns is not known")


def _path(name: str, given: list[Value]) -> Value:
    texts: list[str] = []
    for number, value in enumerate(given):
        text = text_of(value)
        if isinstance(text, Unknown):
            if text.options:
                before, after = given[:number], given[number + 1 :]
                return over_options(text, lambda option: _path(name, [*before, option, *after]))  # noqa: B023
            return text
        texts.append(text)
    first = texts[0] if texts else ""
    match name:
        case "join":
            return os.path.normpath(
                os.path.join(*[text.lstrip("/") if position else text for position, text in enumerate(texts)] or ["."])
            )
        case "resolve":
            return (
                os.path.normpath(os.path.join(*texts))
                if texts and os.path.isabs(os.path.join(*texts))
                else Unknown("the working directory is not known")
            )
        case "dirname":
            return os.path.dirname(first)
        case "basename":
            base = os.path.basename(first)
            return base.removesuffix(texts[1]) if len(texts) > 1 else base
        case "extname":
            return os.path.splitext(first)[1]
        case "normalize":
            return os.path.normpath(first)
        case "isAbsolute":
            return os.path.isabs(first)
    return Unknown(f"what `path.{name}` returns is not known")


def _file_of(value: Value) -> Value:
    """The path of a `file:` URL."""
    if isinstance(value, JsObject):
        value = value.members.get("href", UNDEFINED)
    if isinstance(value, str) and value.startswith("file://"):
        return value.removeprefix("file://")
    return Unknown("the path of a URL is not known")


def url_of(given: list[Value]) -> Value:
    """What `new URL(…)` creates."""
    text, base = argument(given, 0), argument(given, 1)
    if isinstance(base, JsObject):
        base = base.members.get("href", UNDEFINED)
    if isinstance(text, str) and isinstance(base, str) and base.startswith("file://"):
        path = os.path.normpath(os.path.join(os.path.dirname(base.removeprefix("file://")), text))
        return JsObject({"href": f"file://{path}", "pathname": path}, is_open=True)
    if isinstance(text, str) and "://" in text:
        return JsObject({"href": text}, is_open=True)
    return Unknown("a URL is not known")


_TEXTS = (".md", ".txt", ".json", ".yaml", ".yml", ".html", ".prompt", ".graphql", ".csv", ".mdx")


def _content(files: ProjectFiles, path: Value) -> Value:
    """The text of a file of the project."""
    if isinstance(path, JsObject):
        path = _file_of(path)
    if isinstance(path, Unknown) and path.is_default:
        path = path.options[0]
    if isinstance(path, str) and path.endswith(_TEXTS):
        absolute = os.path.normpath(path)
        if files.owns(absolute) and os.path.isfile(absolute):
            data = files.read(absolute)
            if data is not None:
                return data.decode("utf-8", "replace").removeprefix("\ufeff")
    return Unknown("the content of a file is not known")


def names_in_folder(files: ProjectFiles, path: Value, options: Value) -> Value:
    """The names of the files in a folder of the project, or the entries with their kinds."""
    if not (isinstance(path, str) and files.owns(os.path.join(os.path.normpath(path), "x")) and os.path.isdir(path)):
        return JsArray([], is_open=True)
    names = sorted(os.listdir(path))[:1000]
    asked = options.members if isinstance(options, JsObject) else {}
    if not asked.get("withFileTypes"):
        return JsArray([], is_open=True) if asked.get("recursive") else JsArray([*names])
    return JsArray([_entry(path, name) for name in names])


def _entry(folder: str, name: str) -> JsObject:
    path = os.path.join(folder, name)
    kinds = {"isFile": os.path.isfile(path), "isDirectory": os.path.isdir(path), "isSymbolicLink": os.path.islink(path)}
    tests = {key: NativeFunction(key, lambda this, given, holds=holds: holds) for key, holds in kinds.items()}  # type: ignore[misc]
    return JsObject({"name": name, "parentPath": folder, "path": folder, **tests})
