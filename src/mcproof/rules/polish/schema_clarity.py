"""Whether a tool says what it takes and what it gives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem, SetMember
from mcproof.linting.registry import MISSING_REQUIRED, rule
from mcproof.rules.polish.lexicon import COMING_BACK
from mcproof.rules.polish.prose import description_of, pointer_of, tool_words
from mcproof.schema.dialects import objections
from mcproof.text.javascript import is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.model import Catalog, Tool

_COMBINED = ("allOf", "anyOf", "oneOf")
_MOST_PARTS = 20
"""How many schemas are searched for a description."""
ENOUGH_LISTS = 5
"""How many `required` lists show that whoever wrote the others knows of them."""
FEW_LISTS = 3
"""How many do where they are at least half of the tools that take something."""
_comes_back = re.compile(
    r"\b(?:return(?:s|ed|ing)?|yield(?:s|ed|ing)?|respon(?:se|ses|ds)|outputs?|results?|produc(?:es|ing)|gives? back)\b"
).match
_says_optional = re.compile(
    r"(?i)\boptional\b|\bdefaults? (?:to|is|value)\b|\bdefaults?[:=]|\bif (?:omitted|not)\b"
).search


@rule(
    "MP001",
    ruleset="polish",
    name="require-tool-description",
    severity="error",
    category="schema",
    same_as="tool-no-description",
)
def require_tool_description(tool: Tool) -> Iterator[Problem]:
    """A tool has no description.

    Why: the description is what a model reads before it decides to call; a name alone is a guess.
    Fix: say what the tool does, when to use it and what it returns; in Python, in the docstring.
    """
    if tool.is_object and is_blank(tool.description) and tool.knows("/description"):
        yield Problem("has no description", at=tool.pointer_to("description"))


@rule(
    "MP002",
    ruleset="polish",
    name="require-param-description",
    severity="warn",
    category="schema",
    same_as="prop-no-description",
)
def require_param_description(tool: Tool) -> Iterator[Problem]:
    """A parameter has no description.

    One of the type that it refers to counts, and a line `name: …` in the tool's own description, as in the `Args` of
    a docstring.

    Why: what an argument means and how it is written has to be guessed, and guesses fail at run time.
    Fix: add a `description`; in Python, `Annotated[str, Field(description="…")]`.
    """
    listed: set[str] | None = None
    for name, schema, text in tool_words(tool).parameters:
        if is_blank(text) and not _is_explained(schema, tool):
            if listed is None:
                listed = _listed_in(tool.description)
            pointer = pointer_of(name)
            if name not in listed and tool.knows(f"{pointer}/description") and tool.knows("/description"):
                yield Problem(f"parameter `{name}` has no description", pointer, name)


def _listed_in(text: str) -> set[str]:
    """The words that begin a line of a text and are followed by a colon, as parameters in a docstring are."""
    names = set()
    for line in text.splitlines():
        name, colon, explained = line.lstrip(" \t-*•").partition(":")
        if colon and explained and not explained.isspace():
            names.add(name.partition("(")[0].strip(" \t`*\"'"))
    return names


def _is_explained(schema: Any, tool: Tool) -> bool:
    """Whether what a schema is made of has a description, or nothing needs one: only one value is possible."""
    waiting, seen = [schema], 0
    while waiting and seen < _MOST_PARTS:
        part = waiting.pop()
        seen += 1
        if type(part) is not dict:
            continue
        if "const" in part or not is_blank(description_of(part)):
            return True
        if "$ref" in part and tool.tree is not None:
            waiting.append(tool.tree.references.target(part))
        for keyword in _COMBINED:
            branches = part.get(keyword)
            if type(branches) is list:
                waiting += branches
    return False


@rule(
    "MP003",
    ruleset="polish",
    name="require-return-schema",
    severity="note",
    category="schema",
)
def require_return_schema(tool: Tool) -> Iterator[Problem]:
    """A tool has no output schema, and its description does not say what it returns.

    Why: a model that knows what comes back can plan the next step without trying the tool out.
    Fix: declare an `outputSchema`, or add a sentence such as "Returns the id of the new ticket".
    """
    if "outputSchema" in tool.fields or not tool.knows("/outputSchema") or not tool.knows("/description"):
        return
    words = tool_words(tool)
    if words.is_english and not words.says(COMING_BACK, _comes_back):
        yield Problem("has no output schema and does not say what it returns", at="/description")


@rule(
    "MP004",
    ruleset="polish",
    name="require-required-array",
    severity="warn",
    category="schema",
    fault=MISSING_REQUIRED,
    fixable=True,
)
def require_required_array(catalog: Catalog) -> Iterator[Problem]:
    """An input schema that is written by hand does not say which parameters are required.

    Where a schema comes from is known of source code only. One that a server serves is taken for a written one, unless
    every parameter has a default, admits null or is said to be optional, or the schema names its dialect: so looks what
    a library derives. Where five other tools of the server have a list, or three and that is half of them, its
    absence is taken for an answer.

    Why: a schema without `required` makes every parameter optional, which is rarely what was meant.
    Fix: list in `required` what a call can't do without; where that is nothing, an empty list says so.
    """
    listing = sum(tool.schema is not None and bool(tool.schema.get("required")) for tool in catalog.tools)
    taking = sum(bool(tool.parameters) for tool in catalog.tools)
    is_answer = listing >= ENOUGH_LISTS or (listing >= FEW_LISTS and 2 * listing >= taking)
    for tool in catalog.tools:
        problem = _missing_list(tool, is_answer=is_answer)
        if problem is not None and _flaw(tool) is None:
            yield problem


def _missing_list(tool: Tool, *, is_answer: bool) -> Problem | None:
    """What to say of an input schema without a list; nothing where its absence is an answer."""
    schema = tool.schema
    if schema is None or schema.get("required") or not tool.knows("/inputSchema/required"):
        return None
    demanded = tool.source.required_by_signature if tool.source is not None else ()
    if demanded and tool.knows("/inputSchema/properties"):
        names = ", ".join(f"`{name}`" for name in demanded[:3]) + ", …" * (len(demanded) > 3)
        message = f"the input schema has no `required` list, but the function can't do without {names}"
        return Problem(message, at="/inputSchema", item=tool)
    if "required" in schema or not tool.parameters or _requires_in_parts(schema):
        return None
    is_written = tool.source.schema_is_explicit if tool.source is not None else not is_answer and _looks_written(tool)
    if not is_written:
        return None
    root = tool.tree.objects[0] if tool.tree is not None and tool.tree.objects else None
    is_certain = root is not None and root.parent is None and not root.obstacle
    fix = SetMember("required", root.requirable()) if root is not None and is_certain else None
    return Problem("the input schema declares parameters but no `required` list", at="/inputSchema", item=tool, fix=fix)


def _looks_written(tool: Tool) -> bool:
    """Whether an input schema that a server serves may be a literal."""
    return "$schema" not in (tool.schema or {}) and not all(map(_may_be_left_out, tool.parameters.values()))


def _may_be_left_out(schema: Any) -> bool:
    """Whether a parameter's schema tells that a call can do without it."""
    if type(schema) is not dict:
        return False
    kinds = [schema, *(each for key in _COMBINED if type(schema.get(key)) is list for each in schema[key])]
    return (
        "default" in schema
        or any(type(each) is dict and (each.get("type") in ("null", ["null"]) or _lists_null(each)) for each in kinds)
        or _says_optional(description_of(schema)) is not None
    )


