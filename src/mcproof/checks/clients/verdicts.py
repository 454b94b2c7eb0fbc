"""What a catalog does in each client: works, degraded or breaks, tool by tool, and what to change to gain most.

A client that passes tools on to one model API has that API's outcomes too. Where the user chooses among several
APIs, those degrade a tool at most. Verdicts are derived from effects and statuses, never stored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from mcproof.checks.clients.profiles import EFFECTS, ClientChoice, Status, effect_level
from mcproof.core.console import plural
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import Count, Position, Text, member, record

if TYPE_CHECKING:
    from mcproof.checks.clients.hits import ClientHit
    from mcproof.checks.findings import Level


Verdict = Literal["works", "degraded", "breaks"]
VERDICTS: tuple[Verdict, ...] = ("works", "degraded", "breaks")
"""The verdicts, the best first."""
VERDICT_OF: dict[str, Verdict] = {"error": "breaks", "warning": "degraded", "note": "works"}


CompatRule = Annotated[Text, member(pattern=r"^CMP-\d{3}$")]


@record()
class BrokenConstraint(NamedTuple):
    """A constraint that a tool, or the server as a whole, breaks."""

    constraint: Text
    """The id of the constraint in its profile."""
    rule: CompatRule
    """The rule that reports it."""
    effect: Annotated[str, member(enum=EFFECTS)]
    """What happens in the client."""
    status: Status
    """How well the fact is known to hold today."""
    tool: str | None
    """The name of the tool; None for the server as a whole."""
    pointer: str
    """The JSON pointer of the place, from the tool."""
    opt_in: bool
    """Whether it only applies in a mode that the user turns on."""
    conditional: bool
    """Whether it only applies if the client passes schemas on unchanged."""
    counts: bool
    """Whether it counts for the verdict."""

    @property
    def level(self) -> Level:
        return effect_level(self.effect, self.status, conditional=self.conditional)


@record("client", "kind", "checked", "sends_to", "repairs", "name", "verdict", "through", "hits")
class ClientOutcome(NamedTuple):
    """What one client makes of the server."""

    client: Text
    """The id of the profile."""
    name: Text
    """The name of the client."""
    kind: Text
    """What it is: a client, a model API, an SDK."""
    checked: str
    """The date when the facts were last checked."""
    verdict: Verdict
    """Whether the server works in the client."""
    hits: list[BrokenConstraint]
    """The client's own constraints that the server breaks."""
    through: tuple[str, ...] = ()
    """The model APIs behind the client that decide the verdict."""
    sends_to: tuple[str, ...] = ()
    """The ids of the model APIs behind the client."""
    repairs: Annotated[tuple[CompatRule, ...], member(presence="unless empty")] = ()
    """The rules whose violations the client mends before it passes a tool on to a model API."""


def judge_clients(choice: ClientChoice, hits: Iterable[tuple[str | None, ClientHit]]) -> list[ClientOutcome]:
    """Return the outcome for every client, in the order of the profiles."""
    by_client: dict[str, list[BrokenConstraint]] = {name: [] for name in choice.profiles}
    for tool, hit in hits:
        by_client[hit.active.profile.id].append(_broken(tool, hit))
    outcomes = []
    for name, profile in choice.profiles.items():
        own = _verdict(by_client[name])
        repaired = tuple(repair.rule for repair in profile.repairs)
        behind = {
            choice.profiles[api].name: _verdict(hit for hit in by_client[api] if hit.rule not in repaired)
            for api in profile.sends_to
            if api in by_client
        }
        if len(behind) > 1:  # which of them is used is the user's choice
            behind = {api: "degraded" if inherited == "breaks" else inherited for api, inherited in behind.items()}
        verdict = max(own, *behind.values(), key=VERDICTS.index) if behind else own
        through = tuple(api for api, inherited in behind.items() if inherited == verdict != own)
        outcomes.append(
            ClientOutcome(
                client=name,
                name=profile.name,
                kind=profile.kind,
                checked=profile.checked,
                verdict=verdict,
                hits=by_client[name],
                through=through,
                sends_to=tuple(api for api in profile.sends_to if api in by_client),
                repairs=repaired,
            )
        )
    return outcomes


def _verdict(hits: Iterable[BrokenConstraint]) -> Verdict:
    return max((VERDICT_OF[hit.level] for hit in hits if hit.counts), key=VERDICTS.index, default="works")


def _broken(tool: str | None, hit: ClientHit) -> BrokenConstraint:
    fact = hit.active.constraint
    return BrokenConstraint(
        constraint=fact.id,
        rule=fact.rule,
        effect=fact.effect,
        status=fact.status,
        tool=tool,
        pointer=hit.pointer,
        opt_in=fact.opt_in,
        conditional=fact.conditional,
        counts=hit.active.holds,
    )


