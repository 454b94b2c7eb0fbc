"""A first suite for a server as text: a test for whatever may be tried, gates, and comments that teach.

What may change something, and what does not pass today, is there as a comment: taking the `# ` away turns it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.suite.definition import BLOCKS, METHODS
from mcproof.suite.run.quality import quality_of
from mcproof.text.yamltext import MAX_BYTES, MAX_NODES
from mcproof.text.yamlwriter import comment_text, count_values, key, scalar, to_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcproof.catalog.model import Catalog
    from mcproof.suite.scaffold.drafts import Draft

_WIDEST = 100
"""How long a line of arguments gets before each has its own."""
_MOST_BYTES, _MOST_NODES = MAX_BYTES * 3 // 4, MAX_NODES * 3 // 4
"""How much the tests may take up, so that the suite can be read; the rest is for what stands around them."""
_NODES = 25
"""How many values a test has beside its arguments, at most."""
_MADE_UP = {"tools": "made up from the schema: put real values here", "prompts": "made up: put real values here"}
_WORKS = {"tools": "- {target: result.isError, matcher: {exact: false}}"}
_NO_ERROR = "- {target: error, matcher: {exact: null}}"
_SUBJECTS = {"tools": "tool", "resources": "uri", "prompts": "prompt"}
_TEACHING = {
    "tools": (
        "A test calls a tool with `args`, and looks at the answer as `expect` says.",
        "Its `negative_path` sends bad requests, made from the schema, which the server must refuse.",
        "Only tools that, by their annotations and names, change nothing are called unasked.",
    ),
    "resources": (
        'What is read is at `result.contents[0].text`, or `.blob`: expect "contains" or a "snapshot" of it.',
    ),
    "prompts": ("What a prompt comes to is at `result.messages`.",),
}


class FirstServer(NamedTuple):
    """A server, and what is tested of it."""

    name: str
    label: str
    """What to call it in a comment."""
    entry: list[str]
    """The lines that say how it is started or reached; none where it could not be asked."""
    drafts: list[Draft] = []  # noqa: RUF012 (nobody writes into the default)
    catalog: Catalog | None = None
    trouble: str = ""
    """Why it could not be asked."""


class FirstSuite(NamedTuple):
    """A suite that was written."""

    text: str
    tests: int
    turned_off: int
    """How many tests are comments."""
    failed_calls: int
    """How many other tests have no call, as it does not work."""
    failed_checks: int
    """How many probes are left out, as they do not pass."""


def first_suite(servers: Sequence[FirstServer], command: str) -> FirstSuite:
    """The text of a suite; the command is how to run it."""
    asked = [server for server in servers if server.catalog is not None]
    lines = [*_head(asked, command), "", *_servers(servers), ""]
    room = _Room(len("\n".join(lines)))
    for block in _SUBJECTS:
        lines += _section(block, asked, room)
    quality = [line for server in asked for line in _quality(server, is_alone=len(asked) == 1)]
    if quality:
        lines += [f"{BLOCKS[-1]}:", *quality, ""]
    on = [draft for draft in room.taken if draft.is_on]
    gates = sum(line.startswith("  - name:") for line in quality)
    return FirstSuite(
        "\n".join(lines),
        len(on) + gates,
        len(room.taken) - len(on),
        sum(bool(draft.failed_call) for draft in on),
        sum(len(draft.checks) - len(draft.passing_checks) for draft in on),
    )


class _Room:
    """How much of a suite is left for tests."""

    def __init__(self, taken: int) -> None:
        self._bytes = taken
        self._nodes = 0
        self._is_full = False
        self.taken: list[Draft] = []
        """The tests that have found room."""

    def takes(self, draft: Draft, lines: list[str]) -> bool:
        """Whether a test still fits; once one does not, no later one does."""
        self._bytes += sum(len(line.encode()) + 1 for line in lines)
        self._nodes += 0 if draft.impossible else _NODES + count_values(draft.arguments)
        self._is_full = self._is_full or self._bytes > _MOST_BYTES or self._nodes > _MOST_NODES
        self.taken += [] if self._is_full or draft.impossible else [draft]
        return not self._is_full


def _head(servers: Sequence[FirstServer], command: str) -> Iterator[str]:
    of = comment_text(", ".join(server.label for server in servers[:3])) + (" and others" if len(servers) > 3 else "")
    yield f"# Tests of {of}, written by `mcproof init`; run them with `{comment_text(command)}`."
    yield "# They are a start: put values of your own into them, and expect more than that a call works."
    yield "# What may change something, and what does not pass today, is turned off: take the `# ` away to turn it on."
    yield "# An editor helps if you run `mcproof schema > mcproof.schema.json` and put above this:"
    yield "#   # yaml-language-server: $schema=mcproof.schema.json"


def _servers(servers: Sequence[FirstServer]) -> Iterator[str]:
    yield "servers:"
    if any("{env: " in line or "${" in line for server in servers for line in server.entry):
        yield "  # ${NAME} and {env: NAME} stand for variables of the environment, so that no secret is in this file."
    for server in servers:
        if server.trouble:
            yield f"  # {comment_text(server.name)} is left out: {comment_text(server.trouble)}"
        else:
            yield f"  {key(server.name)}:"
            yield from (f"    {line}" for line in server.entry)


def _section(block: str, servers: Sequence[FirstServer], room: _Room) -> Iterator[str]:
    """The tests of one list."""
    before = len(room.taken)
    lines = [line for server in servers for line in _tests(server, block, room, is_alone=len(servers) == 1)]
    kept = room.taken[before:]
    if kept:
        yield from _heading(block, is_on=any(draft.is_on for draft in kept))
    if lines:
        yield from (*lines, "")


def _heading(block: str, *, is_on: bool) -> Iterator[str]:
    mark = "" if is_on else "# "
    if not is_on:
        yield "# None of these tests is on yet. To turn one on, take the `# ` away from its lines, and from this one:"
    yield f"{mark}{block}:"
    if is_on:
        yield from (f"  # {line}" for line in _TEACHING[block])


def _tests(server: FirstServer, block: str, room: _Room, *, is_alone: bool) -> Iterator[str]:
    drafts = [draft for draft in server.drafts if draft.block == block]
    left_out = max(0, _there(server.catalog, block) - len(drafts))
    for number, draft in enumerate(drafts):
        if draft.impossible:
            lines = [f"  # No test of {comment_text(draft.subject)}: {comment_text(draft.impossible)}."]
        else:
            lines = list(_test(draft, server.name))
        if not room.takes(draft, lines):
            left_out += 1
            continue
        yield ""
        if number == 0 and not is_alone:
            yield f"  # The {block} of {comment_text(server.name)}."
        yield from lines
    if left_out:
        yield f"  # There is no room here for {left_out:,} more {block}; a second suite can have them."


def _there(catalog: Catalog | None, block: str) -> int:
    """How much there is that a list could have a test of."""
    counts = catalog.counts if catalog is not None else {}
    return counts.get(block, 0) + (counts.get("templates", 0) if block == "resources" else 0)


def _test(draft: Draft, server: str) -> Iterator[str]:
    """The lines of a test; where it is off, as a comment under the reason."""
    if draft.is_on:
        yield from (f"  {line}" for line in _body(draft, server))
        return
    if draft.off:
        yield f"  # Turned off, as {comment_text(draft.off)}"
    else:
        what = "the call does" if draft.block == "tools" else "it does"
        yield f"  # Turned off, as {what} not work: {comment_text(draft.failed_call)}"
    plain = draft._replace(failed_call="", checks=draft.checks if draft.failed_call else ())
    yield from (f"  # {line}" for line in _body(plain, server))


def _body(draft: Draft, server: str) -> Iterator[str]:
    yield f"- name: {scalar(draft.name)}"
    yield f"  server: {scalar(server)}"
    yield f"  {_SUBJECTS[draft.block]}: {scalar(draft.subject)}"
    yield from _arguments(draft)
    if draft.block == "tools" and draft.subject in METHODS:
        return
    works = _WORKS.get(draft.block, _NO_ERROR)
    if draft.failed_call:
        yield f"  # The call does not work: {comment_text(draft.failed_call)}"
        yield "  # Put better values above, and take the `# ` away here:"
        yield "  # expect:"
        yield f"  #   {works}"
    else:
        yield "  expect:"
        yield f"    {works}"
    yield from _negative_path(draft)


def _arguments(draft: Draft) -> Iterator[str]:
    hint = f"  # {_MADE_UP[draft.block]}" if draft.is_made_up else ""
    if not draft.arguments:
        if draft.is_made_up or (draft.failed_call and draft.block == "tools"):
            yield f"  args: {{}}{hint}"
        return
    line = f"  args: {to_yaml(draft.arguments)}"
    names = list(map(key, draft.arguments))
    if len(line) <= _WIDEST or any(name.startswith("?") for name in names):
        yield f"{line}{hint}"
        return
    yield f"  args:{hint}"
    yield from (f"    {name}: {to_yaml(value)}" for name, value in zip(names, draft.arguments.values(), strict=True))


def _negative_path(draft: Draft) -> Iterator[str]:
    if not draft.checks:
        return
    for _, why in draft.failed_checks:
        yield f"  # Left out, as it does not pass today: {comment_text(why)}"
    if draft.failed_path:
        yield f"  # Turned off, as it does not pass today: {comment_text(draft.failed_path)}"
    mark = "" if draft.passing_checks else "# "
    yield f"  {mark}negative_path:"
    yield f"  {mark}  checks: [{', '.join(draft.passing_checks or draft.checks)}]"


def _quality(server: FirstServer, *, is_alone: bool) -> Iterator[str]:
    """The gates, set to where the server stands now wherever the usual gate would fail."""
    catalog = server.catalog
    if catalog is None or not catalog.tools:
        return
    quality = quality_of(catalog)
    facts = quality.facts
    of = "" if is_alone else f" of {server.name}"
    gates = (
        (
            f"the tools{of} are described well enough to be chosen and called",
            _described(facts, quality.reasons["min_score"]),
        ),
        (f"the schemas{of} do not get looser", _constrained(facts)),
    )
    for (name, lines), why in zip(gates, _GATES, strict=True):
        yield f"  # {why}"
        yield f"  - name: {scalar(name)}"
        yield f"    server: {scalar(server.name)}"
        yield "    expect:"
        yield from (f"      {line}" for line in lines)


_GATES = (
    "Scores of the descriptions, from 0 to 1, and descriptions that say nothing at all.",
    "What the strict rules find in the schemas, as `mcproof schema-lint` shows. Today's numbers: lower them over time.",
)


def _described(facts: dict[str, Any], worst: str) -> Iterator[str]:
    for target, usual in (("min_score", 0.5), ("mean_score", 0.7)):
        now = _rounded_down(facts[target])
        if now <= 0:  # which nothing could fall below
            yield f"# {target} is 0 today, and {usual} is the usual gate; {comment_text(worst)}"
            continue
        hint = f"  # where it stands today; {usual} is the usual gate" if now < usual else ""
        yield f"- {{target: {target}, matcher: {{schema: {{minimum: {min(now, usual)}}}}}}}{hint}"
    yield _at_most("critical_count", facts, "where it stands today; 0 is the usual gate")


def _rounded_down(score: float) -> float:
    near = round(score, 2)
    return near if near <= score else round(near - 0.01, 2)


def _constrained(facts: dict[str, Any]) -> Iterator[str]:
    yield _at_most("schema_criticals", facts, "")
    yield _at_most("schema_warnings", facts, "")


def _at_most(target: str, facts: dict[str, Any], hint: str) -> str:
    remarks = f"  # {hint}" if hint and facts[target] else ""
    return f"- {{target: {target}, matcher: {{schema: {{maximum: {facts[target]}}}}}}}{remarks}"
