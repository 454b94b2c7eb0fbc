"""Rules about sentences that certainly instruct a model, and about what texts and addresses of a catalog give away.

Hidden and encoded texts are in `hidden_texts`, judgements of sentences in `suspicion`. What a sentence says is found in
`checks.texts`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import always, counted, escaped, few, identity, quoted, trust_rule
from mcproof.checks.subjects import Neighbourhood
from mcproof.checks.texts.directives import OVERRIDES, SECRETS, SENDS, TAMPERS, directives
from mcproof.checks.texts.markup import instruction_tag
from mcproof.checks.texts.model_texts import ModelTexts
from mcproof.core.catalog.model import Catalog
from mcproof.core.console import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcproof.checks.rule import Check, HardFail
    from mcproof.checks.texts.model_texts import ModelText


_LONGEST, _MOST = 100_000, 2_000_000
"""How much of one text, and of all texts of a server, is searched for secrets, in characters."""


@trust_rule(
    ModelTexts,
    "no_secret_leakage_in_observed_text",
    name="secret-in-catalog",
    severity="medium",
    category="secrets",
    weight=5,
    dimension="Endpoint hygiene",
    phase="post-handshake",
    sums_up=identity("hits", "pattern", "toolName", "path"),
    withholds_line=True,
)
def no_secret_leakage_in_observed_text(texts: ModelTexts) -> Iterator[Problem]:
    """A text of the catalog contains a secret: a key, a token, or a password in a URL.

    Placeholders are not secrets. The evidence has the kind of secret and its place, never the secret.
    OWASP MCP Top 10: MCP01 Token Mismanagement and Secret Exposure.

    Why: every client that connects reads it, and every model repeats it.
    Fix: revoke the secret, then remove it from the text.
    """
    from mcproof.core.text.secrets import secrets_in

    hits: dict[tuple[str, str, str], dict[str, Any]] = {}
    first: ModelText | None = None
    left = _MOST
    for text in texts.distinct:
        searched = text[: min(_LONGEST, left)]
        left -= len(searched)
        for secret in secrets_in(searched):
            for use in texts.uses(text):
                first = first or use
                tool = use.item.label if use.item.kind == "tool" else None
                hit = {"pattern": secret.pattern, "location": _location(use), "toolName": tool, "path": use.pointer}
                hits.setdefault((secret.pattern, use.item.pointer, use.pointer), hit)
    if first is not None:
        leaks = list(hits.values())
        kinds = few((hit["pattern"].replace("_", " ") for hit in leaks), quote="")
        where = few(hit["toolName"] or hit["location"] for hit in leaks)
        texts_contain = "text contains" if len(leaks) == 1 else "texts contain"
        message = f"{counted(len(leaks), texts_contain)} a secret ({kinds}): {where}"
        yield Problem(message, evidence={"hits": leaks}, near=first.item.pointer + first.pointer)


def _location(use: ModelText) -> str:
    """The member of an item that holds a text, or `instructions` and `serverInfo` of the server."""
    keys = use.pointer.strip("/").split("/")
    if use.item.kind == "server" and keys[0] in {"initialize", "discover"} and len(keys) > 1:
        return keys[1]
    return keys[0] if use.item.kind == "tool" else f"{use.item.kind} {keys[0]}"


@trust_rule(
    Catalog,
    "no_dangerous_resource_uris",
    name="dangerous-resource-uris",
    severity="high",
    category="resource",
    weight=6,
    dimension="Tool surface risk",
    phase="post-handshake",
    needs="resources",
    reads=("resources", "resourceTemplates"),
    sums_up=identity("hits", "kind", "uri"),
)
def no_dangerous_resource_uris(catalog: Catalog) -> Iterator[Problem]:
    """A resource or resource template has an address that clients must not open: a file, plain HTTP, a private host.

    Schemes of a server's own, such as `docs://`, are what MCP provides for, and are not reported. Schemes that run or
    carry code, or reach other protocols (`javascript:`, `data:`, `ftp:`, `gopher:`, `ldap:`, …), are.

    Why: clients may fetch resources themselves; such an address reads local files, or reaches internal services and the
    credentials of cloud machines.
    Fix: use `https://` addresses of public hosts, or a scheme of your own that the server resolves.
    """
    from mcproof.core.addresses import danger_of

    hits = []
    first = None
    for item in (*catalog.resources, *catalog.templates):
        key = "uri" if item.kind == "resource" else "uriTemplate"
        uri = item.fields.get(key)
        danger = danger_of(uri) if isinstance(uri, str) else None
        if danger is not None:
            hits.append({"kind": danger.kind, "uri": danger.shown, "name": item.name, "reason": danger.reason})
            first = first or f"{item.pointer}/{key}"
    if first is not None:
        shown = few(hit["uri"] for hit in hits)
        noun = "resource has a dangerous address" if len(hits) == 1 else "resources have dangerous addresses"
        yield Problem(f"{counted(len(hits), noun)}: {shown}", evidence={"hits": hits}, near=first)


_MANIPULATION = "no_tool_description_manipulation"
_LONGEST_QUOTE, _MOST_NAMES = 200, 5


def _identity(evidence: dict[str, Any]) -> str:
    """The sentence, so that accepting one does not accept the next."""
    return str(evidence["sentence"])


def text_rule(
    id: str,
    name: str,
    severity: str,
    *,
    in_lint: bool = True,
    hard_fail: HardFail | None = None,
    counted_by: str | None = None,
) -> Callable[[Check[ModelTexts]], Check[ModelTexts]]:
    return trust_rule(
        ModelTexts,
        id,
        name=name,
        severity=severity,
        category="poisoning",
        dimension="Tool surface risk",
        phase="post-handshake",
        in_lint=in_lint,
        hard_fail=hard_fail,
        counted_by=counted_by,
        sums_up=_identity,
    )


@text_rule("TRU-104", "overrides-instructions", "critical", hard_fail=always, counted_by=_MANIPULATION)
def overrides_instructions(texts: ModelTexts) -> Iterator[Problem]:
    """A text places itself above the model's instructions.

    Why: a description is data. One that claims priority over the system prompt takes control of the agent.
    Fix: delete the sentence; describe what the tool does, and leave the model's behaviour to the client.

    A sentence is reported if it speaks of overriding and of instructions, and if its score is one of a manipulation
    (see TRU-114). What a text quotes or warns of is not. OWASP MCP03 and MCP10, SAFE-T1001, arXiv:2508.14925.
    """
    yield from _problems(texts, OVERRIDES, "places itself above the model's instructions", "overrides")


@text_rule("TRU-105", "commands-secret-access", "critical", hard_fail=always)
def commands_secret_access(texts: ModelTexts) -> Iterator[Problem]:
    """A text instructs the model to read, pass on or change files with keys, passwords or settings.

    Why: an agent can read what its user can read. This is how poisoned tools obtain private keys.
    Fix: delete the sentence. Ask the user for a credential in the configuration of the server.

    A sentence is reported if it names such a file outside quotation marks, and if its score is one of a manipulation
    (see TRU-114). A tool that itself reads such files, and says so, is not. OWASP MCP03, SAFE-T1001, arXiv:2510.15994.
    """
    yield from _problems(texts, SECRETS, "instructs the model to access secrets", "path")


@text_rule("TRU-107", "sends-to-outside-address", "high", counted_by=_MANIPULATION)
def sends_to_outside_address(texts: ModelTexts) -> Iterator[Problem]:
    """A text instructs the model to send data to an address that the text names.

    Why: the user did not choose this recipient. This is how poisoned tools carry data out.
    Fix: delete the sentence; let the server send what it has to send itself, and document it.

    A sentence is reported if it names an address and sends something, and if its score is one of a manipulation (see
    TRU-114). Links and examples are not. OWASP MCP03 and MCP10, SAFE-T1001, arXiv:2510.15994.
    """
    yield from _problems(texts, SENDS, "instructs the model to send data elsewhere", "address")


@text_rule("TRU-108", "tampers-with-another-tool", "high")
def tampers_with_another_tool(texts: ModelTexts) -> Iterator[Problem]:
    """A text instructs the model to change the arguments, the results or the use of another tool.

    Why: a tool that is never called can control all others this way: recipients, amounts, queries. It is the most
    frequent form of poisoning.
    Fix: delete the sentence; describe only the tool that the text belongs to.

    A sentence is reported if it names another tool of the server and changes something, and if its score is one of a
    manipulation (see TRU-114). Hints on the order of calls, such as "call list_projects first", are not. OWASP MCP03,
    SAFE-T1001, arXiv:2508.14925.
    """
    yield from _problems(texts, TAMPERS, "instructs the model to tamper with other tools", "tool")


_PRAISE = (
    r"(?i)\b(?:best|finest|superior|greatest|ultimate|unmatched|unrivall?ed|world-class|unbeatable"
    r"|most (?:accurate|reliable|trusted|advanced)) (?:\w+ ){0,2}(?:tool|function|server|plugin)s? (?:\w+ ){0,3}"
    r"(?:world|market|universe|industry|ever|existence)\b"
    r"|\b(?:always|only) (?:use|prefer|choose|select|pick) this (?:tool|server)\b.{0,40}"
    r"\b(?:over|instead of|rather than)\b.{0,30}\bothers?\b"
    r"|\b(?:never|do not|don't) use (?:any )?other (?:\w+ ){0,2}tools?\b"
)
_BEGINNINGS_OF_PRAISE = (
    "est ",
    "perior",
    "ultimate",
    "unmatched",
    "unriv",
    "world-class",
    "unbeat",
    "most ",
    "this ",
    "other ",
)
"""Of these every praise has one."""


@text_rule("TRU-112", "self-praise", "low")
def self_praise(texts: ModelTexts) -> Iterator[Problem]:
    """A text praises its tool, or instructs the model to use no other.

    Why: models choose tools by their descriptions; praise moves calls away from tools that fit better.
    Fix: say what the tool does and when to use it.

    arXiv:2510.15994.
    """
    for text in texts.distinct:
        if "tool" in text or "server" in text or "plugin" in text:
            lowered = text.lower()
            match = re.search(_PRAISE, text) if any(sign in lowered for sign in _BEGINNINGS_OF_PRAISE) else None
            if match is not None and (uses := texts.uses(text)):
                yield problem_of_sentence("praises the tool instead of describing it", match[0], uses)


_HIT_KINDS = {
    SECRETS: "secret_access_directive",
    SENDS: "exfiltration_directive",
    TAMPERS: "tampering_directive",
    OVERRIDES: "override_phrase",
}


@trust_rule(
    ModelTexts,
    _MANIPULATION,
    name="description-manipulation",
    severity="high",
    category="poisoning",
    weight=6,
    dimension="Tool surface risk",
    phase="post-handshake",
)
def no_tool_description_manipulation(texts: ModelTexts) -> Iterator[Problem]:
    """A text of a tool manipulates the model: a tag for instructions, an override, a directive.

    Why: descriptions are untrusted text in the model's context; this is how tools are poisoned.
    Fix: delete the sentences; describe what the tool does.

    It sums up what TRU-104, TRU-105, TRU-107 and TRU-108 report, and adds tags such as `<IMPORTANT>`. What a text
    quotes does not count. OWASP MCP03, SAFE-T1001.
    """
    hits = list(_hits(texts))
    if hits:
        names = list(dict.fromkeys(hit["toolName"] for hit in hits))
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        yield Problem(
            f"texts that manipulate the model: {', '.join(names[:_MOST_NAMES])}{more}", evidence={"hits": hits}
        )


def _hits(texts: ModelTexts) -> Iterator[dict[str, str]]:
    for tool in texts.catalog.tools:
        if "<" in tool.description and (tag := instruction_tag(tool.description)):
            yield {"toolName": tool.label, "kind": "hidden_instruction_tag", "snippet": tag}
    for directive in directives(texts):
        for name in directive.subjects:
            yield {"toolName": name, "kind": _HIT_KINDS[directive.kind], "snippet": shown(directive.sentence)}


def _problems(texts: ModelTexts, kind: str, verb: str, key: str) -> Iterator[Problem]:
    """One problem for each distinct sentence of a kind."""
    for directive in directives(texts):
        if directive.kind == kind:
            yield problem_of_sentence(verb, directive.sentence, directive.uses, {key: directive.object})


def problem_of_sentence(
    verb: str, sentence: str, uses: list[ModelText], about: Mapping[str, Any] | None = None
) -> Problem:
    """A problem at the first place of a sentence."""
    first = uses[0]
    names = list(dict.fromkeys(use.item.label for use in uses))
    more = f" (and in {len(names) - 1} more)" if len(names) > 1 else ""
    return Problem(
        f"{verb}: `{shown(sentence)}`{more}",
        first.pointer,
        evidence={"sentence": sentence[:1_000], **(about or {}), "place": first.place, "tools": names},
        item=first.item if first.item.kind != "server" else None,
    )


def shown(sentence: str) -> str:
    """A sentence for a message: one line, cut, without backticks."""
    line = " ".join(sentence.replace("`", "'").split())
    return cut(line, _LONGEST_QUOTE)


def _pair(evidence: dict[str, Any]) -> str:
    return f"{evidence['source']}\0{evidence['target']}"


@trust_rule(
    Catalog,
    "TRU-109",
    name="commands-another-tool",
    severity="info",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    in_lint=True,
    sums_up=_pair,
)
def commands_another_tool(catalog: Catalog) -> Iterator[Problem]:
    """The description of a tool obliges the model to use, or not to use, another tool of the server.

    Workflow hints, such as "use `list_projects` to get the id", are edges of the tool graph and not reported. Only the
    graph of all tools shows whether such commands make sense; they never change the verdict.

    Why: poisoned tools work this way, and so do honest ones that depend on each other; a reviewer should know them.
    Fix: describe what the tool needs, and leave the choice of tools to the model.

    OWASP MCP03; SAFE-T1402.
    """
    from mcproof.checks.texts.tool_graph import commanding_edges

    tools = {tool.name: tool for tool in reversed(catalog.tools)}
    for edge in commanding_edges(catalog):
        evidence = {"source": edge.source, "target": edge.target, "kind": edge.kind, "sentence": escaped(edge.sentence)}
        message = f"commands the model about the tool `{escaped(edge.target, 64)}`: {quoted(edge.sentence)}"
        yield Problem(message, edge.pointer, evidence=evidence, item=tools[edge.source])


def _pairs(evidence: dict[str, Any]) -> str:
    names = sorted(f"{pair['toolName']}\0{pair['otherName']}" for pair in evidence["pairs"])
    return "\0\0".join((evidence["server"], *names))


@trust_rule(
    Neighbourhood,
    "TRU-120",
    name="shadows-known-tool",
    severity="medium",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    in_lint=True,
    needs="neighbours",
    sums_up=_pairs,
)
def shadows_known_tool(around: Neighbourhood) -> Iterator[Problem]:
    """A tool has the name of a tool of another server in the same client configuration, or almost that name.

    Names are compared without case, separators and lookalike letters; long names may differ in one character. Each
    server is compared with those before it in the configuration.

    Why: a model that sees both may call the wrong one; a server can take over calls that are meant for another.
    Fix: remove one of the servers from the configuration, or disable the tool in one of them.

    OWASP MCP03; SAFE-T1001.
    """
    if not around.neighbours:
        return
    from mcproof.checks.behaviour.acts import similar_names  # here, as most servers have no neighbours

    names = [tool.name for tool in around.catalog.tools if tool.name]
    for neighbour in around.neighbours:
        pairs = similar_names(names, neighbour.tools)
        if pairs:
            shown = ", ".join(
                f"`{escaped(name, 64)}`" if name == other else f"`{escaped(name, 64)}` (there `{escaped(other, 64)}`)"
                for name, other in pairs[:3]
            )
            more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
            evidence = {
                "server": neighbour.server,
                "pairs": [{"toolName": name, "otherName": other} for name, other in pairs],
            }
            message = f"has tools named like those of {neighbour.server}: {shown}{more}"
            yield Problem(message, evidence=evidence)