ToolOutcome = Literal["works", "degraded", "lost", "breaks"]
TOOL_OUTCOMES: tuple[ToolOutcome, ...] = ("works", "degraded", "lost", "breaks")
"""The outcomes of a tool, the best first; `lost` is one that works, but is lost with its neighbours."""
_TAKING_ALL = frozenset({"list_rejected", "request_rejected"})
"""Effects that take the other tools of the server with them."""


class RuleEffect:
    """What the hits of one rule do in one client."""

    __slots__ = ("breaking", "degraded", "server", "takes_all")

    def __init__(self) -> None:
        self.breaking: set[str] = set()
        """The tools that break."""
        self.degraded: set[str] = set()
        self.server: Verdict = "works"
        """The verdict of hits on the server as a whole."""
        self.takes_all = False
        """Whether a hit takes all other tools with it."""

    def add(self, hit: BrokenConstraint, *, is_one_of_several: bool) -> None:
        verdict = VERDICT_OF[hit.level]
        # The user may choose another model API, in which the tool works.
        if is_one_of_several and verdict == "breaks":
            verdict = "degraded"
        if hit.tool is None:
            self.server = max(self.server, verdict, key=VERDICTS.index)
        elif verdict != "works":
            (self.breaking if verdict == "breaks" else self.degraded).add(hit.tool)
        if verdict == "breaks" and hit.effect in _TAKING_ALL:
            self.takes_all = True


class ClientEffects(NamedTuple):
    """What a client makes of each tool, by the rules that decide it."""

    outcome: ClientOutcome
    by_rule: dict[str, RuleEffect]

    def tool(self, name: str) -> ToolOutcome:
        """The outcome of a tool."""
        effects = self.by_rule.values()
        if any(name in effect.breaking for effect in effects):
            return "breaks"
        if self.loses_all:
            return "lost"
        return "degraded" if any(name in effect.degraded for effect in effects) else "works"

    @property
    def server(self) -> Verdict:
        """The verdict of hits on the server as a whole."""
        return max((effect.server for effect in self.by_rule.values()), key=VERDICTS.index, default="works")

    @property
    def loses_all(self) -> bool:
        return any(effect.takes_all for effect in self.by_rule.values())

    def tools(self, attribute: Literal["breaking", "degraded"]) -> set[str]:
        """The tools that break, or that are degraded."""
        return set().union(*(getattr(effect, attribute) for effect in self.by_rule.values()))

    def without(self, rules: Collection[str]) -> ClientEffects:
        """The effects that remain once the hits of rules are fixed."""
        return self._replace(by_rule={rule: effect for rule, effect in self.by_rule.items() if rule not in rules})

    @property
    def verdict(self) -> Verdict:
        if self.server == "breaks" or self.tools("breaking"):
            return "breaks"
        return "degraded" if self.server == "degraded" or self.tools("degraded") else "works"

    def missing(self, total: int) -> int:
        """How many of the server's tools cannot be used."""
        return total if self.loses_all else min(total, len(self.tools("breaking")))


@record()
class ClientGain(NamedTuple):
    """What a change gains in one client."""

    client: Text
    """The id of the profile."""
    name: Text
    """Its name."""
    kind: Text
    """What it is: a client, a model API, an SDK."""
    tools: Count
    """How many more tools can be used."""
    before: Verdict
    """The verdict before the change."""
    after: Verdict
    """The verdict after it."""


