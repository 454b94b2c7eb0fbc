"""Rules on markup in texts that a client may render: dangerous links, elements that load something, plain HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.linting.finding import Problem
from mcproof.rules.trust.trust_rule import trust_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mcproof.core.catalog.model import Catalog
    from mcproof.core.observations.responses import ResourceBodies
    from mcproof.linting.registry import Check

MOST_HITS = 100
"""How many hits the evidence of one finding has."""
_WORDS = {
    "markdown_dangerous_link": "a link that runs code",
    "html_element": "an HTML element that loads something",
    "non_https_url": "an address without encryption",
}


def _identity(evidence: dict[str, Any]) -> str:
    """All hits, in any order, so that a baseline does not hide a new one."""
    return "\0\0".join(sorted("\0".join(map(str, hit.values())) for hit in evidence["hits"]))


def _markup_rule(id: str, name: str, **traits: Any) -> Callable[[Check], Check]:
    return trust_rule(
        id,
        name=name,
        severity="medium",
        category="security",
        dimension="Tool surface risk",
        phase="post-handshake",
        weight=5,
        sums_up=_identity,
        **traits,
    )


@_markup_rule("no_description_injection", "description-markup")
def no_description_injection(catalog: Catalog) -> Iterator[Problem]:
    """The description of a tool has markup that acts when it is rendered, or an address without encryption.

    Reported are Markdown links to `javascript:` or `data:`, elements `script`, `img`, `iframe`, `svg`, `object` and
    `embed` with attributes or a script, and `http://`, `ftp://` and `ws://` addresses. Not reported are code spans,
    bare mentions such as `<img>`, and addresses that are not links: local and reserved hosts, placeholders, namespaces.

    Why: clients show descriptions in consent dialogs and chats; rendered markup runs or loads what the server chooses.
    Fix: write plain text; put examples of markup into code spans; use `https://`.

    OWASP MCP03.
    """
    hits = [
        {"toolName": tool.label, **hit} for tool in catalog.tools if tool.description for hit in _hits(tool.description)
    ]
    yield from _problem(hits, "toolName", "descriptions of tools")


@_markup_rule(
    "no_resource_or_prompt_injection",
    "resource-or-prompt-markup",
    reads=("resources", "resourceTemplates", "prompts"),
)
def no_resource_or_prompt_injection(catalog: Catalog) -> Iterator[Problem]:
    """The description of a resource or prompt, or the name of a resource, has markup that acts when it is rendered.

    The same is reported as for the descriptions of tools; the descriptions of a prompt's arguments are read too.

    Why: clients list resources and prompts in menus; rendered markup runs or loads what the server chooses.
    Fix: write plain text; put examples of markup into code spans; use `https://`.

    OWASP MCP03.
    """
    hits = [
        {"source": item.kind, "identifier": item.label, **hit}
        for item in (*catalog.resources, *catalog.templates, *catalog.prompts)
        for text in _texts_of(item.fields, with_name=item.kind != "prompt")
        for hit in _hits(text)
    ]
    yield from _problem(hits, "identifier", "resources and prompts")


@_markup_rule("initialize_instructions_no_injection", "instructions-markup", needs="server")
def initialize_instructions_no_injection(catalog: Catalog) -> Iterator[Problem]:
    """The instructions of a server have markup that acts when it is rendered, or an address without encryption.

    The same is reported as for the descriptions of tools.

    Why: instructions become part of the model's system prompt, and clients show them.
    Fix: write plain text; put examples of markup into code spans; use `https://`.

    OWASP MCP03.
    """
    for key in ("initialize", "discover"):
        introduction = catalog.server.fields.get(key)
        text = introduction.get("instructions") if isinstance(introduction, dict) else None
        if isinstance(text, str):
            hits = list(_hits(text))
            yield from _problem(hits, None, "instructions of the server", f"/{key}/instructions")


@_markup_rule("resource_contents_no_injection", "resource-contents-markup", chosen=("severity", "weight"))
def resource_contents_no_injection(bodies: ResourceBodies) -> Iterator[Problem]:
    """The contents of a resource have markup that acts when it is rendered, or an address without encryption.

    Up to three resources are read, 8 KB of each. The same is reported as for the descriptions of tools. HTML pages are
    made of elements: only their links that run code are reported.

    Why: models and clients take contents of resources as context; markup in them runs or loads what the server chooses.
    Fix: serve plain text or Markdown without such markup; use `https://`.

    OWASP MCP03.
    """
    hits = [
        {"kind": hit["kind"], "uri": uri, "snippet": hit["snippet"]}
        for uri, text in bodies.bodies
        for hit in _hits(text)
        if not _is_html(text) or hit["kind"] == "markdown_dangerous_link"
    ]
    yield from _problem(hits, "uri", "contents of resources")


def _is_html(text: str) -> bool:
    return text.lstrip()[:15].lower().startswith(("<!doctype html", "<html", "<?xml", "<svg"))


def _texts_of(fields: dict[str, Any], *, with_name: bool) -> Iterator[str]:
    arguments = fields.get("arguments")
    described = [fields, *(arguments if isinstance(arguments, list) else ())]
    texts = [each.get("description") for each in described if isinstance(each, dict)]
    if with_name:
        texts.append(fields.get("name"))
    yield from (text for text in texts if isinstance(text, str))


def _hits(text: str) -> Iterator[dict[str, str]]:
    from mcproof.poisoning.dangerous_markup import dangerous_markup

    for found in dangerous_markup(text):
        yield {"kind": found.kind, "snippet": found.snippet}


def _problem(hits: list[dict[str, str]], named_by: str | None, place: str, pointer: str = "") -> Iterable[Problem]:
    """One problem with all hits; its message has the first and the items concerned."""
    if not hits:
        return
    names = list(dict.fromkeys(hit[named_by] for hit in hits)) if named_by is not None else []
    named = ", ".join(f"`{name}`" for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    first = hits[0]
    message = f"{place} have {_WORDS[first['kind']]}: `{first['snippet']}`" + (f" in {named}" if named else "")
    yield Problem(message, pointer, evidence={"hits": hits[:MOST_HITS]})
