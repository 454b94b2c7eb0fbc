"""Rules on sentences that are like those of manipulating texts: judgements, which never block a server by themselves.

`lint` runs only what is certain. The score is made in `checks.texts.suspicion`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import escaped, trust_rule
from mcproof.checks.rules.trust.texts import problem_of_sentence, text_rule
from mcproof.checks.texts.directives import directives
from mcproof.checks.texts.suspicion import model, suspects
from mcproof.core.observations.probes import Judgements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.checks.texts.model_texts import ModelTexts


@text_rule("TRU-114", "suspicious-sentence", "medium", in_lint=False)
def suspicious_sentence(texts: ModelTexts) -> Iterator[Problem]:
    """A sentence is like those with which texts manipulate a model.

    Why: descriptions are read by the model, and rarely by people. A sentence in the voice of documentation can make an
    agent pass on a conversation, skip a question to the user, or slant an answer.
    Fix: delete or reword the sentence, if it asks the model for what the user does not know of. Otherwise say who does
    what, and accept the finding.

    A linear model scores the words of each sentence and what they mean. The message names the classes of words that
    weighed most. About one in ten innocent tools that speak of secrets, deletion or attacks is reported, and about half
    of the manipulating ones: see docs/scan-texts.md. A warning never changes the verdict to `block`.
    OWASP MCP03; arXiv:2508.14925.
    """
    yield from _problems(texts, is_warning=True)


@text_rule("TRU-115", "unusual-sentence", "info", in_lint=False)
def unusual_sentence(texts: ModelTexts) -> Iterator[Problem]:
    """A sentence is somewhat like those with which texts manipulate a model.

    Why: whoever can run mcproof can rephrase a sentence until it is no longer a warning.
    Fix: read the sentence; most of these are innocent.

    The same score as for TRU-114, below its limit. OWASP MCP03.
    """
    yield from _problems(texts, is_warning=False)


def _problems(texts: ModelTexts, *, is_warning: bool) -> Iterator[Problem]:
    certain = {directive.sentence for directive in directives(texts)}
    for suspect in suspects(texts):
        if (suspect.score > 0) == is_warning and suspect.sentence not in certain:
            reasons = model().reasons(suspect.sentence)
            verb = f"has a sentence like those of manipulating texts ({', '.join(reasons)})"
            evidence = {"reasons": reasons, "score": round(suspect.score, 2)}
            yield problem_of_sentence(verb, suspect.sentence, suspect.uses, evidence)


@trust_rule(
    Judgements,
    "TRU-116",
    name="judged-manipulating",
    severity="medium",
    category="poisoning",
    dimension="Tool surface risk",
    phase="post-handshake",
    sums_up=lambda evidence: f"{evidence['tool']}\0{evidence['reason']}",
)
def judged_manipulating(judgements: Judgements) -> Iterator[Problem]:
    """A model of your own, named with `--judge`, holds the texts of a tool to manipulate a model.

    Why: a score sees words and not what they mean together; a language model reads a tool as a whole.
    Fix: read the texts of the tool with the reason of the judge, and decide.

    A judgement, which differs from model to model and can be wrong; it never changes the verdict to `block`. Without
    `--judge` or a record of it the rule is not judged. OWASP MCP03.
    """
    for tool, reason in judgements.suspicious:
        message = f"{escaped(judgements.model, 64)} holds the texts of `{escaped(tool, 64)}` to manipulate a model: "
        evidence = {"tool": tool, "model": judgements.model, "reason": escaped(reason)}
        yield Problem(message + escaped(reason), evidence=evidence)
