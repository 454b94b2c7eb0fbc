"""What fastmcp does to a tool: it splits the docstring into descriptions, and changes the schema.

Conventions of Google, NumPy and Sphinx are tried in this order. The version of fastmcp decides what happens.
"""

from __future__ import annotations

import inspect
import re
from functools import partial
from typing import Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import word_set
from mcproof.core.text.json_positions import escape, unescape
from mcproof.source.framework_tables import (
    ALL_TRAITS,
    DOCSTRING_PARAMETERS,
    DOCSTRING_SECTIONS,
    INLINED,
    KNOWN_HEADINGS,
    NO_TITLES,
    PLAIN_WRAPPER,
    TOOL_TITLES,
)
from mcproof.source.python.pydantic.nodes import Schema, title

_PARAMETERS = frozenset(("args", "arguments", "params", "parameters"))
_SECTIONS = _PARAMETERS | frozenset(
    (
        "keyword args",
        "keyword arguments",
        "other args",
        "other arguments",
        "other params",
        "other parameters",
        "type args",
        "type arguments",
        "type params",
        "type parameters",
        "raises",
        "exceptions",
        "returns",
        "yields",
        "receives",
        "examples",
        "attributes",
        "functions",
        "methods",
        "classes",
        "type aliases",
        "modules",
        "warns",
        "warnings",
    )
)
_ADMONITIONS = word_set(
    "attention caution danger error example hint important note notes raise references return see-also tip todo warning"
    " yield"
)
_HEADING = re.compile(r"(\w[\s\w-]*):(\s+(\S.*))?\s*")
_NUMPY_PARAMETERS = frozenset(("parameters",))
_SPHINX_PARAMETERS = frozenset(("param", "parameter", "arg", "argument", "key", "keyword"))
_SPHINX = _SPHINX_PARAMETERS | word_set("type var ivar cvar vartype returns return rtype raises raise except exception")


class ParsedDocstring(NamedTuple):
    """The parts of a docstring."""

    description: str | None
    parameters: dict[str, str]


def described(text: str | None, traits: frozenset[str] = ALL_TRAITS) -> str | None:
    """The description that fastmcp takes from a raw docstring."""
    return parsed_docstring(inspect.cleandoc(text), traits).description if text else None


def parsed_docstring(text: str, traits: frozenset[str]) -> ParsedDocstring:
    """Split a docstring as this version of fastmcp does: not at all, if it describes a parameter, or always."""
    if DOCSTRING_PARAMETERS not in traits:
        return ParsedDocstring(text, {})
    lines = text.split("\n")
    # In the order of the library that fastmcp uses: the first style that fits decides. In an older version only one
    # that describes a parameter fits, so a docstring may be whole in one and cut in another.
    for parse in (partial(_google, any_heading=KNOWN_HEADINGS not in traits), _numpy, _sphinx):
        parsed = parse(lines)
        if parsed is not None and (parsed.parameters or DOCSTRING_SECTIONS in traits):
            return parsed
    return ParsedDocstring(text, {})


def _google(lines: list[str], *, any_heading: bool) -> ParsedDocstring | None:
    description: str | None = None
    current: list[str] = []
    parameters: dict[str, str] = {}
    structured = fenced = False
    offset = 0
    while offset < len(lines):
        line = lines[offset]
        # A line of code between fences may look like a heading.
        heading = None if fenced or ":" not in line else _HEADING.fullmatch(line)
        if line.lstrip(" ").startswith("```"):
            fenced = not fenced
        elif heading is not None and _opens_section(lines, offset):
            name = heading[1].lower()
            text_before = current
            if name in _PARAMETERS:
                items, last = _items(lines, offset + 1)
                parameters.update(_entries(items))
            elif name in _SECTIONS:
                _, last = _items(lines, offset + 1)
            else:
                last = _block_end(lines, offset + 1)
            # The first text is the description; what stands between later sections is lost, as in the original.
            if description is None and any(text_before):
                description = "\n".join(text_before).rstrip("\n")
            current = []
            structured = structured or any_heading or name in _SECTIONS or name.replace(" ", "-") in _ADMONITIONS
            offset = last + 1
            continue
        current.append(line)
        offset += 1
    if not structured:
        return None
    if description is None and any(current):
        description = "\n".join(current).rstrip("\n")
    return ParsedDocstring(description, parameters)


def _opens_section(lines: list[str], offset: int) -> bool:
    """Whether a heading starts a section: after a blank line, with indented text below."""
    above = offset == 0 or not lines[offset - 1].strip()
    below = lines[offset + 1] if offset + 1 < len(lines) else ""
    return above and bool(below.strip()) and below.startswith(" ")


