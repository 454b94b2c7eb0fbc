"""`spec` rules about resources, resource templates and prompts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.spec.demand import STRUCTURED, demand, item_demand, shown
from mcproof.core.catalog.model import Catalog, Item, Kind, unread_lists
from mcproof.core.observations.apps import MIME_TYPES, SCHEME, app_links
from mcproof.core.text.json_document import kind_of
from mcproof.core.text.json_positions import escape

if TYPE_CHECKING:
    from mcproof.checks.subjects import DatedItem
    from mcproof.core.catalog.model import Resource

# Patterns, which `re` compiles on first use: lint must start fast.
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:"
_NOT_IN_URI = r'[\x00-\x20\x7f<>"{}|\\^`]'
_NOT_IN_TEMPLATE = r'[\x00-\x20\x7f<>"|\\^`{}]'
_EXPRESSION = r"\{([^{}]*)\}"
_VARIABLES = (
    r"[+#./;?&]?[A-Za-z0-9_%]+(?:\.[A-Za-z0-9_%]+)*(?:\*|:[0-9]{1,4})?"
    r"(?:,[A-Za-z0-9_%]+(?:\.[A-Za-z0-9_%]+)*(?:\*|:[0-9]{1,4})?)*"
)
_PART = r"[A-Za-z0-9!#$&^_.+-]+"
_MIME = rf"{_PART}/{_PART}(?:\s*;(?s:.*))?"
_MOMENT = r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?"
_RESOURCES: tuple[Kind, ...] = ("resource", "template")
_APPS = "https://github.com/modelcontextprotocol/ext-apps/blob/main"
_AUDIENCE = ("user", "assistant")


@item_demand("SPEC-100", "resource-uri", "warning", "schema#Resource", kinds=("resource",))
def resource_uri(dated: DatedItem) -> Iterator[Problem]:
    """The `uri` of a resource is missing, or not an absolute URI.

    Why: clients parse it as a URI; those that validate reject the whole list.
    Fix: start with a scheme, and escape spaces and other special characters: `notes:///my%20file`.
    """
    yield from _required_text(dated.item, "uri", _uri_fault)


@demand(Catalog, "SPEC-101", "resource-uri-unique", "warning", "resources#resource")
def resource_uri_unique(catalog: Catalog) -> Iterator[Problem]:
    """Two resources have the same `uri`.

    Why: the URI identifies a resource; only one of them can be read.
    Fix: give every resource a URI of its own.
    """
    yield from _repeated(catalog.resources, "uri")


@item_demand("SPEC-102", "resource-template", "error", "schema#ResourceTemplate", kinds=("template",))
def resource_template(dated: DatedItem) -> Iterator[Problem]:
    """A `uriTemplate` is missing, or not a template of an absolute URI as RFC 6570 defines it.

    Why: clients cannot build a URI from it.
    Fix: start with a scheme, and write variables as `{name}`: letters, digits and underscores.
    """
    yield from _required_text(dated.item, "uriTemplate", _template_fault)


@item_demand("SPEC-103", "template-without-variable", "note", "schema#ResourceTemplate", kinds=("template",))
def template_without_variable(dated: DatedItem) -> Iterator[Problem]:
    """A `uriTemplate` has no variable.

    Why: it is a single resource, which clients look for in `resources/list`.
    Fix: list it as a resource.
    """
    template = dated.item.fields.get("uriTemplate")
    if isinstance(template, str) and template and "{" not in template:
        yield Problem(f"`uriTemplate` has no variable: {shown(template)}", "/uriTemplate")


@item_demand("SPEC-104", "https-resource", "note", "resources#https", kinds=("resource",))
def https_resource(dated: DatedItem) -> Iterator[Problem]:
    """A resource has an `https:` URI.

    Why: servers should use this scheme only for what a client can fetch from the web by itself.
    Fix: none is needed if it can; otherwise use another scheme, even if the server downloads the content itself.
    """
    uri = dated.item.fields.get("uri")
    if isinstance(uri, str) and uri[:6].lower() == "https:":
        yield Problem(f"clients must be able to fetch it without the server: {shown(uri)}", "/uri")


@item_demand("SPEC-105", "mime-type-form", "note", "schema#Resource", kinds=_RESOURCES)
def mime_type_form(dated: DatedItem) -> Iterator[Problem]:
    """A `mimeType` does not have the form `type/subtype`.

    Why: clients choose by it how to show the content.
    Fix: write a registered type, such as `text/markdown`.
    """
    mime = dated.item.fields.get("mimeType")
    if isinstance(mime, str) and re.fullmatch(_MIME, mime) is None:
        yield Problem(f"`mimeType` does not have the form `type/subtype`: {shown(mime)}", "/mimeType")


@item_demand("SPEC-106", "resource-size", "note", "schema#Resource", kinds=("resource",))
def resource_size(dated: DatedItem) -> Iterator[Problem]:
    """The `size` of a resource is not a non-negative integer.

    Why: clients use it to estimate how much of the context it takes; those that validate reject the list.
    Fix: write the number of bytes, or leave it out.
    """
    size = dated.item.fields.get("size")
    is_whole = isinstance(size, int) and not isinstance(size, bool)
    if isinstance(size, float):
        is_whole = size.is_integer()
    if size is not None and not (is_whole and size >= 0):
        what = kind_of(size) if not isinstance(size, (int, float)) or isinstance(size, bool) else f"{size:.6g}"
        yield Problem(f"`size` is {what}, not a number of bytes", "/size")


@demand(Catalog, "SPEC-108", "app-resource", "warning", f"{_APPS}/specification/2026-01-26/apps.mdx")
def app_resource(catalog: Catalog) -> Iterator[Problem]:
    """A tool points at an MCP App (`_meta.ui.resourceUri`) that clients cannot show.

    Why: clients read the page with `resources/read`, and show only HTML of the type of apps. Without it the user sees
    the plain result.
    Fix: register a resource with that `ui://` address and the type `text/html;profile=mcp-app`.

    A page that is not in `resources/list` may be served nevertheless, so that is a note.
    """
    pages = {str(resource.fields.get("uri")): resource for resource in catalog.resources}
    for tool in catalog.tools:
        for keys, uri in app_links(tool):
            problem = _app_fault(catalog, uri, pages, keys[0].partition("/")[0])
            if problem is not None and tool.knows("/_meta"):
                message, severity = problem
                pointer = "".join(f"/{escape(key)}" for key in ("_meta", *keys))
                yield Problem(message, pointer, item=tool, severity=severity)
                break


def _app_fault(catalog: Catalog, uri: Any, pages: dict[str, Resource], form: str) -> tuple[str, str | None] | None:
    """What is wrong with a link to an app, and its level if that is not the rule's."""
    if not isinstance(uri, str) or not uri.startswith(SCHEME):
        return f"points at {shown(uri) if isinstance(uri, str) else kind_of(uri)}, not at a `{SCHEME}` address", None
    if uri in pages:
        mime = pages[uri].fields.get("mimeType")
        is_other_type = isinstance(mime, str) and "".join(mime.lower().split()) not in MIME_TYPES.values()
        return (f"points at {shown(uri)}, which is `{mime}`, not `{MIME_TYPES[form]}`", None) if is_other_type else None
    if catalog.capabilities is not None and "resources" not in catalog.capabilities:
        return f"points at {shown(uri)}, and the server has no resources", None
    is_listed = "resources" in catalog.server.fields and "resources" not in unread_lists(catalog)
    is_template = any(_may_be(uri, template.fields.get("uriTemplate")) for template in catalog.templates)
    return (
        (f"points at {shown(uri)}, which `resources/list` does not have", "note")
        if is_listed and not is_template
        else None
    )


