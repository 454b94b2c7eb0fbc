"""The document: what each server would serve, and where each part of it is written."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.catalog import CONDITIONAL, SourceTool
from mcproof.jsontext import escape
from mcproof.targets.python_source import plain
from mcproof.targets.python_source.components import add_meta, prompt, resource
from mcproof.targets.python_source.fastmcp_schema import inline_output
from mcproof.targets.python_source.following import follow
from mcproof.targets.python_source.literals import Writer
from mcproof.targets.python_source.omissions import NO_END, NO_NAME, NO_PREFIX, OPEN_LIST, TOO_MANY
from mcproof.targets.python_source.places import Place, name_place, place_of
from mcproof.targets.python_source.servers import Item, ServerValue, introduction, is_incomplete, listed, name_of
from mcproof.targets.python_source.signatures import derive
from mcproof.targets.python_source.values import DOC_IN_DOUBT, UNKNOWN, Call, Called, Instance, OneOfTwo, TooMuchError
from mcproof.targets.python_source.visibility import is_shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcproof.targets.python_source.interpreter import Interpreter
    from mcproof.targets.python_source.modules import Module
    from mcproof.targets.python_source.registrations import Servers

MOST_SERVED = 20_000
DEEPEST_MOUNT = 8
MOST_LINES = 2_000
"""How many lines of one parameter or text are taken for its own."""
_KEYS = {"tools": "tools", "resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}


class Rendered(NamedTuple):
    """A document under way."""

    document: dict[str, Any]
    places: dict[str, Place]
    tools: list[SourceTool]
    lines: dict[str, tuple[tuple[str, int], ...]]
    files: list[str]
    partial: set[str]
    """The lists that may lack something."""
    continued: dict[str, dict[tuple[str, int], int]]


class Entry(NamedTuple):
    """One item with what stands around it."""

    item: Item
    server: ServerValue
    """The one that it is registered on."""
    root: ServerValue
    """The one that serves it: that server, or one that it is part of."""
    prefix: str
    doubtful: bool

    @property
    def place(self) -> tuple[Module | None, ast.AST | None]:
        """Where it is registered."""
        function = self.item.function.face() if self.item.function is not None else None
        if self.item.module is not None or function is None:
            return self.item.module, self.item.node
        return function.module, function.node

    @property
    def origin(self) -> int:
        """What tells it from another item of its name: the function, or else the call, that it is made of."""
        return id(self.item.function.face().node if self.item.function is not None else self.item.node)


class Served(NamedTuple):
    """One item as it is served, with what the source tells of it."""

    kind: str
    raw: dict[str, Any]
    tool: SourceTool | None
    writer: Writer
    entry: Entry


def render(run: Interpreter, servers: Servers, only: str | None = None, *, as_one: bool = False) -> Rendered:
    """Write down everything that was registered; with `only`, what is written in that file.

    Each server has a name once, and with `as_one`, where all of them make one catalog, each name is there once.
    """
    partial: set[str] = set(_KEYS.values()) if servers.is_partial else set()
    document: dict[str, Any] = {"tools": [], "resources": [], "resourceTemplates": [], "prompts": []}
    rendered = Rendered(document, {}, [], {}, [], partial, {})
    files: dict[str, None] = {}
    served = _served(run, servers, only, partial, as_one=as_one)
    numbers = _numbers(servers)
    for kind, raw, tool, writer, entry in served:
        if entry.doubtful:
            raw["_meta"] = {**raw.get("_meta", {}), CONDITIONAL: True}
        listed_items = document[_KEYS[kind]]
        if len(listed_items) >= MOST_SERVED:
            partial.update(_KEYS.values())
            run.omissions.note(TOO_MANY, *entry.place)
            break
        pointer = f"/{_KEYS[kind]}/{len(listed_items)}"
        listed_items.append(raw)
        rendered.lines[pointer] = _lines(entry.item)
        if continued := _continued(entry.item):
            rendered.continued[pointer] = continued
        if tool is not None:
            rendered.tools.append(tool._replace(server=numbers[id(entry.root)]))
        for below, place in writer.places.items():
            rendered.places[f"{pointer}{below}"] = place
            files.setdefault(place.file)
    rendered.files.extend(sorted(files))
    if any(document.values()) and (said := introduction(servers.made, servers.announced)):
        return rendered._replace(document={"initialize": said, **document})
    return rendered


def _served(run: Interpreter, servers: Servers, only: str | None, partial: set[str], *, as_one: bool) -> list[Served]:
    """Every item that is served, in the order in which its name was registered first."""
    default = _default_framework(servers)
    served: list[Served] = []
    namesakes: dict[tuple[str, str], list[int]] = {}
    origins: set[tuple[str, str, int]] = set()
    entries = _entries(run, servers, partial)
    made_by = Counter(id(entry.item.node) for entry in entries)
    for entry in entries:
        if only is not None and not _is_in(entry.item, only):
            continue
        framework = entry.server.framework or default
        writer = Writer(run)
        made = _rendered(run, entry, framework, writer)
        if made is None:
            partial.add(_KEYS[entry.item.kind])
            continue
        if made_by[id(entry.item.node)] > 1:
            _tell_apart(entry.item, writer)
        each = Served(*made, writer, entry)
        key = each.kind, str(each.raw.get("uri") or each.raw.get("uriTemplate") or each.raw.get("name"))
        others = namesakes.setdefault(key, [])
        at = next((index for index in others if served[index].entry.root is entry.root), None)
        is_new = (*key, entry.origin) not in origins
        origins.add((*key, entry.origin))
        if at is None:
            is_ours = is_new and not any(
                as_one or _may_be_one(served[index].entry.root, entry.root) for index in others
            )
        else:  # a list that names something twice does so itself
            is_ours = framework == "lowlevel" and served[at].entry.server is entry.server
        if is_ours:
            others.append(len(served))
            served.append(each)
        elif at is not None and served[at].entry.server is entry.server:
            served[at] = _kept(served[at], each, entry.server.keeps_last(each.kind, framework))
    return served


def _numbers(servers: Servers) -> dict[int, int]:
    """A number for each server, by its identity: those that may be one with any other are one."""
    made = [each for each in servers.made if not each.is_given and not each.mounted and (each.items or each.mounts)]
    numbers = dict.fromkeys(map(id, servers.made), 0)
    if len(made) > 1:
        numbers.update((id(each), number) for number, each in enumerate(made, 1))
    return numbers


def _may_be_one(server: ServerValue, other: ServerValue) -> bool:
    """Whether two servers may be one: a parameter can stand for any of them."""
    return server.is_given or other.is_given


def _kept(first: Served, last: Served, keeps_last: bool | None) -> Served:
    """Which of two items of one name is served; where nobody knows, one of them, unknown in what tells them apart."""
    winner, other = (last, first) if keeps_last else (first, last)
    if keeps_last is not None and not winner.entry.doubtful:
        return winner
    differing = {f"/{key}" for key in first.raw.keys() | last.raw.keys() if first.raw.get(key) != last.raw.get(key)}
    entry = winner.entry._replace(doubtful=first.entry.doubtful and last.entry.doubtful)
    if winner.tool is None or other.tool is None:
        return winner._replace(entry=entry)
    unknown = winner.tool.unknown | other.tool.unknown | differing
    explicit = winner.tool.schema_is_explicit and other.tool.schema_is_explicit
    return winner._replace(entry=entry, tool=SourceTool(explicit, winner.tool.required_by_signature, unknown))


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
                run.omissions.note(OPEN_LIST, handler.module, handler.node)
    found: list[Entry] = []
    for server in servers.made:
        if not server.mounted:
            _collect(run, server, "", False, found, partial)
    return found


def _collect(
    run: Interpreter,
    server: ServerValue,
    prefix: str,
    doubtful: bool,
    found: list[Entry],
    partial: set[str],
    above: Sequence[tuple[str, ServerValue]] = (),
) -> None:
    """Add what a server serves, itself and by its parts; `above` are the servers that it is part of and their prefixes.

    Each of them shows and hides what it serves by the names that it knows it by.
    """
    if len(found) >= MOST_SERVED or len(above) > DEEPEST_MOUNT:
        partial.update(_KEYS.values())
        run.omissions.note(TOO_MANY, server.module, server.node)
        return
    levels = [*above, (prefix, server)]
    root = levels[0][1]
    for item in server.items:
        answers = [
            is_shown(item, _name_in(item, prefix.removeprefix(outer)), each.switches)
            for outer, each in levels
            if each.switches
        ]
        if False not in answers:
            found.append(Entry(item, server, root, prefix, doubtful or item.doubtful or None in answers))
    for mount in server.mounts:
        given = plain.bare(mount.prefix)
        if given is None or given == "":
            inner = prefix
        elif isinstance(given, str):
            inner = f"{prefix}{given}_"
        else:
            partial.update(_KEYS.values())
            run.omissions.note(NO_PREFIX, mount.call.module, mount.call.node)
            continue  # a name that nobody can know is not made up
        _collect(run, mount.server, inner, doubtful or mount.doubtful, found, partial, levels)


def _name_in(item: Item, prefix: str) -> Any:
    """The name of an item where it has this prefix."""
    name = plain.bare(name_of(item))
    return f"{prefix}{name}" if isinstance(name, str) else UNKNOWN


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
    """One item as JSON: its kind, itself, and for a tool what only the source knows; None where that is left out."""
    run.allow(50_000)
    kind = entry.item.kind
    made: tuple[str, dict[str, Any], Any] | None
    try:
        if kind == "tools":
            tool = _tool(run, entry, framework, writer)
            made = None if tool is None else (kind, *tool)
        elif kind == "prompts":
            raw = prompt(run, entry.item, framework, entry.prefix, writer)
            made = None if raw is None else (kind, raw, None)
        else:
            served = resource(entry.item, framework, entry.prefix, writer)
            made = None if served is None else (*served, None)
    except (TooMuchError, RecursionError):
        run.omissions.note(NO_END, *entry.place)
        return None
    if made is None:
        run.omissions.note(NO_NAME[kind], *entry.place)
    return made


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
        if isinstance(item.function, OneOfTwo):
            required = ()
            writer.unknown |= {"/inputSchema", "/outputSchema"}
    _describe(raw, item, framework, derived, writer)
    if explicit is not None:
        _spell_out(raw, "inputSchema", explicit, item, writer)
    elif derived is not None:
        raw["inputSchema"] = writer.write(derived.input_schema, "/inputSchema")
        _locate_parameters(item, derived.parameters, writer)
    else:
        writer.unknown.add("/inputSchema")
    if item.altered or entry.server.rewrites or entry.root.rewrites:
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
        if DOC_IN_DOUBT in attributes:
            writer.unknown.add("/description")
        is_changed = attributes.get("__doc__") is not None and not isinstance(attributes["__doc__"], str)
        if is_changed or isinstance(item.function, OneOfTwo):
            writer.unknown.add("/description")
        if not is_changed and (text is not None or framework != "fastmcp"):
            raw["description"] = text or ""


def _spell_out(raw: dict[str, Any], key: str, value: Any, item: Item, writer: Writer) -> None:
    node = item.nodes.get(key) or item.nodes.get("input_schema") or item.nodes.get("parameters")
    writer.place_value(f"/{key}", value, item.module, node)
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
    named_at = item.nodes.get("name") or _first_string(item.node) or item.node
    writer.place_value("/name", item.given.get("name"), module, named_at)
    if function is not None and not isinstance(function.node, ast.Lambda):
        named = name_place(function.module, function.node)
        if named is not None:
            writer.places.setdefault("", named)
            writer.places["/inputSchema"] = named
            if item.given.get("name") is None:
                writer.places["/name"] = named
            writer.places.setdefault("/description", named)
        docstring = _docstring_node(function.node)
        if docstring is not None:
            writer.place("/description", function.module, docstring)
    for key in ("description", "title"):
        if item.given.get(key) is not None:
            writer.place_value(f"/{key}", item.given[key], module, item.nodes.get(key))


def _tell_apart(item: Item, writer: Writer) -> None:
    """Give an item that is one of several from the same line, as in a loop, the place of what is its own."""
    function = item.function.face() if item.function is not None else None
    if function is not None and not isinstance(function.node, ast.Lambda):
        own = name_place(function.module, function.node)
    else:
        own = writer.places.get("/name")
    if own is not None:
        writer.places[""] = own


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


def _lines(item: Item) -> tuple[tuple[str, int], ...]:
    """The lines of the decorator or constructor and of the header of the function, each with its file."""
    lines: set[tuple[str, int]] = set()
    function = item.function.face() if item.function is not None else None
    node: Any = item.node
    if item.module is not None and node is not None and hasattr(node, "lineno"):
        last = node.lineno if function is None else node.end_lineno
        lines.update((item.module.file, line) for line in range(node.lineno, last + 1))
    if function is not None:
        file, head = function.module.file, function.node
        first_body = head.body[0].lineno if isinstance(head.body, list) and head.body else head.lineno + 1
        lines.update((file, line) for line in range(head.lineno, max(first_body, head.lineno + 1)))
        for decorator in getattr(head, "decorator_list", ()):
            lines.update((file, line) for line in range(decorator.lineno, decorator.end_lineno + 1))
    return tuple(sorted(lines))


def _continued(item: Item) -> dict[tuple[str, int], int]:
    """The further lines of what takes several, each with the line that it begins on.

    That is parameters, the docstring, and what is said by name in a constructor.
    """
    spans: list[tuple[str, int, int, int]] = []
    if item.function is not None:
        function = item.function.face()
        spans += [(function.module.file, *span) for span in _spans_of(function.node)]
    elif item.module is not None and isinstance(item.node, ast.Call):
        spans += [
            (item.module.file, each.lineno, each.value.lineno, each.value.end_lineno or each.lineno)
            for each in item.node.keywords
        ]
    lines: dict[tuple[str, int], int] = {}
    for file, first, begins, last in spans:
        for line in range(first, min(last, first + MOST_LINES) + 1):
            if line != begins:
                lines.setdefault((file, line), begins)
    return lines


def _spans_of(node: Any) -> list[tuple[int, int, int]]:
    """The lines of the parameters and of the docstring of a function: twice the first of each, and its last."""
    spec: ast.arguments = node.args
    positional = [*spec.posonlyargs, *spec.args]
    missing = [None] * (len(positional) - len(spec.defaults))
    parameters = [
        *zip(positional, [*missing, *spec.defaults], strict=True),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    spans = [
        (parameter.lineno, parameter.lineno, (default or parameter).end_lineno or parameter.lineno)
        for parameter, default in parameters
    ]
    docstring: Any = None if isinstance(node, ast.Lambda) else _docstring_node(node)
    return spans if docstring is None else [*spans, (docstring.lineno, docstring.lineno, docstring.end_lineno)]
