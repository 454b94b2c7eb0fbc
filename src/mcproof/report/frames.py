"""Findings on a terminal, grouped by rule: some examples of each, with the offending line or request.

Also findings, changes and tests one a line, and the findings of each rule counted.
Why one habit is one group: docs/decisions/0040-text-shows-habits.md.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import (
    LEVELS,
    FindingGroup,
    ReportedFinding,
    RuleSummary,
    Snippet,
    advice_for,
    group_by_fault,
)
from mcproof.checks.reporting import FindingEntry, RuleGroup, count_findings, group_by_rule
from mcproof.checks.rule import TrustTraits, find_rule
from mcproof.core.console import Style, display_width, few, plural, safe, wrapped
from mcproof.core.named_tuple import NamedTuple
from mcproof.report.phrases import (
    CHANGE_WORDS,
    code_help_lines,
    fixing_hint,
    not_judged_sentence,
    scope_of,
    static_sentence,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.report.blocks import Findings
    from mcproof.runs.results import RunResult, TargetResult


REQUEST, RESPONSE = "request ", "response"
_LABEL = len(RESPONSE) + 2
_ENVELOPE = (
    r'\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:\d+|"[^"]*"|null)\s*,\s*)*"(?:result|(?P<error>error))"\s*:\s*'
    r'(?:\{\s*(?:"_meta"\s*:\s*\{(?:[^{}]|\{[^{}]*\})*\}\s*,\s*)?'
    r'"content"\s*:\s*\[\s*\{\s*(?:"type"\s*:\s*"text"\s*,\s*)?"text"\s*:\s*)?'
)
"""The beginning of a response, as mcproof or a server writes it."""
_JSON_TEXT = r'"(?:[^"\\]|\\.)*"'


class SentRequest(NamedTuple):
    """The parameters of a request as text, and the part to mark."""

    text: str
    start: int = 0
    end: int = 0


def exchanges_of(shown: ReportedFinding, style: Style) -> list[dict[str, Any]]:
    """Return the exchanges that show a finding: the first, or all if all findings are shown."""
    evidence = shown.evidence
    if evidence is None or not isinstance(evidence.get("sent"), str):
        return []
    examples = evidence.get("examples") if style.examples is None else None
    every = [example for example in examples if isinstance(example, dict)] if isinstance(examples, list) else []
    return every or [evidence]


def exchange_lines(exchange: dict[str, Any], shown: ReportedFinding, style: Style) -> Iterator[str]:
    """Render the request, marks under the offending argument, and the response unless the message has it."""
    room = max(8, style.width - _LABEL)
    request = _marked(exchange, shown.message)
    start, end = (display_width(style.text(request.text[:at], 1_000)) for at in (request.start, request.end))
    yield f"{style.paint(REQUEST, 'dim')}  {style.fitting(request.text, room)}"
    if end > start and start < room - 1:
        yield " " * (_LABEL + start) + style.paint("^" * (min(end, room) - start), shown.level)
    response = exchange.get("answer")
    if isinstance(response, str) and response and response not in shown.message:
        yield f"{style.paint(RESPONSE, 'dim')}  {style.fitting(readable_response(response), room)}"


def _marked(exchange: dict[str, Any], message: str) -> SentRequest:
    """Return a request with the argument to mark: the one that the exchange is about, or an undeclared one."""
    sent = str(exchange["sent"])
    arguments = _parsed(sent)
    if not isinstance(arguments, dict):
        return SentRequest(sent)
    about = str(exchange.get("argument", ""))
    names = [key for key in arguments if about == key or about.startswith((f"{key}.", f"{key}["))]
    # Without an argument of its own, an exchange is about what the message calls undeclared.
    names = names or [key for key in arguments if f"undeclared `{key}`" in message]
    marked = max(names, key=len, default=None)
    text, start, end = "{", 0, 0
    for key, value in arguments.items():
        member = f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        text += ", " if len(text) > 1 else ""
        if key == marked:
            start, end = len(text), len(text) + len(member)
        text += member
    return SentRequest(f"{text}}}", start, end)


def readable_response(response: str) -> str:
    """Return a response without its envelope; a result that is one text as that text."""
    message = _parsed(response)
    # Cropped JSON cannot be parsed, but its envelope is known word for word.
    if message is None and (envelope := re.match(_ENVELOPE, response)) is not None:
        rest = response[envelope.end() :]
        if (whole := re.match(_JSON_TEXT, rest)) is not None:  # only the end of the envelope is missing
            rest = whole[0]
        elif rest.startswith('"'):
            kept, _, size = rest.rpartition("…")
            rest = f'{kept.rstrip(chr(92))}…"{size}'
        return f"{'error ' if envelope['error'] else ''}{rest}"
    if not isinstance(message, dict):
        return response
    if "error" in message:
        return f"error {json.dumps(message['error'], ensure_ascii=False)}"
    result = message.get("result")
    if not isinstance(result, dict):
        return response
    content = result.get("content")
    if isinstance(content, list) and len(content) == 1:
        block = content[0]
        is_text = isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        if is_text and _repeats(block["text"], result):
            return ("isError: " if result.get("isError") is True else "") + json.dumps(
                block["text"], ensure_ascii=False
            )
    return json.dumps(result, ensure_ascii=False)


def _repeats(text: str, result: dict[str, Any]) -> bool:
    """Whether the structured content of a result has nothing but its text, as SDKs write it; also if it has none."""
    structured = result.get("structuredContent")
    if "structuredContent" not in result or structured == _parsed(text):
        return True
    return isinstance(structured, dict) and list(structured.values()) in ([text], [_parsed(text)])


def _parsed(text: str) -> Any:
    """Return a text as JSON; None if it is not, such as a cropped one."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_TAB = "    "
