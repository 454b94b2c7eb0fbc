"""Rules about hostile arguments, which `--security` sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.linting.finding import Problem
from mcproof.linting.registry import rule
from mcproof.rules.wire.contract_promises import evidence, parameter_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.observations.probes import ItemProbes


@rule("WIR-032", ruleset="wire", name="injection", severity="error", category="security")
def injection(probes: ItemProbes) -> Iterator[Problem]:
    """A tool executes or follows an argument instead of treating it as data: a path, a command, SQL, a template, a URL.

    Why: whoever writes the text that a model reads can make the model send such an argument.
    Fix: resolve paths and keep them inside the served folder; pass commands as lists and values as parameters; never
    evaluate arguments; do not request loopback or private addresses.
    """
    for record in probes.records:
        for flaw in record.flaws:
            if flaw.kind == "injection":
                message = f"{flaw.detail} ({record.description})"
                yield Problem(message, record.schema_pointer, parameter_of(record), evidence(record))