@record("rule", "remedy", "places", "tools", "clients", "gains")
class Improvement(NamedTuple):
    """A step of what to change, and what it gains after the steps before it."""

    rule: CompatRule
    """The rule."""
    places: Position
    """The number of places to change."""
    tools: Count
    """The number of tools that break the rule."""
    gains: tuple[ClientGain, ...] = ()
    """The clients with a better verdict or more tools."""
    remedy: str = ""
    """What to do, in words."""

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients whose verdict gets better."""
        return tuple(gain.name for gain in self.gains if gain.before != gain.after)


def client_effects(outcomes: Sequence[ClientOutcome]) -> list[ClientEffects]:
    """Return the effects on each client, those of the model APIs behind it included."""
    by_id = {outcome.client: outcome for outcome in outcomes}
    clients = []
    for outcome in outcomes:
        client = ClientEffects(outcome, {})
        is_one_of_several = len(outcome.sends_to) > 1
        for source in (outcome, *(by_id[api] for api in outcome.sends_to if api in by_id)):
            for hit in _counting(source.hits):
                if source is not outcome and hit.rule in outcome.repairs:
                    continue
                effect = client.by_rule.setdefault(hit.rule, RuleEffect())
                effect.add(hit, is_one_of_several=is_one_of_several and source is not outcome)
        clients.append(client)
    return clients


def _counting(hits: Iterable[BrokenConstraint]) -> Iterator[BrokenConstraint]:
    return (hit for hit in hits if hit.counts and hit.level != "note")


_REMEDIES = {
    "CMP-001": "use at most 64 letters, digits and underscores in {name}",
    "CMP-002": "shorten {name} to 64 characters",
    "CMP-003": "shorten {name}, or recommend a shorter server name",
    "CMP-004": "rename {tool} with the name of another",
    "CMP-005": "describe {tool}",
    "CMP-006": "shorten {description}",
    "CMP-007": "shorten {parameter description}",
    "CMP-010": "make {input schema} `type: object`",
    "CMP-011": "replace the combinator at the root of {input schema}",
    "CMP-012": "add `properties: {{}}` to {input schema}",
    "CMP-013": "rename {parameter}",
    "CMP-014": "list only declared properties in {`required` list}",
    "CMP-020": "add `items` to {array}",
    "CMP-021": "replace {list of `items`} with one schema",
    "CMP-022": "rewrite {non-object schema}",
    "CMP-023": "give {list of types} a single type",
    "CMP-024": "give {schema} a type",
    "CMP-025": "drop `type` beside {union}",
    "CMP-026": "use distinct, non-empty strings in {enum}",
    "CMP-027": "drop {`format` keyword}",
    "CMP-028": "anchor or simplify {pattern}",
    "CMP-029": "lower or drop {large bound}",
    "CMP-030": "replace {`$ref`}",
    "CMP-031": "drop {refused keyword}",
    "CMP-032": "do not rely on {ignored keyword}",
    "CMP-033": "make {input schema} valid JSON Schema",
    "CMP-034": "drop `$schema` from {input schema}",
    "CMP-040": "shrink {schema}",
    "CMP-041": "use the shape of strict mode in {place}",
    "CMP-050": "make {output schema} `type: object`",
    "CMP-051": "drop `$schema` from {output schema}",
    "CMP-052": "simplify {output schema}",
    "CMP-060": "offer fewer tools",
    "CMP-061": "offer fewer or smaller tools",
    "CMP-062": "shorten the instructions",
    "CMP-063": "offer fewer tools, optional parameters and unions",
    "CMP-064": "return all tools on the first page",
    "CMP-066": "set `readOnlyHint` on {tool}, if reading",
    "CMP-070": "drop or correct {member}",
}
"""One phrase a rule; `{noun}` is replaced with their number."""
_PER_TOOL = frozenset({"tool", "name", "description", "input schema", "output schema"})
"""Nouns of which a tool has one."""
_NOUN = re.compile(r"(?<!\{)\{([^{}]+)\}(?!\})")


def _remedy(rule: str, places: int, tools: int) -> str:
    """What to change about the findings of a rule, such as "drop `$schema` from 7 output schemas"."""

    def counted(match: re.Match[str]) -> str:
        head, of, rest = match[1].partition(" of ")
        return plural(tools if match[1] in _PER_TOOL and tools else places, head) + of + rest

    return _NOUN.sub(counted, _REMEDIES.get(rule, f"fix {{place}} of {rule}")).replace("{{}}", "{}")


def improvements(outcomes: Sequence[ClientOutcome], total: int, named: Collection[str] = ()) -> list[Improvement]:
    """Return what to change, each step the one that gains most after those before it.

    A step gains by the number of clients with a better verdict or more tools, then of other profiles, then by tools.
    `total` is the number of tools of the server; `named` limits the clients.
    """
    places: dict[str, set[tuple[str | None, str]]] = {}
    for outcome in outcomes:
        for hit in _counting(outcome.hits):
            places.setdefault(hit.rule, set()).add((hit.tool, hit.pointer))
    effects = [client for client in client_effects(outcomes) if not named or client.outcome.client in named]
    remaining = sorted({rule for client in effects for rule in client.by_rule})
    steps: list[Improvement] = []
    while remaining:
        # Anew after each step: a rule may gain something only once another is fixed.
        gains = {rule: _gains(rule, effects, total) for rule in remaining}
        best = min(remaining, key=lambda rule: (*_worth(gains[rule]), -len(places[rule]), rule))
        hit_tools = {tool for tool, _ in places[best] if tool is not None}
        counts = len(places[best]), len(hit_tools)
        steps.append(Improvement(best, *counts, gains[best], _remedy(best, *counts)))
        effects = [client.without((best,)) for client in effects]
        remaining.remove(best)
    return steps


def _worth(gains: tuple[ClientGain, ...]) -> tuple[int, int, int]:
    """The value of gains, as a key that sorts the largest first."""
    clients = sum(gain.kind == "client" for gain in gains)
    return -clients, clients - len(gains), -sum(gain.tools for gain in gains)


def _gains(rule: str, effects: list[ClientEffects], total: int) -> tuple[ClientGain, ...]:
    """What fixing the findings of a rule gains, in each client that gains."""
    gains = []
    for client in effects:
        if rule not in client.by_rule:
            continue
        after = client.without((rule,))
        tools = client.missing(total) - after.missing(total)
        if tools or after.verdict != client.verdict:
            outcome = client.outcome
            names = outcome.client, outcome.name, outcome.kind
            gains.append(ClientGain(*names, tools=tools, before=client.verdict, after=after.verdict))
    return tuple(sorted(gains, key=lambda gain: (gain.kind != "client", -gain.tools)))