def _may_be(uri: str, template: Any) -> bool:
    return isinstance(template, str) and uri.startswith(template.partition("{")[0])


@item_demand(
    "SPEC-107",
    "resource-annotations",
    "note",
    "schema@2025-06-18#Annotations",
    category="annotations",
    kinds=_RESOURCES,
)
def resource_annotations(dated: DatedItem) -> Iterator[Problem]:
    """The annotations of a resource have an invalid `audience`, `priority` or `lastModified`.

    `lastModified` is checked from revision 2025-06-18 on.

    Why: clients ignore them, or reject the list.
    Fix: `audience` is a list of `user` and `assistant`, `priority` a number from 0 to 1, `lastModified` an ISO 8601
    date and time.
    """
    annotations = dated.item.fields.get("annotations")
    if not isinstance(annotations, dict):
        if annotations is not None:
            yield Problem(f"`annotations` is {kind_of(annotations)}, not an object", "/annotations")
        return
    audience, priority = annotations.get("audience", []), annotations.get("priority", 0)
    if not isinstance(audience, list) or any(role not in _AUDIENCE for role in audience):
        yield Problem("`audience` is not a list of `user` and `assistant`", "/annotations/audience")
    if isinstance(priority, bool) or not isinstance(priority, (int, float)) or not 0 <= priority <= 1:
        yield Problem("`priority` is not a number from 0 to 1", "/annotations/priority")
    if "lastModified" in annotations and dated.revision >= STRUCTURED:
        moment = annotations["lastModified"]
        if not isinstance(moment, str) or re.fullmatch(_MOMENT, moment) is None:
            yield Problem("`lastModified` is not an ISO 8601 date and time", "/annotations/lastModified")


