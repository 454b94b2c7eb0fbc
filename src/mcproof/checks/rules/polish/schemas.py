"""Rules on schemas: whether a tool declares what it takes, what it returns, and the format of its values.

Only formats are judged that callers get wrong without an example: times, colours, codes, choices, structures.
Everything else is taken to be free text or copied from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from mcproof.checks.findings import Problem, SetMember
from mcproof.checks.rule import MISSING_REQUIRED, rule
from mcproof.checks.rules.polish.prose import description_of, has_any, pointer_of, tool_words
from mcproof.checks.scores.tokens import is_blank
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.schema.acceptance import accepts_nothing
from mcproof.core.schema.validation import objections
from mcproof.core.text.english import CHANGING, COMING_BACK, MAKING, READING, documents_parameter, word_set, words_of

_COMBINED = ("allOf", "anyOf", "oneOf")
_MOST_PARTS = 20
"""The most schemas searched for a description."""
ENOUGH_LISTS = 5
"""This many `required` lists show that the server's author knows the keyword."""
FEW_LISTS = 3
"""So do this many, if they are at least half of the tools with parameters."""
_comes_back = re.compile(
    r"\b(?:return(?:s|ed|ing)?|yield(?:s|ed|ing)?|respon(?:se|ses|ds)|outputs?|results?|produc(?:es|ing)|gives? back)\b"
).match
_first_words = re.compile(
    r"(?:^|(?<=[.:;!?|-])\s|\n)[\s*•#>-]{0,40}(?:(?:this|the|a) tool (?:that |which |to )?"
    r"|use (?:this|it|as)\b[^.\n]{0,60}? to |(?:allows?|enables?) (?:you |users? |agents? )?to )?([a-z]+)\b"
).findall
"""The words at the start of sentences and lines, without phrases such as "this tool" in front of the verb."""
_RESULT_VERBS = READING | CHANGING
"""Verbs that show what a tool returns: their object, or nothing."""
_MOST_PREFIXES = 4
"""How many words of a name may contain its verb."""
_MOST_TEXT = 1500
"""How much of a description is searched for verbs."""
_says_optional = re.compile(
    r"(?i)\boptional\b|\bdefaults? (?:to|is|value)\b|\bdefaults?[:=]|\bif (?:omitted|not)\b"
).search


@rule(
    Tool,
    "MP001",
    ruleset="polish",
    name="require-tool-description",
    severity="error",
    category="schema",
    same_as="tool-no-description",
)
def require_tool_description(tool: Tool) -> Iterator[Problem]:
    """A tool has no description.

    Why: models read the description before they decide to call a tool; the name alone leaves them guessing.
    Fix: describe what the tool does, when to use it and what it returns; in Python, in the docstring.
    """
    if tool.is_object and is_blank(tool.description) and tool.knows("/description"):
        yield Problem("has no description", at=tool.pointer_to("description"))


@rule(
    Tool,
    "MP002",
    ruleset="polish",
    name="require-param-description",
    severity="warn",
    category="schema",
    same_as="prop-no-description",
)
def require_param_description(tool: Tool) -> Iterator[Problem]:
    """A parameter has no description.

    A description of the type it refers to counts, and so does a line `name: …` in the tool's own description, as in the
    `Args` of a docstring. A parameter that accepts no value needs none.

    Why: a model has to guess what an argument means and how it is written, and wrong guesses fail at run time.
    Fix: add a `description`; in Python, `Annotated[str, Field(description="…")]`.
    """
    for name, schema, text in tool_words(tool).parameters:
        if is_blank(text) and not _is_explained(schema, tool) and not _is_forbidden(schema, tool):
            pointer = pointer_of(name)
            if (
                not documents_parameter(tool.description, name)
                and tool.knows(f"{pointer}/description")
                and tool.knows("/description")
            ):
                yield Problem(f"parameter `{name}` has no description", pointer, name)


def _is_forbidden(schema: Any, tool: Tool) -> bool:
    return tool.tree is not None and accepts_nothing(schema, tool.tree)


def _is_explained(schema: Any, tool: Tool) -> bool:
    """Whether a part of a schema has a description, or none is needed because only one value is possible."""
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
    Tool,
    "MP003",
    ruleset="polish",
    name="require-return-schema",
    severity="note",
    category="schema",
)
def require_return_schema(tool: Tool) -> Iterator[Problem]:
    """A tool has no output schema, and its description does not say what it returns.

    A description such as "List all tickets" says so. A tool that only changes something, such as "Delete a ticket", has
    nothing but success to report.

    Why: a model that knows the result can plan the next step without calling the tool first.
    Fix: declare an `outputSchema`, or add a sentence such as "Returns the id of the new ticket".
    """
    if "outputSchema" in tool.fields or not tool.knows("/outputSchema") or not tool.knows("/description"):
        return
    words = tool_words(tool)
    if words.is_english and not words.says(COMING_BACK, _comes_back) and not _has_plain_result(tool, words.lowered):
        yield Problem("has no output schema and does not say what it returns", at="/description")


