"""Sentences, links and names of files that several formats share.

Sentences about counts, gates and fixes, about probes, cases and tests, and about trust; links to the documentation;
paths from the root of a repository, as CI systems want them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.core.console import plural, shell_word
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.results import BROKEN, COMPLETE, Gate, TargetResult

if TYPE_CHECKING:
    from mcproof.checks.findings import RuleSummary
    from mcproof.checks.scores.grade import Grade, NotJudged
    from mcproof.checks.scores.trust import Action, Trust
    from mcproof.probing.outcomes import Failure


_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Environment variables that hold the repository root in CI; elsewhere it is the working directory."""


def repository_path(file: str) -> str:
    """Return the path of a file from the repository root, or an absolute path if it is outside."""
    # A name such as `<stdin>` is shown without its brackets, which HTML and Markdown take for markup.
    if file.startswith("<"):
        return file.strip("<>")
    if "://" in file:
        return file
    absolute = os.path.abspath(file)
    # CI may run in a folder of the checkout, and its viewers want paths from the root.
    for root in (*(os.environ.get(name) for name in _CHECKOUTS), os.getcwd()):
        if root and absolute.startswith(os.path.join(os.path.abspath(root), "")):
            return os.path.relpath(absolute, root).replace(os.sep, "/")
    return absolute.replace(os.sep, "/")


def relative_path(file: str, line: int | None) -> str:
    """Return a path that is never absolute for a live server, whose name is not a file and has no line.

    It is the file that the server's command runs, if there is one. Otherwise it is the name of the server: code
    scanning rejects a whole log if one result has no file.
    """
    if line is not None:
        return repository_path(file)
    if (own := _started_file(file)) is not None:
        return own
    return "/".join(step for step in file.split("/") if step not in ("", os.curdir, os.pardir))


def _started_file(command: str) -> str | None:
    """Return the path of the first file of the repository that a command names; the program itself comes last."""
    import shlex

    try:
        program, *words = shlex.split(command)
    except ValueError:  # a quote without its partner
        return None
    for word in (*words, program):
        path = repository_path(word) if "://" not in word and os.path.isfile(word) else ""
        if path and not os.path.isabs(path):
            return path
    return None


HOME = "https://github.com/mcproof/mcproof"
SITE = "https://mcproof.github.io/mcproof"
VARIABLE = "MCPROOF_DOCS_URL"
"""The environment variable with another base: the URL of a site that `make site` built."""


def page_url(page: str) -> str:
    """Return the URL of a page, such as `suites/`."""
    return f"{(os.environ.get(VARIABLE) or SITE).rstrip('/')}/{page}"


def help_uri(rule: RuleSummary) -> str:
    """Return the URL of the page of a rule, or of the page about changes."""
    return page_url(f"kinds-of-change/#{rule.id}" if rule.ruleset == "diff" else f"rules/{rule.id}/")


COUNTED = {"tools": "tool", "resources": "resource", "templates": "template", "prompts": "prompt"}
CHANGE_WORDS = {"error": "breaking", "warning": "cannot tell", "note": "compatible"}
"""The levels of changes, in words."""


def scope_of(result: TargetResult) -> str:
    """Return the numbers of checked items, such as "4 tools, 1 prompt"."""
    counted = [
        plural(result.counts.get(key, 0), word)
        for key, word in COUNTED.items()
        if result.counts.get(key) or key == "tools"
    ]
    return ", ".join(counted)


def failing_words(fail_on: str) -> str:
    """Return which findings fail a run, as a phrase after their number."""
    if fail_on == BROKEN:
        return f"at level error in the server's behaviour (--fail-on {BROKEN})"
    return f"at or above level {fail_on} (--fail-on)"


def not_judged_sentence(unknown: NotJudged) -> str:
    """Return what of source was not judged, and why, as a phrase."""
    parts = [
        f"the {part}{'s' * (len(tools) > 1)} of {plural(len(tools), 'tool')} (first `{tools[0]}`)"
        for part, tools in (("schema", unknown.schemas), ("description", unknown.descriptions))
        if tools
    ]
    parts += [f"what else the list of {' and '.join(unknown.lists)} may hold"] if unknown.lists else []
    return f"{', '.join(parts)}, because the code that makes them cannot be followed"


