"""Resources and prompts as a server lists them."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

from mcproof.targets.python_source import docstrings, plain
from mcproof.targets.python_source.attributes import docstring_of
from mcproof.targets.python_source.places import name_place
from mcproof.targets.python_source.signatures import derive, parameters_of
from mcproof.targets.python_source.values import Called

if TYPE_CHECKING:
    from mcproof.targets.python_source.interpreter import Interpreter
    from mcproof.targets.python_source.literals import Writer
    from mcproof.targets.python_source.servers import Item


def resource(item: Item, framework: str, prefix: str, writer: Writer) -> tuple[str, dict[str, Any]] | None:
    """A resource or a template: which of the two, and itself. None where its address is not known."""
    given = item.given
    uri = plain.bare(given.get("uri", given.get("uriTemplate", given.get("uri_template"))))
    if isinstance(uri, Called) and len(uri.args) == 1:  # AnyUrl("...")
        uri = uri.args[0]
    if not isinstance(uri, str):
        return None
    if prefix and "://" in uri:
        scheme, _, rest = uri.partition("://")
        uri = f"{scheme}://{prefix.removesuffix('_')}/{rest}"
    is_template = "{" in uri or item.kind == "templates"
    name = _name(item)
    if name is None:
        return None
    made: dict[str, Any] = {"uriTemplate" if is_template else "uri": uri, "name": name}
    _describe(made, item, framework)
    mime = plain.bare(given.get("mime_type", given.get("mimeType")))
    if isinstance(mime, str):
        made["mimeType"] = mime
    elif mime is None and item.function is not None:
        made["mimeType"] = "text/plain"
    title = plain.bare(given.get("title"))
    if isinstance(title, str):
        made["title"] = title
    locate(item, writer)
    return ("templates" if is_template else "resources"), made


def prompt(run: Interpreter, item: Item, framework: str, prefix: str, writer: Writer) -> dict[str, Any] | None:
    """A prompt with its arguments; None where its name is not known."""
    name = _name(item)
    if name is None:
        return None
    made: dict[str, Any] = {"name": f"{prefix}{name}"}
    _describe(made, item, framework)
    title = plain.bare(item.given.get("title"))
    if isinstance(title, str):
        made["title"] = title
    if item.function is not None:
        made["arguments"] = _arguments(run, item, framework)
    else:
        written = writer.write(item.given.get("arguments", []), "/arguments")
        if isinstance(written, list):
            made["arguments"] = written
    locate(item, writer)
    return made


def _arguments(run: Interpreter, item: Item, framework: str) -> list[dict[str, Any]]:
    if item.function is None or not parameters_of(item.function):
        return []
    derived = derive(run, item.function, framework, structured=False)
    found = []
    for name, schema in derived.input_schema["properties"].items():
        entry: dict[str, Any] = {"name": name}
        if isinstance(schema.get("description"), str):
            entry["description"] = schema["description"]
        found.append({**entry, "required": name in derived.input_schema.get("required", [])})
    return found


def _name(item: Item) -> str | None:
    name = plain.bare(item.given.get("name"))
    if name is None and item.function is not None:
        name = item.function.face().name
    return name if isinstance(name, str) and name else None


def _describe(made: dict[str, Any], item: Item, framework: str) -> None:
    given = plain.bare(item.given.get("description"))
    if isinstance(given, str):
        made["description"] = given
    elif given is None and item.function is not None:
        text = docstring_of(item.function) or docstring_of(item.function.face())
        if framework == "fastmcp":
            text = docstrings.split(inspect.cleandoc(text)).description if text else None
        if text is not None or framework != "fastmcp":
            made["description"] = text or ""


def locate(item: Item, writer: Writer) -> None:
    """Where a resource or prompt is written."""
    if item.module is not None and item.node is not None:
        writer.place("", item.module, item.node)
        for key in ("name", "description", "uri"):
            if key in item.nodes:
                writer.place(f"/{key}", item.module, item.nodes[key])
    function = item.function.face() if item.function is not None else None
    if function is not None and isinstance(function.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        named = name_place(function.module, function.node)
        if named is not None:
            writer.places.setdefault("", named)
            writer.places.setdefault("/name", named)