def _has_plain_result(tool: Tool, description: str) -> bool:
    """Whether a verb at the start of a sentence or of the name shows what the tool returns."""
    starts = _first_words(description[:_MOST_TEXT])
    if not READING.isdisjoint(starts) or not _RESULT_VERBS.isdisjoint(words_of(tool.name)[:_MOST_PREFIXES]):
        return True
    return next((word for word in starts if word in CHANGING or word in MAKING), "") in CHANGING


@rule(
    Catalog,
    "MP004",
    ruleset="polish",
    name="require-required-array",
    severity="warn",
    category="schema",
    fault=MISSING_REQUIRED,
    fixable=True,
)
def require_required_array(catalog: Catalog) -> Iterator[Problem]:
    """A handwritten input schema does not declare which parameters are required.

    Only source code shows whether a schema is handwritten. A served schema is taken to be handwritten, unless every
    parameter has a default, accepts null or is described as optional, or the schema names its dialect, as generated
    schemas do. If five other tools of the server have a `required` list, or three that are at least half of them, its
    absence is taken to be intentional.

    Why: a schema without `required` makes every parameter optional, which is rarely intended.
    Fix: list in `required` what every call needs; if that is nothing, declare an empty list.
    """
    listing = sum(tool.schema is not None and bool(tool.schema.get("required")) for tool in catalog.tools)
    taking = sum(bool(tool.parameters) for tool in catalog.tools)
    is_answer = listing >= ENOUGH_LISTS or (listing >= FEW_LISTS and 2 * listing >= taking)
    for tool in catalog.tools:
        problem = _missing_list(tool, is_answer=is_answer)
        if problem is not None and _flaw(tool) is None:
            yield problem


def _missing_list(tool: Tool, *, is_answer: bool) -> Problem | None:
    """The problem of an input schema without a `required` list; None if its absence is intentional."""
    schema = tool.schema
    if schema is None or schema.get("required") or not tool.knows("/inputSchema/required"):
        return None
    demanded = tool.source.required_by_signature if tool.source is not None else ()
    if demanded and tool.knows("/inputSchema/properties"):
        names = ", ".join(f"`{name}`" for name in demanded[:3]) + ", …" * (len(demanded) > 3)
        message = f"the input schema has no `required` list, but the function requires {names}"
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
    """Whether a served input schema may be handwritten."""
    return "$schema" not in (tool.schema or {}) and not all(map(_may_be_left_out, tool.parameters.values()))


def _may_be_left_out(schema: Any) -> bool:
    """Whether a parameter's schema declares it optional."""
    if type(schema) is not dict:
        return False
    kinds = [schema, *(branch for key in _COMBINED if type(schema.get(key)) is list for branch in schema[key])]
    return (
        "default" in schema
        or any(type(kind) is dict and (kind.get("type") in ("null", ["null"]) or _lists_null(kind)) for kind in kinds)
        or _says_optional(description_of(schema)) is not None
    )


def _lists_null(schema: dict[str, Any]) -> bool:
    kinds = schema.get("type")
    return type(kinds) is list and "null" in kinds


def _requires_in_parts(schema: dict[str, Any]) -> bool:
    """Whether a combination of schemas at the root declares what is required, such as one of two parameters."""
    branches = [branch for key in _COMBINED if type(schema.get(key)) is list for branch in schema[key]]
    branches += [schema[key] for key in ("then", "else") if key in schema]
    return any(type(branch) is dict and "required" in branch for branch in branches)


@rule(
    Tool,
    "MP005",
    ruleset="polish",
    name="valid-json-schema",
    severity="error",
    category="schema",
)
def valid_json_schema(tool: Tool) -> Iterator[Problem]:
    """An input schema is not valid in its JSON Schema dialect, or does not describe an object.

    The dialect is the one that `$schema` names, or 2020-12; unknown dialects are not checked. MP004 does not report a
    tool that this rule reports.

    Why: strict clients reject such a tool, lenient ones validate nothing; models are misled.
    Fix: correct the keyword in the message; arguments are always an object, so the root's type is `object`.
    """
    flaw = _flaw(tool)
    if flaw is not None:
        pointer, message = flaw
        yield Problem(f"invalid input schema: {message}", at=f"/inputSchema{pointer}")


