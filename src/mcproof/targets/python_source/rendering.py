"""The document: what each server would serve, and where each part of it is written."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog import CONDITIONAL, SourceTool
from mcproof.jsontext import escape
from mcproof.targets.python_source import plain
from mcproof.targets.python_source.components import add_meta, prompt, resource
from mcproof.targets.python_source.fastmcp_schema import inline_output
from mcproof.targets.python_source.following import follow
from mcproof.targets.python_source.literals import Writer
from mcproof.targets.python_source.places import Place, name_place, place_of
from mcproof.targets.python_source.servers import Item, ServerValue, is_incomplete, listed
from mcproof.targets.python_source.signatures import derive
from mcproof.targets.python_source.values import UNKNOWN, Call, Called, Instance, TooMuchError

if TYPE_CHECKING:
    from mcproof.targets.python_source.interpreter import Interpreter
    from mcproof.targets.python_source.modules import Module
    from mcproof.targets.python_source.registrations import Servers

MOST_SERVED = 20_000
DEEPEST_MOUNT = 8
_KEYS = {"tools": "tools", "resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}


class Rendered(NamedTuple):
    """A document under way."""

    document: dict[str, Any]
    places: dict[str, Place]
    tools: list[SourceTool]
    lines: dict[str, tuple[int, ...]]
    files: list[str]
    partial: set[str]
    """The lists that may lack something."""
    continued: dict[str, dict[int, int]]


class Entry(NamedTuple):
    """One item with what stands around it."""

    item: Item
    server: ServerValue
    prefix: str
    doubtful: bool


def render(run: Interpreter, servers: Servers, only: str | None = None) -> Rendered:
    """Write down everything that was registered, each name once; with `only`, what is written in that file."""
    partial: set[str] = set()
    entries = [entry for entry in _entries(run, servers, partial) if only is None or _is_in(entry.item, only)]
    document: dict[str, Any] = {"tools": [], "resources": [], "resourceTemplates": [], "prompts": []}
    rendered = Rendered(document, {}, [], {}, [], partial, {})
    default = _default_framework(servers)
    seen: dict[tuple[str, str], ServerValue] = {}
    own: set[tuple[str, str, int]] = set()
    files: dict[str, None] = {}
    for entry in entries:
        framework = entry.server.framework or default
        writer = Writer(run)
        made = _rendered(run, entry, framework, writer)
        if made is None:
            partial.add(_KEYS[entry.item.kind])
            continue
        kind, raw, tool = made
        name = str(raw.get("name") or raw.get("uri") or raw.get("uriTemplate"))
        again = (kind, name, id(entry.server)) in own
        if seen.setdefault((kind, name), entry.server) is not entry.server or (again and framework != "lowlevel"):
            continue  # another way to start the same server; a list that names something twice does so itself
        own.add((kind, name, id(entry.server)))
        if entry.doubtful:
            raw["_meta"] = {**raw.get("_meta", {}), CONDITIONAL: True}
        listed_items = document[_KEYS[kind]]
        if len(listed_items) >= MOST_SERVED:
            partial.update(_KEYS.values())
            break
        pointer = f"/{_KEYS[kind]}/{len(listed_items)}"
        listed_items.append(raw)
        rendered.lines[pointer] = _lines(entry.item)
        if continued := _continued(entry.item):
            rendered.continued[pointer] = continued
        if tool is not None:
            rendered.tools.append(tool)
        for below, place in writer.places.items():
            rendered.places[f"{pointer}{below}"] = place
            files.setdefault(place.file)
    rendered.files.extend(sorted(files))
    return rendered


def _is_in(item: Item, file: str) -> bool:
    """Whether an item, or the function that it is made of, stands in a file."""
    modules = [item.module, item.function.face().module if item.function is not None else None]
    return any(module.path == file for module in modules if module is not None)


def _default_framework(servers: Servers) -> str:
    """The framework of a server that only stands for a parameter: that of the project's others."""
    known = [each.framework for each in servers.made if each.framework in ("mcp", "mcp1", "fastmcp")]
    return known[0] if known else "mcp"


def _entries(run: Interpreter, servers: Servers, partial: set[str]) -> list[Entry]:
    """Every item of every server that is not part of another, in order; `partial` learns which lists lack some."""
    for server in list(servers.made):
        for kind, handler, doubtful in server.handlers:
            if not _ask(run, servers, server, kind, handler, doubtful=doubtful):
                partial.add(_KEYS[kind])
    found: list[Entry] = []
    for server in servers.made:
        if not server.mounted:
            _collect(server, "", False, found, partial, 0)
    return found


def _collect(
    server: ServerValue, prefix: str, doubtful: bool, found: list[Entry], partial: set[str], depth: int
) -> None:
    if len(found) >= MOST_SERVED or depth > DEEPEST_MOUNT:
        partial.update(_KEYS.values())
        return
    found.extend(Entry(item, server, prefix, doubtful or item.doubtful) for item in server.items)
    for mount in server.mounts:
        given = plain.bare(mount.prefix)
        if given is None or given == "":
            inner = prefix
        elif isinstance(given, str):
            inner = f"{prefix}{given}_"
        else:
            partial.update(_KEYS.values())
            continue  # a name that nobody can know is not made up
        _collect(mount.server, inner, doubtful or mount.doubtful, found, partial, depth + 1)