_INDENT = "  "
NAMES = 3
"""How many items are named of those that share a finding, or that have more; the rest are counted."""


def findings_text(block: Findings, style: Style) -> Iterator[str]:
    """Render findings by rule: a headline, the advice, some examples, and the number of the others; then a summary."""
    result, hidden = block.result, 0
    groups = group_by_fault(
        finding for finding in block.findings if (finding.tool, finding.rule.id) not in block.covered
    )
    dimension = ""
    for group in _by_dimension(result, group_by_rule(groups, merges=style.examples is not None)):
        if (title := _dimension_of(result, group)) != dimension:
            dimension = title
            yield f"{style.paint(title, 'bold')}\n\n"
        code_help = _in_code(result, group.rule.id, style) if block.has_summary else ""
        if len(group.entries) == 1:
            yield f"{_single(group, style)}{code_help}\n"
        else:
            shown = group.entries[: style.examples]
            yield _common(group, style) + code_help
            yield from _examples(group, shown, style)
            hidden += group.size - count_findings(shown)
    if hidden:
        hint = f"{plural(hidden, 'finding')} not shown: --show all lists everything, --statistics counts by rule"
        yield "\n".join(wrapped(hint, style.width, indent=4)) + "\n\n"
    if left_out := len(result.findings) - len(block.findings):
        yield "\n".join(wrapped(static_sentence(left_out), style.width, indent=4)) + "\n\n"
    if block.has_summary:
        yield _summary(result, groups, style)


def _by_dimension(result: TargetResult, groups: list[RuleGroup]) -> list[RuleGroup]:
    """The groups of a scan by dimension, the dimension with the worst finding first; others as they are."""
    # Groups come with the worst finding first, so the first mention of each dimension ranks it.
    dimensions = list(dict.fromkeys(_dimension_of(result, group) for group in groups))
    return sorted(groups, key=lambda group: dimensions.index(_dimension_of(result, group)))


def _dimension_of(result: TargetResult, group: RuleGroup) -> str:
    """The dimension of a rule in the result of a scan; empty elsewhere."""
    if result.payload.kind != "scan" or group.rule.ruleset != "trust":
        return ""
    return find_rule(group.rule.id).own(TrustTraits).dimension


