"""Lists that commands print: advisories, client profiles, tools, and what `lock` changed, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcproof.checks.advisories import Advisory, conditions
from mcproof.checks.clients.profiles import EFFECTS, Constraint, Profile, in_a_sentence
from mcproof.checks.scores.tokens import tool_tokens
from mcproof.core.console import Style, display_width, in_columns, padded, plural, wrapped
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record
from mcproof.report.grids import KIND_WORDS
from mcproof.runs.records import SCHEMA_VERSION, Record, encode, encoded, listed, printable, small_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcproof.checks.subjects import Difference
    from mcproof.core.catalog.model import Catalog, Tool
    from mcproof.runs.results import LockedTarget, LockOutcome


_INDENT = 4
_LEVELS = {"critical": "error", "high": "error", "medium": "warning", "low": "note", "info": "note"}


def advisory_lines(advisories: Sequence[Advisory], checked: str, style: Style) -> Iterator[str]:
    """Render advisories for people, package by package."""
    package = ""
    for advisory in advisories:
        if advisory.package != package:
            package = advisory.package
            yield style.paint(f"{package} ({advisory.ecosystem})", "bold") + "\n"
        yield from _advisory(advisory, style)
    packages = len({(advisory.ecosystem, advisory.package) for advisory in advisories})
    summary = f"{len(advisories):,} {'advisory' if len(advisories) == 1 else 'advisories'}"
    yield f"\n{summary} about {plural(packages, 'package')}, checked {checked}\n"


def _advisory(advisory: Advisory, style: Style) -> Iterator[str]:
    fixed = f"fixed in {advisory.fixed}" if advisory.fixed is not None else "no fixed version known"
    severity = style.paint(advisory.severity, _LEVELS[advisory.severity])
    yield f"  {style.paint(advisory.id, 'bold')} {severity}, {advisory.kind}: {advisory.vulnerable}, {fixed}\n"
    condition = conditions(advisory)
    texts = [advisory.summary, f"Applies if {condition}." if condition else "", advisory.note, advisory.reference]
    for text in filter(None, texts):
        yield from _lines(text, style, deeper=0)


def advisory_document(advisories: Sequence[Advisory], checked: str) -> Record:
    """Return advisories as a JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "checked": checked,
        "advisories": [{**advisory._asdict(), "applies_if": conditions(advisory) or None} for advisory in advisories],
    }


_SOURCES = {
    "documented": "documentation",
    "source": "source code",
    "run": "tried",
    "issue": "issue",
    "secondary": "second-hand",
    "configuration": "configuration",
}
_NAME_WIDTH = 28


def newest_date(profile: Profile) -> str:
    """Return the date of the newest fact about a client."""
    return max((fact.newest for fact in profile.constraints), default="")


def client_table(profiles: Sequence[Profile], style: Style) -> Iterator[str]:
    """Render one line a client: id, name, kind, number of facts, when it was checked, and its newest fact."""
    titles = ("id", "name", "kind", "facts", "checked", "newest fact")
    rows = [
        (
            style.shortened(profile.id, _NAME_WIDTH),
            style.shortened(profile.name, _NAME_WIDTH),
            KIND_WORDS.get(profile.kind, style.text(profile.kind, 20)),
            str(len(profile.constraints)),
            style.text(profile.checked, 10),
            style.text(newest_date(profile), 10),
        )
        for profile in profiles
    ]
    keep = [0, 1, 2, 3, 4, 5]
    for dropped in (2, 4, 1):  # the least important first
        if _width(keep, titles, rows) <= style.width:
            break
        keep.remove(dropped)
    head, *lines = in_columns([[row[column] for column in keep] for row in (titles, *rows)])
    yield style.paint(head, "dim") + "\n"
    yield from (f"{line}\n" for line in lines)
    facts = sum(len(profile.constraints) for profile in profiles)
    yield "\n"
    about = f"{plural(facts, 'fact')} about {len(profiles):,} profiles"
    hint = f"{about}; `mcproof explain clients NAME` shows those about one"
    yield from (f"{line}\n" for line in wrapped(hint, style.width, indent=_INDENT))


