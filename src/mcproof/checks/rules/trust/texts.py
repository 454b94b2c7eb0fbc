"""Rules about sentences that instruct a model, and about what texts and addresses of a catalog give away.

Hidden and encoded texts are in `hidden_texts`. What a sentence says is found in `checks.texts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import always, counted, escaped, few, identity, quoted, trust_rule
from mcproof.checks.subjects import Neighbourhood
from mcproof.checks.texts.model_texts import ModelText, ModelTexts
from mcproof.core.catalog.model import Catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcproof.checks.rule import Check, HardFail
    from mcproof.checks.texts.signals import FoundSignal
    from mcproof.core.observations.perimeter import Exposure


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
        found = list(hits.values())
        kinds = few((hit["pattern"].replace("_", " ") for hit in found), quote="")
        where = few(hit["toolName"] or hit["location"] for hit in found)
        texts_contain = "text contains" if len(found) == 1 else "texts contain"
        message = f"{counted(len(found), texts_contain)} a secret ({kinds}): {where}"
        yield Problem(message, evidence={"hits": found}, near=first.item.pointer + first.pointer)


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
_SAME_IN_POLISH = "MP041"
"""The rule of `polish` for the plainest of these sentences; people see one of both."""
_CONCEALS, _OVERRIDES = "conceals-from-user", "overrides-user-or-instructions"
_LONGEST_QUOTE, _MOST_NAMES = 200, 5


def _identity(evidence: dict[str, Any]) -> str:
    """The sentence, so that accepting one does not accept the next."""
    return str(evidence["sentence"])


def _overrides_instructions(evidence: Mapping[str, Any], _exposure: Exposure) -> bool:
    """Whether the model's instructions or its identity are overridden, not only a user's request."""
    return evidence.get("overrides") in ("instructions", "identity")


def _text_rule(
    id: str, name: str, severity: str, *, hard_fail: HardFail | None = None, counted_by: str | None = None
) -> Callable[[Check[ModelTexts]], Check[ModelTexts]]:
    return trust_rule(
        ModelTexts,
        id,
        name=name,
        severity=severity,
        category="poisoning",
        dimension="Tool surface risk",
        phase="post-handshake",
        in_lint=True,
        hard_fail=hard_fail,
        counted_by=counted_by,
        sums_up=_identity,
    )


@_text_rule("TRU-103", "conceals-from-user", "critical")
def conceals_from_user(texts: ModelTexts) -> Iterator[Problem]:
    """A text instructs the model to hide something from the user.

    Why: users approve what they see; a tool that asks for silence has something to hide.
    Fix: delete the sentence. If a value should not be displayed, name that value and say why.

    Found in several languages and voices: "do not mention this step", "the user need not be informed", "present it as
    if it were part of the result". OWASP MCP03, SAFE-T1001, arXiv:2508.14925.
    """
    yield from _problems(texts, _CONCEALS, "instructs the model to hide something from the user")


@_text_rule(
    "TRU-104",
    "overrides-user-or-instructions",
    "critical",
    hard_fail=_overrides_instructions,
    counted_by=_MANIPULATION,
)
def overrides_user_or_instructions(texts: ModelTexts) -> Iterator[Problem]:
    """A text places itself above the user's request, the model's instructions or its identity.

    Why: a description is data. One that claims priority over the user or the system prompt takes control of the agent.
    Fix: delete the sentence; describe what the tool does, and leave the model's behaviour to the client.

    The verdict is `block` where instructions or the identity are overridden. OWASP MCP03 and MCP10, SAFE-T1001,
    arXiv:2508.14925.
    """
    yield from _problems(texts, _OVERRIDES, "places itself above the user or the model's instructions", "overrides")


@_text_rule("TRU-105", "commands-secret-access", "critical", hard_fail=always)
def commands_secret_access(texts: ModelTexts) -> Iterator[Problem]:
    """A text instructs the model to read, pass on or change keys, passwords or settings.

    Why: an agent can read what its user can read. This is how poisoned tools obtain private keys.
    Fix: delete the sentence. Ask the user for a credential in the configuration of the server.

    A tool that itself reads such files, and says so, is not reported. OWASP MCP03, SAFE-T1001, arXiv:2510.15994.
    """
    yield from _problems(texts, "commands-secret-access", "instructs the model to access secrets", "path")


@_text_rule("TRU-106", "commands-destruction", "high")
def commands_destruction(texts: ModelTexts) -> Iterator[Problem]:
    """A text instructs the model to destroy data or to run a system command.

    Why: the model has other tools; a sentence can make it use them against the user.
    Fix: delete the sentence. If the tool needs a clean state, let the server create it.

    A tool that itself deletes or runs commands, and says so, is not reported. OWASP MCP03 and MCP05, SAFE-T1001.
    """
    yield from _problems(texts, "commands-destruction", "instructs the model to destroy data or run commands", "target")


@_text_rule("TRU-107", "sends-to-outside-address", "high", counted_by=_MANIPULATION)
def sends_to_outside_address(texts: ModelTexts) -> Iterator[Problem]:
    """A text instructs the model to send data to an address that the text names.

    Why: the user did not choose this recipient. This is how poisoned tools carry data out.
    Fix: delete the sentence; let the server send what it has to send itself, and document it.

    OWASP MCP03 and MCP10, SAFE-T1001, arXiv:2510.15994.
    """
    yield from _problems(texts, "sends-to-outside-address", "instructs the model to send data elsewhere", "address")


@_text_rule("TRU-108", "tampers-with-another-tool", "high")
def tampers_with_another_tool(texts: ModelTexts) -> Iterator[Problem]:
    """A text instructs the model to change the arguments, the results or the use of another tool.

    Why: a tool that is never called can control all others this way: recipients, amounts, queries. It is the most
    frequent form of poisoning.
    Fix: delete the sentence; describe only the tool that the text belongs to.

    Hints on the order of calls, such as "call list_projects first", are not reported. OWASP MCP03, SAFE-T1001,
    arXiv:2508.14925.
    """
    yield from _problems(texts, "tampers-with-another-tool", "instructs the model to tamper with other tools", "tool")


@_text_rule("TRU-111", "out-of-scope-parameter", "medium")
def out_of_scope_parameter(texts: ModelTexts) -> Iterator[Problem]:
    """A text asks the model for the conversation, its system prompt or its tools.

    Why: a tool that does not work on conversations has no use for one; what a model passes leaves the user's control.
    Fix: ask for the value that the tool needs; remove the parameter if it needs none.

    OWASP MCP10, arXiv:2510.15994.
    """
    yield from _problems(texts, "out-of-scope-parameter", "asks for more than the tool needs", "data")


@_text_rule("TRU-112", "self-praise", "low")
def self_praise(texts: ModelTexts) -> Iterator[Problem]:
    """A text praises its tool, or instructs the model to use no other.

    Why: models choose tools by their descriptions; praise moves calls away from tools that fit better.
    Fix: say what the tool does and when to use it.

    arXiv:2510.15994.
    """
    yield from _problems(texts, "self-praise", "praises the tool instead of describing it")


_HIT_KINDS = {
    "conceals-from-user": "concealment_directive",
    "overrides-user-or-instructions": "override_phrase",
    "commands-secret-access": "secret_access_directive",
    "commands-destruction": "destruction_directive",
    "sends-to-outside-address": "exfiltration_directive",
    "tampers-with-another-tool": "tampering_directive",
}


@trust_rule(
    ModelTexts,
    "no_tool_description_manipulation",
    name="description-manipulation",
    severity="high",
    category="poisoning",
    weight=6,
    dimension="Tool surface risk",
    phase="post-handshake",
)
def no_tool_description_manipulation(texts: ModelTexts) -> Iterator[Problem]:
    """A text of a tool manipulates the model: a tag for instructions, an override, another identity, a directive.

    Why: descriptions are untrusted text in the model's context; this is how tools are poisoned.
    Fix: delete the sentences; describe what the tool does.

    It sums up what TRU-103 to TRU-108 report, and adds tags such as `<IMPORTANT>`. Phrases count where they instruct,
    not where a text quotes or warns of them. OWASP MCP03, SAFE-T1001.
    """
    hits = list(_hits(texts))
    if hits:
        names = list(dict.fromkeys(hit["toolName"] for hit in hits))
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        yield Problem(
            f"texts that manipulate the model: {', '.join(names[:_MOST_NAMES])}{more}", evidence={"hits": hits}
        )


def _hits(texts: ModelTexts) -> Iterator[dict[str, str]]:
    from mcproof.checks.texts.signals import found_signals, instruction_tags

    for tool, tag in instruction_tags(texts):
        yield {"toolName": tool, "kind": "hidden_instruction_tag", "snippet": tag}
    for found in found_signals(texts):
        kind = _HIT_KINDS.get(found.signal.kind)
        if kind is not None:
            kind = "identity_hijack" if found.signal.object == "identity" else kind
            for name in found.subjects:
                yield {"toolName": name, "kind": kind, "snippet": _quoted(found.signal.sentence)}


def _problems(texts: ModelTexts, kind: str, verb: str, key: str = "") -> Iterator[Problem]:
    """One problem for each distinct sentence of a kind."""
    from mcproof.checks.texts.signals import found_signals

    signals = found_signals(texts)
    overridden = {_place(found) for found in signals if found.signal.kind == _OVERRIDES and found.uses}
    for found in signals:
        if found.signal.kind == kind and found.uses:
            is_in_polish = kind == _OVERRIDES or (kind == _CONCEALS and _place(found) not in overridden)
            yield _problem(found, verb, key, _SAME_IN_POLISH if is_in_polish else None)


def _place(found: FoundSignal) -> tuple[int, str]:
    return id(found.uses[0].item), found.uses[0].pointer


def _problem(found: FoundSignal, verb: str, key: str, same_as: str | None) -> Problem:
    first = found.uses[0]
    names = found.subjects
    more = f" (and in {len(names) - 1} more)" if len(names) > 1 else ""
    evidence: dict[str, Any] = {"sentence": found.signal.sentence[:1_000]}
    if key and found.signal.object:
        evidence[key] = found.signal.object
    evidence |= {"place": first.place, "tools": names}
    return Problem(
        f"{verb}: `{_quoted(found.signal.sentence)}`{more}",
        first.pointer,
        evidence=evidence,
        item=first.item if first.item.kind != "server" else None,
        same_as=same_as,
    )


def _quoted(sentence: str) -> str:
    """A sentence for a message: one line, cut, without backticks."""
    line = " ".join(sentence.replace("`", "'").split())
    return line if len(line) <= _LONGEST_QUOTE else f"{line[: _LONGEST_QUOTE - 1]}…"


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
    from mcproof.checks.behaviour.acts import similar_names

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