def _flaw(tool: Tool) -> tuple[str, str] | None:
    """The pointer and message of the first error in an input schema; None if valid or not judged."""
    schema = tool.fields.get("inputSchema")
    if schema is None or not tool.knows("/inputSchema"):
        return None
    if type(schema) is not dict or tool.tree is None:
        return "", "it is not an object"
    for pointer, message in objections(tool.tree):
        if tool.knows_all(f"/inputSchema{pointer}"):
            return pointer, message
    if "type" in schema and schema["type"] != "object" and tool.knows_all("/inputSchema/type"):
        return "/type", "its type is not `object`"
    return None


OPEN_TYPES = ("string", "object", "array")
_SHOWING_KEYS = word_set(
    "example examples enum const format pattern properties patternProperties $ref anyOf oneOf allOf not"
)
_TIMES = word_set(
    "date dates datetime time times timestamp timestamps day days month since until deadline duration interval period "
    "timezone expiry expires expiration ttl schedule"
)
"""Words anywhere in a name that make its value a time."""
_FORMATTED = _TIMES | word_set(
    "color colors colour colours language languages lang locale country currency "
    "status statuses state states mode modes operation action type types kind category level severity priority order "
    "sort direction unit units format method strategy algorithm visibility granularity frequency resolution role "
    "access encoding "
    "range ranges cell cells coordinates bbox selector filter filters expression dimensions ratio mask cidr"
)
"""Last words of a name whose value has a format or is one of a few: times, codes, choices, structures."""
_OBJECTS = word_set(
    "filter filters options option config configuration settings data metadata payload args arguments params "
    "parameters properties fields criteria conditions where"
)
"""Last words of a name whose object has a structure of its own."""
_time_at = re.compile(r"\b(?:timestamp|date|datetime|time range|given time|duration)\b").search
_SHOWING = (
    *("example", "e.g", "eg.", "eg:", "for instance", "such as", "i.e", "either ", "one of", "options", "values"),
    *("format", "iso ", "iso-", "iso8", "rfc", "unix", "epoch", "yyyy", "separated", "://", "default", "returned by"),
    *("provided by", " from the ", " like ", '"', "'", "`", "“", "_", "=", "{", "[", "<", "|", "→", "->", "..."),
)
"""Signs that a description shows a value or names its format."""
_shows_form = re.compile(
    # These values have one spelling, are copied from elsewhere or are free text, so that no format has to be shown.
    r"\b(?:\w*names?|paths?|urls?|uris?|ids?|identifiers?|uids?|uuids?|guids?|arns?|slugs?|regions?|emojis?|e-?mails?"
    r"|json|yaml|xml|html|css|markdown|latex|base64|sql|\w+ql|cron|javascript|code|scripts?|source|reg(?:ular )?ex\w*"
    r"|glob|sentences?|paragraphs?|text|titles?|descriptions?|human-readable|ip|sha|branch(?:es)?|address(?:es)?"
    r"|refs?|cursor|token|placeholder|ignored|unused|any|same|key-value|arbitrary|omit|hex|mime|content type"
    r"|programming)\b"
    r"|(?<!\S)\.[a-z0-9]{2,5}\b|\d"
    # A list shows the values as well as an example does: "proxy or direct", "(open, closed)", "asc/desc".
    r"|[\w-]{1,40}, ?[\w-]{1,40},? ?(?:and |or )?[\w-]{1,40}"
    r"|(?:^|[:(] ?)[\w-]{1,40} or [\w-]{1,40}(?:$|[).])|\b[\w-]{2,30}/[\w-]{2,30}\b"
    r"|\((?!optional|required)[\w.,:; -]{1,60}\)"
).search


def leaves_format_open(name: str, schema: dict[str, Any], description: str) -> bool:
    """Whether a parameter's value has a format that neither its schema nor its description shows."""
    kind = schema.get("type")
    if kind not in OPEN_TYPES or not _is_open(schema):
        return False
    lowered = description.lower()
    if not _has_format(name, kind) and not (kind == "string" and _mentions_time(lowered)):
        return False
    return not has_any(_SHOWING, lowered) and not _shows_form(lowered)


def _mentions_time(lowered: str) -> bool:
    return has_any(("date", "time", "duration"), lowered) and _time_at(lowered) is not None


def _is_open(schema: dict[str, Any]) -> bool:
    """Whether a schema leaves the format of a string, an object or a list open."""
    if not _SHOWING_KEYS.isdisjoint(schema) or schema.get("default") not in (None, "", [], {}):
        return False
    items = schema.get("items")
    return schema.get("type") != "array" or (
        type(items) is dict and items.get("type") in OPEN_TYPES and _is_open(items)
    )


@lru_cache(2048)  # names repeat often
def _has_format(name: str, kind: str) -> bool:
    """Whether a parameter's name tells that its value has a format."""
    words = words_of(name)
    if not words:
        return False
    if kind == "object":
        return words[-1] in _OBJECTS
    return words[-1] in _FORMATTED or (kind == "string" and not _TIMES.isdisjoint(words))
