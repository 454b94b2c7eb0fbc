"""A first suite for a server: a test for each tool that may be called, gates, and comments that teach.

What may change something, and what does not pass today, is there as a comment: taking the `# ` away turns it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.generation.values import valid_arguments
from mcproof.proof.cases import Case, questions
from mcproof.proof.safety import HOW_TO_ALLOW
from mcproof.suite.model import METHODS
from mcproof.suite.quality import quality_of
from mcproof.suite.yamltext import MAX_BYTES, MAX_NODES
from mcproof.suite.yamlwriting import UnwritableError, key, remark, size, text, written
from mcproof.trial import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcproof.catalog import Catalog, Tool
    from mcproof.proof.safety import Permission
    from mcproof.suite.first_server import Names

_WIDEST = 100
"""How long a line of arguments gets before each has its own."""
_MOST_BYTES, _MOST_NODES = MAX_BYTES * 3 // 4, MAX_NODES * 3 // 4
"""How much the tests may take up, so that the suite can be read; the rest is for what stands around them."""
_NODES = 25
"""How many values a test has beside its arguments, at most."""
_LONGEST_NAME = 100
_MADE_UP = "made up from the schema: put real values here"
_WORKS = "- {target: result.isError, matcher: {exact: false}}"
_LISTS = (
    ("resources", "resources/list", "the resources are listed"),
    ("templates", "resources/templates/list", "the templates of resources are listed"),
    ("prompts", "prompts/list", "the prompts are listed"),
)


class Draft(NamedTuple):
    """A test of one tool, and what is known of it."""

    name: str
    tool: str
    """The tool by its name; or what to call it, where there is no test of it."""
    arguments: dict[str, Any] = {}  # noqa: RUF012 (nobody writes into the default)
    is_made_up: bool = False
    """Whether somebody should put better arguments there."""
    checks: tuple[str, ...] = ()
    """The probes that apply."""
    off: str = ""
    """Why the test is a comment; empty where it is on."""
    impossible: str = ""
    """Why there is no test at all."""
    failed_call: str = ""
    """What the server says to the call, where it does not work."""
    failed_checks: tuple[tuple[str, str], ...] = ()
    """The probes that do not pass, each with why."""
    failed_path: str = ""
    """Why no probe can be sent."""

    @property
    def passing_checks(self) -> tuple[str, ...]:
        """The probes that the suite sends."""
        failed = {check for check, _ in self.failed_checks}
        return () if self.failed_path else tuple(check for check in self.checks if check not in failed)

    @property
    def is_on(self) -> bool:
        """Whether `mcproof run` will make something of it."""
        return not self.off and not self.impossible and not (self.failed_call and not self.passing_checks)


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


def drafts_of(
    catalog: Catalog, permissions: Sequence[Permission], names: Names, hide: Callable[[str], str], suffix: str = ""
) -> list[Draft]:
    """A draft for each tool, without what is to be hidden; where there is no tool, one for each other list."""
    if not catalog.tools:
        there = [(method, name) for kind, method, name in _LISTS if getattr(catalog, kind)]
        return [Draft(names.unique(f"{name}{suffix}"), method) for method, name in there]
    seen: set[str] = set()
    drafts = []
    for permission in permissions:
        tool = permission.tool
        why = _impossible(tool, seen)
        seen.add(tool.name)
        if why:
            drafts.append(Draft("", tool.label, impossible=why))
        else:
            drafts.append(_draft(permission, names.unique(f"{_shortened(tool.name)}{suffix} answers"), hide))
        tool.forget_tree()
    return drafts


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _impossible(tool: Tool, seen: set[str]) -> str:
    if not tool.name:
        return "it has no name to call it by"
    if tool.name in seen:
        return "another tool has the same name"
    if tool.name in METHODS:
        return "in a suite, this name stands for the list"
    try:
        text(tool.name)
    except UnwritableError as error:
        return f"its name cannot stand in a suite: {error}"
    return ""


def _draft(permission: Permission, name: str, hide: Callable[[str], str]) -> Draft:
    tool = permission.tool
    draft = Draft(name, tool.name)
    if not permission.is_granted:
        draft = draft._replace(off=f"it may change something: {permission.reason.removesuffix(HOW_TO_ALLOW)}")
    made = valid_arguments(tool.schema if tool.schema is not None else {})
    if made.value is None:
        return draft._replace(off=draft.off or f"no valid arguments were found: {made.problem}", is_made_up=True)
    try:
        line = written(made.value)
    except UnwritableError as error:
        return draft._replace(off=draft.off or f"the arguments that were found cannot stand in a suite: {error}")
    if hide(line) != line:
        return draft._replace(off=draft.off or "its arguments would repeat a value that the server is given in secret")
    draft = draft._replace(arguments=made.value, is_made_up=_is_made_up(tool, made.value))
    return draft if draft.off else draft._replace(checks=_applicable(tool, made.value))


def _applicable(tool: Tool, arguments: dict[str, Any]) -> tuple[str, ...]:
    """The probes that have something to break."""
    if not tool.parameters and not arguments:
        return ()
    asked = questions(tool, list(CHECKS), given=arguments, size=1, explores=False)
    applicable = {each.probe for each in asked.cases if isinstance(each, Case)}
    return tuple(check for check in CHECKS if check == "unknown_tool" or check in applicable)


def _is_made_up(tool: Tool, arguments: dict[str, Any]) -> bool:
    return any(not _is_given(tool.parameters.get(name), value) for name, value in arguments.items())


def _is_given(schema: Any, value: Any) -> bool:
    """Whether the author of a schema has written this value down."""
    if not isinstance(schema, dict):
        return False
    given = [schema[each] for each in ("default", "const") if each in schema]
    for each in ("enum", "examples"):
        given += schema[each] if isinstance(schema.get(each), list) else []
    return value in given


def first_suite(servers: Sequence[FirstServer], command: str) -> FirstSuite:
    """The text of a suite; the command is how to run it."""
    drafts = [draft for server in servers for draft in server.drafts if not draft.impossible]
    asked = [server for server in servers if server.catalog is not None]
    lines = [*_head(asked, command), "", *_servers(servers), ""]
    room = _Room(len("\n".join(lines)))
    tools = [line for server in asked for line in _tests(server, room, is_alone=len(asked) == 1)]
    kept = drafts[: room.tests]
    if kept:
        lines += _heading(is_on=any(draft.is_on for draft in kept))
    if tools:
        lines += [*tools, ""]
    quality = [line for server in asked for line in _quality(server, is_alone=len(asked) == 1)]
    if quality:
        lines += ["tool_quality:", *quality, ""]
    on = [draft for draft in kept if draft.is_on]
    gates = sum(line.startswith("  - name:") for line in quality)
    return FirstSuite(
        "\n".join(lines),
        len(on) + gates,
        len(kept) - len(on),
        sum(bool(draft.failed_call) for draft in on),
        sum(len(draft.checks) - len(draft.passing_checks) for draft in on),
    )


class _Room:
    """How much of a suite is left for tests."""

    def __init__(self, taken: int) -> None:
        self._bytes = taken
        self._nodes = 0
        self._is_full = False
        self.tests = 0
        """How many tests have found room."""

    def takes(self, draft: Draft, lines: list[str]) -> bool:
        """Whether a test still fits; once one does not, no later one does."""
        self._bytes += sum(len(line.encode()) + 1 for line in lines)
        self._nodes += 0 if draft.impossible else _NODES + size(draft.arguments)
        self._is_full = self._is_full or self._bytes > _MOST_BYTES or self._nodes > _MOST_NODES
        self.tests += not self._is_full and not draft.impossible
        return not self._is_full


def _head(servers: Sequence[FirstServer], command: str) -> Iterator[str]:
    of = remark(", ".join(server.label for server in servers[:3])) + (" and others" if len(servers) > 3 else "")
    yield f"# Tests of {of}, written by `mcproof init`; run them with `{remark(command)}`."
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
            yield f"  # {remark(server.name)} is left out: {remark(server.trouble)}"
        else:
            yield f"  {key(server.name)}:"
            yield from (f"    {line}" for line in server.entry)


def _heading(*, is_on: bool) -> Iterator[str]:
    mark = "" if is_on else "# "
    if not is_on:
        yield "# No test is on yet. To turn one on, take the `# ` away from its lines, and from this one:"
    yield f"{mark}tools:"
    if is_on:
        yield "  # A test calls a tool with `args`, and looks at the answer as `expect` says."
        yield "  # Its `negative_path` sends bad requests, made from the schema, which the server must refuse."
        yield "  # Only tools that, by their annotations and names, change nothing are called unasked."


def _tests(server: FirstServer, room: _Room, *, is_alone: bool) -> Iterator[str]:
    left_out = 0
    for number, draft in enumerate(server.drafts):
        if draft.impossible:
            lines = [f"  # No test of {remark(draft.tool)}: {remark(draft.impossible)}."]
        else:
            lines = list(_test(draft, server.name))
        if not room.takes(draft, lines):
            left_out += 1
            continue
        yield ""
        if number == 0 and not is_alone:
            yield f"  # The tools of {remark(server.name)}."
        yield from lines
    if left_out:
        yield f"  # There is no room here for {left_out:,} more tools; a second suite can have them."


def _test(draft: Draft, server: str) -> Iterator[str]:
    """The lines of a test; where it is off, as a comment under the reason."""
    if draft.is_on:
        yield from (f"  {line}" for line in _body(draft, server))
        return
    if draft.off:
        yield f"  # Turned off, as {remark(draft.off)}"
    else:
        yield f"  # Turned off, as the call does not work: {remark(draft.failed_call)}"
    plain = draft._replace(failed_call="", checks=draft.checks if draft.failed_call else ())
    yield from (f"  # {line}" for line in _body(plain, server))


def _body(draft: Draft, server: str) -> Iterator[str]:
    yield f"- name: {text(draft.name)}"
    yield f"  server: {text(server)}"
    yield f"  tool: {text(draft.tool)}"
    yield from _arguments(draft)
    if draft.tool in METHODS:
        return
    if draft.failed_call:
        yield f"  # The call does not work: {remark(draft.failed_call)}"
        yield "  # Put better values above, and take the `# ` away here:"
        yield "  # expect:"
        yield f"  #   {_WORKS}"
    else:
        yield "  expect:"
        yield f"    {_WORKS}"
    yield from _negative_path(draft)


def _arguments(draft: Draft) -> Iterator[str]:
    hint = f"  # {_MADE_UP}" if draft.is_made_up else ""
    if not draft.arguments:
        if draft.is_made_up or draft.failed_call:
            yield f"  args: {{}}{hint}"
        return
    line = f"  args: {written(draft.arguments)}"
    names = list(map(key, draft.arguments))
    if len(line) <= _WIDEST or any(name.startswith("?") for name in names):
        yield f"{line}{hint}"
        return
    yield f"  args:{hint}"
    yield from (f"    {name}: {written(value)}" for name, value in zip(names, draft.arguments.values(), strict=True))


def _negative_path(draft: Draft) -> Iterator[str]:
    if not draft.checks:
        return
    for _, why in draft.failed_checks:
        yield f"  # Left out, as it does not pass today: {remark(why)}"
    if draft.failed_path:
        yield f"  # Turned off, as it does not pass today: {remark(draft.failed_path)}"
    mark = "" if draft.passing_checks else "# "
    yield f"  {mark}negative_path:"
    yield f"  {mark}  checks: [{', '.join(draft.passing_checks or draft.checks)}]"


def _quality(server: FirstServer, *, is_alone: bool) -> Iterator[str]:
    """The gates, set to where the server stands now wherever the usual gate would fail."""
    catalog = server.catalog
    if catalog is None or not catalog.tools:
        return
    facts = quality_of(catalog).facts
    of = "" if is_alone else f" of {server.name}"
    gates = (
        (f"the tools{of} are described well enough to be chosen and called", _described(facts)),
        (f"the schemas{of} do not get looser", _constrained(facts)),
    )
    for (name, lines), why in zip(gates, _GATES, strict=True):
        yield f"  # {why}"
        yield f"  - name: {text(name)}"
        yield f"    server: {text(server.name)}"
        yield "    expect:"
        yield from (f"      {line}" for line in lines)


_GATES = (
    "Scores of the descriptions, from 0 to 1, and descriptions that say nothing at all.",
    "What the strict rules find in the schemas, as `mcproof schema-lint` shows. Today's numbers: lower them over time.",
)


def _described(facts: dict[str, Any]) -> Iterator[str]:
    for target, usual in (("min_score", 0.5), ("mean_score", 0.7)):
        now = _rounded_down(facts[target])
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


def with_results(draft: Draft, call: str, probes: Iterable[tuple[str, str]], path: str) -> Draft:
    """A draft with what came of trying it: what was said to the call, which probes failed, or why all did."""
    return draft._replace(
        failed_call=call,
        failed_checks=tuple(dict.fromkeys([*draft.failed_checks, *probes])),
        failed_path=draft.failed_path or path,
    )