def _single(group: RuleGroup, style: Style) -> str:
    """Return the only finding of a rule, with its line, if any, and the advice."""
    (entry,) = group.entries
    head = _head(group, _entry_sentence(entry, style), style)
    notes = [("help", _advice(group)), *_notes(entry), ("also", ", ".join(entry.also))]
    return "\n".join([head, *_frame(entry.shown, style), *_noted(notes, _gutter(entry.shown), style)]) + "\n"


def _common(group: RuleGroup, style: Style) -> str:
    """Return what several findings of a rule have in common."""
    summary = f"{plural(group.size, 'finding')}: {style.text(group.rule.summary.removesuffix('.'))}"
    notes = [("help", _advice(group)), ("also", ", ".join(_common_rules(group) or ()))]
    return "\n".join([_head(group, summary, style), *_noted(notes, 2, style)]) + "\n"


def _advice(group: RuleGroup) -> str:
    return advice_for(group.rule.fix, (entry.shown.file for entry in group.entries))


def _common_rules(group: RuleGroup) -> list[str] | None:
    """Return the ids of other rules that report the same as all findings of a group; None if they differ."""
    also = group.entries[0].also
    return also if all(entry.also == also for entry in group.entries) else None


def _examples(group: RuleGroup, shown: list[FindingEntry], style: Style) -> Iterator[str]:
    """Render the findings to show, and the number of the others."""
    # Said once above the examples if it is true of all of them.
    is_common = _common_rules(group) is not None
    inner = style.narrower(len(_INDENT))
    for entry in shown:
        own = [*_notes(entry), ("also", "" if is_common else ", ".join(entry.also))]
        sentence = [inner.paint(line, "bold") for line in wrapped(_entry_sentence(entry, inner), inner.width, indent=4)]
        lines = [*sentence, *_frame(entry.shown, inner), *_noted(own, _gutter(entry.shown), inner)]
        yield "\n" + "".join(f"{_INDENT}{line}\n" for line in lines)
    if rest := group.entries[len(shown) :]:
        yield "\n"
        more = f"and {count_findings(rest):,} more{_in_items(rest, style)}"
        yield from (f"{_INDENT}{line}\n" for line in wrapped(more, inner.width, indent=4))
    yield "\n"


def _head(group: RuleGroup, sentence: str, style: Style) -> str:
    """Return level and rule, followed by a sentence."""
    head = f"{group.rule.level}[{group.rule.id}]"
    first, *others = wrapped(sentence, style.width, used=len(head) + 1, indent=4)
    line = f"{style.paint(head, group.rule.level, 'bold')} {style.paint(first, 'bold')}".rstrip()
    return "\n".join([line, *(style.paint(other, "bold") for other in others)])


def _entry_sentence(entry: FindingEntry, style: Style) -> str:
    """Return the message of an entry, with the name of its item, or of those that share it."""
    message = style.text(entry.shown.message)
    if len(entry.items) > 1:
        return f"{message}, in {len(entry.items):,} {_kind(entry.shown)}s: {_named(entry.items, style)}"
    return f"{style.text(entry.shown.label, 100)}: {message}" if entry.shown.label else message


def _kind(shown: ReportedFinding) -> str:
    return shown.item.partition(":")[0]


def _in_items(entries: list[FindingEntry], style: Style) -> str:
    """Return the items of findings that are not shown, as a phrase after their number."""
    names = list(dict.fromkeys(name for entry in entries for name in entry.items if name))
    return f" in {_named(names, style)}" if names else ""


def _named(names: list[str], style: Style) -> str:
    """Return the first names, and the number of the others."""
    return few([style.text(name, 60) for name in names], NAMES)


def location_of(shown: ReportedFinding, style: Style) -> str:
    """Return file, line and column as far as known; a live server has only a name."""
    parts = [style.text(shown.file), shown.line, shown.column]
    return ":".join(str(part) for part in parts if part is not None)


