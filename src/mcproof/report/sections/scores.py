"""The grade and the trust in a server: the letter or verdict, its reasons and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.scores.grade import BONUS, BONUS_LENGTH, Grade
from mcproof.core.console import few, plural
from mcproof.report.blocks import (
    HTML,
    MARKDOWN,
    TEXT,
    Bullets,
    Card,
    Deductions,
    Document,
    Findings,
    Gains,
    Graph,
    Headline,
    Hint,
    Only,
    Panel,
    Reason,
    Reasons,
    Section,
    Sentence,
    Step,
    Steps,
    Tokens,
    Weakest,
)
from mcproof.report.phrases import (
    TONES,
    action_gain,
    outcome_counts,
    target_words,
    texts_sentence,
    trust_sentence,
    unseen_rules,
    withheld_sentence,
)
from mcproof.report.sections import not_judged, untested

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.scores.trust import Action
    from mcproof.report.blocks import Block
    from mcproof.runs.results import TargetResult


def grade_document(result: TargetResult) -> Document:
    """Return the card and the scores for text; other formats have the scores of every kind of run, and findings."""
    grade, tokens = result.scores.grade, result.scores.tokens
    if tokens is None or (grade is None and result.not_judged is None):
        raise ValueError("not a graded result")
    scope = f"{plural(result.counts.get('tools', 0), 'tool')}, {plural(tokens.total, 'token')}"
    body: list[Block] = []
    if grade is not None:
        body.append(Card(grade, result.title, scope, result.target if result.title != result.target else ""))
    elif result.not_judged is not None:
        body += [Headline(result.title, f": {scope}"), Sentence(withheld_sentence(result.not_judged))]
    body += score_blocks(result)
    if problems := sum(finding.rule.ruleset == "catalog" for finding in result.findings):
        # Problems with the input itself do not count for the grade.
        command = f"mcproof lint --ruleset catalog {target_words(result)}"
        body.append(Panel("", [Hint(" with the input itself; see", command, plural(problems, "problem"))]))
    after = [*not_judged(result), *untested(result)]
    return Document([Only((TEXT,), body)], [Only((MARKDOWN,), [Findings(result, result.findings)])], after)


def score_blocks(result: TargetResult) -> Iterator[Block]:
    """Yield what the scores of a target are made of, and what would raise them."""
    grade, tokens, descriptions = result.scores.grade, result.scores.tokens, result.scores.descriptions
    if grade is not None:
        places = Hint("Where, and what to write there", f"mcproof lint --select grade {target_words(result)}")
        advice = [Gains(grade), Only((TEXT,), [places])] if grade.gains and grade.score < 100 else []
        help_panel = Panel("What would help most", advice)
        # A page begins with the advice, and text ends with it: each where the eye is.
        if help_panel.blocks:
            yield Only((MARKDOWN, HTML), [help_panel])
        yield Only((TEXT, HTML), [Panel("Deductions", [Deductions(grade, list(_asides(result, grade)))])])
        if help_panel.blocks:
            yield Only((TEXT,), [help_panel])
    if descriptions is not None and descriptions.tools:
        # Its bad scores would seem to contradict a good letter.
        gist = f"{descriptions.mean:.2f} of 1.00 on average, which the letter does not count"
        if descriptions.weakest:
            gist += f"; the worst {len(descriptions.weakest)} of {len(descriptions.tools):,}"
        yield Only((TEXT,), [Panel("Descriptions", [Weakest(descriptions.weakest)], gist)])
    if tokens is not None and tokens.tools:
        gist = f"{plural(tokens.total, 'token')} in every request"
        yield Only((TEXT, HTML), [Panel("Context cost", [Tokens(tokens)], gist)])


def _asides(result: TargetResult, grade: Grade) -> Iterator[str]:
    """Yield what does not count for the score."""
    if grade.short_descriptions and not grade.bonus:
        yield f"no bonus of {BONUS}: {plural(grade.short_descriptions, 'description')} under {BONUS_LENGTH} characters"
    for by, words in (("ignore-for", "the configuration"), ("comment", "comments in the source")):
        ignored = sum(finding.suppression is not None and finding.suppression.by == by for finding in result.suppressed)
        if ignored:
            yield f"{plural(ignored, 'finding')} ignored by {words}, at no cost"


_NOUNS = {"commands": "command", "hint": "hint", "mentions": "mention"}


def scan_document(result: TargetResult) -> Document:
    """Return the verdict and its reasons, what to do, what was not judged, and which tools name each other."""
    payload = result.payload
    if payload.kind != "scan" or payload.trust is None:
        raise ValueError("not a result of a scan")
    trust, graph = payload.trust, payload.graph
    verdict, _, rest = trust_sentence(trust).partition(":")
    counts, texts = outcome_counts(trust), texts_sentence(trust)
    read = f"; the source that it starts was read: {payload.source}" if payload.source else ""
    # The configuration may lie in the folder of a stranger, so the verdict names what it leaves out.
    ignored = [found.suppression.file for found in result.suppressed if found.suppression is not None]
    if files := list(dict.fromkeys(ignored)):
        read += f"; {plural(len(ignored), 'finding')} left out by {few(files, 2)}"
    body: list[Block] = [
        Only((TEXT,), [Headline(verdict, f":{rest}", TONES[trust.verdict])]),
        Only((TEXT,), [Sentence(f"{counts}{read}", is_strong=False, has_gap=not texts)]),
        Only((MARKDOWN,), [Sentence(f"{counts}{read}.")]),
    ]
    if texts:
        body.append(Only((TEXT,), [Sentence(texts, is_strong=False, has_gap=True)]))
        body.append(Only((MARKDOWN,), [Sentence(f"{texts}.")]))
    if trust.reasons:
        body.append(Section("Why", [Bullets(trust.reasons)]))
    if trust.actions:
        verdicts = [trust.verdict, *(action.verdict for action in trust.actions)]
        steps = [
            _step(action, action_gain(action, before)) for action, before in zip(trust.actions, verdicts, strict=False)
        ]
        body.append(Section("What to do", [Steps(steps)], gist="the largest gain first"))
    pictures: list[Block] = []
    named: list[Block] = []
    if graph is not None and graph.edges:
        kinds = {kind: sum(edge.kind == kind for edge in graph.edges) for kind in _NOUNS}
        gist = ", ".join(plural(count, _NOUNS[kind]) for kind, count in kinds.items() if count)
        title = "Tools that name each other"
        pictures = [Section(title, [Graph(graph, gist)], gist, long=title, lead="")]
        named = [Only((TEXT,), [Panel(title, [Graph(graph, gist)], gist)]), Only((MARKDOWN,), pictures)]
    # A page has the picture before the long table of rules; elsewhere it comes last, as it is no judgement.
    body.append(Only((HTML,), pictures))
    unseen = unseen_rules(trust)
    for formats, title, groups in (
        ((TEXT,), "Not observed", [group for group in unseen if group.is_applicable]),
        ((MARKDOWN, HTML), "Not judged", unseen),
    ):
        if groups:
            reasons = Reasons([Reason(group.rules, group.why) for group in groups], "not judged", "rule")
            body.append(Only(formats, [Section(title, [reasons], counts, long=title, lead="")]))
    return Document(body, [Findings(result, result.findings)], named)


def _step(action: Action, gain: str) -> Step:
    return Step(action.advice, action.rule, gain, "{text} ({rule}: {gain})" if gain else "{text} ({rule})")