def _ask(run: Interpreter, servers: Servers, server: ServerValue, kind: str, handler: Any, *, doubtful: bool) -> bool:
    """Add what a handler of the low-level server answers; whether that is all of it."""
    from mcproof.targets.python_source.interpreter import STEPS_OF_ONE_ROOT

    run.allow(STEPS_OF_ONE_ROOT)
    run.doubt = run.depth = run.calls = 0
    del run.frames[1:]
    run.active.clear()
    before = len(servers.spelt_out)
    is_whole = False
    try:
        value = follow(run, handler, Call([], {}))
        answer, in_doubt = listed(value)
        is_whole = answer is not None and not is_incomplete(value)
    except (TooMuchError, RecursionError):
        answer, in_doubt = None, set()
    if answer is None or not (answer or is_whole):
        wanted = {"tools": "Tool", "resources": "Resource", "prompts": "Prompt", "templates": "ResourceTemplate"}[kind]
        made = [each for each in servers.spelt_out if each.func.last == wanted]
        answer = [each for each in servers.spelt_out[before:] if each.func.last == wanted] or made
    for index, each in enumerate(answer):
        if isinstance(each, Called):
            sure = not (doubtful or servers.is_doubtful(each) or index in in_doubt)
            given = {**dict(zip(("name",), each.args, strict=False)), **each.kwargs}
            server.items.append(
                Item(kind, given, node=each.node, module=each.module, doubtful=not sure, complete=each.complete)
            )
        elif isinstance(each, Instance):
            server.items.append(Item(kind, dict(each.attributes), node=each.node, module=each.cls.module))
        elif isinstance(each, dict) and isinstance(each.get("name"), str):
            server.items.append(
                Item(kind, {str(key): value for key, value in each.items()}, module=getattr(each, "module", None))
            )
        else:
            is_whole = False
    return is_whole


def _rendered(run: Interpreter, entry: Entry, framework: str, writer: Writer) -> tuple[str, dict[str, Any], Any] | None:
    """One item as JSON: its kind, itself, and for a tool what only the source knows."""
    run.allow(50_000)
    try:
        if entry.item.kind == "tools":
            made = _tool(run, entry, framework, writer)
            return None if made is None else ("tools", *made)
        if entry.item.kind == "prompts":
            raw = prompt(run, entry.item, framework, entry.prefix, writer)
            return None if raw is None else ("prompts", raw, None)
        served = resource(entry.item, framework, entry.prefix, writer)
        return None if served is None else (served[0], served[1], None)
    except (TooMuchError, RecursionError):
        return None  # beyond the bounds


def _tool(run: Interpreter, entry: Entry, framework: str, writer: Writer) -> tuple[dict[str, Any], SourceTool] | None:
    item, given = entry.item, entry.item.given
    name = plain.bare(given.get("name"))
    if name is None and item.function is not None and (item.complete or "name" in given):
        name = item.function.attributes.get("__name__", item.function.face().name)
        name = plain.bare(name)
    if not isinstance(name, str) or not name or name in ("<lambda>", "<unknown>"):
        return None
    raw: dict[str, Any] = {"name": f"{entry.prefix}{name}"}
    _locate(item, writer)
    required: tuple[str, ...] = ()
    explicit = _explicit(given)
    derived = None
    if item.function is not None and explicit is None:
        derived = derive(run, item.function, framework, structured=given.get("structured_output"))
        required = derived.required
        writer.unknown |= derived.unknown
    _describe(raw, item, framework, derived, writer)
    if explicit is not None:
        _spell_out(raw, "inputSchema", explicit, item, writer)
    elif derived is not None:
        raw["inputSchema"] = writer.write(derived.input_schema, "/inputSchema")
        _locate_parameters(item, derived.parameters, writer)
    else:
        writer.unknown.add("/inputSchema")
    if item.altered:
        writer.unknown |= {"/inputSchema", "/outputSchema"}
    _output(raw, given, derived, writer)
    if framework == "fastmcp":
        inline_output(raw, writer.unknown)
    _annotate(raw, given, framework, writer)
    return raw, SourceTool(explicit is not None, required, frozenset(writer.unknown))


def _explicit(given: dict[str, Any]) -> Any:
    for key in ("inputSchema", "input_schema", "parameters"):
        if given.get(key) is not None:
            return given[key]
    return None


def _describe(raw: dict[str, Any], item: Item, framework: str, derived: Any, writer: Writer) -> None:
    given = plain.bare(item.given.get("description"))
    if isinstance(given, str) and (given or framework == "fastmcp"):
        raw["description"] = given
    elif (given is not None and given != "") or not item.complete:
        writer.unknown.add("/description")
    elif derived is not None:
        text = derived.description
        attributes = item.function.attributes if item.function is not None else {}
        if attributes.get("__doc__") is not None and not isinstance(attributes["__doc__"], str):
            writer.unknown.add("/description")
        elif text is not None or framework != "fastmcp":
            raw["description"] = text or ""