def fitting_target(name: str, room: int, style: Style) -> str:
    """Return the name of a target; a command that does not fit is cropped, a path is not, so that it can be opened."""
    return style.shortened(name, room) if " " in name.strip() else style.text(name)


def command_hint(hint: str, command: str, style: Style) -> list[str]:
    """Return a hint with a command, which is not broken, so that it can be copied."""
    line = ": ".join(filter(None, (hint, command)))
    if not line or display_width(line) <= style.width or not command:
        return wrapped(line, style.width, indent=4) if line else []
    return [*wrapped(f"{hint}:", style.width, indent=4), f"    {command}"]


def _gutter(shown: ReportedFinding) -> int:
    """Return the width of the column with the line number."""
    return len(str(shown.line or " ")) + 1


def _notes(entry: FindingEntry) -> list[tuple[str, str]]:
    """Return how to replay the request of a finding, if there is one."""
    failure = entry.shown.evidence.get("failure") if entry.shown.evidence is not None else None
    return [("replay", f"mcproof replay {safe(failure)}")] if isinstance(failure, str) else []


def _noted(notes: Iterable[tuple[str, str]], gutter: int, style: Style) -> list[str]:
    """Return notes below a finding, each with its label; an empty one is left out."""
    bullet, lines = style.paint("=", "help"), []
    for label, text in notes:
        if text:
            used = gutter + 4 + len(label)
            first, *others = wrapped(text, style.width, used=used, indent=used)
            lines += [f"{' ' * gutter}{bullet} {style.paint(label, 'bold')}: {first}", *others]
    return lines


def _frame(shown: ReportedFinding, style: Style) -> list[str]:
    """Return the location of a finding, and its line, if it has one."""
    gutter = _gutter(shown)
    room = style.width - gutter - 3
    location = location_of(shown, style) if shown.line is not None else fitting_target(shown.file, room, style)
    arrow = f"{' ' * (gutter - 1)}{style.paint('-->', 'help')} {location}"
    pointer, lines = style.text(shown.pointer), []
    if pointer:
        used = gutter + 3 + display_width(location)
        if used + 2 + display_width(pointer) <= style.width:
            arrow += style.paint(f"  {pointer}", "dim")
        else:
            lines.append(" " * (gutter + 3) + style.paint(_tail(pointer, room, style), "dim"))
    return [arrow, *lines, *_evidence(shown, gutter, style)]


def _evidence(shown: ReportedFinding, gutter: int, style: Style) -> list[str]:
    """Return the request and the response that show a finding, or else its line in the catalog."""
    if shown.rule.ruleset == "wire" and (exchanges := exchanges_of(shown, style)):
        bar = f"{' ' * gutter}{style.paint('|', 'help')}"
        inner = style.narrower(gutter + 2)
        lines = [f"{bar} {line}" for exchange in exchanges for line in exchange_lines(exchange, shown, inner)]
        return [bar, *lines]
    lines = _excerpt(shown, shown.snippet, gutter, style) if shown.snippet is not None else []
    return [*lines, *_reasons(shown, gutter, style)] if style.examples is None else lines


def _reasons(shown: ReportedFinding, gutter: int, style: Style) -> Iterator[str]:
    """Yield the reason for every tool of a finding about several; its message has the first ones."""
    for entries in (shown.evidence or {}).values():
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and "why" in entry and len(entries) > 1:
                text = style.text(f"{entry.get('toolName', '')}: {entry['why']}", 300)
                yield from wrapped(f"{' ' * gutter}= {text}", style.width, indent=gutter + 4)


def _tail(pointer: str, room: int, style: Style) -> str:
    """Return the end of a pointer that fits; its last part is never cropped."""
    if display_width(pointer) <= room:
        return pointer
    ellipsis = style.symbol("…", "...")
    parts = pointer.split("/")
    # From the front: the end of a pointer is what tells it from its neighbours.
    while len(parts) > 2 and display_width("/".join(parts)) + len(ellipsis) + 1 > room:
        parts.pop(0)
    return f"{ellipsis}/{'/'.join(parts)}"