def withheld_sentence(unknown: NotJudged) -> str:
    """Return why there is no grade."""
    return f"grade withheld, {unknown.best} at best; not judged: {not_judged_sentence(unknown)}"


def target_words(result: TargetResult) -> str:
    """Return how a command line names a target."""
    file, _, name = result.target.partition("#")
    is_command = result.connection is not None and result.connection.get("transport") == "stdio"
    if is_command and not (name and file.endswith((".json", ".jsonc"))):
        return f"-- {result.target}"
    return shell_word(result.target)


def grade_withheld(result: TargetResult) -> str:
    """Return why a result has no grade."""
    if result.not_judged is not None and result.not_judged.best is not None:
        return withheld_sentence(result.not_judged)
    return "grade withheld: the server did not serve all that it declares, or rules of the grade did not run"


def fixing_hint(result: TargetResult) -> tuple[str, str]:
    """Return how many findings have an automatic fix, and the command that applies them.

    There is no command for a live server: its schemas are in its code, often derived from signatures.
    """
    fixes = [(finding.rule.ruleset, finding.fix.key) for finding in result.findings if finding.fix is not None]
    if not fixes:
        return "", ""
    if result.connection is not None:
        keys = " and ".join(f"`{key}`" for key in sorted({key for _, key in fixes}))
        return f"{len(fixes):,} can be fixed by setting {keys} in the server's code", ""
    # `--fix` prints one file, and the target may be a folder of them.
    how = "--fix" if result.findings[0].file == result.target else "--diff"
    is_source = result.findings[0].file.endswith(".py")  # where `lint` runs the polish rules by default
    command = "lint" if is_source and {ruleset for ruleset, _ in fixes} == {"polish"} else "schema-lint"
    return f"{len(fixes):,} can be fixed automatically", f"mcproof {command} {shell_word(result.target)} {how}"


def code_help_lines(result: TargetResult, rule: str) -> list[str]:
    """Return what to write in the server's code about the findings of a rule; empty if a file can be fixed instead.

    Names and values in it come from the server: renderers escape the lines like any other text.
    """
    lines = []
    for snippet in result.code_help:
        if snippet.rule == rule:
            lines.append(f"{snippet.framework}, {snippet.place}:")
            lines += [f"    {line}".rstrip() for line in snippet.code.splitlines()]
    return lines


def gate_sentence(gate: Gate) -> str:
    """Return the actual value of a gate and its limit."""
    if gate.gate == "min-grade":
        return f"grade {gate.actual}, at least {gate.limit} required"
    if gate.gate == "tested":
        return f"{plural(int(gate.actual), 'request')} judged, at least {gate.limit} required"
    if gate.gate == "tested-tools":
        return f"{gate.actual} of {plural(int(gate.limit), 'tool')} tested, all required"
    if gate.gate == "min-clients":
        return f"does not break in {plural(int(gate.actual), 'client')}, at least {gate.limit} required"
    if gate.gate.startswith("require "):
        client = gate.gate.removeprefix("require ")
        return f"does not break in {client}, as required" if gate.passed else f"breaks in {client}, which is required"
    if gate.gate == "verdict":
        return f"verdict {gate.actual}" + ("" if gate.passed else f" (--fail-on-verdict {gate.limit})")
    if gate.gate == "locked":
        return f"{gate.actual} since {gate.limit}" if not gate.passed else f"equals {gate.limit}"
    if gate.gate == COMPLETE:
        return f"{gate.actual}: incomplete"
    return f"{gate.actual:,} tokens, at most {gate.limit:,} allowed"


GRADE_TONES = {"A": "good", "B": "good", "C": "fair", "D": "fair"}
"""The tones of the letters of a grade; any other is bad."""