def _lists_null(schema: dict[str, Any]) -> bool:
    kinds = schema.get("type")
    return type(kinds) is list and "null" in kinds


def _requires_in_parts(schema: dict[str, Any]) -> bool:
    """Whether a combination of schemas at the root says what is required, such as one of two parameters."""
    branches = [each for key in _COMBINED if type(schema.get(key)) is list for each in schema[key]]
    branches += [schema[key] for key in ("then", "else") if key in schema]
    return any(type(each) is dict and "required" in each for each in branches)


@rule(
    "MP005",
    ruleset="polish",
    name="valid-json-schema",
    severity="error",
    category="schema",
)
def valid_json_schema(tool: Tool) -> Iterator[Problem]:
    """An input schema is not valid in its dialect of JSON Schema, or does not describe an object.

    The dialect is what `$schema` names, or 2020-12; one that is not known is not judged. Where this rule fires MP004
    is silent.

    Why: strict clients refuse such a tool, lenient ones check nothing; a model is told something that is not so.
    Fix: correct the keyword that is named; arguments are always an object, so the root's type is `object`.
    """
    flaw = _flaw(tool)
    if flaw is not None:
        pointer, message = flaw
        yield Problem(f"the input schema is not valid: {message}", at=f"/inputSchema{pointer}")


def _flaw(tool: Tool) -> tuple[str, str] | None:
    """Where an input schema is not valid, from its root, and why; None where it is, or nobody can tell."""
    schema = tool.fields.get("inputSchema")
    if schema is None or not tool.knows("/inputSchema"):
        return None
    if type(schema) is not dict:
        return "", "it is not an object"
    for pointer, message in objections(schema, tool.written):
        if tool.knows_all(f"/inputSchema{pointer}"):
            return pointer, message
    if "type" in schema and schema["type"] != "object" and tool.knows_all("/inputSchema/type"):
        return "/type", "its type is not `object`"
    return None