def _items(lines: list[str], offset: int) -> tuple[list[list[str]], int]:
    """The entries of an indented block, and its last line."""
    indent = len(lines[offset]) - len(lines[offset].lstrip())
    items = [[lines[offset][indent:]]]
    position = offset + 1
    while position < len(lines):
        line = lines[position]
        if not line.strip():
            items[-1].append("")
        # Twice the indentation continues an entry, and once begins the next one.
        elif line.startswith(" " * indent * 2):
            items[-1].append(line[indent * 2 :])
        elif line.startswith(" " * (indent + 1)):
            items[-1].append(line.lstrip())
        elif line.startswith(" " * indent):
            items.append([line[indent:]])
        else:
            break
        position += 1
    return items, position - 1


def _block_end(lines: list[str], offset: int) -> int:
    indent = len(lines[offset]) - len(lines[offset].lstrip())
    position = offset + 1
    while position < len(lines) and (not lines[position].strip() or lines[position].startswith(" " * indent)):
        position += 1
    return position - 1


def _entries(items: list[list[str]]) -> dict[str, str]:
    descriptions: dict[str, str] = {}
    for item in items:
        name, colon, text = item[0].partition(":")
        if not colon:
            continue
        # `name (type)`: the type is in the schema already.
        if "(" in name and name.endswith(")"):
            name = name.partition("(")[0].strip()
        descriptions[name] = "\n".join([text.lstrip(), *item[1:]]).rstrip("\n")
    return descriptions


def _numpy(lines: list[str]) -> ParsedDocstring | None:
    heads = [
        index
        for index in range(len(lines) - 1)
        # A line of dashes below a line of text; no other heading has one.
        if lines[index].strip() and lines[index + 1] and set(lines[index + 1].strip()) == {"-"}
    ]
    if not heads:
        return None
    parameters: dict[str, str] = {}
    for index, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        if lines[index].lower() in _NUMPY_PARAMETERS:
            parameters.update(_numpy_entries(lines[index + 2 : end]))
    before = "\n".join(lines[: heads[0]]).rstrip("\n")
    return ParsedDocstring(before if before.strip() else None, parameters)


def _numpy_entries(lines: list[str]) -> dict[str, str]:
    """The entries of a parameter section: `name, name : type`, with an indented description below."""
    entries: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if line and not line[0].isspace():
            current = []
            # `a, b : int` describes both, with one text that is filled in below.
            for name in line.partition(":")[0].strip().split(", "):
                entries[name] = current
        else:
            current.append(line[4:] if line.startswith("    ") else line.lstrip())
    return {name: "\n".join(text).rstrip() for name, text in entries.items()}


def _sphinx(lines: list[str]) -> ParsedDocstring | None:
    parameters: dict[str, str] = {}
    description: list[str] = []
    structured = False
    offset = 0
    while offset < len(lines):
        line = lines[offset]
        offset += 1
        field = line[1:].partition(":")[0].split(" ") if line.startswith(":") and ":" in line[1:] else [""]
        if field[0] not in _SPHINX:
            description.append(line)
            continue
        block = [line]
        while offset < len(lines) and not lines[offset].startswith(":"):
            block.append(lines[offset])
            offset += 1
        text = inspect.cleandoc("\n".join(block)).rstrip("\n").split(":", 2)[2].strip()
        # `:param int name:` has three words, and the last one is the name.
        if field[0] in _SPHINX_PARAMETERS and len(field) in (2, 3):
            parameters[field[-1]] = text
        structured = structured or len(field) > 1 or field[0] in ("return", "returns")
    if not structured:
        return None
    while description and not description[-1].strip():
        description.pop()
    while description and not description[0].strip():
        description.pop(0)
    return ParsedDocstring("\n".join(description) or None, parameters)


def as_fastmcp(schema: Schema, properties: Schema, unknown: set[str], traits: frozenset[str]) -> Schema:
    """The schema of arguments as fastmcp serves it."""
    changed = adapted(schema, unknown, traits)
    for name, entry in properties.items() if TOOL_TITLES in traits else ():
        given = entry.get("title")
        if given is not None and given != title(name) and name in changed["properties"]:
            changed["properties"][name]["title"] = given
    return changed


def adapted(schema: Schema, unknown: set[str], traits: frozenset[str]) -> Schema:
    """A schema as fastmcp serves it: without generated titles, with references inlined."""
    # Pydantic makes a title of every name; fastmcp removes them, since they say nothing and cost tokens.
    changed = untitled(schema, only_structure=PLAIN_WRAPPER not in traits) if NO_TITLES in traits else schema
    return inlined(changed, unknown) if INLINED in traits else changed


