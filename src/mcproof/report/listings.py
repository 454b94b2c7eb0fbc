"""Client profiles as a table, and one with all its facts, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.clients.constraints import in_a_sentence
from mcproof.checks.clients.profiles import EFFECTS
from mcproof.core.console import display_width, plural, wrapped
from mcproof.report.client_grid import KIND_WORDS
from mcproof.runs.records import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcproof.checks.clients.profiles import Constraint, Profile
    from mcproof.core.console import Style
    from mcproof.runs.records import Record

_SOURCES = {
    "documented": "documentation",
    "source": "source code",
    "run": "tried",
    "issue": "issue",
    "secondary": "second-hand",
    "configuration": "configuration",
}
_INDENT = 4
_NAME_WIDTH = 28


def newest_date(profile: Profile) -> str:
    """Return the date of the newest fact about a client."""
    return max((fact.newest for fact in profile.constraints), default="")


def client_table(profiles: Sequence[Profile], style: Style) -> Iterator[str]:
    """Render one line a client: id, name, kind, number of facts, when it was checked, and its newest fact."""
    titles = ("id", "name", "kind", "facts", "checked", "newest fact")
    rows = [
        (
            style.shortened(each.id, _NAME_WIDTH),
            style.shortened(each.name, _NAME_WIDTH),
            KIND_WORDS.get(each.kind, style.text(each.kind, 20)),
            str(len(each.constraints)),
            style.text(each.checked, 10),
            style.text(newest_date(each), 10),
        )
        for each in profiles
    ]
    keep = [0, 1, 2, 3, 4, 5]
    for dropped in (2, 4, 1):  # the least important first
        if _width(keep, titles, rows) <= style.width:
            break
        keep.remove(dropped)
    widths = [max(display_width(row[column]) for row in (titles, *rows)) for column in range(len(titles))]
    for number, row in enumerate((titles, *rows)):
        cells = [row[column] + " " * (widths[column] - display_width(row[column])) for column in keep]
        line = "  ".join(cells).rstrip()
        yield (line if number else style.paint(line, "dim")) + "\n"
    facts = sum(len(each.constraints) for each in profiles)
    yield "\n"
    hint = f"{plural(facts, 'fact')} about {len(profiles):,} profiles; `mcproof clients NAME` shows those about one"
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
    if not profile.is_shipped:
        about.append("from the configuration, at least in part")
    for text in filter(None, about):
        yield from _lines(style.text(text), style, 0)
    for fact in sorted(profile.constraints, key=lambda each: list(EFFECTS).index(each.effect)):
        yield "\n"
        yield from _fact(fact, style)


def _fact(fact: Constraint, style: Style) -> Iterator[str]:
    """Render one constraint with its effect, conditions, doubts and sources."""
    first, *others = _lines(style.text(in_a_sentence(fact), 600), style, 0)
    yield style.paint(first.rstrip("\n"), "bold") + "\n"
    yield from (style.paint(line.rstrip("\n"), "bold") + "\n" for line in others)
    level, effect = fact.level, EFFECTS[fact.effect][1].removesuffix(" in")
    marks = (("opt-in", fact.opt_in), ("conditional", fact.conditional), ("disputed", fact.disputed))
    status = ", ".join([fact.status, *(word for word, holds in marks if holds), fact.rule])
    yield from _lines(f"{style.paint(level, level)}: {effect} ({style.text(status)})", style)
    fixed = fact.fixed_version or fact.fixed_date
    notes = [("fixed in", fixed), ("message", fact.error and f"`{fact.error}`"), ("doubt", fact.doubt)]
    for label, text in notes:
        if text:
            yield from _lines(f"{label}: {style.text(text, 600)}", style)
    for source in fact.sources:
        word = _SOURCES.get(source.kind, source.kind)
        yield f"{' ' * _INDENT}{style.text(source.date, 10)} {style.text(word, 20)}: {style.text(source.url)}\n"


def _lines(text: str, style: Style, indent: int = _INDENT) -> list[str]:
    first, *others = wrapped(text, style.width, used=indent, indent=indent + 4)
    return [f"{' ' * indent}{first}\n", *(f"{line}\n" for line in others)]


def clients_page(profiles: Sequence[Profile]) -> str:
    """Return the documentation page with the table of profiles, as Markdown."""
    facts = sum(len(each.constraints) for each in profiles)
    lines = [
        "# Clients",
        "",
        f"The {len(profiles)} profiles of [`mcproof compat`](compat.md), with {facts} facts. "
        "`mcproof clients NAME` shows the facts about one, with sources and dates.",
        "",
        "| id | name | kind | passes tools on to | facts | checked | newest fact |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in profiles:
        cells = (
            f"`{each.id}`",
            f"{each.name} ({each.about})" if each.about else each.name,
            KIND_WORDS.get(each.kind, each.kind),
            ", ".join(f"`{api}`" for api in each.sends_to),
            str(len(each.constraints)),
            each.checked,
            newest_date(each),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def client_document(profiles: Sequence[Profile]) -> Record:
    """Return the profiles with all their facts as a JSON document."""
    return {"schema_version": SCHEMA_VERSION, "clients": [_client(each) for each in profiles]}


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


def _constraint(fact: Constraint) -> Record:
    return {
        "id": fact.id,
        "rule": fact.rule,
        "kind": fact.kind,
        "params": dict(fact.params),
        "says": in_a_sentence(fact),
        "effect": fact.effect,
        "level": fact.level,
        "status": fact.status,
        "opt_in": fact.opt_in,
        "conditional": fact.conditional,
        "disputed": fact.disputed,
        "when": fact.when,
        "doubt": fact.doubt,
        "error": fact.error,
        "fixed_version": fact.fixed_version,
        "fixed_date": fact.fixed_date,
        "sources": [source._asdict() for source in fact.sources],
    }
