"""`grade`: the 21 rules of the published grading method, which determine the score and the letter.

Three severities cost points: error, warning, info. Lengths and whitespace follow JavaScript, because the method is
defined by a JavaScript program. The score itself is in `checks.scores.grade`.
Why JavaScript decides lengths: docs/decisions/0011-javascript-semantics.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mcproof.checks.findings import Problem
from mcproof.checks.rule import MISSING_REQUIRED, TYPE_MISMATCH, Check, Fault, GradeTraits, Need, RuleTraits, S, rule
from mcproof.checks.scores.tokens import is_blank, length, stringify, trim, truthy
from mcproof.core.catalog.model import Catalog, Prompt, Resource, Tool
from mcproof.core.schema.acceptance import are_all_optional
from mcproof.core.schema.tree import SchemaTree
from mcproof.core.text.english import documents_parameter

SHORT_DESCRIPTION, LONG_DESCRIPTION, GOOD_DESCRIPTION = 10, 500, 300

_usual_name = re.compile(r"[A-Za-z][A-Za-z0-9_-]*").fullmatch
_TYPING_KEYWORDS = ("type", "enum", "oneOf", "anyOf", "allOf", "$ref")


def _plain(text: str) -> str:
    """A name or description as words, for comparing the two."""
    return text.lower().replace("_", " ").replace("-", " ")


def _graded(
    subject: type[S],
    id: str,
    severity: str,
    category: str,
    remedy: str,
    *,
    reads: tuple[str, ...] = (),
    needs: Need | None = None,
    fault: Fault | None = None,
) -> Callable[[Check[S]], Check[S]]:
    """Register a rule with what to do about `{n}` findings, and the members that it reads of the value it judges."""
    traits = RuleTraits(needs=needs, own=GradeTraits(remedy, reads))
    return rule(subject, id, ruleset="grade", severity=severity, category=category, fault=fault, traits=traits)


@_graded(Catalog, "server-empty", "error", "server", "offer something to use")
def server_empty(catalog: Catalog) -> Iterator[Problem]:
    """The server offers no tools, resources or prompts.

    Why: clients have nothing to use; the score is 0 regardless of other rules.
    Fix: offer at least one tool, resource or prompt, or find out why the list is empty.
    """
    if catalog.is_empty:
        yield Problem("the server offers no tools, resources or prompts")


@_graded(Catalog, "server-no-name", "warning", "server", "name the server", needs="server")
def server_no_name(catalog: Catalog) -> Iterator[Problem]:
    """The server does not report its name when a client connects.

    Why: clients and logs identify servers by name.
    Fix: set `serverInfo.name` in the response to `initialize`.
    """
    if catalog.describes_server and not truthy(catalog.server_info.get("name")):
        yield Problem("the server does not report its name", near=catalog.server_info_pointer)


@_graded(Catalog, "server-no-version", "warning", "server", "report the server's version", needs="server")
def server_no_version(catalog: Catalog) -> Iterator[Problem]:
    """The server does not report its version when a client connects.

    Why: without a version it is unclear which release misbehaved, or that anything changed.
    Fix: set `serverInfo.version` in the response to `initialize`; some SDKs leave it empty by default.
    """
    if catalog.describes_server and not truthy(catalog.server_info.get("version")):
        yield Problem("the server does not report its version", near=catalog.server_info_pointer)


@_graded(Catalog, "server-duplicate-tools", "error", "server", "give every tool a unique name")
def server_duplicate_tools(catalog: Catalog) -> Iterator[Problem]:
    """Two or more tools have the same name.

    Why: calls refer to tools by name, so only one of them can be called.
    Fix: give every tool a unique name.
    """
    seen: set[str] = set()
    repeated: dict[str, Tool] = {}
    for tool in catalog.tools:
        if tool.name in seen:
            repeated.setdefault(tool.name, tool)
        elif tool.name:
            seen.add(tool.name)
    if repeated:
        names = ", ".join(f"`{name}`" for name in repeated)
        first = next(iter(repeated.values()))
        yield Problem(f"several tools are named {names}", near=f"{first.pointer}/name")


@_graded(Tool, "tool-no-description", "error", "description", "describe {n} tool{s}", reads=("description",))
def tool_no_description(tool: Tool) -> Iterator[Problem]:
    """A tool has no description.

    Why: models choose tools by their descriptions; without one they can only guess from the name.
    Fix: describe what the tool does, when to use it and what it returns.
    """
    if tool.is_object and is_blank(tool.description):
        yield Problem("has no description", at=tool.pointer_to("description"))


@_graded(Tool, "tool-short-description", "warning", "description", "extend {n} description{s}")
def tool_short_description(tool: Tool) -> Iterator[Problem]:
    """A tool's description has fewer than 10 characters.

    Why: a word or two are not enough for a model to choose the tool.
    Fix: describe what the tool does, when to use it and what it returns.
    """
    size = length(trim(tool.description))
    if 0 < size < SHORT_DESCRIPTION:
        yield Problem(f"the description has only {size} character{'s' * (size > 1)}", at="/description")


@_graded(Tool, "tool-long-description", "warning", "description", "shorten {n} description{s}")
def tool_long_description(tool: Tool) -> Iterator[Problem]:
    """A tool's description has more than 500 characters.

    Why: every description is sent with every request, whether or not the tool is used.
    Fix: keep it under 300 characters; move details about parameters to the parameters.
    """
    size = length(trim(tool.description))
    if size > LONG_DESCRIPTION:
        yield Problem(f"the description has {size:,} characters; aim for under {GOOD_DESCRIPTION}", at="/description")


@_graded(Tool, "tool-description-is-name", "warning", "description", "describe {n} tool{s} beyond the name")
def tool_description_is_name(tool: Tool) -> Iterator[Problem]:
    """A tool's description only repeats its name.

    Why: it costs tokens and adds nothing to the name.
    Fix: describe what the tool does, when to use it and what it returns.
    """
    description = trim(tool.description)
    if description and _plain(description) == _plain(tool.name):
        yield Problem("the description only repeats the name", at="/description")


@_graded(Tool, "tool-no-schema", "warning", "schema", "give {n} tool{s} an input schema", reads=("inputSchema",))
def tool_no_schema(tool: Tool) -> Iterator[Problem]:
    """A tool has no input schema, or one that is not an object.

    Why: clients do not know which arguments to send and cannot validate them.
    Fix: add an `inputSchema`; for a tool without arguments, `{"type": "object", "properties": {}}`.
    """
    if tool.is_object and tool.schema is None:
        yield Problem("has no input schema", at=tool.pointer_to("inputSchema"))


@_graded(Tool, "tool-schema-not-object", "info", "schema", "make {n} input schema{s} an object", reads=("type",))
def tool_schema_not_object(tool: Tool) -> Iterator[Problem]:
    """The type of an input schema is not `object`.

    Why: arguments are always an object, and the protocol requires the schema to declare that.
    Fix: set `"type": "object"` at the root of the schema.
    """
    if tool.schema is not None and tool.schema.get("type") != "object":
        yield Problem("the input schema's type is not `object`", at="/inputSchema")


@_graded(
    Tool,
    "tool-no-required",
    "info",
    "schema",
    "mark required parameters on {n} tool{s}",
    reads=("properties", "required"),
    fault=MISSING_REQUIRED,
)
def tool_no_required(tool: Tool) -> Iterator[Problem]:
    """A tool has parameters but marks none of them as required.

    The grade counts it even if all parameters are optional on purpose, as in a tool that lists everything by default.

    Why: a model may omit an argument that the tool needs.
    Fix: list the parameters that every call needs in `required`; if there are none, leave it as it is.
    """
    if tool.schema is not None and tool.parameters:
        required = tool.schema.get("required")
        if not isinstance(required, list) or not required:
            is_meant = tool.tree is not None and are_all_optional(tool.parameters.values(), tool.tree)
            reason = "; all have a default or accept null, which may be intended" if is_meant else ""
            message = f"has parameters but requires none of them{reason}"
            yield Problem(message, at="/inputSchema", may_be_meant=is_meant)


@_graded(Tool, "required-not-in-properties", "error", "schema", "declare {n} required parameter{s}")
def required_not_in_properties(tool: Tool) -> Iterator[Problem]:
    """A required parameter is not among the properties.

    Why: callers must send it without knowing what it is; if the object is closed, no call can be valid.
    Fix: declare the parameter, or remove it from `required`.
    """
    if tool.schema is None or not isinstance(tool.schema.get("properties"), dict):
        return
    required = tool.schema.get("required")
    for index, name in enumerate(required if isinstance(required, list) else ()):
        if not isinstance(name, str) or name not in tool.schema["properties"]:
            shown = name if isinstance(name, str) else stringify(name)
            message = f"`{shown}` is required but not among the properties"
            yield Problem(message, f"/inputSchema/required/{index}", shown)


@_graded(
    Tool,
    "tool-empty-schema",
    "info",
    "schema",
    "list the properties of {n} input schema{s}",
    reads=("type", "properties"),
)
def tool_empty_schema(tool: Tool) -> Iterator[Problem]:
    """An input schema does not declare any properties.

    Why: it looks like a schema that was never finished.
    Fix: add `properties`; an empty object for a tool without arguments.
    """
    schema = tool.schema
    if schema is not None and schema.get("type") == "object" and not isinstance(schema.get("properties"), dict):
        yield Problem("the input schema has no `properties`", at="/inputSchema")


@_graded(Tool, "tool-name-convention", "info", "naming", "rename {n} tool{s}")
def tool_name_convention(tool: Tool) -> Iterator[Problem]:
    """A tool's name has characters other than letters, digits, `_` and `-`, or does not start with a letter.

    Why: some clients cannot call a tool with such a name, or display it incorrectly.
    Fix: use snake_case or kebab-case.
    """
    name = tool.fields.get("name")
    if isinstance(name, str) and not _usual_name(name):
        yield Problem("the name has unusual characters" if name else "the name is empty", at="/name")


@_graded(
    SchemaTree, "prop-no-description", "warning", "description", "describe {n} parameter{s}", reads=("description",)
)
def prop_no_description(tree: SchemaTree) -> Iterator[Problem]:
    """A parameter has no description.

    The grade counts only the `description` in the schema. If the tool's own description explains the parameter, as the
    `Args` of a docstring do, the message says so: the text only has to move, in Python for example to
    `Annotated[str, Field(description="…")]`.

    Why: models fill in arguments from their descriptions; a name alone does not define format and meaning.
    Fix: describe its meaning and format, with an example where it helps.
    """
    for node in tree.parameters:
        schema = node.schema
        if is_blank(schema.get("description")) if type(schema) is dict else truthy(schema):
            name = node.name
            is_documented = documents_parameter(tree.explanation, name)
            hint = "; the tool's description explains it: move that to the schema" if is_documented else ""
            yield Problem(f"parameter `{name}` has no description{hint}", node.pointer, name)


@_graded(
    SchemaTree,
    "prop-no-type",
    "warning",
    "schema",
    "give {n} parameter{s} a type",
    reads=_TYPING_KEYWORDS,
    fault=TYPE_MISMATCH,
)
def prop_no_type(tree: SchemaTree) -> Iterator[Problem]:
    """A parameter has no type.

    Why: clients cannot validate the argument or choose an input field for it.
    Fix: give it a `type`, an `enum`, or a union of schemas that have one.
    """
    for node in tree.parameters:
        schema = node.schema
        if type(schema) is dict and "type" in schema and schema["type"]:  # the common case
            continue
        typing = [schema[keyword] for keyword in _TYPING_KEYWORDS if keyword in schema] if type(schema) is dict else []
        if truthy(schema) and not any(map(truthy, typing)):
            yield Problem(f"parameter `{node.name}` has no type", node.pointer, node.name)


@_graded(Resource, "resource-no-name", "warning", "naming", "name {n} resource{s}")
def resource_no_name(resource: Resource) -> Iterator[Problem]:
    """A resource has no name.

    Why: users and clients see a URI instead of a name.
    Fix: give it a short descriptive name.
    """
    if resource.is_object and not truthy(resource.fields.get("name")):
        yield Problem("has no name", at=resource.pointer_to("name"))


@_graded(Resource, "resource-no-description", "warning", "description", "describe {n} resource{s}")
def resource_no_description(resource: Resource) -> Iterator[Problem]:
    """A resource has no description.

    Why: clients cannot show users or models what it contains.
    Fix: describe its content in a sentence.
    """
    if resource.is_object and is_blank(resource.fields.get("description")):
        yield Problem("has no description", at=resource.pointer_to("description"))


@_graded(Resource, "resource-no-mimetype", "info", "schema", "give {n} resource{s} a MIME type")
def resource_no_mimetype(resource: Resource) -> Iterator[Problem]:
    """A resource has no MIME type.

    Why: clients have to guess how to display it.
    Fix: set `mimeType`, such as `text/plain` or `application/json`.
    """
    if resource.is_object and not truthy(resource.fields.get("mimeType")):
        yield Problem("has no MIME type", at=resource.pointer_to("mimeType"))


@_graded(Prompt, "prompt-no-description", "error", "description", "describe {n} prompt{s}")
def prompt_no_description(prompt: Prompt) -> Iterator[Problem]:
    """A prompt has no description.

    Why: users need to know what a prompt does before they run it.
    Fix: describe in a sentence what the prompt does.
    """
    if prompt.is_object and is_blank(prompt.fields.get("description")):
        yield Problem("has no description", at=prompt.pointer_to("description"))


@_graded(Prompt, "prompt-arg-no-description", "warning", "description", "describe {n} prompt argument{s}")
def prompt_arg_no_description(prompt: Prompt) -> Iterator[Problem]:
    """An argument of a prompt has no description.

    Why: users do not know what to enter.
    Fix: describe its meaning and format.
    """
    arguments = prompt.fields.get("arguments")
    for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if isinstance(argument, dict) and is_blank(argument.get("description")):
            name = str(argument.get("name", f"arguments[{index}]"))
            yield Problem(f"argument `{name}` has no description", at=f"/arguments/{index}", parameter=name)