@demand(Catalog, "SPEC-110", "prompt-form", "note", "schema#Prompt")
def prompt_form(catalog: Catalog) -> Iterator[Problem]:
    """A prompt or one of its arguments has no name or a repeated one, or `required` is not a boolean.

    Why: prompts and arguments are identified by their names; clients that validate reject the whole list.
    Fix: give every prompt, and every argument of a prompt, a name of its own; `required` is `true` or `false`.
    """
    yield from _repeated(catalog.prompts, "name")
    for prompt in catalog.prompts:
        if prompt.is_object and not isinstance(prompt.fields.get("name"), str):
            yield Problem("has no name", prompt.pointer_to("name"), item=prompt, same_as="CAT-002")
        arguments = prompt.fields.get("arguments")
        names: set[str] = set()
        for index, argument in enumerate(arguments if isinstance(arguments, list) else ()):
            if isinstance(argument, dict):
                for fault, key in _argument_faults(argument, names):
                    at = f"/arguments/{index}" + (f"/{key}" if key in argument else "")
                    yield Problem(f"argument {index} {fault}", at, item=prompt)


def _argument_faults(argument: dict[str, Any], names: set[str]) -> Iterator[tuple[str, str]]:
    """What is wrong with an argument of a prompt, each with the key; `names` are those of the arguments before it."""
    name = argument.get("name")
    if not isinstance(name, str):
        yield "has no name", "name"
    elif name in names:
        yield f"has the name {shown(name)}, like another one", "name"
    else:
        names.add(name)
    if "required" in argument and not isinstance(argument["required"], bool):
        yield f"has {kind_of(argument['required'])} as `required`, not a boolean", "required"


def _repeated(items: Iterable[Item], key: str) -> Iterator[Problem]:
    """A problem for each item but one of those with the same value: the same one, in whatever order they are listed."""
    seen: set[str] = set()
    for item in sorted(items, key=attrgetter("given_name")):
        value = item.fields.get(key)
        if isinstance(value, str):
            if value in seen:
                yield Problem(f"another {item.kind} has the same `{key}`: {shown(value)}", f"/{key}", item=item)
            seen.add(value)


def _required_text(item: Item, key: str, find_fault: Callable[[str], str | None]) -> Iterator[Problem]:
    """A problem if a member is missing, not a string, or has a fault."""
    value = item.fields.get(key)
    if not item.is_object:
        return  # CAT-001 reports an item that is no object
    if key not in item.fields:
        yield Problem(f"has no `{key}`")
    elif not isinstance(value, str):
        yield Problem(f"`{key}` is {kind_of(value)}, not a string", f"/{key}", same_as="CAT-006")
    elif (fault := find_fault(value)) is not None:
        yield Problem(f"`{key}` {fault}: {shown(value)}", f"/{key}")


def _uri_fault(uri: str) -> str | None:
    """Why a text is not an absolute URI, in words; None if it is one."""
    if re.match(_SCHEME, uri) is None:
        return "has no scheme"
    odd = re.search(_NOT_IN_URI, uri)
    return None if odd is None else f"has the character {odd[0]!r}, which must be escaped"


def _template_fault(template: str) -> str | None:
    """Why a text is not a template of an absolute URI, in words; None if it is one."""
    for expression in re.finditer(_EXPRESSION, template):
        if re.fullmatch(_VARIABLES, expression[1]) is None:
            return f"has the invalid expression {shown(expression[0])}"
    literal = re.sub(_EXPRESSION, "", template)
    odd = re.search(_NOT_IN_TEMPLATE, literal)
    if odd is not None:
        return "has a single brace" if odd[0] in "{}" else f"has the character {odd[0]!r}, which must be escaped"
    if re.match(_SCHEME, re.sub(_EXPRESSION, "x", template)) is None and not template.startswith("{+"):
        return "has no scheme"
    return None