def floor_note(grade: Grade, points: str) -> str:
    """Return why no single fix raises the score, if so; `points` are those below zero."""
    if not grade.gains or grade.gains[0].points:
        return ""
    below = f"{points} points below zero" if grade.unclamped < 0 else "at zero"
    return f"the score is {below}: no single fix raises it, so start with the costliest"


def outcome_word(outcome: str) -> str:
    """Return the outcome of a case for people: a response to an invalid call as if it were valid is lenient."""
    return {"accepted": "lenient"}.get(outcome, outcome.replace("_", " "))


def outcome_tone(outcome: str) -> str:
    """Return the tone of the outcome of a case."""
    return {"clean": "good", "accepted": "fair", "not_reached": "fair"}.get(outcome, "bad")


def static_sentence(count: int) -> str:
    """Return where to see the strict findings left out."""
    return f"{plural(count, 'finding')} of the strict rules not shown; see `mcproof schema-lint`"


def arguments_text(failure: Failure) -> str:
    """Return the arguments of a failed case as readable JSON."""
    from json import dumps

    return dumps(failure.arguments, ensure_ascii=False)


TONES = {"allow": "good", "review": "fair", "block": "bad"}
SYMBOLS = {"allow": "✓", "review": "?", "block": "✕"}


class Unseen(NamedTuple):
    """Rules that were not judged for one reason."""

    why: str
    rules: list[str]
    is_applicable: bool


def trust_sentence(trust: Trust) -> str:
    """Return the verdict, the score, the coverage, and what counts although the source asks to ignore it."""
    counted = f"; counts {plural(trust.overruled, 'finding')} ignored in source" if trust.overruled else ""
    return f"{trust.verdict}: score {trust.score} of 100, {trust.coverage:.0%} of the weight observed{counted}"


_CERTAIN = ("TRU-101", "TRU-102", "TRU-104", "TRU-105", "TRU-107", "TRU-108", "no_tool_description_manipulation")
"""The rules that find certain signs of manipulation in texts."""


def texts_sentence(trust: Trust) -> str:
    """Return what the rules about texts say, which is never that texts are clean; empty if some found something."""
    outcomes = {outcome.rule: outcome.outcome for outcome in trust.outcomes}
    # Never "clean": what no rule can see is not shown by the silence of those that ran.
    if any(outcomes.get(rule) != "passed" for rule in _CERTAIN):
        return ""
    suspicious = ", but suspicious sentences (TRU-114)" if outcomes.get("TRU-114") == "failed" else ""
    return f"Texts: no certain sign of manipulation{suspicious}"


def outcome_counts(trust: Trust) -> str:
    """Return how many rules passed, failed and were not judged, and the score of the published ones."""
    counts: dict[str, int] = {}
    for outcome in trust.outcomes:
        counts[outcome.outcome] = counts.get(outcome.outcome, 0) + 1
    listed = [f"{counts[word]:,} {word}" for word in _ORDER if word in counts]
    alone = "" if trust.published_score is None else f"; score of the published rules alone: {trust.published_score}"
    return f"{plural(len(trust.outcomes), 'rule')}: {', '.join(listed)}{alone}"


_ORDER = ("failed", "passed", "not observed", "not applicable")


def action_gain(action: Action, before: str) -> str:
    """Return what an action gains, such as "+8 points, the verdict becomes review", after one that led to a verdict.

    It is empty if an action gains nothing.
    """
    parts = [f"+{plural(action.points, 'point')}"] if action.points else []
    parts += [f"the verdict becomes {action.verdict}"] if action.verdict != before else []
    return ", ".join(parts)


def unseen_rules(trust: Trust) -> list[Unseen]:
    """Return the rules that were not judged, by reason: first those that concern the target."""
    grouped: dict[tuple[bool, str], list[str]] = {}
    for outcome in trust.outcomes:
        if outcome.outcome in ("not observed", "not applicable"):
            grouped.setdefault((outcome.outcome == "not observed", outcome.why), []).append(outcome.rule)
    unseen = [Unseen(why, rules, is_applicable) for (is_applicable, why), rules in grouped.items()]
    return sorted(unseen, key=lambda group: not group.is_applicable)
