"""Rules about what the tools of a server can do to others, and whether their hints say so.

What a tool can do is found in `checks.behaviour`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import because, few, identity, if_open, near, trust_rule
from mcproof.core.catalog.model import Catalog
from mcproof.core.observations.apps import Apps
from mcproof.core.observations.source import DELETE, SHELL, URL, WRITE, HandlerAct
from mcproof.core.text.english import words_of

if TYPE_CHECKING:
    from mcproof.checks.behaviour.capabilities import Capability, CapabilityMatch
    from mcproof.checks.rule import Check
    from mcproof.core.catalog.model import Tool


surface_rule = partial(
    trust_rule, Catalog, category="capability", dimension="Tool surface risk", phase="post-handshake"
)
"""Registers a rule about what tools can do."""
_MATCHES = identity("matches", "toolName", "keyword")


def _capability_rule(id: str, name: str, severity: str, weight: int) -> Callable[[Check[Catalog]], Check[Catalog]]:
    """Register a rule about tools with one capability; a critical one blocks a server that anyone can reach."""
    hard_fail = if_open if severity == "critical" else None
    return surface_rule(id, name, severity, weight=weight, hard_fail=hard_fail, sums_up=_MATCHES)


@lru_cache(maxsize=1)  # for all rules that check a catalog, one after the other
def capability_matches(catalog: Catalog) -> list[tuple[Tool, CapabilityMatch]]:
    """The risky capabilities of every tool: those that its words show, then those that only its source shows."""
    from mcproof.checks.behaviour.capability_tables import capabilities_of

    matches = []
    for tool in catalog.tools:
        if tool.knows("/name"):
            by_kind = {match.capability: match for match in capabilities_of(tool)}
            for act in catalog.acts:
                if act.tool == tool.name:
                    for match in _matches_of(act):
                        by_kind.setdefault(match.capability, match)
            matches += [(tool, match) for match in by_kind.values()]
    return matches


_OF_ACTS: Mapping[str, tuple[tuple[Capability, str], ...]] = {
    WRITE: (("write_files", "writes files"),),
    DELETE: (("delete_data", "deletes files"), ("write_files", "deletes files")),
    SHELL: (("execute_code", "runs a command of its caller"),),
    URL: (("network_access", "requests an address of its caller"),),
}
"""What the handler of a tool does, as capabilities of the tool."""


def _matches_of(act: HandlerAct) -> Iterator[CapabilityMatch]:
    from mcproof.checks.behaviour.capabilities import CapabilityMatch

    place = f"{act.file.replace(chr(92), '/').rpartition('/')[2]}:{act.line}"
    for capability, what in _OF_ACTS[act.kind]:
        # hints are about what a tool states: a handler may also write to a cache
        yield CapabilityMatch(capability, act.call.rpartition(".")[2], "source", f"{what} at {place}", is_sure=False)


def _tools_with(
    catalog: Catalog,
    capability: Capability,
    what: str,
    entries: str = "matches",
    word: str = "keyword",
    unless: Callable[[Tool], bool] = lambda _: False,
) -> Iterator[Problem]:
    """One problem with all tools that have a capability; the evidence has `entries`, each with the `word`."""
    capable = [
        (tool, match)
        for tool, match in capability_matches(catalog)
        if match.capability == capability and not unless(tool)
    ]
    if capable:
        matches = [
            {"toolName": tool.label, word: match.keyword, "source": match.source, "why": match.why}
            for tool, match in capable
        ]
        message = because([(tool.label, match.why) for tool, match in capable], what)
        yield Problem(message, evidence={entries: matches}, near=near(capable[0][0]))


@_capability_rule("no_public_code_execution_tools", "code-execution-tools", "critical", 14)
def no_public_code_execution_tools(catalog: Catalog) -> Iterator[Problem]:
    """A tool runs code or commands that its caller writes.

    Expressions of a calculator, SQL and other query languages, and jobs or workflows that exist on the server are not
    code. OWASP MCP Top 10: MCP05 Command Injection and Execution.

    Why: whoever can call it, or can make a model call it, controls the machine behind the server.
    Fix: replace it by tools for the few operations that callers need.
    """
    yield from _tools_with(catalog, "execute_code", "can run code")


@_capability_rule("no_public_credential_access_tools", "credential-access-tools", "critical", 12)
def no_public_credential_access_tools(catalog: Catalog) -> Iterator[Problem]:
    """A tool returns, issues or stores secrets, or takes a password to log in.

    A key of a table, a page token or a count of tokens is not a secret, and a tool that checks the format of a key, or
    revokes one, does not hand it out. OWASP MCP Top 10: MCP01 Token Mismanagement and Secret Exposure.

    Why: secrets end up in the context of a model, in its logs, and in reach of every other server it talks to.
    Fix: keep secrets on the server: take and return names of them only, and let people enter them outside the model.
    """
    yield from _tools_with(catalog, "access_credentials", "can access credentials")


@_capability_rule("no_public_filesystem_write_tools", "filesystem-write-tools", "critical", 10)
def no_public_filesystem_write_tools(catalog: Catalog) -> Iterator[Problem]:
    """A tool writes, moves or deletes files on the machine of the server.

    Files of a repository, a bucket, a drive or another service are not files of the server. A parameter that names a
    file to save results in counts, and so does a handler whose source writes files with what its caller sends.

    Why: a file that is written can become code that runs: a shell profile, a dependency, a configuration.
    Fix: confine it to a folder and say so in the description, and accept it with a reason in `[[ignore-for]]`; or
    return the content, and let the client save it.
    """
    yield from _tools_with(catalog, "write_files", "can write files")


@_capability_rule("no_public_admin_control_tools", "admin-control-tools", "critical", 10)
def no_public_admin_control_tools(catalog: Catalog) -> Iterator[Problem]:
    """A tool controls machines, accounts or rights: it terminates, suspends, revokes or grants.

    OWASP MCP Top 10: MCP02 Privilege Escalation via Scope Creep.

    Why: one call takes a service down, or gives someone rights that nobody approved.
    Fix: take the tool out, and offer administration on a server of its own that requires authorization.
    """
    yield from _tools_with(catalog, "admin_control", "can control machines, accounts or rights")


@surface_rule(
    "no_public_destructive_tools",
    "destructive-tools",
    "high",
    weight=8,
    sums_up=identity("destructiveTools", "toolName", "verb"),
)
def no_public_destructive_tools(catalog: Catalog) -> Iterator[Problem]:
    """A tool deletes data, or runs SQL that may delete data.

    SQL counts unless the tool states that it only reads. Removing one thing from another, such as a label from an
    issue, does not. Nor does a tool that declares `destructiveHint: true` and requires a parameter `confirm`.

    Why: a model that misunderstands, or is misled, may destroy data for good.
    Fix: archive instead of deleting, or require a parameter `confirm` and declare `destructiveHint: true`.
    """
    yield from _tools_with(
        catalog, "delete_data", "can delete data", "destructiveTools", "verb", unless=_asks_for_confirmation
    )


def _asks_for_confirmation(tool: Tool) -> bool:
    """Whether clients know that a tool destroys something, and callers have to confirm it."""
    hints, required = tool.fields.get("annotations"), (tool.schema or {}).get("required")
    is_declared = isinstance(hints, dict) and hints.get("destructiveHint") is True
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return is_declared and any(not _CONFIRMING.isdisjoint(words_of(name)) for name in names)


_CONFIRMING = frozenset(("confirm", "confirmation", "confirmed"))
"""Words of parameters without which nothing is deleted."""


@_capability_rule("no_public_send_message_tools", "send-message-tools", "high", 6)
def no_public_send_message_tools(catalog: Catalog) -> Iterator[Problem]:
    """A tool sends mails, messages or notifications, or makes calls.

    Why: messages leave in somebody's name, cannot be taken back, and can carry data out.
    Fix: prepare a draft, and let a person send it.
    """
    yield from _tools_with(catalog, "send_message", "can send messages")


@_capability_rule("no_public_financial_action_tools", "financial-action-tools", "high", 6)
def no_public_financial_action_tools(catalog: Catalog) -> Iterator[Problem]:
    """A tool moves money: it pays, charges, refunds, transfers, orders or invoices.

    Why: a wrong call costs money at once.
    Fix: return what is to be paid, and let a person pay it.
    """
    yield from _tools_with(catalog, "financial_action", "can move money")


@_capability_rule("no_public_network_access_tools", "network-access-tools", "high", 6)
def no_public_network_access_tools(catalog: Catalog) -> Iterator[Problem]:
    """A tool requests URLs that its caller chooses, or uploads or downloads files.

    A search, or an API whose address is fixed, does not count; nor does a file that is passed in a call, if the tool
    declares `openWorldHint: false`.

    Why: it reaches what the server can reach, such as internal services and cloud metadata, and it can carry data out;
    pages that it returns may hold instructions for the model.
    Fix: allow known hosts only, by an `enum` or a `pattern` of the parameter; refuse private addresses.
    """
    yield from _tools_with(catalog, "network_access", "can access the network")


@_capability_rule("no_pii_keywords_in_tool_surface", "personal-data-in-tools", "low", 3)
def no_pii_keywords_in_tool_surface(catalog: Catalog) -> Iterator[Problem]:
    """A tool takes or returns personal data, by its name, description or parameters.

    Why: personal data has owners and laws; somebody must have decided that an agent may handle it.
    Fix: leave out what the tool does not need, or refer to a person by an id.
    """
    from mcproof.checks.behaviour.capabilities import personal_data_in

    words = [(tool, word) for tool in catalog.tools if tool.knows("/name") for word in personal_data_in(tool)]
    if words:
        matches = [{"toolName": tool.label, **word._asdict()} for tool, word in words]
        message = because([(tool.label, word.why) for tool, word in words], "may handle personal data")
        yield Problem(message, evidence={"matches": matches}, near=near(words[0][0]))


_EFFECTS = ("delete_data", "write_files", "financial_action", "send_message", "admin_control", "execute_code")
"""Capabilities that a read-only tool cannot have, the first found is reported."""
_DESTRUCTIVE = ("delete_data", "write_files", "financial_action")
"""Capabilities of destructive tools; writing counts only if it changes what exists."""


@surface_rule(
    "tool_annotations_consistent",
    "inconsistent-annotations",
    "high",
    weight=6,
    sums_up=identity("hits", "toolName", "kind"),
)
def tool_annotations_consistent(catalog: Catalog) -> Iterator[Problem]:
    """A tool declares a hint that contradicts another hint, or what its name or description states.

    A tool without hints is not reported. Only the name and the verb of the description count here, because clients act
    on hints: a parameter for a file to save in is not enough.

    Why: clients run read-only tools without asking; a wrong hint takes the user's consent away.
    Fix: set `readOnlyHint` only on tools without effects, and `destructiveHint` on those that delete or overwrite.
    """
    by_tool = _matches_by_tool(catalog)
    tools: list[Tool] = []
    hits: list[dict[str, Any]] = []
    for tool in catalog.tools:
        hints = tool.fields.get("annotations")
        if not isinstance(hints, dict) or not tool.knows_all("/annotations"):
            continue
        hit = _contradiction(hints, by_tool.get(id(tool), []))
        if hit is not None:
            tools.append(tool)
            hits.append({"toolName": tool.label, **hit})
    if hits:
        reasons = [(hit["toolName"], f"`{hit['annotation']}`" + _against(hit)) for hit in hits]
        verb = "declares" if len(hits) == 1 else "declare"
        message = because(reasons, f"{verb} hints that contradict what they do")
        yield Problem(message, evidence={"hits": hits}, near=near(tools[0]))


def _against(hit: dict[str, Any]) -> str:
    """What a hint contradicts; nothing if it contradicts the other hint."""
    return f", but {hit['why']}" if "why" in hit else ""


def _contradiction(hints: dict[str, Any], matches: list[CapabilityMatch]) -> dict[str, Any] | None:
    if hints.get("readOnlyHint") is True and hints.get("destructiveHint") is True:
        annotation = "readOnlyHint: true, destructiveHint: true"
        return {"kind": "readonly_and_destructive", "annotation": annotation, "capabilityKind": None}
    sure = {match.capability: match for match in matches if match.is_sure}
    effect = next((capability for capability in _EFFECTS if capability in sure), None)
    if hints.get("readOnlyHint") is True and effect is not None:
        kind, annotation = "readonly_but_destructive_capability", "readOnlyHint: true"
        return {"kind": kind, "annotation": annotation, "capabilityKind": effect, "why": sure[effect].why}
    destroying = (capability for capability in _DESTRUCTIVE if capability in sure)
    effect = next((capability for capability in destroying if _is_destructive(sure[capability])), None)
    if hints.get("destructiveHint") is False and effect is not None:
        kind, annotation = "nondestructive_but_destructive_capability", "destructiveHint: false"
        return {"kind": kind, "annotation": annotation, "capabilityKind": effect, "why": sure[effect].why}
    return None


def _is_destructive(match: CapabilityMatch) -> bool:
    return match.capability == "financial_action" or (match.capability in _DESTRUCTIVE and match.is_overwriting)


def _matches_by_tool(catalog: Catalog) -> dict[int, list[CapabilityMatch]]:
    by_tool: dict[int, list[CapabilityMatch]] = {}
    for tool, match in capability_matches(catalog):
        by_tool.setdefault(id(tool), []).append(match)
    return by_tool


@surface_rule(
    "destructive_tools_declare_destructive_hint",
    "undeclared-destructive-tools",
    "medium",
    weight=4,
    chosen=("severity", "weight"),
    sums_up=identity("hits", "toolName", "capabilityKind"),
)
def destructive_tools_declare_destructive_hint(catalog: Catalog) -> Iterator[Problem]:
    """A tool that deletes, overwrites or pays does not declare `destructiveHint: true`.

    Why: clients that ask before destructive calls rely on the hint; without it, some ask always and others never.
    Fix: set `"destructiveHint": true` in the tool's `annotations`.
    """
    by_tool = _matches_by_tool(catalog)
    undeclared: list[tuple[Tool, CapabilityMatch]] = []
    for tool in catalog.tools:
        hints = tool.fields.get("annotations")
        if (isinstance(hints, dict) and hints.get("destructiveHint") is True) or not tool.knows_all("/annotations"):
            continue
        matches = by_tool.get(id(tool), [])
        sure = (match for match in reversed(matches) if match.is_sure and _is_destructive(match))
        destroying = {match.capability: match for match in sure}
        if destroying:
            undeclared.append((tool, next(destroying[kind] for kind in _DESTRUCTIVE if kind in destroying)))
    if undeclared:
        hits = [{"toolName": tool.label, "capabilityKind": match.capability} for tool, match in undeclared]
        verb = "does" if len(hits) == 1 else "do"
        reasons = [(tool.label, match.why) for tool, match in undeclared]
        message = because(reasons, f"may destroy something and {verb} not declare `destructiveHint: true`")
        yield Problem(message, evidence={"hits": hits}, near=near(undeclared[0][0]))


_USES = {"connect": "send requests to", "frame": "show pages of", "resource": "load scripts, styles or images from"}


@trust_rule(
    Apps,
    "TRU-121",
    "app-reaches-outside",
    "medium",
    category="capability",
    dimension="Tool surface risk",
    phase="post-handshake",
    sums_up=identity("domains", "use", "domain"),
)
def app_reaches_outside(apps: Apps) -> Iterator[Problem]:
    """The pages of a server's MCP Apps (`ui://`) may reach addresses outside the server.

    Why: the page gets the arguments and results of the tool, and can send them there. It is shown between the messages
    of a trusted client, also for advertisements.
    Fix: bundle scripts and styles with the page, and let it ask the server instead of other hosts.

    Read are the domains that a resource declares in its list (`_meta.ui.csp`, `openai/widgetCSP`), and of a live server
    also when it is read. Without a declaration clients let a page reach nothing. Addresses that it only loads from are
    of severity info, all addresses (`*`) of severity high. OWASP MCP10.
    """
    for use, action in _USES.items():
        domains = [domain for domain in apps.domains if domain.use == use]
        if domains:
            pages = few(domain.uri for domain in domains)
            is_any = any(domain.domain.removeprefix("https://").strip("/") == "*" for domain in domains)
            yield Problem(
                f"the pages of apps may {action} {few(domain.domain for domain in domains)} ({pages})",
                evidence={"domains": [domain._asdict() for domain in domains]},
                severity="info" if use == "resource" else "high" if is_any else None,
            )
