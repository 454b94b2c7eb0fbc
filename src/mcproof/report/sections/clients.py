"""What each client makes of a server: the headline, the matrix, and what to change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcproof.core.console import shell_word
from mcproof.report.blocks import TEXT, Clients, Document, Findings, Hint, Only, Section, Sentence, Share, Step, Steps
from mcproof.report.grids import client_counts, client_grid, gain_phrases, shown_outcomes
from mcproof.report.sections import untested

if TYPE_CHECKING:
    from mcproof.report.blocks import Block
    from mcproof.runs.results import TargetResult


def compat_document(result: TargetResult) -> Document:
    """Return the matrix, unless everything works, and what to change."""
    payload = result.payload
    if payload.kind != "compat":
        raise ValueError("not a result about clients")
    counts = [f"{count[:1].upper()}{count[1:]}" for count in client_counts(payload)]
    sentences = [Sentence(text, has_gap=number == len(counts)) for number, text in enumerate(counts, 1)]
    body: list[Block] = [Only((TEXT,), sentences)]
    if any(outcome.verdict != "works" for outcome in shown_outcomes(payload)):
        clients = Clients(partial(client_grid, result, payload))
        body.append(Section("Clients and tools", [clients], long="", lead=""))
    if payload.improvements:
        steps = [
            Step(
                improvement.remedy,
                improvement.rule,
                "; ".join(gain_phrases(improvement)) or "no gain before the steps below",
                "{text} ({rule}): {gain}",
            )
            for improvement in payload.improvements
        ]
        body.append(Section("What to change", [Steps(steps)], gist="most clients gained first"))
        if payload.is_fixable:
            named = f" --for {','.join(payload.named)}" if payload.named else ""
            command = f"mcproof compat {shell_word(result.target)} --diff{named}"
            hint = Hint("Some of it can be fixed automatically, at no cost for any client", command)
            body.append(Only((TEXT,), [Section("", [hint])]))
    verdicts = [outcome.verdict for outcome in shown_outcomes(payload) if outcome.kind == "client"]
    shares = [
        Share("good", "✓", verdicts.count("works"), "work"),
        Share("fair", "!", verdicts.count("degraded"), "degraded"),
        Share("bad", "✗", verdicts.count("breaks"), "break"),
    ]
    return Document(body, [Findings(result, result.findings)], untested(result), shares)