def _excerpt(shown: ReportedFinding, snippet: Snippet, gutter: int, style: Style) -> list[str]:
    """Return the line of the file, cropped around the location, with carets under it."""
    before, marked, after = _cropped(snippet, style.width - gutter - 2, style)
    bar = style.paint("|", "help")
    shown_number = shown.line if shown.column is not None else ""  # a live catalog has no lines
    number = style.paint(str(shown_number).rjust(gutter - 1), "help")
    carets = style.paint("^" * max(1, display_width(marked)), shown.level)
    return [
        f"{' ' * gutter}{bar}",
        f"{number} {bar} {before}{marked}{after}",
        f"{' ' * gutter}{bar} {' ' * display_width(before)}{carets}",
    ]


def _cropped(snippet: Snippet, room: int, style: Style) -> list[str]:
    """Return the line in three parts, the second to be highlighted; cropped around that part if it is too wide."""
    line, start, end = snippet.text, snippet.start, snippet.end
    before, marked, after = (part.replace("\t", _TAB) for part in (line[:start], line[start:end], line[end:]))
    shown = [style.text(part, 1_000) for part in (before, marked, after)]
    cut_before, cut_after = snippet.cut_before, snippet.cut_after
    ellipsis = style.symbol("…", "...")
    room -= len(ellipsis) * (cut_before + cut_after)
    if sum(map(display_width, shown)) > room:
        room -= len(ellipsis) * (2 - cut_before - cut_after)
        before = before if cut_before else before.lstrip(" ")
        # The marked part gets most of the room, and what stands before it more than what follows.
        shown[1] = style.beginning(marked, room * 2 // 3)
        shown[0] = style.ending(before, max(room // 3, room - display_width(shown[1] + shown[2])))
        is_whole = shown[1] == style.text(marked, 1_000)
        shown[2] = style.beginning(after, room - display_width(shown[0] + shown[1])) if is_whole else ""
        cut_before = cut_before or shown[0] != style.text(before, 1_000)
        cut_after = cut_after or not is_whole or shown[2] != style.text(after, 1_000)
    return [ellipsis * cut_before + shown[0], shown[1], shown[2] + ellipsis * cut_after]


def _in_code(result: TargetResult, rule: str, style: Style) -> str:
    """Return what to write in the server's code about the findings of a rule."""
    bullet, lines = style.paint("=", "help"), []
    for line in code_help_lines(result, rule):
        text = style.text(line, 200)
        if line.startswith(" ") or not line:
            lines.append(f"     {text}".rstrip())
        else:
            first, *others = wrapped(text, style.width, used=4, indent=4)
            lines += [f"  {bullet} {first}", *others]
    return "".join(f"{line}\n" for line in lines)


def _summary(result: TargetResult, groups: list[FindingGroup], style: Style) -> str:
    """Return the last lines: the numbers of findings, and how many can be fixed automatically."""
    target = fitting_target(result.target, style.width // 2, style)
    scope = f"{scope_of(result)} of {target}"
    hidden = f" ({len(result.suppressed):,} suppressed)" if result.suppressed else ""
    polish = "" if result.scores.polish is None else f"polish score {result.scores.polish} of 100\n"
    if result.not_judged is not None:
        doubt = style.text(not_judged_sentence(result.not_judged), 500)
        polish = "\n".join(wrapped(f"not judged: {doubt}", style.width, indent=4)) + f"\n{polish}"
        scope = f"what could be judged of {scope}"
    if not result.findings:
        is_whole = result.not_judged is None and result.trouble is None
        tick = f"{style.paint(style.symbol('✓', 'ok:'), 'good')} " if is_whole else ""
        return _wrapped(f"{tick}no findings in {scope}{hidden}", target, style) + polish
    # Every finding counts, also one of several about the same fault, as in documents and in the store.
    levels = [finding.level for group in groups for finding in (group.shown, *group.others)]
    counts = [(level, levels.count(level)) for level in LEVELS]
    parts = [style.paint(plural(count, level), level) for level, count in counts if count]
    counted = _wrapped(f"{', '.join(parts)} in {scope}{hidden}", target, style)
    return counted + "".join(f"{line}\n" for line in command_hint(*fixing_hint(result), style)) + polish


def _wrapped(line: str, target: str, style: Style) -> str:
    """Wrap the line that ends with the target; a long target stays on it, as in a list of many."""
    is_long = display_width(target) > style.width // 2
    return "\n".join([line] if is_long else wrapped(line, style.width, indent=4)) + "\n"


def concise_lines(result: TargetResult, style: Style) -> Iterator[str]:
    """Render one line for each finding or change, or for each test that did not pass."""
    kind = result.payload.kind
    return (_changes if kind == "diff" else _tests if kind == "suite" else _findings)(result, style)


def _findings(result: TargetResult, style: Style) -> Iterator[str]:
    for group in group_by_fault(result.findings):
        shown = group.shown
        others = f" [also {', '.join(group.also)}]" if group.also else ""
        yield f"{_line(shown, shown.level, style)}{others}\n"


def _changes(result: TargetResult, style: Style) -> Iterator[str]:
    for finding in result.findings:
        yield f"{_line(finding, CHANGE_WORDS[finding.level], style)}\n"


def _line(finding: ReportedFinding, word: str, style: Style) -> str:
    """Return location, level, rule, item and message."""
    item = f"{style.text(finding.label, 100)}: " if finding.label else ""
    painted = style.paint(word, finding.level)
    return f"{location_of(finding, style)}: {painted} {finding.rule.id} {item}{style.text(finding.message)}"


def _tests(result: TargetResult, style: Style) -> Iterator[str]:
    from mcproof.report.sections.outcomes import merge_unrun  # it loads what tests and probes are made of

    for test in merge_unrun(result.tests):
        if test.is_bad:
            location = f"{test.file}:{test.first_line}: " if test.first_line is not None else ""
            word = style.paint(test.outcome, "error")
            yield f"{style.text(location)}{word} {style.text(test.label)}: {style.text(test.message, 1000)}\n"


class RuleCount(NamedTuple):
    """How many findings a rule has, and how many of them have an automatic fix."""

    rule: RuleSummary
    total: int
    fixable: int


def rule_counts(run: RunResult, style: Style) -> Iterator[str]:
    """Render one line a rule: the number of findings, the level, the id and the name; then the total."""
    counts = count_rules(run)
    checked = [result for result in run.targets if result.trouble is None]
    scope = plural(len(checked), "target")
    if not counts:
        yield f"no findings in {scope}\n"
        return
    # Measured, so that the columns are as narrow as this run allows.
    digits = max(len(f"{count.total:,}") for count in counts)
    level = max(len(count.rule.level) for count in counts)
    ids = max(len(count.rule.id) for count in counts)
    for rule, total, fixable in counts:
        painted = style.paint(f"{rule.level:{level}}", rule.level)
        name = rule.name if rule.name != rule.id else ""
        yield f"{total:>{digits},}  {painted}  {rule.id:{ids}}  [{'*' if fixable else ' '}] {name}".rstrip() + "\n"
    yield f"{plural(sum(count.total for count in counts), 'finding')} of {plural(len(counts), 'rule')} in {scope}\n"
    if fixable := sum(count.fixable for count in counts):
        yield f"[*] {fixable:,} can be fixed automatically\n"


def count_rules(run: RunResult) -> list[RuleCount]:
    """Count the findings of all targets by rule: the most frequent first, then the worst level, then by id."""
    counts: dict[str, RuleCount] = {}
    for result in run.targets:
        is_file = result.connection is None  # the schemas of a live server are in its code
        for finding in result.findings:
            rule, total, fixable = counts.get(finding.rule.id, RuleCount(finding.rule, 0, 0))
            counts[finding.rule.id] = RuleCount(rule, total + 1, fixable + (is_file and finding.fix is not None))
    return sorted(counts.values(), key=lambda count: (-count.total, LEVELS.index(count.rule.level), count.rule.id))
