"""The probes of `prove`: every promise of a tool is broken, and what it does not promise is explored."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from mcproof.generation.promises import Promise, promises_of
from mcproof.generation.valid_values import ValueBuilder, valid_arguments
from mcproof.prove.exploratory_probes import Explorer
from mcproof.prove.negative_checks import NO_PARAMETERS, SCHEMA_CHECKS, NegativeChecks, baseline_of
from mcproof.prove.probe_cases import COLUMN_OF, PROBE_OF, ProbeCase, SkippedProbe, ToolProbes, column_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.catalog.model import Tool
    from mcproof.generation.promises import PromiseCase, SchemaPromises
    from mcproof.results.proof import Column

PROVE_CHECKS = tuple(PROBE_OF.values())
"""The probes that call a tool, in the order of the columns of the matrix."""
_NOTHING_PROMISED: dict[Column, str] = {
    "missing": "no argument is required",
    "type": "no argument excludes a type",
    "extra": "the schema allows additional arguments",
    "size": "no argument is a string or a list of free size",
    "values": "no argument has a range, a pattern, a format or a list of values",
}


def probes_of_promises(
    tool: Tool, checks: list[str], *, given: dict[str, Any] | None, size: int, is_strict: bool, max_calls: int
) -> ToolProbes:
    """The probes of one tool, one of each column first, the rest in the order of the schema.

    With `is_strict`, a value that servers commonly convert must be rejected, too.
    """
    schema = tool.schema if tool.schema is not None else {}
    made = valid_arguments(schema) if given is None else None
    base = given if made is None else made.value
    literal = NegativeChecks(tool, base, size)
    columns = [column for column, probe in PROBE_OF.items() if probe in checks]
    if base is None:
        skipped = [_untestable(literal, schema, column) for column in columns]
        tool.release_tree()
        return ToolProbes(tool, None, list(skipped), made.problem if made is not None else "")
    baseline = baseline_of(base, is_given=given is not None)
    probes = _Selection(literal, base, schema, size, is_strict).probes(tool, baseline, columns, max_calls)
    tool.release_tree()
    return probes


def _untestable(literal: NegativeChecks, schema: dict[str, Any], column: Column) -> SkippedProbe:
    probe = PROBE_OF[column]
    if column != "extra" and not literal.has_parameters:
        return SkippedProbe(probe, NO_PARAMETERS, False)
    if probe in SCHEMA_CHECKS:
        return literal.untestable(probe)
    reason = literal.untestable(SCHEMA_CHECKS[0]).reason
    return SkippedProbe(probe, reason, True, _declares_values(schema))


_VALUE_KEYWORDS = frozenset(
    {"enum", "const", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"multipleOf", "minLength", "minItems", "uniqueItems", "contains", "minProperties", "maxProperties"}
)


def _declares_values(schema: dict[str, Any]) -> bool:
    """Whether a top-level property has a keyword about values."""
    properties = schema.get("properties")
    schemas = properties.values() if isinstance(properties, dict) else ()
    return any(isinstance(each, dict) and not _VALUE_KEYWORDS.isdisjoint(each) for each in schemas)


class _Selection:
    """Chooses the probes of one tool."""

    def __init__(
        self, literal: NegativeChecks, base: dict[str, Any], schema: dict[str, Any], size: int, is_strict: bool
    ) -> None:
        self._literal = literal
        self._is_strict = is_strict
        self._promises: SchemaPromises | None = None
        if literal.is_validating:
            self._promises = promises_of(ValueBuilder(schema, literal.oracle), base)
        points = None if self._promises is None else self._promises.points
        self._explorer = Explorer(literal, base, schema, points, size)
        self._breaking = list(self._breaking_cases())
        self._exploring = list(self._explorer.cases({case.probe for case in self._breaking if case.is_promise}))

    def probes(self, tool: Tool, baseline: ProbeCase, columns: list[Column], max_calls: int) -> ToolProbes:
        """The probes of some columns, at most as many as allowed."""
        ordered = [case for case in self._ordered() if COLUMN_OF[case.probe] in columns]
        cases: list[ProbeCase | SkippedProbe] = list(ordered[:max_calls])
        present = {case.probe for case in ordered}
        unbreakable = [each for each in self._unbreakable() if column_of(each.keyword) in columns]
        unbroken = {column_of(each.keyword) for each in unbreakable}
        for column in columns:
            if PROBE_OF[column] not in present:
                cases.append(self._unbroken(column) if column in unbroken else self._inapplicable(column))
        unsent = [case.promise for case in ordered[max_calls:] if case.is_promise]
        return ToolProbes(
            tool=tool,
            baseline=baseline,
            cases=cases,
            promises=self._promises_in_order([*unbreakable, *unsent]),
            left_out=tuple(dict.fromkeys([*unsent, *unbreakable])),
            calls_left_out=len(ordered[max_calls:]),
        )

    def _promises_in_order(self, others: list[Promise]) -> tuple[Promise, ...]:
        """The promises that are tried, and others, in the order of the schema."""
        known = [case.promise for case in self._promises.cases] if self._promises is not None else []
        tried = [case.promise for case in self._breaking if case.is_promise]
        wanted = {*tried, *others}
        return tuple(each for each in dict.fromkeys([*known, *tried, *others]) if each in wanted)

    def _ordered(self) -> list[ProbeCase]:
        """The first case of each column, then promises, explorations and conversions in the order of the schema."""
        promised = [case for case in self._breaking if case.is_promise]
        lenient = [case for case in self._breaking if not case.is_promise]
        others = [*promised, *self._exploring, *lenient]
        first = [case for probe in PROVE_CHECKS if (case := self._first(probe, others)) is not None]
        chosen = set(map(id, first))
        return [*first, *(case for case in others if id(case) not in chosen)]

    def _first(self, probe: str, cases: list[ProbeCase]) -> ProbeCase | None:
        """The case of a probe that the negative path sends, or else the first."""
        own = [case for case in cases if case.probe == probe]
        if probe in SCHEMA_CHECKS and probe != "oversized":
            usual = next(self._literal.cases(probe), None)
            for case in own:
                if usual is not None and case.arguments == usual.arguments:
                    return case
        return next(iter(own), None)

    def _inapplicable(self, column: Column) -> SkippedProbe:
        if column != "extra" and not self._literal.has_parameters:
            return SkippedProbe(PROBE_OF[column], NO_PARAMETERS, False)
        return SkippedProbe(PROBE_OF[column], _NOTHING_PROMISED[column], False)

    def _unbroken(self, column: Column) -> SkippedProbe:
        return SkippedProbe(PROBE_OF[column], "no call that breaks the promise could be generated", True, True)

    def _unbreakable(self) -> list[Promise]:
        return [] if self._promises is None else self._promises.unbreakable

    def _breaking_cases(self) -> Iterator[ProbeCase]:
        """The cases that break a promise; for a schema that cannot be validated, those of its literal top level."""
        if self._promises is None:
            for check in SCHEMA_CHECKS:
                cases = self._literal.cases(check) if check != "oversized" else self._literal.free_texts()
                yield from (case for case in cases if case.is_promise)
            return
        yield from islice(self._explorer.large_strings(is_bounded=True), 1)
        for case in self._promises.cases:
            yield _probe_case(case, is_strict=self._is_strict)


def _probe_case(case: PromiseCase, *, is_strict: bool) -> ProbeCase:
    return ProbeCase.compact(
        case.arguments,
        probe=PROBE_OF[column_of(case.promise.keyword)],
        description=case.description,
        expects="nothing" if case.is_lenient and not is_strict else "rejection",
        declared=True,
        keyword=case.promise.keyword,
        schema_pointer=f"/inputSchema{case.schema_pointer}",
        argument=case.promise.argument,
        is_lenient=case.is_lenient,
    )