MOST_INLINED = 100_000
"""The maximum number of objects and arrays in an inlined schema; fastmcp does not inline larger ones."""


def inline_output(tool: Schema, unknown: set[str]) -> None:
    """Inline the references in an explicit output schema; derived ones are already inlined."""
    schema = tool.get("outputSchema")
    if not isinstance(schema, dict) or not isinstance(schema.get("$defs"), dict):
        return
    inside = {pointer for pointer in unknown if pointer.startswith("/outputSchema/")}
    moved = {pointer.removeprefix("/outputSchema") for pointer in inside}
    tool["outputSchema"] = inlined(schema, moved)
    # Pointers below a definition would lead nowhere once it is inlined.
    unknown -= inside
    unknown |= {f"/outputSchema{pointer}" for pointer in moved}


_STRUCTURE = frozenset(("type", "properties", "$ref", "items", "allOf", "oneOf", "anyOf", "required"))
_NOTES = frozenset(("title", "description", "deprecated", "readOnly", "writeOnly"))
_LITERAL = frozenset(("default", "const", "examples", "example", "enum"))
_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))


def untitled(node: Any, depth: int = 0, *, only_structure: bool = False) -> Any:
    """A schema without its titles; with `only_structure`, those of nodes without a type stay."""
    if isinstance(node, list):
        return [untitled(child, depth + 1, only_structure=only_structure) for child in node]
    if not isinstance(node, dict) or depth > 100:
        return node
    members = {}
    is_plain = not _STRUCTURE.isdisjoint(node) or (not only_structure and _NOTES.issuperset(node))
    for key, value in node.items():
        if key == "title" and isinstance(value, str) and is_plain:
            continue
        if key in _NAMED and isinstance(value, dict):
            members[key] = {
                name: untitled(child, depth + 1, only_structure=only_structure) for name, child in value.items()
            }
        else:
            members[key] = value if key in _LITERAL else untitled(value, depth + 1, only_structure=only_structure)
    return members


def _without_discriminator(schema: Schema) -> Schema:
    """A union without the discriminator, which refers to definitions; its property becomes required in each branch."""
    discriminator = schema.get("discriminator")
    if not isinstance(discriminator, dict) or not ("oneOf" in schema or "anyOf" in schema):
        return schema
    del schema["discriminator"]
    name = discriminator.get("propertyName")
    for branches in (schema.get("oneOf"), schema.get("anyOf")):
        for branch in branches if isinstance(branches, list) else ():
            required = branch.get("required", []) if isinstance(branch, dict) else None
            if isinstance(required, list) and name not in required:
                branch["required"] = [*required, name]
    return schema


def inlined(schema: Schema, unknown: set[str]) -> Schema:
    """A schema with local references inlined; unchanged if it is recursive.

    The pointers of unknown parts are adapted.
    """
    definitions = schema.get("$defs") or {}
    if not definitions:
        return schema
    budget = [MOST_INLINED]
    moved: dict[str, list[str]] = {}

    def expand(node: Any, path: tuple[str, ...], at: str, *, named: bool = False) -> Any:
        if not isinstance(node, (list, dict)):
            return node
        budget[0] -= 1
        # As for a recursive schema: it then stays as it is, which fastmcp does too.
        if budget[0] < 0 or len(path) > 30:
            raise RecursionError
        if isinstance(node, list):
            return [expand(child, path, f"{at}/{index}") for index, child in enumerate(node)]
        if named:
            return {key: expand(value, path, f"{at}/{escape(key)}") for key, value in node.items()}
        reference = node.get("$ref")
        whole = {
            key: value if key in _LITERAL else expand(value, path, f"{at}/{escape(key)}", named=key in _NAMED)
            for key, value in node.items()
            if key not in ("$defs", "$ref")
        }
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            name = reference.removeprefix("#/$defs/")
            if name in path or not isinstance(definitions.get(name), dict):
                raise RecursionError
            moved.setdefault(name, []).append(at)
            return {**expand(definitions[name], (*path, name), at), **whole}
        if reference is not None:
            whole["$ref"] = reference
        return _without_discriminator(whole)

    try:
        expanded: Schema = expand(schema, (), "")
    except RecursionError:
        return schema
    for pointer in [path for path in unknown if path.startswith("/$defs/")]:
        unknown.discard(pointer)
        name, _, rest = pointer.removeprefix("/$defs/").partition("/")
        below = f"/{rest}" if rest else ""
        unknown.update(f"{at}{below}" for at in moved.get(unescape(name), ()))
    return expanded