def _spell_out(raw: dict[str, Any], key: str, value: Any, item: Item, writer: Writer) -> None:
    node = item.nodes.get(key) or item.nodes.get("input_schema") or item.nodes.get("parameters")
    if node is not None and item.module is not None:
        writer.place(f"/{key}", item.module, node)
    written = writer.write(value, f"/{key}")
    if written is not UNKNOWN:
        raw[key] = written


def _output(raw: dict[str, Any], given: dict[str, Any], derived: Any, writer: Writer) -> None:
    for key in ("outputSchema", "output_schema"):
        if key in given:
            if given[key] is not None:
                written = writer.write(given[key], "/outputSchema")
                if written is not UNKNOWN:
                    raw["outputSchema"] = written
            writer.unknown -= {place for place in writer.unknown if derived is not None and given[key] is None
                               and place.startswith("/outputSchema")}  # fmt: skip
            return
    if derived is not None and derived.output_schema is not None:
        raw["outputSchema"] = derived.output_schema


_HINTS = {
    "read_only_hint": "readOnlyHint", "destructive_hint": "destructiveHint", "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
}  # fmt: skip


def _annotate(raw: dict[str, Any], given: dict[str, Any], framework: str, writer: Writer) -> None:
    annotations = given.get("annotations")
    fields = annotations.kwargs if isinstance(annotations, Called) else annotations
    if isinstance(fields, dict):
        written = writer.write({_HINTS.get(key, key): value for key, value in fields.items()}, "/annotations")
        if isinstance(written, dict):
            raw["annotations"] = {key: value for key, value in written.items() if value is not None}
    elif annotations is not None:
        writer.unknown.add("/annotations")
    title = plain.bare(given.get("title"))
    if isinstance(title, str) and title:
        raw["title"] = title
    elif title is not None and title != "":
        writer.unknown.add("/title")
    elif framework == "fastmcp":
        own = raw.get("annotations", {}).get("title")
        raw["title"] = own or raw["name"].replace("_", " ").replace("-", " ").title()
    add_meta(raw, given, framework, writer)


# --- places


def _locate(item: Item, writer: Writer) -> None:
    """Where the item, its name and its description are written."""
    function = item.function.face() if item.function is not None else None
    module: Module | None = item.module
    if module is not None and item.node is not None:
        writer.place("", module, item.node)
        writer.place("/name", module, item.nodes.get("name") or _first_string(item.node) or item.node)
        if "description" in item.nodes:
            writer.place("/description", module, item.nodes["description"])
    if function is not None and not isinstance(function.node, ast.Lambda):
        named = name_place(function.module, function.node)
        if named is not None:
            writer.places.setdefault("", named)
            writer.places["/inputSchema"] = named
            if item.module is None or ("name" not in item.nodes and _first_string(item.node) is None):
                writer.places["/name"] = named
            writer.places.setdefault("/description", named)
        docstring = _docstring_node(function.node)
        if docstring is not None and "description" not in item.nodes:
            writer.place("/description", function.module, docstring)


def _first_string(node: ast.AST | None) -> ast.AST | None:
    if isinstance(node, ast.Call) and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return first
    return None


def _docstring_node(node: Any) -> ast.AST | None:
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.value
    return None


def _locate_parameters(item: Item, parameters: dict[str, ast.arg], writer: Writer) -> None:
    if item.function is None:
        return
    module = item.function.face().module
    for name, node in parameters.items():
        place = place_of(module, node)
        if place is not None:
            end = place.column + len(node.arg)
            writer.places[f"/inputSchema/properties/{escape(name)}"] = place._replace(end_column=end)


def _lines(item: Item) -> tuple[int, ...]:
    """The lines of the decorator or constructor and of the header of the function."""
    lines: set[int] = set()
    function = item.function.face() if item.function is not None else None
    node: Any = item.node
    if node is not None and hasattr(node, "lineno"):
        is_header = function is not None
        lines.update(range(node.lineno, (node.end_lineno if is_header else node.lineno) + 1))
    if function is not None and (item.module is None or function.module is item.module):
        head: Any = function.node
        first_body = head.body[0].lineno if isinstance(head.body, list) and head.body else head.lineno + 1
        lines.update(range(head.lineno, max(first_body, head.lineno + 1)))
        for decorator in getattr(head, "decorator_list", ()):
            lines.update(range(decorator.lineno, decorator.end_lineno + 1))
    return tuple(sorted(lines))


def _continued(item: Item) -> dict[int, int]:
    """The further lines of parameters that take several, with the line that each begins on."""
    if item.function is None:
        return {}
    spec: ast.arguments = item.function.face().node.args
    positional = [*spec.posonlyargs, *spec.args]
    missing = [None] * (len(positional) - len(spec.defaults))
    parameters = [
        *zip(positional, [*missing, *spec.defaults], strict=True),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    lines: dict[int, int] = {}
    for parameter, default in parameters:
        last = (default or parameter).end_lineno or parameter.lineno
        for line in range(parameter.lineno + 1, last + 1):
            lines.setdefault(line, parameter.lineno)
    return lines