def _width(columns: list[int], titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> int:
    widths = [max(display_width(row[column]) for row in (titles, *rows)) for column in columns]
    return sum(widths) + 2 * (len(widths) - 1)


def client_page(profile: Profile, profiles: Mapping[str, Profile], style: Style) -> Iterator[str]:
    """Render every fact about a client, the worst effect first."""
    yield style.paint(f"{style.text(profile.name)} ({style.text(profile.id)})", "bold") + "\n"
    kind = KIND_WORDS.get(profile.kind, style.text(profile.kind, 20))
    checked = f", checked {style.text(profile.checked, 10)}" if profile.checked else ""
    about = [f"{kind}{checked}, {plural(len(profile.constraints), 'fact')}", profile.about]
    if profile.sends_to:
        names = ", ".join(profiles[api].name for api in profile.sends_to if api in profiles)
        about.append(f"passes tools on to: {names}")
    if profile.repairs:
        rules = ", ".join(repair.rule for repair in profile.repairs)
        about.append(f"mends before that: {rules}, by its code ({profile.repairs[0].source.url})")
    if not profile.is_shipped:
        about.append("from the configuration, at least in part")
    for text in filter(None, about):
        yield from _lines(style.text(text), style, 0)
    for fact in sorted(profile.constraints, key=lambda constraint: list(EFFECTS).index(constraint.effect)):
        yield "\n"
        yield from _fact(fact, style)


def _fact(fact: Constraint, style: Style) -> Iterator[str]:
    """Render one constraint with its effect, conditions, doubts and sources."""
    for line in _lines(style.text(in_a_sentence(fact), 600), style, 0):
        yield style.paint(line.rstrip("\n"), "bold") + "\n"
    level, effect = fact.level, EFFECTS[fact.effect][1].removesuffix(" in")
    flags = (("opt-in", fact.opt_in), ("conditional", fact.conditional), ("disputed", fact.disputed))
    status = ", ".join([fact.status, *(word for word, holds in flags if holds), fact.rule])
    yield from _lines(f"{style.paint(level, level)}: {effect} ({style.text(status)})", style)
    fixed = fact.fixed_version or fact.fixed_date
    notes = [("fixed in", fixed), ("message", fact.error and f"`{fact.error}`"), ("doubt", fact.doubt)]
    for label, text in notes:
        if text:
            yield from _lines(f"{label}: {style.text(text, 600)}", style)
    for source in fact.sources:
        word = _SOURCES.get(source.kind, source.kind)
        yield f"{' ' * _INDENT}{style.text(source.date, 10)} {style.text(word, 20)}: {style.text(source.url)}\n"


def _lines(text: str, style: Style, indent: int = _INDENT, deeper: int = 4) -> list[str]:
    first, *others = wrapped(text, style.width, used=indent, indent=indent + deeper)
    return [f"{' ' * indent}{first}\n", *(f"{line}\n" for line in others)]


def client_document(profiles: Sequence[Profile]) -> Record:
    """Return the profiles with all their facts as a JSON document."""
    return {"schema_version": SCHEMA_VERSION, "clients": [_client(profile) for profile in profiles]}


def _client(profile: Profile) -> Record:
    return {
        "id": profile.id,
        "name": profile.name,
        "about": profile.about,
        "kind": profile.kind,
        "checked": profile.checked,
        "newest": newest_date(profile),
        "sends_to": list(profile.sends_to),
        "shipped": profile.is_shipped,
        "constraints": [_constraint(fact) for fact in profile.constraints],
    }


_FACT_KEYS = (
    *("id", "rule", "kind", "params", "says", "effect", "level", "status", "opt_in", "conditional", "disputed", "when"),
    *("doubt", "error", "fixed_version", "fixed_date", "sources"),
)


def _constraint(fact: Constraint) -> Record:
    sources = [source._asdict() for source in fact.sources]
    other = {"params": dict(fact.params), "says": in_a_sentence(fact), "sources": sources}
    return {key: other[key] if key in other else getattr(fact, key) for key in _FACT_KEYS}


_LONGEST_LINE = 400


def lock_lines(outcome: LockOutcome, style: Style) -> Iterator[str]:
    """Render the outcome for people: a line for each target, then its differences."""
    for target in outcome.targets:
        yield f"{style.paint(style.text(target.target), 'bold')}: {_status(target)}\n"
        for difference in target.drift.differences if target.drift is not None else ():
            yield from _difference_lines(difference, style)
    count = sum(target.status != "dropped" for target in outcome.targets)
    if outcome.is_written:
        yield f"{outcome.file}: {plural(count, 'target')} locked\n"
        return
    verdict = "passed: equals" if outcome.is_equal else "failed: differs from"
    yield f"{style.paint(verdict, 'good' if outcome.is_equal else 'error')} {outcome.file}; nothing was written\n"


def _status(target: LockedTarget) -> str:
    if target.status == "dropped":
        return "dropped, the file no longer exists"
    tools = plural(target.counts.get("tools", 0), "tool")
    if target.status == "changed" and target.drift is not None:
        return f"{tools}, {target.drift.summary or 'other parts are known now'}"
    return f"{tools}, {target.status}"


def _difference_lines(difference: Difference, style: Style) -> Iterator[str]:
    name = f"{difference.item.kind} {difference.item.label}" if difference.item.kind != "server" else "server"
    fires = f" (now reported by {', '.join(difference.fires)})" if difference.fires else ""
    yield f"  {style.text(name)}: {style.text(difference.summary)}{fires}\n"
    for line in difference.lines:
        colour = {"-": "error", "+": "good"}.get(line[:1], "dim")
        for part in wrapped(style.text(line, _LONGEST_LINE), style.width, used=4, indent=6):
            yield f"    {style.paint(part.strip() if part.startswith(' ') else part, colour)}\n"


def lock_document(outcome: LockOutcome) -> list[str]:
    """Return the document of `mcproof lock --format json`."""
    return small_document(file=outcome.file, targets=[_target_record(target) for target in outcome.targets])


def _target_record(target: LockedTarget) -> Record:
    differences = target.drift.differences if target.drift is not None else []
    return {
        "target": target.target,
        "status": target.status,
        "hash": target.hash or None,
        "tools": target.counts.get("tools", 0),
        "differences": [
            {"kind": difference.kind, "subject": difference.item.subject, **difference.evidence}
            for difference in differences
        ],
    }


HINTS = {
    "readOnlyHint": ("read-only", "not read-only"),
    "destructiveHint": ("destructive", "not destructive"),
    "idempotentHint": ("idempotent", "not idempotent"),
    "openWorldHint": ("open-world", "closed-world"),
}
"""The annotations of a tool, each in words for true and for false."""


@record()
class ListedParameter(NamedTuple):
    """One parameter."""

    name: str
    """The name."""
    required: bool
    """Whether `required` lists it."""


@record()
class ListedTool(NamedTuple):
    """A tool as a listing shows it."""

    name: str
    description: str | None
    parameters: list[ListedParameter]
    hints: dict[str, bool]
    """The declared annotations, by their key."""
    tokens: int


class ToolListing(NamedTuple):
    """The tools of a catalog."""

    target: str
    server: str
    """The name and version of the server; empty if unknown."""
    tools: list[ListedTool]

    @property
    def tokens(self) -> int:
        return sum(tool.tokens for tool in self.tools)


def tool_listing(catalog: Catalog) -> ToolListing:
    """List the tools of a catalog, in its order."""
    info = catalog.server_info
    named = [info[key] for key in ("name", "version") if isinstance(info.get(key), str) and info[key]]
    return ToolListing(catalog.name, " ".join(named), [_listed_tool(tool) for tool in catalog.tools])


def _listed_tool(tool: Tool) -> ListedTool:
    given = tool.fields.get("annotations")
    hints = given if isinstance(given, dict) else {}
    return ListedTool(
        name=tool.label,
        description=tool.description or None,
        parameters=_parameters(tool),
        hints={key: hints[key] for key in HINTS if isinstance(hints.get(key), bool)},
        tokens=tool_tokens(tool),
    )


def _parameters(tool: Tool) -> list[ListedParameter]:
    """The declared parameters, then those that are only required."""
    named = tool.schema.get("required") if tool.schema is not None else None
    # A schema may come in any shape, also with `required: true` or numbers in it.
    required = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return [ListedParameter(name, name in required) for name in dict.fromkeys([*tool.parameters, *required])]


def listing_document(listing: ToolListing) -> Iterator[str]:
    """Write the document of `mcproof tools --format json`, one tool a line."""
    head = {"schema_version": SCHEMA_VERSION, "target": listing.target, "server": listing.server or None}
    yield "{" + "".join(f"{encode(key)}: {printable(encode(value))},\n" for key, value in head.items())
    yield from listed("tools", map(encoded, listing.tools))
    yield f',\n"tokens": {listing.tokens}}}\n'


def tool_lines(tool: Tool, style: Style) -> Iterator[str]:
    """Render one tool whole: its name, its description, and everything else that the server sends of it."""
    yield f"{style.paint(style.text(tool.label, 200), 'bold')}{_GAP}{plural(tool_tokens(tool), 'token')}\n"
    for line in tool.description.splitlines():
        yield f"{'  ' if line else ''}{style.text(line, 1_000)}\n"
    for key, value in tool.fields.items():
        if key not in ("name", "description"):
            yield f"\n{style.paint(style.text(key, 100), 'bold')}\n"
            for line in json.dumps(value, indent=2, ensure_ascii=False).splitlines():
                yield f"  {style.text(line, 1_000)}\n"


_GAP = "  "
_HEADINGS = ("tool", "parameters", "hints", "tokens")
_NARROWEST = 10
"""The least width of a column that wraps."""


def tool_table(listing: ToolListing, style: Style) -> Iterator[str]:
    """Render the tools: names are never cropped, parameters and hints wrap."""
    title = f"{style.text(listing.server, 100)}{_GAP}" if listing.server else ""
    yield f"{style.paint(title, 'bold')}{style.text(listing.target)}\n"
    if listing.tools:
        yield "\n"
        yield from _table(listing.tools, style)
        yield "\n"
    yield _total(listing)


def _table(tools: list[ListedTool], style: Style) -> Iterator[str]:
    hints = [[HINTS[key][not value] for key, value in tool.hints.items()] or ["-"] for tool in tools]
    widths = _widths(tools, hints, style)
    yield style.paint(_line(_HEADINGS, widths), "bold") + "\n"
    for tool, words in zip(tools, hints, strict=True):
        yield from _row(tool, words, widths, style)


def _row(tool: ListedTool, hints: list[str], widths: tuple[int, ...], style: Style) -> Iterator[str]:
    columns = [_wrapped(_parameter_lines(tool), widths[1], style), _wrapped(hints, widths[2], style)]
    names, tokens = [style.text(tool.name)], f"{tool.tokens:,}"
    # A name is what the user copies, so it is never cropped and rather takes a line of its own.
    if display_width(names[0]) > widths[0]:
        yield f"{names[0]}\n"
        names = [""]
    for number in range(max(map(len, columns))):
        cells = [lines[number] if number < len(lines) else "" for lines in (names, *columns)]
        yield _line([*cells, tokens if number == 0 else ""], widths) + "\n"


def _parameter_lines(tool: ListedTool) -> list[str]:
    return [f"{parameter.name}{'*' if parameter.required else ''}" for parameter in tool.parameters] or ["-"]


def _widths(tools: list[ListedTool], hints: list[list[str]], style: Style) -> tuple[int, ...]:
    """The widths of the columns: long names take a line of their own, parameters the width that is left."""
    tokens = max(len(_HEADINGS[3]), *(len(f"{tool.tokens:,}") for tool in tools))
    most = max(_NARROWEST, style.width * 3 // 10)
    name = _widest([_HEADINGS[0], *(style.text(tool.name) for tool in tools)], most)
    wide = style.width >= 100
    hint_texts = (", ".join(words) if wide else f"{word}," for words in hints for word in words)
    hint = min(max(map(display_width, (_HEADINGS[2], *hint_texts))), 40 if wide else most)
    used = name + hint + tokens + 3 * len(_GAP)
    lists = (style.text(", ".join(_parameter_lines(tool))) for tool in tools)
    widest = max(map(display_width, (_HEADINGS[1], *lists)))
    parameters = min(widest, max(_NARROWEST, style.width - used))
    return name, parameters, hint, tokens


def _widest(texts: Iterable[str], most: int) -> int:
    """The width of the widest text that is not wider than `most`."""
    return max((width for text in texts if (width := display_width(text)) <= most), default=most)


def _wrapped(words: list[str], width: int, style: Style) -> list[str]:
    """Join words with commas, in lines of a width; a longer word is cropped."""
    lines: list[str] = []
    for number, word in enumerate(words):
        comma = "," if number < len(words) - 1 else ""
        shown = f"{style.fitting(word, width - len(comma))}{comma}"
        if lines and display_width(lines[-1]) + 1 + display_width(shown) <= width:
            lines[-1] += f" {shown}"
        else:
            lines.append(shown)
    return lines


def _line(cells: Iterable[str], widths: tuple[int, ...]) -> str:
    *texts, tokens = cells
    return _GAP.join([*map(padded, texts, widths), f"{tokens:>{widths[-1]}}"]).rstrip()


def _total(listing: ToolListing) -> str:
    if not listing.tools:
        return "no tools\n"
    legend = (
        "; * required" if any(parameter.required for tool in listing.tools for parameter in tool.parameters) else ""
    )
    return f"{plural(len(listing.tools), 'tool')}, {listing.tokens:,} tokens in every request{legend}\n"
